//===- NarrowFloat.cpp - floats of 8 bits and less ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between f32 and the narrow formats by integer arithmetic: no
// target has instructions for all of them. Formats as the OCP specifications
// for 8-bit floats and microscaling define them; FNUZ as ONNX describes them.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NarrowFloat.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

struct Format {
  unsigned width, mantissa;
  int bias;
  /// Codes without sign: the largest number, what overflow gives, NaN.
  unsigned max, overflow, nan;
  /// NaN is the code of -0, which does not exist.
  bool unsignedZero = false;
};

std::optional<Format> formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return Format{8, 3, 7, 0x7E, 0x7F, 0x7F};
  if (isa<Float8E4M3FNUZType>(type))
    return Format{8, 3, 8, 0x7F, 0x80, 0x80, true};
  if (isa<Float8E5M2Type>(type))
    return Format{8, 2, 15, 0x7B, 0x7C, 0x7E};
  if (isa<Float8E5M2FNUZType>(type))
    return Format{8, 2, 16, 0x7F, 0x80, 0x80, true};
  if (isa<Float4E2M1FNType>(type)) // no infinity; NaN becomes -0
    return Format{4, 1, 1, 0x7, 0x7, 0x8};
  return std::nullopt;
}

/// Arithmetic on i32 and f32, scalars or vectors alike.
class Converter {
public:
  Converter(ScalarBuilder &s, OpBuilder &b, Location loc, Value like) : s(s), b(b), loc(loc) {
    integer = withElement(like, b.getI32Type());
    real = withElement(like, b.getF32Type());
  }

  static Type withElement(Value like, Type element) {
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      return VectorType::get(vector.getShape(), element);
    return element;
  }

  Value decode(Value value, const Format &f) {
    Value code = widen(value, f.width);
    Value sign = shl(andWith(code, 1u << (f.width - 1)), 32 - f.width);
    Value magnitude = andWith(code, (1u << (f.width - 1)) - 1);
    // The exponent moves to f32's bias; below the smallest normal number the
    // mantissa counts steps of one size.
    Value normal = add(shl(magnitude, 23 - f.mantissa), constant((127 - f.bias) << 23));
    Value steps = arith::UIToFPOp::create(b, loc, real, magnitude);
    Value subnormal =
        bits(s.mul(steps, realConstant(std::ldexp(1.0, 1 - f.bias - (int)f.mantissa))));
    Value result = s.select(less(magnitude, 1u << f.mantissa), subnormal, normal);
    result = s.op<arith::OrIOp>(result, sign);
    if (f.width == 8) {
      if (f.overflow != f.nan) { // the all-ones exponent: infinity, then NaN
        Value infinite = s.op<arith::OrIOp>(sign, constant(0x7F800000));
        Value special = s.select(equal(magnitude, f.overflow), infinite, constant(0x7FC00000));
        result = s.select(less(magnitude, f.overflow), result, special);
      } else {
        Value nan = f.unsignedZero ? equal(code, f.nan) : equal(magnitude, f.nan);
        result = s.select(nan, constant(0x7FC00000), result);
      }
    }
    return fromBits(result);
  }

  Value encode(Value value, const Format &f, Type target, bool saturate) {
    Value raw = bits(value);
    Value magnitude = andWith(raw, 0x7FFFFFFF);
    // Normal numbers: move the exponent, round half to even by adding just less
    // than half, and the lowest kept bit.
    unsigned drop = 23 - f.mantissa;
    Value moved = s.sub(magnitude, constant((127 - f.bias) << 23));
    Value odd = andWith(shr(moved, drop), 1);
    Value normal = shr(add(add(moved, constant((1u << (drop - 1)) - 1)), odd), drop);
    // Smaller ones: count steps of the smallest number.
    Value steps = s.op<math::RoundEvenOp>(
        s.mul(fromBits(magnitude), realConstant(std::ldexp(1.0, f.bias - 1 + (int)f.mantissa))));
    Value isSmall = less(magnitude, (unsigned)(128 - f.bias) << 23);
    Value bounded = s.select(isSmall, steps, realConstant(0));
    Value subnormal = arith::FPToUIOp::create(b, loc, integer, bounded);
    Value code = s.select(isSmall, subnormal, normal);
    Value overflows = s.op<arith::CmpIOp>(arith::CmpIPredicate::ugt, code, constant(f.max));
    // Numbers of any size, infinity last: what is beyond does not wrap, as the
    // moved exponent still fits.
    code = s.select(overflows, constant(saturate ? f.max : f.overflow), code);
    Value sign = shr(andWith(raw, 0x80000000u), 32 - f.width);
    Value result = s.op<arith::OrIOp>(code, sign);
    if (f.unsignedZero)
      result = s.select(equal(code, 0), constant(0),
                        s.select(equal(code, f.nan), constant(f.nan), result));
    Value isNan = s.op<arith::CmpIOp>(arith::CmpIPredicate::ugt, magnitude, constant(0x7F800000));
    Value nan = f.unsignedZero ? constant(f.nan) : s.op<arith::OrIOp>(sign, constant(f.nan));
    return narrow(s.select(isNan, nan, result), f.width, target);
  }

