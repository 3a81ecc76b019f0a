//===- QuantizationImports.cpp - between reals and integers ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Quantization.h"
#include "compiler/frontend/tensorflow/Sparse.h"
#include "passes/gradient/Gradient.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// The axis that ranges go along; none where there is one range.
static std::optional<int64_t> rangeAxis(NodeImport &n, Value x, bool &isInvalid) {
  isInvalid = false;
  int64_t axis = n.attr("axis") ? n.i("axis") : -1;
  if (axis < 0)
    return std::nullopt;
  if (axis < n.rank(x))
    return axis;
  isInvalid = true;
  (void)n.invalid("expected an axis below the tensor's rank " + Twine(n.rank(x)) + ", got " +
                  Twine(axis));
  return std::nullopt;
}

namespace {
/// Ranges as they come (a scalar, or a vector along `axis`), and as they
/// broadcast to the tensor.
struct Ranges {
  RealRange given;
  std::optional<int64_t> axis;
  int64_t rank;

  Value spread(NodeImport &n, Value v) const {
    return axis ? n.unsqueeze(v, axesFrom(1, rank - *axis)) : v;
  }
};
} // namespace

static std::optional<Ranges> readRanges(NodeImport &n, Value x, size_t first) {
  bool isInvalid;
  auto axis = rangeAxis(n, x, isInvalid);
  if (isInvalid)
    return std::nullopt;
  Ranges ranges{{n.in(first), n.in(first + 1)}, axis, n.rank(x)};
  if (!ranges.given.low || !ranges.given.high)
    return std::nullopt;
  if (!axis) {
    ranges.given.low = n.toScalar(ranges.given.low);
    ranges.given.high = n.toScalar(ranges.given.high);
  } else if (n.rank(ranges.given.low) != 1 || n.rank(ranges.given.high) != 1) {
    (void)n.invalid("found ranges that are no vectors for axis " + Twine(*axis));
    return std::nullopt;
  }
  return ranges;
}

/// quotient / bound where that is positive, else the largest number.
static Value scaleFrom(NodeImport &n, Value quotient, Value bound) {
  if (!bound)
    return {};
  double largest = n.element(bound).isF64() ? std::numeric_limits<double>::max()
                                            : std::numeric_limits<float>::max();
  return n.select(n.compare("gt", n.mul(quotient, bound), 0), n.div(quotient, bound),
                  n.like(bound, largest));
}

//===----------------------------------------------------------------------===//
// Quantize and Dequantize
//===----------------------------------------------------------------------===//

/// Integers of whole floats. 2^31, which the range of 32-bit ones may reach,
/// becomes the lowest of them, as it does in TensorFlow.
static Value toInteger(NodeImport &n, Value rounded, Type integer) {
  return n.cast(rounded, integer,
                /*saturate=*/integer.getIntOrFloatBitWidth() < 32);
}

