//===- NormalizationImports.cpp - normalisations --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Window.h"
#include "dialects/weir/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// The type that a batch normalisation is computed in, and its result rounded from: of operands of
/// several types the widest, so that a variance beyond f16's range is one still.
Type commonType(NodeImport &n, ArrayRef<Value> operands) {
  Type common = n.element(operands.front());
  for (Value operand : operands) {
    Type type = n.element(operand);
    if (type == common)
      continue;
    bool isDouble = type.isF64() || common.isF64();
    common = isDouble ? Type(n.b.getF64Type()) : n.b.getF32Type();
  }
  return common;
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, in `type`.
Value normalized(NodeImport &n, Value x, Value scale, Value bias, Value mean, Value variance,
                 Type type) {
  return n.op<BatchNormOp>(n.cast(x, type), n.cast(scale, type), n.cast(bias, type),
                           n.cast(mean, type), n.cast(variance, type), n.number(1),
                           n.real(n.f("epsilon")));
}

/// What a training batch normalisation computes and keeps: y, and the running
/// statistics that it moves.
LogicalResult trainBatchNorm(NodeImport &n, Value x) {
  Value scale = n.in(1), bias = n.in(2), mean = n.in(3), variance = n.in(4);
  if (!scale || !bias || !mean || !variance)
    return failure();
  SmallVector<int64_t> axes = {0};
  llvm::append_range(axes, axesFrom(2, n.rank(x)));
  Value wide = n.widen(x);
  Value current = n.reduce(wide, "mean", axes, true);
  Value centred = n.sub(wide, current);
  Value spread = n.reduce(n.mul(centred, centred), "mean", axes, true);
  auto channel = [&](Value v) { return n.squeeze(v, axes); };
  // In f32 at least: the squares of halves are none.
  Type type = commonType(n, {wide, scale, bias});
  Value y =
      n.cast(normalized(n, x, scale, bias, channel(current), channel(spread), type), n.element(x));
  double momentum = n.f("momentum");
  auto moved = [&](Value old, Value fresh) {
    Type statistic = commonType(n, {n.widen(old), fresh});
    Value next = n.add(n.mul(n.cast(old, statistic), momentum),
                       n.mul(n.cast(channel(fresh), statistic), 1 - momentum));
    return n.cast(next, n.element(old));
  };
  return n.results({y, moved(mean, current), moved(variance, spread)});
}

LogicalResult batchNorm(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  for (size_t i = 1; i < 5 && n.rank(x) > 1; ++i)
    if (n.has(i) && !n.hasOneEach(n.in(i), x, 1, "channels' parameters"))
      return failure();
  if (n.version < 9 && n.spec && n.i("spatial") == 0 && n.rank(x) > 2)
    return n.unsupported(
        "expected statistics for each channel, got spatial = 0, statistics for each position");
  bool extra = false;
  for (size_t i = 1; i < n.outputCount(); ++i)
    extra |= n.wants(i);
  bool training = n.version >= 14 ? n.i("training_mode") != 0 : extra;
  if (training)
    return n.version >= 14
               ? trainBatchNorm(n, x)
               : n.unsupported(
                     "expected inference with one output, got batch normalisation that trains");
  Value scale = n.in(1), bias = n.in(2), mean = n.in(3), variance = n.in(4);
  if (!scale || !bias || !mean || !variance)
    return failure();
  Value y = normalized(n, x, scale, bias, mean, variance,
                       commonType(n, {x, scale, bias, mean, variance}));
  if (y && n.graph.training)
    y.getDefiningOp()->setAttr(momentumAttr, n.real(n.f("momentum")));
  return n.result(n.cast(y, n.element(x)));
}

/// (x - mean) / sqrt(variance + epsilon) over `axes`, in f32 or wider.
Value standardize(TensorBuilder &t, Value x, Ints axes, double epsilon) {
  Value wide = t.widen(x);
  Value centred = t.sub(wide, t.reduce(wide, "mean", axes, true));
  Value variance = t.reduce(t.mul(centred, centred), "mean", axes, true);
  return t.mul(centred, t.op<RsqrtOp>(t.add(variance, epsilon)));
}

LogicalResult instanceNorm(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  if (!x || !scale || !bias || !n.hasOneEach(scale, x, 1, "scale") ||
      !n.hasOneEach(bias, x, 1, "bias"))
    return failure();
  // Halves become halves again at the end: the bias may cancel what is scaled.
  Value y = standardize(n, x, axesFrom(2, n.rank(x)), n.f("epsilon"));
  y = n.mul(y, perChannel(n, n.widen(scale), n.rank(x)));
  y = n.add(y, perChannel(n, n.widen(bias), n.rank(x)));
  return n.result(n.cast(y, n.element(x)));
}

LogicalResult groupNorm(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  if (!x || !scale || !bias)
    return failure();
  int64_t groups = n.i("num_groups"), rank = n.rank(x);
  if (!n.isMultiple(x, 1, groups, "groups"))
    return failure();
  for (auto [v, what] : {std::pair(scale, "scale"), std::pair(bias, "bias")})
    if (n.version < 21 ? !n.hasRank(v, 1, what) || !n.hasSize(v, 0, groups, what)
                       : !n.hasOneEach(v, x, 1, what))
      return failure();
  Value shape = n.shapeOf(x);
  Value inner = n.div(n.sizeProduct(x, 1, rank), double(groups));
  Value grouped = n.reshapeTo(x, n.concat({n.sizeOf(x, 0), n.ints({groups}), inner}, 0));
  Value y = standardize(n, grouped, {2}, n.f("epsilon"));
  if (n.version < 21) {
    // One scale a group, which covers that group's channels.
    y = n.cast(y, n.element(x));
    auto perGroup = [&](Value v) { return n.unsqueeze(v, {0, 2}); };
    y = n.add(n.mul(y, perGroup(scale)), perGroup(bias));
    return n.result(n.reshapeTo(y, shape));
  }
  y = n.reshapeTo(n.cast(y, n.element(x)), shape);
  y = n.mul(y, perChannel(n, scale, rank));
  return n.result(n.add(y, perChannel(n, bias, rank)));
}

LogicalResult layerNorm(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1);
  if (!x || !scale)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return failure();
  if (!n.stretchesTo(scale, x, "scale") || (n.has(2) && !n.stretchesTo(n.in(2), x, "bias")))
    return failure();
  Value bias = n.has(2) ? n.in(2) : n.like(x, 0);
  double epsilon = n.f("epsilon");
  Value y = n.op<LayerNormOp>(x, scale, bias, n.number(*axis), n.real(epsilon));
  Value mean, inverse;
  if (n.wants(1) || n.wants(2)) {
    SmallVector<int64_t> axes = axesFrom(*axis, n.rank(x));
    Value wide = n.widen(x);
    mean = n.reduce(wide, "mean", axes, true);
    Value centred = n.sub(wide, mean);
    Value variance = n.reduce(n.mul(centred, centred), "mean", axes, true);
    // Of the type that they are stashed in.
    constexpr int64_t bfloat16 = 16;
    Type type = n.i("stash_type") == bfloat16 ? Type(n.b.getBF16Type()) : n.b.getF32Type();
    mean = n.cast(mean, type);
    inverse = n.cast(n.op<RsqrtOp>(n.add(variance, epsilon)), type);
  }
  return n.results({y, mean, inverse});
}

