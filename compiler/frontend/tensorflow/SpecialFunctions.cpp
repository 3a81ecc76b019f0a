//===- SpecialFunctions.cpp - functions beyond the elementary ones --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// Polynomials by pieces (SpecialTables.h), all of which are computed and one
// picked: elementwise operations without branches, which become one kernel.
// In f64 whatever the type. Outside of its domain a function is NaN; Bessel
// functions of the second kind are infinite at and below 0, as TensorFlow has
// them.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NumericImports.h"
#include "compiler/frontend/tensorflow/SpecialTables.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;
using namespace weir::special;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What the functions are written in, of an argument of f64.
class Emitter {
public:
  /// `isDouble`: the result's type is f64, not one whose range is that of f32.
  Emitter(NodeImport &n, Value x, bool isDouble) : n(n), x(x), isDouble(isDouble) {}

  Value besselI(int order, bool scaled);
  Value besselK(int order, bool scaled);
  Value besselJ(int order) { return bessel(order).first; }
  Value besselY(int order) { return bessel(order).second; }
  Value dawson();
  Value fresnel(bool sine);
  Value expint();
  Value spence();
  Value erfinv();
  Value ndtri();

private:
  Value k(double value) { return n.like(x, value); }
  Value add(Value a, Value b) { return n.add(a, b); }
  Value sub(Value a, Value b) { return n.sub(a, b); }
  Value mul(Value a, Value b) { return n.mul(a, b); }
  Value div(Value a, Value b) { return n.div(a, b); }
  Value log(Value a) { return n.op<LogOp>(a); }
  Value exp(Value a) { return n.exp(a); }
  Value sin(Value a) { return n.op<SinOp>(a); }
  Value cos(Value a) { return n.op<CosOp>(a); }
  Value sqrt(Value a) { return n.sqrt(a); }
  Value abs(Value a) { return n.op<AbsOp>(a); }
  Value neg(Value a) { return n.op<NegOp>(a); }
  Value below(Value a, double limit) { return n.compare("lt", a, limit); }
  Value upTo(Value a, double limit) { return n.compare("le", a, limit); }
  Value above(Value a, double limit) { return n.compare("gt", a, limit); }
  Value equals(Value a, double other) { return n.compare("eq", a, other); }
  Value pick(Value condition, Value a, Value b) { return n.select(condition, a, b); }
  /// e^a as a factor: it overflows before the product does, in the type's range as TensorFlow's.
  Value factor(Value a) {
    constexpr double mostOfFloat = 88.72283905206835; // log of f32's largest
    return isDouble ? exp(a) : pick(above(a, mostOfFloat), k(kInfinity), exp(a));
  }
  Value evaluate(const Series &series, Value z);
  Value evaluate(ArrayRef<const Series *> pieces, Value z);
  std::pair<Value, Value> bessel(int order);

  NodeImport &n;
  Value x;
  bool isDouble;
};

} // namespace

/// Horner's scheme: each value has one user, so that fusing the chain repeats
/// nothing but the variable.
Value Emitter::evaluate(const Series &series, Value z) {
  double scale = 2 / (series.high - series.low);
  Value t = mul(sub(z, k((series.high + series.low) / 2)), k(scale));
  Value sum = k(series.coefficients.back());
  for (double c : llvm::reverse(series.coefficients.drop_back()))
    sum = add(mul(sum, t), k(c));
  return sum;
}

/// Of pieces with falling bounds.
Value Emitter::evaluate(ArrayRef<const Series *> pieces, Value z) {
  Value value = evaluate(*pieces.back(), z);
  for (const Series *piece : llvm::reverse(pieces.drop_back()))
    value = pick(above(z, piece->low), evaluate(*piece, z), value);
  return value;
}

/// e^-|x| I(x) up to 8, and sqrt(x) times that above; without the factor
/// e^-|x| for the function itself.
Value Emitter::besselI(int order, bool scaled) {
  Value a = abs(x);
  Value near = evaluate(order ? i1eNear : i0eNear, a);
  if (order)
    near = mul(near, a);
  Value far = div(evaluate(order ? i1eFar : i0eFar, div(k(8), a)), sqrt(a));
  Value value = pick(upTo(a, 8), near, far);
  if (!scaled)
    value = mul(factor(a), value);
  return order ? pick(below(x, 0), neg(value), value) : value;
}

