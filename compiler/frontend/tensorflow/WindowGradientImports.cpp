//===- WindowGradientImports.cpp - gradients of dilation, padding, norms --===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Resampling.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "compiler/frontend/tensorflow/Windows.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// Dilation: the gradient goes to where each window's maximum came from
//===----------------------------------------------------------------------===//

/// Which element of its window each result took, i64 of [batch, height, width, channels].
static Value findMaxima(NodeImport &n, Value x, Value filter, const DilationSpec &spec) {
  // What lies outside never is the maximum: below all sums of integers, too.
  bool isReal = n.isFloat(x);
  Value wide = isReal ? x : n.toI64(x), weights = isReal ? filter : n.toI64(filter);
  Value outside = n.like(wide, isReal ? -INFINITY : -std::ldexp(1.0, 62));
  Value padded = padAtRunTime(n, wide, spec.windows, spec.border, outside);
  auto largest = [&](Value sums, int64_t dim) {
    return n.op<ArgReduceOp>(sums, n.flag(true), n.number(dim), n.flag(false), n.flag(false),
                             n.typeAttr(n.b.getI64Type()));
  };
  if (!spec.isUnrolled) {
    Value sums = n.add(dilatedWindows(n, padded, spec), weights);
    if (!sums)
      return {};
    Value taps = n.sizeProduct(sums, 3, 5);
    return largest(
        n.reshapeTo(sums, n.concat({n.shapeSlice(sums, 0, 3), taps, n.shapeSlice(sums, 5, 6)}, 0)),
        3);
  }
  SmallVector<Value> sums;
  for (int64_t h = 0; h < spec.window.known[0]; ++h)
    for (int64_t w = 0; w < spec.window.known[1]; ++w)
      sums.push_back(
          n.add(dilatedPart(n, padded, spec, h, w), n.pick(n.pick(weights, 0, h), 0, w)));
  return largest(n.stack(sums, 0), 0);
}

/// Adds `updates` up at flat indices of zeros in the shape of `like`.
static Value scatterInto(NodeImport &n, Value like, Value index, Value updates) {
  Value zeros = n.expandTo(n.like(updates, 0), n.sizeProduct(like, 0, n.rank(like)));
  Value flat =
      n.op<ScatterNdOp>(zeros, n.unsqueeze(n.reshape(index, {-1}), {1}), n.reshape(updates, {-1}),
                        n.text("add"), n.flag(false), n.flag(false));
  return n.reshapeTo(flat, n.shapeOf(like));
}

template <bool isFilter> static LogicalResult dilationGrad(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1), dy = n.in(2);
  if (!x || !filter || !dy)
    return failure();
  auto spec = readDilation(n, x, filter);
  Value which = spec ? findMaxima(n, x, filter, *spec) : Value();
  if (!which)
    return failure();
  Type i64 = n.b.getI64Type();
  auto ramp = [&](int64_t dim) {
    Value index = n.op<IotaOp>(n.sizeOf(which, dim), n.number(0), n.typeAttr(i64));
    return alongDim(n, index, dim, 4);
  };
  Value channels = n.sizeOf(x, 3), channel = ramp(3);
  if (isFilter) {
    Value index = n.add(n.mul(which, channels), channel);
    return n.result(scatterInto(n, filter, index, dy));
  }
  Value columns = spec->window.isOpen(1) ? n.toScalar(spec->window.computed[1])
                                         : n.intScalar(spec->window.known[1]);
  auto place = [&](Value within, int dim) {
    Value at = n.add(n.mul(ramp(1 + dim), static_cast<double>(spec->windows.strides[dim])),
                     n.mul(within, static_cast<double>(spec->windows.dilations[dim])));
    at = n.sub(at, spec->border.before[dim]);
    // Inside already, unless all of a window was -infinity.
    Value last = n.sub(n.sizeOf(x, 1 + dim), n.ints({1}));
    return n.minimum(n.maximum(at, 0.0), last);
  };
  Value row = place(n.div(which, columns), 0), column = place(n.op<RemOp>(which, columns), 1);
  Value line = n.add(n.mul(ramp(0), n.sizeOf(x, 1)), row);
  Value pixel = n.add(n.mul(line, n.sizeOf(x, 2)), column);
  return n.result(scatterInto(n, x, n.add(n.mul(pixel, channels), channel), dy));
}

