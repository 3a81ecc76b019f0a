//===- MathImports.cpp - arithmetic, comparison, conversion ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/NodeImport.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

template <typename OpT> LogicalResult unary(NodeImport &n) { return n.result(n.op<OpT>(n.in(0))); }

/// Of integers as of floats, cut to the integer again.
LogicalResult errorFunction(NodeImport &n) {
  Value x = n.in(0);
  if (!x || n.isFloat(x))
    return n.result(n.op<ErfOp>(x));
  return n.result(n.cast(n.op<ErfOp>(n.cast(x, n.b.getF32Type())), n.element(x)));
}

LogicalResult identity(NodeImport &n) {
  if (!n.has(0))
    return n.in(0), failure();
  n.set(0, n.imported(0)); // sequences and optionals, too
  return success();
}

/// Before opset 7, operands broadcast only where the attribute `broadcast` says
/// so, and then the second one's dimensions align at `axis` of the first.
bool alignLegacy(NodeImport &n, Value x, Value &y) {
  if (!x || !y || !n.hasAttr("axis") || !n.i("broadcast"))
    return x && y;
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return false;
  int64_t behind = n.rank(x) - *axis - n.rank(y);
  if (behind < 0) {
    (void)n.invalid("found axis " + Twine(*axis) +
                    " past which the second operand's dimensions do not fit");
    return false;
  }
  y = n.unsqueeze(y, axesFrom(n.rank(y), n.rank(y) + behind));
  return static_cast<bool>(y);
}

template <typename OpT> LogicalResult binary(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (n.version < 7 && !alignLegacy(n, x, y))
    return failure();
  return n.result(n.op<OpT>(x, y));
}

template <char first, char second> LogicalResult compare(NodeImport &n) {
  const char predicate[] = {first, second};
  Value x = n.in(0), y = n.in(1);
  if (n.version < 7 && !alignLegacy(n, x, y))
    return failure();
  if (x && n.isString(x) && first == 'e')
    return n.result(n.equalStrings(x, y));
  return n.result(n.compare(StringRef(predicate, 2), x, y));
}

/// A type in which a base and an exponent of other types keep all that they say: the
/// exponent's fraction, and whether it is odd.
Type powerType(NodeImport &n, Value x, Value y) {
  Type base = n.element(x), exponent = n.element(y);
  auto width = [](Type type) { return type.getIntOrFloatBitWidth(); };
  if (base == exponent)
    return base;
  if (!n.isFloat(y)) {
    if (!n.isFloat(x))
      return width(exponent) > width(base) ? exponent : base;
    // Small integers are numbers of the base's type, too.
    unsigned digits = cast<FloatType>(base).getFPMantissaWidth();
    auto known = n.knownInts(1);
    if (known && llvm::all_of(*known, [&](int64_t i) {
          return i >= -(int64_t(1) << digits) && i <= int64_t(1) << digits;
        }))
      return base;
  }
  // Half precision, of either form, in f32; integers of 32 bits and more need f64.
  auto isNarrow = [&](Value v, Type type) { return width(type) <= (n.isFloat(v) ? 32 : 16); };
  return isNarrow(x, base) && isNarrow(y, exponent) ? Type(n.b.getF32Type())
                                                    : Type(n.b.getF64Type());
}

LogicalResult power(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (n.version < 7 && !alignLegacy(n, x, y))
    return failure();
  if (!x || !y)
    return failure();
  // The result is of the base's type, however the two differ.
  Type type = powerType(n, x, y);
  return n.result(n.cast(n.op<PowOp>(n.cast(x, type), n.cast(y, type)), n.element(x)));
}

LogicalResult mod(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (n.i("fmod"))
    return n.result(n.op<RemOp>(x, y));
  return n.result(n.op<FloorModOp>(x, y));
}

LogicalResult bitShift(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  std::string_view direction = n.s("direction");
  if (direction == "LEFT")
    return n.result(n.op<ShlOp>(x, y));
  if (direction == "RIGHT")
    return n.result(n.op<ShrOp>(x, y));
  return n.invalid("expected direction LEFT or RIGHT, got \"" + Twine(direction) + "\"");
}

LogicalResult reciprocal(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.div(n.like(x, 1), x));
}

