//===- ImageImports.cpp - sizes and colours of images ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"
#include "compiler/frontend/tensorflow/Resampling.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// Resizing: [batch, height, width, channels]
//===----------------------------------------------------------------------===//

static bool isImage(NodeImport &n, Value x) {
  if (!x)
    return false;
  if (n.rank(x) == 4)
    return true;
  (void)n.invalid("expected rank 4, got " + Twine(n.rank(x)));
  return false;
}

/// Images with pixels, to sizes with pixels, by one rule for corners.
static LogicalResult checkResize(NodeImport &n, Value x, Value sizes) {
  if (!isImage(n, x) || !sizes)
    return failure();
  if (n.rank(sizes) != 1)
    return n.invalid("expected height and width, got rank " + Twine(n.rank(sizes)));
  if (failed(checkCorners(n)) ||
      failed(requireShape(n, sizes, n.ints({2}), "height and width asked for")))
    return failure();
  require(n, n.compare("gt", sizes, 0), "a size that is asked for is not above 0");
  require(n, n.compare("gt", n.shapeSlice(x, 1, 4), 0), "an image has no pixels");
  return success();
}

template <bool linear> static LogicalResult resize(NodeImport &n) {
  Value x = n.in(0), sizes = n.in(1);
  if (failed(checkResize(n, x, sizes)))
    return failure();
  Type f32 = n.b.getF32Type();
  if (linear)
    x = n.cast(x, f32);
  bool corners = n.isSet("align_corners"), half = n.isSet("half_pixel_centers");
  StringRef coordinates = !half ? "steps" : linear ? "steps_half_pixel" : "steps_half_pixel_for_nn";
  // Divided in f32, and then multiplied with: which sample is the nearest one
  // depends on it.
  Value steps;
  if (auto known = n.knownInts(1); known && known->size() == 2) {
    Ints shape = n.sizes(x);
    sizes = n.ints(*known);
    if (!ShapedType::isDynamic(shape[1]) && !ShapedType::isDynamic(shape[2]))
      steps = n.floats(
          {stepOf(shape[1], (*known)[0], corners), stepOf(shape[2], (*known)[1], corners)}, f32);
  }
  sizes = n.toI64(sizes);
  if (!steps)
    steps = n.concat({stepOf(n, sideOf(n, x, sizes, 1)), stepOf(n, sideOf(n, x, sizes, 2))}, 0);
  return n.result(n.op<ResizeOp>(x, sizes, steps, n.floats({0, 0, 1, 1}, f32), n.list({1, 2}),
                                 n.text(linear ? "linear" : "nearest"), n.text(coordinates),
                                 n.text(corners ? "round_prefer_ceil" : "floor"), n.real(-0.75),
                                 n.flag(false), n.real(0), n.flag(false)));
}

/// Bicubic: each sample from four, in both dimensions in turn.
static LogicalResult resizeCubic(NodeImport &n) {
  Value x = n.in(0), sizes = n.in(1);
  if (failed(checkResize(n, x, sizes)))
    return failure();
  x = n.cast(x, n.b.getF32Type());
  for (int64_t dim = 1; dim < 3; ++dim)
    x = applyTaps(n, x, cubicTaps(n, sideOf(n, n.in(0), sizes, dim)), dim);
  return n.result(x);
}

/// Area: each sample the mean of those that it covers.
static LogicalResult resizeArea(NodeImport &n) {
  Value x = n.in(0), sizes = n.in(1);
  if (failed(checkResize(n, x, sizes)))
    return failure();
  x = n.cast(x, n.b.getF32Type());
  for (int64_t dim = 1; dim < 3; ++dim)
    x = meanOfAreas(n, x, sideOf(n, n.in(0), sizes, dim), dim);
  return n.result(x);
}

//===----------------------------------------------------------------------===//
// Colours: the last dimension is red, green, blue
//===----------------------------------------------------------------------===//

static Value channel(NodeImport &n, Value x, int64_t index) {
  return x ? n.slice(x, n.rank(x) - 1, index, index + 1) : Value();
}

