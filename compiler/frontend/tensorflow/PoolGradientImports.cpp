//===- PoolGradientImports.cpp - gradients of pooling and resizing --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Sparse.h"
#include "compiler/frontend/tensorflow/Windows.h"
#include "passes/gradient/PoolGradients.h"

#include <algorithm>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Where each window's maximum lies in the flattened input.
static Value maxima(NodeImport &n, Value x, const PoolSpec &spec) {
  return n.op<MaxPoolIndexOp>(x, n.list(spec.window), n.list(spec.windows.strides),
                              n.list(spec.pads), n.list(spec.windows.dilations), n.flag(false),
                              n.flag(spec.windows.channelsLast), n.flag(false), n.flag(false),
                              n.typeAttr(n.b.getI64Type()));
}

/// `updates` added up at flat `indices` of zeros in the shape of `like`.
static Value scatterFlat(NodeImport &n, Value like, Value indices, Value updates) {
  if (!indices || !updates || !like)
    return {};
  Value count = n.sizeProduct(like, 0, n.rank(like));
  Value zeros = n.expandTo(n.like(updates, 0), count);
  Value flat =
      n.op<ScatterNdOp>(zeros, n.unsqueeze(n.reshape(indices, {-1}), {1}), n.reshape(updates, {-1}),
                        n.text("add"), n.flag(false), n.flag(false));
  return n.reshapeTo(flat, n.shapeOf(like));
}

//===----------------------------------------------------------------------===//
// Windows that the program computes
//===----------------------------------------------------------------------===//

namespace {
/// Windows along a spatial dimension, whose elements are picked one by one.
struct WindowsAlong {
  Value size, window; ///< of the dimension and of a window, tensor<1xi64>
  Value first;        ///< each window's first place, which may lie in the border, [windows]
  Value places;       ///< of all elements, those in the border moved inside, [windows, elements]
  Value inside;       ///< which of them lie inside
};
struct ComputedWindows {
  bool channelsLast;
  Value x; ///< N C H W
  WindowsAlong rows, columns;
};
} // namespace

bool weir::tf::hasComputedWindows(NodeImport &n, size_t first) {
  return n.in(first) && n.in(first + 1) && !(n.knownInts(first) && n.knownInts(first + 1));
}

static Value clampedTo(NodeImport &n, Value place, Value size) {
  return n.maximum(n.minimum(place, n.sub(size, 1.0)), 0.0);
}

static WindowsAlong windowsAlong(NodeImport &n, Value size, Value window, Value step, bool same) {
  auto counted = [&](Value count) {
    return n.op<IotaOp>(count, n.number(0), n.typeAttr(n.b.getI64Type()));
  };
  Value room = same ? n.sub(n.add(size, step), 1.0) : n.add(n.sub(size, window), step);
  if (!same)
    require(n, n.compare("gt", room, n.op<NegOp>(step)), "a window is larger than the image");
  Value count = n.maximum(n.div(room, step), 0.0), before = n.ints({0});
  if (same) {
    Value reach = n.add(n.mul(n.sub(count, 1.0), step), window);
    before = n.div(n.maximum(n.sub(reach, size), 0.0), 2.0);
  }
  WindowsAlong along{size, window, n.sub(n.mul(counted(count), step), before), {}, {}};
  Value all = n.add(n.unsqueeze(along.first, {1}), counted(window));
  along.inside = n.op<AndOp>(n.compare("ge", all, 0), n.compare("lt", all, size));
  along.places = clampedTo(n, all, size);
  return along;
}

