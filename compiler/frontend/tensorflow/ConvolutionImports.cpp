//===- ConvolutionImports.cpp - convolutions and pooling ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow's filters are S… I O whatever the layout of the data, which is
// weir's order for channels last; channels first takes O I S….
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Windows.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

std::optional<IntVector> weir::tf::filterWindow(NodeImport &n, Value filter, int64_t spatial) {
  if (!n.hasRank(filter, spatial + 2))
    return std::nullopt;
  Ints shape = n.sizes(filter);
  if (n.isStatic(filter))
    return IntVector(shape.take_front(spatial));
  (void)n.unsupported("found a filter of unknown shape");
  return std::nullopt;
}

/// A filter in the order that weir wants for the layout of the data.
static Value orderFilter(NodeImport &n, Value filter, const Windows &windows) {
  if (windows.channelsLast)
    return filter;
  IntVector order = {windows.spatial + 1, windows.spatial};
  order.append(axesFrom(0, windows.spatial));
  return n.transpose(filter, order);
}

/// Pads that make "same" windows of an input whose sizes are computed: weir's
/// convolution takes constants, so the border is made before it.
static Value padDynamically(NodeImport &n, Value x, const Windows &windows, Ints window) {
  int64_t rank = n.rank(x);
  SmallVector<Value> before(rank, n.ints({0})), after(rank, n.ints({0}));
  for (int64_t i = 0; i < windows.spatial; ++i) {
    int64_t stride = windows.strides[i];
    int64_t reach = (window[i] - 1) * windows.dilations[i] + 1;
    Value size = n.sizeOf(x, windows.dim(i));
    Value steps = n.div(n.add(size, n.ints({stride - 1})), n.ints({stride}));
    Value last = n.mul(n.sub(steps, n.ints({1})), n.ints({stride}));
    Value total = n.maximum(n.sub(n.add(last, n.ints({reach})), size), n.ints({0}));
    before[windows.dim(i)] = n.div(total, n.ints({2}));
    after[windows.dim(i)] = n.sub(total, before[windows.dim(i)]);
  }
  before.append(after);
  return n.op<PadOp>(x, n.concat(before, 0), n.like(x, 0), n.text("constant"));
}

Value weir::tf::convolve(NodeImport &n, Value x, Value filter, Windows windows, int64_t groups,
                         Ints window) {
  if (!n.hasRank(x, windows.spatial + 2) || !filter)
    return {};
  auto pads = padsFor(windows, spatialSizes(windows, n.type(x)), window);
  if (!pads) {
    x = padDynamically(n, x, windows, window);
    pads = IntVector(2 * windows.spatial, 0);
  }
  if (!x)
    return {};
  return n.op<ConvOp>(x, orderFilter(n, filter, windows), n.list(windows.strides), n.list(*pads),
                      n.list(windows.dilations), n.number(groups), n.flag(windows.channelsLast),
                      n.typeAttr(n.element(x)));
}

template <int64_t spatial> static LogicalResult conv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!n.hasRank(x, spatial + 2) || !n.hasRank(filter, spatial + 2))
    return failure();
  auto windows = readWindows(n, spatial);
  auto window = filterWindow(n, filter, spatial);
  if (!windows || !window)
    return failure();
  int64_t channels = n.dim(x, windows->channelDim());
  int64_t each = n.dim(filter, spatial);
  int64_t groups = 1;
  if (!ShapedType::isDynamic(channels)) {
    if (each == 0 || channels % each)
      return n.invalid("found " + Twine(channels) + " channels for a filter of " + Twine(each));
    groups = channels / each;
  }
  return n.result(convolve(n, x, filter, *windows, groups, *window));
}

/// Filter H W C M: channel c makes results c·M to c·M + M - 1.
static LogicalResult depthwiseConv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!n.hasRank(x, 4) || !n.hasRank(filter, 4))
    return failure();
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  if (!windows || !window)
    return failure();
  Ints shape = n.sizes(filter);
  filter = n.reshape(filter, {shape[0], shape[1], 1, shape[2] * shape[3]});
  return n.result(convolve(n, x, filter, *windows, shape[2], *window));
}

//===----------------------------------------------------------------------===//
// Gradients of convolutions, which are also the layers called transposed
//===----------------------------------------------------------------------===//

