//===- SpecialImports.cpp - gamma, beta and zeta functions ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computed in f64 whatever the type, by the expansions of Abramowitz and
// Stegun, "Handbook of mathematical functions" (chapters 6, 23, 26): recurrence
// and asymptotic series, Euler and Maclaurin's sum, continued fractions with a
// fixed number of steps in a weir.while.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

static Value wide(NodeImport &n, size_t i) { return n.cast(n.in(i), n.b.getF64Type()); }

/// Ends an importer: back to the type of input 0.
static LogicalResult narrow(NodeImport &n, Value value) {
  Value x = n.in(0);
  return x ? n.result(n.cast(value, n.element(x))) : failure();
}

/// ψ(x) for x > 0: ten steps up, then the asymptotic series (6.3.18).
static Value digammaPositive(NodeImport &n, Value x) {
  Value sum = n.like(x, 0), one = n.like(x, 1);
  for (int i = 0; i < 10; ++i) {
    sum = n.sub(sum, n.div(one, x));
    x = n.add(x, 1.0);
  }
  Value square = n.div(one, n.mul(x, x));
  // B2k / 2k, the highest first.
  static const double terms[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                 1.0 / 252, -1.0 / 120,     1.0 / 12};
  Value series = n.like(x, terms[0]);
  for (int i = 1; i < 7; ++i)
    series = n.add(n.mul(series, square), terms[i]);
  series = n.mul(series, square);
  Value main = n.sub(n.op<LogOp>(x), n.div(n.like(x, 0.5), x));
  return n.add(n.sub(main, series), sum);
}

static Value digamma(NodeImport &n, Value x) {
  Value negative = n.compare("lt", x, 0.5);
  Value reflected = n.select(negative, n.sub(n.like(x, 1), x), x);
  Value value = digammaPositive(n, reflected);
  // ψ(x) = ψ(1 - x) - π / tan(πx)
  Value whole = n.op<FloorOp>(x);
  // From the nearest pole, on either side, so that nothing of it is lost beside one.
  Value fraction = n.sub(x, n.op<RoundOp>(x));
  Value cot = n.div(n.like(x, M_PI), n.op<TanOp>(n.mul(fraction, M_PI)));
  value = n.select(negative, n.sub(value, cot), value);
  Value isPole = n.op<AndOp>(n.compare("le", x, 0), n.compare("eq", x, whole));
  return n.select(isPole, n.like(x, kNan), value);
}

static LogicalResult importDigamma(NodeImport &n) { return narrow(n, digamma(n, wide(n, 0))); }

/// ζ(s, q) = Σ (q + k)^-s, in the precision of the operands: how it is summed shows
/// where q is negative.
static Value zeta(NodeImport &n, Value s, Value q) {
  if (!s || !q)
    return {};
  Type element = n.element(s).isF32() ? n.element(s) : n.b.getF64Type();
  Value shape = n.shapeOf(n.compare("eq", s, q));
  s = n.expandTo(n.cast(s, element), shape);
  q = n.expandTo(n.cast(q, element), shape);
  if (!s || !q)
    return {};
  return n.kernelCall("weir_kernel_zeta", s.getType(), {s, q})->getResult(0);
}

static LogicalResult importZeta(NodeImport &n) { return n.result(zeta(n, n.in(0), n.in(1))); }

/// ψ⁽ᵐ⁾(x) = (-1)^(m+1) m! ζ(m + 1, x)
static LogicalResult polygamma(NodeImport &n) {
  Value m = n.in(0), x = n.in(1);
  if (!m || !x)
    return failure();
  Value next = n.add(m, 1.0);
  Value factorial = n.exp(n.op<LgammaOp>(next));
  Value odd = n.compare("eq", n.op<FloorModOp>(m, n.like(m, 2)), 1);
  odd = n.op<OrOp>(odd, n.compare("eq", m, kInfinity)); // pow(-1, ∞) is 1
  Value signedFactorial = n.select(odd, factorial, n.op<NegOp>(factorial));
  Value value = n.mul(signedFactorial, zeta(n, next, x));
  Value zeroth = n.cast(digamma(n, wide(n, 1)), n.element(x));
  value = n.select(n.compare("eq", m, 0), zeroth, value);
  Value valid = n.op<AndOp>(n.compare("ge", m, 0), n.compare("eq", m, n.op<FloorOp>(m)));
  return n.result(n.select(valid, value, n.like(value, kNan)));
}

