//===- LinalgImports.cpp - matrices and their diagonals -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Diagonals.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <algorithm>
#include <cstdlib>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// 0, 1, … along `axis` of `rank` dimensions, which has the size of `v`'s
/// dimension `dim`; the others are 1.
static Value positions(NodeImport &n, Value v, int64_t dim, int64_t axis, int64_t rank) {
  Value index = n.op<IotaOp>(n.sizeOf(v, dim), n.number(0), n.typeAttr(n.b.getI64Type()));
  return n.unsqueeze(index, axesFrom(1, rank - axis));
}

/// Whether an element of a matrix lies on diagonal `k`: [rows, columns].
static Value onDiagonal(NodeImport &n, Value matrix, int64_t k) {
  int64_t rank = n.rank(matrix);
  Value row = positions(n, matrix, rank - 2, 0, 2);
  Value column = positions(n, matrix, rank - 1, 1, 2);
  return n.compare("eq", n.add(row, static_cast<double>(k)), column);
}

//===----------------------------------------------------------------------===//
// Diagonals
//===----------------------------------------------------------------------===//

/// The integers of an optional input; `fallback` where there is none.
static std::optional<IntVector> intsOr(NodeImport &n, size_t i, int64_t fallback) {
  if (i >= n.inputCount())
    return IntVector{fallback};
  return n.constantInts(i);
}

static bool isBand(const IntVector &k) { return k.size() == 2 && k[0] != k[1]; }

/// x with its last `count` dimensions as one.
static Value flattenLast(NodeImport &n, Value x, int64_t count) {
  int64_t rank = n.rank(x);
  Value shape = n.sizeProduct(x, rank - count, rank);
  if (rank > count)
    shape = n.concat({n.shapeSlice(x, 0, rank - count), shape}, 0);
  return n.reshapeTo(x, shape);
}

/// x with its last dimension as matrices.
static Value asMatrices(NodeImport &n, Value x, int64_t rows, int64_t columns) {
  if (!x)
    return {};
  Value shape = n.ints({rows, columns});
  if (n.rank(x) > 1)
    shape = n.concat({n.shapeSlice(x, 0, n.rank(x) - 1), shape}, 0);
  return n.reshapeTo(x, shape);
}

/// Packed diagonals become matrices.
static LogicalResult bandToMatrix(NodeImport &n, Value x, const IntVector &k, int64_t rows,
                                  int64_t columns, Value fill) {
  int64_t longest = n.dim(x, n.rank(x) - 1);
  if (n.rank(x) < 2 || ShapedType::isDynamic(longest))
    return n.unsupported("found diagonals of unknown length");
  int64_t leastRows = longest - std::min<int64_t>(k[1], 0),
          leastColumns = longest + std::max<int64_t>(k[0], 0);
  if (rows < 0 && columns < 0)
    rows = columns = std::max(leastRows, leastColumns);
  rows = rows < 0 ? leastRows : rows;
  columns = columns < 0 ? leastColumns : columns;
  auto diagonals = readDiagonals(n, k, rows, columns);
  if (!diagonals)
    return failure();
  if (diagonals->longest() != longest || n.dim(x, n.rank(x) - 2) != diagonals->count())
    return n.invalid("found diagonals that do not fit the matrix");
  Value flat = pickPlaces(n, flattenLast(n, x, 2), diagonals->packedOfMatrix(), fill);
  return n.result(asMatrices(n, flat, rows, columns));
}

/// Vectors become diagonals of square matrices.
static LogicalResult matrixDiag(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (n.rank(x) < 1)
    return n.invalid("found a scalar");
  auto k = intsOr(n, 1, 0), rows = intsOr(n, 2, -1), columns = intsOr(n, 3, -1);
  if (!k || !rows || !columns)
    return failure();
  if (k->empty())
    return n.invalid("found no diagonal");
  int64_t at = k->front();
  Value fill = n.inputCount() > 4 ? n.in(4) : n.like(x, 0);
  if (isBand(*k))
    return bandToMatrix(n, x, *k, rows->front(), columns->front(), fill);
  int64_t rank = n.rank(x);
  // Element [i, j] is x[min(i, j)] where j - i = k.
  Value size = n.sizeOf(x, rank - 1);
  // Square unless one side is given; then the other is as small as can be.
  bool isSquare = rows->front() < 0 && columns->front() < 0;
  auto sizeFrom = [&](const IntVector &given, int64_t offset) -> Value {
    if (isSquare)
      return n.add(size, n.ints({std::abs(at)}));
    return given.front() >= 0 ? n.ints({given.front()}) : n.add(size, n.ints({offset}));
  };
  Value height = sizeFrom(*rows, std::max<int64_t>(-at, 0));
  Value width = sizeFrom(*columns, std::max<int64_t>(at, 0));
  Type i64 = n.b.getI64Type();
  Value row = n.unsqueeze(n.op<IotaOp>(height, n.number(0), n.typeAttr(i64)), {1});
  Value column = n.op<IotaOp>(width, n.number(0), n.typeAttr(i64));
  Value on = n.compare("eq", n.add(row, static_cast<double>(at)), column);
  Value index = n.minimum(row, column);
  if (int64_t length = n.dim(x, rank - 1); length == 0 || ShapedType::isDynamic(length)) {
    // There may be no element to take beside the diagonal: one more is.
    Value shape = n.ints({1});
    if (rank > 1)
      shape = n.concat({n.shapeSlice(x, 0, rank - 1), shape}, 0);
    x = n.concat({x, n.expandTo(n.like(x, 0), shape)}, rank - 1);
    index = n.minimum(index, n.toScalar(size));
  } else {
    index = n.minimum(index, n.sub(n.toScalar(size), 1.0));
  }
  Value spread = n.gather(x, index, rank - 1);
  return n.result(n.select(on, spread, fill));
}

