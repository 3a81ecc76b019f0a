//===- candidates.cpp - classes drawn for sampled losses ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers, and their order, are TensorFlow's. Of given weights a class is drawn by
// the alias method (Walker, 1977; Vose, 1991).
//
//===----------------------------------------------------------------------===//

#include "kernels/philox.h"
#include "weir/numerics.h"

#include <float.h>

using namespace weir::rt;

namespace {

enum Distribution { All = 0, Uniform = 1, LogUniform = 2, Weighted = 3 };

/// A class of given weights: of `n` equal columns, each with a second class above.
class Alias {
public:
  Alias(weir_context *ctx, const float *weights, int64_t n)
      : count(n), level(ctx, n), other(ctx, n), share(ctx, n), stack(ctx, 2 * n) {
    if (!isGood())
      return;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += double(weights[i]);
    int64_t *high = stack.data, *low = stack.data + n, highs = 0, lows = 0;
    for (int64_t i = 0; i < n; ++i) {
      share[i] = double(weights[i] * float(n)) / sum;
      (share[i] < 1 ? low[lows++] : high[highs++]) = i;
      other[i] = i;
    }
    while (highs > 0 && lows > 0) {
      int64_t l = low[--lows], h = high[--highs];
      other[l] = h;
      share[h] -= 1 - share[l];
      (share[h] < 1 ? low[lows++] : high[highs++]) = h;
    }
    for (int64_t i = 0; i < n; ++i)
      level[i] = float(share[i]);
    // What rounding has left is full.
    while (highs > 0)
      level[high[--highs]] = 1;
    while (lows > 0)
      level[low[--lows]] = 1;
  }
  bool isGood() const { return level.data && other.data && share.data && stack.data; }
  int64_t draw(PhiloxNumbers &numbers) {
    float height = numbers.unit();
    int64_t column = numbers.below(uint32_t(count));
    return height < level[column] ? column : other[column];
  }

private:
  int64_t count;
  Scratch<float> level;
  Scratch<int64_t> other;
  Scratch<double> share;
  Scratch<int64_t> stack;
};

/// Which classes were drawn: open addressing, a power of two of places.
class Seen {
public:
  Seen(weir_context *ctx, int64_t count) : size(sizeFor(count)), places(ctx, size) {
    for (int64_t i = 0; places.data && i < size; ++i)
      places[i] = -1;
  }
  bool isGood() const { return places.data; }
  /// Whether it was not there.
  bool insert(int64_t value) {
    auto at = int64_t(uint64_t(value) * 0x9E3779B97F4A7C15u >> 20) & (size - 1);
    for (; places[at] >= 0; at = (at + 1) & (size - 1))
      if (places[at] == value)
        return false;
    places[at] = value;
    return true;
  }

private:
  static int64_t sizeFor(int64_t count) {
    int64_t size = 16;
    while (size < 2 * count)
      size *= 2;
    return size;
  }
  const int64_t size;
  Scratch<int64_t> places;
};

struct Sampler {
  Distribution kind;
  int64_t range;
  const float *weights;
  float total;
  Alias *alias;

  int64_t draw(PhiloxNumbers &numbers) const {
    switch (kind) {
    case Uniform:
      return int64_t(numbers.below(uint64_t(range)));
    case LogUniform:
      return (int64_t(exp(numbers.wideUnit() * log1p(double(range)))) - 1) % range;
    default:
      return alias->draw(numbers);
    }
  }
  float probability(int64_t value) const {
    switch (kind) {
    case Uniform:
      return float(1.0 / double(range));
    case LogUniform:
      return float(log((double(value) + 2) / (double(value) + 1)) / log1p(double(range)));
    default:
      return value < 0 || value >= range ? 0 : weights[value] / total;
    }
  }
};

/// How often a class of probability `p` is expected among those drawn.
float expected(float p, int64_t wanted, int64_t tries) {
  if (tries == wanted)
    return p * float(wanted);
  return -expm1f(float(tries) * log1pf(-p));
}

} // namespace