Value Emitter::besselK(int order, bool scaled) {
  Value square = mul(x, x), lead = log(mul(x, k(0.5)));
  Value near;
  if (order) {
    Value i1 = mul(x, evaluate(i1Small, square));
    near = add(mul(lead, i1), div(evaluate(k1Near, square), x));
  } else {
    near = sub(evaluate(k0Near, square), mul(lead, evaluate(i0Small, square)));
  }
  Value far = div(evaluate(order ? k1Far : k0Far, div(k(2), x)), sqrt(x));
  if (scaled)
    near = mul(near, exp(x));
  else
    far = mul(far, exp(neg(x)));
  Value value = pick(upTo(x, 2), near, far);
  return pick(upTo(x, 0), k(kInfinity), value);
}

/// J and Y. Above 5, with P and Q of modulus and phase, J = r (P cos - Q sin)
/// and Y = r (P sin + Q cos) of x less an odd number of quarters of pi.
std::pair<Value, Value> Emitter::bessel(int order) {
  Value a = abs(x), square = mul(x, x), lead = log(a);
  Value nearJ = evaluate(order ? j1Near : j0Near, square);
  Value nearY = evaluate(order ? y1Near : y0Near, square);
  if (order) {
    nearJ = mul(nearJ, a);
    Value rest = sub(mul(lead, nearJ), div(k(1), a));
    nearY = add(mul(nearY, a), mul(rest, k(2 / M_PI)));
  } else {
    nearY = add(nearY, mul(mul(lead, nearJ), k(2 / M_PI)));
  }
  Value w = div(k(5), a), z = mul(w, w);
  Value p = evaluate(order ? p1Far : p0Far, z);
  Value q = mul(evaluate(order ? q1Far : q0Far, z), w);
  Value sine = sin(a), cosine = cos(a);
  Value sum = add(sine, cosine), difference = sub(sine, cosine);
  Value cosPhase = order ? difference : sum;
  Value sinPhase = order ? neg(sum) : difference;
  // sqrt(2 / pi x), and the sums' sqrt(1 / 2).
  Value r = sqrt(div(k(1 / M_PI), a));
  Value farJ = mul(r, sub(mul(p, cosPhase), mul(q, sinPhase)));
  Value farY = mul(r, add(mul(p, sinPhase), mul(q, cosPhase)));
  Value isNear = upTo(a, 5);
  Value j = pick(isNear, nearJ, farJ);
  if (order)
    j = pick(below(x, 0), neg(j), j);
  Value y = pick(upTo(x, 0), k(-kInfinity), pick(isNear, nearY, farY));
  // In single precision TensorFlow's Y1 is log(0) 0 at 0.
  if (order && !isDouble)
    y = pick(equals(x, 0), k(kNan), y);
  return {j, y};
}

Value Emitter::dawson() {
  Value a = abs(x), w = div(k(6), a);
  Value value = div(evaluate(dawsonFar, mul(w, w)), add(a, a));
  value = pick(upTo(a, 6), evaluate(dawson3, a), value);
  value = pick(upTo(a, 3.5), evaluate(dawson2, a), value);
  value = pick(upTo(a, 2), evaluate(dawson1, a), value);
  value = pick(upTo(a, 1), mul(a, evaluate(dawson0, mul(a, a))), value);
  return pick(below(x, 0), neg(value), value);
}