static LogicalResult matrixDiagPart(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x);
  if (rank < 2)
    return n.invalid("expected rank 2 or more, got " + Twine(rank));
  auto k = intsOr(n, 1, 0);
  if (!k)
    return failure();
  if (k->empty())
    return n.invalid("found no diagonal");
  if (isBand(*k)) {
    auto diagonals = readDiagonals(n, *k, n.dim(x, rank - 2), n.dim(x, rank - 1));
    if (!diagonals)
      return failure();
    Value fill = n.inputCount() > 2 ? n.in(2) : n.like(x, 0);
    Value flat = pickPlaces(n, flattenLast(n, x, 2), diagonals->matrixOfPacked(), fill);
    return n.result(asMatrices(n, flat, diagonals->count(), diagonals->longest()));
  }
  if (failed(requireDiagonal(n, x, k->front())))
    return failure();
  int64_t at = k->front(), skipRows = std::max<int64_t>(-at, 0),
          skipColumns = std::max<int64_t>(at, 0);
  Value length = n.minimum(n.sub(n.sizeOf(x, rank - 2), n.ints({skipRows})),
                           n.sub(n.sizeOf(x, rank - 1), n.ints({skipColumns})));
  // One flat dimension, in which the diagonal is every (columns + 1)-th.
  Value flat = flattenLast(n, x, 2);
  Value columns = n.sizeOf(x, rank - 1);
  Value index = n.op<IotaOp>(length, n.number(0), n.typeAttr(n.b.getI64Type()));
  Value first = n.add(n.mul(columns, n.ints({skipRows})), n.ints({skipColumns}));
  index = n.add(n.mul(index, n.add(columns, 1.0)), first);
  return n.result(n.gather(flat, index, rank - 2));
}

static LogicalResult matrixSetDiag(NodeImport &n) {
  Value x = n.in(0), diagonal = n.in(1);
  if (!x || !diagonal)
    return failure();
  int64_t rank = n.rank(x);
  auto k = intsOr(n, 2, 0);
  if (!k)
    return failure();
  if (k->empty() || rank < 2 || n.rank(diagonal) < 1)
    return n.invalid("found ranks " + Twine(rank) + " and " + Twine(n.rank(diagonal)));
  if (isBand(*k)) {
    int64_t rows = n.dim(x, rank - 2), columns = n.dim(x, rank - 1);
    auto diagonals = readDiagonals(n, *k, rows, columns);
    if (!diagonals || n.rank(diagonal) < 2)
      return failure();
    Value flat = pickPlaces(n, flattenLast(n, diagonal, 2), diagonals->packedOfMatrix(),
                            flattenLast(n, x, 2));
    return n.result(asMatrices(n, flat, rows, columns));
  }
  if (failed(requireDiagonal(n, x, k->front())))
    return failure();
  if (k->size() == 2 && n.rank(diagonal) == rank)
    diagonal = n.squeeze(diagonal, {rank - 2});
  // As many elements as lie on the diagonal.
  int64_t at = k->front();
  Value height = n.sizeOf(x, rank - 2), width = n.sizeOf(x, rank - 1);
  Value below = at < 0 ? n.add(height, double(at)) : height;
  Value before = at > 0 ? n.sub(width, n.ints({at})) : width;
  Value length = n.minimum(below, before);
  if (failed(requireShape(n, diagonal, n.concat({n.shapeSlice(x, 0, rank - 2), length}, 0),
                          "a diagonal")))
    return failure();
  Value on = onDiagonal(n, x, k->front());
  Value row = positions(n, x, rank - 2, 0, 2);
  Value column = positions(n, x, rank - 1, 1, 2);
  Value index = n.minimum(row, column);
  index = n.minimum(index, n.sub(n.toScalar(n.sizeOf(diagonal, n.rank(diagonal) - 1)), 1.0));
  Value spread = n.gather(diagonal, index, n.rank(diagonal) - 1);
  return n.result(n.select(on, spread, x));
}

