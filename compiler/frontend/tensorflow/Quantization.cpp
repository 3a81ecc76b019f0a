//===- Quantization.cpp - integers that stand for reals -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Quantization.h"

#include <algorithm>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

RealRange weir::tf::scalarRange(NodeImport &n, size_t i) {
  Value low = n.in(i), high = n.in(i + 1);
  if (!low || !high)
    return {};
  return {n.toScalar(low), n.toScalar(high)};
}

/// The f32 nearest to an f64.
static Value narrow(NodeImport &n, Value v) { return n.cast(v, n.b.getF32Type()); }
static Value wide(NodeImport &n, Value v) { return n.cast(v, n.b.getF64Type()); }

static Value isPoint(NodeImport &n, RealRange range) {
  return n.compare("eq", range.low, range.high);
}

Value weir::tf::quantizeFloat(NodeImport &n, Value x, RealRange range, Type integer) {
  IntegerLimits limits(integer);
  Value width = n.sub(range.high, range.low);
  if (!width)
    return {};
  Value steps = n.scalar(n.b.getF64Type(), limits.steps() - 1);
  Value scale =
      n.select(isPoint(n, range), n.like(width, 0), narrow(n, n.div(steps, wide(n, width))));
  Value origin = n.sub(n.op<RoundOp>(n.mul(range.low, scale)), limits.lowest);
  Value steady = n.sub(n.op<RoundOp>(n.mul(x, scale)), origin);
  // The highest f32 that is an i32.
  double top = std::min(limits.highest, 2147483520.0);
  Value clamped = n.minimum(n.maximum(steady, limits.lowest), top);
  return n.cast(n.cast(clamped, n.b.getI32Type()), integer);
}

Value weir::tf::dequantizeFloat(NodeImport &n, Value q, RealRange range) {
  if (!q)
    return {};
  IntegerLimits limits(n.element(q));
  Value scale = narrow(n, n.div(wide(n, n.sub(range.high, range.low)), limits.steps() - 1));
  Value rounded = n.mul(n.op<RoundOp>(n.div(range.low, scale)), scale);
  Value low = n.select(isPoint(n, range), range.low, rounded);
  Value offset = n.sub(low, n.mul(scale, limits.lowest));
  return n.add(offset, n.mul(n.cast(q, n.b.getF32Type()), scale));
}

/// high - low, widened so that the steps between its integers fill it.
static Value doubleWidth(NodeImport &n, RealRange range, const IntegerLimits &limits) {
  return n.mul(wide(n, n.sub(range.high, range.low)), limits.steps() / (limits.steps() - 1));
}

Value weir::tf::dequantizeDouble(NodeImport &n, Value q, RealRange range) {
  if (!q)
    return {};
  IntegerLimits limits(n.element(q));
  Value scale = n.div(doubleWidth(n, range, limits), limits.steps());
  Value inFloat = narrow(n, scale);
  Value low = n.mul(n.op<RoundOp>(n.div(range.low, inFloat)), inFloat);
  Value offset = n.sub(wide(n, q), limits.lowest);
  Value result = narrow(n, n.add(wide(n, low), n.mul(offset, scale)));
  return n.select(isPoint(n, range), range.low, result);
}

Value weir::tf::quantizeUnclamped(NodeImport &n, Value x, RealRange range, Type integer) {
  IntegerLimits limits(integer);
  Value width = doubleWidth(n, range, limits);
  if (!width)
    return {};
  Value scale = n.div(n.like(width, limits.steps()), width);
  auto steps = [&](Value v) { return n.op<RoundOp>(n.mul(wide(n, v), scale)); };
  Value index = n.toI64(n.sub(steps(x), steps(range.low)));
  Value none = n.intScalar(0);
  return n.add(n.select(isPoint(n, range), none, index), limits.lowest);
}

Value weir::tf::quantizeDouble(NodeImport &n, Value x, RealRange range, Type integer) {
  IntegerLimits limits(integer);
  Value index = quantizeUnclamped(n, x, range, integer);
  return n.cast(n.minimum(n.maximum(index, limits.lowest), limits.highest), integer);
}

RealRange weir::tf::productRange(NodeImport &n, Type aType, RealRange a, Type bType, RealRange b,
                                 bool symmetric) {
  auto one = [&](Type type, RealRange range) {
    IntegerLimits limits(type);
    double steps = limits.highest - limits.lowest;
    if (symmetric && limits.lowest < -limits.highest)
      --steps;
    return n.div(n.sub(range.high, range.low), steps);
  };
  Value unit = n.mul(one(aType, a), one(bType, b));
  return {n.mul(unit, -2147483648.0), n.mul(unit, 2147483647.0)};
}

Value weir::tf::requantize(NodeImport &n, Value q, RealRange from, RealRange to, Type integer) {
  if (!q || !integer)
    return {};
  if (!n.element(q).isSignlessInteger(32) || !integer.isUnsignedInteger(8))
    return quantizeFloat(n, dequantizeFloat(n, q, from), to, integer);
  constexpr double one = 1 << 16;
  Value fromWidth = n.sub(from.high, from.low), toWidth = n.sub(to.high, to.low);
  Value empty = n.compare("eq", toWidth, 0);
  Value none = n.intScalar(0), zero = n.like(toWidth, 0);
  if (!empty || !zero)
    return {};
  Value per = n.div(n.like(wide(n, toWidth), 255), wide(n, toWidth));
  Value reciprocal = n.select(empty, zero, narrow(n, per));
  Value centre = narrow(n, n.div(wide(n, n.add(from.low, from.high)), 2.0));
  Value scale = n.toI64(n.div(n.mul(wide(n, fromWidth), 255.0 * one), wide(n, toWidth)));
  scale = n.select(empty, none, scale);
  Value offsetIn = n.toI64(n.mul(n.mul(centre, reciprocal), one));
  Value offsetOut =
      n.toI64(n.op<RoundOp>(n.div(n.mul(n.mul(wide(n, to.low), 255.0), one), wide(n, toWidth))));
  offsetOut = n.select(empty, none, offsetOut);
  Value high = n.op<ShrOp>(n.mul(n.toI64(q), scale), n.intScalar(32));
  Value moved = n.add(high, n.add(n.sub(offsetIn, offsetOut), one / 2));
  Value index = n.op<ShrOp>(moved, n.intScalar(16));
  return n.cast(n.minimum(n.maximum(index, 0.0), 255.0), integer);
}
