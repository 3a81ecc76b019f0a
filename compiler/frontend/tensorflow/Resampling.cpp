//===- Resampling.cpp - how one side of an image is resized ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Resampling.h"
#include "compiler/frontend/lowering/CubicConvolution.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

LogicalResult weir::tf::checkCorners(NodeImport &n) {
  if (n.isSet("align_corners") && n.isSet("half_pixel_centers"))
    return n.invalid("expected align_corners or half_pixel_centers, got both");
  return success();
}

Side weir::tf::sideOf(NodeImport &n, Value x, Value sizes, int64_t dim) {
  return {n.sizeOf(x, dim), n.toI64(n.slice(sizes, 0, dim - 1, dim)), n.isSet("align_corners"),
          n.isSet("half_pixel_centers")};
}

double weir::tf::stepOf(int64_t from, int64_t to, bool alignCorners) {
  return alignCorners && from > 1 && to > 1
             ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
             : static_cast<float>(from) / static_cast<float>(to);
}

Value weir::tf::stepOf(NodeImport &n, const Side &side) {
  Type f32 = n.b.getF32Type();
  Value scale = n.div(n.cast(side.from, f32), n.cast(side.to, f32));
  if (!side.alignCorners)
    return scale;
  Value steps = n.sub(side.to, n.ints({1})), last = n.sub(side.from, n.ints({1}));
  Value corners = n.div(n.cast(last, f32), n.cast(n.maximum(steps, 1.0), f32));
  // One sample has no two corners that could be aligned.
  return n.select(n.compare("gt", n.minimum(steps, last), 0), corners, scale);
}

static Value positions(NodeImport &n, const Side &side) {
  return n.op<IotaOp>(side.to, n.number(0), n.typeAttr(n.b.getF32Type()));
}

/// Where each sample of the result lies among the operand's, f32.
static Value places(NodeImport &n, const Side &side) {
  Value at = positions(n, side), scale = stepOf(n, side);
  return side.halfPixelCenters ? n.sub(n.mul(n.add(at, 0.5), scale), 0.5) : n.mul(at, scale);
}

static Value lastOf(NodeImport &n, const Side &side) { return n.sub(side.from, n.ints({1})); }

Between weir::tf::neighbours(NodeImport &n, const Side &side) {
  Value at = places(n, side), floor = n.op<FloorOp>(at);
  Value upper = n.minimum(n.toI64(n.op<CeilOp>(at)), lastOf(n, side));
  Value lower = n.minimum(n.maximum(n.toI64(floor), 0.0), upper);
  return {lower, upper, n.sub(at, floor)};
}

Value weir::tf::nearestIndex(NodeImport &n, const Side &side) {
  Value at = positions(n, side), scale = stepOf(n, side);
  at = n.mul(side.halfPixelCenters ? n.add(at, 0.5) : at, scale);
  at = side.alignCorners ? n.op<RoundOp>(at) : n.op<FloorOp>(at);
  return n.minimum(n.maximum(n.toI64(at), 0.0), lastOf(n, side));
}

Taps weir::tf::cubicTaps(NodeImport &n, const Side &side) {
  double a = side.halfPixelCenters ? -0.5 : -0.75;
  Value at = places(n, side), base = n.op<FloorOp>(at);
  Value steps = n.op<RoundEvenOp>(n.mul(n.sub(at, base), 1024.0));
  // The kernel in f64, its values in f32.
  Value t = n.div(n.cast(steps, n.b.getF64Type()), 1024.0);
  std::array<Value, 4> weights = frontend::cubicWeights(n, t, a);
  Taps taps;
  Value sum;
  for (int k = 0; k < 4; ++k) {
    weights[k] = n.cast(weights[k], n.b.getF32Type());
    Value index = n.add(n.toI64(base), static_cast<double>(k - 1));
    Value inside = n.minimum(n.maximum(index, 0.0), lastOf(n, side));
    if (side.halfPixelCenters)
      weights[k] = n.select(n.compare("eq", index, inside), weights[k], n.like(weights[k], 0));
    sum = k ? n.add(sum, weights[k]) : weights[k];
    taps.push_back({inside, weights[k]});
  }
  if (side.halfPixelCenters) {
    double least = 1000.0 * std::numeric_limits<float>::min();
    Value some = n.compare("ge", n.op<AbsOp>(sum), least);
    for (Tap &tap : taps)
      tap.weight = n.select(some, n.mul(tap.weight, n.div(n.like(sum, 1), sum)), tap.weight);
  }
  return taps;
}