Value Emitter::fresnel(bool sine) {
  Value a = abs(x), square = mul(x, x), fourth = mul(square, square);
  Value near = mul(a, evaluate(sine ? fresnelSNear : fresnelCNear, fourth));
  if (sine)
    near = mul(near, square);
  Value z = div(k(1.6 * 1.6 * 1.6 * 1.6), fourth);
  Value f = div(evaluate({&fresnelF0, &fresnelF1, &fresnelF2, &fresnelF3}, z), mul(a, k(M_PI)));
  Value g = div(evaluate({&fresnelG0, &fresnelG1, &fresnelG2, &fresnelG3}, z),
                mul(mul(a, square), k(M_PI * M_PI)));
  // Whole turns of pi x^2 / 2 are taken off first.
  Value turns = mul(square, k(0.25));
  Value phase = mul(sub(turns, n.op<FloorOp>(turns)), k(2 * M_PI));
  Value sinPhase = sin(phase), cosPhase = cos(phase);
  Value wave =
      sine ? add(mul(f, cosPhase), mul(g, sinPhase)) : sub(mul(g, cosPhase), mul(f, sinPhase));
  // Infinity less itself has no phase; the wave is nothing there.
  wave = pick(below(a, 1e10), wave, mul(k(0), div(k(1), a)));
  Value value = pick(below(a, 1.6), near, sub(k(0.5), wave));
  return pick(below(x, 0), neg(value), value);
}

Value Emitter::expint() {
  const Series *pieces[] = {&expint1, &expint2, &expint3, &expint4, &expint5};
  Value value = evaluate(expintFar, div(k(64), x));
  for (const Series *piece : llvm::reverse(pieces))
    value = pick(upTo(x, piece->high), evaluate(*piece, x), value);
  value = mul(value, div(factor(x), x));
  constexpr double euler = 0.57721566490153286061;
  Value near = add(add(k(euler), log(x)), mul(x, evaluate(expint0, x)));
  value = pick(upTo(x, 2), near, value);
  return pick(below(x, 0), k(kNan), value);
}

/// Li2(1 - x), by reflection and inversion to the neighbourhood of 1.
Value Emitter::spence() {
  Value lead = log(x), one = k(1);
  Value isLarge = above(x, 1.5);
  // Above 2 the inverse may be small, too.
  Value y = pick(isLarge, div(one, x), x);
  Value isSmall = below(y, 0.5);
  Value w = pick(isSmall, neg(y), sub(y, one));
  Value value = mul(w, evaluate(weir::special::spence, w));
  Value reflected = sub(sub(k(M_PI * M_PI / 6), mul(log(y), n.op<Log1pOp>(neg(y)))), value);
  value = pick(isSmall, reflected, value);
  Value inverted = sub(mul(k(-0.5), mul(lead, lead)), value);
  value = pick(isLarge, inverted, value);
  value = pick(equals(x, 0), k(M_PI * M_PI / 6), value);
  return pick(below(x, 0), k(kNan), value);
}

Value Emitter::erfinv() {
  Value one = k(1);
  Value w = neg(log(mul(sub(one, x), add(one, x))));
  // Only where it is used: its gradient at 0 would be none.
  Value root = sqrt(n.maximum(w, erfinvNear.high));
  Value value = pick(upTo(root, 4), evaluate(erfinvMiddle, root), evaluate(erfinvFar, root));
  value = pick(upTo(w, erfinvNear.high), evaluate(erfinvNear, w), value);
  value = mul(value, x);
  Value a = abs(x);
  value = pick(equals(x, 1), k(kInfinity), value);
  value = pick(equals(x, -1), k(-kInfinity), value);
  return pick(above(a, 1), k(kNan), value);
}

Value Emitter::ndtri() {
  Value half = k(0.5), one = k(1), centred = sub(x, half);
  Value isUpper = above(x, 0.5);
  Value p = pick(isUpper, sub(one, x), x);
  Value t = sqrt(mul(log(p), k(-2))), z = div(one, t);
  Value tail = pick(upTo(z, ndtriFar.high), evaluate(ndtriFar, z), evaluate(ndtriMiddle, z));
  tail = mul(tail, t);
  tail = pick(isUpper, tail, neg(tail));
  // e^-2, from where on the series about the middle holds.
  Value value = pick(above(p, 0.13533528323661269189),
                     mul(centred, evaluate(ndtriNear, mul(centred, centred))), tail);
  value = pick(equals(x, 0), k(-kInfinity), value);
  value = pick(equals(x, 1), k(kInfinity), value);
  Value inside = upTo(abs(centred), 0.5);
  return pick(inside, value, k(kNan));
}

