//===- RowGradient.cpp - gradients of few rows of a weight -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/training/RowGradient.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::training;
using gradient::Adjoint;
using gradient::IntVector;

/// Rows that a step must leave out for each that it reads.
static constexpr int64_t fewerBy = 4;
/// Rows of a table from which on any number of rows, which only the run knows, counts as few.
static constexpr int64_t manyRows = 4096;
/// How much larger the table of pairs of rows may be than the weight has rows.
static constexpr int64_t mostPairs = 4;

/// The scatters that add to zeros, the first first; none: it is not that.
static SmallVector<ScatterNdOp> scattersOf(Value gradient) {
  SmallVector<ScatterNdOp> found;
  while (auto scatter = gradient.getDefiningOp<ScatterNdOp>()) {
    if (scatter.getReduction() != "add" || scatter.getDropOutOfBounds() ||
        Adjoint::type(scatter.getIndices()).getShape().back() != 1)
      return {};
    found.insert(found.begin(), scatter);
    gradient = scatter.getOperand();
  }
  if (!gradient::isZeros(gradient))
    return {};
  return found;
}

/// How many rows a scatter writes; dynamic: the run knows.
static int64_t countOf(ScatterNdOp scatter) {
  int64_t count = 1;
  for (int64_t size : Adjoint::type(scatter.getIndices()).getShape().drop_back()) {
    if (ShapedType::isDynamic(size))
      return ShapedType::kDynamic;
    count *= size;
  }
  return count;
}

/// For each row the first that is the same one, i64 [N].
static Value firstOf(Value rows, int64_t count, int64_t tableRows, Adjoint &a) {
  Type i64 = a.b.getI64Type();
  Value sizes = a.shapeOf(rows);
  Value numbers = a.op<IotaOp>(sizes, 0, i64);
  // Few are compared, each with each. Of many the least number is kept, in a row of the table.
  if (!ShapedType::isDynamic(count) && count <= mostPairs * tableRows / count) {
    Value across = a.reshape(numbers, a.ints({1, count}));
    Value equal =
        a.compare("eq", a.reshape(rows, a.ints({count, 1})), a.reshape(rows, a.ints({1, count})));
    Value number = a.op<SelectOp>(equal, across, a.number(across, double(count)));
    return a.reduce(number, ReduceKind::Min, {1}, false);
  }
  Type i32 = a.b.getI32Type();
  Value narrow = a.cast(numbers, i32);
  Value none = a.number(narrow, double(std::numeric_limits<int32_t>::max()));
  Value table = a.op<BroadcastToOp>(none, a.ints({tableRows}));
  Value tuples = a.reshape(rows, a.ints({ShapedType::isDynamic(count) ? -1 : count, 1}));
  table = a.op<ScatterNdOp>(table, tuples, narrow, "min", false, false);
  return a.cast(a.op<GatherOp>(table, rows, 0, 0, false), i64);
}

std::optional<RowGradient> training::rowGradient(Value gradient, Adjoint &a) {
  SmallVector<ScatterNdOp> scatters = scattersOf(gradient);
  RankedTensorType type = Adjoint::type(gradient);
  if (scatters.empty() || !type.hasStaticShape())
    return std::nullopt;
  int64_t tableRows = type.getDimSize(0), count = 0;
  for (ScatterNdOp scatter : scatters) {
    int64_t own = countOf(scatter);
    count = ShapedType::isDynamic(own) || ShapedType::isDynamic(count) ? ShapedType::kDynamic
                                                                       : count + own;
  }
  // Of a table of single numbers the rows' own are as large.
  bool isNarrow = type.getNumElements() < 2 * tableRows;
  if (ShapedType::isDynamic(count) ? tableRows < manyRows || isNarrow
                                   : count == 0 || count * fewerBy > tableRows)
    return std::nullopt;
  if (isNarrow && count > mostPairs * tableRows / count)
    return std::nullopt;
  Type i64 = a.b.getI64Type();
  SmallVector<Value> parts, updates;
  for (ScatterNdOp scatter : scatters) {
    int64_t own = countOf(scatter);
    IntVector shape(type.getShape());
    shape[0] = ShapedType::isDynamic(own) ? -1 : own;
    Value rows = a.cast(a.reshape(scatter.getIndices(), a.ints({shape[0]})), i64);
    if (scatter.getWrapNegative()) {
      Value isNegative = a.compare("lt", rows, a.number(rows, 0));
      rows = a.op<SelectOp>(isNegative, a.plus(rows, a.number(rows, double(tableRows))), rows);
    }
    parts.push_back(rows);
    updates.push_back(a.reshape(scatter.getUpdates(), a.ints(shape)));
  }
  Value rows = a.concat(parts, 0), update = a.concat(updates, 0);
  Value first = firstOf(rows, count, tableRows, a);
  IntVector column = {ShapedType::isDynamic(count) ? -1 : count, 1};
  Value sums = a.op<ScatterNdOp>(a.zeros(update), a.reshape(first, a.ints(column)), update, "add",
                                 false, false);
  Value numbers = a.op<IotaOp>(a.shapeOf(rows), 0, i64);
  Value places =
      a.op<SelectOp>(a.compare("eq", first, numbers), rows, a.number(rows, double(tableRows)));
  return RowGradient{sums, rows, a.reshape(places, a.ints(column))};
}

Value training::rowsOf(const RowGradient &gradient, Value whole, Adjoint &a) {
  return a.op<GatherOp>(whole, gradient.rows, 0, 0, false);
}

Value training::withRows(const RowGradient &gradient, Value whole, Value part, Adjoint &a) {
  return a.op<ScatterNdOp>(whole, gradient.places, part, "none", false, true);
}
