//===- Sparse.cpp - tensors by their coordinates, rows, segments ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Sparse.h"
#include "dialects/weir/SizeOrigins.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

SparseTensor weir::tf::makeSparse(NodeImport &n, Value indices, Value values, Value shape) {
  SparseTensor x;
  if (!indices || !values || !shape)
    return x;
  int64_t rank = n.dim(indices, n.rank(indices) - 1);
  if (ShapedType::isDynamic(rank) && n.rank(shape) == 1)
    rank = n.dim(shape, 0);
  if (ShapedType::isDynamic(rank) || n.rank(indices) != 2) {
    (void)n.unsupported("expected a sparse tensor whose rank the graph tells, got unknown rank");
    return x;
  }
  x.rank = rank;
  x.indices = n.toI64(indices);
  if (ShapedType::isDynamic(n.dim(indices, 1)))
    x.indices = n.reshapeTo(x.indices, n.concat({n.sizeOf(indices, 0), n.ints({rank})}, 0));
  x.values = values;
  x.shape = n.reshape(n.toI64(shape), {rank});
  return x;
}

void weir::tf::requireValueEach(NodeImport &n, const SparseTensor &x) {
  require(n, n.compare("eq", n.sizeOf(x.values, 0), n.sizeOf(x.indices, 0)),
          "a sparse tensor must have a value for each index");
}

SparseTensor weir::tf::sparseInput(NodeImport &n, size_t indices, size_t values, size_t shape) {
  SparseTensor x = makeSparse(n, n.in(indices), n.in(values), n.in(shape));
  if (x) {
    requireValueEach(n, x);
    require(n, n.compare("ge", x.shape, 0), "a size of a sparse tensor is negative");
    // Of no indices any rank is a matrix without elements.
    require(n, n.compare("eq", n.sizeOf(n.in(indices), 1), double(x.rank)),
            "indices of a sparse tensor have not its rank");
  }
  return x;
}

Value weir::tf::take(NodeImport &n, Value v, Value indices, int64_t axis) {
  // Of slices without elements none is read.
  if (v && indices && n.isStatic(v) && n.type(v).getNumElements() == 0) {
    Value size = n.toScalar(n.sizeOf(v, axis)), wide = n.toI64(indices);
    require(n, n.op<AndOp>(n.compare("ge", wide, 0), n.compare("lt", wide, size)),
            "an index is out of range");
  }
  return n.op<GatherOp>(v, indices, n.number(axis), n.number(0), n.flag(false));
}

Value weir::tf::columns(NodeImport &n, Value rows, int64_t begin, int64_t end) {
  if (rows && begin == 0 && end == n.dim(rows, 1))
    return rows;
  return n.slice(rows, 1, begin, end);
}

Value weir::tf::column(NodeImport &n, Value rows, int64_t c) {
  return n.squeeze(columns(n, rows, c, c + 1), {1});
}

Value weir::tf::countUp(NodeImport &n, Value count) {
  return n.op<IotaOp>(n.reshape(count, {1}), n.number(0), n.typeAttr(n.b.getI64Type()));
}

Value weir::tf::whereTrue(NodeImport &n, Value mask) {
  return n.squeeze(n.op<NonZeroOp>(mask), {1});
}

Value weir::tf::repeated(NodeImport &n, Value scalar, Value count) {
  return n.expandTo(scalar, count);
}

Value weir::tf::allTrue(NodeImport &n, Value mask) {
  if (!mask || n.rank(mask) == 0)
    return mask;
  return n.reduce(mask, "all", axesFrom(0, n.rank(mask)), false);
}

void weir::tf::require(NodeImport &n, Value mask, StringRef message, int64_t code) {
  if (auto known = constantIntegers(mask);
      known && llvm::all_of(*known, [](int64_t v) { return v; }))
    return;
  mask = allTrue(n, mask);
  if (mask)
    AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), mask, n.text(message),
                     n.number(code), ValueRange());
}

static std::string textOf(ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : ",") + (size < 0 ? "?" : std::to_string(size));
  return "[" + text + "]";
}

