//===- TransposedConvolutions.h - as convolutions ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_LAYOUT_TRANSPOSEDCONVOLUTIONS_H
#define WEIR_PASSES_LAYOUT_TRANSPOSEDCONVOLUTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace weir {

/// Adds the pattern that makes convolutions of transposed ones with constant filters.
void addTransposedConvolutions(mlir::RewritePatternSet &patterns);

} // namespace weir

#endif // WEIR_PASSES_LAYOUT_TRANSPOSEDCONVOLUTIONS_H