/// Operands in the shape that they have together: not by adding one times zero to another, which
/// is NaN where one is infinite. False where one is missing.
static bool spreadTogether(NodeImport &n, std::initializer_list<Value *> operands) {
  Value all;
  for (Value *v : operands) {
    Value one = n.compare("eq", *v, *v);
    all = all ? n.op<OrOp>(all, one) : one;
    if (!all)
      return false;
  }
  Value shape = n.shapeOf(all);
  for (Value *v : operands)
    if (v->getType() != n.type(all).clone(n.element(*v)) || !n.isStatic(*v))
      *v = n.expandTo(*v, shape);
  return llvm::all_of(operands, [](Value *v) { return *v != nullptr; });
}

/// state = step(k, state) for k = 1 … count; `k` is an f64 scalar.
static FailureOr<std::vector<Imported>>
iterate(NodeImport &n, int64_t count, std::vector<Imported> state,
        llvm::function_ref<std::vector<Value>(TensorBuilder &, Value, ArrayRef<Imported>)> step) {
  state.insert(state.begin(), Imported(n.scalar(n.b.getF64Type(), 1)));
  auto done = n.g.buildWhile(
      std::move(state),
      [&](std::vector<Imported> s, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        return std::vector<Imported>{
            Imported(t.compare("le", s[0].value, static_cast<double>(count)))};
      },
      [&](std::vector<Imported> s, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        std::vector<Imported> next = {Imported(t.add(s[0].value, 1.0))};
        for (Value value : step(t, s[0].value, ArrayRef<Imported>(s).drop_front())) {
          if (!value)
            return failure();
          next.emplace_back(value);
        }
        return next;
      },
      n.node, n.b, n.loc);
  if (failed(done))
    return failure();
  done->erase(done->begin());
  return done;
}

static constexpr double kTiny = 1e-300;

/// Steps of a continued fraction that change less are behind its convergence:
/// their factors are 1 but for rounding, which would add up.
static constexpr double kConverged = 1e-15;

/// `now` until `converged` (f64, 0 or 1 an element), then `before`.
static Value unlessConverged(TensorBuilder &t, Value converged, Value now, Value before) {
  return t.select(t.compare("eq", converged, 0), now, before);
}

/// Whether it has converged, once `step`, the last factor, is taken.
static Value nextConverged(TensorBuilder &t, Value converged, Value step) {
  Value idle = t.compare("le", t.op<AbsOp>(t.sub(step, 1.0)), kConverged);
  return t.select(idle, t.like(converged, 1), converged);
}

static Value awayFromZero(TensorBuilder &t, Value v) {
  return t.select(t.compare("lt", t.op<AbsOp>(v), kTiny), t.like(v, kTiny), v);
}

