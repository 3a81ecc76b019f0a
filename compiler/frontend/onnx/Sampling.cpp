//===- Sampling.cpp - images read between pixels --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Sampling.h"
#include "compiler/frontend/lowering/CubicConvolution.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

class Sampler {
public:
  Sampler(TensorBuilder &t, Value x, Border border, bool alignCorners)
      : t(t), border(border), alignCorners(alignCorners) {
    dims = t.rank(x) - 2;
    for (int64_t d = 0; d < dims; ++d)
      sizes.push_back(t.toScalar(t.sizeOf(x, d + 2)));
    // Channels last, so that a pixel is one gather.
    SmallVector<int64_t> order = {0};
    llvm::append_range(order, axesFrom(2, dims + 2));
    order.push_back(1);
    pixels = t.transpose(x, order);
  }

  /// Pixels at whole places (float tensors), [N, P…, C].
  Value pixel(ArrayRef<Value> places);
  /// A mirrored or clamped coordinate.
  Value bounded(Value v, int64_t d);
  Value size(int64_t d, Value like) { return t.cast(sizes[d], t.element(like)); }

  int64_t dims;

private:
  TensorBuilder &t;
  Border border;
  bool alignCorners;
  Value pixels;
  SmallVector<Value> sizes;
};

Value Sampler::bounded(Value v, int64_t d) {
  Value count = size(d, v);
  if (border == Border::Clamp)
    return t.maximum(t.minimum(v, t.sub(count, 1.0)), 0.0);
  if (border != Border::Reflect)
    return v;
  // Folded into one period, between the first and the last centre or edge.
  Value low = t.like(v, alignCorners ? 0 : -0.5);
  Value span = alignCorners ? t.sub(count, 1.0) : count;
  Value safe = t.maximum(span, 1e-6);
  Value from = t.op<AbsOp>(t.sub(v, low));
  Value folds = t.op<FloorOp>(t.div(from, safe));
  Value rest = t.sub(from, t.mul(folds, safe));
  Value odd = t.sub(folds, t.mul(t.op<FloorOp>(t.mul(folds, 0.5)), 2.0));
  Value back = t.sub(t.add(low, safe), rest);
  Value mirrored = t.select(t.compare("ge", odd, 0.5), back, t.add(low, rest));
  return t.maximum(t.minimum(mirrored, t.sub(count, 1.0)), 0.0);
}

Value Sampler::pixel(ArrayRef<Value> places) {
  SmallVector<Value> indices;
  Value inside;
  for (int64_t d = 0; d < dims; ++d) {
    Value v = places[d];
    if (!v)
      return {};
    Value count = size(d, v);
    Value least = t.compare("ge", v, 0.0), most = t.compare("lt", v, count);
    Value both = t.op<AndOp>(least, most);
    inside = inside ? t.op<AndOp>(inside, both) : both;
    Value kept = t.maximum(t.minimum(v, t.sub(count, 1.0)), 0.0);
    Value index = t.cast(kept, t.b.getI64Type());
    if (!index)
      return {};
    indices.push_back(t.unsqueeze(index, {t.rank(index)}));
  }
  Value tuples = t.concat(indices, t.rank(indices[0]) - 1);
  Value found = t.op<GatherNdOp>(pixels, tuples, t.number(1), t.flag(false));
  if (!found || border == Border::Clamp || border == Border::Reflect)
    return found;
  return t.select(t.unsqueeze(inside, {t.rank(inside)}), found, t.like(found, 0));
}

Value toChannelsFirst(TensorBuilder &t, Value v) {
  if (!v)
    return {};
  int64_t rank = t.rank(v);
  SmallVector<int64_t> order = {0, rank - 1};
  llvm::append_range(order, axesFrom(1, rank - 1));
  return t.transpose(v, order);
}

} // namespace

Value weir::onnx::samplePlaces(TensorBuilder &t, Value x, ArrayRef<Value> places,
                               Interpolation kind, Border border, bool alignCorners) {
  if (!x || llvm::any_of(places, [](Value v) { return !v; }))
    return {};
  Sampler sampler(t, x, border, alignCorners);
  int64_t dims = sampler.dims;
  SmallVector<Value> at(places.begin(), places.end());
  if (kind != Interpolation::Cubic)
    for (int64_t d = 0; d < dims; ++d)
      at[d] = sampler.bounded(at[d], d);
  if (kind == Interpolation::Nearest) {
    for (Value &v : at)
      v = t.op<RoundEvenOp>(v);
    return toChannelsFirst(t, sampler.pixel(at));
  }
  // One set of taps a dimension, and all their combinations.
  int64_t taps = kind == Interpolation::Linear ? 2 : 4;
  SmallVector<SmallVector<Value>> positions(dims), weights(dims);
  for (int64_t d = 0; d < dims; ++d) {
    Value floor = t.op<FloorOp>(at[d]);
    Value f = t.sub(at[d], floor);
    if (!f)
      return {};
    if (taps == 2)
      weights[d] = {t.sub(t.like(f, 1), f), f};
    else
      llvm::append_range(weights[d], frontend::cubicWeights(t, f, -0.75));
    for (int64_t k = 0; k < taps; ++k) {
      Value place = t.add(floor, double(taps == 2 ? k : k - 1));
      if (taps == 4)
        place = sampler.bounded(place, d);
      positions[d].push_back(place);
    }
  }
  Value sum;
  int64_t combinations = 1;
  for (int64_t d = 0; d < dims; ++d)
    combinations *= taps;
  for (int64_t c = 0; c < combinations; ++c) {
    SmallVector<Value> place;
    Value weight;
    int64_t rest = c;
    for (int64_t d = 0; d < dims; ++d, rest /= taps) {
      int64_t k = rest % taps;
      place.push_back(positions[d][k]);
      weight = weight ? t.mul(weight, weights[d][k]) : weights[d][k];
    }
    Value value = sampler.pixel(place);
    if (!value || !weight)
      return {};
    Value term = t.mul(value, t.cast(t.unsqueeze(weight, {t.rank(weight)}), t.element(value)));
    sum = sum ? t.add(sum, term) : term;
  }
  return toChannelsFirst(t, sum);
}