static LogicalResult quantize(NodeImport &n) {
  Value x = n.in(0);
  Type integer = n.elementAttr("T");
  if (!isa_and_present<IntegerType>(integer))
    return n.invalid("found a type to quantise to that is no integer");
  if (!x)
    return failure();
  auto ranges = readRanges(n, x, 1);
  if (!ranges)
    return failure();
  IntegerLimits limits(integer);
  // The range holds 0, and is not too narrow for its numbers.
  Value givenLow = ranges->given.low, givenHigh = ranges->given.high;
  require(n, n.logicalNot(n.compare("lt", givenHigh, givenLow)), "a range ends before it begins");
  Value low = n.minimum(givenLow, 0.0);
  Value largest = n.maximum(n.maximum(n.op<AbsOp>(givenLow), n.op<AbsOp>(givenHigh)), 1.0);
  double least =
      n.attr("ensure_minimum_range") ? n.f("ensure_minimum_range") : static_cast<double>(0.01f);
  Value high = n.maximum(n.maximum(givenHigh, n.add(low, n.mul(largest, least))), 0.0);
  std::string_view mode = n.s("mode");
  if (mode == "MIN_FIRST") {
    RealRange wide{ranges->spread(n, low), ranges->spread(n, high)};
    return n.results({quantizeFloat(n, x, wide, integer), low, high});
  }
  if (mode == "MIN_COMBINED") {
    Value scale =
        n.div(n.like(low, static_cast<float>(limits.highest) - static_cast<float>(limits.lowest)),
              n.sub(high, low));
    Value wideLow = ranges->spread(n, low), wideHigh = ranges->spread(n, high);
    Value steps =
        n.mul(n.sub(n.maximum(n.minimum(x, wideHigh), wideLow), wideLow), ranges->spread(n, scale));
    // Signed: halves away from zero; unsigned: halves up.
    Value rounded = limits.lowest < 0 ? n.op<RoundOp>(n.add(steps, limits.lowest))
                                      : n.op<FloorOp>(n.add(steps, 0.5));
    return n.results({toInteger(n, rounded, integer), low, high});
  }
  if (mode != "SCALED")
    return n.invalid("expected mode MIN_COMBINED, MIN_FIRST or SCALED, got " +
                     Twine(std::string(mode)));
  Value bottom = n.like(low, limits.lowest + (n.isSet("narrow_range") ? 1 : 0));
  Value top = n.like(low, limits.highest);
  Value scale = n.minimum(scaleFrom(n, bottom, low), scaleFrom(n, top, high));
  low = n.div(bottom, scale);
  high = n.div(top, scale);
  Value steps = n.mul(n.maximum(n.minimum(x, ranges->spread(n, high)), ranges->spread(n, low)),
                      ranges->spread(n, scale));
  Value rounded =
      n.s("round_mode") == "HALF_TO_EVEN" ? n.op<RoundEvenOp>(steps) : n.op<RoundOp>(steps);
  return n.results({toInteger(n, rounded, integer), low, high});
}

static LogicalResult dequantize(NodeImport &n) {
  Value q = n.in(0);
  Type type = n.elementAttr("dtype");
  if (!q || !type)
    return failure();
  auto ranges = readRanges(n, q, 1);
  if (!ranges)
    return failure();
  IntegerLimits limits(n.element(q));
  Value low = ranges->given.low, high = ranges->given.high;
  Value real = n.cast(q, n.b.getF32Type());
  std::string_view mode = n.s("mode");
  if (mode == "MIN_FIRST") {
    if (ranges->axis)
      return n.unsupported("found mode MIN_FIRST along an axis");
    return n.result(n.cast(dequantizeFloat(n, q, {low, high}), type));
  }
  if (mode == "MIN_COMBINED") {
    Value scale = n.div(n.sub(high, low),
                        static_cast<float>(limits.highest) - static_cast<float>(limits.lowest));
    Value result =
        n.add(n.mul(n.sub(real, limits.lowest), ranges->spread(n, scale)), ranges->spread(n, low));
    return n.result(n.cast(result, type));
  }
  if (mode != "SCALED")
    return n.invalid("expected mode MIN_COMBINED, MIN_FIRST or SCALED, got " +
                     Twine(std::string(mode)));
  Value scale = n.div(high, limits.highest);
  if (limits.lowest < 0)
    scale = n.maximum(n.div(low, limits.lowest + (n.isSet("narrow_range") ? 1 : 0)), scale);
  return n.result(n.cast(n.mul(real, ranges->spread(n, scale)), type));
}

