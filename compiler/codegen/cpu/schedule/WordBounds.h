//===- WordBounds.h - how large the results of sums of bytes get -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_WORDBOUNDS_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_WORDBOUNDS_H

#include "compiler/codegen/cpu/schedule/Strategy.h"

namespace weir {

/// Gives the cast that ends a kernel of sums of bytes `inWordsAttribute` where what is rounded is
/// always a number that a word holds: sums have as many products as their filter says, and scales
/// and what is added are constants, or bytes.
void noteWords(const KernelRequest &request);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_WORDBOUNDS_H
