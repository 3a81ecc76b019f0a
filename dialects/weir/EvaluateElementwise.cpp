//===- EvaluateElementwise.cpp - arithmetic at compile time ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Evaluate.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include <cmath>

using namespace mlir;
using namespace weir;

static Number integer(int64_t value) { return {value, 0}; }
static Number real(double value) { return {0, value}; }

static bool isUnsignedType(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

static double maximumOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b) // zeros: the positive one is larger
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

static std::optional<Number> binaryFloat(StringRef kind, double a, double b, Type type) {
  Type wide = type.getIntOrFloatBitWidth() < 32 ? Float32Type::get(type.getContext()) : type;
  auto rounded = [&](double value) { return inType(real(value), wide).real; };
  if (kind == "add")
    return real(a + b);
  if (kind == "sub")
    return real(a - b);
  if (kind == "mul")
    return real(a * b);
  if (kind == "div")
    return real(a / b);
  if (kind == "floor_div")
    return real(std::floor(rounded(a / b)));
  if (kind == "rem")
    return real(std::fmod(a, b));
  if (kind == "floor_mod") {
    double rest = std::fmod(a, b);
    return real(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  }
  if (kind == "maximum")
    return real(maximumOf(a, b));
  if (kind == "minimum")
    return real(-maximumOf(-a, -b));
  return std::nullopt;
}

static std::optional<Number> binaryInteger(StringRef kind, int64_t a, int64_t b, Type type) {
  bool isUnsigned = isUnsignedType(type);
  unsigned width = type.getIntOrFloatBitWidth();
  uint64_t x = a, y = b;
  // In unsigned numbers, where overflow wraps.
  if (kind == "add")
    return integer(width == 1 ? x | y : x + y);
  if (kind == "sub")
    return integer(x - y);
  if (kind == "mul")
    return integer(x * y);
  if (kind == "and")
    return integer(x & y);
  if (kind == "or")
    return integer(x | y);
  if (kind == "xor")
    return integer(x ^ y);
  if (kind == "maximum")
    return integer(isUnsigned ? std::max(x, y) : std::max(a, b));
  if (kind == "minimum")
    return integer(isUnsigned ? std::min(x, y) : std::min(a, b));
  if (kind == "shl")
    return integer(y >= width ? 0 : x << y);
  if (kind == "shr")
    return integer(isUnsigned ? (y >= width ? 0 : x >> y) : a >> std::min<uint64_t>(y, width - 1));
  if (kind == "pow") {
    if (!isUnsigned && b < 0)
      return integer(a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0);
    uint64_t result = 1;
    for (; y; y >>= 1, x *= x)
      result = y & 1 ? result * x : result;
    return integer(result);
  }
  if (b == 0)
    return std::nullopt; // an error of the run
  if (isUnsigned) {
    if (kind == "div" || kind == "floor_div")
      return integer(x / y);
    if (kind == "rem" || kind == "floor_mod")
      return integer(x % y);
    return std::nullopt;
  }
  if (b == -1)
    return kind == "div" || kind == "floor_div"   ? std::optional(integer(0 - x))
           : kind == "rem" || kind == "floor_mod" ? std::optional(integer(0))
                                                  : std::nullopt;
  bool fix = a % b != 0 && (a % b < 0) != (b < 0);
  if (kind == "div")
    return integer(a / b);
  if (kind == "rem")
    return integer(a % b);
  if (kind == "floor_div")
    return integer(a / b - fix);
  if (kind == "floor_mod")
    return integer(a % b + (fix ? b : 0));
  return std::nullopt;
}

std::optional<Number> evaluate::binary(StringRef kind, Number a, Number b, Type type) {
  auto result = isa<FloatType>(type) ? binaryFloat(kind, a.real, b.real, type)
                                     : binaryInteger(kind, a.integer, b.integer, type);
  if (result)
    result = inType(*result, type);
  return result;
}

static std::optional<Number> unary(StringRef kind, Number a, Type type) {
  if (isa<FloatType>(type)) {
    double x = a.real;
    if (kind == "neg")
      return real(-x);
    if (kind == "abs")
      return real(std::fabs(x));
    if (kind == "sign")
      return real(x > 0 ? 1 : x < 0 ? -1 : x);
    if (kind == "sqrt")
      return real(std::sqrt(x));
    if (kind == "rsqrt") // the root is rounded before it divides
      return real(1.0 / (type.isF64() ? std::sqrt(x) : static_cast<float>(std::sqrt(x))));
    if (kind == "floor")
      return real(std::floor(x));
    if (kind == "ceil")
      return real(std::ceil(x));
    if (kind == "trunc")
      return real(std::trunc(x));
    if (kind == "round")
      return real(std::round(x));
    if (kind == "round_even")
      return real(std::nearbyint(x));
    if (kind == "relu")
      return real(maximumOf(x, 0));
    if (kind == "is_nan")
      return integer(std::isnan(x));
    if (kind == "is_inf")
      return integer(std::isinf(x));
    if (kind == "is_finite")
      return integer(std::isfinite(x));
    return std::nullopt;
  }
  bool isUnsigned = isUnsignedType(type);
  int64_t x = a.integer;
  if (kind == "neg")
    return integer(0 - (uint64_t)x);
  if (kind == "abs")
    return integer(isUnsigned || x >= 0 ? (uint64_t)x : 0 - (uint64_t)x);
  if (kind == "sign")
    return integer(x == 0 ? 0 : isUnsigned || x > 0 ? 1 : -1);
  if (kind == "not")
    return integer(~x);
  if (kind == "relu")
    return integer(isUnsigned ? x : std::max<int64_t>(x, 0));
  if (kind == "floor" || kind == "ceil" || kind == "trunc" || kind == "round" ||
      kind == "round_even")
    return a;
  if (kind == "is_finite")
    return integer(1);
  if (kind == "is_nan" || kind == "is_inf")
    return integer(0);
  return std::nullopt;
}

template <typename T> static bool holds(StringRef predicate, T a, T b) {
  if (predicate == "eq")
    return a == b;
  if (predicate == "ne")
    return a != b;
  if (predicate == "lt")
    return a < b;
  if (predicate == "le")
    return a <= b;
  return predicate == "gt" ? a > b : a >= b;
}

static std::optional<Number> cast(Number a, Type from, Type to, bool saturate) {
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if ((fromFloat && fromFloat.getWidth() < 16) || (toFloat && toFloat.getWidth() < 16))
    return std::nullopt;
  if (to.isInteger(1))
    return integer(fromFloat ? a.real != 0 : a.integer != 0);
  bool lost;
  if (toFloat) {
    // Rounded once, from the exact value.
    APFloat value(a.real);
    if (!fromFloat) {
      APInt bits(64, a.integer, /*isSigned=*/true);
      value = APFloat(toFloat.getFloatSemantics());
      value.convertFromAPInt(bits, !isUnsignedType(from), APFloat::rmNearestTiesToEven);
    }
    value.convert(toFloat.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return real(value.convertToDouble());
  }
  unsigned width = to.getIntOrFloatBitWidth();
  bool toUnsigned = to.isUnsignedInteger();
  if (fromFloat) {
    double x = std::trunc(a.real);
    if (saturate) {
      if (std::isnan(x))
        return integer(0);
      APSInt bits(width, toUnsigned);
      // APFloat saturates, too.
      APFloat(x).convertToInteger(bits, APFloat::rmTowardZero, &lost);
      return integer(toUnsigned ? (int64_t)bits.getZExtValue() : bits.getSExtValue());
    }
    bool isWide = width > 32;
    double half = isWide ? 0x1p63 : 0x1p31;
    if (x >= -half && x < half)
      return integer((int64_t)x);
    if (toUnsigned && width >= 32 && x >= half && x < 2 * half)
      return integer((int64_t)(uint64_t)x);
    return integer(isWide ? INT64_MIN : INT32_MIN);
  }
  if (!saturate || from.isInteger(1))
    return a;
  bool fromUnsigned = isUnsignedType(from);
  APInt value = APInt(64, a.integer, true);
  value = fromUnsigned ? value.zext(66) : value.sext(66);
  APInt low = toUnsigned ? APInt::getZero(66) : APInt::getSignedMinValue(width).sext(66);
  APInt high =
      toUnsigned ? APInt::getMaxValue(width).zext(66) : APInt::getSignedMaxValue(width).sext(66);
  value = value.slt(low) ? low : value.sgt(high) ? high : value;
  return integer(value.trunc(64).getSExtValue());
}

/// The element of `operand` under NumPy's broadcasting.
static Number broadcast(const HostTensor &operand, evaluate::Index index) {
  evaluate::Index own = index.take_back(operand.shape().size());
  int64_t place = 0;
  for (auto [size, i] : llvm::zip(operand.shape(), own))
    place = place * size + (size == 1 ? 0 : i);
  return operand.elements[place];
}

/// What networks fold most, of f32: sums, products and roots of operands that are as large as the
/// result or one element. False: `kind` is something else, or an operand is spread otherwise.
/// A result in f64 that is rounded to f32 is what f32 would have (Figueroa, "When is double
/// rounding innocuous?", 1995).
static bool plainFloats(StringRef kind, evaluate::Operands operands, HostTensor &result) {
  const size_t count = result.elements.size();
  for (const std::optional<HostTensor> &operand : operands)
    if (!operand->elementType().isF32() ||
        (operand->elements.size() != count && operand->elements.size() != 1))
      return false;
  auto each = [&](auto of) {
    auto step = [&](size_t i) { return operands[i]->elements.size() == 1 ? 0 : 1; };
    const Number *x = operands[0]->elements.data(), *y = operands.back()->elements.data();
    const int xStep = step(0), yStep = step(operands.size() - 1);
    for (Number &number : result.elements) {
      number.real = static_cast<float>(of(x->real, y->real));
      x += xStep;
      y += yStep;
    }
    return true;
  };
  if (operands.size() == 1)
    return kind == "sqrt" && each([](double x, double) { return std::sqrt(x); });
  if (operands.size() != 2)
    return false;
  if (kind == "add")
    return each([](double x, double y) { return x + y; });
  if (kind == "sub")
    return each([](double x, double y) { return x - y; });
  if (kind == "mul")
    return each([](double x, double y) { return x * y; });
  return kind == "div" && each([](double x, double y) { return x / y; });
}

std::optional<HostTensor> evaluate::elementwise(Operation *op, Operands operands,
                                                RankedTensorType type) {
  if (!isa<ElementwiseOpInterface>(op))
    return std::nullopt;
  for (const std::optional<HostTensor> &operand : operands)
    if (!operand)
      return std::nullopt;
  Type from = operands[0]->elementType(), to = type.getElementType();
  StringRef kind = op->getName().stripDialect();
  HostTensor result(type);
  if (to.isF32() && plainFloats(kind, operands, result))
    return result;
  auto next = result.elements.begin();
  bool done = forEachIndex(type.getShape(), [&](Index index) {
    SmallVector<Number> args;
    for (const std::optional<HostTensor> &operand : operands)
      args.push_back(broadcast(*operand, index));
    std::optional<Number> value;
    if (auto castOp = dyn_cast<CastOp>(op)) {
      value = ::cast(args[0], from, to, castOp.getSaturate());
    } else if (auto compare = dyn_cast<CompareOp>(op)) {
      StringRef predicate = compare.getPredicate();
      bool holdsTrue = isa<FloatType>(from) ? holds(predicate, args[0].real, args[1].real)
                       : isUnsignedType(from)
                           ? holds(predicate, (uint64_t)args[0].integer, (uint64_t)args[1].integer)
                           : holds(predicate, args[0].integer, args[1].integer);
      value = integer(holdsTrue);
    } else if (isa<SelectOp>(op)) {
      value = args[0].integer ? args[1] : args[2];
    } else if (isa<FmaOp>(op)) {
      if (from.isF32())
        value = real(std::fmaf(args[0].real, args[1].real, args[2].real));
      else if (from.isF64())
        value = real(std::fma(args[0].real, args[1].real, args[2].real));
    } else if (args.size() == 2) {
      value = binary(kind, args[0], args[1], from);
    } else if (args.size() == 1) {
      value = unary(kind, args[0], from);
    }
    if (!value)
      return false;
    *next++ = inType(*value, to);
    return true;
  });
  if (!done)
    return std::nullopt;
  return result;
}
