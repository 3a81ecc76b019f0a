//===- UniformImports.cpp - uniformly quantised tensors -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An integer q stands for (q - zero point) · scale; scales and zero points are
// one for all, or one an index of an axis.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NodeImport.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {
struct Grid {
  Value scale, zero; ///< f32, i32; scalars, or they broadcast along the axis
};
} // namespace

/// One value for all, or a vector along `axis` of a tensor of rank `rank`.
static Value spread(NodeImport &n, Value v, int64_t axis, int64_t rank) {
  if (!v || n.rank(v) == 0)
    return v;
  if (axis < 0 || axis >= rank) {
    (void)n.invalid("found scales of rank " + Twine(n.rank(v)) + " for axis " + Twine(axis) +
                    " of rank " + Twine(rank));
    return {};
  }
  return n.unsqueeze(v, axesFrom(1, rank - axis));
}

/// Scale and zero point from inputs `first` and `first + 1`.
static Grid grid(NodeImport &n, size_t first, std::string_view axis, int64_t rank) {
  int64_t at = n.attr(axis) ? n.i(axis) : -1;
  return {spread(n, n.in(first), at, rank), spread(n, n.in(first + 1), at, rank)};
}

static Value clamp(NodeImport &n, Value v, std::string_view low, std::string_view high) {
  return n.maximum(n.minimum(v, static_cast<double>(n.i(high))), static_cast<double>(n.i(low)));
}

/// Integers less their zero point, i32.
static Value centred(NodeImport &n, Value q, Value zero) {
  return n.sub(n.cast(q, n.b.getI32Type()), zero);
}

/// Halves up; by the inverse of the scale, as TensorFlow does.
static Value affineQuantize(NodeImport &n, Value x, Value inverse, Value zero) {
  Value steps = n.op<FloorOp>(n.add(n.mul(x, inverse), 0.5));
  return n.add(n.cast(steps, n.b.getI32Type()), zero);
}

static LogicalResult quantize(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Grid to = grid(n, 1, "quantization_axis", n.rank(x));
  if (!to.scale || !to.zero)
    return failure();
  Value inverse = n.div(n.like(to.scale, 1), to.scale);
  Value q = clamp(n, affineQuantize(n, x, inverse, to.zero), "quantization_min_val",
                  "quantization_max_val");
  return n.result(n.cast(q, n.elementAttr("Tout")));
}

static LogicalResult dequantize(NodeImport &n) {
  Value q = n.in(0);
  if (!q)
    return failure();
  Grid from = grid(n, 1, "quantization_axis", n.rank(q));
  Value steps = n.cast(centred(n, q, from.zero), n.b.getF32Type());
  return n.result(n.cast(n.mul(steps, from.scale), n.elementAttr("Tout")));
}

static LogicalResult clipByValue(NodeImport &n) {
  Value q = n.in(0);
  if (!q)
    return failure();
  int64_t axis = n.i("quantization_axis"), rank = n.rank(q);
  Value low = spread(n, n.in(1), axis, rank), high = spread(n, n.in(2), axis, rank);
  return n.result(n.minimum(n.maximum(q, low), high));
}

namespace {
/// A positive real as m · 2^(shift - 31), m an i64 in [2^30, 2^31].
struct Multiplier {
  Value mantissa, shift;
};
} // namespace

/// Jacob et al., "Quantization and training of neural networks for efficient
/// integer-arithmetic-only inference", section 2.2.
static Multiplier fixedPoint(NodeImport &n, Value real) {
  if (!real)
    return {};
  Type i64 = n.b.getI64Type(), f64 = n.b.getF64Type();
  auto bitcast = [&](Value v, Type type) -> Value {
    if (!v)
      return {};
    return BitcastOp::create(n.b, n.loc, n.type(v).clone(type), v).getResult();
  };
  Value bits = bitcast(real, i64);
  Value shift =
      n.sub(n.op<AndOp>(n.op<ShrOp>(bits, n.intScalar(52)), n.intScalar(0x7ff)), n.intScalar(1022));
  Value half = n.op<OrOp>(n.op<AndOp>(bits, n.intScalar((int64_t(1) << 52) - 1)),
                          n.intScalar(int64_t(1022) << 52));
  Value mantissa = n.toI64(n.op<RoundOp>(n.mul(bitcast(half, f64), 2147483648.0)));
  Value isOne = n.compare("eq", mantissa, 2147483648.0);
  mantissa = n.select(isOne, n.intScalar(int64_t(1) << 30), mantissa);
  shift = n.select(isOne, n.add(shift, 1.0), shift);
  Value tiny = n.compare("lt", shift, -31), huge = n.compare("gt", shift, 30);
  mantissa = n.select(tiny, n.intScalar(0), n.select(huge, n.intScalar(2147483647), mantissa));
  shift = n.select(tiny, n.intScalar(0), n.select(huge, n.intScalar(30), shift));
  return {mantissa, shift};
}

