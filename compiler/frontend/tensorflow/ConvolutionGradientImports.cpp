//===- ConvolutionGradientImports.cpp - gradients of convolutions ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Those of images are also the layers called transposed.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Sparse.h"
#include "compiler/frontend/tensorflow/Windows.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Ends the run with INVALID_ARGUMENT unless both are one number (tensor<1xi64>); where that is
/// known there is no run.
static LogicalResult requireEqual(NodeImport &n, Value found, Value expected, StringRef what) {
  Value agree = n.compare("eq", found, expected);
  if (!agree)
    return failure();
  if (auto known = constantIntegers(agree); known && !known->front()) {
    auto numberOf = [](Value v) { return constantIntegers(v).value_or(IntVector{-1}).front(); };
    return n.invalid("expected " + what + " of " + Twine(numberOf(expected)) + ", got " +
                     Twine(numberOf(found)));
  }
  require(n, agree, (what + " do not fit").str());
  return success();
}

/// The same unless the gradient has an element for each window over an image of spatial sizes
/// `sizes`, and the filter's results (`outputs`).
static LogicalResult requireGradientOf(NodeImport &n, Value gradient, const Windows &windows,
                                       const WindowSizes &window, ArrayRef<Value> sizes,
                                       Value outputs) {
  for (int64_t i = 0; i < windows.spatial; ++i) {
    double stride = static_cast<double>(windows.strides[i]);
    Value room = n.add(sizes[i], stride - 1);
    if (windows.padding != Windows::Same)
      room = n.sub(n.add(room, 1.0), reachOf(n, windows, window, i));
    if (windows.padding == Windows::Explicit)
      room = n.add(
          room, static_cast<double>(windows.explicitPads[2 * i] + windows.explicitPads[2 * i + 1]));
    if (failed(requireEqual(n, n.sizeOf(gradient, windows.dim(i)), n.div(room, stride),
                            "sizes of the gradient")))
      return failure();
  }
  return requireEqual(n, n.sizeOf(gradient, windows.channelDim()), outputs,
                      "channels of the gradient");
}

//===----------------------------------------------------------------------===//
// Of images
//===----------------------------------------------------------------------===//

/// The convolution's transpose: of `gradient` to sizes that are known (`sizes`,
/// kDynamic where not) or computed (`outputSizes`).
static Value convolveBack(NodeImport &n, Value gradient, Value filter, const Windows &windows,
                          const WindowSizes &window, Ints sizes, Value outputSizes,
                          int64_t groups) {
  if (!outputSizes || !filter)
    return {};
  std::optional<RunTimePads> border;
  SmallVector<Value> each;
  auto pads = padsFor(windows, sizes, window.known);
  if (!pads) {
    // Without the border first, and then that is cut off.
    SmallVector<Value> whole;
    for (int64_t i = 0; i < windows.spatial; ++i)
      each.push_back(n.slice(outputSizes, 0, i, i + 1));
    border = runTimePads(n, windows, each, window);
    for (int64_t i = 0; i < windows.spatial; ++i)
      whole.push_back(n.add(each[i], n.add(border->before[i], border->after[i])));
    outputSizes = n.concat(whole, 0);
    pads = IntVector(2 * windows.spatial, 0);
  }
  Value result = n.op<ConvTransposeOp>(
      gradient, orderFilter(n, filter, windows), outputSizes, n.list(windows.strides),
      n.list(*pads), n.list(windows.dilations), n.number(groups), n.flag(windows.channelsLast));
  return border ? cropAtRunTime(n, result, windows, *border, each) : result;
}

namespace {
/// The forward input's sizes, of the operand that gives them.
struct GivenSizes {
  IntVector known; ///< the spatial ones; kDynamic where only the run knows them
  Value computed;  ///< tensor<spatial x i64>
  Value whole;     ///< tensor<rank x i64>; null where the spatial ones alone are given
  int64_t channels = ShapedType::kDynamic;

  SmallVector<Value> each(NodeImport &n) const {
    SmallVector<Value> sizes;
    for (size_t i = 0; i < known.size(); ++i)
      sizes.push_back(n.slice(computed, 0, i, i + 1));
    return sizes;
  }
};
} // namespace

