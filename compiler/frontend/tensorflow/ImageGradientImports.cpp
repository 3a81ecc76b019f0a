//===- ImageGradientImports.cpp - gradients of resizing, free scales ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Resampling.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static bool isImage(NodeImport &n, Value x) {
  if (!x)
    return false;
  if (n.rank(x) == 4)
    return true;
  (void)n.invalid("expected rank 4, got " + Twine(n.rank(x)));
  return false;
}

//===----------------------------------------------------------------------===//
// Gradients of resizing: [batch, height, width, channels]
//===----------------------------------------------------------------------===//

/// Adds pixels up at every pair of a row and a column of an image of `sizes`.
static Value scatterPixels(NodeImport &n, Value pixels, Value rows, Value columns, Side high,
                           Side wide) {
  Value inRows = scatterAlong(n, pixels, columns, 2, wide.from);
  return scatterAlong(n, inRows, rows, 1, high.from);
}

static LogicalResult nearestGrad(NodeImport &n) {
  Value dy = n.in(0), sizes = n.in(1);
  if (!isImage(n, dy) || !sizes)
    return failure();
  bool corners = n.isSet("align_corners"), half = n.isSet("half_pixel_centers");
  auto side = [&](int64_t dim) -> Side {
    return {n.toI64(n.slice(sizes, 0, dim - 1, dim)), n.sizeOf(dy, dim), corners, half};
  };
  Side high = side(1), wide = side(2);
  return n.result(scatterPixels(n, dy, nearestIndex(n, high), nearestIndex(n, wide), high, wide));
}

/// The side of a gradient `dy` with respect to an image `x`.
static Side gradientSide(NodeImport &n, Value dy, Value x, int64_t dim) {
  return {n.sizeOf(x, dim), n.sizeOf(dy, dim), n.isSet("align_corners"),
          n.isSet("half_pixel_centers")};
}

/// A gradient and the images that were resized, which have pixels. Batch and channels are the
/// gradient's.
static LogicalResult checkResizeGradient(NodeImport &n, Value dy, Value x) {
  if (!isImage(n, dy) || !isImage(n, x) || failed(checkCorners(n)))
    return failure();
  for (Value image : {dy, x})
    require(n, n.compare("gt", n.shapeSlice(image, 1, 3), 0), "an image has no pixels");
  return success();
}

/// Each gradient goes to four neighbours. Shares are multiplied in f32 and added
/// in the image's type, as TensorFlow does.
static LogicalResult bilinearGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  if (failed(checkResizeGradient(n, dy, x)))
    return failure();
  Side high = gradientSide(n, dy, x, 1), wide = gradientSide(n, dy, x, 2);
  Between rows = neighbours(n, high), columns = neighbours(n, wide);
  auto shares = [&](const Between &b, int64_t dim) {
    Value share = alongDim(n, b.share, dim, 4);
    return std::make_pair(n.sub(n.like(share, 1), share), share);
  };
  auto [nearRow, farRow] = shares(rows, 1);
  auto [nearColumn, farColumn] = shares(columns, 2);
  Value sum;
  for (auto [row, rowShare] :
       {std::make_pair(rows.lower, nearRow), std::make_pair(rows.upper, farRow)})
    for (auto [column, columnShare] :
         {std::make_pair(columns.lower, nearColumn), std::make_pair(columns.upper, farColumn)}) {
      Value part = n.mul(n.mul(dy, rowShare), columnShare);
      Value pixels = scatterPixels(n, n.cast(part, n.element(x)), row, column, high, wide);
      sum = sum ? n.add(sum, pixels) : pixels;
    }
  return n.result(sum);
}

static LogicalResult bicubicGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  if (failed(checkResizeGradient(n, dy, x)))
    return failure();
  Type type = n.element(x);
  dy = n.cast(dy, type);
  for (int64_t dim = 1; dim < 3; ++dim) {
    Side side = gradientSide(n, n.in(0), x, dim);
    Value sum;
    for (const Tap &tap : cubicTaps(n, side)) {
      Value weight = alongDim(n, n.cast(tap.weight, type), dim, 4);
      Value part = scatterAlong(n, n.mul(dy, weight), tap.index, dim, side.from);
      sum = sum ? n.add(sum, part) : part;
    }
    dy = sum;
  }
  return n.result(dy);
}