/// P(a, x), and Q(a, x) = 1 - P: the series (6.5.29) below a + 1, the
/// continued fraction (6.5.31) above.
template <bool upper> static LogicalResult igamma(NodeImport &n) {
  Value a = wide(n, 0), x = wide(n, 1);
  if (!spreadTogether(n, {&a, &x}))
    return failure();
  Value scale = n.exp(n.sub(n.sub(n.mul(a, n.op<LogOp>(x)), x), n.op<LgammaOp>(a)));
  Value first = n.div(n.like(a, 1), a);
  auto series = iterate(n, 400, {Imported(first), Imported(first)},
                        [&](TensorBuilder &t, Value k, ArrayRef<Imported> s) -> std::vector<Value> {
                          Value term = t.mul(s[0].value, t.div(x, t.add(a, k)));
                          return {term, t.add(s[1].value, term)};
                        });
  // Lentz: b0 = x + 1 - a, then a_k = -k (k - a), b_k = b0 + 2k.
  Value b0 = n.sub(n.add(x, 1.0), a);
  Value d0 = n.div(n.like(a, 1), awayFromZero(n, b0));
  Value c0 = n.expandTo(n.like(a, 1 / kTiny), n.shapeOf(a));
  auto fraction = iterate(
      n, 400,
      {Imported(c0), Imported(d0), Imported(d0), Imported(n.expandTo(n.like(a, 0), n.shapeOf(a)))},
      [&](TensorBuilder &t, Value k, ArrayRef<Imported> s) -> std::vector<Value> {
        Value an = t.mul(t.sub(a, k), k);
        Value bn = t.add(b0, t.mul(k, 2.0));
        Value d = t.add(t.mul(an, s[1].value), bn);
        Value c = t.add(bn, t.div(an, s[0].value));
        d = t.div(t.like(d, 1), awayFromZero(t, d));
        c = awayFromZero(t, c);
        Value step = t.mul(c, d), done = s[3].value;
        Value h = t.mul(s[2].value, step);
        h = unlessConverged(t, done, h, s[2].value);
        return {c, d, h, nextConverged(t, done, step)};
      });
  if (failed(series) || failed(fraction))
    return failure();
  Value p = n.mul((*series)[1].value, scale), q = n.mul((*fraction)[2].value, scale);
  Value below = n.compare("lt", x, n.add(a, 1.0));
  Value one = n.like(p, 1);
  Value value = upper ? n.select(below, n.sub(one, p), q) : n.select(below, p, n.sub(one, q));
  // At the ends, as TensorFlow has them: of an infinite a and x, both are 0.
  Value isFirst = n.compare("eq", x, 0), isLast = n.compare("eq", x, kInfinity);
  Value isEndless = n.compare("eq", a, kInfinity);
  if (upper) {
    value = n.select(n.op<OrOp>(isFirst, isEndless), one, value);
    value = n.select(isLast, n.like(p, 0), value);
  } else {
    value = n.select(isLast, one, value);
    value = n.select(isEndless, n.like(p, 0), value);
  }
  Value bad = n.op<OrOp>(n.compare("le", a, 0), n.compare("lt", x, 0));
  bad = n.op<OrOp>(bad, n.op<OrOp>(n.op<IsNanOp>(a), n.op<IsNanOp>(x)));
  value = n.select(bad, n.like(p, kNan), value);
  return narrow(n, upper ? value : n.select(isFirst, n.like(p, 0), value));
}

namespace {
/// The derivative of P(a, x) by a.
struct GammaDerivative {
  Value series;   ///< -(dP/da) / density, from the series
  Value fraction; ///< the same from the continued fraction
  Value factor;   ///< the density of x
};
} // namespace