/// Those over input 0, whose sizes are input `first`, and the next one the steps.
static std::optional<ComputedWindows> computedWindows(NodeImport &n, size_t first) {
  Value x = n.in(0);
  auto windows = readWindows(n, 2);
  if (!n.hasRank(x, 4) || !windows)
    return std::nullopt;
  Value given[2];
  for (size_t i = 0; i < 2; ++i) {
    given[i] = n.toI64(n.in(first + i));
    if (!n.hasRank(given[i], 1) || failed(requireShape(n, given[i], n.ints({4}), "windows")))
      return std::nullopt;
    given[i] = n.reshape(given[i], {4});
    require(n, n.compare("ge", given[i], 1), "a window's size or step is not above 0");
    for (int64_t dim : {int64_t(0), windows->channelDim()})
      require(n, n.compare("eq", n.slice(given[i], 0, dim, dim + 1), 1),
              "windows over images and channels are not supported");
  }
  auto along = [&](int64_t i) {
    int64_t dim = windows->dim(i);
    return windowsAlong(n, n.sizeOf(x, dim), n.slice(given[0], 0, dim, dim + 1),
                        n.slice(given[1], 0, dim, dim + 1), windows->padding == Windows::Same);
  };
  ComputedWindows made{windows->channelsLast, {}, along(0), along(1)};
  made.x = made.channelsLast ? n.transpose(x, {0, 3, 1, 2}) : x;
  return made;
}

static Value inGivenOrder(NodeImport &n, const ComputedWindows &w, Value v) {
  return w.channelsLast ? n.transpose(v, {0, 2, 3, 1}) : v;
}

LogicalResult weir::tf::maxPoolOfComputedWindows(NodeImport &n) {
  auto w = computedWindows(n, 1);
  if (!w)
    return failure();
  Value v = w->x, lowest = extremeValue(n, n.element(v), true, true);
  for (auto &[along, dim] : {std::pair(w->rows, 2), std::pair(w->columns, 3)}) {
    Value inside = n.unsqueeze(along.inside, dim == 2 ? IntVector{2} : IntVector());
    v = n.select(inside, n.gather(v, along.places, dim), lowest);
    v = n.reduce(v, "max", {dim + 1}, false);
  }
  return n.result(inGivenOrder(n, *w, v));
}

/// Where each window's maximum lies among all elements of x.
static Value maximaOf(NodeImport &n, const ComputedWindows &w) {
  Value elements = n.gather(n.gather(w.x, w.rows.places, 2), w.columns.places, 4);
  elements = n.transpose(elements, {0, 1, 2, 4, 3, 5});
  Value inside =
      n.op<AndOp>(n.unsqueeze(w.rows.inside, {1, 3}), n.unsqueeze(w.columns.inside, {0, 2}));
  elements = n.select(inside, elements, extremeValue(n, n.element(w.x), true, true));
  if (!elements)
    return {};
  Value shape = n.concat({n.shapeSlice(elements, 0, 4), n.mul(w.rows.window, w.columns.window)}, 0);
  Value index = n.op<ArgReduceOp>(n.reshapeTo(elements, shape), n.flag(true), n.number(4),
                                  n.flag(false), n.flag(false), n.typeAttr(n.b.getI64Type()));
  Value across = n.toScalar(w.columns.window), down = n.div(index, across);
  // A border's element is the largest only of those that are all the lowest number.
  Value row = clampedTo(n, n.add(n.unsqueeze(w.rows.first, {1}), down), n.toScalar(w.rows.size));
  Value column = n.add(w.columns.first, n.sub(index, n.mul(down, across)));
  column = clampedTo(n, column, n.toScalar(w.columns.size));
  Value image = n.op<IotaOp>(n.sizeProduct(w.x, 0, 2), n.number(0), n.typeAttr(n.b.getI64Type()));
  image = n.unsqueeze(n.reshapeTo(image, n.shapeSlice(w.x, 0, 2)), {2, 3});
  row = n.add(n.mul(image, n.toScalar(w.rows.size)), row);
  return n.add(n.mul(row, n.toScalar(w.columns.size)), column);
}

/// The gradient of maxima of computed windows (`isSecond`: of that).
static LogicalResult maxPoolGradOfComputedWindows(NodeImport &n, bool isSecond) {
  auto w = computedWindows(n, 3);
  Value given = n.in(2);
  if (!w || !n.hasRank(given, 4))
    return failure();
  Value places = maximaOf(n, *w);
  if (w->channelsLast)
    given = n.transpose(given, {0, 3, 1, 2});
  if (failed(requireShape(n, given, n.shapeOf(isSecond ? w->x : places), "the gradient")))
    return failure();
  Value made =
      isSecond ? n.gather(n.reshape(given, {-1}), places, 0) : scatterFlat(n, w->x, places, given);
  return n.result(inGivenOrder(n, *w, made));
}