template <int64_t spatial> static LogicalResult backpropInput(NodeImport &n) {
  Value filter = n.in(1), gradient = n.in(2);
  if (!n.hasRank(filter, spatial + 2) || !n.hasRank(gradient, spatial + 2))
    return failure();
  auto windows = readWindows(n, spatial);
  auto window = filterWindow(n, filter, spatial);
  if (!windows || !window)
    return failure();
  // The forward input's sizes: given, or only its spatial part.
  IntVector sizes(spatial, ShapedType::kDynamic);
  Value outputSizes;
  bool givesShape = n.node.op != "Conv3DBackpropInput";
  if (!givesShape) {
    Value forward = n.in(0);
    if (!forward || !n.hasRank(forward, spatial + 2))
      return failure();
    sizes = spatialSizes(*windows, n.type(forward));
    outputSizes = n.shapeSlice(forward, windows->dim(0), windows->dim(0) + spatial);
  } else {
    Value given = n.in(0);
    if (!given)
      return failure();
    auto known = knownIntegers(given);
    bool isWhole = n.dim(given, 0) != spatial;
    int64_t first = isWhole ? windows->dim(0) : 0;
    if (known && static_cast<int64_t>(known->size()) < first + spatial)
      return n.invalid("found " + Twine(known->size()) + " input sizes; possible are " +
                       Twine(spatial) + " or " + Twine(spatial + 2));
    if (known)
      for (int64_t i = 0; i < spatial; ++i)
        if (auto size = (*known)[first + i])
          sizes[i] = *size;
    outputSizes = llvm::is_contained(sizes, ShapedType::kDynamic)
                      ? n.slice(n.toI64(given), 0, first, first + spatial)
                      : n.ints(sizes);
  }
  auto pads = padsFor(*windows, sizes, *window);
  if (!pads)
    return n.unsupported("found a padding that depends on sizes that are "
                         "computed; possible are constant sizes");
  int64_t channels = n.dim(gradient, windows->channelDim());
  int64_t outputs = n.dim(filter, spatial + 1);
  if (!ShapedType::isDynamic(channels) && channels != outputs)
    return n.invalid("found " + Twine(channels) + " channels for a filter of " + Twine(outputs));
  return n.result(n.op<ConvTransposeOp>(
      gradient, orderFilter(n, filter, *windows), outputSizes, n.list(windows->strides),
      n.list(*pads), n.list(windows->dilations), n.number(1), n.flag(windows->channelsLast)));
}

static LogicalResult depthwiseBackpropInput(NodeImport &n) {
  Value filter = n.in(1), gradient = n.in(2);
  if (!n.hasRank(filter, 4) || !n.hasRank(gradient, 4))
    return failure();
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  auto given = n.constantInts(0);
  if (!windows || !window || !given)
    return failure();
  Ints shape = n.sizes(filter);
  IntVector sizes = {(*given)[windows->dim(0)], (*given)[windows->dim(1)]};
  auto pads = padsFor(*windows, sizes, *window);
  // S… O/groups I: one result channel a group, I = C·M.
  filter = n.reshape(filter, {shape[0], shape[1], 1, shape[2] * shape[3]});
  return n.result(n.op<ConvTransposeOp>(gradient, orderFilter(n, filter, *windows), n.ints(sizes),
                                        n.list(windows->strides), n.list(*pads),
                                        n.list(windows->dilations), n.number(shape[2]),
                                        n.flag(windows->channelsLast)));
}

