//===- StaticSlice.cpp - slices whose bounds are known --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/StaticSlice.h"

#include "dialects/weir/Pch.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weir;

std::optional<StaticSlice> weir::staticSlice(SliceOp op) {
  DenseIntElementsAttr starts, ends, steps;
  if (op.getAxes().size() != 1 || !matchPattern(op.getStarts(), m_Constant(&starts)) ||
      !matchPattern(op.getEnds(), m_Constant(&ends)) ||
      !matchPattern(op.getSteps(), m_Constant(&steps)))
    return {};
  auto value = [](DenseIntElementsAttr attr) {
    return (*attr.value_begin<APInt>()).getSExtValue();
  };
  if (value(steps) != 1)
    return {};
  return StaticSlice{op.getAxes()[0], value(starts), value(ends)};
}
