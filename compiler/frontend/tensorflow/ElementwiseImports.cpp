//===- ElementwiseImports.cpp - arithmetic, functions, predicates ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Arrays.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "passes/gradient/Gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static bool isComplex(NodeImport &n, Value v) { return isa_and_nonnull<ComplexType>(n.element(v)); }

/// A function of complex numbers (weir_kernel_complex_function), which keeps C's
/// branch cuts, infinities and signs of zeros.
static Value complexFunction(NodeImport &n, int64_t which, ArrayRef<Value> operands) {
  Operation *call =
      n.kernelCall("weir_kernel_complex_function", operands[0].getType(), operands, {which});
  return call ? call->getResult(0) : Value();
}

/// The same of two numbers, which are broadcast.
static Value complexFunction(NodeImport &n, int64_t which, Value x, Value y) {
  Value shape = n.shapeOf(n.add(x, y));
  x = n.expandTo(x, shape);
  y = n.expandTo(y, shape);
  if (!x || !y)
    return {};
  y = n.generalize(y, n.type(x));
  return complexFunction(n, which, {x, y});
}

/// Functions of one number; `which` is the complex one's number.
template <typename Op, int64_t which> static Value function(NodeImport &n, Value x) {
  return isComplex(n, x) ? complexFunction(n, which, {x}) : n.op<Op>(x);
}
template <typename Op, int64_t which> static LogicalResult function(NodeImport &n) {
  return n.result(function<Op, which>(n, n.in(0)));
}

template <typename Op> static LogicalResult unary(NodeImport &n) {
  return n.result(n.op<Op>(n.in(0)));
}

/// What two small integer tensors of known values make, so that axes and shapes
/// which a graph computes stay known. Nothing where they are not.
template <typename Op> static std::optional<int64_t> fold(int64_t x, int64_t y) {
  int64_t result;
  if constexpr (std::is_same_v<Op, AddOp>)
    return __builtin_add_overflow(x, y, &result) ? std::nullopt : std::optional(result);
  else if constexpr (std::is_same_v<Op, SubOp>)
    return __builtin_sub_overflow(x, y, &result) ? std::nullopt : std::optional(result);
  else if constexpr (std::is_same_v<Op, MulOp>)
    return __builtin_mul_overflow(x, y, &result) ? std::nullopt : std::optional(result);
  else if constexpr (std::is_same_v<Op, MaximumOp>)
    return std::max(x, y);
  else if constexpr (std::is_same_v<Op, MinimumOp>)
    return std::min(x, y);
  else if constexpr (std::is_same_v<Op, FloorDivOp> || std::is_same_v<Op, FloorModOp>) {
    if (y == 0 || y == -1)
      return std::nullopt;
    int64_t quotient = x / y - (x % y != 0 && (x < 0) != (y < 0));
    return std::is_same_v<Op, FloorDivOp> ? quotient : x - quotient * y;
  } else {
    return std::nullopt;
  }
}

template <typename Op> static Value foldKnown(NodeImport &n, Value x, Value y) {
  auto type = dyn_cast<IntegerType>(n.element(x));
  if (!type || type.getWidth() < 32 || n.element(y) != type || n.rank(x) > 1 || n.rank(y) > 1)
    return {};
  auto xs = constantIntegers(x), ys = constantIntegers(y);
  if (!xs || !ys || xs->size() > 64 || ys->size() > 64)
    return {};
  size_t size = xs->size() == 1 ? ys->size() : xs->size();
  if ((xs->size() != size && xs->size() != 1) || (ys->size() != size && ys->size() != 1))
    return {};
  IntVector values;
  for (size_t i = 0; i < size; ++i) {
    auto value = fold<Op>((*xs)[xs->size() == 1 ? 0 : i], (*ys)[ys->size() == 1 ? 0 : i]);
    if (!value || (type.getWidth() == 32 && *value != int32_t(*value)))
      return {};
    values.push_back(*value);
  }
  bool isScalar = n.rank(x) == 0 && n.rank(y) == 0;
  SmallVector<APInt> bits;
  for (int64_t value : values)
    bits.emplace_back(type.getWidth(), static_cast<uint64_t>(value), false,
                      /*implicitTrunc=*/true);
  IntVector shape;
  if (!isScalar)
    shape.push_back(values.size());
  return n.constant(
      DenseElementsAttr::get(RankedTensorType::get(shape, type), ArrayRef<APInt>(bits)));
}

