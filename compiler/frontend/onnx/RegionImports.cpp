//===- RegionImports.cpp - regions of images ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// Where a region is sampled is a constant, of so many elements at most.
constexpr int64_t mostBins = 1 << 24;

/// What bins read along one dimension of an image: two neighbours of each sample.
struct RegionTaps {
  Value places;  ///< [regions, bins, taps], whole numbers of i64
  Value weights; ///< the same of floats; 0 where nothing is read
};

/// RoiAlign (He et al., "Mask R-CNN", 2017): bins are means, or largest ones, of samples between
/// pixels. All samples of a bin, with the pixels that each lies between, are one sum over lines of
/// channels, so that no image is copied for a region.
class RegionSampler {
public:
  RegionSampler(NodeImport &n, Type type)
      : n(n), type(type), samples(n.i("sampling_ratio")), average(n.s("mode") != "max"),
        half(n.version >= 16 && n.s("coordinate_transformation_mode") != "output_half_pixel"),
        scale(n.f("spatial_scale")) {}

  /// Taps of `bins` bins between two edges of the regions, in an image of `size` (a scalar).
  RegionTaps taps(Value rois, int64_t low, int64_t high, int64_t bins, Value size);
  /// How many samples bins have, at least 1, as a float a region; after taps of both dimensions.
  Value count() { return counts; }
  bool isAverage() const { return average; }

private:
  Value edge(Value rois, int64_t i) {
    Value v = n.mul(n.pick(rois, 1, i), scale);
    return half ? n.sub(v, 0.5) : v;
  }
  /// Samples' places in pixels, [regions, bins, samples], and the share of each that counts.
  std::pair<Value, Value> sampled(Value from, Value extent, int64_t bins);

  NodeImport &n;
  Type type;
  int64_t samples;
  bool average, half;
  double scale;
  Value counts;
};

std::pair<Value, Value> RegionSampler::sampled(Value from, Value extent, int64_t bins) {
  Value start = n.unsqueeze(from, {1, 2});
  if (samples > 0) {
    SmallVector<double> offsets;
    for (int64_t i = 0; i < bins * samples; ++i)
      offsets.push_back((i + 0.5) / (bins * samples));
    Value steps = n.reshape(n.floats(offsets, type), {bins, samples});
    Value number = n.like(extent, double(samples));
    counts = counts ? n.mul(counts, number) : number;
    return {n.add(start, n.mul(n.unsqueeze(extent, {1, 2}), steps)), n.scalar(type, 1)};
  }
  // As many as a bin has pixels, begun ones included; regions have their own number, and taps for
  // the largest of them.
  Value bin = n.div(extent, double(bins)), number = n.op<CeilOp>(bin);
  Value most = n.maximum(n.reduce(number, "max", {0}, false), 1.0);
  Value sample =
      n.op<IotaOp>(n.reshape(n.cast(most, n.b.getI64Type()), {1}), n.number(0), n.typeAttr(type));
  Value wanted = n.unsqueeze(number, {1, 2}), some = n.maximum(number, 1.0);
  // The last sample again is as large as it was.
  Value counted = average ? n.compare("lt", sample, wanted) : n.compare("gt", wanted, 0.0);
  Value at = n.minimum(sample, n.sub(n.unsqueeze(some, {1, 2}), 1.0));
  SmallVector<double> numbers;
  for (int64_t i = 0; i < bins; ++i)
    numbers.push_back(double(i));
  Value first = n.reshape(n.floats(numbers, type), {bins, 1});
  Value within = n.div(n.add(at, 0.5), n.unsqueeze(some, {1, 2}));
  counts = counts ? n.maximum(n.mul(counts, number), 1.0) : number;
  return {n.add(start, n.mul(n.unsqueeze(bin, {1, 2}), n.add(first, within))),
          n.cast(counted, type)};
}