//===----------------------------------------------------------------------===//
// Scale and translate
//===----------------------------------------------------------------------===//

namespace {
/// A kernel of resampling: how far it reaches, and its value at a distance.
struct Kernel {
  double radius;
  Value (*at)(NodeImport &n, Value distance, double radius);
};
} // namespace

/// Duchon, "Lanczos filtering in one and two dimensions".
static Value lanczos(NodeImport &n, Value x, double radius) {
  Value angle = n.mul(x, M_PI);
  Value product = n.mul(n.op<SinOp>(angle), n.op<SinOp>(n.div(angle, radius)));
  Value value = n.div(n.mul(product, radius), n.mul(n.mul(x, x), M_PI * M_PI));
  value = n.select(n.compare("le", x, 1e-3), n.like(x, 1), value);
  return n.select(n.compare("gt", x, radius), n.like(x, 0), value);
}

static Value gaussian(NodeImport &n, Value x, double radius) {
  double sigma = radius / 3;
  Value value = n.exp(n.div(n.mul(x, x), -2 * sigma * sigma));
  return n.select(n.compare("ge", x, radius), n.like(x, 0), value);
}

static Value box(NodeImport &n, Value x, double) {
  return n.select(n.compare("lt", x, 0.5), n.like(x, 1),
                  n.select(n.compare("eq", x, 0.5), n.like(x, 0.5), n.like(x, 0)));
}

static Value triangle(NodeImport &n, Value x, double) {
  return n.maximum(n.sub(n.like(x, 1), x), 0.0);
}

/// A cubic spline of two pieces, ((a x + b) x + c) x + d to 1 and to 2.
static Value spline(NodeImport &n, Value x, ArrayRef<double> near, ArrayRef<double> far) {
  auto piece = [&](ArrayRef<double> c) {
    Value value = n.add(n.mul(x, c[0]), c[1]);
    value = n.add(n.mul(value, x), c[2]);
    return n.add(n.mul(value, x), c[3]);
  };
  Value outer = n.select(n.compare("ge", x, 2), n.like(x, 0), piece(far));
  return n.select(n.compare("ge", x, 1), outer, piece(near));
}

/// Keys, "Cubic convolution interpolation for digital image processing".
static Value keysCubic(NodeImport &n, Value x, double) {
  return spline(n, x, {1.5, -2.5, 0, 1}, {-0.5, 2.5, -4, 2});
}

/// Mitchell and Netravali, "Reconstruction filters in computer graphics".
static Value mitchellCubic(NodeImport &n, Value x, double) {
  return spline(n, x, {7.0 / 6, -2, 0, 8.0 / 9}, {-7.0 / 18, 2, -10.0 / 3, 16.0 / 9});
}

static std::optional<Kernel> readKernel(NodeImport &n) {
  std::string_view name = n.s("kernel_type");
  static const std::pair<std::string_view, Kernel> kernels[] = {
      {"lanczos1", {1, lanczos}},
      {"lanczos3", {3, lanczos}},
      {"lanczos5", {5, lanczos}},
      {"gaussian", {1.5, gaussian}},
      {"box", {1, box}},
      {"triangle", {1, triangle}},
      {"keyscubic", {2, keysCubic}},
      {"mitchellcubic", {2, mitchellCubic}},
  };
  for (const auto &[known, kernel] : kernels)
    if (known == name)
      return kernel;
  (void)n.invalid("found kernel_type " + Twine(std::string(name)));
  return std::nullopt;
}

