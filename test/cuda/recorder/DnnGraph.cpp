//===- DnnGraph.cpp - graphs of operations, in cuDNN's stand-in ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/DnnGraph.h"

#include <sstream>

using namespace recorder;
namespace dnn = weir::rt::cuda::dnn;

namespace {

// cudnnStatus_t
constexpr int32_t invalid = 2000, serializationVersion = 1003;

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

bool isDense(const Tensor &tensor, bool last) {
  int64_t next = last ? tensor.sizes[1] : 1;
  if (last && tensor.strides[1] != 1)
    return false;
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    if (last && i == 1)
      continue;
    if (tensor.strides[i] != next)
      return false;
    next *= tensor.sizes[i];
  }
  return true;
}

/// The window's sizes and places of an operation over images; all are positive.
bool fitsWindows(const Step &step, const Tensor &x, const Tensor &y, const int64_t *window) {
  for (size_t i = 0; i + 2 < x.sizes.size(); ++i) {
    int64_t dilation = step.dilations.empty() ? 1 : step.dilations[i],
            reach = dilation * (window[i] - 1) + 1;
    if (y.sizes[i + 2] !=
        (x.sizes[i + 2] + step.before[i] + step.after[i] - reach) / step.strides[i] + 1)
      return false;
  }
  return true;
}

/// A convolution, as kernels that need no compiler know it.
bool isKnownConvolution(const DnnGraph &graph) {
  if (graph.steps.size() > 4)
    return false;
  const Step &conv = graph.steps[0];
  const Tensor &x = graph.tensors.at(conv.x), &w = graph.tensors.at(conv.other),
               &y = graph.tensors.at(conv.y);
  size_t rank = x.sizes.size();
  if (rank < 4 || rank > 5 || w.sizes.size() != rank || y.sizes.size() != rank ||
      x.type != w.type || w.sizes[1] == 0 || x.sizes[1] % w.sizes[1] != 0 ||
      w.sizes[0] % (x.sizes[1] / w.sizes[1]) != 0 || y.sizes[0] != x.sizes[0] ||
      y.sizes[1] != w.sizes[0])
    return false;
  if (!fitsWindows(conv, x, y, &w.sizes[2]))
    return false;
  bool last = x.strides[1] == 1 && x.strides[rank - 1] == x.sizes[1];
  if (!isDense(x, last) || !isDense(w, last) || !isDense(y, last))
    return false;
  // Addend, bias, activation: what comes must be further down the list.
  int64_t current = conv.y;
  int at = 0;
  bool hasBias = false;
  for (size_t i = 1; i < graph.steps.size(); ++i) {
    const Step &step = graph.steps[i];
    const Tensor &target = graph.tensors.at(step.y);
    if (step.kind != dnn::operationPointwise || step.x != current ||
        !graph.tensors.at(current).isVirtual || graph.tensors.at(current).type != dnn::f32 ||
        target.sizes != y.sizes || target.strides != y.strides)
      return false;
    int kind = 3;
    if (step.mode == dnn::pointwiseAdd) {
      const Tensor &other = graph.tensors.at(step.other);
      Numbers bias(rank, 1);
      bias[1] = y.sizes[1];
      if (other.isVirtual)
        return false;
      kind = other.sizes == y.sizes && other.strides == y.strides ? 1 : 2;
      if (kind == 2 && other.sizes != bias)
        return false;
    } else if (step.mode != dnn::pointwiseRelu) {
      return false;
    }
    if (kind <= at)
      return false;
    at = kind;
    hasBias |= kind == 2;
    current = step.y;
  }
  const Tensor &end = graph.tensors.at(current);
  return !end.isVirtual && (end.type == x.type || end.type == dnn::f32) &&
         (hasBias || graph.steps.size() == 1);
}

/// A pooling alone: channels last, or, as a last resort, where they stand.
bool isKnownPooling(const DnnGraph &graph, int32_t mode) {
  const Step &pool = graph.steps[0];
  const Tensor &x = graph.tensors.at(pool.x), &y = graph.tensors.at(pool.y);
  size_t rank = x.sizes.size();
  if (graph.steps.size() != 1 || rank < 4 || rank > 5 || y.sizes.size() != rank || x.isVirtual ||
      y.isVirtual || x.type != y.type || x.sizes[0] != y.sizes[0] || x.sizes[1] != y.sizes[1] ||
      !fitsWindows(pool, x, y, pool.window.data()))
    return false;
  bool last = x.strides[1] == 1 && x.strides[rank - 1] == x.sizes[1];
  return isDense(x, last) && isDense(y, last) && (last || mode == dnn::heuristicsFallback);
}