Value weir::tf::meanOfAreas(NodeImport &n, Value x, const Side &side, int64_t dim) {
  if (!x)
    return {};
  Type f32 = n.b.getF32Type();
  Value scale = stepOf(n, side), at = positions(n, side);
  Value low = n.unsqueeze(n.mul(at, scale), {1});
  Value high = n.unsqueeze(n.mul(n.add(at, 1.0), scale), {1});
  // So many samples does an area touch at most, wherever it begins: [result, touched].
  Value touched = n.toI64(n.add(n.op<FloorOp>(scale), 2.0));
  Value first = n.op<FloorOp>(low);
  Value sample = n.add(first, n.op<IotaOp>(touched, n.number(0), n.typeAttr(f32)));
  // What lies behind the last sample counts as it.
  Value last = n.cast(lastOf(n, side), f32);
  Value upper = n.select(n.compare("eq", sample, last), high, n.minimum(high, n.add(sample, 1.0)));
  Value covered = n.sub(upper, n.maximum(low, sample));
  covered = n.select(n.compare("le", sample, last), n.maximum(covered, 0.0), n.like(covered, 0));
  // A sample outside of the area has no part in it, not even an infinite one.
  IntVector trailing = axesFrom(2, n.rank(x) + 1 - dim);
  Value share = n.unsqueeze(n.div(covered, scale), trailing);
  Value parts = n.gather(x, n.toI64(n.minimum(sample, last)), dim);
  Value weighted = n.select(n.compare("gt", share, 0), n.mul(parts, share), n.like(share, 0));
  return n.reduce(weighted, "sum", {dim + 1}, false);
}

Value weir::tf::alongDim(NodeImport &n, Value v, int64_t dim, int64_t rank) {
  return n.unsqueeze(v, axesFrom(1, rank - dim));
}

Value weir::tf::applyTaps(NodeImport &n, Value x, const Taps &taps, int64_t dim) {
  if (!x)
    return {};
  Value sum;
  for (const Tap &tap : taps) {
    Value weight = alongDim(n, n.cast(tap.weight, n.element(x)), dim, n.rank(x));
    Value term = n.mul(n.gather(x, tap.index, dim), weight);
    sum = sum ? n.add(sum, term) : term;
  }
  return sum;
}

Value weir::tf::scatterAlong(NodeImport &n, Value v, Value index, int64_t dim, Value size) {
  if (!v || !index || !size)
    return {};
  int64_t rank = n.rank(v);
  Value outer = n.sizeProduct(v, 0, dim), inner = n.sizeProduct(v, dim + 1, rank);
  Value count = n.mul(outer, n.sizeOf(v, dim));
  Value first = n.mul(n.op<IotaOp>(outer, n.number(0), n.typeAttr(n.b.getI64Type())), size);
  Value rows = n.add(n.unsqueeze(first, {1}), index);
  Value zeros = n.expandTo(n.like(v, 0), n.concat({n.mul(outer, size), inner}, 0));
  Value sums = n.op<ScatterNdOp>(zeros, n.reshapeTo(rows, n.concat({count, n.ints({1})}, 0)),
                                 n.reshapeTo(v, n.concat({count, inner}, 0)), n.text("add"),
                                 n.flag(false), n.flag(false));
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < rank; ++i)
    sizes.push_back(i == dim ? size : n.sizeOf(v, i));
  return n.reshapeTo(sums, n.concat(sizes, 0));
}

Value weir::tf::applyMatrix(NodeImport &n, Value x, Value matrix, int64_t dim, bool transposed) {
  if (!x || !matrix)
    return {};
  Value mixed =
      n.op<DotGeneralOp>(x, matrix, n.list({}), n.list({}), n.list({dim}),
                         n.list({transposed ? int64_t(0) : int64_t(1)}), n.typeAttr(n.element(x)));
  // The new dimension is last; it belongs to `dim`.
  IntVector order = axesFrom(0, n.rank(x) - 1);
  order.insert(order.begin() + dim, n.rank(x) - 1);
  return n.transpose(mixed, order);
}
