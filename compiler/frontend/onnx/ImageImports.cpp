//===- ImageImports.cpp - resampling --------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Sampling.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// What a resize is asked for, one entry an axis.
struct ResizeParameters {
  SmallVector<int64_t> axes;
  Value sizes;  ///< tensor<n x i64>
  Value scales; ///< tensor<n x f32>
  Value roi;    ///< starts, then ends, f32
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};

Value make(NodeImport &n, Value x, const ResizeParameters &p) {
  return n.op<ResizeOp>(x, p.sizes, p.scales, p.roi, n.list(p.axes), n.text(p.mode),
                        n.text(p.coordinates), n.text(p.nearest), n.real(p.cubic),
                        n.flag(p.excludeOutside), n.real(p.extrapolation), n.flag(p.antialias));
}

LogicalResult build(NodeImport &n, Value x, const ResizeParameters &p) {
  return n.result(make(n, x, p));
}

Value noRoi(NodeImport &n, size_t axes) {
  SmallVector<double> bounds(axes, 0);
  bounds.append(axes, 1);
  return n.floats(bounds, n.b.getF32Type());
}

/// Whether `scale` is one, of an axis of so many elements; reports.
bool isScale(NodeImport &n, double scale, int64_t size) {
  // A size beyond 48 bits is none; of an open axis the run says so.
  if (scale > 0 && std::isfinite(scale) &&
      (ShapedType::isDynamic(size) || static_cast<double>(size) * scale < 0x1p48))
    return true;
  (void)n.invalid("expected scales above 0 that make sizes below 2^48, got " +
                  std::to_string(scale));
  return false;
}

/// Sizes from known scales; without `keepAll` of the axes that change.
bool knownScaleSizes(NodeImport &n, Value x, ArrayRef<double> scales, ResizeParameters &p,
                     bool keepAll) {
  if (scales.size() != p.axes.size()) {
    (void)n.invalid("found " + Twine(scales.size()) + " scales for " + Twine(p.axes.size()) +
                    " axes");
    return false;
  }
  SmallVector<int64_t> axes;
  SmallVector<double> kept;
  SmallVector<Value> sizes;
  for (auto [axis, scale] : llvm::zip(p.axes, scales)) {
    if (scale == 1 && !keepAll)
      continue;
    int64_t size = n.dim(x, axis);
    if (!isScale(n, scale, size))
      return false;
    axes.push_back(axis);
    kept.push_back(scale);
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(n.ints({static_cast<int64_t>(std::floor(size * scale))}));
      continue;
    }
    Value wide = n.mul(n.cast(n.sizeOf(x, axis), n.b.getF64Type()), scale);
    sizes.push_back(n.cast(n.op<FloorOp>(wide), n.b.getI64Type()));
  }
  p.axes = axes;
  p.scales = n.floats(kept, n.b.getF32Type());
  p.sizes = sizes.empty() ? n.ints({}) : n.concat(sizes, 0);
  return p.sizes && p.scales;
}

/// Sizes from scales; keeps only axes that change, where all is known.
bool scaleSizes(NodeImport &n, Value x, size_t input, ResizeParameters &p, bool keepAll) {
  Value scales = n.in(input);
  if (!scales)
    return false;
  if (std::optional<SmallVector<double>> known = n.constantFloats(input))
    return knownScaleSizes(n, x, *known, p, keepAll);
  if (n.rank(scales) != 1 || !n.hasSize(scales, 0, p.axes.size(), "scales"))
    return false;
  SmallVector<Value> parts;
  for (int64_t axis : p.axes)
    parts.push_back(n.sizeOf(x, axis));
  Value own = n.cast(n.concat(parts, 0), n.b.getF32Type());
  p.scales = n.cast(scales, n.b.getF32Type());
  Value isRight =
      n.op<AndOp>(n.compare("gt", p.scales, 0.0), n.logicalNot(n.op<IsInfOp>(p.scales)));
  n.require(n.reduce(isRight, "all", {0}, false), "a scale is not above 0, or infinite");
  p.sizes = n.cast(n.op<FloorOp>(n.mul(own, p.scales)), n.b.getI64Type());
  return static_cast<bool>(p.sizes);
}