template <typename Op> static LogicalResult binary(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (x && y && n.isString(x))
    return n.unsupported("expected numbers, got strings");
  if (x && y)
    if (Value known = foldKnown<Op>(n, x, y))
      return n.result(known);
  return n.result(n.op<Op>(x, y));
}

/// The value, through which no gradient flows.
static LogicalResult stopGradient(NodeImport &n) { return n.result(n.stopGradient(n.in(0))); }

static LogicalResult identity(NodeImport &n) { return n.result(n.in(0)); }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Of halves the quotient is one before it is rounded down, as TensorFlow has it: 2.6875 / -0.8945
/// is -3 in bfloat16.
static LogicalResult floorDivide(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (x && n.isFloat(x) && n.element(x).getIntOrFloatBitWidth() < 32)
    return n.result(n.op<FloorOp>(n.div(x, y)));
  return binary<FloorDivOp>(n);
}

static LogicalResult squaredDifference(NodeImport &n) {
  Value d = n.sub(n.in(0), n.in(1));
  return n.result(n.mul(d, isComplex(n, d) ? n.op<ConjOp>(d) : d));
}

static LogicalResult square(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.mul(x, x));
}

/// Division of integers by zero, where TensorFlow calls it INTERNAL. Of nothing it is none.
static void requireDivisor(NodeImport &n) {
  static constexpr int64_t kInternal = 13; // WEIR_INTERNAL
  Value dividend = n.in(0), divisor = n.in(1);
  if (!dividend || !divisor || !n.element(divisor).isIntOrIndex())
    return;
  bool isStatic = n.isStatic(dividend);
  if (isStatic && n.type(dividend).getNumElements() == 0)
    return;
  auto known = constantIntegers(divisor);
  if (known && !llvm::is_contained(*known, 0))
    return;
  Value isGood = n.compare("ne", divisor, 0);
  if (!isStatic)
    isGood = n.op<OrOp>(
        isGood, n.toScalar(n.compare("eq", n.sizeProduct(dividend, 0, n.rank(dividend)), 0)));
  if (isGood)
    AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), isGood,
                     n.b.getStringAttr("integer division by zero"), n.number(kInternal),
                     ValueRange());
}

static LogicalResult truncateMod(NodeImport &n) {
  requireDivisor(n);
  return n.result(n.op<RemOp>(n.in(0), n.in(1)));
}

/// Quotients cut towards zero, of floats, too.
static LogicalResult truncateDiv(NodeImport &n) {
  requireDivisor(n);
  Value quotient = n.div(n.in(0), n.in(1));
  if (quotient && n.isFloat(quotient))
    quotient = n.op<TruncOp>(quotient);
  return n.result(quotient);
}

/// Exponents of integers are not negative, where there is a number to raise.
static void requirePowers(NodeImport &n, Value x, Value exponents) {
  if (llvm::is_contained(n.sizes(x), 0))
    return;
  Value allowed = n.compare("ge", exponents, 0);
  if (!n.isStatic(x))
    allowed = n.op<OrOp>(allowed, n.compare("eq", n.toScalar(n.sizeProduct(x, 0, n.rank(x))), 0));
  require(n, allowed, "integers to negative integer powers are not allowed");
}

static LogicalResult power(NodeImport &n) {
  Value x = n.in(0);
  if (isComplex(n, x))
    return n.result(complexFunction(n, 19, x, n.in(1)));
  if (auto type = dyn_cast_or_null<IntegerType>(x ? n.element(x) : Type());
      type && !type.isUnsigned() && n.in(1))
    requirePowers(n, x, n.in(1));
  return binary<PowOp>(n);
}

