//===- ShapeSupport.cpp - what shape inference is written in --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/Pch.h"
#include "weir/weir.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

std::string shape::shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape)) {
    text += i ? ", " : "";
    text += isKnown(size) ? std::to_string(size) : "?";
  }
  return text + "]";
}

std::optional<int64_t> shape::mergeSizes(int64_t a, int64_t b) {
  if (!isKnown(a))
    return b;
  if (!isKnown(b) || a == b)
    return a;
  return std::nullopt;
}

int64_t shape::sizeProduct(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  bool open = false;
  for (int64_t size : sizes) {
    if (size == 0)
      return 0;
    open |= !isKnown(size);
    if (!open && __builtin_mul_overflow(count, size, &count))
      return unknown;
  }
  return open ? unknown : count;
}

int64_t shape::entryCount(Value operand) {
  auto type = ranked(operand);
  if (!type)
    return unknown;
  return sizeProduct(type.getShape());
}

std::optional<Sizes> shape::entries(Value operand) {
  Sizes result;
  if (auto known = knownIntegers(operand)) {
    for (std::optional<int64_t> value : *known)
      // The lowest number is how an open size reads; as a bound, which is the
      // only place where models have it, the next one says the same.
      result.push_back(value ? std::max(*value, unknown + 1) : unknown);
    return result;
  }
  // More entries than a tensor has dimensions do not go with anything.
  constexpr int64_t most = 64;
  int64_t count = entryCount(operand);
  if (!isKnown(count) || count > most)
    return std::nullopt;
  return Sizes(count, unknown);
}

Value shape::entry(ElementReader &r, Value operand, int64_t i) {
  if (auto known = knownIntegers(operand))
    if (i < (int64_t)known->size() && (*known)[i])
      return r.constant(*(*known)[i]);
  if (ranked(operand).getRank() == 0)
    return r.elementAsIndex(operand, {});
  return r.elementAsIndex(operand, r.constant(i));
}

SmallVector<Value> shape::staticDims(ElementReader &r, Value result) {
  SmallVector<Value> dims;
  for (int64_t size : ranked(result).getShape())
    dims.push_back(isKnown(size) ? r.constant(size) : Value());
  return dims;
}

LogicalResult shape::dimsOf(ElementReader &r, Value tensor, SmallVectorImpl<Value> &dims) {
  llvm::append_range(dims, r.dims(tensor));
  return success();
}

Value shape::ceilDivide(ElementReader &r, Value numerator, Value divisor) {
  if (matchPattern(divisor, m_One()))
    return numerator;
  return r.b.createOrFold<arith::CeilDivSIOp>(r.loc, numerator, divisor);
}

Value shape::positiveRemainder(ElementReader &r, Value numerator, Value divisor) {
  if (matchPattern(divisor, m_One()))
    return r.constant(0);
  Value rest = r.b.createOrFold<arith::RemSIOp>(r.loc, numerator, divisor);
  return r.select(r.less(rest, r.constant(0)), r.add(rest, divisor), rest);
}

Value shape::product(ElementReader &r, ValueRange sizes) {
  Value result = r.constant(1);
  for (Value size : sizes)
    result = r.mul(result, size);
  return result;
}

Value shape::boundedProduct(ElementReader &r, ValueRange sizes) {
  Value result = r.constant(1), most = r.constant(int64_t(1) << 62);
  for (Value size : sizes) {
    Value limit = r.divide(most, r.maximum(size, r.constant(1)));
    result = r.select(r.less(limit, result), most, r.mul(result, size));
  }
  return result;
}

Value shape::indexTo(ElementReader &r, Operation *op, Value index, Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return r.b.createOrFold<arith::IndexCastOp>(r.loc, computeType(integer), index);
  Value wide = r.b.createOrFold<arith::IndexCastOp>(r.loc, r.b.getI64Type(), index);
  return ScalarBuilder(r, op, r.b.getI64Type()).cast(wide, r.b.getI64Type(), element, false);
}

void shape::requireEqual(ElementReader &r, Operation *op, Value a, Value b, StringRef message) {
  if (a == b)
    return;
  Value ok = r.equal(a, b);
  if (!matchPattern(ok, m_One()))
    r.require(op, ok, message, WEIR_INVALID_ARGUMENT, a, b);
}

void shape::requireEntries(ElementReader &r, Operation *op, Value operand, int64_t count) {
  auto type = ranked(operand);
  if (type && type.getRank() == 1 && type.isDynamicDim(0) && !knownIntegers(operand))
    requireEqual(r, op, r.dim(operand, 0), r.constant(count),
                 "expected a parameter of {1} entries, got {0}");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value shape::reductionStart(ElementReader &r, Type type, ReduceKind kind) {
  bool sum = kind == ReduceKind::Sum || kind == ReduceKind::Mean || kind == ReduceKind::Any;
  bool one = kind == ReduceKind::Prod || kind == ReduceKind::All;
  Type compute = computeType(type);
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    auto part = cast<FloatType>(complexType.getElementType());
    return complex::ConstantOp::create(
        r.b, r.loc, complexType,
        r.b.getArrayAttr({FloatAttr::get(part, one ? 1 : 0), FloatAttr::get(part, 0)}));
  }
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    APFloat value = APFloat::getZero(semantics);
    if (one)
      value = APFloat(semantics, 1);
    else if (!sum)
      value = APFloat::getInf(semantics, /*Negative=*/kind == ReduceKind::Max);
    return arith::ConstantOp::create(r.b, r.loc, FloatAttr::get(floatType, value));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger() || width == 1;
  APInt value = APInt::getZero(width);
  if (one)
    value = APInt(width, 1);
  else if (kind == ReduceKind::Max)
    value = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  else if (!sum)
    value = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(r.b, r.loc, IntegerAttr::get(compute, value));
}

Value shape::reductionStep(ElementReader &r, ScalarBuilder &s, ReduceKind kind, Value carried,
                           Value next, bool reassociate) {
  if (kind == ReduceKind::Sum || kind == ReduceKind::Mean) {
    if (reassociate && s.isFloat(carried))
      return arith::AddFOp::create(r.b, r.loc, carried, next, arith::FastMathFlags::reassoc);
    return s.add(carried, next);
  }
  if (kind == ReduceKind::Prod && reassociate && s.isFloat(carried))
    return arith::MulFOp::create(r.b, r.loc, carried, next, arith::FastMathFlags::reassoc);
  if (kind == ReduceKind::Prod)
    return s.mul(carried, next);
  // Of two zeros either is the greater.
  constexpr auto eitherZero = arith::FastMathFlags::nsz;
  if (kind == ReduceKind::Max)
    return s.isFloat(carried)
               ? arith::MaximumFOp::create(r.b, r.loc, carried, next, eitherZero).getResult()
               : s.maximum(carried, next);
  if (kind == ReduceKind::Min)
    return s.isFloat(carried)
               ? arith::MinimumFOp::create(r.b, r.loc, carried, next, eitherZero).getResult()
               : s.minimum(carried, next);
  if (kind == ReduceKind::Any)
    return s.op<arith::OrIOp>(carried, next);
  return s.op<arith::AndIOp>(carried, next);
}

Value shape::multiplyAdd(ElementReader &r, ScalarBuilder &s, Value carried, Value x, Value y) {
  if (!s.isFloat(carried))
    return s.add(carried, s.mul(x, y));
  Value term = arith::MulFOp::create(r.b, r.loc, x, y, arith::FastMathFlags::contract);
  return arith::AddFOp::create(r.b, r.loc, carried, term,
                               arith::FastMathFlags::contract | arith::FastMathFlags::reassoc);
}
