//===- ScalarBuilder.cpp - scalar computations of the table ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ScalarBuilder.h"
#include "dialects/weir/NarrowFloat.h"
#include "dialects/weir/Pch.h"
#include "weir/weir.h"

#include <cmath>

using namespace mlir;
using namespace weir;

bool ScalarBuilder::isUnsigned() const {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && (integer.isUnsigned() || integer.getWidth() == 1);
}

Value ScalarBuilder::constant(Value like, double value) {
  Type full = like.getType(), element = getElementTypeOrSelf(full);
  if (auto complexType = dyn_cast<ComplexType>(element)) {
    auto part = cast<FloatType>(complexType.getElementType());
    return complex::ConstantOp::create(
        b, loc, complexType,
        b.getArrayAttr({FloatAttr::get(part, value), FloatAttr::get(part, 0)}));
  }
  TypedAttr scalar = isa<FloatType>(element) ? TypedAttr(FloatAttr::get(element, value))
                                             : TypedAttr(IntegerAttr::get(element, (int64_t)value));
  if (auto vector = dyn_cast<VectorType>(full))
    scalar = SplatElementsAttr::get(vector, scalar);
  return arith::ConstantOp::create(b, loc, scalar);
}

Value ScalarBuilder::libm(StringRef name, Value a) {
  // Only f32 and f64 come here: the f32 entry points end in 'f'. The symbol is
  // declared on the way to LLVM.
  std::string symbol = name.str() + (a.getType().isF32() ? "f" : "");
  auto call = func::CallOp::create(b, loc, symbol, a.getType(), a);
  call->setAttr("weir.libm", b.getUnitAttr());
  return call.getResult(0);
}

Value ScalarBuilder::add(Value x, Value y) {
  if (isFloat(x))
    return op<arith::AddFOp>(x, y);
  if (isComplex(x))
    return op<complex::AddOp>(x, y);
  if (x.getType().isInteger(1))
    return op<arith::OrIOp>(x, y);
  return op<arith::AddIOp>(x, y);
}
Value ScalarBuilder::sub(Value x, Value y) {
  if (isFloat(x))
    return op<arith::SubFOp>(x, y);
  if (isComplex(x))
    return op<complex::SubOp>(x, y);
  return op<arith::SubIOp>(x, y);
}
Value ScalarBuilder::mul(Value x, Value y) {
  if (isFloat(x))
    return op<arith::MulFOp>(x, y);
  if (isComplex(x))
    return op<complex::MulOp>(x, y);
  if (x.getType().isInteger(1))
    return op<arith::AndIOp>(x, y);
  return op<arith::MulIOp>(x, y);
}

Value ScalarBuilder::nonZeroDivisor(Value divisor) {
  Value ok = op<arith::CmpIOp>(arith::CmpIPredicate::ne, divisor, zero(divisor));
  reader.require(forOp, ok, "integer division by zero", WEIR_INVALID_ARGUMENT);
  return select(ok, divisor, one(divisor));
}

/// x conj(y / m) / (m |y / m|^2), m the larger of y's parts (Smith, "Algorithm 116:
/// Complex division"), without branches: what overflows or divides by zero is NaN
/// where Eigen's vectors make it so.
static Value complexDiv(ScalarBuilder &s, Value x, Value y) {
  Value a = s.op<complex::ReOp>(x), b = s.op<complex::ImOp>(x);
  Value c = s.op<complex::ReOp>(y), d = s.op<complex::ImOp>(y);
  Value most = s.op<arith::MaximumFOp>(s.abs(c), s.abs(d));
  c = s.div(c, most);
  d = s.div(d, most);
  Value below = s.mul(most, s.add(s.mul(c, c), s.mul(d, d)));
  return s.makeComplex(s.div(s.add(s.mul(a, c), s.mul(b, d)), below),
                       s.div(s.sub(s.mul(b, c), s.mul(a, d)), below));
}

