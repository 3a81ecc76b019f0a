//===- ImageImports.cpp - sizes and colours of images ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"
#include "compiler/frontend/tensorflow/Resampling.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// Resizing: [batch, height, width, channels]
//===----------------------------------------------------------------------===//

template <bool linear> static LogicalResult resize(NodeImport &n) {
  Value x = n.in(0), sizes = n.in(1);
  if (!x || !sizes)
    return failure();
  if (n.rank(x) != 4)
    return n.invalid("found rank " + Twine(n.rank(x)) + "; possible is 4");
  Type f32 = n.b.getF32Type();
  if (linear)
    x = n.cast(x, f32);
  bool corners = n.isSet("align_corners"), half = n.isSet("half_pixel_centers");
  StringRef coordinates = corners         ? "align_corners"
                          : half && !linear ? "tf_half_pixel_for_nn"
                          : half          ? "half_pixel"
                                          : "asymmetric";
  sizes = n.toI64(sizes);
  Value input = n.cast(n.shapeSlice(x, 1, 3), f32);
  Value scales = n.div(n.cast(sizes, f32), input);
  if (auto known = n.knownInts(1); known && known->size() == 2) {
    Ints shape = n.type(x).getShape();
    sizes = n.ints(*known);
    if (!ShapedType::isDynamic(shape[1]) && !ShapedType::isDynamic(shape[2]))
      scales = n.floats({static_cast<double>((*known)[0]) / shape[1],
                         static_cast<double>((*known)[1]) / shape[2]},
                        f32);
  }
  return n.result(n.op<ResizeOp>(
      x, sizes, scales, n.floats({0, 0, 1, 1}, f32), n.list({1, 2}),
      n.text(linear ? "linear" : "nearest"), n.text(coordinates),
      n.text(corners ? "round_prefer_ceil" : "floor"), n.real(-0.75),
      n.flag(false), n.real(0), n.flag(false)));
}

/// Bicubic and area: each result row is a fixed mix of rows, each column of
/// columns.
static LogicalResult resizeByWeights(NodeImport &n) {
  Value x = n.in(0);
  auto sizes = n.constantInts(1);
  if (!x || !sizes)
    return failure();
  if (n.rank(x) != 4 || sizes->size() != 2)
    return n.invalid("found rank " + Twine(n.rank(x)) + "; possible is 4");
  Type f32 = n.b.getF32Type();
  x = n.cast(x, f32);
  for (int i = 0; i < 2 && x; ++i) {
    int64_t from = n.type(x).getDimSize(1 + i), to = (*sizes)[i];
    if (ShapedType::isDynamic(from) || from * to > (1 << 24) || from <= 0 ||
        to <= 0)
      return n.unsupported("found sizes that are not known, or very large");
    Resampling how{from, to, n.isSet("align_corners"),
                   n.isSet("half_pixel_centers")};
    std::vector<float> weights = n.node.op == "ResizeArea"
                                     ? areaWeights(how)
                                     : cubicWeights(how);
    Value matrix = n.constant(DenseElementsAttr::get(
        RankedTensorType::get({to, from}, f32), ArrayRef<float>(weights)));
    // Dimension 1 + i goes last, and its result comes back there.
    Value mixed = n.op<DotGeneralOp>(x, matrix, n.list({}), n.list({}),
                                     n.list({1 + i}), n.list({1}),
                                     n.typeAttr(f32));
    x = i == 0 ? n.transpose(mixed, {0, 3, 1, 2})
               : n.transpose(mixed, {0, 1, 3, 2});
  }
  return n.result(x);
}

