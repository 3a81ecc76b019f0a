//===- FilterGradients.cpp - gradients of convolutions' filters ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/FilterGradients.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "passes/analysis/Clusters.h"

using namespace mlir;
using namespace weir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool weir::isFilterGradient(ConvOp conv) {
  auto image = conv.getInput().getDefiningOp<TransposeOp>();
  auto gradient = conv.getFilter().getDefiningOp<TransposeOp>();
  if (!image || !gradient || !conv.getChannelsLast() || conv.getGroups() != 1 ||
      typeOf(image).getRank() < 3)
    return false;
  int64_t rank = typeOf(image).getRank();
  ArrayRef<int64_t> window = typeOf(conv.getFilter()).getShape().drop_back(2),
                    places = typeOf(conv.getResult()).getShape().drop_front().drop_back();
  // Lines of both operands are lines of channels.
  if (image.getPermutation().front() != rank - 1 || gradient.getPermutation().back() != rank - 1)
    return false;
  for (auto [reach, count] : llvm::zip(window, places))
    if (ShapedType::isDynamic(reach) || ShapedType::isDynamic(count))
      return false;
  return ShapedType::getNumElements(window) >= ShapedType::getNumElements(places);
}

bool weir::hasFilterGradientKernel(ConvOp conv) {
  auto image = typeOf(conv.getInput()), gradient = typeOf(conv.getFilter());
  return isFilterGradient(conv) && !mayBeOffloaded(conv) && image.getRank() == 4 &&
         image.getElementType().isF32() && gradient.getElementType().isF32() &&
         typeOf(conv.getResult()).getElementType().isF32() && image.hasStaticShape() &&
         gradient.hasStaticShape() && isBlockTransposition(conv.getInput().getDefiningOp());
}

void weir::keepGradientApart(ConvOp conv) {
  // What makes the gradient would otherwise be computed in its transposition's kernel.
  if (Operation *maker = conv.getFilter().getDefiningOp()->getOperand(0).getDefiningOp())
    maker->setAttr(storedAttribute, UnitAttr::get(conv.getContext()));
}

void weir::formFilterProducts(ConvOp conv) {
  // Products are faster until there are too many of them.
  constexpr int64_t mostProducts = 32;
  RankedTensorType result = typeOf(conv.getResult());
  int64_t rank = result.getRank(), spatial = rank - 2;
  ArrayRef<int64_t> window = result.getShape().slice(1, spatial);
  int64_t channels = result.getShape().front(), outputs = result.getShape().back(),
          places = ShapedType::getNumElements(window);
  if (places > mostProducts || ShapedType::isDynamic(channels) || ShapedType::isDynamic(outputs))
    return;
  OpBuilder b(conv);
  Location loc = conv.getLoc();
  Type element = result.getElementType();
  // N S… C and N S… O.
  SmallVector<int64_t> imageOrder = {rank - 1}, gradientOrder = {rank - 2}, back = {spatial};
  for (int64_t i = 0; i < spatial; ++i) {
    imageOrder.push_back(1 + i);
    gradientOrder.push_back(i);
    back.push_back(i);
  }
  imageOrder.push_back(0);
  gradientOrder.push_back(rank - 1);
  back.push_back(spatial + 1);
  Value x = transposed(b, loc, conv.getInput(), imageOrder),
        dy = transposed(b, loc, conv.getFilter(), gradientOrder);
  ArrayRef<int64_t> pads = conv.getPads();
  if (llvm::any_of(pads, [](int64_t pad) { return pad != 0; })) {
    SmallVector<int64_t> amounts(2 * rank, 0);
    for (int64_t i = 0; i < spatial; ++i) {
      amounts[1 + i] = pads[2 * i];
      amounts[rank + 1 + i] = pads[2 * i + 1];
    }
    Value zero = ConstantOp::create(
        b, loc, SplatElementsAttr::get(RankedTensorType::get({}, element), b.getZeroAttr(element)));
    x = PadOp::create(b, loc, x, integers(b, loc, amounts), zero, PadMode::Constant);
  }
  // What all places share goes to the left, where it is turned round once.
  Value left = ReshapeOp::create(b, loc, dy, integers(b, loc, {-1, outputs}));
  SmallVector<Value> products;
  for (int64_t place = 0; place < places; ++place) {
    SmallVector<int64_t> starts(spatial), ends(spatial), axes;
    for (int64_t i = spatial - 1, at = place; i >= 0; at /= window[i--]) {
      starts[i] = at % window[i] * conv.getStrides()[i];
      ends[i] = starts[i] + (typeOf(dy).getDimSize(1 + i) - 1) * conv.getDilations()[i] + 1;
    }
    for (int64_t i = 0; i < spatial; ++i)
      axes.push_back(1 + i);
    Value met = SliceOp::create(b, loc, x, integers(b, loc, starts), integers(b, loc, ends),
                                integers(b, loc, conv.getDilations()), axes, false);
    Value rows = ReshapeOp::create(b, loc, met, integers(b, loc, {-1, channels}));
    Value product = DotGeneralOp::create(b, loc, left, rows, ArrayRef<int64_t>{},
                                         ArrayRef<int64_t>{}, ArrayRef<int64_t>{0},
                                         ArrayRef<int64_t>{0}, conv.getAccumulator()); // O, I
    products.push_back(
        reshaped(b, loc, transposed(b, loc, product, {1, 0}), {1, channels, outputs}));
  }
  Value all =
      products.size() == 1 ? products.front() : ConcatOp::create(b, loc, products, 0).getResult();
  SmallVector<int64_t> shape(window);
  shape.append({channels, outputs});
  conv.getResult().replaceAllUsesWith(transposed(b, loc, reshaped(b, loc, all, shape), back));
  conv.erase();
}
