//===- LinalgImports.cpp - matrices and their diagonals -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Diagonals.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// 0, 1, … along `axis` of `rank` dimensions, which has the size of `v`'s
/// dimension `dim`; the others are 1.
static Value positions(NodeImport &n, Value v, int64_t dim, int64_t axis, int64_t rank) {
  Value index = n.op<IotaOp>(n.sizeOf(v, dim), n.number(0), n.typeAttr(n.b.getI64Type()));
  return n.unsqueeze(index, axesFrom(1, rank - axis));
}

//===----------------------------------------------------------------------===//
// Diagonals
//===----------------------------------------------------------------------===//

/// x with its last `count` dimensions as one.
static Value flattenLast(NodeImport &n, Value x, int64_t count) {
  int64_t rank = n.rank(x);
  Value shape = n.sizeProduct(x, rank - count, rank);
  if (rank > count)
    shape = n.concat({n.shapeSlice(x, 0, rank - count), shape}, 0);
  return n.reshapeTo(x, shape);
}

/// The rows or columns that input `i` asks for, a scalar; -1 where it leaves them open.
static Value sideOf(NodeImport &n, size_t i) {
  return i < n.inputCount() ? n.toScalar(n.toI64(n.in(i))) : n.intScalar(-1);
}

/// `yes` where `size` is -1, else `no`: other negative sizes are too small.
static Value ifOpen(NodeImport &n, Value size, Value yes, Value no) {
  if (auto known = size ? constantIntegers(size) : std::nullopt)
    return known->front() == -1 ? yes : no;
  return n.select(n.compare("eq", size, -1), yes, no);
}

/// [matrices, packed elements] of one diagonal a row, or of bands of as many as the dimension
/// before the last has.
static Value bandsOf(NodeImport &n, Value x, Value isOne) {
  int64_t rank = n.rank(x);
  Value rows = n.sizeOf(x, rank - 2), columns = n.sizeOf(x, rank - 1), one = n.ints({1});
  Value batch = n.mul(n.sizeProduct(x, 0, rank - 2), n.select(isOne, rows, one));
  return n.reshapeTo(x, n.concat({batch, n.mul(n.select(isOne, one, rows), columns)}, 0));
}

/// Vectors, or packed diagonals, become diagonals of matrices.
static LogicalResult matrixDiag(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x);
  auto diagonals = readDiagonals(n, 1);
  if (!diagonals)
    return failure();
  Diagonals &d = *diagonals;
  int64_t leastRank = d.isOne || d.isOneOrBand ? 1 : 2;
  if (rank < leastRank)
    return n.invalid("expected rank " + Twine(leastRank) + " or more, got " + Twine(rank));
  Value isOne;
  if (d.isOneOrBand)
    isOne = n.reshape(n.compare("eq", d.low, d.high), {1});
  if (isOne && rank == 1) {
    require(n, isOne, "several diagonals need a dimension of their own");
    d.isOne = true;
    d.isOneOrBand = false;
  }
  Value length = n.toScalar(n.sizeOf(x, rank - 1));
  Value leastRows = n.sub(length, n.minimum(d.high, 0.0));
  Value leastColumns = n.add(length, n.maximum(d.low, 0.0));
  // Square unless one side is given; then the other is as small as can be.
  Value rows = sideOf(n, 2), columns = sideOf(n, 3), square = n.maximum(leastRows, leastColumns);
  d.rows = ifOpen(n, rows, ifOpen(n, columns, square, leastRows), rows);
  d.columns = ifOpen(n, columns, ifOpen(n, rows, square, leastColumns), columns);
  Value fits = n.compare("eq", longestOf(n, d), length);
  if (!d.isOne) {
    Value fitting =
        n.compare("eq", n.toScalar(n.sizeOf(x, rank - 2)), n.add(n.sub(d.high, d.low), 1.0));
    fits = n.op<AndOp>(fits, d.isOneOrBand ? n.op<OrOp>(fitting, n.toScalar(isOne)) : fitting);
  }
  if (auto known = fits ? constantIntegers(fits) : std::nullopt; known && !known->front())
    return n.invalid("found diagonals that do not fit the matrix");
  require(n, fits, "diagonals do not fit the matrix");
  Value packed = d.isOne ? x : d.isOneOrBand ? bandsOf(n, x, isOne) : flattenLast(n, x, 2);
  Value fill = n.inputCount() > 4 ? n.in(4) : n.like(x, 0);
  Value made = pickPlaces(n, packed, placesAmongPacked(n, d), fill);
  if (made && d.isOneOrBand) {
    // The dimension before the last is the bands', or, of one diagonal, the batch's.
    Value yes =
        n.constant(DenseElementsAttr::get(RankedTensorType::get({1}, n.b.getI1Type()), true));
    SmallVector<Value> kept(rank + 1, yes);
    kept[rank - 2] = isOne;
    Value shape = n.concat({n.shapeSlice(x, 0, rank - 1), n.shapeSlice(made, 1, 3)}, 0);
    made = boxOf(n, made, take(n, shape, whereTrue(n, n.concat(kept, 0))));
  }
  return n.result(made);
}