/// Values rounded to the integers of a range and back.
static LogicalResult quantizeAndDequantize(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Type type = n.element(x);
  bool isFirst = n.node.op == "QuantizeAndDequantize";
  bool isSigned = n.isSet("signed_input"), isGiven = n.isSet("range_given");
  Ranges ranges{{}, std::nullopt, n.rank(x)};
  if (isFirst) {
    ranges.given = {n.like(x, n.f("input_min")), n.like(x, n.f("input_max"))};
  } else {
    auto read = readRanges(n, x, 1);
    if (!read)
      return failure();
    ranges = *read;
  }
  if (!isGiven) {
    IntVector axes;
    for (int64_t i = 0; i < ranges.rank; ++i)
      if (i != ranges.axis)
        axes.push_back(i);
    auto extreme = [&](StringRef kind) {
      return axes.empty() ? x : n.reduce(x, kind, axes, false);
    };
    ranges.given = {extreme("min"), extreme("max")};
  } else if (!isFirst) {
    require(n, n.compare("le", ranges.given.low, ranges.given.high),
            "a range ends before it begins");
  }
  // The lowest and highest integer, as numbers of the type.
  Value bits = n.node.op == "QuantizeAndDequantizeV3" ? n.toScalar(n.toI64(n.in(3)))
                                                      : n.intScalar(n.i("num_bits"));
  // As many as TensorFlow takes.
  double most = isSigned ? 62 : 63;
  Value fits = n.op<AndOp>(n.compare("gt", bits, 0), n.compare("lt", bits, most));
  if (auto known = constantIntegers(fits); known && known->size() == 1 && !known->front())
    return n.invalid("expected num_bits above 0 and below " + Twine(int64_t(most)));
  require(n, fits, "num_bits is out of range");
  Value one = n.intScalar(1);
  Value half = n.op<ShlOp>(one, n.sub(bits, one));
  Value bottom = isSigned ? n.op<NegOp>(half) : n.intScalar(0);
  if (isSigned && n.isSet("narrow_range"))
    bottom = n.add(bottom, one);
  Value top = n.sub(isSigned ? half : n.op<ShlOp>(one, bits), one);
  bottom = n.cast(bottom, type);
  top = n.cast(top, type);
  // The side that gives the smaller scale decides; it keeps its bound.
  Value low = ranges.given.low, high = ranges.given.high;
  Value fromLow = scaleFrom(n, bottom, low), fromHigh = scaleFrom(n, top, high);
  Value isLow = n.compare("lt", fromLow, fromHigh);
  Value scale = n.select(isLow, fromLow, fromHigh);
  Value inverse = n.select(isLow, n.div(low, bottom), n.div(high, top));
  Value values = x;
  if (isGiven) {
    Value newHigh = n.select(isLow, n.mul(top, inverse), high);
    Value newLow = n.select(isLow, low, n.mul(bottom, inverse));
    values = n.maximum(n.minimum(x, ranges.spread(n, newHigh)), ranges.spread(n, newLow));
  }
  Value steps = n.mul(values, ranges.spread(n, scale));
  Value rounded =
      n.s("round_mode") == "HALF_UP" ? n.op<FloorOp>(n.add(steps, 0.5)) : n.op<RoundEvenOp>(steps);
  return n.result(n.mul(rounded, ranges.spread(n, inverse)));
}

/// The gradient passes where the input lies in its range.
static LogicalResult quantizeAndDequantizeGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  if (!dy || !x)
    return failure();
  auto ranges = readRanges(n, x, 2);
  if (!ranges)
    return failure();
  Value inside = n.op<AndOp>(n.compare("ge", x, ranges->spread(n, ranges->given.low)),
                             n.compare("le", x, ranges->spread(n, ranges->given.high)));
  Value none = n.mul(ranges->given.low, 0.0);
  return n.results({n.select(inside, dy, n.like(dy, 0)), none, none});
}

//===----------------------------------------------------------------------===//
// Fake quantisation
//===----------------------------------------------------------------------===//

namespace {
/// A range moved so that zero is among its integers.
struct Nudged {
  Value low, high, scale, inverse;
};
} // namespace

static Nudged nudge(NodeImport &n, Value low, Value high) {
  double bits = n.attr("num_bits") ? n.i("num_bits") : 8;
  double bottom = n.isSet("narrow_range") ? 1 : 0;
  double top = std::pow(2.0, bits) - 1;
  Value width = n.sub(high, low);
  Value scale = n.div(width, top - bottom);
  Value inverse = n.div(n.like(width, top - bottom), width);
  Value zero = n.sub(n.like(width, bottom), n.div(low, scale));
  zero = n.minimum(n.maximum(n.op<RoundOp>(zero), bottom), top);
  return {n.mul(n.sub(n.like(zero, bottom), zero), scale),
          n.mul(n.sub(n.like(zero, top), zero), scale), scale, inverse};
}

static Value fakeQuant(NodeImport &n, Value x, Value low, Value high) {
  Nudged to = nudge(n, low, high);
  Value zero = n.op<FloorOp>(n.add(n.mul(n.op<NegOp>(to.low), to.inverse), 0.5));
  Value above = n.sub(n.maximum(n.minimum(x, to.high), to.low), to.low);
  // One range for all comes with a division, others with its inverse.
  Value steps =
      n.node.op == "FakeQuantWithMinMaxVars" ? n.div(above, to.scale) : n.mul(above, to.inverse);
  Value result = n.mul(n.op<FloorOp>(n.add(n.sub(steps, zero), 0.5)), to.scale);
  // TensorFlow's gradient passes what lies in the range, as if unrounded.
  if (result)
    result.getDefiningOp()->setAttr(noGradientAttr, n.b.getUnitAttr());
  return result;
}

