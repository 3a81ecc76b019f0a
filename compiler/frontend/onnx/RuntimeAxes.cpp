//===- RuntimeAxes.cpp - axes that the model computes ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/RuntimeAxes.h"
#include "compiler/frontend/onnx/Loops.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

constexpr size_t mostChoices = 32;

/// Sets of `count` out of `rank` axes, as bit masks.
SmallVector<int64_t> subsets(int64_t rank, int64_t count) {
  SmallVector<int64_t> masks;
  for (int64_t mask = 0; mask < (int64_t(1) << rank); ++mask)
    if (llvm::popcount(static_cast<uint64_t>(mask)) == count)
      masks.push_back(mask);
  return masks;
}

SmallVector<int64_t> axesOf(int64_t mask) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; mask >> axis; ++axis)
    if (mask >> axis & 1)
      axes.push_back(axis);
  return axes;
}

/// Non-negative i64 axes.
Value normalized(TensorBuilder &t, Value axes, int64_t rank) {
  axes = t.cast(axes, t.b.getI64Type());
  return t.select(t.compare("lt", axes, 0.0), t.add(axes, double(rank)), axes);
}

FailureOr<Values> choose(NodeImport &n, Value mask, ArrayRef<int64_t> choices,
                         function_ref<Value(Ints)> build) {
  if (choices.size() == 1)
    return Values{build(axesOf(choices[0]))};
  return buildIf(
      n, n.compare("eq", mask, n.intScalar(choices[0])),
      [&]() -> FailureOr<Values> { return Values{build(axesOf(choices[0]))}; },
      [&] { return choose(n, mask, choices.drop_front(), build); });
}

/// For each of `size` places, whether it is one of `axes`: tensor<size x i1>.
Value isAxis(TensorBuilder &t, Value axes, int64_t size) {
  SmallVector<int64_t> all = axesFrom(0, size);
  Value hit = t.compare("eq", t.unsqueeze(axes, {1}), t.ints(all));
  return t.reduce(hit, "any", {0}, false);
}

} // namespace

Value weir::onnx::chooseAxes(NodeImport &n, Value axes, int64_t rank,
                             function_ref<Value(Ints)> build) {
  if (!axes)
    return {};
  axes = n.reshape(axes, {-1});
  int64_t count = axes ? n.dim(axes, 0) : ShapedType::kDynamic;
  SmallVector<int64_t> choices;
  if (!ShapedType::isDynamic(count) && rank <= 10)
    choices = subsets(rank, count);
  if (choices.empty() || choices.size() > mostChoices) {
    (void)n.unsupported("found axes computed by the model, of unknown number "
                        "or with too many choices; possible are constants");
    return {};
  }
  // Each set of axes is a number: the sum of their powers of two.
  Value one = n.intScalar(1), places = normalized(n, axes, rank);
  Value good = n.op<AndOp>(n.compare("ge", places, 0.0),
                           n.compare("lt", places, double(rank)));
  n.require(n.reduce(good, "all", {0}, false),
            "an axis is outside of the tensor's dimensions");
  Value bits = n.op<ShlOp>(one, places);
  Value mask = n.reduce(bits, "sum", {0}, false);
  FailureOr<Values> made = choose(n, mask, choices, build);
  return failed(made) ? Value() : made->front();
}

Value weir::onnx::scatterAxes(TensorBuilder &t, Value axes, Value values,
                              int64_t size, int64_t fill) {
  SmallVector<int64_t> start(size, fill);
  return t.op<ScatterElementsOp>(t.ints(start), axes,
                                 t.cast(values, t.b.getI64Type()), t.number(0),
                                 t.text("none"), t.flag(true));
}

Value weir::onnx::squeezeAt(TensorBuilder &t, Value v, Value axes) {
  if (!v || !axes)
    return {};
  int64_t rank = t.rank(v), result = rank - t.dim(axes, 0);
  if (result < 0)
    return {};
  Type i64 = t.b.getI64Type();
  Value kept =
      t.cast(t.logicalNot(isAxis(t, normalized(t, axes, rank), rank)), i64);
  // Where each kept dimension goes, and the sizes moved there.
  Value places = t.op<CumulativeOp>(kept, t.text("sum"), t.number(0),
                                    t.flag(true), t.flag(false));
  SmallVector<int64_t> all = axesFrom(0, result);
  Value hit = t.compare("eq", t.unsqueeze(t.ints(all), {1}), places);
  Value sizes = t.mul(t.mul(t.cast(hit, i64), kept), t.shapeOf(v));
  return t.reshapeTo(v, t.reduce(sizes, "sum", {1}, false));
}

Value weir::onnx::unsqueezeAt(TensorBuilder &t, Value v, Value axes) {
  if (!v || !axes)
    return {};
  int64_t rank = t.rank(v), result = rank + t.dim(axes, 0);
  Value fresh = isAxis(t, normalized(t, axes, result), result);
  if (rank == 0)
    return t.reshape(v, SmallVector<int64_t>(result, 1));
  Value old = t.cast(t.logicalNot(fresh), t.b.getI64Type());
  Value places = t.op<CumulativeOp>(old, t.text("sum"), t.number(0),
                                    t.flag(true), t.flag(false));
  places = t.minimum(places, double(rank - 1));
  Value sizes = t.gather(t.shapeOf(v), places, 0);
  return t.reshapeTo(v, t.select(fresh, t.intScalar(1), sizes));
}