/// Boxes (y1, x1, y2, x2; 0 to 1) cut out of images and brought to one size.
static LogicalResult cropAndResize(NodeImport &n) {
  Value image = n.in(0), boxes = n.in(1), which = n.in(2);
  auto crop = n.constantInts(3);
  if (!image || !boxes || !which || !crop)
    return failure();
  Type f32 = n.b.getF32Type(), i64 = n.b.getI64Type();
  bool nearest = n.s("method") == "nearest";
  image = n.cast(image, f32);
  // Positions along one side of each box: [boxes, size].
  auto positions = [&](int64_t dim, int64_t size) -> Value {
    Value low = n.slice(boxes, 1, dim, dim + 1),
          high = n.slice(boxes, 1, dim + 2, dim + 3);
    Value last = n.cast(n.sub(n.sizeOf(image, 1 + dim), n.ints({1})), f32);
    if (size == 1)
      return n.mul(n.mul(n.add(low, high), 0.5), last);
    Value index = n.op<IotaOp>(n.ints({size}), n.number(0), n.typeAttr(f32));
    Value step = n.div(n.mul(n.sub(high, low), last),
                       static_cast<double>(size - 1));
    return n.add(n.mul(low, last), n.mul(index, step));
  };
  Value y = positions(0, (*crop)[0]), x = positions(1, (*crop)[1]);
  if (!y || !x)
    return failure();
  auto lastOf = [&](int64_t dim) {
    return n.cast(n.sub(n.sizeOf(image, 1 + dim), n.ints({1})), f32);
  };
  auto inside = [&](Value at, int64_t dim) {
    return n.op<AndOp>(n.compare("ge", at, 0),
                       n.compare("le", at, lastOf(dim)));
  };
  auto clamp = [&](Value at, int64_t dim) {
    return n.minimum(n.maximum(at, 0.0), lastOf(dim));
  };
  Value ok = n.op<AndOp>(n.unsqueeze(inside(y, 0), {2}),
                         n.unsqueeze(inside(x, 1), {1})); // [boxes, h, w]
  if (!ok)
    return failure();
  Value batch = n.unsqueeze(n.cast(which, i64), {1, 2});
  Value shape = n.shapeOf(ok);
  auto pixel = [&](Value row, Value column) -> Value {
    auto plane = [&](Value v, int64_t axis) {
      return n.unsqueeze(n.expandTo(n.unsqueeze(n.cast(v, i64), {axis}), shape),
                         {3});
    };
    Value index = n.concat({n.unsqueeze(n.expandTo(batch, shape), {3}),
                            plane(row, 2), plane(column, 1)},
                           3);
    return n.op<GatherNdOp>(image, index, n.number(0), n.flag(false));
  };
  Value result;
  if (nearest) {
    result = pixel(n.op<RoundOp>(clamp(y, 0)), n.op<RoundOp>(clamp(x, 1)));
  } else {
    Value top = n.op<FloorOp>(clamp(y, 0)), left = n.op<FloorOp>(clamp(x, 1));
    Value bottom = n.op<CeilOp>(clamp(y, 0)), right = n.op<CeilOp>(clamp(x, 1));
    Value wy = n.unsqueeze(n.sub(clamp(y, 0), top), {2, 3});
    Value wx = n.unsqueeze(n.sub(clamp(x, 1), left), {1, 3});
    auto mix = [&](Value from, Value to, Value weight) {
      return n.add(from, n.mul(n.sub(to, from), weight));
    };
    Value upper = mix(pixel(top, left), pixel(top, right), wx);
    Value lower = mix(pixel(bottom, left), pixel(bottom, right), wx);
    result = mix(upper, lower, wy);
  }
  return n.result(n.select(n.unsqueeze(ok, {3}), result,
                           n.scalar(f32, n.f("extrapolation_value"))));
}