/// softmax(scale Q K^T + mask, before the diagonal) V: its operations in the order that
/// kernels know, each after the one before.
bool isKnownAttention(const DnnGraph &graph) {
  size_t next = 0;
  int64_t last = -1, most = -1, sum = -1, powers = -1;
  const std::vector<Step> &steps = graph.steps;
  auto is = [&](int64_t kind, int64_t mode) {
    return next < steps.size() && steps[next].kind == kind &&
           (kind == dnn::operationMatmul || steps[next].mode == mode);
  };
  auto take = [&](int64_t kind, int64_t mode, int64_t from, int64_t other, int64_t &target) {
    if (!is(kind, mode) || steps[next].x != from || (other >= 0 && steps[next].other != other))
      return false;
    target = steps[next++].y;
    return graph.tensors.at(target).isVirtual != 0;
  };
  auto pointwise = [&](int64_t mode, int64_t from, int64_t other, int64_t &target) {
    return take(dnn::operationPointwise, mode, from, other, target);
  };
  const Tensor &q = graph.tensors.at(steps[0].x), &k = graph.tensors.at(steps[0].other);
  if ((q.type != dnn::f16 && q.type != dnn::bf16) || k.type != q.type || q.sizes.size() != 4 ||
      q.sizes[3] % 8 != 0 || q.sizes[3] > 128 || k.sizes[2] != q.sizes[3] || q.strides[3] != 1 ||
      k.strides[2] != 1 || !take(dnn::operationMatmul, 0, q.id, k.id, last))
    return false;
  if (is(dnn::operationPointwise, dnn::pointwiseMul) &&
      !pointwise(dnn::pointwiseMul, last, -1, last))
    return false;
  if (is(dnn::operationPointwise, dnn::pointwiseAdd) &&
      !pointwise(dnn::pointwiseAdd, last, -1, last))
    return false;
  if (is(dnn::operationPointwise, dnn::pointwiseIndex)) {
    int64_t row, column, condition;
    bool isDiagonal = steps[next].axis == 2 && pointwise(dnn::pointwiseIndex, last, -1, row) &&
                      steps[next].axis == 3 && pointwise(dnn::pointwiseIndex, last, -1, column) &&
                      pointwise(dnn::pointwiseGreaterEqual, row, column, condition) &&
                      steps[next].condition == condition;
    if (!isDiagonal || !pointwise(dnn::pointwiseSelect, last, -1, last))
      return false;
  }
  int64_t statistics, weights;
  if (!take(dnn::operationReduction, dnn::reduceMax, last, -1, most) ||
      !pointwise(dnn::pointwiseSub, last, most, powers) ||
      !pointwise(dnn::pointwiseExp, powers, -1, powers) ||
      !take(dnn::operationReduction, dnn::reduceAdd, powers, -1, sum) ||
      !pointwise(dnn::pointwiseLog, sum, -1, statistics) ||
      !pointwise(dnn::pointwiseAdd, most, statistics, statistics) ||
      !pointwise(dnn::pointwiseDiv, powers, sum, weights) || next + 1 != steps.size() ||
      steps[next].kind != dnn::operationMatmul || steps[next].x != weights)
    return false;
  const Tensor &v = graph.tensors.at(steps[next].other), &o = graph.tensors.at(steps[next].y);
  return v.type == q.type && graph.tensors.at(weights).type == q.type && !o.isVirtual &&
         (o.type == q.type || o.type == dnn::f32) && v.sizes[3] % 8 == 0 && v.sizes[3] <= 128 &&
         v.sizes[2] == k.sizes[3] && v.strides[3] == 1 && o.strides[3] == 1;
}

} // namespace

bool recorder::isKnown(const DnnGraph &graph, int32_t mode) {
  if (graph.steps.empty())
    return false;
  switch (graph.steps[0].kind) {
  case dnn::operationConvolution:
    return isKnownConvolution(graph);
  case dnn::operationResample:
    return isKnownPooling(graph, mode);
  case dnn::operationMatmul:
    return isKnownAttention(graph);
  default:
    return false;
  }
}

namespace {

//===----------------------------------------------------------------------===//
// Plans as text
//===----------------------------------------------------------------------===//

void write(std::ostream &os, const Numbers &numbers) {
  os << ' ' << numbers.size();
  for (int64_t number : numbers)
    os << ' ' << number;
}
bool read(std::istream &is, Numbers &numbers) {
  size_t count = 0;
  if (!(is >> count) || count > 8)
    return false;
  numbers.resize(count);
  for (int64_t &number : numbers)
    is >> number;
  return bool(is);
}

} // namespace

std::string recorder::toText(const Plan &plan, size_t version) {
  std::ostringstream os;
  os << "{\"recorder\":\"" << version << ' ' << plan.deviceVersion << ' ' << plan.processors << ' '
     << plan.engine << ' ' << plan.workspace << ' ' << plan.graph.tensors.size() << ' '
     << plan.graph.steps.size();
  for (const auto &[id, tensor] : plan.graph.tensors) {
    os << ' ' << id << ' ' << tensor.type << ' ' << tensor.isVirtual << ' ' << tensor.isByValue;
    write(os, tensor.sizes);
    write(os, tensor.strides);
  }
  for (const Step &step : plan.graph.steps) {
    os << ' ' << step.kind << ' ' << step.mode << ' ' << step.x << ' ' << step.other << ' '
       << step.condition << ' ' << step.y << ' ' << step.axis;
    for (const Numbers *numbers :
         {&step.before, &step.after, &step.strides, &step.dilations, &step.window})
      write(os, *numbers);
  }
  os << "\"}";
  return os.str();
}

int32_t recorder::fromText(const std::string &text, size_t version, Plan &plan) {
  constexpr char begin[] = "{\"recorder\":\"";
  if (text.rfind(begin, 0) != 0)
    return invalid;
  std::istringstream is(text.substr(sizeof(begin) - 1));
  size_t made = 0, tensors = 0, steps = 0;
  is >> made >> plan.deviceVersion >> plan.processors >> plan.engine >> plan.workspace >> tensors >>
      steps;
  if (!is)
    return invalid;
  if (made != version)
    return serializationVersion;
  for (size_t i = 0; i < tensors; ++i) {
    Tensor tensor;
    is >> tensor.id >> tensor.type >> tensor.isVirtual >> tensor.isByValue;
    if (!read(is, tensor.sizes) || !read(is, tensor.strides))
      return invalid;
    plan.graph.tensors[tensor.id] = tensor;
  }
  for (size_t i = 0; i < steps; ++i) {
    Step step;
    is >> step.kind >> step.mode >> step.x >> step.other >> step.condition >> step.y >> step.axis;
    for (Numbers *numbers :
         {&step.before, &step.after, &step.strides, &step.dilations, &step.window})
      if (!read(is, *numbers))
        return invalid;
    plan.graph.steps.push_back(step);
  }
  return 0;
}