namespace {
template <auto emit> LogicalResult unary(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (!n.isFloat(x))
    return n.unsupported("found elements that are no floats");
  Value wide = n.cast(x, n.b.getF64Type());
  // Sizes that only the run knows are worked out for each operation: of one
  // dimension that is cheap.
  bool flatten = !n.isStatic(x) && n.rank(x) > 1;
  Emitter emitter(n, flatten ? n.reshape(wide, {-1}) : wide, n.element(x).isF64());
  Value value = n.cast(emit(emitter), n.element(x));
  return n.result(flatten ? n.reshapeTo(value, n.shapeOf(x)) : value);
}

template <Value (Emitter::*bessel)(int), int order> Value plain(Emitter &e) {
  return (e.*bessel)(order);
}
template <Value (Emitter::*bessel)(int, bool), int order, bool scaled> Value modified(Emitter &e) {
  return (e.*bessel)(order, scaled);
}
template <Value (Emitter::*function)()> Value one(Emitter &e) { return (e.*function)(); }
template <bool sine> Value fresnelOf(Emitter &e) { return e.fresnel(sine); }
} // namespace

/// The number next to x in the direction of y. Magnitudes are ordered as their
/// bits are.
static LogicalResult nextAfter(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  Type element = n.element(x);
  if (!element.isF32() && !element.isF64())
    return n.unsupported("found elements that are not f32 or f64");
  Value spread = n.shapeOf(n.add(x, y));
  x = n.expandTo(x, spread);
  if (!x)
    return failure();
  auto bitcast = [&](Value v, Type to) {
    return BitcastOp::create(n.b, n.loc, n.type(v).clone(to), v).getResult();
  };
  Value bits = bitcast(x, n.b.getIntegerType(element.getIntOrFloatBitWidth()));
  Value up = n.compare("gt", y, x);
  Value apart = n.op<XorOp>(up, n.compare("gt", x, 0));
  Value next = n.select(apart, n.sub(bits, 1.0), n.add(bits, 1.0));
  if (!next)
    return failure();
  // From zero to the smallest number of the direction's sign.
  double least = element.isF32() ? 0x1p-149 : 0x1p-1074;
  Value value = n.select(n.compare("eq", x, 0), n.select(up, n.like(x, least), n.like(x, -least)),
                         bitcast(next, element));
  value = n.select(n.compare("eq", x, y), y, value);
  Value unordered = n.op<OrOp>(n.op<IsNanOp>(x), n.op<IsNanOp>(y));
  return n.result(n.select(unordered, n.add(x, y), value));
}

ArrayRef<OpImport> weir::tf::specialFunctionImports() {
  using E = Emitter;
  static const OpImport rows[] = {
      {"BesselI0", unary<modified<&E::besselI, 0, false>>},
      {"BesselI1", unary<modified<&E::besselI, 1, false>>},
      {"BesselI0e", unary<modified<&E::besselI, 0, true>>},
      {"BesselI1e", unary<modified<&E::besselI, 1, true>>},
      {"BesselK0", unary<modified<&E::besselK, 0, false>>},
      {"BesselK1", unary<modified<&E::besselK, 1, false>>},
      {"BesselK0e", unary<modified<&E::besselK, 0, true>>},
      {"BesselK1e", unary<modified<&E::besselK, 1, true>>},
      {"BesselJ0", unary<plain<&E::besselJ, 0>>},
      {"BesselJ1", unary<plain<&E::besselJ, 1>>},
      {"BesselY0", unary<plain<&E::besselY, 0>>},
      {"BesselY1", unary<plain<&E::besselY, 1>>},
      {"Dawsn", unary<one<&E::dawson>>},
      {"FresnelSin", unary<fresnelOf<true>>},
      {"FresnelCos", unary<fresnelOf<false>>},
      {"Expint", unary<one<&E::expint>>},
      {"Spence", unary<one<&E::spence>>},
      {"Erfinv", unary<one<&E::erfinv>>},
      {"Ndtri", unary<one<&E::ndtri>>},
      {"NextAfter", nextAfter},
  };
  return rows;
}
