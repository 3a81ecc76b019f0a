//===- Windows.cpp - sliding windows as TensorFlow says them --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Windows.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

std::optional<IntVector> weir::tf::spatialOf(NodeImport &n, const Windows &windows, Ints whole,
                                             std::string_view what) {
  int64_t spatial = windows.spatial;
  IntVector result;
  if (whole.empty()) {
    result.assign(spatial, 1);
    return result;
  }
  if (static_cast<int64_t>(whole.size()) != spatial + 2) {
    (void)n.invalid("expected " + Twine(spatial + 2) + " " + Twine(std::string(what)) + ", got " +
                    Twine(whole.size()));
    return std::nullopt;
  }
  if (whole[0] != 1 || whole[windows.channelDim()] != 1) {
    (void)n.unsupported("expected " + Twine(std::string(what)) +
                        " of 1 over batch and channels, got another value");
    return std::nullopt;
  }
  for (int64_t i = 0; i < spatial; ++i) {
    result.push_back(whole[windows.dim(i)]);
    if (!n.isStep(result.back())) {
      (void)n.invalid("found " + Twine(std::string(what)) + " of " + Twine(result.back()));
      return std::nullopt;
    }
  }
  return result;
}

std::optional<Windows> weir::tf::readWindows(NodeImport &n, int64_t spatial) {
  Windows windows;
  windows.spatial = spatial;
  std::string_view format = n.s("data_format");
  if (format == "NCHW" || format == "NCDHW" || format == "CHANNELS_FIRST") {
    windows.channelsLast = false;
  } else if (!format.empty() && format != "NHWC" && format != "NDHWC" &&
             format != "CHANNELS_LAST") {
    (void)n.unsupported("expected a data format of channels last or channels first, got " +
                        Twine(std::string(format)));
    return std::nullopt;
  }
  auto strides = spatialOf(n, windows, n.is("strides"), "strides");
  auto dilations = spatialOf(n, windows, n.is("dilations"), "dilations");
  if (!strides || !dilations)
    return std::nullopt;
  windows.strides = *strides;
  windows.dilations = *dilations;
  std::string_view padding = n.s("padding");
  if (padding == "SAME") {
    windows.padding = Windows::Same;
  } else if (padding == "EXPLICIT") {
    windows.padding = Windows::Explicit;
    IntVector pads = n.is("explicit_paddings");
    if (static_cast<int64_t>(pads.size()) != 2 * (spatial + 2)) {
      (void)n.invalid("found " + Twine(pads.size()) + " explicit paddings");
      return std::nullopt;
    }
    if (llvm::any_of(pads, [&](int64_t pad) { return pad != 0 && !n.isStep(pad); })) {
      (void)n.invalid("found explicit paddings that are not in [0, 2^31)");
      return std::nullopt;
    }
    for (int64_t i = 0; i < spatial; ++i) {
      windows.explicitPads.push_back(pads[2 * windows.dim(i)]);
      windows.explicitPads.push_back(pads[2 * windows.dim(i) + 1]);
    }
  } else if (padding != "VALID") {
    (void)n.invalid("expected padding SAME, VALID or EXPLICIT, got " + Twine(std::string(padding)));
    return std::nullopt;
  }
  return windows;
}

IntVector weir::tf::spatialSizes(const Windows &windows, RankedTensorType type) {
  IntVector sizes;
  for (int64_t i = 0; i < windows.spatial; ++i)
    sizes.push_back(type.getDimSize(windows.dim(i)));
  return sizes;
}

std::optional<IntVector> weir::tf::padsFor(const Windows &windows, Ints sizes, Ints window) {
  IntVector pads;
  if (windows.padding == Windows::Explicit)
    return windows.explicitPads;
  for (int64_t i = 0; i < windows.spatial; ++i) {
    if (windows.padding == Windows::Valid) {
      pads.append({0, 0});
      continue;
    }
    int64_t stride = windows.strides[i];
    int64_t reach = (window[i] - 1) * windows.dilations[i] + 1;
    int64_t total = reach - 1;
    if (stride > 1) {
      if (ShapedType::isDynamic(sizes[i]))
        return std::nullopt;
      int64_t steps = (sizes[i] + stride - 1) / stride;
      total = std::max<int64_t>((steps - 1) * stride + reach - sizes[i], 0);
    }
    // What is odd goes after.
    pads.append({total / 2, total - total / 2});
  }
  return pads;
}

SmallVector<Value> weir::tf::spatialSizesOf(NodeImport &n, const Windows &windows, Value x) {
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < windows.spatial; ++i)
    sizes.push_back(n.sizeOf(x, windows.dim(i)));
  return sizes;
}

RunTimePads weir::tf::runTimePads(NodeImport &n, const Windows &windows, ArrayRef<Value> sizes,
                                  Ints window) {
  RunTimePads pads;
  for (int64_t i = 0; i < windows.spatial; ++i) {
    if (windows.padding != Windows::Same) {
      bool isGiven = windows.padding == Windows::Explicit;
      pads.before.push_back(n.ints({isGiven ? windows.explicitPads[2 * i] : 0}));
      pads.after.push_back(n.ints({isGiven ? windows.explicitPads[2 * i + 1] : 0}));
      continue;
    }
    int64_t stride = windows.strides[i];
    int64_t reach = (window[i] - 1) * windows.dilations[i] + 1;
    Value steps = n.div(n.add(sizes[i], n.ints({stride - 1})), n.ints({stride}));
    Value last = n.mul(n.sub(steps, n.ints({1})), n.ints({stride}));
    Value total = n.maximum(n.sub(n.add(last, n.ints({reach})), sizes[i]), n.ints({0}));
    // What is odd goes after.
    pads.before.push_back(n.div(total, n.ints({2})));
    pads.after.push_back(n.sub(total, pads.before.back()));
  }
  return pads;
}

Value weir::tf::padAtRunTime(NodeImport &n, Value x, const Windows &windows,
                             const RunTimePads &pads, Value fill) {
  if (!x)
    return {};
  int64_t rank = n.rank(x);
  SmallVector<Value> all(2 * rank, n.ints({0}));
  for (int64_t i = 0; i < windows.spatial; ++i) {
    all[windows.dim(i)] = pads.before[i];
    all[rank + windows.dim(i)] = pads.after[i];
  }
  return n.op<PadOp>(x, n.concat(all, 0), fill, n.text("constant"));
}

Value weir::tf::cropAtRunTime(NodeImport &n, Value x, const Windows &windows,
                              const RunTimePads &pads, ArrayRef<Value> sizes) {
  for (int64_t i = 0; x && i < windows.spatial; ++i)
    x = n.op<SliceOp>(x, pads.before[i], n.add(pads.before[i], sizes[i]), n.ints({1}),
                      n.list({windows.dim(i)}), n.flag(false));
  return x;
}

Value weir::tf::windowCounts(NodeImport &n, const Windows &windows, const RunTimePads &pads,
                             int64_t i, Value size, Value steps, int64_t window) {
  Value index = n.op<IotaOp>(steps, n.number(0), n.typeAttr(n.b.getI64Type()));
  Value begin = n.sub(n.mul(index, n.ints({windows.strides[i]})), pads.before[i]);
  Value end = n.minimum(n.add(begin, n.ints({window})), size);
  return n.maximum(n.sub(end, n.maximum(begin, n.ints({0}))), n.ints({1}));
}

Value weir::tf::bordered(NodeImport &n, Value x, const PoolSpec &spec, Value fill) {
  return spec.border ? padAtRunTime(n, x, spec.windows, *spec.border, fill) : x;
}