Value ScalarBuilder::div(Value x, Value y) {
  if (isFloat(x))
    return op<arith::DivFOp>(x, y);
  if (isComplex(x))
    return complexDiv(*this, x, y);
  y = nonZeroDivisor(y);
  if (isUnsigned())
    return op<arith::DivUIOp>(x, y);
  // The lowest value by -1 wraps, where the instruction would trap.
  Value minusOne = op<arith::CmpIOp>(arith::CmpIPredicate::eq, y, constant(y, -1));
  Value quotient = op<arith::DivSIOp>(x, select(minusOne, one(y), y));
  return select(minusOne, neg(x), quotient);
}
Value ScalarBuilder::rem(Value x, Value y) {
  if (isFloat(x))
    return op<arith::RemFOp>(x, y);
  y = nonZeroDivisor(y);
  if (isUnsigned())
    return op<arith::RemUIOp>(x, y);
  Value minusOne = op<arith::CmpIOp>(arith::CmpIPredicate::eq, y, constant(y, -1));
  return op<arith::RemSIOp>(x, select(minusOne, one(y), y));
}
Value ScalarBuilder::floorDiv(Value x, Value y) {
  if (isFloat(x))
    return op<math::FloorOp>(div(x, y));
  if (isUnsigned())
    return div(x, y);
  Value quotient = div(x, y), remainder = sub(x, mul(quotient, y));
  Value inexact = op<arith::CmpIOp>(arith::CmpIPredicate::ne, remainder, zero(x));
  Value differ =
      op<arith::CmpIOp>(arith::CmpIPredicate::slt, op<arith::XOrIOp>(remainder, y), zero(x));
  return select(op<arith::AndIOp>(inexact, differ), sub(quotient, one(x)), quotient);
}
Value ScalarBuilder::floorMod(Value x, Value y) {
  Value remainder = rem(x, y);
  if (isFloat(x)) {
    Value inexact = op<arith::CmpFOp>(arith::CmpFPredicate::UNE, remainder, zero(x));
    Value negative = op<arith::CmpFOp>(arith::CmpFPredicate::OLT, remainder, zero(x));
    Value divisorNegative = op<arith::CmpFOp>(arith::CmpFPredicate::OLT, y, zero(x));
    Value differ = op<arith::XOrIOp>(negative, divisorNegative);
    return select(op<arith::AndIOp>(inexact, differ), add(remainder, y), remainder);
  }
  if (isUnsigned())
    return remainder;
  Value inexact = op<arith::CmpIOp>(arith::CmpIPredicate::ne, remainder, zero(x));
  Value differ =
      op<arith::CmpIOp>(arith::CmpIPredicate::slt, op<arith::XOrIOp>(remainder, y), zero(x));
  return select(op<arith::AndIOp>(inexact, differ), add(remainder, y), remainder);
}

Value ScalarBuilder::pow(Value x, Value y) {
  if (isFloat(x)) {
    // Squares and cubes, also of halves, which are computed in f32 and rounded once.
    APFloat power(0.0);
    if (matchPattern(y, m_ConstantFloat(&power)) && power.isExactlyValue(2))
      return mul(x, x);
    if (matchPattern(y, m_ConstantFloat(&power)) && power.isExactlyValue(3))
      return mul(mul(x, x), x);
    return op<math::PowFOp>(x, y);
  }
  if (isComplex(x))
    return op<complex::PowOp>(x, y);
  // Square and multiply over the exponent's bits. A negative exponent gives the
  // reciprocal, truncated: not zero for 1 and -1 only.
  unsigned width = x.getType().getIntOrFloatBitWidth();
  SmallVector<Value> carried =
      emitReductionLoops(reader, {reader.constant(width)}, ValueRange{one(x), x, y},
                         [&](ValueRange, ValueRange c) -> SmallVector<Value> {
                           Value bit = op<arith::TruncIOp>(b.getI1Type(), c[2]);
                           if (width == 1)
                             bit = c[2];
                           return {select(bit, mul(c[0], c[1]), c[0]), mul(c[1], c[1]),
                                   op<arith::ShRUIOp>(c[2], one(c[2]))};
                         });
  if (isUnsigned())
    return carried[0];
  Value negative = op<arith::CmpIOp>(arith::CmpIPredicate::slt, y, zero(y));
  Value isOne = op<arith::CmpIOp>(arith::CmpIPredicate::eq, x, one(x));
  Value isMinusOne = op<arith::CmpIOp>(arith::CmpIPredicate::eq, x, constant(x, -1));
  Value odd = op<arith::CmpIOp>(arith::CmpIPredicate::ne, op<arith::AndIOp>(y, one(y)), zero(y));
  Value reciprocal =
      select(isOne, one(x), select(isMinusOne, select(odd, constant(x, -1), one(x)), zero(x)));
  return select(negative, reciprocal, carried[0]);
}

