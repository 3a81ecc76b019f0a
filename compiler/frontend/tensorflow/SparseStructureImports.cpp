//===- SparseStructureImports.cpp - sparse tensors cut, joined, sorted ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static LogicalResult sparseReorder(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  if (!x)
    return failure();
  x = sortSparse(n, x);
  return n.results({x.indices, x.values});
}

static LogicalResult sparseConcat(NodeImport &n) {
  size_t count = n.inputCount() / 3;
  SmallVector<Value> indices, values;
  Value offset, dimension;
  std::optional<int64_t> axis;
  SparseTensor all;
  for (size_t i = 0; i < count; ++i) {
    SparseTensor x = sparseInput(n, i, count + i, 2 * count + i);
    if (!x)
      return failure();
    if (!axis) {
      axis = n.axis(n.i("concat_dim"), x.rank);
      if (!axis)
        return failure();
      all = x;
      offset = n.ints({0});
      // One row in which the axis is 1 and the others 0.
      IntVector unit(x.rank, 0);
      unit[*axis] = 1;
      dimension = n.ints(unit);
    } else {
      if (x.rank != all.rank)
        return n.invalid("found tensors of rank " + Twine(all.rank) + " and " + Twine(x.rank));
      require(n, n.op<OrOp>(n.compare("eq", x.shape, all.shape), n.compare("eq", dimension, 1)),
              "all shapes but that of concat_dim must match");
    }
    indices.push_back(n.add(x.indices, n.mul(dimension, offset)));
    values.push_back(x.values);
    offset = n.add(offset, n.slice(x.shape, 0, *axis, *axis + 1));
  }
  if (!axis || llvm::is_contained(indices, Value()) || !offset)
    return failure();
  all.shape = n.select(n.compare("eq", dimension, 1), offset, all.shape);
  all.indices = n.concat(indices, 0);
  all.values = n.concat(values, 0);
  if (!all)
    return failure();
  all = sortSparse(n, all);
  return n.results({all.indices, all.values, all.shape});
}

/// The elements from `start` on, as many as `size` says: both [rank], inside of
/// the shape. The coordinates then count from `start`.
static SparseTensor cut(NodeImport &n, const SparseTensor &x, Value start, Value size) {
  Value end = n.add(start, size);
  Value inside = n.op<AndOp>(n.compare("ge", x.indices, start), n.compare("lt", x.indices, end));
  SparseTensor part = x;
  Value keep = x.rank ? n.reduce(inside, "all", {1}, false)
                      : n.expandTo(n.scalar(n.b.getI1Type(), 1), n.sizeOf(x.indices, 0));
  Value rows = whereTrue(n, keep);
  part.indices = n.sub(take(n, x.indices, rows), start);
  part.values = take(n, x.values, rows);
  part.shape = size;
  return part;
}

static LogicalResult sparseSlice(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  Value start = n.in(3), size = n.in(4);
  if (!x || !start || !size)
    return failure();
  start = n.toI64(start);
  size = n.toI64(size);
  require(n, n.compare("ge", size, 0), "a size is negative");
  size = n.maximum(n.minimum(size, n.sub(x.shape, start)), 0.0);
  SparseTensor part = cut(n, x, start, size);
  return n.results({part.indices, part.values, part.shape});
}