/// The places in `sizes`, one an axis of `axes`, whose sizes are not known to be those that `x`
/// has: what is left alone is no work, and loops over the rest are plain.
SmallVector<int64_t> changedPlaces(NodeImport &n, Value x, Value sizes, ArrayRef<int64_t> axes) {
  std::optional<SmallVector<KnownInteger>> entries = followIntegers(sizes);
  SmallVector<int64_t> places;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    bool isOwn = false;
    if (entries && entries->size() == axes.size()) {
      const KnownInteger &entry = (*entries)[i];
      isOwn = entry.isSymbol() ? n.graph.sizes.areEqual(entry.tensor, entry.dimension, x, axis)
                               : entry.value && *entry.value == n.dim(x, axis);
    }
    if (!isOwn)
      places.push_back(i);
  }
  return places;
}

/// Scales from sizes, and sizes again where the aspect ratio is kept.
bool giveSizes(NodeImport &n, Value x, size_t input, ResizeParameters &p, bool keepAll,
               std::string_view policy) {
  Type f32 = n.b.getF32Type();
  std::optional<SmallVector<int64_t>> known = n.knownInts(input);
  SmallVector<int64_t> own;
  bool fixed = known && known->size() == p.axes.size();
  for (int64_t axis : p.axes) {
    own.push_back(n.dim(x, axis));
    fixed &= !ShapedType::isDynamic(own.back());
  }
  bool stretch = policy.empty() || policy == "stretch";
  if (fixed) {
    SmallVector<double> scales;
    for (auto [size, from] : llvm::zip(*known, own))
      scales.push_back(static_cast<double>(size) / from);
    if (!stretch) {
      double one = policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                          : *std::max_element(scales.begin(), scales.end());
      for (auto [scale, size, from] : llvm::zip(scales, *known, own)) {
        scale = one;
        size = static_cast<int64_t>(std::floor(one * from + 0.5));
      }
    }
    SmallVector<int64_t> axes, sizes;
    SmallVector<double> kept;
    for (size_t i = 0; i < own.size(); ++i)
      if (keepAll || (*known)[i] != own[i] || scales[i] != 1) {
        axes.push_back(p.axes[i]);
        sizes.push_back((*known)[i]);
        kept.push_back(scales[i]);
      }
    p.axes = axes;
    p.sizes = n.ints(sizes);
    p.scales = n.floats(kept, f32);
    return p.sizes && p.scales;
  }
  p.sizes = n.cast(n.in(input), n.b.getI64Type());
  if (stretch && !keepAll && p.sizes) {
    SmallVector<int64_t> places = changedPlaces(n, x, p.sizes, p.axes), axes;
    if (places.empty()) {
      p.axes.clear();
      return true;
    }
    for (int64_t place : places)
      axes.push_back(p.axes[place]);
    if (places.size() < p.axes.size())
      p.sizes = n.gather(p.sizes, n.ints(places), 0);
    p.axes = axes;
  }
  SmallVector<Value> parts;
  for (int64_t axis : p.axes)
    parts.push_back(n.sizeOf(x, axis));
  Value from = n.cast(n.concat(parts, 0), f32);
  p.scales = n.div(n.cast(p.sizes, f32), from);
  if (!stretch) {
    Value one = n.reduce(p.scales, policy == "not_larger" ? "min" : "max", {0}, true);
    p.scales = n.add(n.mul(p.scales, 0.0), one);
    p.sizes = n.cast(n.op<FloorOp>(n.add(n.mul(from, p.scales), 0.5)), n.b.getI64Type());
  }
  return p.sizes && p.scales;
}