static Value fromChannels(NodeImport &n, Value a, Value b, Value c) {
  return a ? n.concat({a, b, c}, n.rank(a) - 1) : Value();
}

namespace {
struct Hsv {
  Value h, s, v;
};
} // namespace

static Hsv toHsv(NodeImport &n, Value rgb) {
  Value r = channel(n, rgb, 0), g = channel(n, rgb, 1), b = channel(n, rgb, 2);
  Value high = n.maximum(n.maximum(r, g), b);
  Value low = n.minimum(n.minimum(r, g), b);
  Value range = n.sub(high, low);
  Value zero = n.like(rgb, 0);
  Value some = n.compare("gt", range, 0);
  Value s = n.select(n.compare("gt", high, 0), n.div(range, high), zero);
  Value norm = n.div(n.like(rgb, 1.0 / 6), range);
  Value fromR = n.mul(norm, n.sub(g, b));
  Value fromG = n.add(n.mul(norm, n.sub(b, r)), 2.0 / 6);
  Value fromB = n.add(n.mul(norm, n.sub(r, g)), 4.0 / 6);
  Value h =
      n.select(n.compare("eq", r, high), fromR, n.select(n.compare("eq", g, high), fromG, fromB));
  h = n.select(some, h, zero);
  h = n.select(n.compare("lt", h, 0), n.add(h, 1.0), h);
  return {h, s, high};
}

/// How much of a channel a hue (0 to 1) has.
static Value hueRamp(NodeImport &n, Value hue, double centre, bool isRed) {
  Value h6 = n.mul(hue, 6.0);
  Value d = n.op<AbsOp>(n.sub(h6, centre));
  Value value = isRed ? n.sub(d, 1.0) : n.sub(n.like(h6, 2), d);
  return n.minimum(n.maximum(value, 0.0), 1.0);
}

static Value toRgb(NodeImport &n, Hsv hsv) {
  auto mix = [&](Value hue) {
    Value pale = n.sub(n.like(hsv.h, 1), hsv.s);
    return n.mul(n.add(n.mul(hue, hsv.s), pale), hsv.v);
  };
  return fromChannels(n, mix(hueRamp(n, hsv.h, 3, true)), mix(hueRamp(n, hsv.h, 2, false)),
                      mix(hueRamp(n, hsv.h, 4, false)));
}

/// Red, green and blue, and no other channels. `code`: what TensorFlow's status is else.
static LogicalResult checkColours(NodeImport &n, int64_t code = invalidArgument) {
  return requireSize(n, n.in(0), -1, 3, "images", code);
}

static LogicalResult rgbToHsv(NodeImport &n) {
  if (failed(checkColours(n, failedPrecondition)))
    return failure();
  Hsv hsv = toHsv(n, n.in(0));
  return n.result(fromChannels(n, hsv.h, hsv.s, hsv.v));
}

static LogicalResult hsvToRgb(NodeImport &n) {
  Value x = n.in(0);
  if (failed(checkColours(n, failedPrecondition)))
    return failure();
  return n.result(toRgb(n, {channel(n, x, 0), channel(n, x, 1), channel(n, x, 2)}));
}

