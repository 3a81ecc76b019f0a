//===- ByteRounding.cpp - what rounds to bytes ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantizing is dividing by a scale, rounding, adding a zero point and clamping. Behind a
// product of bytes the division becomes part of what the sum is multiplied with.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "passes/layout/ByteOperands.h"
#include <cmath>

using namespace mlir;
using namespace weir;

static bool isUnsigned(Type type) { return getElementTypeOrSelf(type).isUnsignedInteger(); }

void weir::eraseDead(ValueRange values) {
  llvm::SmallSetVector<Operation *, 8> left;
  auto look = [&](ValueRange operands) {
    for (Value operand : operands)
      if (Operation *def = operand.getDefiningOp())
        left.insert(def);
  };
  look(values);
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    look(op->getOperands());
    op->erase();
  }
}

/// `value` times `factor`: constants that it was multiplied with, and to which it was
/// added, take the factor up.
static Value multiplied(Value value, double factor, Operation *user) {
  OpBuilder b(user);
  Location loc = user->getLoc();
  auto scaled = [&](Value constant) -> Value {
    TypedAttr source = constantOf(constant);
    DenseElementsAttr elements = source ? materializedConstant(source) : DenseElementsAttr();
    if (!elements || !elements.getElementType().isF32())
      return {};
    SmallVector<float> values;
    for (float element : elements.getValues<float>())
      values.push_back(static_cast<float>(element * factor));
    Value made = ConstantOp::create(
        b, loc, DenseElementsAttr::get(elements.getType(), ArrayRef<float>(values)));
    copyDevice(user, made);
    return made;
  };
  Value made;
  if (auto mul = value.getDefiningOp<MulOp>(); mul && mul->hasOneUse()) {
    if (Value constant = scaled(mul.getOperand(1)))
      made = MulOp::create(b, loc, mul.getOperand(0), constant);
  } else if (auto add = value.getDefiningOp<AddOp>(); add && add->hasOneUse()) {
    // Of two reals of bytes, both.
    auto factorOf = [](Value term) {
      auto mul = term.getDefiningOp<MulOp>();
      return mul && constantOf(mul.getOperand(1)) ? mul : MulOp();
    };
    MulOp first = factorOf(add.getOperand(0)), second = factorOf(add.getOperand(1));
    auto taken = [&](MulOp term) -> Value {
      Value constant = scaled(term.getOperand(1));
      return constant ? MulOp::create(b, loc, term.getOperand(0), constant) : Value();
    };
    Value constant = first && !second ? scaled(add.getOperand(1)) : Value();
    if (constant) {
      made = AddOp::create(b, loc, multiplied(first, factor, user), constant);
    } else if (first && second) {
      Value one = taken(first), other = taken(second);
      copyDevice(user, one);
      copyDevice(user, other);
      made = AddOp::create(b, loc, one, other);
    }
  }
  if (!made) {
    auto type = RankedTensorType::get({}, b.getF32Type());
    Value constant =
        ConstantOp::create(b, loc, DenseElementsAttr::get(type, static_cast<float>(factor)));
    copyDevice(user, constant);
    made = MulOp::create(b, loc, value, constant);
  }
  copyDevice(user, made);
  return made;
}

void weir::simplifyRounding(CastOp quantize, bool isStored) {
  Value byte = quantize;
  if (!quantize.getSaturate() || !isByte(getElementTypeOrSelf(byte.getType())))
    return;
  double lowest = isUnsigned(byte.getType()) ? 0 : -128;
  auto high = quantize.getOperand().getDefiningOp<MinimumOp>();
  auto low = high ? high.getOperand(0).getDefiningOp<MaximumOp>() : MaximumOp();
  if (!low || numberOf(low.getOperand(1)) != lowest || numberOf(high.getOperand(1)) != lowest + 255)
    return;
  Value inside = low.getOperand(0);
  if (isStored) {
    quantize.getOperandMutable().assign(inside);
    eraseDead(high->getResults());
  }
  std::optional<double> zero = 0.0;
  if (auto shifted = inside.getDefiningOp<AddOp>(); shifted && numberOf(shifted.getOperand(1))) {
    zero = numberOf(shifted.getOperand(1));
    inside = shifted.getOperand(0);
  }
  auto rounded = inside.getDefiningOp<RoundEvenOp>();
  auto divided = rounded ? rounded.getOperand().getDefiningOp<DivOp>() : DivOp();
  std::optional<double> scale = divided ? numberOf(divided.getOperand(1)) : std::nullopt;
  if (!scale || !divided->hasOneUse() || !std::isnormal(*scale) ||
      !std::isnormal(static_cast<float>(1 / *scale)))
    return;
  // What was a byte of the same scale and zero point is that byte.
  auto dequantized = divided.getOperand(0).getDefiningOp<MulOp>();
  CentredByte same = dequantized ? byteBehind(dequantized.getOperand(0)) : CentredByte();
  if (same && std::isfinite(static_cast<float>(256 * *scale)) &&
      same.byte.getType() == byte.getType() && numberOf(dequantized.getOperand(1)) == scale &&
      (same.zero ? numberOf(same.zero) : 0.0) == zero) {
    byte.replaceAllUsesWith(same.byte);
    return;
  }
  Value made = multiplied(divided.getOperand(0), 1 / *scale, divided);
  Value old = divided;
  old.replaceAllUsesWith(made);
  eraseDead(old);
}
