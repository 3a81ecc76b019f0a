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

/// The gradient goes to each window's maximum.
template <int64_t spatial> static LogicalResult maxPoolGrad(NodeImport &n) {
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