Value ScalarBuilder::atan2(Value y, Value x) {
  // MLIR's folder makes a NaN of two zeros.
  FloatAttr constantY, constantX;
  if (matchPattern(y, m_Constant(&constantY)) && matchPattern(x, m_Constant(&constantX)) &&
      constantY.getValue().isZero() && constantX.getValue().isZero())
    return arith::ConstantOp::create(
        b, loc,
        FloatAttr::get(y.getType(),
                       std::atan2(constantY.getValueAsDouble(), constantX.getValueAsDouble())));
  return op<math::Atan2Op>(y, x);
}

Value ScalarBuilder::maximum(Value x, Value y) {
  if (isFloat(x))
    return op<arith::MaximumFOp>(x, y);
  return isUnsigned() ? op<arith::MaxUIOp>(x, y) : op<arith::MaxSIOp>(x, y);
}
Value ScalarBuilder::minimum(Value x, Value y) {
  if (isFloat(x))
    return op<arith::MinimumFOp>(x, y);
  return isUnsigned() ? op<arith::MinUIOp>(x, y) : op<arith::MinSIOp>(x, y);
}
Value ScalarBuilder::combine(ReduceKind kind, Value x, Value y) {
  if (kind == ReduceKind::Sum)
    return add(x, y);
  if (kind == ReduceKind::Prod)
    return mul(x, y);
  return kind == ReduceKind::Max ? maximum(x, y) : minimum(x, y);
}
Value ScalarBuilder::neg(Value x) {
  if (isFloat(x))
    return op<arith::NegFOp>(x);
  if (isComplex(x))
    return op<complex::NegOp>(x);
  return op<arith::SubIOp>(zero(x), x);
}
Value ScalarBuilder::abs(Value x) {
  if (isFloat(x))
    return op<math::AbsFOp>(x);
  return isUnsigned() ? x : op<math::AbsIOp>(x);
}
Value ScalarBuilder::sign(Value x) {
  Value zeroValue = zero(x);
  if (isFloat(x)) {
    // NaN is its own sign, and zero that of both: -0 + 0 is 0.
    Value positive = op<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, zeroValue);
    Value negative = op<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, zeroValue);
    return select(positive, one(x), select(negative, constant(x, -1), add(x, zeroValue)));
  }
  if (isComplex(x)) {
    // By the larger part first: the magnitude of what is left neither overflows nor underflows.
    Value re = op<complex::ReOp>(x), im = op<complex::ImOp>(x);
    Value larger = op<arith::MaximumFOp>(abs(re), abs(im));
    Value isZero = op<arith::CmpFOp>(arith::CmpFPredicate::OEQ, larger, zero(larger));
    re = op<arith::DivFOp>(re, larger);
    im = op<arith::DivFOp>(im, larger);
    Value magnitude = op<math::SqrtOp>(add(mul(re, re), mul(im, im)));
    return select(isZero, x,
                  makeComplex(op<arith::DivFOp>(re, magnitude), op<arith::DivFOp>(im, magnitude)));
  }
  Value nonZero = op<arith::CmpIOp>(arith::CmpIPredicate::ne, x, zeroValue);
  if (isUnsigned())
    return select(nonZero, one(x), zeroValue);
  Value negative = op<arith::CmpIOp>(arith::CmpIPredicate::slt, x, zeroValue);
  return select(negative, constant(x, -1), select(nonZero, one(x), zeroValue));
}
Value ScalarBuilder::rsqrt(Value x) {
  if (isComplex(x))
    return op<complex::RsqrtOp>(x);
  return op<arith::DivFOp>(one(x), op<math::SqrtOp>(x));
}
Value ScalarBuilder::logistic(Value x) {
  if (isComplex(x))
    return div(one(x), add(one(x), op<complex::ExpOp>(neg(x))));
  return op<arith::DivFOp>(one(x), add(one(x), op<math::ExpOp>(neg(x))));
}
Value ScalarBuilder::gelu(Value x, bool approximate) {
  Value half = mul(constant(x, 0.5), x);
  if (!approximate)
    return mul(half, add(one(x), op<math::ErfOp>(mul(x, constant(x, 0.70710678118654752440)))));
  Value cube = mul(mul(x, x), x);
  Value inner = mul(constant(x, 0.79788456080286535588), add(x, mul(constant(x, 0.044715), cube)));
  return mul(half, add(one(x), op<math::TanhOp>(inner)));
}
Value ScalarBuilder::bitNot(Value x) { return op<arith::XOrIOp>(x, constant(x, -1)); }
Value ScalarBuilder::shiftLeft(Value x, Value y) {
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  Value inside = op<arith::CmpIOp>(arith::CmpIPredicate::ult, y, constant(y, width));
  return select(inside, op<arith::ShLIOp>(x, select(inside, y, zero(y))), zero(x));
}
Value ScalarBuilder::shiftRight(Value x, Value y) {
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  Value inside = op<arith::CmpIOp>(arith::CmpIPredicate::ult, y, constant(y, width));
  if (isUnsigned())
    return select(inside, op<arith::ShRUIOp>(x, select(inside, y, zero(y))), zero(x));
  return op<arith::ShRSIOp>(x, select(inside, y, constant(y, width - 1)));
}
Value ScalarBuilder::isNan(Value x) {
  if (!isFloat(x))
    return compare("ne", x, x);
  return op<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
}
Value ScalarBuilder::isInf(Value x) {
  if (!isFloat(x))
    return compare("ne", x, x);
  Value infinity = constant(x, std::numeric_limits<double>::infinity());
  return op<arith::CmpFOp>(arith::CmpFPredicate::OEQ, op<math::AbsFOp>(x), infinity);
}
Value ScalarBuilder::isFinite(Value x) {
  if (!isFloat(x))
    return compare("eq", x, x);
  Value infinity = constant(x, std::numeric_limits<double>::infinity());
  return op<arith::CmpFOp>(arith::CmpFPredicate::OLT, op<math::AbsFOp>(x), infinity);
}
Value ScalarBuilder::makeComplex(Value re, Value im) {
  return complex::CreateOp::create(b, loc, ComplexType::get(re.getType()), re, im);
}