/// [to, from] weights along one dimension, f32; `scale` and `shift` are
/// tensor<1xf32>.
static Value translation(NodeImport &n, const Kernel &kernel, Value from, Value to, Value scale,
                         Value shift) {
  Type f32 = n.b.getF32Type();
  Value inverse = n.div(n.like(scale, 1), scale);
  Value offset = n.mul(n.op<NegOp>(inverse), shift);
  Value spread = n.isSet("antialias") ? n.maximum(inverse, 1.0) : n.add(n.mul(inverse, 0.0), 1.0);
  Value index = n.op<IotaOp>(to, n.number(0), n.typeAttr(f32));
  Value at = n.add(n.mul(n.add(index, 0.5), inverse), offset);
  Value last = n.sub(n.cast(from, f32), 1.0);
  Value reach = n.mul(spread, kernel.radius);
  auto clamp = [&](Value v) { return n.minimum(n.maximum(v, 0.0), last); };
  Value first = clamp(n.op<CeilOp>(n.sub(n.sub(at, reach), 0.5)));
  Value end = clamp(n.op<FloorOp>(n.sub(n.add(at, reach), 0.5)));
  Value inImage = n.op<AndOp>(n.compare("ge", at, 0), n.compare("le", at, n.cast(from, f32)));
  // Rows are samples of the result, columns those of the operand.
  auto row = [&](Value v) { return n.unsqueeze(v, {1}); };
  Value sample = n.op<IotaOp>(from, n.number(0), n.typeAttr(f32));
  Value distance =
      n.op<AbsOp>(n.mul(n.sub(n.add(sample, 0.5), row(at)), n.div(n.like(spread, 1), spread)));
  Value weight = kernel.at(n, distance, kernel.radius);
  Value used = n.op<AndOp>(
      n.op<AndOp>(n.compare("ge", sample, row(first)), n.compare("le", sample, row(end))),
      row(inImage));
  if (!weight)
    return {};
  weight = n.select(used, weight, n.like(weight, 0));
  Value sum = n.reduce(weight, "sum", {1}, true);
  Value some = n.compare("ge", n.op<AbsOp>(sum), 1000.0 * std::numeric_limits<float>::min());
  return n.select(some, n.div(weight, sum), n.like(weight, 0));
}

/// Both dimensions in turn; the gradient goes back the same way.
template <bool isGradient> static LogicalResult scaleAndTranslate(NodeImport &n) {
  Value x = n.in(0), other = n.in(1), scale = n.in(2), shift = n.in(3);
  if (!isImage(n, x) || !other || !scale || !shift)
    return failure();
  auto kernel = readKernel(n);
  if (!kernel)
    return failure();
  x = n.cast(x, n.b.getF32Type());
  if (!isGradient) {
    require(n, n.compare("gt", n.shapeSlice(x, 1, 4), 0), "the image has no pixels or channels");
    require(n, n.compare("gt", other, 0), "a size is not positive");
    require(n, n.compare("gt", scale, 0), "a scale is not positive");
  }
  for (int64_t dim = 1; dim < 3; ++dim) {
    Value here = n.sizeOf(n.in(0), dim);
    Value there = isGradient ? n.sizeOf(other, dim) : n.toI64(n.slice(other, 0, dim - 1, dim));
    Value matrix = translation(n, *kernel, isGradient ? there : here, isGradient ? here : there,
                               n.slice(scale, 0, dim - 1, dim), n.slice(shift, 0, dim - 1, dim));
    x = applyMatrix(n, x, matrix, dim, /*transposed=*/isGradient);
  }
  return n.result(x);
}

//===----------------------------------------------------------------------===//
// Crop and resize: boxes are y1, x1, y2, x2 in 0 to 1
//===----------------------------------------------------------------------===//

namespace {
/// Where the samples of all boxes lie along one side of their image.
struct CropSide {
  Value size;    ///< of the image, tensor<1xi64>
  Value last;    ///< size - 1, tensor<1xf32>
  Value crop;    ///< samples of a box, tensor<1xi64>
  Value at;      ///< tensor<boxes x crop x f32>
  Value inside;  ///< in the image, the same of i1
  Value clamped; ///< `at`, moved into the image
};
} // namespace

