//===- HalfWidener.cpp - arithmetic on halves in f32 ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/HalfWidener.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"

using namespace mlir;
using namespace weir;

static bool isHalf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<RankedTensorType>(type) && (element.isF16() || element.isBF16());
}

bool weir::isHalfArithmetic(Operation *op) {
  if (!op->hasTrait<traits::Arithmetic>() || op->getNumResults() != 1)
    return false;
  return llvm::any_of(op->getOperandTypes(), isHalf) || isHalf(op->getResult(0).getType());
}

void HalfWidener::rewrite(Operation *op) {
  OpBuilder b(op);
  Type f32 = b.getF32Type();
  for (OpOperand &operand : op->getOpOperands())
    if (isHalf(operand.get().getType()))
      operand.set(wide(operand.get(), op));
  Value result = op->getResult(0);
  Type narrow = result.getType();
  if (!isHalf(narrow))
    return;
  if (op->hasAttr("accumulator"))
    op->setAttr("accumulator", TypeAttr::get(f32));
  result.setType(cast<RankedTensorType>(narrow).clone(f32));
  b.setInsertionPointAfter(op);
  Value rounded = CastOp::create(b, op->getLoc(), narrow, result, b.getBoolAttr(false));
  copyDevice(op, rounded);
  result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

/// `value` in f32, made where it is made.
Value HalfWidener::wide(Value value, Operation *user) {
  Value &known = widened[value];
  if (known)
    return known;
  OpBuilder b(user);
  b.setInsertionPointAfterValue(value);
  Operation *maker = value.getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(maker);
  auto type = cast<RankedTensorType>(value.getType()).clone(b.getF32Type());
  TypedAttr elements;
  if (auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
      dense && dense.isSplat())
    elements = DenseElementsAttr::get(type, dense.getSplatValue<APFloat>().convertToFloat());
  else if (constant)
    elements = widenedConstant(cast<TypedAttr>(constant.getValue()));
  known = elements
              ? ConstantOp::create(b, constant.getLoc(), elements).getResult()
              : CastOp::create(b, value.getLoc(), type, value, b.getBoolAttr(false)).getResult();
  copyDevice(maker ? maker : user, known);
  return known;
}
