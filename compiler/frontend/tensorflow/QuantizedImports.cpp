//===- QuantizedImports.cpp - computing with quantised tensors ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tensor comes with the reals that its lowest and highest integer stand
// for, every result goes out with them.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Quantization.h"
#include "compiler/frontend/tensorflow/Resampling.h"
#include "compiler/frontend/tensorflow/Windows.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// The integer that stands for zero, i32; it may lie outside of the type's.
static Value zeroPoint(NodeImport &n, Type integer, RealRange range) {
  Value zero = range.low ? n.like(range.low, 0) : Value();
  return n.cast(quantizeUnclamped(n, zero, range, integer), n.b.getI32Type());
}

/// Integers counted from the one that stands for zero, i32.
static Value fromZero(NodeImport &n, Value q, RealRange range) {
  if (!q)
    return {};
  Value zero = zeroPoint(n, n.element(q), range);
  return n.sub(n.cast(q, n.b.getI32Type()), zero);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Symmetric, `room` times as wide as the wider of two.
static RealRange sumRange(NodeImport &n, RealRange a, RealRange b, double room) {
  Value most =
      n.maximum(n.maximum(a.high, n.op<NegOp>(a.low)), n.maximum(b.high, n.op<NegOp>(b.low)));
  Value high = n.mul(most, room);
  return {n.op<NegOp>(high), high};
}

static LogicalResult quantizedAdd(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  RealRange xRange = scalarRange(n, 2), yRange = scalarRange(n, 4);
  if (!x || !y || !yRange.high || !xRange.high)
    return failure();
  Type i32 = n.b.getI32Type();
  RealRange to = sumRange(n, xRange, yRange, 1 << 14);
  // Integers 0 and 1 say where all of them lie in the new range; a single one is
  // moved by itself.
  auto moved = [&](Value q, RealRange range) -> Value {
    Type type = n.element(q);
    if (n.isStatic(q) && n.type(q).getNumElements() == 1)
      return quantizeDouble(n, dequantizeDouble(n, q, range), to, i32);
    auto place = [&](double integer) {
      Value real = dequantizeDouble(n, n.scalar(type, integer), range);
      return quantizeUnclamped(n, real, to, i32);
    };
    Value first = place(0), step = n.sub(place(1), first);
    Value index = n.add(first, n.mul(n.toI64(q), step));
    return n.cast(index, i32);
  };
  return n.results({n.add(moved(x, xRange), moved(y, yRange)), to.low, to.high});
}

static LogicalResult quantizedMul(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  RealRange xRange = scalarRange(n, 2), yRange = scalarRange(n, 4);
  if (!x || !y || !yRange.high || !xRange.high)
    return failure();
  RealRange to = productRange(n, n.element(x), xRange, n.element(y), yRange, false);
  return n.results({n.mul(fromZero(n, x, xRange), fromZero(n, y, yRange)), to.low, to.high});
}

static LogicalResult quantizedBiasAdd(NodeImport &n) {
  Value x = n.in(0), bias = n.in(1);
  RealRange xRange = scalarRange(n, 2), biasRange = scalarRange(n, 4);
  if (!x || !bias || !biasRange.high || !xRange.high)
    return failure();
  Type type = n.elementAttr("out_type");
  RealRange to = sumRange(n, xRange, biasRange, 1 << 17);
  Value zero = quantizeDouble(n, n.like(to.low, 0), to, type);
  auto moved = [&](Value q, RealRange range) {
    return quantizeFloat(n, dequantizeFloat(n, q, range), to, type);
  };
  Value sum = n.add(moved(x, xRange), n.add(moved(bias, biasRange), zero));
  return n.results({sum, to.low, to.high});
}

template <bool six> static LogicalResult quantizedRelu(NodeImport &n) {
  Value x = n.in(0);
  RealRange range = scalarRange(n, 1);
  if (!x || !range.high)
    return failure();
  auto bound = [&](double real) {
    return quantizeDouble(n, n.like(range.low, real), range, n.element(x));
  };
  Value y = n.maximum(x, bound(0));
  if (six)
    y = n.minimum(y, bound(6));
  return n.results({y, range.low, range.high});
}

/// What is under the range of its input, in other places.
static LogicalResult quantizedReshape(NodeImport &n) {
  RealRange range = scalarRange(n, 2);
  return n.results({n.reshapeTo(n.in(0), n.toI64(n.in(1))), range.low, range.high});
}

/// Means are rounded, halves to even.
template <bool isMax> static LogicalResult quantizedPool(NodeImport &n) {
  Value x = n.in(0);
  auto spec = readPool(n, x, 2);
  if (!spec)
    return failure();
  Value values = isMax ? x : n.cast(x, n.b.getF32Type());
  Value y = pooling(n, values, *spec, isMax);
  if (!isMax)
    y = n.cast(n.op<RoundEvenOp>(y), n.element(x));
  RealRange range = scalarRange(n, 1);
  return n.results({y, range.low, range.high});
}

static LogicalResult quantizedConcat(NodeImport &n) {
  size_t count = n.i("N");
  Value first = n.in(1);
  if (!first || n.inputCount() != 1 + 3 * count)
    return failure();
  auto axis = n.constantAxis(0, n.rank(first));
  if (!axis)
    return failure();
  SmallVector<RealRange> ranges;
  RealRange to;
  for (size_t i = 0; i < count; ++i) {
    Value low = n.in(1 + count + i), high = n.in(1 + 2 * count + i);
    if (!low || !high)
      return failure();
    ranges.push_back({n.toScalar(low), n.toScalar(high)});
    to = i ? RealRange{n.minimum(to.low, ranges.back().low), n.maximum(to.high, ranges.back().high)}
           : ranges.back();
  }
  SmallVector<Value> parts;
  for (size_t i = 0; i < count; ++i) {
    Value q = n.in(1 + i);
    if (!q)
      return failure();
    Value same = n.op<AndOp>(n.compare("eq", ranges[i].low, to.low),
                             n.compare("eq", ranges[i].high, to.high));
    Value moved = quantizeFloat(n, dequantizeFloat(n, q, ranges[i]), to, n.element(q));
    parts.push_back(n.select(same, q, moved));
    if (!parts.back())
      return failure();
  }
  return n.results({n.concat(parts, *axis), to.low, to.high});
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult quantizedMatMul(NodeImport &n) {
  Value a = n.in(0), b = n.in(1);
  RealRange aRange = scalarRange(n, 2), bRange = scalarRange(n, 4);
  if (!a || !b || !aRange.high || !bRange.high)
    return failure();
  RealRange to = productRange(n, n.element(a), aRange, n.element(b), bRange, false);
  Value x = fromZero(n, a, aRange), y = fromZero(n, b, bRange);
  if (n.isSet("transpose_a"))
    x = n.transpose(x, {1, 0});
  if (n.isSet("transpose_b"))
    y = n.transpose(y, {1, 0});
  return n.results({n.matmul(x, y), to.low, to.high});
}

static LogicalResult quantizedConv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  RealRange xRange = scalarRange(n, 2), filterRange = scalarRange(n, 4);
  if (!x || !filter || !xRange.high || !filterRange.high)
    return failure();
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  if (!windows || !window)
    return failure();
  RealRange to = productRange(n, n.element(x), xRange, n.element(filter), filterRange, false);
  Value sums =
      convolve(n, fromZero(n, x, xRange), fromZero(n, filter, filterRange), *windows, 1, *window);
  return n.results({sums, to.low, to.high});
}

namespace {
/// The parts of a fused operation, as its name says them.
struct Fusion {
  bool bias, relu, requantize, dequantize;

  explicit Fusion(std::string_view op)
      : bias(op.find("WithBias") != op.npos), relu(op.find("AndRelu") != op.npos),
        requantize(op.ends_with("AndRequantize")), dequantize(op.ends_with("AndDequantize")) {}
};
} // namespace

/// What a fused product goes on with. `sums` are i32 products of integers whose
/// zeros are 0; `unit` is what one of them stands for, f32: a scalar, or one a
/// channel. `bias`, which may be null, are reals.
static LogicalResult finishProduct(NodeImport &n, const Fusion &fusion, Value sums, Value unit,
                                   Value bias, RealRange to, size_t frozen) {
  if (!sums || !unit)
    return failure();
  Type f32 = n.b.getF32Type(), i32 = n.b.getI32Type();
  // Channels of one result count one unit: the largest.
  bool isVector = n.rank(unit) > 0;
  Value common = isVector ? n.reduce(unit, "max", {0}, false) : unit;
  if (!bias && !isVector && !fusion.requantize && !fusion.dequantize) {
    if (fusion.relu)
      sums = n.maximum(sums, 0.0);
    return n.results({sums, to.low, to.high});
  }
  Value real = n.mul(n.cast(sums, f32), unit);
  if (bias)
    real = n.add(real, bias);
  if (fusion.relu)
    real = n.maximum(real, 0.0);
  if (fusion.dequantize)
    return n.result(real);
  auto steps = [&](Value one) {
    return n.op<RoundEvenOp>(n.mul(real, n.div(n.like(one, 1), one)));
  };
  if (!fusion.requantize)
    return n.results({n.cast(steps(common), i32), to.low, to.high});
  RealRange out = scalarRange(n, frozen);
  Type type = n.elementAttr(n.attr("out_type") ? "out_type" : "Toutput");
  if (!out.low || !type)
    return failure();
  IntegerLimits limits(type);
  Value most = n.maximum(n.op<AbsOp>(out.low), n.op<AbsOp>(out.high));
  Value q = steps(n.div(most, limits.highest));
  q = n.minimum(n.maximum(q, limits.lowest), limits.highest);
  return n.results({n.cast(q, type), out.low, out.high});
}

/// The bias of a fused product as reals: a float one is, an integer one counts
/// units. Null without one.
static Value fusedBias(NodeImport &n, const Fusion &fusion, Value unit) {
  Value bias = fusion.bias ? n.in(2) : Value();
  if (!bias || n.isFloat(bias))
    return bias;
  return n.mul(n.cast(bias, n.b.getF32Type()), unit);
}

/// What one step of a range stands for whose zero is 0.
static Value scaledUnit(NodeImport &n, Type integer, RealRange range) {
  Value most = n.maximum(n.op<AbsOp>(range.low), n.op<AbsOp>(range.high));
  return n.div(most, IntegerLimits(integer).highest);
}

/// Ranges of the operands of a fused product; the second may have one a
/// channel.
static std::optional<std::pair<RealRange, RealRange>> fusedRanges(NodeImport &n, size_t first) {
  RealRange a = scalarRange(n, first);
  RealRange b = {n.in(first + 2), n.in(first + 3)};
  if (!a.high || !b.high)
    return std::nullopt;
  if (n.rank(b.low) != 1 || n.dim(b.low, 0) == 1)
    if (n.node.op.find("Depthwise") == std::string_view::npos)
      b = scalarRange(n, first + 2);
  return std::make_pair(a, b);
}

template <bool isDepthwise> static LogicalResult fusedQuantizedConv(NodeImport &n) {
  Fusion fusion(n.node.op);
  Value x = n.in(0), filter = n.in(1);
  size_t first = fusion.bias ? 3 : 2;
  auto ranges = fusedRanges(n, first);
  if (!x || !filter || !ranges)
    return failure();
  if (!n.is("padding_list").empty())
    return n.unsupported("expected no padding_list, got one");
  auto windows = readWindows(n, 2);
  auto window = filterWindow(n, filter, 2);
  if (!windows || !window)
    return failure();
  auto [a, b] = *ranges;
  Type aType = n.element(x), bType = n.element(filter), i32 = n.b.getI32Type();
  RealRange to = productRange(n, aType, a, bType, b, true);
  Value unit = n.mul(scaledUnit(n, aType, a), scaledUnit(n, bType, b));
  int64_t groups = 1;
  Value weights = n.cast(filter, i32);
  if (isDepthwise) {
    auto each = filterPerChannel(n, n.dim(x, windows->channelDim()), weights);
    if (!each)
      return failure();
    groups = *each;
  }
  Value sums = convolve(n, n.cast(x, i32), weights, *windows, groups, *window);
  return finishProduct(n, fusion, sums, unit, fusedBias(n, fusion, unit), to, first + 4);
}

/// With input_quant_mode MIN_FIRST the first operand's integers count from its
/// lowest real.
static LogicalResult fusedQuantizedMatMul(NodeImport &n) {
  Fusion fusion(n.node.op);
  Value a = n.in(0), b = n.in(1);
  auto ranges = fusedRanges(n, 3);
  if (!a || !b || !ranges)
    return failure();
  auto [aRange, bRange] = *ranges;
  Type aType = n.element(a), bType = n.element(b), i32 = n.b.getI32Type();
  bool minFirst = n.s("input_quant_mode") == "MIN_FIRST";
  RealRange to = productRange(n, aType, aRange, bType, bRange, true);
  Value aUnit = minFirst ? n.div(n.sub(aRange.high, aRange.low), IntegerLimits(aType).highest)
                         : scaledUnit(n, aType, aRange);
  Value unit = n.mul(aUnit, scaledUnit(n, bType, bRange));
  Value x = n.cast(a, i32), y = n.cast(b, i32);
  if (n.isSet("transpose_a"))
    x = n.transpose(x, {1, 0});
  if (n.isSet("transpose_b"))
    y = n.transpose(y, {1, 0});
  Value bias = fusedBias(n, fusion, unit);
  if (minFirst) {
    // What the zero point adds, in steps of the first operand, TensorFlow adds
    // to the bias, which counts reals.
    Value columns = n.reduce(y, "sum", {0}, false);
    Value steps = n.div(n.mul(aRange.low, 255.0), n.sub(aRange.high, aRange.low));
    bias = n.add(bias, n.mul(n.cast(columns, n.b.getF32Type()), steps));
  }
  return finishProduct(n, fusion, n.matmul(x, y), unit, bias, to, 7);
}

//===----------------------------------------------------------------------===//
// Normalisation and resizing
//===----------------------------------------------------------------------===//

/// In fixed point with 10 bits behind the point.
static LogicalResult quantizedBatchNorm(NodeImport &n) {
  Value x = n.in(0);
  RealRange range = scalarRange(n, 1);
  if (!x || !range.high)
    return failure();
  auto real = [&](size_t i) { return dequantizeDouble(n, n.in(i), scalarRange(n, i + 1)); };
  Value mean = real(3), variance = real(6), beta = real(9), gamma = real(12);
  if (!mean || !variance || !beta || !gamma)
    return failure();
  Type type = n.elementAttr("out_type");
  double most = 1 << 20;
  RealRange to{n.like(mean, -most), n.like(mean, most)};
  Value root = n.sqrt(n.add(variance, n.f("variance_epsilon")));
  Value scale = n.div(n.like(root, 1), root);
  if (n.isSet("scale_after_normalization"))
    scale = n.mul(scale, gamma);
  Value offset = n.add(n.mul(n.op<NegOp>(mean), scale), beta);
  auto fixed = [&](Value v) { return quantizeDouble(n, v, to, type); };
  Value one = fixed(n.like(mean, 1));
  Value input = fixed(dequantizeDouble(n, x, range));
  Value y = n.add(n.div(n.mul(input, fixed(scale)), one), fixed(offset));
  return n.results({y, to.low, to.high});
}

static LogicalResult quantizedInstanceNorm(NodeImport &n) {
  Value x = n.in(0);
  RealRange range = scalarRange(n, 1);
  if (!x || !range.high)
    return failure();
  if (n.rank(x) != 4)
    return n.invalid("expected rank 4, got " + Twine(n.rank(x)));
  Value scale = n.div(n.sub(range.high, range.low), 255.0);
  Value wide = n.cast(x, n.b.getF32Type());
  Value centred = n.sub(wide, n.reduce(wide, "mean", {1, 2}, true));
  Value real = n.mul(centred, scale);
  Value variance = n.reduce(n.mul(real, real), "mean", {1, 2}, true);
  Value normal = n.mul(real, n.op<RsqrtOp>(n.add(variance, n.f("variance_epsilon"))));
  RealRange to;
  if (n.isSet("output_range_given")) {
    to = {n.like(normal, n.f("given_y_min")), n.like(normal, n.f("given_y_max"))};
  } else {
    to = {n.reduce(normal, "min", axesFrom(0, 4), false),
          n.reduce(normal, "max", axesFrom(0, 4), false)};
  }
  double least = n.f("min_separation");
  Value narrow = n.compare("lt", n.sub(to.high, to.low), least);
  to.high = n.select(narrow, n.add(to.low, least), to.high);
  return n.results({quantizeFloat(n, normal, to, n.element(x)), to.low, to.high});
}

/// Integers are interpolated in fixed point: 7 bits of fraction for 8-bit ones,
/// 30 for 32-bit ones.
static LogicalResult quantizedResize(NodeImport &n) {
  Value x = n.in(0), sizes = n.in(1);
  RealRange range = scalarRange(n, 2);
  if (!x || !sizes || !range.high)
    return failure();
  if (n.rank(x) != 4)
    return n.invalid("expected rank 4, got " + Twine(n.rank(x)));
  Type f32 = n.b.getF32Type();
  bool isReal = n.isFloat(x);
  if (!n.element(x).isIntOrFloat())
    return n.invalid("found an image whose elements are no numbers");
  bool isByte = n.element(x).getIntOrFloatBitWidth() == 8;
  double one = isByte ? 1 << 7 : 1 << 30;
  Type work = isReal ? f32 : isByte ? n.b.getI32Type() : Type(n.b.getI64Type());
  Between rows = neighbours(n, sideOf(n, x, sizes, 1)),
          columns = neighbours(n, sideOf(n, x, sizes, 2));
  auto fixed = [&](Value share) { return n.cast(isReal ? share : n.mul(share, one), work); };
  Value xShare = alongDim(n, fixed(columns.share), 2, 4),
        yShare = alongDim(n, fixed(rows.share), 1, 4);
  auto across = [&](Value row) {
    Value whole = n.gather(n.cast(x, work), row, 1);
    Value left = n.gather(whole, columns.lower, 2);
    Value right = n.gather(whole, columns.upper, 2);
    Value moved = n.mul(n.sub(right, left), xShare);
    return n.add(isReal ? left : n.mul(left, one), moved);
  };
  Value top = across(rows.lower), bottom = across(rows.upper);
  Value gap = n.sub(bottom, top);
  Value y = n.add(top, n.mul(isReal ? gap : n.div(gap, one), yShare));
  if (!isReal) {
    // What keeps its sizes is not rounded.
    Value same =
        n.reduce(n.compare("eq", n.toI64(sizes), n.shapeSlice(x, 1, 3)), "all", {0}, false);
    Value half = n.select(same, n.like(y, 0), n.like(y, one / 2));
    y = n.div(n.add(y, half), one);
  }
  return n.results({n.cast(y, n.element(x), /*saturate=*/false), range.low, range.high});
}

ArrayRef<OpImport> weir::tf::quantizedImports() {
  static const OpImport rows[] = {
      {"QuantizedAdd", quantizedAdd},
      {"QuantizedMul", quantizedMul},
      {"QuantizedBiasAdd", quantizedBiasAdd},
      {"QuantizedRelu", quantizedRelu<false>},
      {"QuantizedRelu6", quantizedRelu<true>},
      {"QuantizedReshape", quantizedReshape},
      {"QuantizedMaxPool", quantizedPool<true>},
      {"QuantizedAvgPool", quantizedPool<false>},
      {"QuantizedConcat", quantizedConcat},
      {"QuantizedMatMul", quantizedMatMul},
      {"QuantizedMatMulWithBias", fusedQuantizedMatMul},
      {"QuantizedMatMulWithBiasAndDequantize", fusedQuantizedMatMul},
      {"QuantizedMatMulWithBiasAndRelu", fusedQuantizedMatMul},
      {"QuantizedMatMulWithBiasAndReluAndRequantize", fusedQuantizedMatMul},
      {"QuantizedMatMulWithBiasAndRequantize", fusedQuantizedMatMul},
      {"QuantizedConv2D", quantizedConv},
      {"QuantizedConv2DAndRelu", fusedQuantizedConv<false>},
      {"QuantizedConv2DAndReluAndRequantize", fusedQuantizedConv<false>},
      {"QuantizedConv2DAndRequantize", fusedQuantizedConv<false>},
      {"QuantizedConv2DPerChannel", fusedQuantizedConv<false>},
      {"QuantizedConv2DWithBias", fusedQuantizedConv<false>},
      {"QuantizedConv2DWithBiasAndRelu", fusedQuantizedConv<false>},
      {"QuantizedConv2DWithBiasAndReluAndRequantize", fusedQuantizedConv<false>},
      {"QuantizedConv2DWithBiasAndRequantize", fusedQuantizedConv<false>},
      {"QuantizedDepthwiseConv2D", fusedQuantizedConv<true>},
      {"QuantizedDepthwiseConv2DWithBias", fusedQuantizedConv<true>},
      {"QuantizedDepthwiseConv2DWithBiasAndRelu", fusedQuantizedConv<true>},
      {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", fusedQuantizedConv<true>},
      {"QuantizedBatchNormWithGlobalNormalization", quantizedBatchNorm},
      {"QuantizedInstanceNorm", quantizedInstanceNorm},
      {"QuantizedResizeBilinear", quantizedResize},
  };
  return rows;
}
