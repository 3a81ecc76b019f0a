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

/// The convolution or product; null: there is none.
static Operation *anchorOf(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (isa<ConvOp, DotGeneralOp>(op))
      return &op;
  return nullptr;
}

RankedTensorType weir::resultOf(KernelOp kernel) {
  return cast<RankedTensorType>(kernel.getBody().front().getTerminator()->getOperand(0).getType());
}

static StageForm formOf(KernelOp kernel) {
  const KernelSchedules *schedules = hostSchedules();
  return schedules ? schedules->stageForm(kernel) : StageForm::None;
}

bool weir::isPointwise(KernelOp kernel) { return formOf(kernel) == StageForm::Position; }

/// An image of which at least the channels are known.
static bool isImages(RankedTensorType type) { return type.getRank() == 4 && !type.isDynamicDim(3); }

bool weir::isStage(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (formOf(kernel) == StageForm::None || body.getTerminator()->getNumOperands() != 1)
    return false;
  Operation *anchor = anchorOf(kernel);
  auto image = anchor ? dyn_cast<BlockArgument>(anchor->getOperand(0)) : BlockArgument();
  RankedTensorType result = resultOf(kernel);
  if (!image || !image.hasOneUse() || !isImages(result) ||
      !isImages(cast<RankedTensorType>(image.getType())))
    return false;
  // What follows must not stretch the image that the anchor makes.
  if (cast<RankedTensorType>(anchor->getResult(0).getType()).getShape() != result.getShape())
    return false;
  auto conv = dyn_cast<ConvOp>(anchor);
  return !conv || (conv.getChannelsLast() &&
                   llvm::all_of(conv.getPads(), [](int64_t pad) { return pad >= 0; }));
}

unsigned weir::imageOf(KernelOp stage) {
  return cast<BlockArgument>(anchorOf(stage)->getOperand(0)).getArgNumber();
}

LineWindow weir::lineWindowOf(KernelOp stage, unsigned dim) {
  auto conv = dyn_cast<ConvOp>(anchorOf(stage));
  if (!conv)
    return {};
  int64_t window = cast<RankedTensorType>(conv.getFilter().getType()).getDimSize(dim);
  return {conv.getStrides()[dim], conv.getPads()[2 * dim], conv.getPads()[2 * dim + 1],
          (window - 1) * conv.getDilations()[dim] + 1};
}

bool weir::keepsSides(KernelOp stage) {
  return llvm::all_of(llvm::seq(0u, 2u), [&](unsigned dim) {
    LineWindow window = lineWindowOf(stage, dim);
    return window.stride == 1 && window.pad + window.padBehind + 1 == window.span;
  });
}

int64_t weir::lineBytes(RankedTensorType image) {
  return image.getDimSize(2) * image.getDimSize(3) * image.getElementTypeBitWidth() / 8;
}

SmallVector<int64_t> weir::linesInUse(ArrayRef<KernelOp> stages, ArrayRef<RankedTensorType> images,
                                      int64_t lines) {
  SmallVector<int64_t> counts(stages.size(), lines);
  for (size_t i = stages.size() - 1; i > 0; --i) {
    LineWindow window = lineWindowOf(stages[i]);
    counts[i - 1] = (counts[i] - 1) * window.stride + window.span;
    if (int64_t height = images[i - 1].getDimSize(1); !ShapedType::isDynamic(height))
      counts[i - 1] = std::min(counts[i - 1], height);
  }
  return counts;
}