/// The gradient goes to each window's maximum.
template <int64_t spatial> static LogicalResult maxPoolGrad(NodeImport &n) {
  if (n.node.op == "MaxPoolGradV2" && hasComputedWindows(n, 3))
    return maxPoolGradOfComputedWindows(n, /*isSecond=*/false);
  Value x = n.in(0), dy = n.in(2);
  if (!dy)
    return failure();
  auto spec = readPool(n, x, spatial);
  if (!spec)
    return failure();
  Value all = bordered(n, x, *spec, extremeValue(n, n.element(x), true, true));
  gradient::Adjoint a(n.b, n.loc);
  Value dx = gradient::maxPoolGradient(a, all, dy,
                                       {spec->window, spec->windows.strides, spec->pads,
                                        spec->windows.dilations, /*ceilMode=*/false,
                                        spec->windows.channelsLast});
  if (spec->border)
    dx = cropAtRunTime(n, dx, spec->windows, *spec->border, spatialSizesOf(n, spec->windows, x));
  return n.result(dx);
}

/// The gradient of that: of each window's maximum.
template <int64_t spatial> static LogicalResult maxPoolGradGrad(NodeImport &n) {
  if (n.node.op == "MaxPoolGradGradV2" && hasComputedWindows(n, 3))
    return maxPoolGradOfComputedWindows(n, /*isSecond=*/true);
  Value x = n.in(0), ddx = n.in(2);
  if (!ddx)
    return failure();
  auto spec = readPool(n, x, spatial);
  if (!spec)
    return failure();
  Value places = maxima(n, bordered(n, x, *spec, extremeValue(n, n.element(x), true, true)), *spec);
  return n.result(n.gather(n.reshape(bordered(n, ddx, *spec, n.like(ddx, 0)), {-1}), places, 0));
}

static LogicalResult maxPoolGradWithArgmax(NodeImport &n) {
  Value x = n.in(0), dy = n.in(1), argmax = n.in(2);
  if (!x || !dy || !argmax)
    return failure();
  Value index = n.toI64(argmax);
  if (!n.isSet("include_batch_in_index")) {
    // Within an image: the batch's images lie one after the other.
    Value image = n.op<IotaOp>(n.sizeOf(x, 0), n.number(0), n.typeAttr(n.b.getI64Type()));
    Value base = n.mul(image, n.sizeProduct(x, 1, n.rank(x)));
    index = n.add(index, n.unsqueeze(base, axesFrom(1, n.rank(x))));
  }
  return n.result(scatterFlat(n, x, index, dy));
}

/// Each gradient spread evenly over the elements of its window that are inside:
/// a transposed convolution with ones, channel by channel.
/// The same where the forward input's shape is computed.
template <int64_t spatial> static LogicalResult avgPoolGradOpen(NodeImport &n) {
  Value shape = n.toI64(n.in(0)), dy = n.in(1);
  auto windows = readWindows(n, spatial);
  if (!shape || !n.hasRank(dy, spatial + 2) || !windows)
    return failure();
  auto window = spatialOf(n, *windows, n.is("ksize"), "window sizes");
  int64_t channels = n.dim(dy, windows->channelDim());
  if (!window)
    return failure();
  if (ShapedType::isDynamic(channels))
    return n.unsupported("found an unknown number of channels");
  Type element = n.element(dy);
  SmallVector<Value> sizes, whole;
  for (int64_t i = 0; i < spatial; ++i)
    sizes.push_back(n.slice(shape, 0, windows->dim(i), windows->dim(i) + 1));
  RunTimePads border = runTimePads(n, *windows, sizes, *window);
  Value share = dy;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t dim = windows->dim(i);
    Value counts = windowCounts(n, *windows, border, i, sizes[i], n.sizeOf(dy, dim), (*window)[i]);
    share = n.div(share, n.unsqueeze(n.cast(counts, element), axesFrom(1, n.rank(dy) - dim)));
    whole.push_back(n.add(sizes[i], n.add(border.before[i], border.after[i])));
  }
  IntVector filterShape = *window;
  filterShape.append({1, channels});
  if (!windows->channelsLast) { // I O/groups S…
    filterShape = {channels, 1};
    filterShape.append(window->begin(), window->end());
  }
  Value spread = n.op<ConvTransposeOp>(share, n.splat(element, filterShape, 1), n.concat(whole, 0),
                                       n.list(windows->strides), n.list(IntVector(2 * spatial, 0)),
                                       n.list(windows->dilations), n.number(channels),
                                       n.flag(windows->channelsLast));
  return n.result(cropAtRunTime(n, spread, *windows, border, sizes));
}