/// The series (6.5.29) and the fraction (6.5.31) as above, with the derivatives
/// by a of all that they are made of.
static std::optional<GammaDerivative> gammaDerivative(NodeImport &n, Value a, Value x) {
  Value zero = n.expandTo(n.like(a, 0), n.shapeOf(a)), one = n.like(a, 1);
  Value logX = n.op<LogOp>(x);
  Value ones = n.expandTo(one, n.shapeOf(a));
  // c_k = c_(k-1) x / (a + k): terms relative to x^a e^-x / Γ(a + 1).
  auto series = iterate(n, 400, {Imported(ones), Imported(zero), Imported(ones), Imported(zero)},
                        [&](TensorBuilder &t, Value k, ArrayRef<Imported> s) -> std::vector<Value> {
                          Value next = t.add(a, k), ratio = t.div(x, next);
                          Value term = t.mul(s[0].value, ratio);
                          Value slope = t.sub(t.mul(s[1].value, ratio), t.div(term, next));
                          return {term, slope, t.add(s[2].value, term), t.add(s[3].value, slope)};
                        });
  // Lentz: the fraction's numbers, and behind each its derivative.
  Value b0 = n.sub(n.add(x, 1.0), a);
  Value d0 = n.div(one, awayFromZero(n, b0));
  Value c0 = n.expandTo(n.like(a, 1 / kTiny), n.shapeOf(a));
  Value dSlope = n.mul(d0, d0);
  auto fraction = iterate(
      n, 400,
      {Imported(c0), Imported(zero), Imported(d0), Imported(dSlope), Imported(d0), Imported(dSlope),
       Imported(zero)},
      [&](TensorBuilder &t, Value k, ArrayRef<Imported> s) -> std::vector<Value> {
        Value an = t.mul(t.sub(a, k), k), bn = t.add(b0, t.mul(k, 2.0));
        Value c = s[0].value, cs = s[1].value, d = s[2].value, ds = s[3].value;
        // d an / da = k, d bn / da = -1.
        Value inner = awayFromZero(t, t.add(t.mul(an, d), bn));
        Value innerSlope = t.sub(t.add(t.mul(k, d), t.mul(an, ds)), t.like(d, 1));
        Value dNext = t.div(t.like(d, 1), inner);
        Value dsNext = t.op<NegOp>(t.mul(innerSlope, t.mul(dNext, dNext)));
        Value cNext = awayFromZero(t, t.add(bn, t.div(an, c)));
        Value csNext = t.sub(t.sub(t.div(k, c), t.div(t.mul(an, cs), t.mul(c, c))), t.like(c, 1));
        Value step = t.mul(cNext, dNext);
        Value stepSlope = t.add(t.mul(csNext, dNext), t.mul(cNext, dsNext));
        Value h = t.mul(s[4].value, step);
        Value hs = t.add(t.mul(s[5].value, step), t.mul(s[4].value, stepSlope));
        Value done = s[6].value;
        h = unlessConverged(t, done, h, s[4].value);
        hs = unlessConverged(t, done, hs, s[5].value);
        // The derivative converges later.
        Value still =
            t.compare("gt", t.op<AbsOp>(t.mul(stepSlope, h)), t.mul(t.op<AbsOp>(hs), kConverged));
        Value next = t.select(still, done, nextConverged(t, done, step));
        return {cNext, csNext, dNext, dsNext, h, hs, next};
      });
  if (failed(series) || failed(fraction))
    return std::nullopt;
  GammaDerivative g;
  Value ofNext = n.sub(logX, digamma(n, n.add(a, 1.0)));
  Value slope = n.add((*series)[3].value, n.mul((*series)[2].value, ofNext));
  g.series = n.op<NegOp>(n.mul(slope, n.div(x, a)));
  Value own = n.sub(logX, digamma(n, a));
  g.fraction = n.mul(x, n.add((*fraction)[5].value, n.mul((*fraction)[4].value, own)));
  g.factor = n.exp(n.sub(n.sub(n.mul(n.sub(a, 1.0), logX), x), n.op<LgammaOp>(a)));
  return g;
}

/// The derivative of P(a, x) by a; or, of a sample from that gamma
/// distribution, how the sample moves with a: -(dP/da) / (dP/dx).
template <bool ofSample> static LogicalResult gammaGradient(NodeImport &n) {
  Value a = wide(n, 0), x = wide(n, 1);
  if (!spreadTogether(n, {&a, &x}))
    return failure();
  // Sizes that only the run knows are cheaper of one dimension.
  bool flatten = a && !n.isStatic(a) && n.rank(a) > 1;
  Value shape = n.shapeOf(a);
  if (flatten) {
    a = n.reshape(a, {-1});
    x = n.reshape(x, {-1});
  }
  auto g = gammaDerivative(n, a, x);
  if (!g)
    return failure();
  Value below = n.op<OrOp>(n.compare("le", x, 1), n.compare("lt", x, a));
  Value value = n.select(below, g->series, g->fraction);
  if (!ofSample)
    value = n.op<NegOp>(n.mul(value, g->factor));
  // P does not change where x^a e^-x / Γ(a), in the type's precision, vanishes.
  Value power = n.sub(n.sub(n.mul(a, n.op<LogOp>(x)), x), n.op<LgammaOp>(a));
  double least = n.element(n.in(0)).isF64() ? std::numeric_limits<double>::min()
                                            : std::numeric_limits<float>::min();
  Value none = n.like(value, 0), isFirst = n.compare("eq", x, 0);
  value = n.select(n.compare("lt", power, std::log(least)), none, value);
  Value isLast = n.op<OrOp>(n.compare("eq", x, kInfinity), n.compare("eq", a, kInfinity));
  value = n.select(isLast, none, value);
  Value bad = n.op<OrOp>(n.compare("le", a, 0), n.compare("lt", x, 0));
  bad = n.op<OrOp>(bad, n.op<OrOp>(n.op<IsNanOp>(a), n.op<IsNanOp>(x)));
  value = n.select(isFirst, none, n.select(bad, n.like(value, kNan), value));
  return narrow(n, flatten ? n.reshapeTo(value, shape) : value);
}

