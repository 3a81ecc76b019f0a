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
    (void)n.invalid("found " + Twine(whole.size()) + " " + Twine(std::string(what)) +
                    "; possible are " + Twine(spatial + 2));
    return std::nullopt;
  }
  if (whole[0] != 1 || whole[windows.channelDim()] != 1) {
    (void)n.unsupported("found " + Twine(std::string(what)) +
                        " over batch or channels; possible is 1 there");
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
  if (format == "NCHW" || format == "NCDHW") {
    windows.channelsLast = false;
  } else if (!format.empty() && format != "NHWC" && format != "NDHWC") {
    (void)n.unsupported("found data format " + Twine(std::string(format)) +
                        "; possible are channels last and channels first");
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
    (void)n.invalid("found padding " + Twine(std::string(padding)) +
                    "; possible are SAME, VALID and EXPLICIT");
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
