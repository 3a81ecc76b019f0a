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

#include "compiler/frontend/tensorflow/Sparse.h"
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

void weir::tf::requireRoom(NodeImport &n, Value x, const Windows &windows, Ints window) {
  if (windows.padding == Windows::Same)
    return;
  for (int64_t i = 0; i < windows.spatial; ++i) {
    // TensorFlow divides what is left, and a step, by the step, and rounds towards zero.
    int64_t least = (window[i] - 1) * windows.dilations[i] + 2 - 2 * windows.strides[i];
    if (windows.padding == Windows::Explicit)
      least -= windows.explicitPads[2 * i] + windows.explicitPads[2 * i + 1];
    if (least > 0 && n.type(x).isDynamicDim(windows.dim(i)))
      require(n, n.compare("ge", n.sizeOf(x, windows.dim(i)), static_cast<double>(least)),
              "an image is smaller than the filter");
  }
}

/// A filter in the order that weir wants for the layout of the data.
static Value orderFilter(NodeImport &n, Value filter, const Windows &windows) {
  if (windows.channelsLast)
    return filter;
  IntVector order = {windows.spatial + 1, windows.spatial};
  order.append(axesFrom(0, windows.spatial));
  return n.transpose(filter, order);
}

Value weir::tf::convolve(NodeImport &n, Value x, Value filter, Windows windows, int64_t groups,
                         Ints window) {
  if (!n.hasRank(x, windows.spatial + 2) || !filter)
    return {};
  auto pads = padsFor(windows, spatialSizes(windows, n.type(x)), window);
  if (!pads) {
    // weir's convolution takes constants: the border is made before it.
    RunTimePads border = runTimePads(n, windows, spatialSizesOf(n, windows, x), window);
    x = padAtRunTime(n, x, windows, border, n.like(x, 0));
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
  // Filters of no result are none that TensorFlow looks at.
  if (n.dim(filter, spatial + 1) != 0 && failed(requireElements(n, filter, "filters")))
    return failure();
  requireRoom(n, x, *windows, *window);
  int64_t channels = n.dim(x, windows->channelDim());
  int64_t each = n.dim(filter, spatial);
  int64_t groups = 1;
  // A filter of an open size has the operand's channels; the run sees whether it has.
  if (!ShapedType::isDynamic(channels) && !ShapedType::isDynamic(each)) {
    if (each == 0 || channels % each)
      return n.invalid("found " + Twine(channels) + " channels for a filter of " + Twine(each));
    groups = channels / each;
  } else if (each > 0) {
    Value size = n.sizeOf(x, windows->channelDim());
    Value isGrouped = n.op<AndOp>(n.compare("ne", size, double(each)),
                                  n.compare("eq", n.op<RemOp>(size, n.ints({each})), 0.0));
    require(
        n, n.logicalNot(isGrouped),
        "the program was compiled for a convolution of one group; give the channels with --shape",
        unimplemented);
  }
  return n.result(convolve(n, x, filter, *windows, groups, *window));
}

/// The operation that is called Conv alone: two or three spatial dimensions, and one
/// or several of the batch in front.
static LogicalResult anyConv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!x || !filter)
    return failure();
  int64_t spatial = n.rank(filter) - 2, batches = n.rank(x) - spatial - 1;
  if ((spatial != 2 && spatial != 3) || batches < 0)
    return n.unsupported("expected two or three spatial dimensions, got an input of rank " +
                         Twine(n.rank(x)) + " and a filter of rank " + Twine(n.rank(filter)));
  if (n.i("batch_dims") != batches)
    return n.invalid("found batch_dims " + Twine(n.i("batch_dims")) + "; an input of rank " +
                     Twine(n.rank(x)) + " and a filter of rank " + Twine(n.rank(filter)) +
                     " leave " + Twine(batches));
  if (n.i("groups") != 1)
    return n.unsupported("found " + Twine(n.i("groups")) +
                         " groups; expected 1, as TensorFlow does");
  Value leading;
  if (batches != 1) {
    leading = n.shapeSlice(x, 0, batches);
    Value rest = n.shapeSlice(x, batches, n.rank(x));
    Value count = batches == 0 ? n.ints({1}) : n.sizeProduct(x, 0, batches);
    x = n.reshapeTo(x, n.concat({count, rest}, 0));
    if (!x)
      return failure();
    n.inputs[0] = Imported(x);
  }
  if (failed(spatial == 2 ? conv<2>(n) : conv<3>(n)))
    return failure();
  if (leading) {
    Value y = n.made[0].value;
    Value shape = n.shapeSlice(y, 1, n.rank(y));
    if (batches > 0)
      shape = n.concat({leading, shape}, 0);
    y = n.reshapeTo(y, shape);
    if (!y)
      return failure();
    n.made[0] = Imported(y);
  }
  return success();
}

