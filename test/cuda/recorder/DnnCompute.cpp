//===- DnnCompute.cpp - what graphs compute, in cuDNN's stand-in ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In double precision, an operation after the other. What is stored is rounded to
// its type, and what lies between operations only where that is a narrow one.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/DnnGraph.h"
#include "test/cuda/recorder/Recorder.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace recorder;
namespace dnn = weir::rt::cuda::dnn;

namespace {

int64_t countOf(const Numbers &sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// Calls `each` with every index of sizes.
template <typename F> void forAll(const Numbers &sizes, F each) {
  Numbers at(sizes.size(), 0);
  for (int64_t i = 0, count = countOf(sizes); i < count; ++i) {
    each(at);
    for (size_t d = sizes.size(); d-- > 0 && ++at[d] == sizes[d];)
      at[d] = 0;
  }
}

int64_t offsetOf(const Numbers &sizes, const Numbers &strides, const Numbers &at) {
  int64_t offset = 0;
  for (size_t i = 0; i < at.size(); ++i)
    offset += (sizes[i] == 1 ? 0 : at[i]) * strides[i];
  return offset;
}

class Computation {
public:
  explicit Computation(const Call &call) : call(call), graph(call.plan.graph) {}

  void run() {
    for (const Step &step : graph.steps) {
      const Tensor &y = graph.tensors.at(step.y);
      forAll(y.sizes, [&](const Numbers &index) { write(y, index, element(step, index)); });
    }
  }

private:
  double element(const Step &step, const Numbers &index) {
    switch (step.kind) {
    case dnn::operationConvolution:
      return convolved(step, index);
    case dnn::operationResample:
      return pooled(step, index);
    case dnn::operationMatmul:
      return multiplied(step, index);
    case dnn::operationReduction:
      return reduced(step, index);
    default:
      return combined(step, index);
    }
  }

  double read(const Tensor &tensor, const Numbers &index) {
    int64_t offset = offsetOf(tensor.sizes, tensor.strides, index);
    if (tensor.isByValue)
      return call.numbers.at(tensor.id);
    if (tensor.isVirtual)
      return between.at(tensor.id)[size_t(offset)];
    return load(formOf(tensor.type), call.pointers.at(tensor.id), offset);
  }
  void write(const Tensor &tensor, const Numbers &index, double value) {
    int64_t offset = offsetOf(tensor.sizes, tensor.strides, index);
    if (!tensor.isVirtual)
      return store(formOf(tensor.type), call.pointers.at(tensor.id), offset, value);
    std::vector<double> &values = between[tensor.id];
    values.resize(size_t(countOf(tensor.sizes)));
    values[size_t(offset)] = rounded(tensor.type, value);
  }

  /// What is between operations in a narrow type.
  static double rounded(int64_t type, double value) {
    if (type != dnn::f16 && type != dnn::bf16)
      return value;
    uint16_t half;
    auto address = reinterpret_cast<uint64_t>(&half);
    store(formOf(type), address, 0, value);
    return load(formOf(type), address, 0);
  }

  /// Where element `inner` of the window of `index` lies. False: outside.
  static bool place(const Step &step, const Tensor &x, const Numbers &index, const int64_t *inner,
                    Numbers &from) {
    for (size_t i = 2; i < from.size(); ++i) {
      int64_t dilation = step.dilations.empty() ? 1 : step.dilations[i - 2];
      from[i] = index[i] * step.strides[i - 2] - step.before[i - 2] + inner[i - 2] * dilation;
      if (from[i] < 0 || from[i] >= x.sizes[i])
        return false;
    }
    return true;
  }

  double convolved(const Step &step, const Numbers &index) {
    const Tensor &x = graph.tensors.at(step.x), &w = graph.tensors.at(step.other);
    bool tf32 = x.type == dnn::f32 && call.plan.engine == 3;
    auto round = [&](double value) { return tf32 ? toTf32(value) : value; };
    int64_t perGroup = w.sizes[0] / (x.sizes[1] / w.sizes[1]);
    Numbers window(w.sizes.begin() + 1, w.sizes.end()), from(index), weight(index);
    weight[0] = index[1];
    double sum = 0;
    forAll(window, [&](const Numbers &inner) {
      from[1] = index[1] / perGroup * w.sizes[1] + inner[0];
      std::copy(inner.begin(), inner.end(), weight.begin() + 1);
      if (place(step, x, index, &inner[1], from))
        sum += round(read(x, from)) * round(read(w, weight));
    });
    return sum;
  }

  double pooled(const Step &step, const Numbers &index) {
    const Tensor &x = graph.tensors.at(step.x);
    Numbers from(index);
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    int64_t inside = 0;
    forAll(step.window, [&](const Numbers &inner) {
      if (!place(step, x, index, inner.data(), from))
        return;
      double value = read(x, from);
      ++inside;
      sum += value;
      if (!(value <= most)) // a NaN stays
        most = std::isnan(most) ? most : value;
    });
    return step.mode == dnn::resampleMax             ? most
           : step.mode == dnn::resampleAverageInside ? sum / double(inside)
                                                     : sum / double(countOf(step.window));
  }

  double multiplied(const Step &step, const Numbers &index) {
    const Tensor &a = graph.tensors.at(step.x), &b = graph.tensors.at(step.other);
    Numbers left(index), right(index);
    // Neighbouring heads on the left share one on the right.
    right[1] /= a.sizes[1] / b.sizes[1];
    double sum = 0;
    for (int64_t i = 0; i < a.sizes[3]; ++i) {
      left[3] = right[2] = i;
      sum += read(a, left) * read(b, right);
    }
    return sum;
  }

  double reduced(const Step &step, const Numbers &index) {
    const Tensor &x = graph.tensors.at(step.x);
    Numbers from(index);
    bool isMax = step.mode == dnn::reduceMax;
    double result = isMax ? -std::numeric_limits<double>::infinity() : 0;
    for (from[3] = 0; from[3] < x.sizes[3]; ++from[3])
      result = isMax ? std::max(result, read(x, from)) : result + read(x, from);
    return result;
  }

  double combined(const Step &step, const Numbers &index) {
    double value = read(graph.tensors.at(step.x), index);
    auto other = [&] { return read(graph.tensors.at(step.other), index); };
    switch (step.mode) {
    case dnn::pointwiseAdd:
      return value + other();
    case dnn::pointwiseSub:
      return value - other();
    case dnn::pointwiseMul:
      return value * other();
    case dnn::pointwiseDiv:
      return value / other();
    case dnn::pointwiseExp:
      return std::exp(value);
    case dnn::pointwiseLog:
      return std::log(value);
    case dnn::pointwiseIndex:
      return double(index[size_t(step.axis)]);
    case dnn::pointwiseGreaterEqual:
      return value >= other();
    case dnn::pointwiseSelect:
      return read(graph.tensors.at(step.condition), index) != 0 ? value : other();
    default:
      return value > 0 ? value : 0;
    }
  }

  const Call &call;
  const DnnGraph &graph;
  std::map<int64_t, std::vector<double>> between;
};

} // namespace

void recorder::compute(const Call &call) {
  int64_t last = call.plan.graph.steps.back().y;
  for (const auto &[id, tensor] : call.plan.graph.tensors)
    if (!tensor.isVirtual && !tensor.isByValue)
      recorder::recorder().touch(call.pointers.at(id),
                                 uint64_t(countOf(tensor.sizes) * bytesOf(formOf(tensor.type))),
                                 id == last);
  if (call.plan.workspace)
    recorder::recorder().touch(call.workspace, uint64_t(call.plan.workspace), true);
  Computation(call).run();
}
