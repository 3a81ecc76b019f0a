//===- SelectionGradients.cpp - of segments, scatters and chosen elements -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As tensorflow/python/ops/{math,array,nn}_grad.py define them: equal extremes
// share what comes back, and products with zeros among their factors have a
// gradient.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RegisteredGradients.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

using Gradients = SmallVector<Value>;

/// The table's rows at `ids`; zeros at negative ones.
static Value rowsAt(NodeImport &n, Value table, Value ids) {
  Value rows = n.gather(table, n.maximum(ids, 0.0), 0);
  if (!rows)
    return {};
  Value isSome = n.unsqueeze(n.compare("ge", ids, 0), axesFrom(n.rank(ids), n.rank(rows)));
  return n.select(isSome, rows, n.like(rows, 0));
}

/// What `SegmentSum`, `UnsortedSegmentSum` … make of other values, for a node
/// of the same family.
static Value perSegment(const Differentiated &d, StringRef what, Value values) {
  Gradients inputs(d.x);
  inputs[0] = values;
  bool isUnsorted = StringRef(d.n.node.op).starts_with("Unsorted");
  return d.call(((isUnsorted ? "UnsortedSegment" : "Segment") + what).str(), inputs);
}

/// Equal extremes of a segment share.
static Gradients segmentExtremeGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], ids = d.x[1];
  Value isChosen = n.compare("eq", x, rowsAt(n, d.y[0], ids));
  Value count = perSegment(d, "Sum", n.cast(isChosen, n.element(x)));
  Value each = rowsAt(n, n.div(d.dy[0], count), ids);
  return {n.select(isChosen, each, n.like(x, 0))};
}

/// The product of the others: without a division where an element is zero.
static Gradients segmentProductGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], ids = d.x[1];
  if (!isa<FloatType>(n.element(x)))
    return {};
  Value isZero = n.compare("eq", x, 0);
  Value zeros = perSegment(d, "Sum", n.cast(isZero, n.b.getI32Type()));
  Value dy = n.select(n.compare("gt", zeros, 1), n.like(d.dy[0], 0), d.dy[0]);
  Value others = n.select(isZero, n.like(x, 1), x);
  Value partial = n.select(isZero, rowsAt(n, perSegment(d, "Prod", others), ids),
                           n.div(rowsAt(n, d.y[0], ids), others));
  return {n.mul(rowsAt(n, dy, ids), partial)};
}

/// What was there and what was scattered share where they are equal.
static Gradients scatterExtremeGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], indices = d.x[1], updates = d.x[2], y = d.y[0], dy = d.dy[0];
  Type type = n.element(dy);
  Value isOfX = n.cast(n.compare("eq", x, y), type);
  Value isOfUpdate = n.cast(n.compare("eq", updates, d.call("GatherNd", {y, indices})), type);
  Value shape = n.cast(n.shapeOf(x), n.element(indices));
  Value count = n.add(isOfX, d.call("ScatterNd", {indices, isOfUpdate, shape}));
  Value each = d.call("GatherNd", {n.div(dy, count), indices});
  return {n.div(n.mul(dy, isOfX), count), Value(), n.mul(each, isOfUpdate)};
}

/// All elements that are as the n-th share.
static Gradients nthElementGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0];
  int64_t last = n.rank(x) - 1;
  auto spread = [&](Value v) { return n.unsqueeze(v, {last}); };
  Value isChosen = n.cast(n.compare("eq", spread(d.y[0]), x), n.element(d.dy[0]));
  Value count = n.reduce(isChosen, "sum", {last}, /*keepDims=*/true);
  return {n.mul(n.div(isChosen, count), spread(d.dy[0]))};
}

/// Each element of a block has the mean of what comes back to the block.
static Gradients isotonicGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value dy = d.dy[0], segments = n.toI64(d.y[1]);
  int64_t last = n.rank(dy) - 1;
  // Blocks are counted in each row anew.
  Value width = n.sizeOf(dy, last), rows = n.sizeProduct(dy, 0, last);
  Value row = n.unsqueeze(n.op<IotaOp>(rows, n.number(0), n.typeAttr(n.b.getI64Type())), {1});
  Value ids =
      n.add(n.reshapeTo(segments, n.concat({rows, width}, 0)), n.mul(row, n.toScalar(width)));
  ids = n.reshape(ids, {-1});
  Value flat = n.reshape(dy, {-1}), count = n.toScalar(n.sizeOf(flat, 0));
  auto sum = [&](Value v) { return d.call("UnsortedSegmentSum", {v, ids, count}); };
  Value ones = n.expandTo(n.like(flat, 1), n.shapeOf(flat));
  Value mean = n.div(sum(flat), n.maximum(sum(ones), 1.0));
  return {n.cast(n.reshapeTo(n.gather(mean, ids, 0), n.shapeOf(dy)), n.element(d.x[0]))};
}

ArrayRef<GradientRow> weir::tf::selectionGradients() {
  static const GradientRow rows[] = {
      {"SegmentMin", segmentExtremeGradient},
      {"SegmentMax", segmentExtremeGradient},
      {"SegmentProd", segmentProductGradient},
      {"UnsortedSegmentMin", segmentExtremeGradient},
      {"UnsortedSegmentMax", segmentExtremeGradient},
      {"UnsortedSegmentProd", segmentProductGradient},
      {"TensorScatterMin", scatterExtremeGradient},
      {"TensorScatterMax", scatterExtremeGradient},
      {"NthElement", nthElementGradient},
      {"IsotonicRegression", isotonicGradient},
  };
  return rows;
}