/// Given are sizes of the whole image, the spatial ones, or the image itself.
static std::optional<GivenSizes> givenSizes(NodeImport &n, const Windows &windows) {
  Value given = n.in(0);
  int64_t spatial = windows.spatial, rank = spatial + 2, first = windows.dim(0);
  GivenSizes sizes{IntVector(spatial, ShapedType::kDynamic), {}, {}};
  if (n.node.op == "Conv3DBackpropInput" || n.node.op == "Conv2DBackpropInputV2") {
    if (!n.hasRank(given, rank))
      return std::nullopt;
    given = n.shapeOf(given);
  }
  int64_t count = given && n.rank(given) == 1 ? n.dim(given, 0) : 0;
  if (ShapedType::isDynamic(count)) {
    Value length = n.sizeOf(given, 0), isWhole = n.compare("eq", length, double(rank));
    require(n, n.op<OrOp>(isWhole, n.compare("eq", length, double(spatial))),
            "the image's sizes are neither all nor the spatial ones");
    Value start = n.select(isWhole, n.ints({first}), n.ints({0}));
    sizes.computed = n.op<SliceOp>(n.toI64(given), start, n.add(start, double(spatial)),
                                   n.ints({1}), n.list({0}), n.flag(false));
    sizes.computed = n.reshape(sizes.computed, {spatial});
    return sizes;
  }
  if (count != spatial && count != rank) {
    (void)n.invalid("expected " + Twine(spatial) + " or " + Twine(rank) + " input sizes, got " +
                    Twine(count));
    return std::nullopt;
  }
  given = n.toI64(given);
  if (count == rank)
    sizes.whole = given;
  else
    first = 0;
  sizes.computed = n.slice(given, 0, first, first + spatial);
  if (auto known = knownIntegers(given); known && static_cast<int64_t>(known->size()) == count) {
    for (int64_t i = 0; i < spatial; ++i)
      sizes.known[i] = (*known)[first + i].value_or(ShapedType::kDynamic);
    if (sizes.whole)
      sizes.channels = (*known)[windows.channelDim()].value_or(ShapedType::kDynamic);
  }
  return sizes;
}

/// The gradient of an image, whose channels are `channels` (tensor<1xi64>).
static LogicalResult backprop(NodeImport &n, const Windows &windows, const WindowSizes &window,
                              const GivenSizes &sizes, Value filter, Value channels, Value outputs,
                              int64_t groups) {
  Value gradient = n.in(2);
  if (failed(requireGradientOf(n, gradient, windows, window, sizes.each(n), outputs)))
    return failure();
  auto whole = [&](int64_t dim) { return n.slice(sizes.whole, 0, dim, dim + 1); };
  if (sizes.whole &&
      (failed(requireEqual(n, whole(0), n.sizeOf(gradient, 0), "batches of the image")) ||
       failed(requireEqual(n, whole(windows.channelDim()), channels, "channels of the image"))))
    return failure();
  return n.result(
      convolveBack(n, gradient, filter, windows, window, sizes.known, sizes.computed, groups));
}

template <int64_t spatial> static LogicalResult backpropInput(NodeImport &n) {
  Value filter = n.in(1);
  if (!n.hasRank(filter, spatial + 2) || !n.hasRank(n.in(2), spatial + 2))
    return failure();
  auto windows = readWindows(n, spatial);
  auto window = filterWindow(n, filter, spatial);
  if (!windows || !window)
    return failure();
  auto sizes = givenSizes(n, *windows);
  return sizes ? backprop(n, *windows, *window, *sizes, filter, n.sizeOf(filter, spatial),
                          n.sizeOf(filter, spatial + 1), 1)
               : failure();
}

