//===- ReductionSteps.cpp - steps that sum --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of n terms may be taken in any order: two orders differ by some four
// times the square root of n epsilons of the sum's bound.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/GraphBuilder.h"

#include <algorithm>
#include <cmath>

using namespace weir;
using namespace weir::fuzz;

static double summing(const Value &x, double n) {
  return x.isFloat() ? 4 * std::sqrt(n) * x.epsilon() : 0;
}

/// Some axes of a value, and what is left of its dimensions.
static std::vector<int64_t> someAxes(GraphBuilder &g, const Value &x, bool keep, Dims &dims,
                                     double &n) {
  std::vector<int64_t> axes;
  n = 1;
  dims.clear();
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    bool reduced = g.oneIn(2) || (axis + 1 == x.rank() && axes.empty());
    if (reduced) {
      axes.push_back(int64_t(axis) - (g.oneIn(4) ? int64_t(x.rank()) : 0));
      n *= double(x.dims[axis]);
    }
    if (!reduced || keep)
      dims.push_back(reduced ? 1 : x.dims[axis]);
  }
  return axes;
}

/// Reductions of ONNX know these types.
static bool isSummable(const Value &v) {
  return v.isFloat() || v.type == WEIR_I32 || v.type == WEIR_I64 || v.type == WEIR_U32 ||
         v.type == WEIR_U64;
}

static bool reduce(GraphBuilder &g, const Value &x) {
  Dims dims;
  double n;
  bool keep = g.oneIn(2);
  std::vector<int64_t> axes = someAxes(g, x, keep, dims, n);
  const char *name =
      g.pick({"ReduceSum", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
              "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd"});
  std::string op = name;
  double bound = n * x.bound, error = n * x.error + summing(x, n) * n * x.bound;
  if (op == "ReduceMax" || op == "ReduceMin") {
    bound = x.bound;
    error = x.error;
  } else if (!x.isFloat()) {
    // Roots and logarithms of integers are not defined; quotients truncate.
    if (op != "ReduceSum" && op != "ReduceL1" && op != "ReduceSumSquare")
      op = "ReduceSum";
    bound = op == "ReduceSumSquare" ? bound * x.bound : bound;
    error = 0;
    if (bound > 1e9)
      return false;
  } else if (op == "ReduceMean") {
    bound = x.bound;
    error = x.error + summing(x, n) * x.bound;
  } else if (op == "ReduceSumSquare") {
    error = 2 * x.bound * n * x.error + summing(x, n) * n * x.bound * x.bound;
    bound *= x.bound;
  } else if (op == "ReduceL2") {
    bound = std::sqrt(n) * x.bound;
    error = std::sqrt(n) * x.error + 2 * summing(x, n) * bound;
  } else if (op == "ReduceLogSumExp") {
    if (x.bound > 4)
      return false;
    bound = x.bound + std::log(n) + 1;
    error = x.error + (8 * x.epsilon() + summing(x, n)) * bound;
  } else if (op == "ReduceProd") {
    bound = std::pow(std::max(x.bound, 1.0), n);
    error = bound * (n * x.error + 2 * n * x.epsilon());
    if (!(bound < 1e3))
      return false;
  }
  return g.add(g.make(op, {x, g.integers(axes, Role::Parameter)}, x.type, dims, bound, error,
                      {g.attribute("keepdims", int64_t(keep))}));
}

static bool arg(GraphBuilder &g, const Value &x) {
  int64_t axis = g.below(static_cast<uint32_t>(x.rank())), size = x.dims[axis];
  Dims dims = x.dims;
  if (g.oneIn(2)) {
    bool keep = g.oneIn(2);
    if (keep)
      dims[axis] = 1;
    else
      dims.erase(dims.begin() + axis);
    return g.add(g.make(g.pick({"ArgMax", "ArgMin"}), {x}, WEIR_I64, dims, double(size), 0,
                        {g.attribute("axis", axis), g.attribute("keepdims", int64_t(keep))}));
  }
  if (x.type == WEIR_BF16)
    return false;
  dims[axis] = 1 + g.below(static_cast<uint32_t>(size));
  Value k = g.integers({dims[axis]}, Role::Run);
  auto names = g.node("TopK", {x.name, k.name},
                      {g.attribute("axis", axis), g.attribute("largest", int64_t(g.below(2)))}, 2);
  g.add({names[0], x.type, dims, x.bound, 0});
  return g.add({names[1], WEIR_I64, dims, double(size), 0});
}

bool weir::fuzz::reductionStep(GraphBuilder &g) {
  if (g.oneIn(4)) {
    auto exact = g.find([](const Value &v) { return v.rank() > 0 && v.isNumber() && v.isExact(); });
    return exact && arg(g, *exact);
  }
  auto x = g.find([](const Value &v) { return v.rank() > 0 && isSummable(v); });
  if (!x)
    return false;
  if (!g.oneIn(5))
    return reduce(g, *x);
  int64_t axis = g.below(static_cast<uint32_t>(x->rank()));
  double n = double(x->dims[axis]);
  if (!x->isFloat() && n * x->bound > 1e9)
    return false;
  return g.add(g.make("CumSum", {*x, g.integer(axis, Role::Parameter)}, x->type, x->dims,
                      n * x->bound, n * x->error + summing(*x, n) * n * x->bound,
                      {g.attribute("reverse", int64_t(g.below(2))),
                       g.attribute("exclusive", int64_t(g.below(2)))}));
}

