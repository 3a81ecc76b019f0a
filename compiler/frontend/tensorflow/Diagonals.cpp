//===- Diagonals.cpp - several diagonals at once --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Diagonals.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

std::optional<Diagonals> weir::tf::readDiagonals(NodeImport &n, size_t k) {
  Diagonals diagonals;
  diagonals.low = diagonals.high = n.intScalar(0);
  if (const AttrValue *align = n.attr("align")) {
    diagonals.superLeft = align->s == "LEFT_LEFT" || align->s == "LEFT_RIGHT";
    diagonals.subLeft = align->s == "LEFT_LEFT" || align->s == "RIGHT_LEFT";
  }
  if (k >= n.inputCount())
    return diagonals;
  Value given = n.in(k);
  if (!given)
    return std::nullopt;
  int64_t count = n.rank(given) == 0 ? 1 : n.dim(given, 0);
  if (n.rank(given) > 1 || (!ShapedType::isDynamic(count) && count != 1 && count != 2)) {
    (void)n.invalid("expected a diagonal k, or two bounds, got k of rank " + Twine(n.rank(given)) +
                    (n.rank(given) == 1 ? " with " + Twine(count) + " numbers" : Twine()));
    return std::nullopt;
  }
  if (auto known = constantIntegers(given)) {
    if (known->back() < known->front()) {
      (void)n.invalid("found bounds of diagonals that are not ordered");
      return std::nullopt;
    }
    diagonals.low = n.intScalar(known->front());
    diagonals.high = n.intScalar(known->back());
    diagonals.isOne = known->front() == known->back();
    return diagonals;
  }
  Value bounds = n.reshape(n.toI64(given), {-1});
  if (ShapedType::isDynamic(count)) {
    Value size = n.sizeOf(bounds, 0);
    require(n, n.op<AndOp>(n.compare("ge", size, 1), n.compare("le", size, 2)),
            "k is neither a diagonal nor two bounds");
  }
  diagonals.low = n.pick(bounds, 0, 0);
  diagonals.high = n.pick(bounds, 0, -1);
  diagonals.isOne = count == 1;
  diagonals.isOneOrBand = !diagonals.isOne;
  if (diagonals.isOneOrBand)
    require(n, n.compare("le", diagonals.low, diagonals.high),
            "bounds of diagonals are not ordered");
  return diagonals;
}

LogicalResult weir::tf::requireInside(NodeImport &n, Diagonals &d) {
  auto inside = [&](Value k) {
    Value within =
        n.op<AndOp>(n.compare("lt", n.mul(k, -1.0), d.rows), n.compare("lt", k, d.columns));
    return n.op<OrOp>(n.compare("eq", k, 0), within);
  };
  Value all = n.op<AndOp>(inside(d.low), inside(d.high));
  if (auto known = constantIntegers(all); known && !known->front()) {
    auto text = [](Value v) {
      auto number = constantIntegers(v);
      return number ? std::to_string(number->front()) : std::string("?");
    };
    return n.invalid("expected diagonals inside of the matrix, got k = " + text(d.low) +
                     (d.isOne ? "" : " to " + text(d.high)) + " where " + text(d.rows) +
                     " rows and " + text(d.columns) + " columns are");
  }
  require(n, all, "a diagonal lies outside of the matrix");
  // Memory is taken before the run looks at operands: for no more diagonals than there are.
  if (!constantIntegers(all))
    for (Value *k : {&d.low, &d.high})
      *k = n.minimum(n.maximum(*k, n.mul(d.rows, -1.0)), d.columns);
  return success(all != nullptr);
}

/// How many elements diagonal `k` has.
static Value lengthOf(NodeImport &n, const Diagonals &d, Value low, Value high) {
  return n.minimum(n.add(d.rows, n.minimum(high, 0.0)), n.sub(d.columns, n.maximum(low, 0.0)));
}

Value weir::tf::longestOf(NodeImport &n, const Diagonals &d) {
  return lengthOf(n, d, d.low, d.high);
}

static Value counted(NodeImport &n, Value count) {
  return n.op<IotaOp>(n.reshape(count, {1}), n.number(0), n.typeAttr(n.b.getI64Type()));
}

/// By how much diagonal `k` is pushed to the right.
static Value offsetOf(NodeImport &n, const Diagonals &d, Value k) {
  Value left;
  auto add = [&](bool isLeft, StringRef predicate) {
    Value here = n.compare(predicate, k, 0);
    if (isLeft)
      left = left ? n.op<OrOp>(left, here) : here;
  };
  add(d.superLeft, "ge");
  add(d.subLeft, "le");
  Value offset = n.sub(longestOf(n, d), lengthOf(n, d, k, k));
  return left ? n.select(left, n.like(offset, 0), offset) : offset;
}

DiagonalPlaces weir::tf::placesInMatrix(NodeImport &n, const Diagonals &d) {
  Value index = counted(n, longestOf(n, d)), k = d.low;
  DiagonalPlaces at;
  if (!d.isOne) {
    Value count = n.add(n.sub(d.high, d.low), 1.0);
    k = n.unsqueeze(n.sub(d.high, counted(n, count)), {1});
    index = n.sub(index, offsetOf(n, d, k));
    at.mask = n.op<AndOp>(n.compare("ge", index, 0), n.compare("lt", index, lengthOf(n, d, k, k)));
  }
  Value row = n.sub(index, n.minimum(k, 0.0)), column = n.add(index, n.maximum(k, 0.0));
  at.places = n.add(n.mul(row, d.columns), column);
  return at;
}

DiagonalPlaces weir::tf::placesAmongPacked(NodeImport &n, const Diagonals &d) {
  Value row = n.unsqueeze(counted(n, d.rows), {1}), column = counted(n, d.columns);
  Value k = n.sub(column, row), index = n.minimum(row, column);
  if (d.isOne)
    return {index, n.compare("eq", k, d.low)};
  index = n.add(index, offsetOf(n, d, k));
  return {n.add(n.mul(n.sub(d.high, k), longestOf(n, d)), index),
          n.op<AndOp>(n.compare("ge", k, d.low), n.compare("le", k, d.high))};
}

Value weir::tf::pickPlaces(NodeImport &n, Value x, const DiagonalPlaces &at, Value otherwise) {
  if (!x || !at.places)
    return {};
  int64_t axis = n.rank(x) - 1, size = n.dim(x, axis);
  if (!at.mask)
    return n.gather(x, at.places, axis);
  Value places = n.select(at.mask, at.places, n.intScalar(0));
  if (size == 0 || ShapedType::isDynamic(size)) {
    // There may be no element to take where none is meant: one more is.
    Value shape = n.ints({1});
    if (axis > 0)
      shape = n.concat({n.shapeSlice(x, 0, axis), shape}, 0);
    x = n.concat({x, n.expandTo(n.like(x, 0), shape)}, axis);
  }
  return n.select(at.mask, n.gather(x, places, axis), otherwise);
}