LogicalResult isInf(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  bool negative = n.i("detect_negative"), positive = n.i("detect_positive");
  Value infinite = n.op<IsInfOp>(x);
  if (negative && positive)
    return n.result(infinite);
  if (!negative && !positive)
    return n.result(n.op<AndOp>(infinite, n.scalar(n.b.getI1Type(), 0)));
  return n.result(n.op<AndOp>(infinite, n.compare(positive ? "gt" : "lt", x, 0.0)));
}

/// Sum, Mean, Max, Min of any number of operands.
template <typename OpT, bool mean = false> LogicalResult variadic(NodeImport &n) {
  Value result;
  SmallVector<Value> operands = n.tensors();
  for (Value operand : operands) {
    // Only since version 8 are they stretched to each other.
    if (n.version < 8 && !n.isSameShape(operand, operands.front(), "operands"))
      return failure();
    result = result ? n.op<OpT>(result, operand) : operand;
    if (!result)
      return failure();
  }
  if (mean)
    result = n.div(result, static_cast<double>(operands.size()));
  return n.result(result);
}

/// The largest number that is no infinity, of a float's type; 0 of an integer's, which has none.
double largestFinite(Type type) {
  auto floating = dyn_cast<FloatType>(type);
  if (!floating)
    return 0;
  APFloat largest = APFloat::getLargest(floating.getFloatSemantics());
  bool isInexact;
  largest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isInexact);
  return largest.convertToDouble();
}

/// A bound that is no number bounds nothing, as the function of ONNX's schema has it: comparisons
/// with NaN are false. `unbounded` is what stands for it. A bound is a scalar, or a vector of one.
Value clipBound(NodeImport &n, Value bound, double unbounded) {
  if (bound && n.rank(bound) != 0) {
    if (!n.hasRank(bound, 1, "bound") || !n.hasSize(bound, 0, 1, "bound"))
      return {};
    bound = n.toScalar(bound);
  }
  if (!bound || !isa<FloatType>(n.element(bound)))
    return bound;
  return n.select(n.op<IsNanOp>(bound), n.like(bound, unbounded), bound);
}

/// A bound that is not given is the type's lowest or largest number: infinities are cut.
LogicalResult clip(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  double largest = largestFinite(n.element(x));
  if (n.version < 11) {
    // Version 6 has f32's as defaults of its attributes, version 1 none.
    bool isGiven[] = {n.hasAttr("min") || n.version >= 6, n.hasAttr("max") || n.version >= 6};
    x = n.maximum(x, isGiven[0] ? n.f("min") : -largest);
    return n.result(n.minimum(x, isGiven[1] ? n.f("max") : largest));
  }
  if (n.has(1))
    x = n.maximum(x, clipBound(n, n.in(1), -HUGE_VAL));
  else if (largest)
    x = n.maximum(x, -largest);
  if (n.has(2))
    x = n.minimum(x, clipBound(n, n.in(2), HUGE_VAL));
  else if (largest)
    x = n.minimum(x, largest);
  return n.result(x);
}

bool isNarrowFloat(Type type) {
  auto floating = dyn_cast<FloatType>(type);
  return floating && floating.getWidth() <= 8;
}

/// Numbers from strings, or strings from numbers.
Value castStrings(NodeImport &n, Value x, Type to) {
  Ints shape = n.sizes(x);
  auto call = [&](StringRef kernel, Value from, Type element) -> Value {
    Operation *made = n.kernelCall(kernel, {RankedTensorType::get(shape, element)}, {from}, {});
    return made ? made->getResult(0) : Value();
  };
  if (isa<StringType>(to)) {
    // Floats narrower than 16 bits print as the f32 that they are.
    if (auto floating = dyn_cast<FloatType>(n.element(x)); floating && floating.getWidth() < 16)
      x = n.cast(x, n.b.getF32Type());
    return call("weir_kernel_number_to_string", x, to);
  }
  bool isDirect = to.isF32() || to.isF64() || to.isF16() || to.isInteger(32) || to.isInteger(64);
  Type by = isDirect                                ? to
            : isa<FloatType>(to) || to.isInteger(1) ? n.b.getF32Type()
            : cast<IntegerType>(to).isUnsigned()
                ? Type(IntegerType::get(n.b.getContext(), 32, IntegerType::Unsigned))
                : n.b.getI32Type();
  return n.cast(call("weir_kernel_string_to_number", x, by), to);
}

} // namespace

