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

std::optional<WindowSizes> weir::tf::filterWindow(NodeImport &n, Value filter, int64_t spatial) {
  if (!n.hasRank(filter, spatial + 2))
    return std::nullopt;
  WindowSizes window(IntVector(n.sizes(filter).take_front(spatial)));
  for (int64_t i = 0; i < spatial; ++i)
    if (window.isOpen(i))
      window.computed[i] = n.sizeOf(filter, i);
  return window;
}

void weir::tf::requireRoom(NodeImport &n, Value x, const Windows &windows,
                           const WindowSizes &window) {
  if (windows.padding == Windows::Same)
    return;
  for (int64_t i = 0; i < windows.spatial; ++i) {
    // TensorFlow divides what is left, and a step, by the step, and rounds towards zero.
    int64_t least = 1 - 2 * windows.strides[i];
    if (windows.padding == Windows::Explicit)
      least -= windows.explicitPads[2 * i] + windows.explicitPads[2 * i + 1];
    Value size = n.sizeOf(x, windows.dim(i));
    if (window.isOpen(i))
      size = n.sub(size, reachOf(n, windows, window, i));
    else
      least += (window.known[i] - 1) * windows.dilations[i] + 1;
    if (window.isOpen(i) || (least > 0 && n.type(x).isDynamicDim(windows.dim(i))))
      require(n, n.compare("ge", size, static_cast<double>(least)),
              "an image is smaller than the filter");
  }
}

Value weir::tf::orderFilter(NodeImport &n, Value filter, const Windows &windows) {
  if (windows.channelsLast)
    return filter;
  IntVector order = {windows.spatial + 1, windows.spatial};
  order.append(axesFrom(0, windows.spatial));
  return n.transpose(filter, order);
}

Value weir::tf::convolve(NodeImport &n, Value x, Value filter, Windows windows, int64_t groups,
                         const WindowSizes &window) {
  if (!n.hasRank(x, windows.spatial + 2) || !filter)
    return {};
  auto pads = padsFor(windows, spatialSizes(windows, n.type(x)), window.known);
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

/// How many groups a filter makes of the channels of `x`; reports what is none. Where only the run
/// knows, it is one, of which the run makes sure, and `x` has the filter's channels then.
static std::optional<int64_t> filterGroups(NodeImport &n, Value &x, Value filter,
                                           const Windows &windows) {
  int64_t dim = windows.channelDim(), inner = windows.spatial;
  int64_t channels = n.dim(x, dim), own = n.dim(filter, inner);
  constexpr const char *uneven = "the channels do not divide into groups of as many filters";
  Value outputs = n.sizeOf(filter, inner + 1);
  if (!ShapedType::isDynamic(channels) && !ShapedType::isDynamic(own)) {
    if (own == 0 || channels % own || channels == 0) {
      (void)n.invalid("found " + Twine(channels) + " channels for a filter of " + Twine(own));
      return std::nullopt;
    }
    int64_t groups = channels / own;
    if (n.type(filter).isDynamicDim(inner + 1) && groups > 1)
      require(n, n.compare("eq", n.op<RemOp>(outputs, n.ints({groups})), 0.0), uneven);
    return groups;
  }
  Value size = n.sizeOf(x, dim), each = n.sizeOf(filter, inner);
  Value divisor = n.maximum(each, 1.0);
  Value groups = n.div(size, divisor);
  Value isEven =
      n.op<AndOp>(n.compare("eq", n.mul(groups, each), size), n.compare("gt", size, 0.0));
  Value fits = n.compare("eq", n.op<RemOp>(outputs, n.maximum(groups, 1.0)), 0.0);
  Value areGroups = n.op<AndOp>(isEven, fits);
  require(n, areGroups, uneven);
  // Whichever is looked at first.
  require(n, n.op<OrOp>(n.compare("eq", size, each), n.logicalNot(areGroups)),
          "the program was compiled for a convolution of one group; give the channels with --shape",
          unimplemented);
  // Feeds take a size that a convolution asks for, and would refuse groups as what does not fit.
  if (!ShapedType::isDynamic(own))
    x = n.reshapeTo(
        x, n.concat({n.shapeSlice(x, 0, dim), each, n.shapeSlice(x, dim + 1, n.rank(x))}, 0));
  return 1;
}

template <int64_t spatial> static LogicalResult conv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!n.hasRank(x, spatial + 2) || !n.hasRank(filter, spatial + 2))
    return failure();
  auto windows = readWindows(n, spatial);
  auto window = filterWindow(n, filter, spatial);
  if (!windows || !window)
    return failure();
  // Filters of no result are none that TensorFlow's Conv2D looks at; its other convolutions do.
  int64_t outputs = n.dim(filter, spatial + 1);
  if (spatial == 3 || n.node.op == "Conv") {
    if (failed(requireElements(n, filter, "filters")))
      return failure();
  } else if (ShapedType::isDynamic(outputs)) {
    Value hasSome = n.compare("gt", n.sizeProduct(filter, 0, spatial + 2), 0);
    require(n, n.op<OrOp>(hasSome, n.compare("eq", n.sizeOf(filter, spatial + 1), 0)),
            "there are no filters");
  } else if (outputs != 0 && failed(requireElements(n, filter, "filters"))) {
    return failure();
  }
  requireRoom(n, x, *windows, *window);
  auto groups = filterGroups(n, x, filter, *windows);
  return groups ? n.result(convolve(n, x, filter, *windows, *groups, *window)) : failure();
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

std::optional<int64_t> weir::tf::filterPerChannel(NodeImport &n, int64_t channels, Value &filter) {
  int64_t own = n.dim(filter, 2);
  if (ShapedType::isDynamic(own)) {
    if (ShapedType::isDynamic(channels)) {
      (void)n.unsupported("expected channels whose number is known, of the images or of the "
                          "filter, got open ones; --shape gives it");
      return std::nullopt;
    }
    require(n, n.compare("eq", n.sizeOf(filter, 2), static_cast<double>(channels)),
            "the filter has other channels than the images");
    own = channels;
  }
  // Of no channels there is a group, too.
  int64_t groups = std::max<int64_t>(own, 1);
  Value outputs = n.mul(n.sizeOf(filter, 3), static_cast<double>(own));
  filter = n.reshapeTo(filter,
                       n.concat({n.shapeSlice(filter, 0, 2), n.ints({own / groups}), outputs}, 0));
  return groups;
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
  auto groups = filterPerChannel(n, n.dim(x, windows->channelDim()), filter);
  return groups ? n.result(convolve(n, x, filter, *windows, *groups, *window)) : failure();
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
  if (n.node.op == "MaxPoolV2" && hasComputedWindows(n, 1))
    return maxPoolOfComputedWindows(n);
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
      {"AvgPool", pool<2, false>},
      {"AvgPool3D", pool<3, false>},
      {"MaxPool", pool<2, true>},
      {"MaxPoolV2", pool<2, true>},
      {"MaxPool3D", pool<3, true>},
      {"MaxPoolWithArgmax", maxPoolWithArgmax},
  };
  return rows;
}