int32_t weir_kernel_sample_candidates(weir_context *ctx, const weir_tensor *operands,
                                      int32_t operand_count, weir_tensor *results,
                                      int32_t result_count, const int64_t *attributes) {
  Philox generator(0, 0, 0);
  if (operand_count != 3 || result_count != 3 || !readState(operands[0], &generator))
    return failState(ctx);
  const weir_tensor &truth = operands[1], &weights = operands[2];
  auto kind = Distribution(attributes[0]);
  int64_t wanted = attributes[1], range = attributes[3];
  bool isUnique = attributes[2] != 0;
  if (truth.dtype != WEIR_I64 || truth.rank != 2 || weights.dtype != WEIR_F32)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "true_classes must be a matrix");
  if (range < 1 || wanted < 1 || (isUnique && kind != All && wanted > range))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Sampler's range is too small.");
  for (int64_t i = 0; i < elementCountOf(truth); ++i)
    if (int64_t given = static_cast<const int64_t *>(truth.data)[i]; given < 0 || given >= range)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a true class is outside of the classes");
  if (!shapeResult(ctx, results[0], 1, &wanted) ||
      !shapeResult(ctx, results[1], truth.rank, truth.dims) ||
      !shapeResult(ctx, results[2], 1, &wanted))
    return WEIR_RESOURCE_EXHAUSTED;
  auto *drawn = static_cast<int64_t *>(results[0].data);
  auto *ofTruth = static_cast<float *>(results[1].data);
  auto *ofDrawn = static_cast<float *>(results[2].data);
  int64_t truths = elementCountOf(truth);
  if (kind == All) {
    for (int64_t i = 0; i < wanted; ++i) {
      drawn[i] = i;
      ofDrawn[i] = 1;
    }
    for (int64_t i = 0; i < truths; ++i)
      ofTruth[i] = 1;
    return WEIR_OK;
  }
  auto *given = static_cast<const float *>(weights.data);
  bool isWeighted = kind == Weighted;
  float total = 0;
  int64_t positive = 0;
  for (int64_t i = 0; isWeighted && i < range; ++i) {
    total += given[i];
    positive += given[i] > 0;
  }
  if (isWeighted && isUnique && positive < wanted)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "too few classes have a weight");
  float none = 1;
  Alias alias(ctx, isWeighted ? given : &none, isWeighted ? range : 1);
  Seen seen(ctx, isUnique ? wanted : 0);
  if (!alias.isGood() || !seen.isGood())
    return WEIR_RESOURCE_EXHAUSTED;
  Sampler sampler = {kind, range, given, total, &alias};
  PhiloxNumbers numbers(generator);
  int64_t tries = 0;
  for (int64_t i = 0; i < wanted; ++tries) {
    int64_t value = sampler.draw(numbers);
    if (!isUnique || seen.insert(value))
      drawn[i++] = value;
  }
  auto *classes = static_cast<const int64_t *>(truth.data);
  for (int64_t i = 0; i < wanted; ++i)
    ofDrawn[i] = expected(sampler.probability(drawn[i]), wanted, tries);
  for (int64_t i = 0; i < truths; ++i)
    ofTruth[i] = expected(sampler.probability(classes[i]), wanted, tries);
  return WEIR_OK;
}

int32_t weir_kernel_accidental_hits(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *) {
  const weir_tensor &truth = operands[0], &drawn = operands[1];
  if (operand_count != 2 || result_count != 3 || truth.dtype != WEIR_I64 || drawn.dtype != WEIR_I64)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  if (truth.rank != 2 || drawn.rank != 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "true_classes must be a matrix, sampled_candidates a vector");
  auto *classes = static_cast<const int64_t *>(truth.data);
  auto *samples = static_cast<const int64_t *>(drawn.data);
  // Of a candidate that is there twice, the last place counts.
  auto placeOf = [&](int64_t value) {
    int64_t at = drawn.dims[0];
    while (at > 0 && samples[at - 1] != value)
      --at;
    return at - 1;
  };
  int64_t truths = elementCountOf(truth), hits = 0;
  for (int64_t i = 0; i < truths; ++i)
    hits += placeOf(classes[i]) >= 0;
  for (int r = 0; r < 3; ++r)
    if (!shapeResult(ctx, results[r], 1, &hits))
      return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0, at = 0; i < truths; ++i) {
    int64_t place = placeOf(classes[i]);
    if (place < 0)
      continue;
    storeIndex(results[0], at, i / truth.dims[1]);
    storeIndex(results[1], at, place);
    static_cast<float *>(results[2].data)[at++] = -FLT_MAX;
  }
  return WEIR_OK;
}