/// The tensor without its dimension before the last, where that turns out to be 1.
static Value withoutSingleBand(NodeImport &n, Value x) {
  int64_t rank = n.rank(x);
  Value shape = n.shapeOf(x);
  Value isBand = n.compare("ne", n.slice(shape, 0, rank - 2, rank - 1), 1);
  Value yes = n.constant(DenseElementsAttr::get(RankedTensorType::get({1}, n.b.getI1Type()), true));
  SmallVector<Value> kept(rank, yes);
  kept[rank - 2] = isBand;
  return boxOf(n, x, take(n, shape, whereTrue(n, n.concat(kept, 0))));
}

static LogicalResult matrixDiagPart(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x);
  if (rank < 2)
    return n.invalid("expected rank 2 or more, got " + Twine(rank));
  auto diagonals = readDiagonals(n, 1);
  if (!diagonals)
    return failure();
  diagonals->rows = n.toScalar(n.sizeOf(x, rank - 2));
  diagonals->columns = n.toScalar(n.sizeOf(x, rank - 1));
  if (failed(requireInside(n, *diagonals)))
    return failure();
  Value fill = n.inputCount() > 2 ? n.in(2) : n.like(x, 0);
  Value part = pickPlaces(n, flattenLast(n, x, 2), placesInMatrix(n, *diagonals), fill);
  return n.result(part && diagonals->isOneOrBand ? withoutSingleBand(n, part) : part);
}

static LogicalResult matrixSetDiag(NodeImport &n) {
  Value x = n.in(0), diagonal = n.in(1);
  if (!x || !diagonal)
    return failure();
  int64_t rank = n.rank(x);
  auto diagonals = readDiagonals(n, 2);
  if (!diagonals)
    return failure();
  Diagonals &d = *diagonals;
  if (rank < 2 || n.rank(diagonal) < 1)
    return n.invalid("found ranks " + Twine(rank) + " and " + Twine(n.rank(diagonal)));
  d.rows = n.toScalar(n.sizeOf(x, rank - 2));
  d.columns = n.toScalar(n.sizeOf(x, rank - 1));
  if (failed(requireInside(n, d)))
    return failure();
  // Of two bounds that are one the diagonal has a dimension less.
  if (d.isOneOrBand && n.rank(diagonal) == rank - 1) {
    require(n, n.compare("eq", d.low, d.high), "several diagonals need a dimension of their own");
    d.isOne = true;
  } else if (d.isOneOrBand) {
    require(n, n.compare("ne", d.low, d.high), "a single diagonal has no dimension of its own");
  }
  SmallVector<Value> shape = {n.shapeSlice(x, 0, rank - 2), n.reshape(longestOf(n, d), {1})};
  if (!d.isOne)
    shape.insert(shape.begin() + 1, n.reshape(n.add(n.sub(d.high, d.low), 1.0), {1}));
  if (failed(requireShape(n, diagonal, n.concat(shape, 0), d.isOne ? "a diagonal" : "diagonals")))
    return failure();
  Value packed = d.isOne ? diagonal : flattenLast(n, diagonal, 2);
  return n.result(pickPlaces(n, packed, placesAmongPacked(n, d), x));
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
  if (rank < 1)
    return n.invalid("found a scalar; expected a last dimension of eights");
  Value last = n.sizeOf(x, rank - 1), bytes = n.div(last, 8.0);
  require(n, n.compare("eq", n.mul(bytes, 8.0), last), "the last dimension is no multiple of 8");
  Value shape = n.concat({bytes, n.ints({8})}, 0);
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
