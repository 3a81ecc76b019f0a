//===- Rearrange.cpp - building transpositions and reshapes ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

Value weir::integers(OpBuilder &b, Location loc, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({(int64_t)values.size()}, b.getI64Type());
  return ConstantOp::create(b, loc, DenseElementsAttr::get(type, values));
}

Value weir::reshaped(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> shape) {
  if (cast<RankedTensorType>(value.getType()).getShape() == shape)
    return value;
  return ReshapeOp::create(b, loc, value, integers(b, loc, shape));
}

Value weir::reshaped(OpBuilder &b, Location loc, Value value, ArrayRef<MadeSize> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> known;
  for (const MadeSize &size : shape) {
    int64_t own = size.from < 0 ? 1 : type.getDimSize(size.from);
    known.push_back(ShapedType::isDynamic(own) ? ShapedType::kDynamic : own * size.factor);
  }
  if (llvm::none_of(known, ShapedType::isDynamic))
    return reshaped(b, loc, value, known);
  Value all = ShapeOfOp::create(b, loc, value, TypeAttr::get(b.getI64Type()));
  SmallVector<Value> parts;
  for (auto [size, made] : llvm::zip(known, shape)) {
    if (!ShapedType::isDynamic(size)) {
      parts.push_back(integers(b, loc, size));
      continue;
    }
    Value own =
        SliceOp::create(b, loc, all, integers(b, loc, made.from), integers(b, loc, made.from + 1),
                        integers(b, loc, 1), ArrayRef<int64_t>{0}, false);
    if (made.factor != 1)
      own = MulOp::create(b, loc, own, integers(b, loc, made.factor));
    parts.push_back(own);
  }
  return ReshapeOp::create(b, loc, value, ConcatOp::create(b, loc, ValueRange(parts), 0));
}

SmallVector<int64_t> weir::channelsToLast(int64_t rank) {
  SmallVector<int64_t> order{0};
  for (int64_t i = 2; i < rank; ++i)
    order.push_back(i);
  order.push_back(1);
  return order;
}

SmallVector<int64_t> weir::channelsToFirst(int64_t rank) {
  SmallVector<int64_t> order{0, rank - 1};
  for (int64_t i = 1; i + 1 < rank; ++i)
    order.push_back(i);
  return order;
}

bool weir::isNoMove(RankedTensorType type, ArrayRef<int64_t> permutation) {
  int64_t before = -1;
  for (int64_t from : permutation) {
    if (type.getDimSize(from) == 1)
      continue;
    if (from < before)
      return false;
    before = from;
  }
  return true;
}

Value weir::transposed(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  if (llvm::is_sorted(permutation))
    return value;
  if (isNoMove(type, permutation)) {
    SmallVector<MadeSize> shape;
    for (int64_t from : permutation)
      shape.push_back({1, from});
    return reshaped(b, loc, value, shape);
  }
  return TransposeOp::create(b, loc, value, b.getDenseI64ArrayAttr(permutation));
}

void weir::copyDevice(Operation *from, Value to) {
  if (Operation *def = to.getDefiningOp())
    if (Attribute device = from->getAttr("weir.device"))
      def->setAttr("weir.device", device);
}