bool weir::fuzz::normalizationStep(GraphBuilder &g) {
  auto x = g.find([](const Value &v) { return v.isFloat() && v.rank() > 0 && v.bound <= 30; });
  if (!x)
    return false;
  int64_t axis = g.below(static_cast<uint32_t>(x->rank()));
  double n = double(x->dims[axis]), u = x->epsilon();
  switch (g.below(4)) {
  case 0:
    return g.add(g.make("Softmax", {*x}, x->type, x->dims, 1, x->error + 16 * u + summing(*x, n),
                        {g.attribute("axis", axis)}));
  case 1: {
    double bound = 2 * x->bound + std::log(n) + 1;
    return g.add(g.make("LogSoftmax", {*x}, x->type, x->dims, bound,
                        2 * x->error + (16 * u + summing(*x, n)) * bound,
                        {g.attribute("axis", axis - int64_t(x->rank()))}));
  }
  case 2: {
    // With so large an epsilon a row of equal elements is as good as any other.
    constexpr float epsilon = 0.25f;
    Dims tail(x->dims.begin() + axis, x->dims.end());
    double m = double(tools::productOf(tail));
    Value scale = g.data(x->type, tail, -1, 1), bias = g.data(x->type, tail, -1, 1);
    double bound = 1 + 4 * x->bound;
    return g.add(g.make("LayerNormalization", {*x, scale, bias}, x->type, x->dims, bound,
                        8 * bound * (x->error + summing(*x, m) * x->bound) + 16 * u * bound,
                        {g.attribute("axis", axis), g.attribute("epsilon", epsilon)}));
  }
  default: {
    if (x->rank() < 2)
      return false;
    Dims channels{x->dims[1]};
    Value scale = g.data(x->type, channels, -1, 1), bias = g.data(x->type, channels, -1, 1),
          mean = g.data(x->type, channels, -1, 1), variance = g.data(x->type, channels, 0.25, 1);
    double bound = 2 * (x->bound + 1) + 1;
    return g.add(g.make("BatchNormalization", {*x, scale, bias, mean, variance}, x->type, x->dims,
                        bound, 2 * x->error + 16 * u * bound));
  }
  }
}

/// Products sum in f32 at least; what half precision adds is the last rounding.
static double product(const Value &x, double n, double bound) {
  double wide = std::min(x.epsilon(), tools::epsilonOf(WEIR_F32));
  return x.isFloat() ? (4 * std::sqrt(n) * wide + 2 * x.epsilon()) * bound : 0;
}

static bool gemm(GraphBuilder &g, const Value &x) {
  bool transposed = g.oneIn(2), left = g.oneIn(3);
  int64_t k = left ? x.dims[0] : x.dims[1], rows = left ? x.dims[1] : x.dims[0];
  int64_t columns = g.pick<int64_t>({1, 3, 8, 16, 17, 33});
  if (rows * columns > g.most())
    return false;
  double scale = x.isFloat() ? 1 / std::sqrt(double(k)) : 5;
  Value w = g.data(x.type, transposed ? Dims{columns, k} : Dims{k, columns},
                   x.isFloat() ? -scale : 0, scale);
  Value bias = g.data(x.type, g.oneIn(2) ? Dims{columns} : Dims{rows, 1}, x.isFloat() ? -1 : 0, 1);
  double bound = x.bound * scale * double(k) + 1;
  return g.add(
      g.make("Gemm", {x, w, bias}, x.type, {rows, columns}, bound,
             double(k) * scale * x.error + product(x, double(k), bound),
             {g.attribute("transA", int64_t(left)), g.attribute("transB", int64_t(transposed))}));
}

bool weir::fuzz::productStep(GraphBuilder &g) {
  auto x = g.find([](const Value &v) {
    return v.rank() > 0 && isSummable(v) && (v.isFloat() || v.bound < 1e4);
  });
  if (!x)
    return false;
  if (x->rank() == 2 && g.oneIn(2))
    return gemm(g, *x);
  int64_t k = x->dims.back();
  // Of two values that there are, where they fit.
  auto y = g.find([&](const Value &v) {
    if (v.type != x->type || v.rank() < 2 || x->rank() < 2 || v.dims[v.rank() - 2] != k)
      return false;
    auto batch =
        broadcast(Dims(v.dims.begin(), v.dims.end() - 2), Dims(x->dims.begin(), x->dims.end() - 2));
    return batch && v.bound < 100 &&
           tools::productOf(*batch) * v.dims.back() * x->dims[x->rank() - 2] <= g.most();
  });
  if (!y || g.oneIn(2)) {
    int64_t columns = g.pick<int64_t>({1, 2, 7, 16, 20, 31});
    if (x->count() / k * columns > g.most())
      return false;
    double scale = x->isFloat() ? 1 / std::sqrt(double(k)) : 5;
    y = g.data(x->type, {k, columns}, x->isFloat() ? -scale : 0, scale);
  }
  Dims dims = x->dims;
  if (x->rank() >= 2) {
    dims = *broadcast(Dims(y->dims.begin(), y->dims.end() - 2),
                      Dims(x->dims.begin(), x->dims.end() - 2));
    dims.push_back(x->dims[x->rank() - 2]);
  } else {
    dims.clear();
  }
  dims.push_back(y->dims.back());
  double bound = double(k) * x->bound * y->bound;
  double error =
      double(k) * (x->error * y->bound + y->error * x->bound) + product(*x, double(k), bound);
  return g.add(g.make("MatMul", {*x, *y}, x->type, dims, bound, error));
}