LogicalResult weir::tf::requireShape(NodeImport &n, Value v, Value shape, StringRef what) {
  if (!v || !shape)
    return failure();
  auto sizes = constantIntegers(shape);
  bool agree = n.rank(v) == n.dim(shape, 0), isKnown = sizes.has_value();
  for (int64_t i = 0; agree && sizes && i < n.rank(v); ++i) {
    bool isOpen = ShapedType::isDynamic(n.dim(v, i));
    isKnown &= !isOpen;
    agree &= isOpen || n.dim(v, i) == (*sizes)[i];
  }
  if (!agree)
    return n.invalid(
        "expected " + what + " of " +
        (sizes ? "shape " + textOf(*sizes) : "rank " + std::to_string(n.dim(shape, 0))) +
        ", got shape " + textOf(n.sizes(v)));
  if (!isKnown)
    require(n, n.compare("eq", n.shapeOf(v), shape),
            ("the shape of the " + what + " does not fit").str());
  return success();
}

LogicalResult weir::tf::requireSize(NodeImport &n, Value v, int64_t dim, int64_t size,
                                    StringRef what, int64_t code) {
  if (!v)
    return failure();
  int64_t rank = n.rank(v), at = dim < 0 ? rank + dim : dim;
  bool isThere = at >= 0 && at < rank;
  if (!isThere || (!ShapedType::isDynamic(n.dim(v, at)) && n.dim(v, at) != size))
    return n.invalid("expected " + what + " with " + Twine(size) + " elements in dimension " +
                     Twine(dim) + ", got shape " + textOf(n.sizes(v)));
  if (ShapedType::isDynamic(n.dim(v, at)))
    require(
        n, n.compare("eq", n.sizeOf(v, at), double(size)),
        ("dimension " + Twine(dim) + " of the " + what + " is not of " + Twine(size) + " elements")
            .str(),
        code);
  return success();
}

LogicalResult weir::tf::requireSame(NodeImport &n, Value a, Value b, StringRef what, int64_t begin,
                                    int64_t end) {
  if (!a || !b)
    return failure();
  bool agree = end < 0 ? n.rank(a) == n.rank(b) : std::min(n.rank(a), n.rank(b)) >= end;
  SizeOrigins origins;
  Value equal;
  int64_t last = end < 0 ? n.rank(a) : end;
  for (int64_t i = begin; agree && i < last; ++i) {
    int64_t one = n.dim(a, i), other = n.dim(b, i);
    bool isOpen = ShapedType::isDynamic(one) || ShapedType::isDynamic(other);
    agree = isOpen || one == other;
    if (!isOpen || origins.areEqual(a, i, b, i))
      continue;
    Value same = n.toScalar(n.compare("eq", n.sizeOf(a, i), n.sizeOf(b, i)));
    equal = equal ? n.op<AndOp>(equal, same) : same;
  }
  if (!agree)
    return n.invalid("expected " + what + " of one shape, got " + textOf(n.sizes(a)) + " and " +
                     textOf(n.sizes(b)));
  if (equal)
    require(n, equal, ("the shapes of " + what + " differ").str());
  return success();
}

LogicalResult weir::tf::requireElements(NodeImport &n, Value v, StringRef what) {
  if (!v)
    return failure();
  if (llvm::is_contained(n.sizes(v), 0))
    return n.invalid("expected " + what + " with elements, got shape " + textOf(n.sizes(v)));
  if (!n.isStatic(v))
    require(n, n.compare("ge", n.shapeOf(v), 1), ("there are no " + what).str());
  return success();
}

void weir::tf::requireReadable(NodeImport &n, Value x, Value indices) {
  if (!x || !indices || n.rank(indices) < 1 ||
      llvm::all_of(n.sizes(x), [](int64_t size) { return size > 0; }))
    return;
  Value isFull = n.reduce(n.compare("gt", n.shapeOf(x), 0), "all", {0}, false);
  Value count = n.toScalar(n.sizeProduct(indices, 0, n.rank(indices) - 1));
  require(n, n.op<OrOp>(isFull, n.compare("eq", count, 0)), "an empty tensor is read from");
}

void weir::tf::requireRoomFor(NodeImport &n, Value target, Value indices, Value updates) {
  if (!target || !indices || !updates)
    return;
  auto count = [&](Value v) { return n.sizeProduct(v, 0, n.rank(v)); };
  if (n.isStatic(target) && !llvm::is_contained(n.sizes(target), 0))
    return;
  Value given = n.add(count(indices), count(updates));
  require(n, n.op<OrOp>(n.compare("gt", count(target), 0), n.compare("eq", given, 0)),
          "there are indices or updates for a tensor of nothing");
}

void weir::tf::requireInside(NodeImport &n, const SparseTensor &x) {
  require(n, n.compare("ge", x.indices, 0), "an index is negative");
  require(n, n.compare("lt", x.indices, x.shape), "an index is outside of the shape");
}