static LogicalResult matrixBandPart(NodeImport &n) {
  Value x = n.in(0), lower = n.in(1), upper = n.in(2);
  if (!x || !lower || !upper)
    return failure();
  int64_t rank = n.rank(x);
  if (rank < 2)
    return n.invalid("expected rank 2 or more, got " + Twine(rank));
  Value row = positions(n, x, rank - 2, 0, 2);
  Value column = positions(n, x, rank - 1, 1, 2);
  Value below = n.sub(row, column);
  Value above = n.sub(column, row);
  lower = n.toI64(lower);
  upper = n.toI64(upper);
  require(n, n.compare("le", lower, n.toScalar(n.sizeOf(x, rank - 2))),
          "more diagonals below than rows");
  require(n, n.compare("le", upper, n.toScalar(n.sizeOf(x, rank - 1))),
          "more diagonals above than columns");
  auto within = [&](Value distance, Value limit) {
    return n.op<OrOp>(n.compare("lt", limit, 0), n.compare("le", distance, limit));
  };
  Value keep = n.op<AndOp>(within(below, lower), within(above, upper));
  return n.result(n.select(keep, x, n.like(x, 0)));
}

/// A tensor becomes the diagonal of one of twice its rank.
static LogicalResult diag(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x);
  Value flat = n.reshape(x, {-1});
  Value count = n.sizeProduct(x, 0, rank);
  Type i64 = n.b.getI64Type();
  Value index = n.op<IotaOp>(count, n.number(0), n.typeAttr(i64));
  Value on = n.compare("eq", n.unsqueeze(index, {1}), index);
  Value matrix = n.select(on, flat, n.like(x, 0));
  Value shape = n.shapeOf(x);
  return n.result(n.reshapeTo(matrix, n.concat({shape, shape}, 0)));
}

static LogicalResult diagPart(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t half = n.rank(x) / 2;
  if (half == 0 || n.rank(x) % 2)
    return n.invalid("expected an even rank, got " + Twine(n.rank(x)));
  require(n, n.compare("eq", n.shapeSlice(x, 0, half), n.shapeSlice(x, half, 2 * half)),
          "the first half of the dimensions is not the second");
  Value count = n.sizeProduct(x, 0, half);
  Value flat = n.reshape(x, {-1});
  Value index = n.op<IotaOp>(count, n.number(0), n.typeAttr(n.b.getI64Type()));
  Value picked = n.gather(flat, n.mul(index, n.add(count, 1.0)), 0);
  return n.result(n.reshapeTo(picked, n.shapeSlice(x, 0, half)));
}

/// The product of vectors of three along the last dimension.
static LogicalResult cross(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  if (failed(requireSame(n, x, y, "operands")))
    return failure();
  int64_t axis = n.rank(x) - 1;
  Value next = n.ints({1, 2, 0}), before = n.ints({2, 0, 1});
  return n.result(n.sub(n.mul(n.gather(x, next, axis), n.gather(y, before, axis)),
                        n.mul(n.gather(x, before, axis), n.gather(y, next, axis))));
}

/// Eight comparisons a byte, the first in the highest bit.
static LogicalResult compareAndBitpack(NodeImport &n) {
  Value x = n.in(0), threshold = n.in(1);
  if (!x || !threshold)
    return failure();
  int64_t rank = n.rank(x);
  Type u8 = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  Value bits = n.isBool(x) ? x : n.compare("gt", x, threshold);
  Value shape = n.concat({n.ints({-1}), n.ints({8})}, 0);
  if (rank > 1)
    shape = n.concat({n.shapeSlice(x, 0, rank - 1), shape}, 0);
  Value groups = n.cast(n.reshapeTo(bits, shape), n.b.getI32Type());
  Value weights = n.cast(n.ints({128, 64, 32, 16, 8, 4, 2, 1}), n.b.getI32Type());
  Value sums = n.reduce(n.mul(groups, weights), "sum", {rank}, false);
  return n.result(n.cast(sums, u8));
}

ArrayRef<OpImport> weir::tf::linalgImports() {
  static const OpImport rows[] = {
      {"MatrixDiag", matrixDiag},
      {"MatrixDiagV2", matrixDiag},
      {"MatrixDiagV3", matrixDiag},
      {"BatchMatrixDiag", matrixDiag},
      {"MatrixDiagPart", matrixDiagPart},
      {"MatrixDiagPartV2", matrixDiagPart},
      {"MatrixDiagPartV3", matrixDiagPart},
      {"BatchMatrixDiagPart", matrixDiagPart},
      {"MatrixSetDiag", matrixSetDiag},
      {"MatrixSetDiagV2", matrixSetDiag},
      {"MatrixSetDiagV3", matrixSetDiag},
      {"BatchMatrixSetDiag", matrixSetDiag},
      {"MatrixBandPart", matrixBandPart},
      {"BatchMatrixBandPart", matrixBandPart},
      {"Diag", diag},
      {"DiagPart", diagPart},
      {"Cross", cross},
      {"CompareAndBitpack", compareAndBitpack},
  };
  return rows;
}
