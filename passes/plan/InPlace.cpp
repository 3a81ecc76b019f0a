//===- InPlace.cpp - which operands a kernel may write over ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/InPlace.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ImplicitPadding.h"
#include "passes/analysis/KernelSchedules.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

void plan::addInPlace(InPlaceRuns &runs, RunOp run, unsigned result, unsigned input) {
  SmallVector<int64_t> &over = runs[run];
  over.resize(run.getOutputs().size(), -1);
  over[result] = input;
}

bool plan::isReadInPlace(KernelOp kernel, unsigned argument, unsigned result) {
  // What code for offload devices reads all over.
  if (kernel->hasAttr(implicitPaddingAttribute) &&
      argument + 1 == kernel.getBody().front().getNumArguments())
    return false;
  const KernelSchedules *schedules = hostSchedules();
  return schedules && schedules->readsInPlace(kernel, argument, result);
}

/// Whether a product of matrices is no way to compute the convolution.
static bool hasWindow(ConvOp conv) {
  auto isOne = [](int64_t number) { return number == 1; };
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  return !conv.getChannelsLast() || conv.getGroups() != 1 ||
         !llvm::all_of(conv.getStrides(), isOne) ||
         !llvm::all_of(filter.getShape().drop_back(2), isOne);
}

BlockArgument plan::scatteredOver(KernelOp kernel) {
  Operation *op = kernel.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
  return isa_and_nonnull<ScatterNdOp, ScatterElementsOp>(op)
             ? dyn_cast<BlockArgument>(op->getOperand(0))
             : BlockArgument();
}

bool plan::mayWriteOver(Operation *launch, KernelOp kernel, unsigned argument, unsigned result) {
  if (!isReadInPlace(kernel, argument, result))
    return false;
  return !isOffloaded(launch) ||
         llvm::none_of(kernel.getBody().front().getOps<ConvOp>(), hasWindow);
}