/// Version 10 does not say how nearest rounds. Its recorded answers, and ONNX Runtime,
/// take the element above where an axis shrinks and the one below where it grows: where
/// both may be, the axes shrink first. Returns what is left to resize.
Value roundAsVersion10(NodeImport &n, Value x, ResizeParameters &p) {
  std::optional<SmallVector<double>> known = n.constantFloats(1);
  bool shrinks = !known || llvm::any_of(*known, [](double scale) { return scale < 1; });
  bool grows = !known || llvm::any_of(*known, [](double scale) { return scale > 1; });
  p.nearest = shrinks && !grows ? "ceil" : "floor";
  if (!shrinks || !grows)
    return x;
  SmallVector<Value> own;
  for (int64_t axis : p.axes)
    own.push_back(n.sizeOf(x, axis));
  ResizeParameters down = p;
  down.nearest = "ceil";
  down.sizes = n.minimum(n.concat(own, 0), p.sizes);
  down.scales = n.minimum(p.scales, n.like(p.scales, 1));
  p.scales = n.maximum(p.scales, n.like(p.scales, 1));
  return make(n, x, down);
}

LogicalResult resize(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  ResizeParameters p;
  p.axes = axesFrom(0, n.rank(x));
  p.mode = std::string(n.s("mode"));
  if (n.version < 11) {
    p.coordinates = "asymmetric";
    p.nearest = "floor";
    if (!scaleSizes(n, x, 1, p, false))
      return failure();
    p.roi = noRoi(n, p.axes.size());
    return build(n, p.mode == "nearest" ? roundAsVersion10(n, x, p) : x, p);
  }
  if (std::optional<SmallVector<int64_t>> given = n.version >= 18 ? n.is("axes") : std::nullopt) {
    SmallVector<int64_t> axes;
    for (int64_t one : *given) {
      std::optional<int64_t> axis = n.axis(one, n.rank(x));
      if (!axis)
        return failure();
      axes.push_back(*axis);
    }
    p.axes = axes;
  }
  p.coordinates = std::string(n.s("coordinate_transformation_mode"));
  p.nearest = std::string(n.s("nearest_mode"));
  p.cubic = n.f("cubic_coeff_a");
  p.extrapolation = n.f("extrapolation_value");
  p.excludeOutside = n.i("exclude_outside") != 0;
  p.antialias = n.version >= 18 && n.i("antialias") != 0;
  bool crop = p.coordinates == "tf_crop_and_resize";
  // An input of no elements counts as left out, as in version 11.
  auto given = [&](size_t i) {
    if (!n.has(i))
      return false;
    Value v = n.in(i);
    return v && n.sizes(v) != ArrayRef<int64_t>{0};
  };
  size_t from = given(3) ? 3 : 2;
  auto count = static_cast<int64_t>(p.axes.size());
  if (given(from) && !n.hasEntries(n.in(from), count, "sizes or scales"))
    return failure();
  if (crop && given(1) && !n.hasEntries(n.in(1), 2 * count, "region"))
    return failure();
  if (given(3)) {
    if (!giveSizes(n, x, 3, p, crop, n.version >= 18 ? n.s("keep_aspect_ratio_policy") : ""))
      return failure();
  } else if (given(2)) {
    if (!scaleSizes(n, x, 2, p, crop))
      return failure();
  } else {
    return n.invalid("found neither scales nor sizes");
  }
  p.roi = crop && given(1) ? n.cast(n.in(1), n.b.getF32Type()) : noRoi(n, p.axes.size());
  if (p.axes.empty())
    return n.result(x);
  return build(n, x, p);
}