static LogicalResult reciprocal(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.div(n.like(x, 1), x));
}

/// f(x, y) where y (or x) is not zero, else zero.
static Value unlessZero(NodeImport &n, Value guard, Value value) {
  return n.select(n.compare("eq", guard, 0), n.like(value, 0), value);
}

static LogicalResult divNoNan(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  return n.result(unlessZero(n, y, n.div(x, y)));
}

static LogicalResult mulNoNan(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  return n.result(unlessZero(n, y, n.mul(x, y)));
}

static LogicalResult xdivy(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  return n.result(unlessZero(n, x, n.div(x, y)));
}

static LogicalResult xlogy(NodeImport &n) {
  Value x = n.in(0);
  return n.result(unlessZero(n, x, n.mul(x, function<LogOp, 10>(n, n.in(1)))));
}

static LogicalResult xlog1py(NodeImport &n) {
  Value x = n.in(0);
  if (isComplex(n, x))
    return n.result(complexFunction(n, 20, x, n.in(1)));
  return n.result(unlessZero(n, x, n.mul(x, n.op<Log1pOp>(n.in(1)))));
}

static LogicalResult addN(NodeImport &n) {
  if (n.inputs[0].kind == Imported::Kind::Array)
    return addArrays(n);
  SmallVector<Value> values = n.tensors(0, n.inputCount());
  if (values.empty())
    return failure();
  Value sum = values[0];
  for (Value value : ArrayRef<Value>(values).drop_front()) {
    if (failed(requireSame(n, values[0], value, "terms")))
      return failure();
    sum = n.add(sum, value);
  }
  return n.result(sum);
}

static LogicalResult absolute(NodeImport &n) {
  Value x = n.in(0);
  if (isComplex(n, x)) {
    Type part = cast<ComplexType>(n.element(x)).getElementType();
    Type asked = n.attr("Tout") ? n.elementAttr("Tout") : Type(n.b.getF32Type());
    if (n.node.op == "ComplexAbs" && asked != part)
      return n.invalid("expected results in the precision of the operand (Tout)");
    // An infinite part is more than a part that is no number.
    Value length = n.op<ComplexAbsOp>(x);
    Value isInfinite = n.op<OrOp>(n.op<IsInfOp>(n.op<RealOp>(x)), n.op<IsInfOp>(n.op<ImagOp>(x)));
    return n.result(
        n.select(isInfinite, n.like(length, std::numeric_limits<double>::infinity()), length));
  }
  return n.result(n.op<AbsOp>(x));
}

static LogicalResult l2Loss(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  // Half of each square: the sum of whole ones may be beyond the type.
  Value halves = n.mul(n.mul(x, x), 0.5);
  return n.result(n.reduce(halves, "sum", axesFrom(0, n.rank(x)), false));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static LogicalResult relu6(NodeImport &n) {
  return n.result(n.minimum(n.maximum(n.in(0), 0.0), 6.0));
}

static LogicalResult elu(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.select(n.compare("lt", x, 0), n.op<Expm1Op>(x), x));
}

// The constants of Klambauer et al., "Self-Normalizing Neural Networks".
static constexpr double kSeluScale = 1.0507009873554804934193349852946;
static constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

static LogicalResult selu(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.select(n.compare("lt", x, 0), n.mul(n.op<Expm1Op>(x), kSeluScaleAlpha),
                           n.mul(x, kSeluScale)));
}

static LogicalResult leakyRelu(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.select(n.compare("gt", x, 0), x, n.mul(x, n.f("alpha"))));
}

static LogicalResult softplus(NodeImport &n) {
  Value x = n.in(0);
  Value tail = n.op<Log1pOp>(n.exp(n.op<NegOp>(n.op<AbsOp>(x))));
  return n.result(n.add(n.maximum(x, 0.0), tail));
}

