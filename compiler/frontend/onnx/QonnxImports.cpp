//===- QonnxImports.cpp - QONNX's quantisers ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators of the domain "qonnx.custom_op.general", which Brevitas exports: their results are
// the reals that integers of any width stand for. Scales, zero points and widths are operands,
// one number or tensors that are stretched to x.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Microsoft.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// Integers of so many bits are exact in what shifts make.
constexpr double mostBits = 62;

/// x in f32 or wider, and the operands beside it in that type.
class Quantiser {
public:
  explicit Quantiser(NodeImport &n) : n(n) {}
  /// Whether the node has the operands of those names, and their shapes go with x; reports.
  bool read(ArrayRef<StringRef> names);
  /// Operand `i` in x's type.
  Value operand(size_t i) { return n.cast(n.in(i), type); }
  /// 2 to the power of operand `i`, a width, which has to be from 1 to 62; null after a report.
  Value levels(size_t i);
  /// x in steps of operand 1, with operand 2, the zero point, added.
  Value steps() { return n.add(n.div(x, operand(1)), operand(2)); }
  /// `y` within the integers of so many levels.
  Value clamped(Value y, Value levels);
  /// `y` as rounding_mode says; null after a report.
  Value rounded(Value y, StringRef fallback);
  LogicalResult result(Value y) { return n.result(n.cast(y, n.element(n.in(0)))); }

  Value x;
  NodeImport &n;

private:
  Type type;
};

bool Quantiser::read(ArrayRef<StringRef> names) {
  size_t count = names.size();
  for (size_t i = 0; i < count; ++i)
    if (!n.has(i)) {
      (void)n.invalid("found no " + names[i]);
      return false;
    }
  if (n.inputCount() > count) {
    (void)n.invalid("expected " + Twine(count) + " inputs, got " + Twine(n.inputCount()));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!n.in(i))
      return false;
    if (!n.isFloat(n.in(i))) {
      (void)n.invalid("expected " + names[i] + " to be floats, got another type");
      return false;
    }
    if (i && !n.stretchesTo(n.in(i), n.in(0), names[i]))
      return false;
  }
  x = n.widen(n.in(0));
  type = n.element(x);
  return true;
}

Value Quantiser::levels(size_t i) {
  auto isWidth = [](double bits) { return bits >= 1 && bits <= mostBits; };
  if (std::optional<SmallVector<double>> known = n.constantFloats(i)) {
    const double *wrong = llvm::find_if_not(*known, isWidth);
    if (wrong != known->end()) {
      (void)n.invalid("expected widths from 1 to 62 bits, got " +
                      llvm::formatv("{0}", *wrong).str());
      return {};
    }
  } else {
    Value given = n.in(i);
    Value fits = n.op<AndOp>(n.compare("ge", given, 1.0), n.compare("le", given, mostBits));
    n.require(n.reduce(fits, "all", axesFrom(0, n.rank(given)), false),
              "a width is not from 1 to 62 bits");
  }
  // Shifts are exact where powers are not; what is left of a width that is no integer is 2^0 else.
  Value bits = operand(i), whole = n.op<FloorOp>(bits);
  Type i64 = n.b.getI64Type();
  Value power = n.cast(n.op<ShlOp>(n.scalar(i64, 1), n.cast(whole, i64)), type);
  return n.mul(power, n.op<PowOp>(n.scalar(type, 2), n.sub(bits, whole)));
}

Value Quantiser::clamped(Value y, Value levels) {
  bool isSigned = intOr(n, "signed", 1) != 0, isNarrow = intOr(n, "narrow", 0) != 0;
  Value half = isSigned ? n.mul(levels, 0.5) : Value();
  Value high = n.sub(isSigned ? half : levels, isNarrow && !isSigned ? 2.0 : 1.0);
  Value low = isSigned ? n.sub(n.scalar(type, isNarrow), half) : n.scalar(type, 0);
  y = n.select(n.compare("gt", y, high), high, y);
  return n.select(n.compare("lt", y, low), low, y);
}

