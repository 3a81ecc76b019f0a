//===- AxisSets.cpp - axes that the program computes ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/lowering/AxisSets.h"

using namespace mlir;
using namespace weir;
using namespace weir::frontend;

SmallVector<int64_t> frontend::axesOfSet(int64_t set) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; set >> axis; ++axis)
    if (set >> axis & 1)
      axes.push_back(axis);
  return axes;
}

SmallVector<int64_t> frontend::axisSets(int64_t rank, int64_t count,
                                        function_ref<bool(Ints axes)> isPossible) {
  constexpr int64_t mostDimensions = 10; // beyond it even the empty set is one of too many
  SmallVector<int64_t> sets;
  if (rank < 0 || rank > mostDimensions)
    return sets;
  for (int64_t set = 0; set < int64_t(1) << rank; ++set)
    if ((ShapedType::isDynamic(count) || llvm::popcount(static_cast<uint64_t>(set)) == count) &&
        (!isPossible || isPossible(axesOfSet(set))))
      sets.push_back(set);
  if (sets.size() > mostAxisSets)
    sets.clear();
  return sets;
}

Value frontend::axesFromStart(TensorBuilder &t, Value axes, int64_t rank, Require require) {
  axes = t.cast(axes, t.b.getI64Type());
  auto size = static_cast<double>(rank);
  require(t.op<AndOp>(t.compare("ge", axes, -size), t.compare("lt", axes, size)),
          "an axis is outside of the tensor's dimensions");
  return t.select(t.compare("lt", axes, 0.0), t.add(axes, size), axes);
}

Value frontend::axisSetOf(TensorBuilder &t, Value axes, int64_t rank) {
  Value bits = t.op<ShlOp>(t.intScalar(1), axes);
  Value set = t.intScalar(0);
  for (int64_t axis = 0; axis < rank; ++axis) {
    Value bit = t.intScalar(int64_t(1) << axis);
    Value has = t.reduce(t.compare("eq", bits, bit), "any", {0}, false);
    set = t.add(set, t.select(has, bit, t.intScalar(0)));
  }
  return set;
}

Value frontend::isAmongAxes(TensorBuilder &t, Value axes, int64_t size) {
  SmallVector<int64_t> all = axesFrom(0, size);
  return t.reduce(t.compare("eq", t.unsqueeze(axes, {1}), t.ints(all)), "any", {0}, false);
}