/// TensorFlow's kernel for f64 squares its operand, and gives NaN where that
/// overflows.
static LogicalResult erf(NodeImport &n) {
  Value x = n.in(0), y = n.op<ErfOp>(x);
  if (!y || !n.element(x).isF64())
    return n.result(y);
  Value fits = n.op<IsFiniteOp>(n.mul(x, x));
  double nan = std::numeric_limits<double>::quiet_NaN();
  return n.result(n.select(fits, y, n.like(x, nan)));
}

/// TensorFlow's kernel makes 0 of every integer.
static LogicalResult roundEven(NodeImport &n) {
  Value x = n.in(0);
  if (!x || !isa<IntegerType>(n.element(x)))
    return n.result(n.op<RoundEvenOp>(x));
  return n.result(n.expandTo(n.like(x, 0), n.shapeOf(x)));
}

static LogicalResult softsign(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.div(x, n.add(n.op<AbsOp>(x), 1.0)));
}

//===----------------------------------------------------------------------===//
// Predicates and choice
//===----------------------------------------------------------------------===//

template <char first, char second> static LogicalResult compare(NodeImport &n) {
  const char predicate[] = {first, second};
  return n.result(n.compare(StringRef(predicate, 2), n.in(0), n.in(1)));
}

/// Equal and NotEqual; shapes that do not broadcast may mean "different".
template <char first, char second> static LogicalResult equality(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  const AttrValue *strict = n.attr("incompatible_shape_error");
  if (strict && !strict->b) {
    Ints xs = n.sizes(x), ys = n.sizes(y);
    for (size_t i = 1; i <= std::min(xs.size(), ys.size()); ++i) {
      int64_t a = xs[xs.size() - i], b = ys[ys.size() - i];
      if (a != b && a != 1 && b != 1 && !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b))
        return n.result(n.scalar(n.b.getI1Type(), first == 'n'));
    }
  }
  if (n.isString(x)) {
    Value equal = n.equalStrings(x, y);
    return n.result(first == 'e' ? equal : n.logicalNot(equal));
  }
  return compare<first, second>(n);
}

static LogicalResult approximateEqual(NodeImport &n) {
  if (failed(requireSame(n, n.in(0), n.in(1), "operands")))
    return failure();
  Value d = n.op<AbsOp>(n.sub(n.in(0), n.in(1)));
  return n.result(n.compare("lt", d, n.f("tolerance")));
}

/// Version one of Select: a vector condition picks along the first dimension.
static LogicalResult select(NodeImport &n) {
  Value c = n.in(0), x = n.in(1), y = n.in(2);
  if (!c || failed(requireSame(n, x, y, "choices")))
    return failure();
  if (n.rank(c) == 1 && n.rank(x) >= 1
          ? failed(requireShape(n, c, n.sizeOf(x, 0), "conditions"))
          : n.rank(c) > 0 && failed(requireSame(n, c, x, "conditions and choices")))
    return failure();
  if (n.rank(c) == 1 && n.rank(x) > 1)
    c = n.unsqueeze(c, axesFrom(1, n.rank(x)));
  return n.result(n.select(c, x, y));
}

