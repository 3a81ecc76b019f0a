//===- Quantized.cpp - what stands for reals in bytes ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Quantized.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

TypedAttr weir::constantOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? cast<TypedAttr>(constant.getValue()) : TypedAttr();
}

std::optional<double> weir::numberOf(Value value) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(constantOf(value));
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  auto type = dyn_cast<IntegerType>(elements.getElementType());
  if (!type || type.getWidth() > 32)
    return std::nullopt;
  APInt number = elements.getSplatValue<APInt>();
  return type.isUnsigned() ? static_cast<double>(number.getZExtValue())
                           : static_cast<double>(number.getSExtValue());
}

bool weir::isByte(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() == 8;
}

/// The cast that makes `value` of elements of which `from` holds, or null.
static CastOp castFrom(Value value, function_ref<bool(Type)> from) {
  auto op = value.getDefiningOp<CastOp>();
  return op && from(getElementTypeOrSelf(op.getOperand().getType())) ? op : CastOp();
}

static bool isWord(Type type) { return type.isInteger(32) || type.isSignedInteger(32); }

CentredByte weir::byteBehindWord(Value value) {
  CentredByte found;
  if (!isWord(getElementTypeOrSelf(value.getType())))
    return {};
  if (auto sub = value.getDefiningOp<SubOp>()) {
    if (sub.getOperand(0).getType() != sub.getType())
      return {};
    found.zero = sub.getOperand(1);
    value = sub.getOperand(0);
  }
  if (CastOp toWord = castFrom(value, isByte))
    found.byte = toWord.getOperand();
  return found;
}

CentredByte weir::byteBehind(Value value) {
  if (!getElementTypeOrSelf(value.getType()).isF32())
    return {};
  // Without a zero point bytes become floats at once.
  if (CastOp direct = castFrom(value, isByte))
    return {direct.getOperand(), Value()};
  CastOp toFloat = castFrom(value, isWord);
  return toFloat ? byteBehindWord(toFloat.getOperand()) : CentredByte();
}