/// log Γ(x) less (x - 1/2) log x - x + log(2π) / 2, for x of 10 and more (6.1.41).
static Value stirlingRest(NodeImport &n, Value x) {
  // Magnitudes of B2k / (2k (2k - 1)), whose signs alternate, the highest first.
  static const double terms[] = {1.0 / 156,  691.0 / 360360, 1.0 / 1188, 1.0 / 1680,
                                 1.0 / 1260, 1.0 / 360,      1.0 / 12};
  Value inverse = n.div(n.like(x, 1), x), square = n.mul(inverse, inverse);
  Value sum = n.like(x, terms[0]);
  for (double term : ArrayRef(terms).drop_front())
    sum = n.sub(n.like(x, term), n.mul(sum, square));
  return n.mul(sum, inverse);
}

/// y^p (1 - y)^q / (p B(p, q)); `rest` is 1 - y. Logarithms of gamma functions of large numbers
/// cancel, and what is left of them is the exponent: from 10 on their leading terms are taken
/// together.
static Value betaFront(NodeImport &n, Value p, Value q, Value y, Value rest, Value logY,
                       Value logRest) {
  Value sum = n.add(p, q), less = n.minimum(p, q), more = n.maximum(p, q);
  auto log = [&](Value v) { return n.op<LogOp>(v); };
  auto lgamma = [&](Value v) { return n.op<LgammaOp>(v); };
  Value powers = n.add(n.mul(p, logY), n.mul(q, logRest));
  Value small = n.add(n.sub(lgamma(sum), n.add(lgamma(p), lgamma(q))), powers);
  // One of them is large: log Γ(more + less) - log Γ(more).
  Value apart = n.sub(stirlingRest(n, sum), stirlingRest(n, more));
  apart = n.add(apart, n.mul(n.sub(more, 0.5), n.op<Log1pOp>(n.div(less, more))));
  apart = n.add(apart, n.mul(less, n.sub(log(sum), 1.0)));
  Value mixed = n.add(n.sub(apart, lgamma(less)), powers);
  // Both: p log(y (p + q) / p) + q log((1 - y) (p + q) / q), which is near 0 about the mean.
  Value off = n.sub(n.mul(y, q), n.mul(rest, p));
  auto term = [&](Value own, Value distance, Value share) {
    Value ratio = n.div(distance, own);
    Value far = log(n.div(n.mul(share, sum), own));
    return n.mul(own, n.select(n.compare("lt", ratio, -0.5), far, n.op<Log1pOp>(ratio)));
  };
  Value large = n.add(term(p, off, y), term(q, n.op<NegOp>(off), rest));
  large = n.add(large, n.sub(stirlingRest(n, sum), n.add(stirlingRest(n, p), stirlingRest(n, q))));
  Value bothLarge = n.compare("ge", less, 10);
  Value exponent = n.select(bothLarge, large, n.select(n.compare("ge", more, 10), mixed, small));
  Value root = n.sqrt(n.div(n.div(q, n.mul(sum, 2 * M_PI)), p));
  return n.mul(n.exp(exponent), n.select(bothLarge, root, n.div(n.like(p, 1), p)));
}