void weir::tf::requireOrdered(NodeImport &n, const SparseTensor &x) {
  Value keys = linearKeys(n, x.indices, x.shape, x.rank);
  Value last = n.slice(keys, 0, 0, -1);
  Value next = n.slice(keys, 0, 1, std::numeric_limits<int64_t>::max());
  require(n, n.compare("lt", last, next), "indices are out of order or repeated");
}

Value weir::tf::linearKeys(NodeImport &n, Value rows, Value shape, int64_t rank) {
  if (!rows || !shape)
    return {};
  Value keys;
  for (int64_t i = 0; i < rank; ++i) {
    Value at = column(n, rows, i);
    keys = keys ? n.add(n.mul(keys, n.pick(shape, 0, i)), at) : at;
  }
  return keys ? keys : repeated(n, n.intScalar(0), n.sizeOf(rows, 0));
}

Value weir::tf::unravel(NodeImport &n, Value keys, Value shape, int64_t rank) {
  if (!keys || !shape)
    return {};
  if (rank == 0)
    return n.expandTo(n.intScalar(0), n.concat({n.sizeOf(keys, 0), n.ints({0})}, 0));
  SmallVector<Value> places(rank);
  for (int64_t i = rank; i-- > 0;) {
    // Sizes of zero have no keys, but must not divide.
    Value size = n.maximum(n.pick(shape, 0, i), 1.0);
    places[i] = i ? n.op<RemOp>(keys, size) : keys;
    keys = n.div(keys, size);
  }
  return n.stack(places, 1);
}

Value weir::tf::sortOrder(NodeImport &n, Value keys) {
  if (!keys)
    return {};
  Operation *sorted = n.multi<TopKOp, 2>(keys, n.sizeOf(keys, 0), n.number(0), n.flag(false),
                                         n.flag(true), n.typeAttr(n.b.getI64Type()));
  return sorted ? sorted->getResult(1) : Value();
}

SparseTensor weir::tf::sortSparse(NodeImport &n, const SparseTensor &x) {
  Value order = sortOrder(n, linearKeys(n, x.indices, x.shape, x.rank));
  SparseTensor sorted = x;
  sorted.indices = take(n, x.indices, order);
  sorted.values = take(n, x.values, order);
  return sorted;
}

Distinct weir::tf::distinct(NodeImport &n, Value v) {
  if (!v)
    return {};
  Operation *made = n.multi<UniqueOp, 4>(v, n.number(n.rank(v) == 1 ? -1 : 0), n.flag(true),
                                         n.typeAttr(n.b.getI64Type()));
  if (!made)
    return {};
  return {made->getResult(0), made->getResult(1), made->getResult(2), made->getResult(3)};
}

Value weir::tf::findRows(NodeImport &n, Value table, Value queries) {
  if (!table || !queries)
    return {};
  Distinct all = distinct(n, n.concat({table, queries}, 0));
  if (!all)
    return {};
  // What the table has occurs there first.
  Value size = n.toScalar(n.sizeOf(table, 0));
  Value own =
      n.op<SliceOp>(all.inverse, n.sizeOf(table, 0), n.ints({std::numeric_limits<int64_t>::max()}),
                    n.ints({1}), n.list({0}), n.flag(false));
  Value at = take(n, all.first, own);
  return n.select(n.compare("lt", at, size), at, n.intScalar(-1));
}

Value weir::tf::extremeValue(NodeImport &n, Type element, bool lowest, bool infinite) {
  // What is no operand's element, and complex numbers, have no order.
  if (!element || !element.isIntOrFloat())
    return {};
  auto type = RankedTensorType::get({}, element);
  if (auto floating = dyn_cast<FloatType>(element)) {
    auto &semantics = floating.getFloatSemantics();
    return n.constant(DenseElementsAttr::get(type, infinite
                                                       ? APFloat::getInf(semantics, lowest)
                                                       : APFloat::getLargest(semantics, lowest)));
  }
  auto integer = cast<IntegerType>(element);
  unsigned width = integer.getWidth();
  bool isUnsigned = integer.isUnsigned() || width == 1;
  APInt value = lowest ? (isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width))
                       : (isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  return n.constant(DenseElementsAttr::get(type, value));
}

Value weir::tf::segments(NodeImport &n, Value data, Value ids, Value count, StringRef reduction,
                         Value fill) {
  if (!data || !ids || !count || !fill)
    return {};
  int64_t idRank = n.rank(ids);
  Value rows = n.reshape(n.toI64(count), {1});
  Value shape = rows;
  if (n.rank(data) > idRank)
    shape = n.concat({rows, n.shapeSlice(data, idRank, n.rank(data))}, 0);
  Value start = n.expandTo(fill, shape);
  return n.op<ScatterNdOp>(start, n.unsqueeze(ids, {idRank}), data, n.text(reduction),
                           n.flag(false), n.flag(true));
}