static bool pool(GraphBuilder &g, const Value &x, const Dims &spatial) {
  Dims dims{x.dims[0], x.dims[1]}, kernel, strides, pads;
  for (int64_t size : spatial) {
    int64_t k = std::min<int64_t>(size, g.pick<int64_t>({1, 2, 3})), s = 1 + g.below(2);
    int64_t p = k > 1 ? g.below(2) : 0;
    kernel.push_back(k);
    strides.push_back(s);
    pads.push_back(p);
    dims.push_back((size + 2 * p - k) / s + 1);
  }
  pads.insert(pads.end(), pads.begin(), pads.end());
  bool average = g.oneIn(2);
  double n = double(tools::productOf(kernel));
  std::vector<Proto> attributes{g.attribute("kernel_shape", kernel),
                                g.attribute("strides", strides), g.attribute("pads", pads)};
  if (average && g.oneIn(2))
    attributes.push_back(g.attribute("count_include_pad", int64_t(1)));
  return g.add(g.make(average ? "AveragePool" : "MaxPool", {x}, x.type, dims, x.bound,
                      x.error + (average ? summing(x, n) * x.bound : 0), attributes));
}

bool weir::fuzz::windowStep(GraphBuilder &g) {
  auto x = g.find([](const Value &v) { return v.isFloat() && v.rank() >= 3 && v.rank() <= 5; });
  if (!x)
    return g.add(g.feed(WEIR_F32,
                        {g.pick<int64_t>({1, 2}), g.pick<int64_t>({1, 3, 4, 8}),
                         g.pick<int64_t>({5, 8, 13}), g.pick<int64_t>({4, 7, 9})},
                        -2, 2));
  Dims spatial(x->dims.begin() + 2, x->dims.end());
  uint32_t kind = g.below(5);
  if (kind == 0)
    return pool(g, *x, spatial);
  double n = double(tools::productOf(spatial));
  if (kind == 1) {
    Dims dims{x->dims[0], x->dims[1]};
    dims.resize(x->rank(), 1);
    bool average = g.oneIn(2);
    return g.add(g.make(average ? "GlobalAveragePool" : "GlobalMaxPool", {*x}, x->type, dims,
                        x->bound, x->error + (average ? summing(*x, n) * x->bound : 0)));
  }
  bool transposed = kind == 2;
  int64_t channels = x->dims[1];
  int64_t groups = g.oneIn(3) ? channels : channels % 2 == 0 && g.oneIn(3) ? 2 : 1;
  int64_t out = groups * g.pick<int64_t>({1, 2, 3, 5});
  Dims dims{x->dims[0], out}, kernel, strides, dilations, pads;
  for (int64_t size : spatial) {
    int64_t k = g.pick<int64_t>({1, 2, 3}), s = 1 + g.below(2), d = g.oneIn(4) ? 2 : 1;
    int64_t reach = d * (k - 1) + 1, p = reach > 1 ? g.below(2) : 0;
    int64_t result = transposed ? s * (size - 1) + reach - 2 * p : (size + 2 * p - reach) / s + 1;
    if (result < 1 || (!transposed && size + 2 * p < reach))
      return false;
    kernel.push_back(k);
    strides.push_back(s);
    dilations.push_back(d);
    pads.push_back(p);
    dims.push_back(result);
  }
  pads.insert(pads.end(), pads.begin(), pads.end());
  if (tools::productOf(dims) > 2 * g.most() || out > 40)
    return false;
  double terms =
      double(tools::productOf(kernel)) * double(transposed ? channels : channels / groups);
  double scale = 1 / std::sqrt(terms);
  Dims shape = transposed ? Dims{channels, out / groups} : Dims{out, channels / groups};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  Value weights = g.data(x->type, shape, -scale, scale), bias = g.data(x->type, {out}, -1, 1);
  double bound = terms * scale * x->bound + 1;
  return g.add(g.make(transposed ? "ConvTranspose" : "Conv", {*x, weights, bias}, x->type, dims,
                      bound, terms * scale * x->error + product(*x, terms, bound),
                      {g.attribute("kernel_shape", kernel), g.attribute("strides", strides),
                       g.attribute("dilations", dilations), g.attribute("pads", pads),
                       g.attribute("group", groups)}));
}
