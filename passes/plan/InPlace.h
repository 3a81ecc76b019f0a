//===- InPlace.h - which operands a kernel may write over --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_INPLACE_H
#define WEIR_PASSES_PLAN_INPLACE_H

#include "dialects/plan/Plan.h"

namespace weir::plan {

/// Whether the kernel reads `argument` only at the index of the result that it
/// computes, and has no other result: then that may be written over it.
bool isReadInPlace(KernelOp kernel, unsigned argument);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_INPLACE_H