/// The first `size % count` parts are larger by one.
static LogicalResult sparseSplit(NodeImport &n) {
  SparseTensor x = sparseInput(n, 1, 2, 3);
  if (!x)
    return failure();
  int64_t count = n.i("num_split");
  requireInside(n, x);
  // 1 where the axis is.
  Value dimension;
  if (n.in(0) && !n.knownInts(0)) {
    dimension = n.cast(axisFlags(n, n.reshape(n.in(0), {1}), x.rank), n.b.getI64Type());
  } else {
    auto axis = n.constantAxis(0, x.rank);
    if (!axis)
      return failure();
    IntVector unit(x.rank, 0);
    unit[*axis] = 1;
    dimension = n.ints(unit);
  }
  Value total = n.reduce(n.mul(dimension, x.shape), "sum", {0}, true);
  require(n, n.compare("ge", total, static_cast<double>(count)),
          "the dimension is smaller than the number of parts");
  Value each = n.div(total, static_cast<double>(count));
  Value larger = n.sub(total, n.mul(each, static_cast<double>(count)));
  SmallVector<SparseTensor> parts;
  for (int64_t i = 0; i < count; ++i) {
    Value before = n.minimum(larger, static_cast<double>(i));
    Value begin = n.add(n.mul(each, static_cast<double>(i)), before);
    Value size = n.add(each, n.sub(n.minimum(larger, static_cast<double>(i + 1)), before));
    parts.push_back(
        cut(n, x, n.mul(dimension, begin), n.select(n.compare("eq", dimension, 1), size, x.shape)));
    if (!parts.back())
      return failure();
  }
  SmallVector<Value> results;
  for (Value SparseTensor::*field :
       {&SparseTensor::indices, &SparseTensor::values, &SparseTensor::shape})
    for (SparseTensor &part : parts)
      results.push_back(part.*field);
  return n.results(results);
}

/// `values` at `at` (i64), 0 where `at` is -1.
static Value takeOrZero(NodeImport &n, Value values, Value at) {
  if (!values || !at)
    return {};
  Value zero = n.expandTo(n.like(values, 0), n.ints({1}));
  Value more = n.concat({values, zero}, 0);
  Value none = n.toScalar(n.sizeOf(values, 0));
  return take(n, more, n.select(n.compare("lt", at, 0), none, at));
}

/// The gradient of each input element that the slice had.
static LogicalResult sparseSliceGrad(NodeImport &n) {
  Value grad = n.in(0), input = n.in(1), start = n.in(2), output = n.in(3);
  if (!grad || !input || !start || !output)
    return failure();
  Value places = n.add(output, n.toI64(start));
  return n.result(takeOrZero(n, grad, findRows(n, places, input)));
}

/// The gradient at the places of a, and of b, as far as the sum has them.
static LogicalResult sparseAddGrad(NodeImport &n) {
  Value grad = n.in(0), sum = n.in(3);
  return n.results({takeOrZero(n, grad, findRows(n, sum, n.in(1))),
                    takeOrZero(n, grad, findRows(n, sum, n.in(2)))});
}

/// One entry of the new shape may be -1.
static LogicalResult sparseReshape(NodeImport &n) {
  Value indices = n.in(0), shape = n.in(1), wanted = n.in(2);
  if (!indices || !shape || !wanted)
    return failure();
  SparseTensor x = makeSparse(n, indices, indices, shape);
  int64_t rank = n.dim(wanted, 0);
  if (!x || ShapedType::isDynamic(rank))
    return x ? n.unsupported("found a new shape of unknown rank") : failure();
  wanted = n.toI64(wanted);
  Value open = n.compare("eq", wanted, -1);
  Value total = n.reduce(x.shape, "prod", {0}, false);
  Value known = n.reduce(n.select(open, n.intScalar(1), wanted), "prod", {0}, false);
  Value rest = n.div(total, n.maximum(known, 1.0));
  Value sizes = n.select(open, rest, wanted);
  require(n, n.compare("eq", n.reduce(sizes, "prod", {0}, false), total),
          "the new shape holds another number of elements");
  Value keys = linearKeys(n, x.indices, x.shape, x.rank);
  return n.results({unravel(n, keys, sizes, rank), sizes});
}

//===----------------------------------------------------------------------===//
// Rows without elements
//===----------------------------------------------------------------------===//

namespace {
struct Filled {
  Value order; ///< of the elements and then one for each empty row
  Value empty; ///< [rows], i1
  Value added; ///< numbers of the empty rows
  Value moved; ///< where each element went
};
} // namespace

