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
    if (ShapedType::isDynamic(window[i]))
      return std::nullopt;
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

Value weir::tf::reachOf(NodeImport &n, const Windows &windows, const WindowSizes &window,
                        int64_t i) {
  if (!window.isOpen(i))
    return n.ints({(window.known[i] - 1) * windows.dilations[i] + 1});
  Value steps = n.sub(window.computed[i], 1.0);
  return n.add(n.mul(steps, static_cast<double>(windows.dilations[i])), 1.0);
}

RunTimePads weir::tf::runTimePads(NodeImport &n, const Windows &windows, ArrayRef<Value> sizes,
                                  const WindowSizes &window) {
  RunTimePads pads;
  for (int64_t i = 0; i < windows.spatial; ++i) {
    if (windows.padding != Windows::Same) {
      bool isGiven = windows.padding == Windows::Explicit;
      pads.before.push_back(n.ints({isGiven ? windows.explicitPads[2 * i] : 0}));
      pads.after.push_back(n.ints({isGiven ? windows.explicitPads[2 * i + 1] : 0}));
      continue;
    }
    int64_t stride = windows.strides[i];
    Value reach = reachOf(n, windows, window, i);
    Value steps = n.div(n.add(sizes[i], n.ints({stride - 1})), n.ints({stride}));
    Value last = n.mul(n.sub(steps, n.ints({1})), n.ints({stride}));
    Value total = n.maximum(n.sub(n.add(last, reach), sizes[i]), n.ints({0}));
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

std::optional<DilationSpec> weir::tf::readDilation(NodeImport &n, Value x, Value filter) {
  IntVector strides = n.is("strides"), rates = n.is("rates");
  if (!n.hasRank(x, 4) || !n.hasRank(filter, 3))
    return std::nullopt;
  if (strides.size() != 4 || rates.size() != 4) {
    (void)n.invalid("found strides or rates that are no four numbers");
    return std::nullopt;
  }
  DilationSpec spec;
  spec.window = WindowSizes(IntVector(n.sizes(filter).take_front(2)));
  for (int64_t i = 0; i < 2; ++i)
    if (spec.window.isOpen(i))
      spec.window.computed[i] = n.sizeOf(filter, i);
  auto elements = frontend::productOf(spec.window.known);
  spec.isUnrolled = !ShapedType::isDynamicShape(spec.window.known) && elements && *elements <= 1024;
  for (int64_t i = 1; i <= 2; ++i) {
    if (!n.isStep(strides[i]) || !n.isStep(rates[i])) {
      (void)n.invalid("found a stride or rate that is not in [1, 2^31)");
      return std::nullopt;
    }
    spec.windows.strides.push_back(strides[i]);
    spec.windows.dilations.push_back(rates[i]);
  }
  spec.windows.padding = n.s("padding") == "SAME" ? Windows::Same : Windows::Valid;
  requireRoom(n, x, spec.windows, spec.window);
  SmallVector<Value> sizes = spatialSizesOf(n, spec.windows, x);
  spec.border = runTimePads(n, spec.windows, sizes, spec.window);
  for (int64_t i = 0; i < 2; ++i) {
    Value whole = n.add(sizes[i], n.add(spec.border.before[i], spec.border.after[i]));
    double stride = static_cast<double>(strides[1 + i]);
    Value room = n.add(n.sub(whole, reachOf(n, spec.windows, spec.window, i)), stride);
    spec.steps.push_back(n.div(n.maximum(room, 0.0), stride));
    // What is known is of a known size.
    if (auto known = constantIntegers(spec.steps.back()))
      spec.steps.back() = n.ints(*known);
  }
  return spec;
}

Value weir::tf::dilatedPlaces(NodeImport &n, const DilationSpec &spec, int64_t i) {
  auto ramp = [&](Value count, int64_t step) {
    Value index = n.op<IotaOp>(count, n.number(0), n.typeAttr(n.b.getI64Type()));
    return n.mul(index, static_cast<double>(step));
  };
  Value taps = spec.window.isOpen(i) ? spec.window.computed[i] : n.ints({spec.window.known[i]});
  return n.add(n.unsqueeze(ramp(spec.steps[i], spec.windows.strides[i]), {1}),
               ramp(taps, spec.windows.dilations[i]));
}

Value weir::tf::dilatedWindows(NodeImport &n, Value padded, const DilationSpec &spec) {
  Value rows = n.gather(padded, dilatedPlaces(n, spec, 0), 1);
  return n.transpose(n.gather(rows, dilatedPlaces(n, spec, 1), 3), {0, 1, 3, 2, 4, 5});
}

Value weir::tf::dilatedPart(NodeImport &n, Value padded, const DilationSpec &spec, int64_t h,
                            int64_t w) {
  SmallVector<Value> ends;
  IntVector starts = {h * spec.windows.dilations[0], w * spec.windows.dilations[1]};
  for (int64_t i = 0; i < 2; ++i) {
    Value reach = n.mul(n.sub(spec.steps[i], 1.0), static_cast<double>(spec.windows.strides[i]));
    // Of no windows: nothing.
    ends.push_back(
        n.maximum(n.add(reach, static_cast<double>(starts[i] + 1)), n.ints({starts[i]})));
  }
  return n.op<SliceOp>(padded, n.ints(starts), n.concat(ends, 0), n.ints(spec.windows.strides),
                       n.list({1, 2}), n.flag(false));
}