/// Filter H W C M: channel c makes results c·M to c·M + M - 1.
static LogicalResult depthwiseConv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!n.hasRank(x, 4) || !n.hasRank(filter, 4))
    return failure();
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  if (!windows || !window || failed(requireElements(n, filter, "filters")))
    return failure();
  requireRoom(n, x, *windows, *window);
  Ints shape = n.sizes(filter);
  filter = n.reshape(filter, {shape[0], shape[1], 1, shape[2] * shape[3]});
  return n.result(convolve(n, x, filter, *windows, shape[2], *window));
}

//===----------------------------------------------------------------------===//
// Gradients of convolutions, which are also the layers called transposed
//===----------------------------------------------------------------------===//

/// Of an operand that gives the sizes of a whole tensor, or its spatial ones:
/// where these begin.
static std::optional<int64_t> spatialStart(NodeImport &n, const Windows &windows, Value given) {
  int64_t count = given ? n.dim(given, 0) : 0;
  if (count == windows.spatial)
    return 0;
  if (count == windows.spatial + 2 || ShapedType::isDynamic(count))
    return windows.dim(0);
  (void)n.invalid("expected " + Twine(windows.spatial) + " or " + Twine(windows.spatial + 2) +
                  " input sizes, got " + Twine(count));
  return std::nullopt;
}