static LogicalResult selectV2(NodeImport &n) {
  return n.result(n.select(n.in(0), n.in(1), n.in(2)));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Without the bits of its fraction, or its parts', that `type` has no room for, where TensorFlow
/// cuts them: what becomes bfloat16 is rounded, unless it is f32.
static Value cutFraction(NodeImport &n, Value x, Type type) {
  if (isa<ComplexType>(n.element(x)))
    return n.op<ComplexOp>(cutFraction(n, n.op<RealOp>(x), type),
                           cutFraction(n, n.op<ImagOp>(x), type));
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  auto from = dyn_cast<FloatType>(n.element(x)), to = dyn_cast<FloatType>(type);
  int64_t lost = from && to ? static_cast<int64_t>(from.getFPMantissaWidth()) -
                                  static_cast<int64_t>(to.getFPMantissaWidth())
                            : 0;
  if (lost <= 0 || (to.isBF16() && !from.isF32()))
    return x;
  Type bits = n.b.getIntegerType(from.getWidth());
  Value raw = BitcastOp::create(n.b, n.loc, n.type(x).clone(bits), x);
  Value cut = n.op<AndOp>(raw, n.scalar(bits, -std::ldexp(1.0, lost)));
  if (!cut)
    return {};
  Value back = BitcastOp::create(n.b, n.loc, x.getType(), cut);
  return n.select(n.op<IsNanOp>(x), x, back);
}

static LogicalResult castTo(NodeImport &n) {
  Value x = n.in(0);
  Type type = n.elementAttr("DstT");
  if (!x || !type)
    return x ? n.unsupported("found a result type that weir does not have") : failure();
  if (n.isString(x) || isa<StringType>(type))
    return n.unsupported("expected numbers, got strings");
  bool isReal = !isa<ComplexType>(n.element(x));
  // A complex number's real part, as C++ has it.
  if (!isReal && !isa<ComplexType>(type)) {
    x = n.op<RealOp>(x);
    // No vectors: 32 bits without a sign are those of a signed integer of 64.
    if (x && n.element(x).isF64() && type.isUnsignedInteger(32))
      x = n.cast(x, n.b.getI64Type(), /*saturate=*/false);
  }
  if (x && n.isSet("Truncate") && (isReal || !type.isBF16()))
    x = cutFraction(n, x, type);
  if (!x)
    return failure();
  if (auto complex = dyn_cast<ComplexType>(type); complex && isReal) {
    Value real = n.cast(x, complex.getElementType());
    return n.result(n.op<ComplexOp>(real, n.like(real, 0)));
  }
  return n.result(n.cast(x, type, /*saturate=*/false));
}

static LogicalResult bitcast(NodeImport &n) {
  Value x = n.in(0);
  Type type = n.elementAttr("type");
  if (!x || !type)
    return failure();
  if (n.element(x) == type)
    return n.result(x);
  auto bits = [](Type element) -> int64_t {
    if (auto complex = dyn_cast<ComplexType>(element))
      return 2 * complex.getElementType().getIntOrFloatBitWidth();
    if (!element.isIntOrFloat() || element.isInteger(1))
      return 0;
    return element.getIntOrFloatBitWidth();
  };
  int64_t from = bits(n.element(x)), to = bits(type);
  if (!from || !to)
    return n.unsupported("found types without a common size");
  IntVector shape(n.sizes(x));
  if (from > to) {
    shape.push_back(from / to);
  } else if (from < to) {
    if (shape.empty() || (shape.back() != to / from && !ShapedType::isDynamic(shape.back())))
      return n.invalid("found a last dimension that is not " + Twine(to / from));
    shape.pop_back();
  }
  auto result = RankedTensorType::get(shape, type);
  return n.result(BitcastOp::create(n.b, n.loc, result, x).getResult());
}

ArrayRef<OpImport> weir::tf::elementwiseImports() {
  static const OpImport rows[] = {
      {"Add", binary<AddOp>},
      {"AddV2", binary<AddOp>},
      {"Sub", binary<SubOp>},
      {"Mul", binary<MulOp>},
      {"Div", binary<DivOp>},
      {"RealDiv", binary<DivOp>},
      {"TruncateDiv", truncateDiv},
      {"FloorDiv", floorDivide},
      {"FloorMod", binary<FloorModOp>},
      {"TruncateMod", truncateMod},
      {"Mod", binary<RemOp>},
      {"Pow", power},
      {"Maximum", binary<MaximumOp>},
      {"Minimum", binary<MinimumOp>},
      {"Atan2", binary<Atan2Op>},
      {"SquaredDifference", squaredDifference},
      {"DivNoNan", divNoNan},
      {"MulNoNan", mulNoNan},
      {"Xdivy", xdivy},
      {"Xlogy", xlogy},
      {"Xlog1py", xlog1py},
      {"AddN", addN},
      {"AccumulateNV2", addN},
      {"Neg", unary<NegOp>},
      {"Abs", absolute},
      {"ComplexAbs", absolute},
      {"Sign", unary<SignOp>},
      {"Square", square},
      {"Reciprocal", reciprocal},
      {"Inv", reciprocal},
      {"L2Loss", l2Loss},

      {"LogicalAnd", binary<AndOp>},
      {"LogicalOr", binary<OrOp>},
      {"LogicalNot", unary<NotOp>},
      {"BitwiseAnd", binary<AndOp>},
      {"BitwiseOr", binary<OrOp>},
      {"BitwiseXor", binary<XorOp>},
      {"Invert", unary<NotOp>},
      {"LeftShift", binary<ShlOp>},
      {"RightShift", binary<ShrOp>},

      {"Exp", function<ExpOp, 8>},
      {"Expm1", function<Expm1Op, 9>},
      {"Log", function<LogOp, 10>},
      {"Log1p", function<Log1pOp, 11>},
      {"Sqrt", function<SqrtOp, 16>},
      {"Rsqrt", function<RsqrtOp, 13>},
      {"Sin", function<SinOp, 14>},
      {"Cos", function<CosOp, 6>},
      {"Tan", function<TanOp, 17>},
      {"Asin", function<AsinOp, 2>},
      {"Acos", function<AcosOp, 0>},
      {"Atan", function<AtanOp, 4>},
      {"Sinh", function<SinhOp, 15>},
      {"Cosh", function<CoshOp, 7>},
      {"Tanh", function<TanhOp, 18>},
      {"Asinh", function<AsinhOp, 3>},
      {"Acosh", function<AcoshOp, 1>},
      {"Atanh", function<AtanhOp, 5>},
      {"Sigmoid", function<LogisticOp, 12>},
      {"Erf", erf},
      {"Erfc", unary<ErfcOp>},
      {"Lgamma", unary<LgammaOp>},
      {"Floor", unary<FloorOp>},
      {"Ceil", unary<CeilOp>},
      {"Rint", unary<RoundEvenOp>},
      {"Round", roundEven},
      {"PopulationCount",
       [](NodeImport &n) -> LogicalResult {
         Value bits = n.op<PopulationCountOp>(n.in(0));
         return n.result(
             n.cast(bits, IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned)));
       }},

      {"Relu", unary<ReluOp>},
      {"Relu6", relu6},
      {"Elu", elu},
      {"Selu", selu},
      {"LeakyRelu", leakyRelu},
      {"Softplus", softplus},
      {"Softsign", softsign},

      {"Real", unary<RealOp>},
      {"Imag", unary<ImagOp>},
      {"Angle", unary<AngleOp>},
      {"Conj", unary<ConjOp>},
      {"Complex", binary<ComplexOp>},

      {"IsNan", unary<IsNanOp>},
      {"IsInf", unary<IsInfOp>},
      {"IsFinite", unary<IsFiniteOp>},
      {"Equal", equality<'e', 'q'>},
      {"NotEqual", equality<'n', 'e'>},
      {"Less", compare<'l', 't'>},
      {"LessEqual", compare<'l', 'e'>},
      {"Greater", compare<'g', 't'>},
      {"GreaterEqual", compare<'g', 'e'>},
      {"ApproximateEqual", approximateEqual},
      {"Select", select},
      {"SelectV2", selectV2},

      {"Cast", castTo},
      {"_HostCast", castTo},
      {"Bitcast", bitcast},
      {"StopGradient", stopGradient},
      {"PreventGradient", stopGradient},
      {"GuaranteeConst", identity},
      {"Snapshot", identity},
      {"DeepCopy", identity},
      {"Copy", identity},
      {"CopyHost", identity},
      {"DebugIdentity", identity},
      {"DebugGradientIdentity", identity},
      {"DebugGradientRefIdentity", identity},
      {"PlaceholderWithDefault", identity},
      {"LoopCond", identity},
      {"NextIteration", identity},
  };
  return rows;
}