/// Turns the hue; lightest and darkest channel stay what they are, also outside
/// of 0 to 1. The hue is counted in sixths of a turn, each of which has its order of
/// channels: where the middle one lies between the others is the rest. TensorFlow's
/// steps, since a hue near a sixth's end shows each rounding.
static LogicalResult adjustHue(NodeImport &n) {
  Value x = n.in(0), delta = n.in(1);
  if (!x || !delta || failed(checkColours(n)))
    return failure();
  Type type = n.element(x), f32 = n.b.getF32Type();
  Value rgb = n.cast(x, f32);
  Value r = channel(n, rgb, 0), g = channel(n, rgb, 1), b = channel(n, rgb, 2);
  Value isGreener = n.compare("lt", r, g);
  Value belowRed = n.compare("lt", b, r), aboveGreen = n.compare("gt", b, g);
  Value belowGreen = n.compare("lt", b, g), aboveRed = n.compare("gt", b, r);
  // The value of the sixth that a pixel lies in.
  auto choose = [&](std::array<Value, 6> of) {
    return n.select(isGreener, n.select(belowRed, of[1], n.select(aboveGreen, of[3], of[2])),
                    n.select(belowGreen, of[0], n.select(aboveRed, of[4], of[5])));
  };
  Value high = choose({r, g, g, b, b, r}), middle = choose({g, r, b, g, r, b});
  Value low = choose({b, b, r, r, g, g}), range = n.sub(high, low);
  Value share = n.div(n.sub(middle, low), range), rest = n.sub(n.like(share, 1), share);
  std::array<Value, 6> hues;
  for (int64_t i = 0; i < 6; ++i)
    hues[i] = n.add(i % 2 ? rest : share, double(i));
  Value hue = n.select(n.compare("eq", high, low), n.like(share, 0), choose(hues));
  hue = n.add(hue, n.mul(n.cast(delta, f32), 6.0));
  hue = n.op<RemOp>(hue, n.like(hue, 6));
  hue = n.select(n.compare("lt", hue, 0), n.add(hue, 6.0), hue);
  hue = n.select(n.compare("ge", hue, 6), n.sub(hue, 6.0), hue);
  Value sixth = n.op<FloorOp>(hue);
  share = n.sub(hue, sixth);
  Value isOdd = n.compare("ne", n.op<RemOp>(sixth, n.like(sixth, 2)), 0);
  share = n.select(isOdd, n.sub(n.like(share, 1), share), share);
  middle = n.add(low, n.mul(share, range));
  auto pick = [&](std::array<Value, 6> of) {
    Value picked = of[5];
    for (int64_t i = 4; i >= 0; --i)
      picked = n.select(n.compare("lt", hue, double(i + 1)), of[i], picked);
    return picked;
  };
  return n.result(n.cast(fromChannels(n, pick({high, middle, low, low, middle, high}),
                                      pick({middle, high, high, middle, low, low}),
                                      pick({low, low, middle, high, high, middle})),
                         type));
}

static LogicalResult adjustSaturation(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1);
  if (!x || !scale || failed(checkColours(n)))
    return failure();
  Type type = n.element(x);
  Hsv hsv = toHsv(n, n.cast(x, n.b.getF32Type()));
  Value s = n.mul(hsv.s, n.cast(scale, n.b.getF32Type()));
  hsv.s = n.minimum(n.maximum(s, 0.0), 1.0);
  return n.result(n.cast(toRgb(n, hsv), type));
}

/// (x - mean) factor + mean, the mean over height and width.
static LogicalResult adjustContrast(NodeImport &n) {
  Value x = n.in(0), factor = n.in(1);
  if (!x || !factor)
    return failure();
  Type type = n.element(x), f32 = n.b.getF32Type();
  int64_t rank = n.rank(x);
  if (rank < 3)
    return n.invalid("expected rank 3 or more, got " + Twine(rank));
  Value wide = n.cast(x, f32);
  Value mean = n.reduce(wide, "mean", {rank - 3, rank - 2}, true);
  Value result = n.add(n.mul(n.sub(wide, mean), n.cast(factor, f32)), mean);
  if (n.node.op == "AdjustContrast")
    result = n.minimum(n.maximum(result, n.cast(n.in(2), f32)), n.cast(n.in(3), f32));
  return n.result(n.node.op == "AdjustContrast" ? result : n.cast(result, type));
}

ArrayRef<OpImport> weir::tf::imageImports() {
  static const OpImport rows[] = {
      {"ResizeBilinear", resize<true>},
      {"ResizeNearestNeighbor", resize<false>},
      {"ResizeBicubic", resizeCubic},
      {"ResizeArea", resizeArea},
      {"RGBToHSV", rgbToHsv},
      {"HSVToRGB", hsvToRgb},
      {"AdjustHue", adjustHue},
      {"AdjustSaturation", adjustSaturation},
      {"AdjustContrast", adjustContrast},
      {"AdjustContrastv2", adjustContrast},
  };
  return rows;
}
