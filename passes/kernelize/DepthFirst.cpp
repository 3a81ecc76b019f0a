//===- DepthFirst.cpp - kernels that go through an image together -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/DepthFirst.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/KernelSchedules.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

static ConvOp anchorOf(KernelOp kernel) {
  auto convs = kernel.getBody().front().getOps<ConvOp>();
  return convs.empty() ? ConvOp() : *convs.begin();
}

static RankedTensorType resultOf(KernelOp kernel) {
  return cast<RankedTensorType>(kernel.getBody().front().getTerminator()->getOperand(0).getType());
}

static StageForm formOf(KernelOp kernel) {
  const KernelSchedules *schedules = hostSchedules();
  return schedules ? schedules->stageForm(kernel) : StageForm::None;
}

bool weir::isPointwise(KernelOp kernel) { return formOf(kernel) == StageForm::Position; }

bool weir::isOfOpenBatch(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 0 && tensor.isDynamicDim(0) &&
         !ShapedType::isDynamicShape(tensor.getShape().drop_front());
}

/// Of fixed size, but for how many there are.
static bool isImages(RankedTensorType type) { return type.hasStaticShape() || isOfOpenBatch(type); }

bool weir::isStage(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (formOf(kernel) == StageForm::None || body.getTerminator()->getNumOperands() != 1)
    return false;
  ConvOp conv = anchorOf(kernel);
  auto image = conv ? dyn_cast<BlockArgument>(conv.getInput()) : BlockArgument();
  RankedTensorType result = resultOf(kernel);
  return image && image.hasOneUse() && result.getRank() == 4 && isImages(result) &&
         isImages(cast<RankedTensorType>(image.getType())) && conv.getChannelsLast() &&
         llvm::all_of(conv.getPads(), [](int64_t pad) { return pad >= 0; });
}

unsigned weir::imageOf(KernelOp stage) {
  return cast<BlockArgument>(anchorOf(stage).getInput()).getArgNumber();
}

LineWindow weir::lineWindowOf(KernelOp stage) {
  ConvOp conv = anchorOf(stage);
  int64_t height = cast<RankedTensorType>(conv.getFilter().getType()).getDimSize(0);
  return {conv.getStrides()[0], conv.getPads()[0], (height - 1) * conv.getDilations()[0] + 1};
}

int64_t weir::lineBytes(KernelOp stage) {
  RankedTensorType type = resultOf(stage);
  return type.getDimSize(2) * type.getDimSize(3) * type.getElementTypeBitWidth() / 8;
}

SmallVector<int64_t> weir::linesInUse(ArrayRef<KernelOp> stages, int64_t lines) {
  SmallVector<int64_t> counts(stages.size(), lines);
  for (size_t i = stages.size() - 1; i > 0; --i) {
    LineWindow window = lineWindowOf(stages[i]);
    counts[i - 1] = std::min((counts[i] - 1) * window.stride + window.span,
                             resultOf(stages[i - 1]).getDimSize(1));
  }
  return counts;
}