static LogicalResult depthwiseBackpropInput(NodeImport &n) {
  Value filter = n.in(1);
  if (!n.hasRank(filter, 4) || !n.hasRank(n.in(2), 4))
    return failure();
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  if (!windows || !window)
    return failure();
  auto sizes = givenSizes(n, *windows);
  if (!sizes)
    return failure();
  Value channels = n.sizeOf(filter, 2), outputs = n.sizeProduct(filter, 2, 4);
  auto groups = filterPerChannel(n, sizes->channels, filter);
  return groups ? backprop(n, *windows, *window, *sizes, filter, channels, outputs, *groups)
                : failure();
}

//===----------------------------------------------------------------------===//
// Of filters
//===----------------------------------------------------------------------===//

/// A filter's gradient where spatial sizes are computed: place by place of the
/// window, the elements that meet it times the gradient, summed over all steps.
/// Channels last.
static Value filterByPlaces(NodeImport &n, Value x, Value gradient, const Windows &windows,
                            Ints filterShape, bool isDepthwise) {
  int64_t spatial = windows.spatial;
  Ints window = filterShape.take_front(spatial);
  int64_t places = 1;
  for (int64_t size : window)
    if (llvm::MulOverflow(places, size, places) || places > 4096) {
      (void)n.unsupported("found a window of more than 4096 elements");
      return {};
    }
  RunTimePads border = runTimePads(n, windows, spatialSizesOf(n, windows, x), IntVector(window));
  Value padded = padAtRunTime(n, x, windows, border, n.like(x, 0));
  int64_t channels = filterShape[spatial], outputs = filterShape[spatial + 1];
  auto asRows = [&](Value v, int64_t columns) { // of which there may be none
    Value rows = v ? n.sizeProduct(v, 0, spatial + 1) : v;
    return n.reshapeTo(v, n.concat({rows, n.ints({columns})}, 0));
  };
  Value dy = isDepthwise ? n.reshapeTo(gradient, n.concat({n.shapeSlice(gradient, 0, spatial + 1),
                                                           n.ints({channels, outputs})},
                                                          0))
                         : asRows(gradient, outputs);
  SmallVector<Value> parts;
  for (int64_t place = 0; place < places; ++place) {
    SmallVector<Value> starts, ends;
    int64_t rest = place;
    IntVector at(spatial);
    for (int64_t i = spatial; i-- > 0; rest /= window[i])
      at[i] = rest % window[i] * windows.dilations[i];
    for (int64_t i = 0; i < spatial; ++i) {
      Value steps = n.sizeOf(gradient, 1 + i);
      Value reach = n.mul(n.sub(steps, n.ints({1})), n.ints({windows.strides[i]}));
      starts.push_back(n.ints({at[i]}));
      // Of no steps: nothing.
      ends.push_back(n.maximum(n.add(reach, n.ints({at[i] + 1})), starts.back()));
    }
    Value met =
        n.op<SliceOp>(padded, n.concat(starts, 0), n.concat(ends, 0), n.ints(windows.strides),
                      n.list(axesFrom(1, spatial + 1)), n.flag(false));
    if (isDepthwise)
      parts.push_back(n.reduce(n.mul(met ? n.unsqueeze(met, {spatial + 2}) : met, dy), "sum",
                               axesFrom(0, spatial + 1), false));
    else
      parts.push_back(n.op<DotGeneralOp>(asRows(met, channels), dy, n.list({}), n.list({}),
                                         n.list({0}), n.list({0}), n.typeAttr(n.element(x))));
  }
  return n.reshape(n.stack(parts, 0), filterShape);
}

namespace {
/// The filter's shape, of the operand that gives it.
struct GivenFilter {
  IntVector known; ///< kDynamic where only the run knows it
  Value computed;  ///< tensor<rank x i64>

  Value size(NodeImport &n, int64_t dim) const { return n.slice(computed, 0, dim, dim + 1); }
  WindowSizes window(NodeImport &n) const {
    WindowSizes sizes{IntVector(Ints(known).drop_back(2))};
    for (size_t i = 0; i < sizes.known.size(); ++i)
      if (sizes.isOpen(i))
        sizes.computed[i] = size(n, i);
    return sizes;
  }
  bool isOpen() const { return llvm::is_contained(known, ShapedType::kDynamic); }
};
} // namespace

