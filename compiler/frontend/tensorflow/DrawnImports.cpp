//===- DrawnImports.cpp - windows, classes and points that are drawn ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's kernels draw them (runtime/include/weir/numerics.h), with
// TensorFlow's numbers. What keeps a state begins anew in each run.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NumericImports.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static constexpr int64_t kOpen = ShapedType::kDynamic;

static Value attributeState(NodeImport &n) { return n.ints({n.i("seed"), 0, n.i("seed2")}); }

/// The numbers of a list attribute.
static SmallVector<double> reals(NodeImport &n, std::string_view name) {
  const AttrValue *value = n.attr(name);
  SmallVector<double> all;
  if (value && value->list)
    for (auto number : value->list->floats)
      all.push_back(number);
  return all;
}

static LogicalResult sobol(NodeImport &n) {
  SmallVector<Value> in = n.tensors(0, 3);
  Type element = n.elementAttr("dtype");
  if (in.empty() || !element)
    return failure();
  for (Value one : in)
    if (!n.hasRank(one, 0))
      return failure();
  auto known = [&](size_t i) {
    auto value = n.knownInts(i);
    return value && value->size() == 1 && value->front() > 0 ? value->front() : kOpen;
  };
  if (known(0) != kOpen && known(0) > 1111)
    return n.unsupported("expected at most 1111 dimensions, got " + Twine(known(0)));
  Operation *made =
      n.kernelCall("weir_kernel_sobol", RankedTensorType::get({known(1), known(0)}, element), in);
  return n.result(made->getResult(0));
}

/// `inputs`: of the operation's versions, where the objects' least share and the seed
/// are; 0: attributes say it.
static LogicalResult distortedBox(NodeImport &n, size_t leastInput, size_t seedInput) {
  Value size = n.in(0), boxes = n.in(1);
  if (!size || !boxes)
    return failure();
  Type f32 = n.b.getF32Type(), element = n.element(size);
  Value state = seedInput ? n.toI64(n.in(seedInput)) : attributeState(n);
  Value least = leastInput ? n.toScalar(n.cast(n.in(leastInput), f32))
                           : n.scalar(f32, n.f("min_object_covered"));
  SmallVector<double> ranges = reals(n, "aspect_ratio_range"), areas = reals(n, "area_range");
  if (ranges.size() != 2 || areas.size() != 2)
    return n.invalid("found ranges that are no two numbers");
  if (!(ranges[0] > 0 && ranges[0] <= ranges[1]) ||
      !(areas[0] > 0 && areas[0] <= areas[1] && areas[1] <= 1))
    return n.invalid("found ranges of ratios or areas that are empty, or outside of (0, 1]");
  llvm::append_range(ranges, areas);
  Type index = element.isInteger(64) ? element : Type(n.b.getI32Type());
  SmallVector<Type> types{RankedTensorType::get({3}, index), RankedTensorType::get({3}, index),
                          RankedTensorType::get({1, 1, 4}, f32)};
  Operation *made = n.kernelCall("weir_kernel_distorted_box", types,
                                 {state, n.toI64(size), boxes, least, n.floats(ranges, f32)},
                                 {n.i("max_attempts"), n.isSet("use_image_if_no_bounding_boxes")});
  if (!made)
    return failure();
  return n.results({n.cast(made->getResult(0), element, false),
                    n.cast(made->getResult(1), element, false), made->getResult(2)});
}

static LogicalResult distortedBoxV1(NodeImport &n) { return distortedBox(n, 0, 0); }
static LogicalResult distortedBoxV2(NodeImport &n) { return distortedBox(n, 2, 0); }
static LogicalResult statelessDistortedBox(NodeImport &n) { return distortedBox(n, 2, 3); }

template <bool isMax> static LogicalResult fractionalPool(NodeImport &n) {
  Value x = n.in(0);
  SmallVector<double> ratios = reals(n, "pooling_ratio");
  if (!n.hasRank(x, 4))
    return failure();
  if (ratios.size() != 4 || ratios[0] != 1 || ratios[3] != 1 || !(ratios[1] >= 1) ||
      !(ratios[2] >= 1))
    return n.invalid("found pooling ratios that are not four from 1 on, the first and the last 1");
  if (!n.isSet("deterministic") && (n.i("seed") || n.i("seed2")))
    return n.invalid("found seeds; expected both to be 0 where deterministic is false");
  IntVector sizes(n.sizes(x)), places[2];
  for (int64_t i : {1, 2}) {
    if (sizes[i] != kOpen)
      sizes[i] = static_cast<int64_t>(
          std::floor(static_cast<float>(sizes[i]) / static_cast<float>(ratios[i])));
    places[i - 1] = {sizes[i] == kOpen ? kOpen : sizes[i] + 1};
  }
  Type i64 = n.b.getI64Type();
  SmallVector<Type> types{RankedTensorType::get(sizes, n.element(x)),
                          RankedTensorType::get(places[0], i64),
                          RankedTensorType::get(places[1], i64)};
  Operation *made =
      n.kernelCall("weir_kernel_fractional_pool", types,
                   {x, attributeState(n), n.floats({ratios[1], ratios[2]}, n.b.getF32Type())},
                   {isMax, n.isSet("overlapping"), n.isSet("pseudo_random")});
  return made ? n.results(SmallVector<Value>(made->getResults())) : failure();
}