/// `dim` is 0 for height and 1 for width. With `ratioFirst` the step of a sample
/// is a box's side times the ratio of sizes; else the product of side and size
/// is divided. TensorFlow does one or the other, which rounds differently.
static CropSide cropSide(NodeImport &n, Value boxes, Value size, Value crop, int64_t dim,
                         bool ratioFirst) {
  Type f32 = n.b.getF32Type();
  Value one = n.ints({1});
  Value last = n.cast(n.sub(size, one), f32);
  Value steps = n.sub(crop, one);
  Value divisor = n.cast(n.maximum(steps, 1.0), f32);
  Value low = n.slice(boxes, 1, dim, dim + 1), high = n.slice(boxes, 1, dim + 2, dim + 3);
  Value side = n.sub(high, low);
  Value step = ratioFirst ? n.mul(side, n.div(last, divisor)) : n.div(n.mul(side, last), divisor);
  Value index = n.op<IotaOp>(crop, n.number(0), n.typeAttr(f32));
  Value spread = n.add(n.mul(low, last), n.mul(index, step));
  Value centre = n.mul(n.mul(n.add(low, high), 0.5), last);
  Value at = n.select(n.compare("gt", steps, 0), spread, centre);
  Value inside = n.op<AndOp>(n.compare("ge", at, 0), n.compare("le", at, last));
  Value clamped = n.minimum(n.maximum(at, 0.0), last);
  return {size, last, crop, at, inside, clamped};
}

namespace {
struct Crop {
  CropSide rows, columns;
  Value inside; ///< tensor<boxes x height x width x 1 x i1>
  Value image;  ///< which image, tensor<boxes x 1 x 1 x i64>
};
} // namespace

/// Boxes of `images` (tensor<1xi64>) images of `sizes`, height and width. What TensorFlow refuses
/// ends the run: first what does not fit, then images that are not there (OUT_OF_RANGE).
static std::optional<Crop> makeCrop(NodeImport &n, Value boxes, Value which, Value images,
                                    Value sizes, Value crops, bool ratioFirst) {
  if (!boxes || !which || !images || !sizes || !crops)
    return std::nullopt;
  if (n.rank(boxes) != 2 || n.rank(which) != 1) {
    (void)n.invalid("expected boxes of rank 2 and their images of rank 1, got ranks " +
                    Twine(n.rank(boxes)) + " and " + Twine(n.rank(which)));
    return std::nullopt;
  }
  if (failed(requireShape(n, boxes, n.concat({n.sizeOf(which, 0), n.ints({4})}, 0), "boxes")))
    return std::nullopt;
  require(n, n.compare("gt", sizes, 0), "an image has no pixels");
  require(n, n.compare("gt", crops, 0), "a crop has no pixels");
  Value image = n.toI64(which);
  require(n, n.op<AndOp>(n.compare("ge", image, 0), n.compare("lt", image, images)),
          "a box is of an image that is not there", outOfRange);
  auto side = [&](int64_t dim) {
    return cropSide(n, boxes, n.slice(sizes, 0, dim, dim + 1), n.slice(crops, 0, dim, dim + 1), dim,
                    ratioFirst);
  };
  Crop crop{side(0), side(1), {}, {}};
  crop.inside =
      n.op<AndOp>(n.unsqueeze(crop.rows.inside, {2, 3}), n.unsqueeze(crop.columns.inside, {1, 3}));
  crop.image = n.unsqueeze(image, {1, 2});
  if (!crop.inside || !crop.image)
    return std::nullopt;
  return crop;
}

/// The flat index of a pixel for every sample, [boxes, height, width].
static Value pixelIndex(NodeImport &n, const Crop &crop, Value row, Value column) {
  Value rows = n.unsqueeze(n.toI64(row), {2}), columns = n.unsqueeze(n.toI64(column), {1});
  Value line = n.add(n.mul(crop.image, crop.rows.size), rows);
  return n.add(n.mul(line, crop.columns.size), columns);
}

/// Pixels of images flattened to [pixels, channels].
static Value pixelsAt(NodeImport &n, const Crop &crop, Value flat, Value row, Value column) {
  return n.op<GatherOp>(flat, pixelIndex(n, crop, row, column), n.number(0), n.number(0),
                        n.flag(false));
}

static Value flatten(NodeImport &n, Value image) {
  return n.reshapeTo(image, n.concat({n.sizeProduct(image, 0, 3), n.sizeOf(image, 3)}, 0));
}