template <int64_t spatial> static LogicalResult avgPoolGrad(NodeImport &n) {
  Value dy = n.in(1);
  if (!dy)
    return failure();
  auto shape = n.knownInts(0);
  if (!shape || !n.isStatic(dy))
    return avgPoolGradOpen<spatial>(n);
  if (static_cast<int64_t>(shape->size()) != spatial + 2)
    return n.invalid("found a shape of rank " + Twine(shape->size()));
  // The windows are those over the forward input, of which only the shape is
  // there.
  auto windows = readWindows(n, spatial);
  if (!windows)
    return failure();
  auto window = spatialOf(n, *windows, n.is("ksize"), "window sizes");
  if (!window)
    return failure();
  IntVector sizes;
  for (int64_t i = 0; i < spatial; ++i)
    sizes.push_back((*shape)[windows->dim(i)]);
  auto pads = padsFor(*windows, sizes, *window);
  int64_t channels = (*shape)[windows->channelDim()];
  if (!pads || channels <= 0)
    return n.unsupported("found sizes that are not known");
  Type element = n.element(dy);
  Value share = dy;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t steps = n.dim(dy, windows->dim(i));
    if (ShapedType::isDynamic(steps))
      return n.unsupported("found sizes that are not known");
    // Each becomes a number of a constant.
    constexpr int64_t mostSteps = 1 << 24;
    if (steps > mostSteps)
      return n.unsupported("expected at most " + Twine(mostSteps) +
                           " windows along a dimension, got " + Twine(steps));
    SmallVector<double> counts;
    for (int64_t k = 0; k < steps; ++k) {
      int64_t begin = k * windows->strides[i] - (*pads)[2 * i];
      int64_t end = std::min(begin + (*window)[i], sizes[i]);
      counts.push_back(
          static_cast<double>(std::max<int64_t>(end - std::max<int64_t>(begin, 0), 1)));
    }
    Value divisor = n.floats(counts, element);
    share = n.div(share, n.unsqueeze(divisor, axesFrom(1, n.rank(dy) - windows->dim(i))));
  }
  IntVector filterShape = *window;
  filterShape.append({1, channels});
  if (!windows->channelsLast) { // I O/groups S…
    filterShape = {channels, 1};
    filterShape.append(window->begin(), window->end());
  }
  return n.result(n.op<ConvTransposeOp>(share, n.splat(element, filterShape, 1), n.ints(sizes),
                                        n.list(windows->strides), n.list(*pads),
                                        n.list(windows->dilations), n.number(channels),
                                        n.flag(windows->channelsLast)));
}

ArrayRef<OpImport> weir::tf::poolGradientImports() {
  static const OpImport rows[] = {
      {"MaxPoolGrad", maxPoolGrad<2>},
      {"MaxPoolGradV2", maxPoolGrad<2>},
      {"MaxPool3DGrad", maxPoolGrad<3>},
      {"MaxPoolGradGrad", maxPoolGradGrad<2>},
      {"MaxPoolGradGradV2", maxPoolGradGrad<2>},
      {"MaxPool3DGradGrad", maxPoolGradGrad<3>},
      {"MaxPoolGradWithArgmax", maxPoolGradWithArgmax},
      {"AvgPoolGrad", avgPoolGrad<2>},
      {"AvgPool3DGrad", avgPoolGrad<3>},
  };
  return rows;
}
