//===- SetImports.cpp - sets in the last dimension, counts of values ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Sparse.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

namespace {
/// Elements of sets, each with the row-major number of its set.
struct Sets {
  Value groups; ///< [n], i64
  Value values; ///< [n]
  Value shape;  ///< of the sets, [rank - 1]
  int64_t rank = 0;
  explicit operator bool() const { return groups && values && shape; }
};
} // namespace

static Sets denseSets(NodeImport &n, size_t i) {
  Value x = n.in(i);
  if (!x)
    return {};
  int64_t rank = n.rank(x);
  if (rank < 2) {
    (void)n.invalid("expected sets of rank 2 or more, got " + Twine(rank));
    return {};
  }
  Sets sets;
  sets.rank = rank;
  sets.shape = n.shapeSlice(x, 0, rank - 1);
  // One element more or less: sets without any elements have no divisor.
  Value size = n.toScalar(n.maximum(n.sizeOf(x, rank - 1), 1.0));
  sets.groups = n.div(countUp(n, n.sizeProduct(x, 0, rank)), size);
  sets.values = n.reshape(x, {-1});
  return sets;
}

static Sets sparseSets(NodeImport &n, size_t first) {
  SparseTensor x = sparseInput(n, first, first + 1, first + 2);
  if (!x)
    return {};
  if (x.rank < 2) {
    (void)n.invalid("expected sets of rank 2 or more, got " + Twine(x.rank));
    return {};
  }
  Sets sets;
  sets.rank = x.rank;
  sets.shape = n.slice(x.shape, 0, 0, x.rank - 1);
  Value places = columns(n, x.indices, 0, x.rank - 1);
  requireInside(n, x);
  if (n.isSet("validate_indices"))
    requireOrdered(n, x);
  sets.groups = linearKeys(n, places, sets.shape, x.rank - 1);
  sets.values = x.values;
  return sets;
}

/// Members once each, by set and then by value: rows (set, value number).
static Value members(NodeImport &n, Value groups, Value numbers) {
  return distinct(n, n.stack({groups, numbers}, 1)).values;
}

/// Sets as a sparse tensor: within its set each member has its place in order.
static LogicalResult setResult(NodeImport &n, Value rows, Value table, Value shape, int64_t rank) {
  if (!rows || !table)
    return failure();
  Value groups = column(n, rows, 0);
  Value count = n.reduce(shape, "prod", {0}, true);
  Value sizes = segmentCounts(n, groups, count);
  Value begins = splitsOf(n, sizes);
  Value place = n.sub(countUp(n, n.sizeOf(rows, 0)), take(n, begins, groups));
  Value indices = n.concat({unravel(n, groups, shape, rank - 1), n.unsqueeze(place, {1})}, 1);
  Value longest = n.reduce(n.concat({n.ints({0}), sizes}, 0), "max", {0}, true);
  return n.results({indices, take(n, table, column(n, rows, 1)), n.concat({shape, longest}, 0)});
}

static LogicalResult operate(NodeImport &n, const Sets &a, const Sets &b) {
  if (!a || !b)
    return failure();
  if (a.rank != b.rank)
    return n.invalid("found sets of rank " + Twine(a.rank) + " and " + Twine(b.rank));
  require(n, n.compare("eq", a.shape, b.shape), "the sets' outer dimensions differ");
  // Values of every type become their place in the order of all of them.
  Distinct all = distinct(n, n.concat({a.values, b.values}, 0));
  if (!all)
    return failure();
  Value sizeOfA = n.sizeOf(a.values, 0);
  auto part = [&](Value begin, Value end) {
    return n.op<SliceOp>(all.inverse, begin, end, n.ints({1}), n.list({0}), n.flag(false));
  };
  Value inA = members(n, a.groups, part(n.ints({0}), sizeOfA));
  Value inB = members(n, b.groups, part(sizeOfA, n.ints({std::numeric_limits<int64_t>::max()})));
  std::string_view operation = n.s("set_operation");
  Value rows;
  if (operation == "union") {
    rows = distinct(n, n.concat({inA, inB}, 0)).values;
  } else if (operation == "a-b" || operation == "b-a" || operation == "intersection") {
    bool turned = operation == "b-a";
    Value from = turned ? inB : inA, other = turned ? inA : inB;
    Value at = findRows(n, other, from);
    Value keep = n.compare(operation == "intersection" ? "ge" : "lt", at, 0);
    rows = take(n, from, whereTrue(n, keep));
  } else {
    return n.invalid("expected set_operation a-b, b-a, intersection or union, got " +
                     Twine(StringRef(operation.data(), operation.size())));
  }
  return setResult(n, rows, all.values, a.shape, a.rank);
}