Value ScalarBuilder::compare(StringRef predicate, Value x, Value y) {
  if (isComplex(x))
    return predicate == "eq" ? op<complex::EqualOp>(x, y) : op<complex::NotEqualOp>(x, y);
  if (isFloat(x)) {
    auto p = llvm::StringSwitch<arith::CmpFPredicate>(predicate)
                 .Case("eq", arith::CmpFPredicate::OEQ)
                 .Case("ne", arith::CmpFPredicate::UNE)
                 .Case("lt", arith::CmpFPredicate::OLT)
                 .Case("le", arith::CmpFPredicate::OLE)
                 .Case("gt", arith::CmpFPredicate::OGT)
                 .Default(arith::CmpFPredicate::OGE);
    return op<arith::CmpFOp>(p, x, y);
  }
  bool u = isUnsigned();
  using P = arith::CmpIPredicate;
  auto p = llvm::StringSwitch<P>(predicate)
               .Case("eq", P::eq)
               .Case("ne", P::ne)
               .Case("lt", u ? P::ult : P::slt)
               .Case("le", u ? P::ule : P::sle)
               .Case("gt", u ? P::ugt : P::sgt)
               .Default(u ? P::uge : P::sge);
  return op<arith::CmpIOp>(p, x, y);
}
Value ScalarBuilder::select(Value condition, Value x, Value y) {
  return op<arith::SelectOp>(condition, x, y);
}

/// `element` in the shape of `like`: scalar or vector.
static Type withElement(Value like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return VectorType::get(vector.getShape(), element);
  return element;
}