Value weir::onnx::castElements(NodeImport &n, Value x, Type to) {
  if (!x || !to)
    return {};
  if (n.isString(x) != isa<StringType>(to))
    return castStrings(n, x, to);
  // To narrow floats the attribute decides. Integers wrap, and so do, from
  // version 24 on, floats on their way to integers of fewer than 8 bits; to
  // wider ones, the standard leaves floats out of range open.
  auto integer = dyn_cast<IntegerType>(to);
  bool saturate = isNarrowFloat(to)
                      ? !n.spec || n.version < 19 || n.i("saturate") != 0
                      : n.isFloat(x) && integer && (integer.getWidth() >= 8 || n.version < 24);
  return n.cast(x, to, saturate);
}

namespace {

LogicalResult castTo(NodeImport &n, Value x, Type to) { return n.result(castElements(n, x, to)); }

/// Version 1 of Cast names its type.
Type typeByName(MLIRContext *context, std::string_view name) {
  static constexpr std::pair<std::string_view, DataType> names[] = {
      {"FLOAT", DataType::Float},
      {"UINT8", DataType::UInt8},
      {"INT8", DataType::Int8},
      {"UINT16", DataType::UInt16},
      {"INT16", DataType::Int16},
      {"INT32", DataType::Int32},
      {"INT64", DataType::Int64},
      {"STRING", DataType::String},
      {"BOOL", DataType::Bool},
      {"FLOAT16", DataType::Float16},
      {"DOUBLE", DataType::Double},
      {"UINT32", DataType::UInt32},
      {"UINT64", DataType::UInt64},
      {"COMPLEX64", DataType::Complex64},
      {"COMPLEX128", DataType::Complex128}};
  for (auto [known, type] : names)
    if (known == name)
      return elementType(context, type);
  return {};
}

LogicalResult castNode(NodeImport &n) {
  Type to = n.version < 6 ? typeByName(n.b.getContext(), n.s("to"))
                          : elementType(n.b.getContext(), static_cast<DataType>(n.i("to")));
  if (!to)
    return n.invalid("found attribute \"to\" that names no type");
  if (n.version >= 24 && isa<Float8E8M0FNUType>(to) && n.s("round_mode") != "up")
    return n.unsupported("expected round_mode up, got " + Twine(n.s("round_mode")));
  return castTo(n, n.in(0), to);
}

LogicalResult castLike(NodeImport &n) {
  Value x = n.in(0), like = n.in(1);
  if (!x || !like)
    return failure();
  return castTo(n, x, n.element(like));
}

/// The bits of an element; 0 of what has no fixed number of them.
unsigned bitsOf(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * bitsOf(complex.getElementType());
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
}

LogicalResult bitCast(NodeImport &n) {
  Value x = n.in(0);
  Type to = elementType(n.b.getContext(), static_cast<DataType>(n.i("to")));
  if (!x || !to)
    return failure();
  if (n.element(x) == to)
    return n.result(x);
  // A boolean is a byte of 0 or 1, in files as in memory.
  Type byte = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  if (n.isBool(x))
    x = n.cast(x, byte);
  Type bits = to.isInteger(1) ? byte : to;
  if (!bitsOf(bits) || bitsOf(bits) != bitsOf(n.element(x)))
    return n.invalid("found types of different sizes, or of no fixed size");
  x = BitcastOp::create(n.b, n.loc, n.type(x).clone(bits), x);
  return n.result(to.isInteger(1) ? n.compare("ne", x, 0.0) : x);
}

LogicalResult where(NodeImport &n) {
  Value c = n.in(0), x = n.in(1), y = n.in(2);
  return n.result(n.select(c, x, y));
}

/// x * scale + shift with attributes: Affine, Scale, ImageScaler of old files.
LogicalResult affine(NodeImport &n) {
  Value x = n.in(0);
  return n.result(n.add(n.mul(x, n.f("alpha")), n.f("beta")));
}
LogicalResult scale(NodeImport &n) { return n.result(n.mul(n.in(0), n.f("scale"))); }
LogicalResult imageScaler(NodeImport &n) {
  Value x = n.mul(n.in(0), n.f("scale"));
  std::optional<SmallVector<double>> bias = n.fs("bias");
  if (!x || !bias)
    return n.result(x);
  Value shift = n.floats(*bias, n.element(x));
  return n.result(n.add(x, n.reshape(shift, {-1, 1, 1})));
}

constexpr OperatorImport table[] = {
    {"", "Abs", 1, 0, unary<AbsOp>},
    {"", "Acos", 7, 0, unary<AcosOp>},
    {"", "Acosh", 9, 0, unary<AcoshOp>},
    {"", "Add", 1, 0, binary<AddOp>},
    {"", "Affine", 1, 0, affine},
    {"", "And", 1, 0, binary<AndOp>},
    {"", "Asin", 7, 0, unary<AsinOp>},
    {"", "Asinh", 9, 0, unary<AsinhOp>},
    {"", "Atan", 7, 0, unary<AtanOp>},
    {"", "Atanh", 9, 0, unary<AtanhOp>},
    {"", "BitCast", 1, 0, bitCast},
    {"", "BitShift", 11, 0, bitShift},
    {"", "BitwiseAnd", 18, 0, binary<AndOp>},
    {"", "BitwiseNot", 18, 0, unary<NotOp>},
    {"", "BitwiseOr", 18, 0, binary<OrOp>},
    {"", "BitwiseXor", 18, 0, binary<XorOp>},
    {"", "Cast", 1, 0, castNode},
    {"", "CastLike", 15, 0, castLike},
    {"", "Ceil", 1, 0, unary<CeilOp>},
    {"", "Clip", 1, 0, clip},
    {"", "Cos", 7, 0, unary<CosOp>},
    {"", "Cosh", 9, 0, unary<CoshOp>},
    {"", "Div", 1, 0, binary<DivOp>},
    {"", "Equal", 1, 0, compare<'e', 'q'>},
    {"", "Erf", 9, 0, errorFunction},
    {"", "Exp", 1, 0, unary<ExpOp>},
    {"", "Floor", 1, 0, unary<FloorOp>},
    {"", "Greater", 1, 0, compare<'g', 't'>},
    {"", "GreaterOrEqual", 12, 0, compare<'g', 'e'>},
    {"", "Identity", 1, 0, identity},
    {"", "ImageScaler", 1, 0, imageScaler},
    {"", "IsInf", 10, 0, isInf},
    {"", "IsNaN", 9, 0, unary<IsNanOp>},
    {"", "Less", 1, 0, compare<'l', 't'>},
    {"", "LessOrEqual", 12, 0, compare<'l', 'e'>},
    {"", "Log", 1, 0, unary<LogOp>},
    {"", "Max", 1, 0, variadic<MaximumOp>},
    {"", "Mean", 1, 0, variadic<AddOp, true>},
    {"", "Min", 1, 0, variadic<MinimumOp>},
    {"", "Mod", 10, 0, mod},
    {"", "Mul", 1, 0, binary<MulOp>},
    {"", "Neg", 1, 0, unary<NegOp>},
    {"", "Not", 1, 0, unary<NotOp>},
    {"", "Or", 1, 0, binary<OrOp>},
    {"", "Pow", 1, 0, power},
    {"", "Reciprocal", 1, 0, reciprocal},
    {"", "Round", 11, 0, unary<RoundEvenOp>},
    {"", "Scale", 1, 0, scale},
    {"", "Sign", 9, 0, unary<SignOp>},
    {"", "Sin", 7, 0, unary<SinOp>},
    {"", "Sinh", 9, 0, unary<SinhOp>},
    {"", "Sqrt", 1, 0, unary<SqrtOp>},
    {"", "Sub", 1, 0, binary<SubOp>},
    {"", "Sum", 1, 0, variadic<AddOp>},
    {"", "Tan", 7, 0, unary<TanOp>},
    {"", "Where", 9, 0, where},
    {"", "Xor", 1, 0, binary<XorOp>},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::mathImports() { return table; }