/// The gradient of a filter is a convolution, too: batch and channels change
/// places, strides and dilations as well.
template <int64_t spatial> static LogicalResult backpropFilter(NodeImport &n) {
  bool isDepthwise = n.node.op == "DepthwiseConv2dNativeBackpropFilter";
  Value x = n.in(0), gradient = n.in(2);
  if (!n.hasRank(x, spatial + 2) || !n.hasRank(gradient, spatial + 2))
    return failure();
  auto windows = readWindows(n, spatial);
  if (!windows)
    return failure();
  IntVector filterShape;
  if (n.node.op == "Conv3DBackpropFilter") {
    Value filter = n.in(1);
    if (!filter || !n.isStatic(filter))
      return n.unsupported("found a filter of unknown shape");
    filterShape.assign(n.sizes(filter).begin(), n.sizes(filter).end());
  } else {
    auto given = n.constantInts(1);
    if (!given)
      return failure();
    filterShape = *given;
  }
  if ((int64_t)filterShape.size() != spatial + 2 || !frontend::canBe(filterShape) ||
      llvm::any_of(filterShape, [](int64_t size) { return size < 0; }))
    return n.invalid("found a filter's shape that is none, or of another rank");
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
  IntVector sizes = spatialSizes(*windows, n.type(x));
  IntVector steps = spatialSizes(*windows, n.type(gradient));
  Ints window = Ints(filterShape).take_front(spatial);
  auto pads = padsFor(*windows, sizes, window);
  if (!pads || llvm::is_contained(sizes, ShapedType::kDynamic) ||
      llvm::is_contained(steps, ShapedType::kDynamic))
    return n.unsupported("found sizes that are not known; possible are "
                         "constant ones");
  // As much behind as makes exactly the filter's size; negative crops.
  for (int64_t i = 0; i < spatial; ++i)
    (*pads)[2 * i + 1] = (window[i] - 1) * windows->dilations[i] +
                         (steps[i] - 1) * windows->strides[i] + 1 - sizes[i] - (*pads)[2 * i];
  IntVector swap = {spatial + 1};
  swap.append(axesFrom(1, spatial + 1));
  swap.push_back(0);
  int64_t channels = n.dim(x, spatial + 1);
  int64_t outputs = n.dim(gradient, spatial + 1);
  int64_t batch = n.dim(x, 0);
  if (isDepthwise && ShapedType::isDynamic(batch))
    return n.unsupported("found a batch of unknown size");
  Value image, kernel;
  IntVector kernelOrder = axesFrom(1, spatial + 1);
  kernelOrder.append({0, spatial + 1});
  kernel = n.transpose(gradient, kernelOrder); // S… N O
  int64_t groups = 1;
  if (isDepthwise) {
    // One group a channel: batch 1, channels C·N with n fastest.
    IntVector order = axesFrom(1, spatial + 1);
    order.append({spatial + 1, 0});
    image = n.transpose(x, order); // S… C N
    IntVector flat = {1};
    flat.append(sizes);
    flat.push_back(channels * batch);
    image = n.reshape(image, flat);
    groups = channels;
  } else {
    image = n.transpose(x, swap); // C S… N
  }
  Value result = n.op<ConvOp>(image, kernel, n.list(windows->dilations), n.list(*pads),
                              n.list(windows->strides), n.number(groups), n.flag(true),
                              n.typeAttr(n.element(x)));
  if (!result)
    return failure();
  (void)outputs;
  if (isDepthwise)
    return n.result(n.reshape(result, filterShape));
  IntVector order = axesFrom(1, spatial + 1);
  order.append({0, spatial + 1});
  return n.result(n.transpose(result, order)); // C S… O → S… C O
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

std::optional<PoolSpec> weir::tf::readPool(NodeImport &n, Value x, int64_t spatial) {
  if (!n.hasRank(x, spatial + 2))
    return std::nullopt;
  auto windows = readWindows(n, spatial);
  if (!windows)
    return std::nullopt;
  IntVector whole = n.is("ksize");
  if (n.node.op.starts_with("MaxPool") && n.node.op.ends_with("V2")) {
    size_t first = n.node.op == "MaxPoolV2" ? 1 : 3;
    auto ksize = n.constantInts(first), strides = n.constantInts(first + 1);
    if (!ksize || !strides)
      return std::nullopt;
    whole = *ksize;
    auto steps = spatialOf(n, *windows, *strides, "strides");
    if (!steps)
      return std::nullopt;
    windows->strides = *steps;
  }
  auto window = spatialOf(n, *windows, whole, "window sizes");
  if (!window)
    return std::nullopt;
  auto pads = padsFor(*windows, spatialSizes(*windows, n.type(x)), *window);
  if (!pads) {
    (void)n.unsupported("found a padding that depends on sizes that are not "
                        "known; possible are sizes given by --shape");
    return std::nullopt;
  }
  return PoolSpec{*windows, *window, *pads};
}

template <int64_t spatial, bool isMax> static LogicalResult pool(NodeImport &n) {
  Value x = n.in(0);
  auto spec = readPool(n, x, spatial);
  if (!spec)
    return failure();
  return n.result(n.op<PoolOp>(x, n.text(isMax ? "max" : "average"), n.list(spec->window),
                               n.list(spec->windows.strides), n.list(spec->pads),
                               n.list(spec->windows.dilations), n.flag(false), n.flag(false),
                               n.number(0), n.flag(spec->windows.channelsLast)));
}

static LogicalResult maxPoolWithArgmax(NodeImport &n) {
  Value x = n.in(0);
  auto spec = readPool(n, x, 2);
  if (!spec)
    return failure();
  Value values = n.op<PoolOp>(x, n.text("max"), n.list(spec->window), n.list(spec->windows.strides),
                              n.list(spec->pads), n.list(spec->windows.dilations), n.flag(false),
                              n.flag(false), n.number(0), n.flag(true));
  Value index =
      n.op<MaxPoolIndexOp>(x, n.list(spec->window), n.list(spec->windows.strides),
                           n.list(spec->pads), n.list(spec->windows.dilations), n.flag(false),
                           n.flag(true), n.flag(!n.isSet("include_batch_in_index")), n.flag(false),
                           n.typeAttr(n.elementAttr("Targmax")));
  return n.results({values, index});
}

ArrayRef<OpImport> weir::tf::convolutionImports() {
  static const OpImport rows[] = {
      {"Conv2D", conv<2>},
      {"Conv3D", conv<3>},
      {"DepthwiseConv2dNative", depthwiseConv},
      {"Conv2DBackpropInput", backpropInput<2>},
      {"Conv3DBackpropInput", backpropInput<3>},
      {"Conv3DBackpropInputV2", backpropInput<3>},
      {"DepthwiseConv2dNativeBackpropInput", depthwiseBackpropInput},
      {"Conv2DBackpropFilter", backpropFilter<2>},
      {"Conv3DBackpropFilter", backpropFilter<3>},
      {"Conv3DBackpropFilterV2", backpropFilter<3>},
      {"DepthwiseConv2dNativeBackpropFilter", backpropFilter<2>},
      {"AvgPool", pool<2, false>},
      {"AvgPool3D", pool<3, false>},
      {"MaxPool", pool<2, true>},
      {"MaxPoolV2", pool<2, true>},
      {"MaxPool3D", pool<3, true>},
      {"MaxPoolWithArgmax", maxPoolWithArgmax},
  };
  return rows;
}