static LogicalResult fakeQuantArgs(NodeImport &n) {
  Value x = n.in(0);
  return n.result(fakeQuant(n, x, n.like(x, n.f("min")), n.like(x, n.f("max"))));
}

/// A range of nothing around zero.
static Value isNothing(NodeImport &n, Value low, Value high) {
  return n.op<AndOp>(n.compare("eq", low, 0), n.compare("eq", high, 0));
}

/// Bounds are numbers, or as many as there are channels; what would be broadcast is none of it.
static LogicalResult requireBounds(NodeImport &n, Value x, Value low, Value high) {
  bool perChannel = n.node.op.find("PerChannel") != std::string_view::npos;
  for (Value bound : {low, high}) {
    if (!x || !bound || !n.hasRank(bound, perChannel ? 1 : 0))
      return failure();
    if (perChannel && n.rank(x) < 1)
      return n.invalid("expected channels, got a scalar");
    if (perChannel && failed(requireShape(n, bound, n.sizeOf(x, n.rank(x) - 1), "bounds")))
      return failure();
  }
  return success();
}

static LogicalResult fakeQuantVars(NodeImport &n) {
  Value x = n.in(0), low = n.in(1), high = n.in(2);
  if (failed(requireBounds(n, x, low, high)))
    return failure();
  Value quantized = fakeQuant(n, x, low, high);
  return n.result(n.select(isNothing(n, low, high), n.like(x, 0), quantized));
}

static LogicalResult fakeQuantArgsGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1);
  if (failed(requireSame(n, dy, x, "the gradient and the operand")))
    return failure();
  Nudged to = nudge(n, n.like(x, n.f("min")), n.like(x, n.f("max")));
  Value inside = n.op<AndOp>(n.compare("ge", x, to.low), n.compare("le", x, to.high));
  return n.result(dy ? n.mul(dy, n.cast(inside, n.element(dy))) : dy);
}

/// Of the values, and of the bounds where values lie outside of them.
static LogicalResult fakeQuantVarsGrad(NodeImport &n) {
  Value dy = n.in(0), x = n.in(1), low = n.in(2), high = n.in(3);
  if (failed(requireSame(n, dy, x, "the gradient and the operand")) ||
      failed(requireBounds(n, x, low, high)))
    return failure();
  Nudged to = nudge(n, low, high);
  // Times 1 or 0: what is no number stays none.
  auto where = [&](Value condition) { return n.mul(dy, n.cast(condition, n.element(dy))); };
  Value whole = isNothing(n, low, high), zero = n.like(dy, 0);
  Value below = n.compare("lt", x, to.low), above = n.compare("gt", x, to.high);
  Value inside = n.op<AndOp>(n.compare("ge", x, to.low), n.compare("le", x, to.high));
  Value dx = n.select(whole, dy, where(inside));
  IntVector axes = axesFrom(0, n.rank(x) - n.rank(low));
  auto sum = [&](Value outside) {
    Value picked = n.select(whole, zero, where(outside));
    return axes.empty() ? picked : n.reduce(picked, "sum", axes, false);
  };
  return n.results({dx, sum(below), sum(above)});
}

//===----------------------------------------------------------------------===//
// Other ranges
//===----------------------------------------------------------------------===//

/// The range that values take, with zero in it.
static RealRange usedRange(NodeImport &n, Value q, RealRange range) {
  if (!q)
    return {};
  auto extreme = [&](StringRef kind) {
    Value index = n.reduce(q, kind, axesFrom(0, n.rank(q)), false);
    return dequantizeDouble(n, index, range);
  };
  return {n.minimum(extreme("min"), 0.0), extreme("max")};
}

static LogicalResult requantizationRange(NodeImport &n) {
  RealRange used = usedRange(n, n.in(0), scalarRange(n, 1));
  return n.results({used.low, used.high});
}