  /// Powers of two alone, rounded up; the sign is lost, zero is the smallest.
  Value encodeExponent(Value value, Type target, bool saturate) {
    Value magnitude = andWith(bits(value), 0x7FFFFFFF);
    Value exponent = shr(magnitude, 23);
    Value up =
        s.op<arith::CmpIOp>(arith::CmpIPredicate::ne, andWith(magnitude, 0x7FFFFF), constant(0));
    Value rounded = s.select(up, add(exponent, constant(1)), exponent);
    if (saturate)
      rounded = s.op<arith::MinUIOp>(rounded, constant(0xFE));
    return narrow(s.select(equal(exponent, 0xFF), constant(0xFF), rounded), 8, target);
  }
  Value decodeExponent(Value value) {
    Value code = widen(value, 8);
    Value result = s.select(equal(code, 0), constant(0x00400000), shl(code, 23));
    return fromBits(s.select(equal(code, 0xFF), constant(0x7FC00000), result));
  }

private:
  Value constant(unsigned value) {
    return splat(IntegerAttr::get(b.getI32Type(), APInt(32, value)), integer);
  }
  Value realConstant(double value) { return splat(b.getF32FloatAttr(value), real); }
  Value splat(TypedAttr scalar, Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      scalar = SplatElementsAttr::get(vector, Attribute(scalar));
    return arith::ConstantOp::create(b, loc, scalar);
  }
  Value add(Value x, Value y) { return s.op<arith::AddIOp>(x, y); }
  Value andWith(Value x, unsigned mask) { return s.op<arith::AndIOp>(x, constant(mask)); }
  Value shl(Value x, unsigned n) { return s.op<arith::ShLIOp>(x, constant(n)); }
  Value shr(Value x, unsigned n) { return s.op<arith::ShRUIOp>(x, constant(n)); }
  Value less(Value x, unsigned y) {
    return s.op<arith::CmpIOp>(arith::CmpIPredicate::ult, x, constant(y));
  }
  Value equal(Value x, unsigned y) {
    return s.op<arith::CmpIOp>(arith::CmpIPredicate::eq, x, constant(y));
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, integer, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, real, x); }
  Value widen(Value x, unsigned width) {
    Value code = arith::BitcastOp::create(b, loc, withElement(x, b.getIntegerType(width)), x);
    return arith::ExtUIOp::create(b, loc, integer, code);
  }
  Value narrow(Value code, unsigned width, Type target) {
    Value cut = arith::TruncIOp::create(b, loc, withElement(code, b.getIntegerType(width)), code);
    return arith::BitcastOp::create(b, loc, withElement(code, target), cut);
  }

  ScalarBuilder &s;
  OpBuilder &b;
  Location loc;
  Type integer, real;
};

} // namespace

bool weir::isNarrowFloat(Type type) {
  return isa<Float8E8M0FNUType>(type) || formatOf(type).has_value();
}

Value weir::narrowToF32(ScalarBuilder &s, OpBuilder &b, Location loc, Value x, Type from) {
  Converter converter(s, b, loc, x);
  if (isa<Float8E8M0FNUType>(from))
    return converter.decodeExponent(x);
  return converter.decode(x, *formatOf(from));
}

Value weir::narrowFromF32(ScalarBuilder &s, OpBuilder &b, Location loc, Value x, Type to,
                          bool saturate) {
  Converter converter(s, b, loc, x);
  if (isa<Float8E8M0FNUType>(to))
    return converter.encodeExponent(x, to, saturate);
  return converter.encode(x, *formatOf(to), to, saturate);
}