Value Quantiser::rounded(Value y, StringRef fallback) {
  StringRef given = n.hasAttr("rounding_mode") ? StringRef(n.s("rounding_mode")) : fallback;
  std::string mode = given.upper();
  if (!y)
    return {};
  if (mode == "ROUND" || mode == "HALF_EVEN")
    return n.op<RoundEvenOp>(y);
  if (mode == "FLOOR")
    return n.op<FloorOp>(y);
  if (mode == "CEIL")
    return n.op<CeilOp>(y);
  if (mode == "DOWN")
    return n.op<TruncOp>(y);
  Value isBelow = n.compare("lt", y, 0.0);
  if (mode == "UP") // away from zero
    return n.select(isBelow, n.op<FloorOp>(y), n.op<CeilOp>(y));
  if (mode == "HALF_UP") // what lies between two, away from zero
    return n.op<RoundOp>(y);
  if (mode == "HALF_DOWN")
    return n.select(isBelow, n.op<FloorOp>(n.add(y, 0.5)), n.op<CeilOp>(n.sub(y, 0.5)));
  (void)n.unsupported("expected rounding_mode ROUND, HALF_EVEN, HALF_UP, HALF_DOWN, CEIL, FLOOR, "
                      "UP or DOWN, got \"" +
                      given + "\"");
  return {};
}

/// 1 from zero on, else -1.
Value bipolar(NodeImport &n, Value y) {
  return n.select(n.compare("ge", y, 0.0), n.like(y, 1), n.like(y, -1));
}

LogicalResult quant(NodeImport &n) {
  Quantiser q(n);
  if (!q.read({"x", "scale", "zeropt", "bitwidth"}))
    return failure();
  for (std::string_view name : {"signed", "narrow"})
    if (!n.hasAttr(name))
      return n.invalid("found no attribute " + Twine(name));
  Value steps = q.steps(), levels = q.levels(3);
  if (!levels)
    return failure();
  Value y = q.rounded(q.clamped(steps, levels), "ROUND");
  // A single bit with a sign says which.
  std::optional<SmallVector<double>> known = n.constantFloats(3);
  bool isWide = known && !llvm::is_contained(*known, 1);
  if (y && intOr(n, "signed", 1) != 0 && !isWide)
    y = n.select(n.compare("eq", q.operand(3), 1.0), bipolar(n, steps), y);
  return q.result(n.mul(n.sub(y, q.operand(2)), q.operand(1)));
}

LogicalResult bipolarQuant(NodeImport &n) {
  Quantiser q(n);
  return q.read({"x", "scale"}) ? q.result(n.mul(bipolar(n, q.x), q.operand(1))) : failure();
}

/// Version 1 drops as many bits as the widths differ by; results stay in steps of `scale`.
LogicalResult truncBits(NodeImport &n) {
  Quantiser q(n);
  if (!q.read({"x", "scale", "zeropt", "in_bitwidth", "out_bitwidth"}))
    return failure();
  Value before = q.levels(3), after = before ? q.levels(4) : Value();
  if (!after)
    return failure();
  Value y = n.div(n.op<RoundEvenOp>(q.steps()), n.div(before, after));
  y = q.rounded(y, "FLOOR");
  return q.result(n.mul(n.sub(y, q.operand(2)), q.operand(1)));
}

/// From version 2 on it drops those that the scales differ by, a power of two; results are in steps
/// of `out_scale`, and fit the width.
LogicalResult truncScale(NodeImport &n) {
  Quantiser q(n);
  if (!q.read({"x", "scale", "zeropt", "in_bitwidth", "out_scale", "out_bitwidth"}))
    return failure();
  Value levels = q.levels(3) ? q.levels(5) : Value();
  if (!levels)
    return failure();
  Value ratio = n.div(q.operand(4), q.operand(1));
  Value bits = n.op<RoundEvenOp>(n.mul(n.op<LogOp>(ratio), 1 / std::log(2.0)));
  Value count = n.cast(n.minimum(n.op<AbsOp>(bits), mostBits), n.b.getI64Type());
  Value power = n.cast(n.op<ShlOp>(n.like(count, 1), count), n.element(q.x));
  Value step = n.select(n.compare("lt", bits, 0.0), n.div(n.like(power, 1), power), power);
  Value y = q.clamped(n.div(n.op<RoundEvenOp>(q.steps()), step), levels);
  y = q.rounded(y, "FLOOR");
  return q.result(n.mul(n.sub(y, n.div(q.operand(2), step)), q.operand(4)));
}

constexpr std::string_view qonnx = "qonnx.custom_op.general";

constexpr OperatorImport table[] = {
    {qonnx, "BipolarQuant", 1, 0, bipolarQuant},
    {qonnx, "IntQuant", 1, 0, quant},
    {qonnx, "Quant", 1, 0, quant},
    {qonnx, "Trunc", 1, 1, truncBits},
    {qonnx, "Trunc", 2, 0, truncScale},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::qonnxImports() { return table; }
