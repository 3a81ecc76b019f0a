//===- RuntimeAxes.cpp - axes that the model computes ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/RuntimeAxes.h"
#include "compiler/frontend/Loops.h"
#include "compiler/frontend/lowering/AxisSets.h"
#include "compiler/frontend/lowering/GivenShape.h"
#include "compiler/frontend/onnx/NodeImport.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildIf;
using frontend::Values;

namespace {

/// Non-negative i64 axes; others than those of `rank` dimensions, and the same one
/// twice, end the run.
Value normalized(NodeImport &n, Value axes, int64_t rank) {
  axes = frontend::axesFromStart(n, axes, rank, [&](Value holds, StringRef text) {
    n.require(n.reduce(holds, "all", {0}, false), text);
  });
  int64_t count = n.dim(axes, 0);
  if (ShapedType::isDynamic(count) || count > 1)
    n.require(n.compare("eq", n.op<PopulationCountOp>(frontend::axisSetOf(n, axes, rank)),
                        n.toScalar(n.sizeOf(axes, 0))),
              "an axis is there twice");
  return axes;
}

FailureOr<Values> choose(NodeImport &n, Value mask, ArrayRef<int64_t> choices,
                         function_ref<Value(Ints)> build) {
  if (choices.size() == 1)
    return Values{build(frontend::axesOfSet(choices[0]))};
  return buildIf(
      n, n.compare("eq", mask, n.intScalar(choices[0])),
      [&]() -> FailureOr<Values> { return Values{build(frontend::axesOfSet(choices[0]))}; },
      [&] { return choose(n, mask, choices.drop_front(), build); });
}

} // namespace

Value weir::onnx::chooseAxes(NodeImport &n, Value axes, int64_t rank,
                             function_ref<Value(Ints)> build, function_ref<bool(Ints)> isPossible) {
  if (!axes)
    return {};
  axes = n.reshape(axes, {-1});
  int64_t count = axes ? n.dim(axes, 0) : ShapedType::kDynamic;
  bool isOpen = ShapedType::isDynamic(count);
  SmallVector<int64_t> choices;
  if (!isOpen || isPossible)
    choices = frontend::axisSets(rank, count, isOpen ? isPossible : nullptr);
  if (choices.empty()) {
    (void)n.unsupported("expected constant axes, got axes computed by the model, of unknown number "
                        "or with too many choices; where the graph declares the rank of the "
                        "result, there may be any number");
    return {};
  }
  Value mask = frontend::axisSetOf(n, normalized(n, axes, rank), rank);
  if (isOpen && choices.size() < size_t(1) << rank)
    n.require(n.reduce(n.compare("eq", n.ints(choices), mask), "any", {0}, false),
              "the axes leave another rank than the graph declares");
  FailureOr<Values> made = choose(n, mask, choices, build);
  return failed(made) ? Value() : made->front();
}

Value weir::onnx::scatterAxes(TensorBuilder &t, Value axes, Value values, int64_t size,
                              int64_t fill) {
  SmallVector<int64_t> start(size, fill);
  return t.op<ScatterElementsOp>(t.ints(start), axes, t.cast(values, t.b.getI64Type()), t.number(0),
                                 t.text("none"), t.flag(true));
}

Value weir::onnx::squeezeAt(NodeImport &n, Value v, Value axes) {
  if (!v || !axes)
    return {};
  int64_t rank = n.rank(v), result = rank - n.dim(axes, 0);
  if (result < 0)
    return {};
  Type i64 = n.b.getI64Type();
  Value kept = n.cast(n.logicalNot(frontend::isAmongAxes(n, normalized(n, axes, rank), rank)), i64);
  // Where each kept dimension goes, and the sizes moved there.
  Value places = n.op<CumulativeOp>(kept, n.text("sum"), n.number(0), n.flag(true), n.flag(false));
  SmallVector<int64_t> all = axesFrom(0, result);
  Value hit = n.compare("eq", n.unsqueeze(n.ints(all), {1}), places);
  Value sizes = n.mul(n.mul(n.cast(hit, i64), kept), n.shapeOf(v));
  Value shape = n.reduce(sizes, "sum", {1}, false);
  return frontend::ofGivenShape(
      n, n.reshapeTo(v, shape), shape, false,
      [&](Value holds, StringRef text) { n.require(n.reduce(holds, "all", {0}, false), text); });
}

Value weir::onnx::unsqueezeAt(NodeImport &n, Value v, Value axes) {
  if (!v || !axes)
    return {};
  constexpr int64_t mostAxes = 1024; // far more than any tensor has
  if (ShapedType::isDynamic(n.dim(axes, 0)) || n.dim(axes, 0) > mostAxes) {
    (void)n.invalid("found axes whose number is " + sizeText(n.dim(axes, 0)));
    return {};
  }
  int64_t rank = n.rank(v), result = rank + n.dim(axes, 0);
  Value fresh = frontend::isAmongAxes(n, normalized(n, axes, result), result);
  if (rank == 0)
    return n.reshape(v, SmallVector<int64_t>(result, 1));
  Value old = n.cast(n.logicalNot(fresh), n.b.getI64Type());
  Value places = n.op<CumulativeOp>(old, n.text("sum"), n.number(0), n.flag(true), n.flag(false));
  places = n.minimum(places, double(rank - 1));
  Value sizes = n.gather(n.shapeOf(v), places, 0);
  return n.reshapeTo(v, n.select(fresh, n.intScalar(1), sizes));
}
