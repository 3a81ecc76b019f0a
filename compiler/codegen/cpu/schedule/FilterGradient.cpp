//===- FilterGradient.cpp - gradients of convolutions' filters ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/FilterGradient.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// What is transposed for the kernel's `argument`, and how.
static TransposeOp turnOf(const KernelRequest &request, Value argument) {
  auto own = dyn_cast<BlockArgument>(argument);
  return own ? transpositionOf(request.kernel, request.operands[own.getArgNumber()])
             : TransposeOp();
}

ConvOp weir::filterGradientOf(const KernelRequest &request) {
  auto conv = dyn_cast_or_null<ConvOp>(request.anchor);
  if (!conv || !request.isHost || !conv.getChannelsLast() || conv.getGroups() != 1)
    return {};
  auto isPlain = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getRank() == 4 && type.hasStaticShape() && type.getElementType().isF32();
  };
  if (!isPlain(conv.getInput()) || !isPlain(conv.getFilter()) || !isPlain(conv.getResult()) ||
      !isVectorEpilogue(request.kernel, conv))
    return {};
  TransposeOp image = turnOf(request, conv.getInput()),
              gradient = turnOf(request, conv.getFilter());
  return image && gradient && image.getPermutation().front() == 3 &&
                 gradient.getPermutation().back() == 3
             ? conv
             : ConvOp();
}

ConvOp weir::filterGradientOf(KernelOp kernel) {
  auto convs = kernel.getBody().front().getOps<ConvOp>();
  return !convs.empty() && (*convs.begin()).getInput().getDefiningOp<TransposeOp>() ? *convs.begin()
                                                                                    : ConvOp();
}

SmallVector<int64_t> weir::filterGradientTiles(ScheduleBuilder &s, ConvOp conv,
                                               const VectorUnit &unit) {
  // Sums of a part wait on the stack; parts are enough for several threads.
  constexpr int64_t mostSums = 1 << 14, manyParts = 16;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(conv.getType()).getShape();
  int64_t channels = shape[0], lines = shape[1], places = shape[2];
  SmallVector<int64_t> tile = registerTile(unit, channels, shape[3], /*pitch=*/0, TileChoice());
  s.set(schedule::tile, tile);
  int64_t width = tile[1] * tile[2], panels = llvm::divideCeil(shape[3], width), rows = tile[0];
  while (rows < channels && 2 * rows * places * width <= mostSums &&
         int64_t(llvm::divideCeil(channels, 2 * rows)) * lines * panels >= manyParts)
    rows *= 2;
  return {std::min(rows, channels), 1, places, width};
}

void weir::readUnturned(KernelRequest &request, ConvOp conv) {
  OpBuilder inside(conv);
  for (OpOperand *use : {&conv.getInputMutable(), &conv.getFilterMutable()}) {
    auto argument = cast<BlockArgument>(use->get());
    Value &operand = request.operands[argument.getArgNumber()];
    TransposeOp turn = transpositionOf(request.kernel, operand);
    operand = operand.getDefiningOp<LaunchOp>().getInputs()[0];
    argument.setType(operand.getType());
    use->set(TransposeOp::create(inside, conv.getLoc(), argument, turn.getPermutationAttr()));
  }
}