/// Windows of an image, laid out along the channels.
static LogicalResult extractPatches(NodeImport &n) {
  Value x = n.in(0);
  IntVector sizes = n.is("ksizes"), strides = n.is("strides"),
            rates = n.is("rates");
  if (!x || sizes.size() != 4 || strides.size() != 4 || rates.size() != 4)
    return failure();
  if (n.rank(x) != 4 || !n.type(x).hasStaticShape() ||
      sizes[1] * sizes[2] > 4096)
    return n.unsupported("found shapes that are not known, or very large");
  Ints shape = n.type(x).getShape();
  IntVector pads(8, 0), steps;
  for (int i = 1; i < 3; ++i) {
    int64_t reach = (sizes[i] - 1) * rates[i] + 1, total = 0, count;
    if (n.s("padding") == "SAME") {
      count = (shape[i] + strides[i] - 1) / strides[i];
      total = std::max<int64_t>((count - 1) * strides[i] + reach - shape[i], 0);
    } else {
      count = (shape[i] - reach + strides[i]) / strides[i];
    }
    pads[i] = total / 2;
    pads[4 + i] = total - total / 2;
    steps.push_back(count);
  }
  Value padded = n.op<PadOp>(x, n.ints(pads), n.like(x, 0), n.text("constant"));
  SmallVector<Value> parts;
  for (int64_t h = 0; h < sizes[1]; ++h)
    for (int64_t w = 0; w < sizes[2]; ++w) {
      int64_t top = h * rates[1], left = w * rates[2];
      parts.push_back(n.op<SliceOp>(
          padded, n.ints({top, left}),
          n.ints({top + (steps[0] - 1) * strides[1] + 1,
                  left + (steps[1] - 1) * strides[2] + 1}),
          n.ints({strides[1], strides[2]}), n.list({1, 2}), n.flag(false)));
    }
  return n.result(n.concat(parts, 3));
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
  Value h = n.select(n.compare("eq", r, high), fromR,
                     n.select(n.compare("eq", g, high), fromG, fromB));
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
  return fromChannels(n, mix(hueRamp(n, hsv.h, 3, true)),
                      mix(hueRamp(n, hsv.h, 2, false)),
                      mix(hueRamp(n, hsv.h, 4, false)));
}

static LogicalResult rgbToHsv(NodeImport &n) {
  Hsv hsv = toHsv(n, n.in(0));
  return n.result(fromChannels(n, hsv.h, hsv.s, hsv.v));
}

static LogicalResult hsvToRgb(NodeImport &n) {
  Value x = n.in(0);
  return n.result(
      toRgb(n, {channel(n, x, 0), channel(n, x, 1), channel(n, x, 2)}));
}

/// Turns the hue; lightest and darkest channel stay what they are, also outside
/// of 0 to 1.
static LogicalResult adjustHue(NodeImport &n) {
  Value x = n.in(0), delta = n.in(1);
  if (!x || !delta)
    return failure();
  Type type = n.element(x);
  Value rgb = n.cast(x, n.b.getF32Type());
  Hsv hsv = toHsv(n, rgb);
  Value low = n.reduce(rgb, "min", {n.rank(x) - 1}, true);
  Value h = n.add(hsv.h, n.cast(delta, n.b.getF32Type()));
  h = n.sub(h, n.op<FloorOp>(h));
  Value range = n.sub(hsv.v, low);
  auto mix = [&](Value hue) { return n.add(low, n.mul(hue, range)); };
  Value turned = fromChannels(n, mix(hueRamp(n, h, 3, true)),
                              mix(hueRamp(n, h, 2, false)),
                              mix(hueRamp(n, h, 4, false)));
  return n.result(n.cast(turned, type));
}

static LogicalResult adjustSaturation(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1);
  if (!x || !scale)
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
    return n.invalid("found rank " + Twine(rank) + "; possible is 3 and more");
  Value wide = n.cast(x, f32);
  Value mean = n.reduce(wide, "mean", {rank - 3, rank - 2}, true);
  Value result = n.add(n.mul(n.sub(wide, mean), n.cast(factor, f32)), mean);
  if (n.node.op == "AdjustContrast")
    result = n.minimum(n.maximum(result, n.cast(n.in(2), f32)),
                       n.cast(n.in(3), f32));
  return n.result(n.node.op == "AdjustContrast" ? result
                                                : n.cast(result, type));
}

ArrayRef<OpImport> weir::tf::imageImports() {
  static const OpImport rows[] = {
      {"ResizeBilinear", resize<true>},
      {"ResizeNearestNeighbor", resize<false>},
      {"ResizeBicubic", resizeByWeights},
      {"ResizeArea", resizeByWeights},
      {"CropAndResize", cropAndResize},
      {"ExtractImagePatches", extractPatches},
      {"RGBToHSV", rgbToHsv},
      {"HSVToRGB", hsvToRgb},
      {"AdjustHue", adjustHue},
      {"AdjustSaturation", adjustSaturation},
      {"AdjustContrast", adjustContrast},
      {"AdjustContrastv2", adjustContrast},
  };
  return rows;
}