static std::optional<GivenFilter> givenFilter(NodeImport &n, int64_t spatial) {
  Value given = n.in(1);
  GivenFilter filter;
  if (n.node.op == "Conv3DBackpropFilter" || n.node.op == "Conv2DBackpropFilterV2") {
    if (!n.hasRank(given, spatial + 2))
      return std::nullopt;
    filter.known.assign(n.sizes(given).begin(), n.sizes(given).end());
    filter.computed = n.shapeOf(given);
  } else {
    if (failed(requireSize(n, given, 0, spatial + 2, "sizes of a filter")))
      return std::nullopt;
    filter.known.assign(spatial + 2, ShapedType::kDynamic);
    if (auto known = knownIntegers(given); known && known->size() == filter.known.size())
      for (auto [size, value] : llvm::zip(filter.known, *known))
        size = value.value_or(size);
    filter.computed = n.toI64(given);
  }
  bool isNone = llvm::any_of(filter.known,
                             [](int64_t size) { return size < 0 && !ShapedType::isDynamic(size); });
  if (isNone || (!filter.isOpen() && !frontend::canBe(filter.known))) {
    (void)n.invalid("found a filter's shape that is none");
    return std::nullopt;
  }
  if (filter.isOpen())
    require(n, n.compare("ge", filter.computed, 0), "a size of the filter is negative");
  return filter;
}

/// The gradient of a filter is a convolution, too: batch and channels change places, strides and
/// dilations as well. Channels last, in `groups` of one channel each where there are some.
static Value filterByConvolution(NodeImport &n, Value x, Value gradient, const Windows &windows,
                                 const GivenFilter &filter, std::optional<int64_t> groups) {
  int64_t spatial = windows.spatial;
  WindowSizes window = filter.window(n);
  IntVector sizes = spatialSizes(windows, n.type(x)),
            steps = spatialSizes(windows, n.type(gradient));
  auto pads = padsFor(windows, sizes, window.known);
  bool isOpen = !pads || llvm::is_contained(sizes, ShapedType::kDynamic) ||
                llvm::is_contained(steps, ShapedType::kDynamic) || filter.isOpen();
  // As much behind as makes exactly the filter's size; negative crops.
  if (isOpen) {
    RunTimePads border = runTimePads(n, windows, spatialSizesOf(n, windows, x), window);
    for (int64_t i = 0; i < spatial; ++i) {
      // Without steps, or places, there is nothing to add up, and too much is made room for.
      auto reach = [&](Value size, int64_t step) {
        return n.mul(n.maximum(n.sub(size, 1.0), 0.0), static_cast<double>(step));
      };
      Value whole = n.add(reach(filter.size(n, i), windows.dilations[i]),
                          reach(n.sizeOf(gradient, 1 + i), windows.strides[i]));
      Value behind = n.sub(n.add(whole, 1.0), n.sizeOf(x, 1 + i));
      border.after[i] = n.sub(behind, border.before[i]);
    }
    x = padAtRunTime(n, x, windows, border, n.like(x, 0));
    pads = IntVector(2 * spatial, 0);
  } else {
    for (int64_t i = 0; i < spatial; ++i)
      (*pads)[2 * i + 1] = (window.known[i] - 1) * windows.dilations[i] +
                           (steps[i] - 1) * windows.strides[i] + 1 - sizes[i] - (*pads)[2 * i];
  }
  IntVector kernelOrder = axesFrom(1, spatial + 1), imageOrder = kernelOrder;
  kernelOrder.append({0, spatial + 1});
  Value kernel = n.transpose(gradient, kernelOrder), image; // S… N O
  if (groups) {
    // One group a channel: batch 1, channels C·N with n fastest.
    imageOrder.append({spatial + 1, 0});
    image = n.transpose(x, imageOrder); // S… C N
    Value flat = n.sizeProduct(image, spatial, spatial + 2);
    image = n.reshapeTo(image, n.concat({n.ints({1}), n.shapeSlice(image, 0, spatial), flat}, 0));
  } else {
    imageOrder.insert(imageOrder.begin(), spatial + 1);
    imageOrder.push_back(0);
    image = n.transpose(x, imageOrder); // C S… N
  }
  Value result =
      n.op<ConvOp>(image, kernel, n.list(windows.dilations), n.list(*pads), n.list(windows.strides),
                   n.number(groups.value_or(1)), n.flag(true), n.typeAttr(n.element(x)));
  for (int64_t i = 0; isOpen && i < spatial; ++i)
    result = n.op<SliceOp>(result, n.ints({0}), filter.size(n, i), n.ints({1}), n.list({1 + i}),
                           n.flag(false));
  if (!groups)
    result = n.transpose(result, kernelOrder); // C S… O → S… C O
  return isOpen || groups ? n.reshapeTo(result, filter.computed) : result;
}

