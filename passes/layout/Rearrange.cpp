//===- Rearrange.cpp - building transpositions and reshapes ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/Rearrange.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

Value weir::integers(OpBuilder &b, Location loc, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({(int64_t)values.size()}, b.getI64Type());
  return ConstantOp::create(b, loc, DenseElementsAttr::get(type, values));
}

Value weir::reshaped(OpBuilder &b, Location loc, Value value,
                     ArrayRef<int64_t> shape) {
  if (cast<RankedTensorType>(value.getType()).getShape() == shape)
    return value;
  return ReshapeOp::create(b, loc, value, integers(b, loc, shape));
}

bool weir::isNoMove(RankedTensorType type, ArrayRef<int64_t> permutation) {
  if (!type.hasStaticShape())
    return llvm::is_sorted(permutation);
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

Value weir::transposed(OpBuilder &b, Location loc, Value value,
                       ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  if (llvm::is_sorted(permutation))
    return value;
  if (isNoMove(type, permutation)) {
    SmallVector<int64_t> shape;
    for (int64_t from : permutation)
      shape.push_back(type.getDimSize(from));
    return reshaped(b, loc, value, shape);
  }
  return TransposeOp::create(b, loc, value, b.getDenseI64ArrayAttr(permutation));
}

void weir::copyDevice(Operation *from, Value to) {
  if (Operation *def = to.getDefiningOp())
    if (Attribute device = from->getAttr("weir.device"))
      def->setAttr("weir.device", device);
}