/// An f64 as the f32 next to it towards zero, its last bit set where that is not
/// exact (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
Value ScalarBuilder::roundToOdd(Value x) {
  Type f32 = withElement(x, b.getF32Type()), i32 = withElement(x, b.getI32Type());
  Value nearest = arith::TruncFOp::create(b, loc, f32, x);
  Value back = arith::ExtFOp::create(b, loc, x.getType(), nearest);
  Value bits = arith::BitcastOp::create(b, loc, i32, nearest);
  Value away =
      op<arith::CmpFOp>(arith::CmpFPredicate::OGT, op<math::AbsFOp>(back), op<math::AbsFOp>(x));
  Value towardsZero = select(away, sub(bits, one(bits)), bits);
  Value odd = op<arith::OrIOp>(towardsZero, one(bits));
  // NaN compares unequal in no order: it stays as it is.
  Value inexact = op<arith::CmpFOp>(arith::CmpFPredicate::ONE, back, x);
  return arith::BitcastOp::create(b, loc, f32, select(inexact, odd, bits));
}

Value ScalarBuilder::floatToInteger(Value x, IntegerType to, bool saturate) {
  // Out-of-range conversions are poison in LLVM: zero is converted in their place, and what they
  // are is selected behind it.
  unsigned width = to.getWidth(), wide = saturate ? width : width <= 32 ? 32 : 64;
  Type wideType = withElement(x, b.getIntegerType(wide));
  auto bits = [&](APInt value) -> Value {
    TypedAttr attr = IntegerAttr::get(b.getIntegerType(wide), value);
    if (auto vector = dyn_cast<VectorType>(wideType))
      attr = SplatElementsAttr::get(vector, attr);
    return arith::ConstantOp::create(b, loc, attr);
  };
  Value truncated = op<math::TruncOp>(x);
  auto isBelow = [&](double bound) {
    return op<arith::CmpFOp>(arith::CmpFPredicate::OLT, truncated, constant(x, bound));
  };
  auto isFrom = [&](double bound) {
    return op<arith::CmpFOp>(arith::CmpFPredicate::OGE, truncated, constant(x, bound));
  };
  Value nan = op<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
  if (saturate) {
    bool isUnsigned = to.isUnsigned();
    Value below = isBelow(isUnsigned ? 0.0 : -std::ldexp(1.0, wide - 1));
    Value above = isFrom(std::ldexp(1.0, isUnsigned ? wide : wide - 1));
    Value outside = op<arith::OrIOp>(op<arith::OrIOp>(below, above), nan);
    Value inside = select(outside, zero(x), x);
    Value converted = isUnsigned ? Value(arith::FPToUIOp::create(b, loc, wideType, inside))
                                 : Value(arith::FPToSIOp::create(b, loc, wideType, inside));
    APInt lowest = isUnsigned ? APInt::getZero(wide) : APInt::getSignedMinValue(wide);
    APInt highest = isUnsigned ? APInt::getMaxValue(wide) : APInt::getSignedMaxValue(wide);
    converted = select(below, bits(lowest), converted);
    return select(above, bits(highest), converted); // NaN: 0
  }
  // As x86's instructions for 32 and 64 bits do it: the lowest value where it does not fit.
  Value above = isFrom(std::ldexp(1.0, wide - 1));
  Value outside =
      op<arith::OrIOp>(op<arith::OrIOp>(isBelow(-std::ldexp(1.0, wide - 1)), above), nan);
  Value converted = arith::FPToSIOp::create(b, loc, wideType, select(outside, zero(x), x));
  converted = select(outside, bits(APInt::getSignedMinValue(wide)), converted);
  if (to.isUnsigned() && width == wide) {
    Value upper = op<arith::AndIOp>(above, isBelow(std::ldexp(1.0, wide)));
    Value high = arith::FPToUIOp::create(b, loc, wideType, select(upper, x, zero(x)));
    converted = select(upper, high, converted);
  }
  Type target = withElement(x, computeType(to));
  return width == wide ? converted : Value(arith::TruncIOp::create(b, loc, target, converted));
}