template <int64_t spatial> static LogicalResult backpropFilter(NodeImport &n) {
  bool isDepthwise = n.node.op == "DepthwiseConv2dNativeBackpropFilter";
  Value x = n.in(0), gradient = n.in(2);
  if (!n.hasRank(x, spatial + 2) || !n.hasRank(gradient, spatial + 2))
    return failure();
  auto windows = readWindows(n, spatial);
  if (!windows)
    return failure();
  auto filter = givenFilter(n, spatial);
  if (!filter)
    return failure();
  if (llvm::is_contained(filter->known, 0) && !filter->isOpen())
    return n.result(n.splat(n.element(x), filter->known, 0));
  if (!windows->channelsLast) {
    IntVector order = {0};
    order.append(axesFrom(2, spatial + 2));
    order.push_back(1);
    x = n.transpose(x, order);
    gradient = n.transpose(gradient, order);
    windows->channelsLast = true;
  }
  if (!x || !gradient)
    return failure();
  WindowSizes window = filter->window(n);
  Value channels = filter->size(n, spatial), outputs = filter->size(n, spatial + 1);
  if (isDepthwise)
    outputs = n.mul(channels, outputs);
  if (failed(requireEqual(n, n.sizeOf(gradient, 0), n.sizeOf(x, 0), "batches of the gradient")) ||
      failed(requireEqual(n, n.sizeOf(x, spatial + 1), channels, "channels of the image")) ||
      failed(requireGradientOf(n, gradient, *windows, window, spatialSizesOf(n, *windows, x),
                               outputs)))
    return failure();
  std::optional<int64_t> groups;
  if (isDepthwise) {
    groups = ShapedType::isDynamic(filter->known[2]) ? n.dim(x, 3) : filter->known[2];
    if (ShapedType::isDynamic(*groups))
      return n.unsupported("expected channels whose number is known, of the images or of the "
                           "filter, got open ones; --shape gives it");
    if (*groups == 0)
      return n.result(n.expandTo(n.like(x, 0), filter->computed));
  }
  // Where a run knows the sizes, places of a known window are matrix products.
  auto isOpen = [&](Value v) {
    return ShapedType::isDynamicShape(n.sizes(v).slice(isDepthwise ? 0 : 1, spatial + isDepthwise));
  };
  bool isByPlaces = !filter->isOpen() && (isOpen(x) || isOpen(gradient));
  return n.result(isByPlaces ? filterByPlaces(n, x, gradient, *windows, filter->known, isDepthwise)
                             : filterByConvolution(n, x, gradient, *windows, *filter, groups));
}

ArrayRef<OpImport> weir::tf::convolutionGradientImports() {
  static const OpImport rows[] = {
      {"Conv2DBackpropInput", backpropInput<2>},
      {"Conv3DBackpropInput", backpropInput<3>},
      {"Conv3DBackpropInputV2", backpropInput<3>},
      {"DepthwiseConv2dNativeBackpropInput", depthwiseBackpropInput},
      {"Conv2DBackpropInputV2", backpropInput<2>},
      {"Conv2DBackpropFilterV2", backpropFilter<2>},
      {"Conv2DBackpropFilter", backpropFilter<2>},
      {"Conv3DBackpropFilter", backpropFilter<3>},
      {"Conv3DBackpropFilterV2", backpropFilter<3>},
      {"DepthwiseConv2dNativeBackpropFilter", backpropFilter<2>},
  };
  return rows;
}