static LogicalResult cropAndResize(NodeImport &n) {
  Value image = n.in(0), crops = n.in(3);
  if (!isImage(n, image) || !crops)
    return failure();
  Type f32 = n.b.getF32Type();
  if (n.rank(crops) != 1)
    return n.invalid("expected the height and width of crops, got rank " + Twine(n.rank(crops)));
  if (failed(requireShape(n, crops, n.ints({2}), "height and width of crops")))
    return failure();
  auto crop = makeCrop(n, n.in(1), n.in(2), n.sizeOf(image, 0), n.shapeSlice(image, 1, 3),
                       n.reshape(n.toI64(crops), {2}), false);
  if (!crop)
    return failure();
  Value flat = flatten(n, n.cast(image, f32));
  Value y = crop->rows.clamped, x = crop->columns.clamped, result;
  if (n.s("method") == "nearest") {
    result = pixelsAt(n, *crop, flat, n.op<RoundOp>(y), n.op<RoundOp>(x));
  } else {
    Value top = n.op<FloorOp>(y), left = n.op<FloorOp>(x);
    Value bottom = n.op<CeilOp>(y), right = n.op<CeilOp>(x);
    Value down = n.unsqueeze(n.sub(y, top), {2, 3});
    Value across = n.unsqueeze(n.sub(x, left), {1, 3});
    auto mix = [&](Value from, Value to, Value share) {
      return n.add(from, n.mul(n.sub(to, from), share));
    };
    Value upper =
        mix(pixelsAt(n, *crop, flat, top, left), pixelsAt(n, *crop, flat, top, right), across);
    Value lower = mix(pixelsAt(n, *crop, flat, bottom, left),
                      pixelsAt(n, *crop, flat, bottom, right), across);
    result = mix(upper, lower, down);
  }
  return n.result(n.select(crop->inside, result, n.scalar(f32, n.f("extrapolation_value"))));
}

/// A gradient of crops has one for each box.
static LogicalResult requireOfBoxes(NodeImport &n, Value dy, Value boxes) {
  if (!boxes)
    return failure();
  if (n.rank(boxes) != 2)
    return n.invalid("expected boxes of rank 2, got " + Twine(n.rank(boxes)));
  require(n, n.compare("eq", n.sizeOf(dy, 0), n.sizeOf(boxes, 0)),
          "the gradient does not have one crop for each box");
  return success();
}

static LogicalResult cropGradImage(NodeImport &n) {
  Value dy = n.in(0), shape = n.in(3);
  Type type = n.elementAttr("T");
  if (!isImage(n, dy) || !shape || !type)
    return failure();
  if (failed(requireShape(n, shape, n.ints({4}), "shape of the images")))
    return failure();
  shape = n.reshape(n.toI64(shape), {4});
  Value channels = n.slice(shape, 0, 3, 4);
  require(n, n.compare("eq", channels, n.sizeOf(dy, 3)),
          "the images and the gradient have other numbers of channels");
  if (failed(requireOfBoxes(n, dy, n.in(1))))
    return failure();
  auto crop = makeCrop(n, n.in(1), n.in(2), n.slice(shape, 0, 0, 1), n.slice(shape, 0, 1, 3),
                       n.shapeSlice(dy, 1, 3), false);
  if (!crop)
    return failure();
  Value pixels = n.reduce(n.slice(shape, 0, 0, 3), "prod", {0}, true);
  Value sum = n.expandTo(n.scalar(type, 0), n.concat({pixels, channels}, 0));
  Value given = n.select(crop->inside, dy, n.like(dy, 0));
  Value count = n.sizeProduct(dy, 0, 3);
  auto spread = [&](Value row, Value column, Value part) {
    Value index = pixelIndex(n, *crop, row, column);
    sum = n.op<ScatterNdOp>(sum, n.reshapeTo(index, n.concat({count, n.ints({1})}, 0)),
                            n.reshapeTo(n.cast(part, type), n.concat({count, channels}, 0)),
                            n.text("add"), n.flag(false), n.flag(false));
  };
  Value y = crop->rows.clamped, x = crop->columns.clamped;
  if (n.s("method") == "nearest") {
    spread(n.op<RoundOp>(y), n.op<RoundOp>(x), given);
  } else {
    Value top = n.op<FloorOp>(y), left = n.op<FloorOp>(x);
    Value bottom = n.op<CeilOp>(y), right = n.op<CeilOp>(x);
    Value down = n.unsqueeze(n.sub(y, top), {2, 3});
    Value across = n.unsqueeze(n.sub(x, left), {1, 3});
    auto rest = [&](Value v) { return n.sub(n.like(v, 1), v); };
    Value upper = n.mul(rest(down), given), lower = n.mul(down, given);
    spread(top, left, n.mul(rest(across), upper));
    spread(top, right, n.mul(across, upper));
    spread(bottom, left, n.mul(rest(across), lower));
    spread(bottom, right, n.mul(across, lower));
  }
  return n.result(n.reshapeTo(sum, shape));
}