Value weir::tf::segmentSums(NodeImport &n, Value data, Value ids, Value count) {
  if (!data)
    return {};
  Value wide = n.widen(data);
  return n.cast(segments(n, wide, ids, count, "add", n.like(wide, 0)), n.element(data));
}

Value weir::tf::segmentCounts(NodeImport &n, Value ids, Value count) {
  if (!ids)
    return {};
  Value ones = n.expandTo(n.intScalar(1), n.shapeOf(ids));
  return segments(n, ones, ids, count, "add", n.intScalar(0));
}

Value weir::tf::segmentValues(NodeImport &n, StringRef kind, Value values, Value ids, Value count) {
  if (kind == "sum" || !values)
    return segmentSums(n, values, ids, count);
  Value best = segments(n, values, ids, count, kind,
                        extremeValue(n, n.element(values), kind == "max",
                                     /*infinite=*/true));
  Value empty = n.compare("eq", segmentCounts(n, ids, count), 0);
  return n.select(empty, n.like(values, 0), best);
}

Value weir::tf::softmaxOfRows(NodeImport &n, const SparseTensor &x) {
  if (x.rank < 2) {
    (void)n.invalid("expected a tensor of rank 2 or more, got " + Twine(x.rank));
    return {};
  }
  Value keys = linearKeys(n, columns(n, x.indices, 0, x.rank - 1), x.shape, x.rank - 1);
  Distinct rows = distinct(n, keys);
  if (!rows)
    return {};
  Value wide = n.widen(x.values), count = n.sizeOf(rows.values, 0);
  Value most = segmentValues(n, "max", wide, rows.inverse, count);
  Value power = n.exp(n.sub(wide, take(n, most, rows.inverse)));
  Value sums = segmentSums(n, power, rows.inverse, count);
  return n.cast(n.div(power, take(n, sums, rows.inverse)), n.element(x.values));
}

//===----------------------------------------------------------------------===//
// Row splits
//===----------------------------------------------------------------------===//

Value weir::tf::rowCount(NodeImport &n, Value splits) {
  return splits ? n.sub(n.sizeOf(splits, 0), 1.0) : Value();
}

static Value lower(NodeImport &n, Value splits) { return n.slice(splits, 0, 0, -1); }

static Value upper(NodeImport &n, Value splits) {
  return n.slice(splits, 0, 1, std::numeric_limits<int64_t>::max());
}

Value weir::tf::rowLengths(NodeImport &n, Value splits) {
  return n.sub(upper(n, splits), lower(n, splits));
}

Value weir::tf::rowIds(NodeImport &n, Value splits, Value count) {
  if (!splits || !count)
    return {};
  // A mark where each row but the first begins (those at the end are dropped);
  // their running sum counts rows, and so skips empty ones.
  Value begins = n.slice(splits, 0, 1, -1);
  return n.op<CumulativeOp>(segmentCounts(n, begins, count), n.text("sum"), n.number(0),
                            n.flag(false), n.flag(false));
}

Value weir::tf::lastSplit(NodeImport &n, Value splits) {
  return n.reshape(n.slice(splits, 0, -1, std::numeric_limits<int64_t>::max()), {1});
}

Value weir::tf::splitsOf(NodeImport &n, Value lengths) {
  Value sums =
      n.op<CumulativeOp>(lengths, n.text("sum"), n.number(0), n.flag(false), n.flag(false));
  return n.concat({n.ints({0}), sums}, 0);
}

Value weir::tf::rangesOf(NodeImport &n, Value starts, Value splits) {
  if (!starts || !splits)
    return {};
  Value total = lastSplit(n, splits);
  Value rows = rowIds(n, splits, total);
  Value within = n.sub(countUp(n, total), take(n, splits, rows));
  return n.add(take(n, starts, rows), within);
}

void weir::tf::requireSplits(NodeImport &n, Value splits, Value count) {
  if (!splits || !count)
    return;
  require(n, n.compare("ge", rowLengths(n, splits), 0), "row splits must not decrease");
  require(n, n.compare("eq", n.slice(splits, 0, 0, 1), 0), "row splits must begin with 0");
  require(n, n.compare("eq", lastSplit(n, splits), count),
          "row splits must end with the number of values");
}
