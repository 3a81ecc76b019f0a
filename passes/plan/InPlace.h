//===- InPlace.h - which operands a kernel may write over --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_INPLACE_H
#define WEIR_PASSES_PLAN_INPLACE_H

#include "dialects/plan/Plan.h"
#include "llvm/ADT/MapVector.h"

namespace weir::plan {

/// Runs that write results over inputs: of each result the number of the input, -1 where it has
/// a place of its own.
using InPlaceRuns = llvm::MapVector<mlir::Operation *, llvm::SmallVector<int64_t>>;

/// Writes `result` of `run` over `input`.
void addInPlace(InPlaceRuns &runs, RunOp run, unsigned result, unsigned input);

/// Whether the kernel reads `argument` only at the index of `result` that it computes, and writes
/// no result before it has read: then that one may be written over it.
bool isReadInPlace(KernelOp kernel, unsigned argument, unsigned result = 0);

/// The argument whose elements a scatter's kernel leaves where they are, but for those that it
/// writes; null: it is no scatter, or computes what it writes over.
mlir::BlockArgument scatteredOver(KernelOp kernel);

/// Whether `launch`, of `kernel`, may have `result` in the place of `argument`: what is
/// read in place, but not around a convolution on an offload device whose library does not
/// say that an addend may lie there, and would leave it to a kernel of its own.
bool mayWriteOver(mlir::Operation *launch, KernelOp kernel, unsigned argument, unsigned result = 0);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_INPLACE_H