RegionTaps RegionSampler::taps(Value rois, int64_t low, int64_t high, int64_t bins, Value size) {
  Value from = edge(rois, low), extent = n.sub(edge(rois, high), from);
  if (!half)
    extent = n.maximum(extent, 1.0);
  auto [at, counted] = sampled(from, extent, bins);
  Value count = n.cast(size, type), last = n.sub(size, 1.0);
  // Within one pixel outside an image is as its edge, and nothing beyond.
  Value inside = n.op<AndOp>(n.compare("ge", at, -1.0), n.compare("le", at, count));
  Value kept = n.maximum(n.minimum(at, n.sub(count, 1.0)), 0.0);
  Value floor = n.op<FloorOp>(kept), upper = n.sub(kept, floor);
  Value share = n.mul(n.cast(inside, type), counted);
  Value place = n.cast(floor, n.b.getI64Type());
  auto both = [&](Value lower, Value higher) -> Value {
    Value pair = n.concat({n.unsqueeze(lower, {3}), n.unsqueeze(higher, {3})}, 3);
    // There may be no region: no size can be left to be found from the others.
    Value each = samples > 0 ? n.ints({2 * samples}) : n.mul(n.sizeOf(lower, 2), 2.0);
    return n.reshapeTo(pair, n.concat({n.sizeOf(rois, 0), n.ints({bins}), each}, 0));
  };
  // An image's last pixel has no neighbour: the pixel stands for it.
  auto bounded = [&](Value v) { return n.maximum(n.minimum(v, last), 0.0); };
  return {both(bounded(place), bounded(n.add(place, 1.0))),
          both(n.mul(n.sub(n.like(upper, 1), upper), share), n.mul(upper, share))};
}

/// Negative numbers are no images, from the end or not.
void requireImages(NodeImport &n, Value numbers, Value images) {
  Value wide = n.cast(numbers, n.b.getI64Type());
  Value there = n.op<AndOp>(n.compare("ge", wide, 0.0),
                            n.compare("lt", wide, n.toScalar(n.sizeOf(images, 0))));
  n.require(n.reduce(there, "all", {0}, false), "a region is of an image that is not there");
}

LogicalResult roiAlign(NodeImport &n) {
  Value x = n.in(0), rois = n.in(1), batches = n.in(2);
  if (!x || !rois || !batches)
    return failure();
  Type given = n.element(x), i64 = n.b.getI64Type();
  x = n.widen(x), rois = n.widen(rois); // a coordinate is a sum that halves round
  int64_t height = n.i("output_height"), width = n.i("output_width");
  int64_t samples = std::max<int64_t>(n.i("sampling_ratio"), 1);
  std::optional<int64_t> places = frontend::productOf({std::max(height, width), samples});
  if (height < 1 || width < 1 || !places || *places > mostBins)
    return n.unsupported("found more than 2^24 samples along a region, or no "
                         "output size");
  if (n.rank(x) != 4 || n.rank(rois) != 2 || n.rank(batches) != 1)
    return n.invalid("found images that are not of rank 4, regions that are not of rank 2, or "
                     "numbers of images that are not of rank 1");
  if (!n.hasSize(rois, 1, 4, "regions") ||
      !n.isAsLarge(batches, 0, rois, 0, "regions and their numbers of images"))
    return failure();
  requireImages(n, batches, x);
  // With fixed sizes, too, for which zeros would be given.
  Value isThere = n.op<OrOp>(n.compare("ne", n.sizeProduct(x, 2, 4), 0.0),
                             n.compare("eq", n.sizeOf(rois, 0), 0.0));
  n.require(n.toScalar(isThere), "a region is of images without pixels");
  auto images = cast<RankedTensorType>(x.getType());
  if (images.getDimSize(2) == 0 || images.getDimSize(3) == 0) { // there is nothing to read
    Value sizes = n.concat({n.sizeOf(rois, 0), n.sizeOf(x, 1), n.ints({height, width})}, 0);
    return n.result(n.cast(n.expandTo(n.scalar(n.element(x), 0), sizes), given));
  }
  RegionSampler sampler(n, n.element(x));
  Value rows = n.toScalar(n.sizeOf(x, 2)), columns = n.toScalar(n.sizeOf(x, 3));
  RegionTaps down = sampler.taps(rois, 1, 3, height, rows),
             along = sampler.taps(rois, 0, 2, width, columns);
  // Pixels of all images are lines of channels.
  Value count = n.mul(n.mul(n.sizeOf(x, 0), n.sizeOf(x, 2)), n.sizeOf(x, 3));
  Value pixels = n.reshapeTo(n.transpose(x, {0, 2, 3, 1}), n.concat({count, n.sizeOf(x, 1)}, 0));
  Value image = n.mul(n.unsqueeze(n.cast(batches, i64), {1, 2}), rows);
  Value line = n.mul(n.add(image, down.places), columns);
  // [regions, height, width, taps down, taps along]
  Value places2d = n.add(n.unsqueeze(line, {2, 4}), n.unsqueeze(along.places, {1, 3}));
  Value weights = n.mul(n.unsqueeze(down.weights, {2, 4}), n.unsqueeze(along.weights, {1, 3}));
  Value terms = n.mul(n.gather(pixels, places2d, 0), n.unsqueeze(weights, {5}));
  Value bins = n.reduce(terms, sampler.isAverage() ? "sum" : "max", {3, 4}, false);
  if (sampler.isAverage()) {
    Value count = sampler.count();
    bins = n.div(bins, n.rank(count) ? n.unsqueeze(count, {1, 2, 3}) : count);
  }
  return n.result(n.cast(n.transpose(bins, {0, 3, 1, 2}), given));
}

