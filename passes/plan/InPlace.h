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

/// Whether `launch`, of `kernel`, may have its result in the place of `argument`: what is
/// read in place, but not around a convolution on an offload device whose library does not
/// say that an addend may lie there, and would leave it to a kernel of its own.
bool mayWriteOver(mlir::Operation *launch, KernelOp kernel, unsigned argument);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_INPLACE_H