static LogicalResult denseToDense(NodeImport &n) {
  return operate(n, denseSets(n, 0), denseSets(n, 1));
}
static LogicalResult denseToSparse(NodeImport &n) {
  return operate(n, denseSets(n, 0), sparseSets(n, 1));
}
static LogicalResult sparseToSparse(NodeImport &n) {
  return operate(n, sparseSets(n, 0), sparseSets(n, 3));
}

/// How many different values each set has.
static LogicalResult setSize(NodeImport &n) {
  Sets sets = sparseSets(n, 0);
  if (!sets)
    return failure();
  Distinct all = distinct(n, sets.values);
  if (!all)
    return failure();
  Value rows = members(n, sets.groups, all.inverse);
  Value counts = segmentCounts(n, column(n, rows, 0), n.reduce(sets.shape, "prod", {0}, true));
  return n.result(n.cast(n.reshapeTo(counts, sets.shape), n.b.getI32Type()));
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

namespace {
/// Values to count, each in the row it belongs to.
struct Counted {
  Value values; ///< [n], i64
  Value rows;   ///< [n], i64; null: all are of one row that has no dimension
  Value count;  ///< of rows, [1]
};
} // namespace

static Counted denseValues(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  Counted c;
  c.values = n.toI64(n.reshape(x, {-1}));
  if (n.rank(x) == 2) {
    c.count = n.sizeOf(x, 0);
    Value size = n.toScalar(n.maximum(n.sizeOf(x, 1), 1.0));
    c.rows = n.div(countUp(n, n.sizeProduct(x, 0, 2)), size);
  } else if (n.rank(x) != 1 && (n.rank(x) > 2 || n.node.op == "DenseCountSparseOutput")) {
    (void)n.invalid("expected values of rank 1 or 2, got " + Twine(n.rank(x)));
    return {};
  }
  return c;
}

static Counted raggedValues(NodeImport &n) {
  Value splits = n.toI64(n.in(0)), values = n.in(1);
  if (!splits || !values)
    return {};
  Value size = n.sizeOf(values, 0);
  requireSplits(n, splits, size);
  return {n.toI64(values), rowIds(n, splits, size), rowCount(n, splits)};
}

static Counted sparseValues(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  if (!x)
    return {};
  Counted c;
  c.values = n.toI64(x.values);
  requireInside(n, x);
  if (x.rank == 2) {
    c.rows = column(n, x.indices, 0);
    c.count = n.slice(x.shape, 0, 0, 1);
  } else if (x.rank != 1) {
    (void)n.invalid("expected a sparse tensor of rank 1 or 2, got " + Twine(x.rank));
    return {};
  }
  return c;
}

Value weir::tf::weightsOr1(NodeImport &n, size_t i, Value values, Type type) {
  Value weights = n.in(i);
  if (!weights || !values || !type)
    return {};
  Value ones = n.expandTo(n.scalar(type, 1), n.shapeOf(values));
  weights = n.reshape(weights, {-1});
  Value count = n.sizeOf(weights, 0);
  require(n, n.op<OrOp>(n.compare("eq", count, 0), n.compare("eq", count, n.sizeOf(values, 0))),
          "there must be a weight for each value, or none");
  // Whether there are any is known at run time only: the first of what is
  // there, and then of ones.
  return n.op<SliceOp>(n.concat({weights, ones}, 0), n.ints({0}), n.sizeOf(values, 0), n.ints({1}),
                       n.list({0}), n.flag(false));
}

template <Counted (*read)(NodeImport &), size_t sizeInput>
static LogicalResult bincount(NodeImport &n) {
  Counted c = read(n);
  Type type = n.elementAttr("T");
  Value size = n.in(sizeInput);
  if (!c.values || !size || !type)
    return failure();
  size = n.reshape(n.toI64(size), {1});
  require(n, n.compare("ge", c.values, 0), "values must not be negative");
  require(n, n.compare("ge", size, 0), "size must not be negative");
  bool binary = n.isSet("binary_output");
  Value weights = weightsOr1(n, sizeInput + 1, c.values, type);
  if (binary)
    weights = n.expandTo(n.scalar(type, 1), n.shapeOf(c.values));
  Value at = n.unsqueeze(c.values, {1}), shape = size;
  if (c.rows) {
    at = n.stack({c.rows, c.values}, 1);
    shape = n.concat({c.count, size}, 0);
  }
  // Values from the size on are dropped.
  return n.result(n.op<ScatterNdOp>(n.expandTo(n.scalar(type, 0), shape), at, weights,
                                    n.text(binary ? "none" : "add"), n.flag(false), n.flag(true)));
}

template <Counted (*read)(NodeImport &), size_t weightInput>
static LogicalResult countSparse(NodeImport &n) {
  Counted c = read(n);
  Type type = n.elementAttr("output_type");
  if (!c.values || !type)
    return failure();
  require(n, n.compare("ge", c.values, 0), "values must not be negative");
  int64_t least = n.i("minlength"), most = n.i("maxlength");
  bool binary = n.isSet("binary_output");
  Value valid = n.compare("ge", c.values, 0);
  if (most >= 0)
    valid = n.op<AndOp>(valid, n.compare("lt", c.values, double(most)));
  Value weights = weightsOr1(n, weightInput, c.values, type);
  Value keep = whereTrue(n, valid);
  Value values = take(n, c.values, keep);
  weights = take(n, weights, keep);
  Value keys = n.unsqueeze(values, {1});
  if (c.rows)
    keys = n.stack({take(n, c.rows, keep), values}, 1);
  Distinct places = distinct(n, keys);
  if (!places)
    return failure();
  Value count = n.sizeOf(places.values, 0);
  Value sums = binary ? n.expandTo(n.scalar(type, 1), count)
                      : segmentSums(n, weights, places.inverse, count);
  Value size = n.ints({most});
  if (most < 0) {
    Value largest = n.reduce(n.concat({n.ints({0}), values}, 0), "max", {0}, true);
    size = n.maximum(n.add(largest, 1.0), double(least));
  }
  return n.results({places.values, sums, c.rows ? n.concat({c.count, size}, 0) : size});
}

ArrayRef<OpImport> weir::tf::setImports() {
  static const OpImport rows[] = {
      {"DenseToDenseSetOperation", denseToDense},
      {"DenseToSparseSetOperation", denseToSparse},
      {"SparseToSparseSetOperation", sparseToSparse},
      {"SetSize", setSize},
      {"DenseBincount", bincount<denseValues, 1>},
      {"RaggedBincount", bincount<raggedValues, 2>},
      {"SparseBincount", bincount<sparseValues, 3>},
      {"DenseCountSparseOutput", countSparse<denseValues, 1>},
      {"RaggedCountSparseOutput", countSparse<raggedValues, 2>},
      {"SparseCountSparseOutput", countSparse<sparseValues, 3>},
  };
  return rows;
}