/// The largest sample of each bin of a region, 0 of an empty one. Bins have whole
/// bounds (Girshick, "Fast R-CNN", 2015): first and last sample of a region are
/// rounded, and bins overlap where its size does not divide.
LogicalResult maxRoiPool(NodeImport &n) {
  Value x = n.in(0), rois = n.in(1);
  std::optional<SmallVector<int64_t>> bins = n.is("pooled_shape");
  if (!x || !rois)
    return failure();
  if (n.rank(x) != 4 || n.rank(rois) != 2 || !bins || bins->size() != 2 || (*bins)[0] < 1 ||
      (*bins)[1] < 1 || (*bins)[0] > mostBins || (*bins)[1] > mostBins)
    return n.invalid("found images that are not of rank 4, regions that are not "
                     "of rank 2, or no pooled_shape of two, up to 2^24");
  if (!n.hasSize(rois, 1, 5, "regions"))
    return failure();
  requireImages(n, n.pick(rois, 1, 0), x);
  double scale = n.f("spatial_scale");
  rois = n.widen(rois);
  auto edge = [&](int64_t i) { // halves away from zero; regions lie in the image
    return n.op<FloorOp>(n.add(n.mul(n.pick(rois, 1, i), scale), 0.5));
  };
  // Which samples of dimension `axis` each bin has: [regions, bins, samples].
  auto inside = [&](Value from, Value to, int64_t count, int64_t axis) {
    Value extent = n.maximum(n.add(n.sub(to, from), 1.0), 1.0);
    Value step = n.unsqueeze(n.div(extent, double(count)), {1});
    SmallVector<double> numbers;
    for (int64_t i = 0; i <= count; ++i)
      numbers.push_back(double(i));
    Value all = n.floats(numbers, n.element(rois));
    auto bound = [&](Value v) { return n.unsqueeze(n.add(v, n.unsqueeze(from, {1})), {2}); };
    Value begin = bound(n.op<FloorOp>(n.mul(step, n.slice(all, 0, 0, count))));
    Value end = bound(n.op<CeilOp>(n.mul(step, n.slice(all, 0, 1, count + 1))));
    Value place = n.op<IotaOp>(n.sizeOf(x, axis), n.number(0), n.typeAttr(n.element(rois)));
    return n.op<AndOp>(n.compare("ge", place, begin), n.compare("lt", place, end));
  };
  Value rows = inside(edge(2), edge(4), (*bins)[0], 2);
  Value columns = inside(edge(1), edge(3), (*bins)[1], 3);
  Value images = n.gather(x, n.cast(n.pick(rois, 1, 0), n.b.getI64Type()), 0);
  Value none = n.like(x, -std::numeric_limits<double>::infinity());
  // Columns first: [regions, channels, height, bins], then rows.
  Value best = n.reduce(n.select(n.unsqueeze(columns, {1, 2}), n.unsqueeze(images, {3}), none),
                        "max", {4}, false);
  best = n.reduce(n.select(n.unsqueeze(rows, {1, 4}), n.unsqueeze(best, {2}), none), "max", {3},
                  false);
  return n.result(n.select(n.compare("eq", best, none), n.like(x, 0), best));
}

constexpr OperatorImport table[] = {
    {"", "MaxRoiPool", 1, 0, maxRoiPool},
    {"", "RoiAlign", 10, 0, roiAlign},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::regionImports() { return table; }