static LogicalResult cropGradBoxes(NodeImport &n) {
  Value dy = n.in(0), image = n.in(1);
  if (!isImage(n, dy) || !isImage(n, image))
    return failure();
  Type f32 = n.b.getF32Type();
  if (failed(requireSame(n, image, dy, "channels", 3)) || failed(requireOfBoxes(n, dy, n.in(2))))
    return failure();
  auto crop = makeCrop(n, n.in(2), n.in(3), n.sizeOf(image, 0), n.shapeSlice(image, 1, 3),
                       n.shapeSlice(dy, 1, 3), true);
  if (!crop)
    return failure();
  Value flat = flatten(n, n.cast(image, f32));
  Value y = crop->rows.clamped, x = crop->columns.clamped;
  Value top = n.op<FloorOp>(y), left = n.op<FloorOp>(x);
  Value bottom = n.op<CeilOp>(y), right = n.op<CeilOp>(x);
  Value down = n.unsqueeze(n.sub(y, top), {2, 3});
  Value across = n.unsqueeze(n.sub(x, left), {1, 3});
  Value tl = pixelsAt(n, *crop, flat, top, left), tr = pixelsAt(n, *crop, flat, top, right),
        bl = pixelsAt(n, *crop, flat, bottom, left), br = pixelsAt(n, *crop, flat, bottom, right);
  auto mix = [&](Value share, Value from, Value to) {
    return n.add(n.mul(n.sub(n.like(share, 1), share), from), n.mul(share, to));
  };
  Value given = n.select(crop->inside, dy, n.like(dy, 0));
  // How the image changes along each side, times the gradient, over channels.
  auto along = [&](Value share, Value near, Value far) {
    return n.reduce(n.mul(mix(share, near, far), given), "sum", {3}, false);
  };
  Value alongY = along(across, n.sub(bl, tl), n.sub(br, tr));
  Value alongX = along(down, n.sub(tr, tl), n.sub(br, bl));
  // A sample moves with the two ends of its box, by how near it is to each.
  auto ends = [&](const CropSide &side, Value gradient, int64_t axis) -> std::pair<Value, Value> {
    Value steps = n.sub(side.crop, n.ints({1}));
    Value ratio = n.div(side.last, n.cast(n.maximum(steps, 1.0), f32));
    Value index = n.op<IotaOp>(side.crop, n.number(0), n.typeAttr(f32));
    Value isMany = n.compare("gt", steps, 0);
    Value half = n.mul(side.last, 0.5);
    Value far = n.select(isMany, n.mul(index, ratio), half);
    Value near = n.select(isMany, n.sub(side.last, n.mul(index, ratio)), half);
    auto sum = [&](Value share) {
      Value wide = axis == 1 ? n.unsqueeze(share, {1}) : share;
      return n.reduce(n.mul(gradient, wide), "sum", {1, 2}, false);
    };
    return {sum(near), sum(far)};
  };
  auto [y1, y2] = ends(crop->rows, alongY, 1);
  auto [x1, x2] = ends(crop->columns, alongX, 2);
  return n.result(n.stack({y1, x1, y2, x2}, 1));
}

ArrayRef<OpImport> weir::tf::imageGradientImports() {
  static const OpImport rows[] = {
      {"ResizeNearestNeighborGrad", nearestGrad},
      {"ResizeBilinearGrad", bilinearGrad},
      {"ResizeBicubicGrad", bicubicGrad},
      {"ScaleAndTranslate", scaleAndTranslate<false>},
      {"ScaleAndTranslateGrad", scaleAndTranslate<true>},
      {"CropAndResize", cropAndResize},
      {"CropAndResizeGradImage", cropGradImage},
      {"CropAndResizeGradBoxes", cropGradBoxes},
  };
  return rows;
}
