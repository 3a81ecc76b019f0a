//===- ElementwiseSteps.cpp - steps that compute element by element -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors: of f(x) with |f'| <= slope it is slope * error(x), and what the
// function's own approximation and the rounding of the result may add.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/GraphBuilder.h"

#include <algorithm>
#include <cmath>

using namespace weir;
using namespace weir::fuzz;

std::optional<Dims> weir::fuzz::broadcast(const Dims &a, const Dims &b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

/// Whether two go together without becoming too large.
static bool goTogether(const Dims &a, const Dims &b, int64_t most) {
  std::optional<Dims> dims = broadcast(a, b);
  return dims && tools::productOf(*dims) <= most;
}

Value weir::fuzz::partner(GraphBuilder &g, const Value &value, double low, double high) {
  if (!g.oneIn(3)) {
    auto found = g.find([&](const Value &other) {
      return other.type == value.type && other.bound <= std::max(-low, high) &&
             goTogether(value.dims, other.dims, g.most());
    });
    if (found)
      return *found;
  }
  Dims dims = value.dims;
  for (int64_t &size : dims)
    if (g.oneIn(4))
      size = 1;
  uint32_t form = g.below(6);
  if (form == 0)
    dims.clear();
  if (form == 1 && !dims.empty())
    dims.erase(dims.begin());
  if (form == 2 && dims.size() < 4 && value.count() * 3 <= g.most())
    dims.insert(dims.begin(), 3);
  return g.data(value.type, dims, low, high);
}

namespace {

struct Unary {
  const char *name;
  double slope;  ///< the steepest that it is
  double bound;  ///< of the result; 0: that of the operand
  double digits; ///< epsilons that the approximation may be off by
  bool f32Only = false;
};

constexpr Unary unaries[] = {
    {"Relu", 1, 0, 0},          {"Abs", 1, 0, 0},         {"Neg", 1, 0, 0},
    {"Identity", 1, 0, 0},      {"Sigmoid", 0.25, 1, 8},  {"Tanh", 1, 1, 8},
    {"Erf", 1.13, 1, 8},        {"Sin", 1, 1, 8},         {"Cos", 1, 1, 8},
    {"Atan", 1, 1.6, 8},        {"Asinh", 1, 0, 8},       {"Softsign", 1, 1, 4},
    {"HardSigmoid", 0.2, 1, 4}, {"HardSwish", 1.5, 0, 4}, {"LeakyRelu", 1, 0, 1},
    {"Elu", 1, 0, 8},           {"Selu", 1.76, 0, 16},    {"Mish", 1.1, 0, 16},
    {"Gelu", 1.13, 0, 16},      {"Celu", 1, 0, 8, true},  {"ThresholdedRelu", 1, 0, 0},
};

} // namespace

static bool unary(GraphBuilder &g, const Value &x) {
  const Unary &f = unaries[g.below(std::size(unaries))];
  if (f.f32Only && x.type != WEIR_F32)
    return false;
  // The angle's own rounding grows with it.
  if ((f.name[0] == 'S' || f.name[0] == 'C') && x.bound > 100)
    return false;
  if (std::string(f.name) == "ThresholdedRelu" && !x.isExact())
    return false;
  double bound = f.bound ? f.bound : std::max(x.bound * std::max(1.0, f.slope), f.digits ? 1.8 : 0);
  return g.add(g.make(f.name, {x}, x.type, x.dims, bound,
                      f.slope * x.error + f.digits * x.epsilon() * std::max(bound, 1.0)));
}

/// 1 + |x|, which every root, logarithm and quotient is defined on.
static Value awayFromZero(GraphBuilder &g, const Value &x) {
  Value magnitude = g.make("Abs", {x}, x.type, x.dims, x.bound, x.error);
  Value one = g.number(x.type, 1);
  return g.make("Add", {magnitude, one}, x.type, x.dims, x.bound + 1,
                x.error + x.epsilon() * (x.bound + 1));
}

static bool positive(GraphBuilder &g, const Value &x) {
  if (g.oneIn(4)) {
    if (x.bound > 4)
      return false;
    double bound = std::exp(x.bound);
    return g.add(g.make(g.oneIn(2) ? "Exp" : "Softplus", {x}, x.type, x.dims, bound,
                        bound * (x.error + 8 * x.epsilon())));
  }
  Value y = awayFromZero(g, x);
  const char *name = g.pick({"Sqrt", "Log", "Reciprocal"});
  return g.add(g.make(name, {y}, x.type, x.dims, std::sqrt(y.bound) + 1,
                      y.error + 8 * x.epsilon() * (std::sqrt(y.bound) + 1)));
}

static bool binary(GraphBuilder &g, const Value &x) {
  const char *name =
      g.pick({"Add", "Sub", "Mul", "Mul", "Max", "Min", "Div", "PRelu", "Pow", "Sum"});
  Value y = partner(g, x, -2, 2);
  std::string op = name;
  std::optional<Dims> dims = broadcast(x.dims, y.dims);
  double bound = x.bound + y.bound, error = x.error + y.error, u = x.epsilon();
  if (op == "Add" || op == "Sub" || op == "Sum")
    return g.add(g.make(name, {x, y}, x.type, *dims, bound, error + 2 * u * bound));
  if (op == "Max" || op == "Min")
    return g.add(g.make(name, {x, y}, x.type, *dims, std::max(x.bound, y.bound), error));
  double product = x.bound * y.bound;
  error = x.error * y.bound + y.error * x.bound + x.error * y.error;
  if (op == "Mul")
    return g.add(g.make(name, {x, y}, x.type, *dims, product, error + 2 * u * product));
  if (op == "Div") {
    Value divisor = awayFromZero(g, y);
    return g.add(g.make(name, {x, divisor}, x.type, *dims, x.bound,
                        x.error + x.bound * divisor.error + 4 * u * x.bound));
  }
  if (op == "PRelu") {
    // The slope must not widen the data.
    if (broadcast(x.dims, y.dims) != x.dims)
      return false;
    product = std::max(x.bound, product);
    return g.add(g.make(name, {x, y}, x.type, x.dims, product, x.error + error + 2 * u * product));
  }
  Value base = awayFromZero(g, x);
  if (base.bound > 8)
    return false;
  double exponent = g.pick<double>({2, 3, 0.5, -1, 1.5});
  double power = std::pow(base.bound, std::max(exponent, 1.0));
  return g.add(g.make("Pow", {base, g.number(x.type, exponent)}, x.type, x.dims, power,
                      3 * power * base.error + 16 * u * power));
}

bool weir::fuzz::elementwiseStep(GraphBuilder &g) {
  auto x = g.find([](const Value &v) { return v.isFloat(); });
  if (!x)
    return g.add(g.feed(WEIR_F32, {2, 5, 7}, -2, 2));
  switch (g.below(6)) {
  case 0:
  case 1:
    return unary(g, *x);
  case 2:
    return positive(g, *x);
  case 3: {
    Value low = g.number(x->type, -0.75), high = g.number(x->type, 1.25);
    return g.add(
        g.make("Clip", {*x, low, high}, x->type, x->dims, std::min(x->bound, 1.25), x->error));
  }
  default:
    return binary(g, *x);
  }
}

/// The largest magnitude that an integer type holds.
static double widest(int32_t type) {
  int64_t bits = tools::elementSize(type) * 8;
  return std::ldexp(1.0, static_cast<int>(bits));
}

bool weir::fuzz::integerStep(GraphBuilder &g) {
  auto x = g.find([](const Value &v) { return v.isInteger(); });
  if (!x)
    return g.add(g.feed(g.pick<int32_t>({WEIR_I32, WEIR_I64}), {3, 8}, -100, 100));
  bool isSigned =
      x->type == WEIR_I8 || x->type == WEIR_I16 || x->type == WEIR_I32 || x->type == WEIR_I64;
  // Sums and products wrap around, in every form alike.
  double wide = widest(x->type);
  Value y = partner(g, *x, isSigned ? -100 : 0, 100);
  Dims dims = *broadcast(x->dims, y.dims);
  switch (g.below(8)) {
  case 0:
  case 1: {
    const char *name = g.pick({"Add", "Sub", "Mul"});
    double bound = name[0] == 'M' ? x->bound * y.bound : x->bound + y.bound;
    bool wraps = bound > wide / 2 || (!isSigned && name[0] == 'S');
    return g.add(g.make(name, {*x, y}, x->type, dims, wraps ? wide : bound, 0));
  }
  case 2: {
    const char *name = g.pick({"Div", "Mod"});
    Value divisor = g.data(x->type, g.oneIn(2) ? x->dims : Dims{}, 1, 9);
    return g.add(g.make(name, {*x, divisor}, x->type, x->dims, name[0] == 'M' ? 9 : x->bound, 0));
  }
  case 3:
    return g.add(
        g.make(g.pick({"Max", "Min"}), {*x, y}, x->type, dims, std::max(x->bound, y.bound), 0));
  case 4:
    return g.add(
        g.make(g.pick({"BitwiseAnd", "BitwiseOr", "BitwiseXor"}), {*x, y}, x->type, dims, wide, 0));
  case 5:
    if (isSigned)
      return g.add(g.make(g.pick({"Neg", "Abs", "Sign", "BitwiseNot"}), {*x}, x->type, x->dims,
                          x->bound + 1, 0));
    return g.add(g.make("BitShift", {*x, g.data(x->type, {}, 0, 7)}, x->type, x->dims, wide, 0,
                        {g.attribute("direction", g.pick({"LEFT", "RIGHT"}))}));
  case 6:
    return g.add(
        g.make("Clip", {*x, g.number(x->type, 1), g.number(x->type, 50)}, x->type, x->dims, 50, 0));
  default:
    return g.add(g.make("BitwiseNot", {*x}, x->type, x->dims, wide, 0));
  }
}

bool weir::fuzz::logicStep(GraphBuilder &g) {
  if (g.oneIn(3)) {
    // One of two, by what is known exactly.
    auto x = g.find([](const Value &v) { return v.isNumber() || v.type == WEIR_BOOL; });
    if (!x)
      return false;
    Value y = partner(g, *x, x->isFloat() ? -2 : 0, x->isFloat() ? 2 : 100);
    Dims dims = *broadcast(x->dims, y.dims);
    Value like{"", WEIR_BOOL, dims, 1, 0};
    Value condition = partner(g, like, 0, 1);
    dims = *broadcast(dims, condition.dims);
    return g.add(g.make("Where", {condition, *x, y}, x->type, dims, std::max(x->bound, y.bound),
                        std::max(x->error, y.error)));
  }
  if (g.oneIn(2)) {
    auto x = g.find([](const Value &v) { return v.isNumber() && v.isExact(); });
    if (!x)
      return false;
    Value y = g.data(x->type, g.oneIn(2) ? x->dims : Dims{}, 0, std::min(x->bound, 100.0));
    return g.add(g.make(g.pick({"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"}),
                        {*x, y}, WEIR_BOOL, x->dims, 1, 0));
  }
  auto x = g.find([](const Value &v) { return v.type == WEIR_BOOL; });
  if (!x)
    return false;
  if (g.oneIn(3))
    return g.add(g.make("Not", {*x}, WEIR_BOOL, x->dims, 1, 0));
  Value y = partner(g, *x, 0, 1);
  return g.add(
      g.make(g.pick({"And", "Or", "Xor"}), {*x, y}, WEIR_BOOL, *broadcast(x->dims, y.dims), 1, 0));
}

bool weir::fuzz::castStep(GraphBuilder &g) {
  auto x = g.find([](const Value &v) { return v.type != WEIR_STRING; });
  if (!x)
    return false;
  int32_t to = g.pick<int32_t>({WEIR_F32, WEIR_F32, WEIR_F64, WEIR_F16, WEIR_BF16, WEIR_I32,
                                WEIR_I64, WEIR_I8, WEIR_U8, WEIR_BOOL, WEIR_U16});
  Value out{"", to, x->dims, x->bound, 0};
  if (out.isFloat()) {
    if (x->bound > (to == WEIR_F16 ? 6e4 : 1e6))
      return false;
    // Rounding what differs a little can differ by a whole step.
    if (!x->isExact())
      out.error = x->error + 2 * out.epsilon() * x->bound;
  } else if (x->isFloat()) {
    // Outside of the type's range the result is not defined.
    bool isUnsigned = to == WEIR_U8 || to == WEIR_U16;
    if (!x->isExact() || isUnsigned || (to != WEIR_BOOL && x->bound >= widest(to) / 2))
      return false;
  } else if (to != WEIR_BOOL && x->bound >= widest(to) / 2) {
    out.bound = widest(to);
  }
  if (to == WEIR_BOOL)
    out.bound = 1;
  // From a type to itself is an identity that must not get lost, either.
  return g.add(
      g.make("Cast", {*x}, to, x->dims, out.bound, out.error, {g.attribute("to", int64_t(to))}));
}