//===----------------------------------------------------------------------===//
// Mirrored borders
//===----------------------------------------------------------------------===//

/// What a border mirrors is added to what it mirrors.
static LogicalResult mirrorPadGrad(NodeImport &n) {
  Value dy = n.in(0), pads = n.in(1);
  if (!dy || !pads)
    return failure();
  bool reflect = n.s("mode") == "REFLECT";
  if (failed(requireShape(n, pads, n.ints({n.rank(dy), 2}), "paddings")))
    return failure();
  pads = n.toI64(pads);
  require(n, n.compare("ge", pads, 0), "a padding is negative");
  for (int64_t dim = 0; dy && dim < n.rank(dy); ++dim) {
    Value both = n.reshape(n.slice(pads, 0, dim, dim + 1), {2});
    Value before = n.slice(both, 0, 0, 1), after = n.slice(both, 0, 1, 2);
    Value whole = n.sizeOf(dy, dim);
    Value size = n.sub(whole, n.add(before, after));
    require(n, n.compare("gt", size, 0), "nothing is left without the padding");
    require(n, n.compare(reflect ? "lt" : "le", n.maximum(before, after), size),
            "a padding is larger than what it mirrors");
    Value at = n.sub(n.op<IotaOp>(whole, n.number(0), n.typeAttr(n.b.getI64Type())), before);
    // Without the edge, or with it.
    Value low = n.sub(n.op<NegOp>(at), reflect ? 0.0 : 1.0);
    Value high = n.sub(n.sub(n.mul(size, 2.0), at), reflect ? 2.0 : 1.0);
    Value index =
        n.select(n.compare("lt", at, 0), low, n.select(n.compare("ge", at, size), high, at));
    dy = scatterAlong(n, dy, index, dim, size);
  }
  return n.result(dy);
}

//===----------------------------------------------------------------------===//
// Fractional pooling: windows between the entries of two sequences
//===----------------------------------------------------------------------===//

namespace {
/// First and last sample of each window along one side, i64.
struct Spans {
  Value first, last;
};
} // namespace

static Spans spansOf(NodeImport &n, Value sequence, Value size) {
  sequence = n.toI64(sequence);
  Value count = n.sub(n.sizeOf(sequence, 0), n.ints({1}));
  auto part = [&](Value begin, Value end) {
    return n.op<SliceOp>(sequence, begin, end, n.ints({1}), n.list({0}), n.flag(false));
  };
  Value first = part(n.ints({0}), count);
  Value last = part(n.ints({1}), n.add(count, n.ints({1})));
  if (!n.isSet("overlapping"))
    last = n.sub(last, 1.0);
  return {first, n.minimum(last, n.sub(size, n.ints({1})))};
}

/// [samples, windows]: whether a sample is in a window.
static Value membership(NodeImport &n, const Spans &spans, Value size) {
  Value sample = n.unsqueeze(n.op<IotaOp>(size, n.number(0), n.typeAttr(n.b.getI64Type())), {1});
  return n.op<AndOp>(n.compare("ge", sample, spans.first), n.compare("le", sample, spans.last));
}

/// Spread evenly over the windows, in f64.
static LogicalResult fractionalAvgPoolGrad(NodeImport &n) {
  Value shape = n.in(0), dy = n.in(1);
  if (!shape || !dy || !n.in(2) || !n.in(3))
    return failure();
  if (n.rank(dy) != 4)
    return n.invalid("expected rank 4, got " + Twine(n.rank(dy)));
  Type f64 = n.b.getF64Type();
  shape = n.toI64(shape);
  Value given = n.cast(dy, f64);
  for (int64_t dim = 1; dim < 3; ++dim) {
    Value size = n.slice(shape, 0, dim, dim + 1);
    Spans spans = spansOf(n, n.in(1 + dim), size);
    Value count = n.add(n.sub(spans.last, spans.first), 1.0);
    given = n.div(given, alongDim(n, n.cast(count, f64), dim, 4));
    Value matrix = n.cast(membership(n, spans, size), f64);
    given = applyMatrix(n, given, matrix, dim);
  }
  return n.result(n.cast(given, n.element(dy)));
}

