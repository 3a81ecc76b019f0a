//===- Repeats.h - resampling that repeats elements --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_REPEATS_H
#define WEIR_DIALECTS_WEIR_REPEATS_H

#include "dialects/weir/Weir.h"

namespace weir {

/// Where all that `op` does is to repeat each element so many times along each
/// dimension, element i of a result being i / factor of the operand: the factors, one a
/// dimension. None where sizes are open, or an element is another.
std::optional<llvm::SmallVector<int64_t>> repeatsOf(ResizeOp op);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_REPEATS_H