/// i32 steps times a real, rounded, from a new zero point on.
static Value requantize(NodeImport &n, Value steps, Value real, Value zero) {
  Multiplier by = fixedPoint(n, real);
  Type i32 = n.b.getI32Type();
  Value down = n.sub(n.intScalar(31), by.shift);
  Value round = n.op<ShlOp>(n.intScalar(1), n.sub(down, n.intScalar(1)));
  Value product = n.add(n.mul(n.toI64(steps), by.mantissa), round);
  return n.add(n.cast(n.op<ShrOp>(product, down), i32), zero);
}

static Value wide(NodeImport &n, Value v) { return n.cast(v, n.b.getF64Type()); }

static LogicalResult requantizeTo(NodeImport &n) {
  Value q = n.in(0);
  if (!q)
    return failure();
  Grid from = grid(n, 1, "input_quantization_axis", n.rank(q)),
       to = grid(n, 3, "output_quantization_axis", n.rank(q));
  Value real = n.div(wide(n, from.scale), wide(n, to.scale));
  Value moved = requantize(n, centred(n, q, from.zero), real, to.zero);
  Value result = clamp(n, moved, "output_quantization_min_val", "output_quantization_max_val");
  return n.result(n.cast(result, n.elementAttr("Tout")));
}

/// The product's integers under the output's grid.
static LogicalResult finish(NodeImport &n, Value sums, int64_t rhsAxis) {
  if (!sums)
    return failure();
  int64_t rank = n.rank(sums);
  Grid to = grid(n, 6, "output_quantization_axis", rank);
  Value rhsScale = spread(n, n.in(4), rhsAxis, rank);
  Value real = n.div(n.mul(wide(n, n.in(2)), wide(n, rhsScale)), wide(n, to.scale));
  Value moved = requantize(n, sums, real, to.zero);
  Value result = clamp(n, moved, "output_quantization_min_val", "output_quantization_max_val");
  return n.result(n.cast(result, n.elementAttr("Tout")));
}

static LogicalResult dot(NodeImport &n) {
  Value x = n.in(0), y = n.in(1), zero = n.in(3);
  if (!x || !y || !zero)
    return failure();
  Grid rhs = grid(n, 4, "rhs_quantization_axis", n.rank(y));
  Value sums = n.matmul(centred(n, x, n.toScalar(zero)), centred(n, y, rhs.zero));
  return finish(n, sums, n.rank(y) - 1);
}

/// Convolution of N C S… with O I S…, i32 of numbers whose zero is 0.
static Value convolve(NodeImport &n, Value x, Value filter) {
  if (!x || !filter)
    return {};
  int64_t spatial = n.rank(x) - 2;
  auto listOr = [&](std::string_view name) {
    IntVector list = n.is(name);
    if (list.empty())
      list.assign(spatial, 1);
    return list;
  };
  IntVector strides = listOr("window_strides"), rates = listOr("rhs_dilation"),
            pads = n.is("explicit_padding");
  bool isPlain = llvm::all_of(listOr("lhs_dilation"), [](int64_t v) { return v == 1; }) &&
                 n.i("batch_group_count") == 1 && n.s("dimension_numbers").empty();
  if (!isPlain || static_cast<int64_t>(strides.size()) != spatial ||
      static_cast<int64_t>(rates.size()) != spatial) {
    (void)n.unsupported("expected no dilated input, no groups of batches and the usual order of "
                        "dimensions, got one of these");
    return {};
  }
  if (n.s("padding") != "EXPLICIT") {
    pads.clear();
    for (int64_t i = 0; i < spatial; ++i) {
      int64_t size = n.dim(x, 2 + i), window = n.dim(filter, 2 + i);
      if (n.s("padding") == "VALID") {
        pads.append({0, 0});
        continue;
      }
      if (ShapedType::isDynamic(size) || ShapedType::isDynamic(window)) {
        (void)n.unsupported("found a padding that depends on sizes that are "
                            "not known");
        return {};
      }
      int64_t steps = (size + strides[i] - 1) / strides[i];
      int64_t total =
          std::max<int64_t>((steps - 1) * strides[i] + (window - 1) * rates[i] + 1 - size, 0);
      pads.append({total / 2, total - total / 2});
    }
  }
  if (static_cast<int64_t>(pads.size()) != 2 * spatial) {
    (void)n.invalid("found " + Twine(pads.size()) + " explicit paddings");
    return {};
  }
  return n.op<ConvOp>(x, filter, n.list(strides), n.list(pads), n.list(rates),
                      n.number(n.i("feature_group_count")), n.flag(false),
                      n.typeAttr(n.element(x)));
}