/// To the first maximum of each window. A sample is in one window along a side,
/// or, where windows overlap, at most in two.
static LogicalResult fractionalMaxPoolGrad(NodeImport &n) {
  Value x = n.in(0), y = n.in(1), dy = n.in(2);
  if (!x || !y || !dy || !n.in(3) || !n.in(4))
    return failure();
  if (n.rank(x) != 4 || n.rank(y) != 4 || n.rank(dy) != 4)
    return n.invalid("found a tensor of a rank that is not 4");
  Type i64 = n.b.getI64Type();
  struct Choice {
    Value window; ///< of each sample
    Value isIn;   ///< whether it is in that one
  };
  auto choices = [&](int64_t dim) {
    Value size = n.sizeOf(x, dim);
    Spans spans = spansOf(n, n.in(2 + dim), size);
    Value isIn = n.cast(membership(n, spans, size), i64); // [samples, windows]
    Value count = n.reduce(isIn, "sum", {1}, false);
    Value index = n.op<IotaOp>(n.sizeOf(isIn, 1), n.number(0), n.typeAttr(i64));
    Value first = n.op<ArgReduceOp>(isIn, n.flag(true), n.number(1), n.flag(false), n.flag(false),
                                    n.typeAttr(i64));
    SmallVector<Choice, 2> list = {{first, n.compare("gt", count, 0)}};
    if (n.isSet("overlapping")) {
      Value last = n.reduce(n.mul(isIn, index), "max", {1}, false);
      list.push_back({last, n.compare("gt", count, 1)});
    }
    return list;
  };
  auto rows = choices(1), columns = choices(2);
  auto ramp = [&](int64_t dim) {
    Value index = n.op<IotaOp>(n.sizeOf(x, dim), n.number(0), n.typeAttr(i64));
    return alongDim(n, index, dim, 4);
  };
  Value position = n.add(n.mul(ramp(1), n.sizeOf(x, 2)), ramp(2));
  // Windows are flat indices into y; the first position of its maximum each.
  Value none = n.intScalar(int64_t(1) << 62);
  Value firsts = n.expandTo(none, n.sizeProduct(y, 0, 4));
  struct Pair {
    Value index, isIn;
  };
  SmallVector<Pair, 4> pairs;
  for (const Choice &row : rows)
    for (const Choice &column : columns) {
      Value line = n.add(n.mul(ramp(0), n.sizeOf(y, 1)), alongDim(n, row.window, 1, 4));
      Value pixel = n.add(n.mul(line, n.sizeOf(y, 2)), alongDim(n, column.window, 2, 4));
      Value index = n.add(n.mul(pixel, n.sizeOf(y, 3)), ramp(3));
      Value isIn = n.op<AndOp>(alongDim(n, row.isIn, 1, 4), alongDim(n, column.isIn, 2, 4));
      pairs.push_back({index, isIn});
    }
  Value flatY = n.reshape(y, {-1}), flatDy = n.reshape(dy, {-1});
  for (const Pair &pair : pairs) {
    Value isMax = n.op<AndOp>(pair.isIn, n.compare("eq", n.gather(flatY, pair.index, 0), x));
    Value update = n.select(isMax, position, none);
    firsts =
        n.op<ScatterNdOp>(firsts, n.unsqueeze(n.reshape(pair.index, {-1}), {1}),
                          n.reshape(update, {-1}), n.text("min"), n.flag(false), n.flag(false));
  }
  Value sum;
  for (const Pair &pair : pairs) {
    Value isFirst =
        n.op<AndOp>(pair.isIn, n.compare("eq", n.gather(firsts, pair.index, 0), position));
    Value part = n.select(isFirst, n.gather(flatDy, pair.index, 0), n.like(dy, 0));
    sum = sum ? n.add(sum, part) : part;
  }
  return n.result(sum);
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

/// dx = dy n^-β - 2αβ x Σ (dy y / n) over the neighbours, n = bias + α Σ x².
static LogicalResult lrnGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1), y = n.in(2);
  if (!dy || !x || !y)
    return failure();
  int64_t rank = n.rank(x), radius = n.i("depth_radius");
  if (radius != 0 && !n.isStep(radius))
    return n.invalid("expected depth_radius 0 to 2^31 - 1, got " + Twine(radius));
  if (failed(requireSame(n, dy, x, "the gradient and the image")) ||
      failed(requireSame(n, y, x, "the result and the image")))
    return failure();
  double alpha = n.f("alpha"), beta = n.f("beta");
  Type type = n.element(x);
  // Sums of neighbours along the channels, as a pool over one dimension.
  auto sums = [&](Value v) -> Value {
    Value lines = n.reshapeTo(
        v, n.concat({n.sizeProduct(v, 0, rank - 1), n.sizeOf(v, rank - 1), n.ints({1})}, 0));
    Value pooled = n.op<PoolOp>(lines, n.text("sum"), n.list({2 * radius + 1}), n.list({1}),
                                n.list({radius, radius}), n.list({1}), n.flag(false), n.flag(false),
                                n.number(0), n.flag(true));
    return n.reshapeTo(pooled, n.shapeOf(x));
  };
  Value wideX = n.widen(x), wideDy = n.widen(dy), wideY = n.widen(y);
  Value norm = n.add(n.mul(sums(n.mul(wideX, wideX)), alpha), n.f("bias"));
  Value own = n.mul(wideDy, n.op<PowOp>(norm, n.like(norm, -beta)));
  Value others = sums(n.div(n.mul(wideDy, wideY), norm));
  Value dx = n.sub(own, n.mul(n.mul(wideX, others), 2 * alpha * beta));
  return n.result(n.cast(dx, type));
}