//===----------------------------------------------------------------------===//
// Candidates of sampled losses
//===----------------------------------------------------------------------===//

enum class Distribution : uint8_t { All, Uniform, LogUniform, Weighted };

static LogicalResult candidates(NodeImport &n, Distribution kind, int64_t range,
                                ArrayRef<double> weights) {
  Value truth = n.in(0);
  if (!truth || !n.hasRank(truth, 2))
    return failure();
  int64_t count = n.i("num_sampled");
  bool isUnique = n.isSet("unique");
  if (count < 1 || range < 1)
    return n.invalid("found no candidates to draw, or no classes");
  if (n.dim(truth, 1) != kOpen && n.dim(truth, 1) != n.i("num_true"))
    return n.invalid("found " + Twine(n.dim(truth, 1)) + " true classes a row; num_true says " +
                     Twine(n.i("num_true")));
  Type f32 = n.b.getF32Type();
  SmallVector<Type> types{RankedTensorType::get({count}, n.b.getI64Type()),
                          n.type(truth).clone(f32), RankedTensorType::get({count}, f32)};
  Operation *made = n.kernelCall("weir_kernel_sample_candidates", types,
                                 {attributeState(n), n.toI64(truth), n.floats(weights, f32)},
                                 {static_cast<int64_t>(kind), count, isUnique, range});
  return made ? n.results(SmallVector<Value>(made->getResults())) : failure();
}

static LogicalResult uniformCandidates(NodeImport &n) {
  return candidates(n, Distribution::Uniform, n.i("range_max"), {});
}
static LogicalResult logUniformCandidates(NodeImport &n) {
  return candidates(n, Distribution::LogUniform, n.i("range_max"), {});
}
static LogicalResult allCandidates(NodeImport &n) {
  return candidates(n, Distribution::All, n.i("num_sampled"), {});
}

/// Weights to a power; reserved classes have none, and a shard every few of them.
static LogicalResult unigramCandidates(NodeImport &n) {
  if (!n.s("vocab_file").empty())
    return n.unsupported("expected unigrams in the attribute, got a vocab_file");
  int64_t shards = n.i("num_shards"), reserved = n.i("num_reserved_ids");
  if (shards < 1 || n.i("shard") < 0 || n.i("shard") >= shards || reserved < 0)
    return n.invalid("found a shard that is none of num_shards");
  SmallVector<double> weights(reserved, 0.0);
  int64_t word = reserved;
  for (double weight : reals(n, "unigrams"))
    if (word++ % shards == n.i("shard"))
      weights.push_back(
          std::pow(static_cast<float>(weight), static_cast<float>(n.f("distortion"))));
  int64_t range = n.i("range_max"), count = weights.size();
  if (range > count)
    return n.invalid("found " + Twine(count) + " unigrams; range_max says " + Twine(range));
  return candidates(n, Distribution::Weighted, count, weights);
}

static LogicalResult accidentalHits(NodeImport &n) {
  SmallVector<Value> in = n.tensors(0, 2);
  if (in.empty())
    return failure();
  if (n.rank(in[0]) == 2 && n.dim(in[0], 1) != kOpen && n.dim(in[0], 1) != n.i("num_true"))
    return n.invalid("found " + Twine(n.dim(in[0], 1)) + " true classes a row; num_true says " +
                     Twine(n.i("num_true")));
  SmallVector<Type> types{RankedTensorType::get({kOpen}, n.b.getI32Type()),
                          RankedTensorType::get({kOpen}, n.b.getI64Type()),
                          RankedTensorType::get({kOpen}, n.b.getF32Type())};
  Operation *made = n.kernelCall("weir_kernel_accidental_hits", types, in);
  return n.results(SmallVector<Value>(made->getResults()));
}

ArrayRef<OpImport> weir::tf::drawnImports() {
  static const OpImport rows[] = {
      {"SobolSample", sobol},
      {"SampleDistortedBoundingBox", distortedBoxV1},
      {"SampleDistortedBoundingBoxV2", distortedBoxV2},
      {"StatelessSampleDistortedBoundingBox", statelessDistortedBox},
      {"FractionalMaxPool", fractionalPool<true>},
      {"FractionalAvgPool", fractionalPool<false>},
      {"AllCandidateSampler", allCandidates},
      {"UniformCandidateSampler", uniformCandidates},
      {"LogUniformCandidateSampler", logUniformCandidates},
      {"FixedUnigramCandidateSampler", unigramCandidates},
      {"ComputeAccidentalHits", accidentalHits},
  };
  return rows;
}