/// I_x(a, b): the continued fraction (26.5.8), on the side where it converges
/// fast; where little of the integral lies below x because b is small, on that of x: 1 less the
/// other would have few digits.
static LogicalResult betainc(NodeImport &n) {
  Value a = wide(n, 0), b = wide(n, 1), x = wide(n, 2);
  if (!a || !b || !x)
    return failure();
  // Scalars are stretched, and nothing else.
  for (auto [one, other] : {std::pair(a, b), std::pair(a, x), std::pair(b, x)})
    if (n.rank(one) && n.rank(other) && failed(requireSame(n, one, other, "operands")))
      return failure();
  if (!spreadTogether(n, {&a, &b, &x}))
    return failure();
  Value zero = n.expandTo(n.like(x, 0), n.shapeOf(x));
  Value one = n.like(x, 1);
  Value turned = n.compare("gt", x, n.div(n.add(a, 1.0), n.add(n.add(a, b), 2.0)));
  Value kept = n.op<AndOp>(n.compare("le", n.mul(b, x), 1), n.compare("le", x, 0.99));
  turned = n.op<AndOp>(turned, n.op<NotOp>(kept));
  Value p = n.select(turned, b, a), q = n.select(turned, a, b);
  Value y = n.select(turned, n.sub(one, x), x);
  Value rest = n.select(turned, x, n.sub(one, x));
  Value logX = n.op<LogOp>(x), logRest = n.op<Log1pOp>(n.op<NegOp>(x));
  Value front =
      betaFront(n, p, q, y, rest, n.select(turned, logRest, logX), n.select(turned, logX, logRest));
  Value sum = n.add(p, q);
  Value d0 = n.sub(one, n.div(n.mul(sum, y), n.add(p, 1.0)));
  d0 = n.div(one, awayFromZero(n, d0));
  Value c0 = n.expandTo(one, n.shapeOf(x));
  auto fraction =
      iterate(n, 300, {Imported(c0), Imported(d0), Imported(d0), Imported(zero)},
              [&](TensorBuilder &t, Value m, ArrayRef<Imported> s) -> std::vector<Value> {
                Value c = s[0].value, d = s[1].value, h = s[2].value;
                Value done = s[3].value, both = t.like(h, 1);
                Value twice = t.add(p, t.mul(m, 2.0));
                Value unit = t.like(p, 1);
                auto advance = [&](Value term) {
                  d = t.div(unit, awayFromZero(t, t.add(t.mul(term, d), 1.0)));
                  c = awayFromZero(t, t.add(t.div(term, c), 1.0));
                  Value step = t.mul(c, d);
                  h = unlessConverged(t, done, t.mul(h, step), h);
                  both = t.mul(both, step);
                };
                advance(t.div(t.mul(t.mul(m, t.sub(q, m)), y), t.mul(t.sub(twice, 1.0), twice)));
                advance(t.op<NegOp>(t.div(t.mul(t.mul(t.add(p, m), t.add(sum, m)), y),
                                          t.mul(twice, t.add(twice, 1.0)))));
                return {c, d, h, nextConverged(t, done, both)};
              });
  if (failed(fraction))
    return failure();
  Value value = n.mul(front, (*fraction)[2].value);
  value = n.select(turned, n.sub(one, value), value);
  value = n.select(n.compare("eq", x, 0), n.like(x, 0), value);
  value = n.select(n.compare("eq", x, 1), one, value);
  Value bad = n.op<OrOp>(n.op<OrOp>(n.compare("le", a, 0), n.compare("le", b, 0)),
                         n.op<OrOp>(n.compare("lt", x, 0), n.compare("gt", x, 1)));
  return narrow(n, n.select(bad, n.like(x, kNan), value));
}

ArrayRef<OpImport> weir::tf::specialImports() {
  static const OpImport rows[] = {
      {"Digamma", importDigamma},
      {"Zeta", importZeta},
      {"Polygamma", polygamma},
      {"Igamma", igamma<false>},
      {"Igammac", igamma<true>},
      {"Betainc", betainc},
      {"IgammaGradA", gammaGradient<false>},
      {"RandomGammaGrad", gammaGradient<true>},
  };
  return rows;
}