static LogicalResult globalNormGrad(NodeImport &n) {
  Value x = n.in(0), mean = n.in(1), variance = n.in(2), gamma = n.in(3), dy = n.in(4);
  if (!x || !mean || !variance || !gamma || !dy)
    return failure();
  bool scales = n.isSet("scale_after_normalization");
  IntVector axes = axesFrom(0, n.rank(x) - 1);
  Value rstd = n.op<RsqrtOp>(n.add(variance, n.f("variance_epsilon")));
  Value factor = scales ? n.mul(rstd, gamma) : rstd;
  Value dOffset = n.reduce(dy, "sum", axes, false);
  Value moved = n.reduce(n.mul(dy, n.sub(x, mean)), "sum", axes, false);
  Value dGamma = scales ? n.mul(moved, rstd) : n.expandTo(n.like(gamma, 0), n.shapeOf(gamma));
  Value dMean = n.op<NegOp>(n.mul(dOffset, factor));
  Value cube = n.mul(n.mul(rstd, rstd), factor);
  Value dVariance = n.mul(n.mul(moved, cube), -0.5);
  return n.results({n.mul(dy, factor), dMean, dVariance, dOffset, dGamma});
}

ArrayRef<OpImport> weir::tf::windowGradientImports() {
  static const OpImport rows[] = {
      {"Dilation2DBackpropInput", dilationGrad<false>},
      {"Dilation2DBackpropFilter", dilationGrad<true>},
      {"MirrorPadGrad", mirrorPadGrad},
      {"FractionalAvgPoolGrad", fractionalAvgPoolGrad},
      {"FractionalMaxPoolGrad", fractionalMaxPoolGrad},
      {"LRNGrad", lrnGrad},
      {"BatchNormWithGlobalNormalizationGrad", globalNormGrad},
  };
  return rows;
}