LogicalResult upsample(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  ResizeParameters p;
  p.axes = axesFrom(0, n.rank(x));
  p.mode = n.s("mode") == "nearest" ? "nearest" : "linear";
  p.coordinates = "asymmetric";
  p.nearest = "floor";
  if (n.version >= 9) {
    if (!scaleSizes(n, x, 1, p, false))
      return failure();
  } else {
    SmallVector<double> scales;
    if (n.version < 7)
      scales = {1, 1, n.f("height_scale"), n.f("width_scale")};
    else
      scales = n.fs("scales").value_or(SmallVector<double>());
    if (!knownScaleSizes(n, x, scales, p, false))
      return failure();
  }
  if (p.axes.empty())
    return n.result(x);
  p.roi = noRoi(n, p.axes.size());
  return build(n, x, p);
}

/// Coordinates in [-1, 1] for `size` (tensor<1xi64>) places, as `type`.
Value unitPlaces(NodeImport &n, Value size, bool alignCorners, Type type) {
  Value place = n.op<IotaOp>(size, n.number(0), n.typeAttr(type));
  Value count = n.toScalar(n.cast(size, type));
  if (alignCorners) // size 1: its centre
    return n.select(n.compare("gt", count, 1.0),
                    n.sub(n.div(n.mul(place, 2.0), n.maximum(n.sub(count, 1.0), 1.0)), 1.0),
                    n.mul(place, 0.0));
  return n.sub(n.div(n.add(n.mul(place, 2.0), 1.0), count), 1.0);
}

LogicalResult affineGrid(NodeImport &n) {
  Value theta = n.in(0), size = n.in(1);
  if (!theta || !size)
    return failure();
  if (!n.hasRank(size, 1, "size") || !n.hasRank(theta, 3, "matrices"))
    return failure();
  // Matrices, and a result that is declared, say how many entries there are, too.
  int64_t entries = n.dim(size, 0), rows = n.dim(theta, 1), columnCount = n.dim(theta, 2);
  if (ShapedType::isDynamic(entries) && !ShapedType::isDynamic(rows))
    entries = rows + 2;
  else if (ShapedType::isDynamic(entries) && !ShapedType::isDynamic(columnCount))
    entries = columnCount + 1;
  else if (ShapedType::isDynamic(entries))
    entries = n.declaredRank().value_or(ShapedType::kDynamic);
  if (ShapedType::isDynamic(entries))
    return n.unsupported("expected a known number of spatial dimensions, got a size of unknown "
                         "length; where the graph declares the rank of the result, it may have 4 "
                         "or 5 entries");
  if (entries != 4 && entries != 5)
    return n.invalid("found a size that has not 4 or 5 entries");
  size = n.ofLength(size, entries, "size");
  int64_t dims = entries - 2;
  if (!n.hasSize(theta, 1, dims, "matrices") || !n.hasSize(theta, 2, dims + 1, "matrices"))
    return failure();
  Value images = n.slice(n.cast(size, n.b.getI64Type()), 0, 0, 1);
  n.require(n.toScalar(n.compare("eq", n.sizeOf(theta, 0), images)),
            "there is not one matrix for each image");
  Type type = n.element(theta);
  Value shape = n.slice(n.cast(size, n.b.getI64Type()), 0, 2, dims + 2);
  // Homogeneous coordinates of every place: x varies fastest, then y, z.
  SmallVector<Value> columns;
  for (int64_t axis = dims - 1; axis >= 0; --axis) {
    Value places =
        unitPlaces(n, n.slice(shape, 0, axis, axis + 1), n.i("align_corners") != 0, type);
    places = n.unsqueeze(places, axesFrom(1, dims - axis));
    columns.push_back(n.reshape(n.expandTo(places, shape), {-1, 1}));
  }
  columns.push_back(n.expandTo(n.scalar(type, 1), n.shapeOf(columns[0])));
  Value base = n.concat(columns, 1);
  // [N, dims, dims + 1] · [places, dims + 1]ᵀ, as [N, places, dims].
  Value grid = n.transpose(n.op<DotGeneralOp>(theta, base, n.list({}), n.list({}), n.list({2}),
                                              n.list({1}), n.typeAttr(type)),
                           {0, 2, 1});
  return n.result(n.reshapeTo(grid, n.concat({n.sizeOf(theta, 0), shape, n.ints({dims})}, 0)));
}