static LogicalResult quantizeDown(NodeImport &n) {
  Value q = n.in(0);
  RealRange from = scalarRange(n, 1), to = usedRange(n, q, from);
  return n.results({requantize(n, q, from, to, n.elementAttr("out_type")), to.low, to.high});
}

static LogicalResult requantizeTo(NodeImport &n) {
  RealRange from = scalarRange(n, 1), to = scalarRange(n, 3);
  if (!from.low || !to.low || !to.high)
    return failure();
  require(n, n.compare("le", to.low, 0), "the range that is asked for begins above 0");
  require(n, n.compare("ge", to.high, to.low), "the range that is asked for ends before it begins");
  return n.results({requantize(n, n.in(0), from, to, n.elementAttr("out_type")), to.low, to.high});
}

/// What one of 32-bit integers stands for in each channel, the last dimension.
static Value channelUnits(NodeImport &n, Value low, Value high) {
  Value most = n.maximum(n.op<AbsOp>(low), n.op<AbsOp>(high));
  return n.div(most, 2147483648.0);
}

/// The range that all channels take, symmetric unless no value is negative.
static LogicalResult requantizationRangePerChannel(NodeImport &n) {
  Value q = n.in(0), low = n.in(1), high = n.in(2);
  if (!q || !low || !high)
    return failure();
  if (n.rank(q) < 1)
    return n.invalid("found a scalar");
  IntVector axes = axesFrom(0, n.rank(q) - 1);
  auto extreme = [&](StringRef kind) {
    Value index = axes.empty() ? q : n.reduce(q, kind, axes, false);
    return n.cast(index, n.b.getF32Type());
  };
  Value least = extreme("min"), greatest = extreme("max");
  Value most = n.maximum(n.op<AbsOp>(least), n.op<AbsOp>(greatest));
  Value reals = n.mul(most, channelUnits(n, low, high));
  Value top = n.minimum(n.reduce(reals, "max", {0}, false), n.f("clip_value_max"));
  Value isPositive = n.reduce(n.compare("ge", least, 0), "all", {0}, false);
  Value bottom = n.select(isPositive, n.like(top, 0), n.op<NegOp>(top));
  return n.results({bottom, top});
}

static LogicalResult requantizePerChannel(NodeImport &n) {
  Value q = n.in(0), low = n.in(1), high = n.in(2);
  RealRange to = scalarRange(n, 3);
  Type type = n.elementAttr("out_type");
  if (!q || !low || !high || !to.high || !type)
    return failure();
  IntegerLimits limits(type);
  Value most = n.maximum(n.op<AbsOp>(to.low), n.op<AbsOp>(to.high));
  Value scale = n.mul(n.div(channelUnits(n, low, high), most), limits.highest);
  Value steps = n.op<RoundEvenOp>(n.mul(n.cast(q, n.b.getF32Type()), scale));
  Value result = n.minimum(n.maximum(steps, limits.lowest), limits.highest);
  return n.results({n.cast(result, type), to.low, to.high});
}

ArrayRef<OpImport> weir::tf::quantizationImports() {
  static const OpImport rows[] = {
      {"QuantizeV2", quantize},
      {"Dequantize", dequantize},
      {"QuantizeAndDequantize", quantizeAndDequantize},
      {"QuantizeAndDequantizeV2", quantizeAndDequantize},
      {"QuantizeAndDequantizeV3", quantizeAndDequantize},
      {"QuantizeAndDequantizeV4", quantizeAndDequantize},
      {"QuantizeAndDequantizeV4Grad", quantizeAndDequantizeGrad},
      {"FakeQuantWithMinMaxArgs", fakeQuantArgs},
      {"FakeQuantWithMinMaxArgsGradient", fakeQuantArgsGrad},
      {"FakeQuantWithMinMaxVars", fakeQuantVars},
      {"FakeQuantWithMinMaxVarsGradient", fakeQuantVarsGrad},
      {"FakeQuantWithMinMaxVarsPerChannel", fakeQuantVars},
      {"FakeQuantWithMinMaxVarsPerChannelGradient", fakeQuantVarsGrad},
      {"RequantizationRange", requantizationRange},
      {"QuantizeDownAndShrinkRange", quantizeDown},
      {"Requantize", requantizeTo},
      {"RequantizationRangePerChannel", requantizationRangePerChannel},
      {"RequantizePerChannel", requantizePerChannel},
  };
  return rows;
}
