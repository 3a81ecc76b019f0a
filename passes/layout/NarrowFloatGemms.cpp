//===- NarrowFloatGemms.cpp - products of 8-bit floats -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model quantized to 8-bit floats says sum (x sx) (w sw). Products of two such floats
// are exact in f32, so that sum x w, in f32, times sx sw is what the reals' sum rounds to, and a
// product reads a quarter of the bytes.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "passes/layout/ByteOperands.h"

using namespace mlir;
using namespace weir;

namespace {

/// value * scale; `scale` is null where it is 1.
struct NarrowOperand {
  Value value, scale;
};

bool isNarrow(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

/// The operand without what dequantizes it; nothing: it is no 8-bit float.
std::optional<NarrowOperand> narrowOperand(Value operand) {
  NarrowOperand found;
  Value value = operand;
  if (auto mul = value.getDefiningOp<MulOp>()) {
    if (mul.getType() != mul.getOperand(0).getType())
      return std::nullopt;
    found.scale = mul.getOperand(1);
    value = mul.getOperand(0);
  }
  // Zero points of floats are zeros.
  if (auto sub = value.getDefiningOp<SubOp>();
      sub && sub.getType() == sub.getOperand(0).getType() && numberOf(sub.getOperand(1)) == 0.0)
    value = sub.getOperand(0);
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || !getElementTypeOrSelf(cast.getType()).isF32() ||
      !isNarrow(getElementTypeOrSelf(cast.getOperand().getType())))
    return std::nullopt;
  found.value = cast.getOperand();
  return found;
}

/// `scale`, with one number or `count` of them along one dimension, as what stretches over the
/// result; null: it is neither. `isOfRows`: the result's dimension before the last is meant.
Value stretchedScale(OpBuilder &b, DotGeneralOp dot, Value scale, int64_t count, bool isOfRows) {
  auto type = dyn_cast<RankedTensorType>(scale.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isF32())
    return {};
  SmallVector<int64_t> shape;
  if (type.getNumElements() != 1) {
    if (type.getNumElements() != count)
      return {};
    shape.push_back(count);
    if (isOfRows)
      shape.push_back(1);
  }
  Value made = reshaped(b, dot.getLoc(), scale, shape);
  if (made != scale)
    copyDevice(dot, made);
  return made;
}

void rewrite(DotGeneralOp dot) {
  std::optional<ByteShape> shape = byteShapeOf(dot, /*inBlocks=*/false);
  if (!shape || !dot.getAccumulator().isF32())
    return;
  std::optional<NarrowOperand> left = narrowOperand(dot.getLhs()),
                               right = narrowOperand(dot.getRhs());
  if (!left || !right)
    return;
  auto type = cast<RankedTensorType>(dot.getType()),
       rhs = cast<RankedTensorType>(dot.getRhs().getType()),
       lhs = cast<RankedTensorType>(dot.getLhs().getType());
  // Scales of rows follow the last row dimension, those of columns the matrix's own.
  if ((left->scale && !runsAlong(left->scale, lhs, lhs.getRank() - 2)) ||
      (right->scale && !runsAlong(right->scale, rhs, shape->columnDim)))
    return;
  OpBuilder b(dot);
  SmallVector<Value> scales;
  if (left->scale)
    scales.push_back(
        stretchedScale(b, dot, left->scale, lhs.getDimSize(lhs.getRank() - 2), /*isOfRows=*/true));
  if (right->scale)
    scales.push_back(stretchedScale(b, dot, right->scale, shape->columns, /*isOfRows=*/false));
  if (llvm::is_contained(scales, Value()))
    return;
  Value sum = DotGeneralOp::create(
      b, dot.getLoc(), left->value, right->value, dot.getLhsBatchAttr(), dot.getRhsBatchAttr(),
      dot.getLhsContractAttr(), dot.getRhsContractAttr(), dot.getAccumulatorAttr());
  copyDevice(dot, sum);
  for (Value scale : scales)
    copyDevice(dot, sum = MulOp::create(b, dot.getLoc(), sum, scale));
  if (sum.getType() != type)
    sum.setType(type);
  dot.getResult().replaceAllUsesWith(sum);
  llvm::SmallSetVector<Value, 2> operands(dot->operand_begin(), dot->operand_end());
  dot.erase();
  for (Value operand : operands)
    while (Operation *def = operand.getDefiningOp()) {
      if (!isOpTriviallyDead(def))
        break;
      operand = def->getOperand(0);
      def->erase();
    }
}

} // namespace

void weir::rewriteNarrowFloatGemms(ModuleOp module) {
  SmallVector<DotGeneralOp> dots;
  module.walk([&](DotGeneralOp dot) { dots.push_back(dot); });
  llvm::for_each(dots, rewrite);
}