/// A coordinate in [-1, 1] as a place among `size`.
Value unnormalize(NodeImport &n, Value v, Value size, bool alignCorners) {
  Value count = n.cast(size, n.element(v));
  if (alignCorners)
    return n.mul(n.div(n.add(v, 1.0), 2.0), n.sub(count, 1.0));
  return n.div(n.sub(n.mul(n.add(v, 1.0), count), 1.0), 2.0);
}

LogicalResult gridSample(NodeImport &n) {
  Value x = n.in(0), grid = n.in(1);
  if (!x || !grid)
    return failure();
  int64_t dims = n.rank(x) - 2;
  std::string_view mode = n.s("mode");
  Interpolation kind = mode == "nearest"                      ? Interpolation::Nearest
                       : mode == "cubic" || mode == "bicubic" ? Interpolation::Cubic
                                                              : Interpolation::Linear;
  if (dims < 1 || dims > 3 || (kind == Interpolation::Cubic && dims != 2))
    return n.unsupported("found " + Twine(dims) + " spatial dimensions in mode " + Twine(mode));
  if (n.rank(grid) != n.rank(x))
    return n.invalid("found a grid of " + Twine(n.rank(grid)) + " dimensions for an image of " +
                     Twine(n.rank(x)));
  if (!n.hasSize(grid, n.rank(grid) - 1, dims, "grid"))
    return failure();
  std::string_view padding = n.s("padding_mode");
  Border border = padding == "border"       ? Border::Clamp
                  : padding == "reflection" ? Border::Reflect
                                            : Border::Zero;
  bool corners = n.i("align_corners") != 0;
  // The grid's last dimension is x, y, z: the last spatial dimension first. Places, and sums of
  // neighbours, are of f32 at least, as ONNX Runtime has them.
  SmallVector<Value> places;
  for (int64_t d = 0; d < dims; ++d) {
    Value v = n.widen(n.pick(grid, n.rank(grid) - 1, dims - 1 - d));
    places.push_back(unnormalize(n, v, n.toScalar(n.sizeOf(x, d + 2)), corners));
    if (!places.back())
      return failure();
  }
  Value values = samplePlaces(n, n.widen(x), places, kind, border, corners);
  return n.result(n.cast(values, n.element(x)));
}

/// A file of an image as pixels, by the runtime's kernel (weir/input.h).
LogicalResult imageDecoder(NodeImport &n) {
  Value file = n.in(0);
  if (!file)
    return failure();
  std::string_view format = n.hasAttr("pixel_format") ? n.s("pixel_format") : "RGB";
  bool isGray = format == "Grayscale", isReversed = format == "BGR";
  if (format != "RGB" && !isReversed && !isGray)
    return n.invalid("expected pixel_format RGB, BGR or Grayscale, got \"" +
                     Twine(std::string(format)) + "\"");
  constexpr int64_t open = ShapedType::kDynamic, onnxDecoder = 7, u8 = 2;
  auto type = RankedTensorType::get({open, open, isGray ? 1 : 3}, n.element(file));
  int64_t colours = isGray ? 2 : isReversed ? 1 : 0;
  Operation *made = n.kernelCall("weir_kernel_decode_image", {type}, {file},
                                 {onnxDecoder, 0, 1, true, false, false, 8, colours, false, 3, u8});
  return n.result(made->getResult(0));
}

constexpr OperatorImport table[] = {
    {"", "AffineGrid", 20, 0, affineGrid},     {"", "GridSample", 16, 0, gridSample},
    {"", "ImageDecoder", 20, 0, imageDecoder}, {"", "Resize", 10, 0, resize},
    {"", "Upsample", 1, 0, upsample},          {"com.microsoft", "GridSample", 1, 0, gridSample},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::imageImports() { return table; }