Value ScalarBuilder::clampInteger(Value x, Type from, IntegerType to) {
  Type target = withElement(x, computeType(to));
  unsigned fromWidth = from.getIntOrFloatBitWidth(), width = to.getWidth();
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1), toUnsigned = to.isUnsigned();
  // Clamp in 128 bits' worth of care: compare in a type wide enough for both.
  unsigned wide = std::max(fromWidth, width) + 1;
  Type wideType = withElement(x, b.getIntegerType(wide));
  Value v = fromUnsigned ? Value(arith::ExtUIOp::create(b, loc, wideType, x))
                         : Value(arith::ExtSIOp::create(b, loc, wideType, x));
  auto bound = [&](APInt value, bool isUnsignedBound) -> Value {
    APInt extended = isUnsignedBound ? value.zext(wide) : value.sext(wide);
    TypedAttr attr = IntegerAttr::get(b.getIntegerType(wide), extended);
    if (auto vector = dyn_cast<VectorType>(wideType))
      attr = SplatElementsAttr::get(vector, attr);
    return arith::ConstantOp::create(b, loc, attr);
  };
  bool u = toUnsigned;
  v = op<arith::MaxSIOp>(v, bound(u ? APInt::getZero(width) : APInt::getSignedMinValue(width), u));
  v = op<arith::MinSIOp>(v,
                         bound(u ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width), u));
  return arith::TruncIOp::create(b, loc, target, v);
}

Value ScalarBuilder::cast(Value x, Type from, Type to, bool saturate) {
  if (from == to)
    return x;
  Type target = withElement(x, computeType(to));
  if (auto toComplex = dyn_cast<ComplexType>(to)) {
    Type part = toComplex.getElementType();
    if (auto fromComplex = dyn_cast<ComplexType>(from))
      return makeComplex(cast(op<complex::ReOp>(x), fromComplex.getElementType(), part, false),
                         cast(op<complex::ImOp>(x), fromComplex.getElementType(), part, false));
    Value re = cast(x, from, part, false);
    return makeComplex(re, zero(re));
  }
  if (auto fromComplex = dyn_cast<ComplexType>(from)) {
    if (to.isInteger(1))
      return compare("ne", x, zero(x));
    return cast(op<complex::ReOp>(x), fromComplex.getElementType(), to, saturate);
  }
  if (to.isInteger(1) && !isNarrowFloat(from))
    return isFloat(x) ? op<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, zero(x))
                      : op<arith::CmpIOp>(arith::CmpIPredicate::ne, x, zero(x));
  // Floats of 8 bits and less: by way of f32.
  if (isNarrowFloat(from))
    return cast(narrowToF32(*this, b, loc, x, from), b.getF32Type(), to, saturate);
  if (isNarrowFloat(to))
    return narrowFromF32(*this, b, loc, cast(x, from, b.getF32Type(), false), to, saturate);
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (auto toFloat = dyn_cast<FloatType>(to)) {
    if (auto fromFloat = dyn_cast<FloatType>(from)) {
      if (fromFloat.getWidth() == toFloat.getWidth()) {
        // f16 and bf16: by way of f32, which holds both.
        Value wide = cast(x, from, b.getF32Type(), false);
        return cast(wide, b.getF32Type(), to, saturate);
      }
      // By way of f32 rounded to odd, which the second rounding then sees as
      // what f64 was: no target has the direct conversions.
      if (fromFloat.isF64() && toFloat.getWidth() == 16)
        return cast(roundToOdd(x), b.getF32Type(), to, saturate);
      return fromFloat.getWidth() < toFloat.getWidth()
                 ? Value(arith::ExtFOp::create(b, loc, target, x))
                 : Value(arith::TruncFOp::create(b, loc, target, x));
    }
    return fromUnsigned ? Value(arith::UIToFPOp::create(b, loc, target, x))
                        : Value(arith::SIToFPOp::create(b, loc, target, x));
  }
  auto toInteger = ::llvm::cast<IntegerType>(to);
  if (auto fromFloat = dyn_cast<FloatType>(from)) {
    if (fromFloat.getWidth() < 32)
      return cast(cast(x, from, b.getF32Type(), false), b.getF32Type(), to, saturate);
    return floatToInteger(x, toInteger, saturate);
  }
  unsigned fromWidth = from.getIntOrFloatBitWidth(), width = toInteger.getWidth();
  bool toUnsigned = toInteger.isUnsigned();
  bool holdsAll =
      toUnsigned == fromUnsigned ? width >= fromWidth : fromUnsigned && width > fromWidth;
  if (saturate && fromWidth != 1 && !holdsAll)
    return clampInteger(x, from, toInteger);
  if (fromWidth == width)
    return x;
  if (fromWidth > width)
    return arith::TruncIOp::create(b, loc, target, x);
  return fromUnsigned ? Value(arith::ExtUIOp::create(b, loc, target, x))
                      : Value(arith::ExtSIOp::create(b, loc, target, x));
}