static LogicalResult convolution(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1), zero = n.in(3);
  if (!x || !filter || !zero)
    return failure();
  Grid rhs = grid(n, 4, "rhs_quantization_axis", n.rank(filter));
  Value sums = convolve(n, centred(n, x, n.toScalar(zero)), centred(n, filter, rhs.zero));
  return finish(n, sums, 1);
}

namespace {
struct Quantized {
  Value steps; ///< less their zero point, i32
  Value scale; ///< f32
};
} // namespace

/// f32 values as 8-bit integers over the range that each of the first dimension
/// takes.
static Quantized quantizeRows(NodeImport &n, Value x) {
  constexpr double bottom = -128, top = 127;
  IntVector axes = axesFrom(1, n.rank(x));
  Value low = wide(n, n.minimum(n.reduce(x, "min", axes, true), 0.0));
  Value high = wide(n, n.maximum(n.reduce(x, "max", axes, true), 0.0));
  Type f32 = n.b.getF32Type(), i32 = n.b.getI32Type();
  Value width = n.sub(high, low);
  Value scale = n.cast(n.div(width, top - bottom), f32);
  Value inverse = n.cast(n.div(n.like(width, top - bottom), width), f32);
  Value isEmpty = n.op<OrOp>(n.compare("eq", scale, 0), n.logicalNot(n.op<IsFiniteOp>(inverse)));
  Value fromLow = n.div(low, wide(n, scale)), fromHigh = n.div(high, wide(n, scale));
  Value lowError = n.add(n.op<AbsOp>(fromLow), -bottom),
        highError = n.add(n.op<AbsOp>(fromHigh), top);
  Value zero =
      n.select(n.compare("lt", lowError, highError), n.sub(n.like(fromLow, bottom), fromLow),
               n.sub(n.like(fromHigh, top), fromHigh));
  zero = n.minimum(n.maximum(n.op<RoundOp>(zero), bottom), top);
  Value point = n.cast(zero, i32);
  Value q = affineQuantize(n, x, inverse, point);
  q = n.maximum(n.minimum(q, top), bottom);
  Value steps = n.sub(q, point);
  return {n.select(isEmpty, n.like(steps, 0), steps), n.select(isEmpty, n.like(scale, 1), scale)};
}

template <bool isDot> static LogicalResult hybrid(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  Quantized rows = quantizeRows(n, x);
  Grid rhs = grid(n, 2, "rhs_quantization_axis", n.rank(y));
  Value weights = centred(n, y, rhs.zero);
  Value sums = isDot ? n.matmul(rows.steps, weights) : convolve(n, rows.steps, weights);
  if (!sums)
    return failure();
  Value scale = spread(n, n.in(2), 1, n.rank(sums));
  Value real = n.mul(n.cast(sums, n.b.getF32Type()), n.mul(rows.scale, scale));
  return n.result(n.cast(real, n.elementAttr("Tout")));
}

static LogicalResult addQuantized(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  int64_t rank = std::max(n.rank(x), n.rank(y));
  Grid lhs = grid(n, 2, "lhs_quantization_axis", n.rank(x)),
       rhs = grid(n, 4, "rhs_quantization_axis", n.rank(y)),
       to = grid(n, 6, "output_quantization_axis", rank);
  Value none = n.like(to.zero, 0);
  // Both counted in the output's steps, then the output's zero point.
  auto moved = [&](Value q, Grid from) {
    Value real = n.div(wide(n, from.scale), wide(n, to.scale));
    return requantize(n, centred(n, q, from.zero), real, none);
  };
  Value sum = n.add(n.add(moved(x, lhs), moved(y, rhs)), to.zero);
  Value result = clamp(n, sum, "output_quantization_min_val", "output_quantization_max_val");
  return n.result(n.cast(result, n.elementAttr("T")));
}

ArrayRef<OpImport> weir::tf::uniformImports() {
  static const OpImport rows[] = {
      {"UniformQuantize", quantize},
      {"UniformDequantize", dequantize},
      {"UniformRequantize", requantizeTo},
      {"UniformQuantizedClipByValue", clipByValue},
      {"UniformQuantizedAdd", addQuantized},
      {"UniformQuantizedDot", dot},
      {"UniformQuantizedDotHybrid", hybrid<true>},
      {"UniformQuantizedConvolution", convolution},
      {"UniformQuantizedConvolutionHybrid", hybrid<false>},
  };
  return rows;
}