/// Where elements of rows `ids` go when each row of `count` ([1]) that has none
/// gets one.
static Filled fillEmpty(NodeImport &n, Value ids, Value count) {
  Filled f;
  if (!ids || !count)
    return f;
  require(n, n.op<AndOp>(n.compare("ge", ids, 0), n.compare("lt", ids, n.toScalar(count))),
          "a row is out of bounds");
  f.empty = n.compare("eq", segmentCounts(n, ids, count), 0);
  f.added = whereTrue(n, f.empty);
  f.order = sortOrder(n, n.concat({ids, f.added}, 0));
  // The inverse of the order: where each came to.
  Value places = countUp(n, n.sizeOf(f.order, 0));
  Value inverse = segments(n, places, f.order, n.sizeOf(f.order, 0), "none", n.intScalar(0));
  f.moved = n.op<SliceOp>(inverse, n.ints({0}), n.sizeOf(ids, 0), n.ints({1}), n.list({0}),
                          n.flag(false));
  return f;
}

static Value fillValues(NodeImport &n, const Filled &f, Value values, Value fill) {
  Value more = n.expandTo(n.toScalar(fill), n.sizeOf(f.added, 0));
  return take(n, n.concat({values, more}, 0), f.order);
}

static LogicalResult sparseFillEmptyRows(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  Value fill = n.in(3);
  if (!x || !fill)
    return failure();
  if (x.rank < 1)
    return n.invalid("found a sparse tensor of rank 0");
  Filled f = fillEmpty(n, column(n, x.indices, 0), n.slice(x.shape, 0, 0, 1));
  if (!f.moved)
    return failure();
  Value added = n.unsqueeze(f.added, {1});
  if (x.rank > 1) {
    Value zeros =
        n.expandTo(n.intScalar(0), n.concat({n.sizeOf(f.added, 0), n.ints({x.rank - 1})}, 0));
    added = n.concat({added, zeros}, 1);
  }
  Value indices = take(n, n.concat({x.indices, added}, 0), f.order);
  return n.results({indices, fillValues(n, f, x.values, fill), f.empty, f.moved});
}

static LogicalResult raggedFillEmptyRows(NodeImport &n) {
  Value ids = n.in(0), values = n.in(1), count = n.in(2), fill = n.in(3);
  if (!ids || !values || !count || !fill)
    return failure();
  Filled f = fillEmpty(n, ids, n.reshape(n.toI64(count), {1}));
  if (!f.moved)
    return failure();
  Value rows = take(n, n.concat({ids, f.added}, 0), f.order);
  return n.results({rows, fillValues(n, f, values, fill), f.empty, f.moved});
}

/// The values' gradient, and that of what filled empty rows: the sum of the
/// gradients that no value has.
static LogicalResult fillEmptyRowsGrad(NodeImport &n) {
  Value map = n.in(0), grad = n.in(1);
  if (!map || !grad)
    return failure();
  Value size = n.sizeOf(grad, 0);
  Value values = take(n, grad, map);
  Value fresh = n.compare("eq", segmentCounts(n, map, size), 0);
  Value rest = n.widen(n.select(fresh, grad, n.like(grad, 0)));
  return n.results({values, n.cast(n.reduce(rest, "sum", {0}, false), n.element(grad))});
}

ArrayRef<OpImport> weir::tf::sparseStructureImports() {
  static const OpImport rows[] = {
      {"SparseReorder", sparseReorder},
      {"SparseConcat", sparseConcat},
      {"SparseSlice", sparseSlice},
      {"SparseSliceGrad", sparseSliceGrad},
      {"SparseAddGrad", sparseAddGrad},
      {"SparseSplit", sparseSplit},
      {"SparseReshape", sparseReshape},
      {"SparseFillEmptyRows", sparseFillEmptyRows},
      {"SparseFillEmptyRowsGrad", fillEmptyRowsGrad},
      {"RaggedFillEmptyRows", raggedFillEmptyRows},
      {"RaggedFillEmptyRowsGrad", fillEmptyRowsGrad},
  };
  return rows;
}