/// The convolution's transpose: of `gradient` to sizes that are known (`sizes`,
/// kDynamic where not) or computed (`outputSizes`).
static Value convolveBack(NodeImport &n, Value gradient, Value filter, const Windows &windows,
                          Ints window, Ints sizes, Value outputSizes, int64_t groups) {
  if (!outputSizes || !filter)
    return {};
  std::optional<RunTimePads> border;
  SmallVector<Value> each;
  auto pads = padsFor(windows, sizes, window);
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

/// The forward input's sizes, of the operand that gives them.
struct GivenSizes {
  IntVector known;
  Value computed;
};
static std::optional<GivenSizes> givenSizes(NodeImport &n, const Windows &windows, Value given) {
  GivenSizes sizes{IntVector(windows.spatial, ShapedType::kDynamic), {}};
  auto first = spatialStart(n, windows, given);
  if (!first)
    return std::nullopt;
  if (auto known = knownIntegers(given);
      known && static_cast<int64_t>(known->size()) >= *first + windows.spatial)
    for (int64_t i = 0; i < windows.spatial; ++i)
      if (auto size = (*known)[*first + i])
        sizes.known[i] = *size;
  sizes.computed = llvm::is_contained(sizes.known, ShapedType::kDynamic)
                       ? n.slice(n.toI64(given), 0, *first, *first + windows.spatial)
                       : n.ints(sizes.known);
  return sizes;
}

template <int64_t spatial> static LogicalResult backpropInput(NodeImport &n) {
  Value filter = n.in(1), gradient = n.in(2);
  if (!n.hasRank(filter, spatial + 2) || !n.hasRank(gradient, spatial + 2))
    return failure();
  auto windows = readWindows(n, spatial);
  auto window = filterWindow(n, filter, spatial);
  if (!windows || !window)
    return failure();
  // Given are the forward input's sizes, or it itself.
  std::optional<GivenSizes> sizes;
  Value given = n.in(0);
  if (!given)
    return failure();
  if (n.node.op == "Conv3DBackpropInput" || n.node.op == "Conv2DBackpropInputV2") {
    if (!n.hasRank(given, spatial + 2))
      return failure();
    sizes = GivenSizes{spatialSizes(*windows, n.type(given)),
                       n.shapeSlice(given, windows->dim(0), windows->dim(0) + spatial)};
  } else {
    sizes = givenSizes(n, *windows, given);
  }
  if (!sizes)
    return failure();
  int64_t channels = n.dim(gradient, windows->channelDim());
  int64_t outputs = n.dim(filter, spatial + 1);
  if (!ShapedType::isDynamic(channels) && channels != outputs)
    return n.invalid("found " + Twine(channels) + " channels for a filter of " + Twine(outputs));
  return n.result(
      convolveBack(n, gradient, filter, *windows, *window, sizes->known, sizes->computed, 1));
}

static LogicalResult depthwiseBackpropInput(NodeImport &n) {
  Value filter = n.in(1), gradient = n.in(2);
  if (!n.hasRank(filter, 4) || !n.hasRank(gradient, 4))
    return failure();
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  if (!windows || !window)
    return failure();
  auto sizes = givenSizes(n, *windows, n.in(0));
  if (!sizes)
    return failure();
  Ints shape = n.sizes(filter);
  // S… O/groups I: one result channel a group, I = C·M. Of no channels there is a group, too.
  int64_t groups = std::max<int64_t>(shape[2], 1);
  filter = n.reshape(filter, {shape[0], shape[1], shape[2] / groups, shape[2] * shape[3]});
  return n.result(
      convolveBack(n, gradient, filter, *windows, *window, sizes->known, sizes->computed, groups));
}

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
  RunTimePads border = runTimePads(n, windows, spatialSizesOf(n, windows, x), window);
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
      ends.push_back(n.add(reach, n.ints({at[i] + 1})));
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
  if (n.node.op == "Conv3DBackpropFilter" || n.node.op == "Conv2DBackpropFilterV2") {
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
  if (llvm::is_contained(filterShape, 0))
    return n.result(n.splat(n.element(x), filterShape, 0));
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
  int64_t batches = n.dim(x, 0);
  if (!pads || llvm::is_contained(sizes, ShapedType::kDynamic) ||
      llvm::is_contained(steps, ShapedType::kDynamic) ||
      (isDepthwise && ShapedType::isDynamic(batches)))
    return n.result(filterByPlaces(n, x, gradient, *windows, filterShape, isDepthwise));
  // As much behind as makes exactly the filter's size; negative crops.
  for (int64_t i = 0; i < spatial; ++i)
    (*pads)[2 * i + 1] = (window[i] - 1) * windows->dilations[i] +
                         (steps[i] - 1) * windows->strides[i] + 1 - sizes[i] - (*pads)[2 * i];
  IntVector swap = {spatial + 1};
  swap.append(axesFrom(1, spatial + 1));
  swap.push_back(0);
  int64_t channels = n.dim(x, spatial + 1);
  int64_t outputs = n.dim(gradient, spatial + 1);
  int64_t batch = batches;
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
  // A window that lies in the border alone would have no maximum.
  for (auto [i, pad] : llvm::enumerate(windows->explicitPads))
    if (pad >= (*window)[i / 2]) {
      (void)n.invalid("found an explicit padding of " + Twine(pad) + " for a window of " +
                      Twine((*window)[i / 2]) + ", which has to be larger");
      return std::nullopt;
    }
  requireRoom(n, x, *windows, *window);
  auto pads = padsFor(*windows, spatialSizes(*windows, n.type(x)), *window);
  if (pads)
    return PoolSpec{*windows, *window, *pads, std::nullopt};
  return PoolSpec{*windows, *window, IntVector(2 * spatial, 0),
                  runTimePads(n, *windows, spatialSizesOf(n, *windows, x), *window)};
}

Value weir::tf::pooling(NodeImport &n, Value x, const PoolSpec &spec, bool isMax) {
  if (!x)
    return {};
  Value fill = isMax ? extremeValue(n, n.element(x), true, true) : n.like(x, 0);
  Value pooled = n.op<PoolOp>(bordered(n, x, spec, fill), n.text(isMax ? "max" : "average"),
                              n.list(spec.window), n.list(spec.windows.strides), n.list(spec.pads),
                              n.list(spec.windows.dilations), n.flag(false), n.flag(false),
                              n.number(0), n.flag(spec.windows.channelsLast));
  if (isMax || !spec.border || !pooled)
    return pooled;
  // The border does not count: the mean over what lies inside.
  for (int64_t i = 0; i < spec.windows.spatial; ++i) {
    int64_t dim = spec.windows.dim(i);
    Value counts = windowCounts(n, spec.windows, *spec.border, i, n.sizeOf(x, dim),
                                n.sizeOf(pooled, dim), spec.window[i]);
    Value share = n.div(n.like(pooled, spec.window[i]), n.cast(counts, n.element(pooled)));
    pooled = n.mul(pooled, n.unsqueeze(share, axesFrom(1, n.rank(x) - dim)));
  }
  return pooled;
}

template <int64_t spatial, bool isMax> static LogicalResult pool(NodeImport &n) {
  Value x = n.in(0);
  auto spec = readPool(n, x, spatial);
  return spec ? n.result(weir::tf::pooling(n, x, *spec, isMax)) : failure();
}

static LogicalResult maxPoolWithArgmax(NodeImport &n) {
  Value x = n.in(0);
  if (failed(requireElements(n, x, "images")))
    return failure();
  auto spec = readPool(n, x, 2);
  if (!spec)
    return failure();
  Value all = bordered(n, x, *spec, extremeValue(n, n.element(x), true, true));
  Value values = n.op<PoolOp>(
      all, n.text("max"), n.list(spec->window), n.list(spec->windows.strides), n.list(spec->pads),
      n.list(spec->windows.dilations), n.flag(false), n.flag(false), n.number(0), n.flag(true));
  bool withBatch = n.isSet("include_batch_in_index");
  Type indexType = n.elementAttr("Targmax");
  Value index = n.op<MaxPoolIndexOp>(all, n.list(spec->window), n.list(spec->windows.strides),
                                     n.list(spec->pads), n.list(spec->windows.dilations),
                                     n.flag(false), n.flag(true), n.flag(!withBatch), n.flag(false),
                                     n.typeAttr(spec->border ? Type(n.b.getI64Type()) : indexType));
  if (spec->border && index) {
    // From places in the input with its border to those in the input.
    auto size = [&](Value v, int64_t dim) { return n.toScalar(n.sizeOf(v, dim)); };
    Value channels = size(x, 3), channel = n.op<RemOp>(index, channels);
    Value pixel = n.div(index, channels);
    // The border comes first where a window has nothing larger: its first element of the input
    // stands for it.
    auto within = [&](Value at, Value before) {
      return n.maximum(n.sub(at, n.toScalar(before)), 0.0);
    };
    Value column = within(n.op<RemOp>(pixel, size(all, 2)), spec->border->before[1]);
    Value line = n.div(pixel, size(all, 2));
    Value row = within(n.op<RemOp>(line, size(all, 1)), spec->border->before[0]);
    if (withBatch)
      row = n.add(n.mul(n.div(line, size(all, 1)), size(x, 1)), row);
    index = n.add(n.mul(n.add(n.mul(row, size(x, 2)), column), channels), channel);
    index = n.cast(index, indexType);
  }
  return n.results({values, index});
}

ArrayRef<OpImport> weir::tf::convolutionImports() {
  static const OpImport rows[] = {
      {"Conv", anyConv},
      {"Conv2D", conv<2>},
      {"Conv3D", conv<3>},
      {"DepthwiseConv2dNative", depthwiseConv},
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
      {"AvgPool", pool<2, false>},
      {"AvgPool3D", pool<3, false>},
      {"MaxPool", pool<2, true>},
      {"MaxPoolV2", pool<2, true>},
      {"MaxPool3D", pool<3, true>},
      {"MaxPoolWithArgmax", maxPoolWithArgmax},
  };
  return rows;
}
