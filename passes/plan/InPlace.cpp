//===- InPlace.cpp - which operands a kernel may write over ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/InPlace.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/kernelize/ImplicitPadding.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Whether only the last stage of a chain reads `argument`, as it does so. The
/// stages before are ahead of the lines that are written, and compute some of
/// theirs again.
static bool isReadByLastStage(KernelOp chain, unsigned argument) {
  Block &body = chain.getBody().front();
  BlockArgument value = body.getArgument(argument);
  auto last = body.getTerminator()->getOperand(0).getDefiningOp<LaunchOp>();
  if (!last || !value.hasOneUse() || *value.getUsers().begin() != last)
    return false;
  auto stage = SymbolTable::lookupNearestSymbolFrom<KernelOp>(chain, last.getKernelAttr());
  return stage && isReadInPlace(stage, value.getUses().begin()->getOperandNumber());
}

bool plan::isReadInPlace(KernelOp kernel, unsigned argument) {
  Block &body = kernel.getBody().front();
  Operation *terminator = body.getTerminator();
  if (terminator->getNumOperands() != 1)
    return false;
  if (kernel.getSchedule().getKind() == ScheduleKind::DepthFirst)
    return isReadByLastStage(kernel, argument);
  Type type = terminator->getOperand(0).getType();
  // What code for accelerators reads all over.
  if (kernel->hasAttr(implicitPaddingAttribute) && argument + 1 == body.getNumArguments())
    return false;
  if (body.getArgument(argument).getType() != type ||
      !cast<RankedTensorType>(type).hasStaticShape())
    return false;
  // A scatter leaves what it does not write; updates and indices are apart.
  if (kernel.getSchedule().getKind() == ScheduleKind::Scatter) {
    BlockArgument base = body.getArgument(argument);
    Operation *scatter = terminator->getOperand(0).getDefiningOp();
    return base.hasOneUse() && scatter->getOperand(0) == base;
  }
  auto shape = cast<RankedTensorType>(type).getShape();
  // Paths part and meet again: each value once.
  llvm::SetVector<Value> reached;
  reached.insert(body.getArgument(argument));
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (user == terminator)
        continue;
      // A line is reduced before results are written over it.
      if (kernel.getSchedule().getKind() == ScheduleKind::RowReduction && isa<ReduceOp>(user))
        continue;
      auto result = user->getNumResults() == 1
                        ? dyn_cast<RankedTensorType>(user->getResult(0).getType())
                        : RankedTensorType();
      if (!isa<ElementwiseOpInterface>(user) || !result || result.getShape() != shape)
        return false;
      reached.insert(user->getResult(0));
    }
  return true;
}

/// Whether a product of matrices is no way to compute the convolution.
static bool hasWindow(ConvOp conv) {
  auto isOne = [](int64_t number) { return number == 1; };
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  return !conv.getChannelsLast() || conv.getGroups() != 1 ||
         !llvm::all_of(conv.getStrides(), isOne) ||
         !llvm::all_of(filter.getShape().drop_back(2), isOne);
}

bool plan::mayWriteOver(Operation *launch, KernelOp kernel, unsigned argument) {
  if (!isReadInPlace(kernel, argument))
    return false;
  return !isOnAccelerator(launch) ||
         llvm::none_of(kernel.getBody().front().getOps<ConvOp>(), hasWindow);
}