LogicalResult rmsNorm(NodeImport &n) {
  Value x = n.in(0), scale = n.in(1);
  if (!x || !scale)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis || !n.stretchesTo(scale, x, "scale"))
    return failure();
  Value wide = n.widen(x);
  Value square = n.reduce(n.mul(wide, wide), "mean", axesFrom(*axis, n.rank(x)), true);
  Value y = n.mul(wide, n.op<RsqrtOp>(n.add(square, n.f("epsilon"))));
  y = n.cast(y, n.element(scale));
  return n.result(n.mul(y, scale));
}

LogicalResult lpNorm(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return failure();
  bool first = n.i("p") == 1;
  // Squares of narrow floats overflow, or vanish.
  Type type = n.element(x);
  x = n.widen(x);
  Value power = first ? n.op<AbsOp>(x) : n.mul(x, x);
  Value norm = n.reduce(power, "sum", {*axis}, true);
  if (!first)
    norm = n.sqrt(norm);
  // Where the norm is zero, be it that small numbers' squares are, the result is.
  Value zero = n.compare("eq", norm, 0.0);
  Value divisor = n.select(zero, n.like(norm, 1), norm);
  return n.result(n.cast(n.select(zero, n.like(x, 0), n.div(x, divisor)), type));
}

LogicalResult meanVariance(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::optional<SmallVector<int64_t>> given = n.is("axes");
  bool scale = true;
  if (n.version < 9) {
    given = n.i("across_channels") ? axesFrom(1, n.rank(x)) : axesFrom(2, n.rank(x));
    given->insert(given->begin(), 0);
    scale = n.i("normalize_variance") != 0;
  } else if (given == SmallVector<int64_t>{0, 2, 3}) {
    // The default is that of images; what has fewer dimensions is taken along those it has.
    llvm::erase_if(*given, [&](int64_t axis) { return axis >= n.rank(x); });
  }
  std::optional<SmallVector<int64_t>> axes = n.axes(given, n.rank(x));
  if (!axes)
    return failure();
  Value wide = n.widen(x);
  Value mean = n.reduce(wide, "mean", *axes, true);
  Value centred = n.sub(wide, mean);
  if (scale) {
    // Since version 13 by its function: E(x^2) - E(x)^2, and before by E((x - E(x))^2).
    Value variance =
        n.version < 13 ? n.reduce(n.mul(centred, centred), "mean", *axes, true)
                       : n.sub(n.reduce(n.mul(wide, wide), "mean", *axes, true), n.mul(mean, mean));
    Value deviation = n.sqrt(variance);
    // The function's 1e-9 is cast to the operand's type, where that of a half is zero.
    centred = n.div(centred, n.element(x).isF16() ? deviation : n.add(deviation, 1e-9));
  }
  return n.result(n.cast(centred, n.element(x)));
}

LogicalResult lrn(NodeImport &n) {
  int64_t size = n.i("size");
  if (!n.isStep(size))
    return n.invalid("expected size 1 to 2^31 - 1, got " + Twine(size));
  return n.result(n.op<LrnOp>(n.in(0), n.number(1), n.number(size), n.number((size - 1) / 2),
                              n.real(n.f("alpha") / size), n.real(n.f("beta")),
                              n.real(n.f("bias"))));
}

constexpr OperatorImport table[] = {
    {"", "BatchNormalization", 1, 0, batchNorm},
    {"", "GroupNormalization", 18, 0, groupNorm},
    {"", "InstanceNormalization", 1, 0, instanceNorm},
    {"", "LRN", 1, 0, lrn},
    {"", "LayerNormalization", 17, 0, layerNorm},
    {"", "LpNormalization", 1, 0, lpNorm},
    {"", "MeanVarianceNormalization", 1, 0, meanVariance},
    {"", "RMSNormalization", 23, 0, rmsNorm},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::normalizationImports() { return table; }
