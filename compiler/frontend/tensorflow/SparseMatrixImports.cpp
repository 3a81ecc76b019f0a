//===- SparseMatrixImports.cpp - matrices in compressed rows --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow keeps such a matrix, or a batch of them, in a variant. Here it is
// the coordinates, values and shape of a sparse tensor in row-major order.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static SparseTensor matrixInput(NodeImport &n, size_t i) {
  if (n.inputs[i].kind != Imported::Kind::Group || n.inputs[i].group->size() != 3) {
    (void)n.unsupported("found an input that is no sparse matrix of the graph");
    return {};
  }
  const std::vector<Value> &parts = *n.inputs[i].group;
  return makeSparse(n, parts[0], parts[1], parts[2]);
}

static LogicalResult matrixResult(NodeImport &n, const SparseTensor &x) {
  if (!x)
    return failure();
  return n.result(Imported::makeGroup({x.indices, x.values, x.shape}));
}

static bool isMatrix(NodeImport &n, const SparseTensor &x) {
  if (!x)
    return false;
  if (x.rank == 2 || x.rank == 3)
    return true;
  (void)n.invalid("expected a sparse tensor of rank 2 or 3, got " + Twine(x.rank));
  return false;
}

static LogicalResult fromSparseTensor(NodeImport &n) {
  SparseTensor x = sparseInput(n, 0, 1, 2);
  return isMatrix(n, x) ? matrixResult(n, x) : failure();
}

static LogicalResult fromDense(NodeImport &n) {
  Value dense = n.in(0), indices = n.in(1);
  if (!dense || !indices)
    return failure();
  SparseTensor x = makeSparse(n, indices, dense, n.shapeOf(dense));
  if (!isMatrix(n, x))
    return failure();
  x.values = n.op<GatherNdOp>(dense, x.indices, n.number(0), n.flag(false));
  return matrixResult(n, x);
}

static Value denseOf(NodeImport &n, const SparseTensor &x) {
  if (!x)
    return {};
  return n.op<ScatterNdOp>(n.expandTo(n.like(x.values, 0), x.shape), x.indices, x.values,
                           n.text("none"), n.flag(false), n.flag(false));
}

static LogicalResult toDense(NodeImport &n) { return n.result(denseOf(n, matrixInput(n, 0))); }

static LogicalResult toSparseTensor(NodeImport &n) {
  SparseTensor x = matrixInput(n, 0);
  return n.results({x.indices, x.values, x.shape});
}

static LogicalResult nonZeros(NodeImport &n) {
  SparseTensor x = matrixInput(n, 0);
  if (!x)
    return failure();
  Value counts = x.rank == 2 ? n.toScalar(n.sizeOf(x.indices, 0))
                             : segmentCounts(n, column(n, x.indices, 0), n.slice(x.shape, 0, 0, 1));
  return n.result(n.cast(counts, n.b.getI32Type()));
}

static SparseTensor transposed(NodeImport &n, SparseTensor x, bool conjugate) {
  if (!x)
    return x;
  int64_t rank = x.rank;
  SmallVector<Value> places, sizes;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t from = i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2;
    places.push_back(columns(n, x.indices, from, from + 1));
    sizes.push_back(n.slice(x.shape, 0, from, from + 1));
  }
  x.indices = n.concat(places, 1);
  x.shape = n.concat(sizes, 0);
  if (x && conjugate && isa<ComplexType>(n.element(x.values)))
    x.values = n.op<ConjOp>(x.values);
  return x;
}

static LogicalResult transpose(NodeImport &n) {
  SparseTensor x = transposed(n, matrixInput(n, 0), n.isSet("conjugate"));
  return matrixResult(n, x ? sortSparse(n, x) : x);
}

/// An operand of a product, transposed or adjoint as attributes say.
static SparseTensor factor(NodeImport &n, size_t i, StringRef suffix) {
  SparseTensor x = matrixInput(n, i);
  bool adjoint = n.isSet(("adjoint_" + suffix).str());
  if (adjoint || n.isSet(("transpose_" + suffix).str()))
    x = transposed(n, x, adjoint);
  return x;
}

static Value conjugated(NodeImport &n, Value x) {
  return x && isa<ComplexType>(n.element(x)) ? n.op<ConjOp>(x) : x;
}

static Value swapped(NodeImport &n, Value x) {
  if (!x)
    return x;
  int64_t rank = n.rank(x);
  IntVector order = axesFrom(0, rank);
  std::swap(order[rank - 1], order[rank - 2]);
  return n.transpose(x, order);
}

/// Σ value * b[batch, column, :] into [batch, row, :].
static LogicalResult matMul(NodeImport &n) {
  SparseTensor a = factor(n, 0, "a");
  Value b = n.in(1);
  if (!a || !b)
    return failure();
  int64_t rank = a.rank;
  if (n.rank(b) != rank)
    return n.invalid("found operands of rank " + Twine(rank) + " and " + Twine(n.rank(b)));
  if (n.isSet("adjoint_b"))
    b = conjugated(n, b);
  if (n.isSet("adjoint_b") || n.isSet("transpose_b"))
    b = swapped(n, b);
  require(n, n.compare("eq", n.slice(a.shape, 0, rank - 1, rank), n.sizeOf(b, rank - 2)),
          "the matrices' inner sizes differ");
  Value batch = columns(n, a.indices, 0, rank - 2);
  Value row = columns(n, a.indices, rank - 2, rank - 1), at = columns(n, a.indices, rank - 1, rank);
  Value picked =
      n.op<GatherNdOp>(b, rank == 2 ? at : n.concat({batch, at}, 1), n.number(0), n.flag(false));
  Value terms = n.mul(n.unsqueeze(a.values, {1}), picked);
  if (!terms)
    return failure();
  Value zeros = n.expandTo(n.like(terms, 0),
                           n.concat({n.slice(a.shape, 0, 0, rank - 1), n.sizeOf(b, rank - 1)}, 0));
  Value product = n.op<ScatterNdOp>(zeros, rank == 2 ? row : n.concat({batch, row}, 1), terms,
                                    n.text("add"), n.flag(false), n.flag(false));
  if (n.isSet("conjugate_output"))
    product = conjugated(n, product);
  if (n.isSet("transpose_output"))
    product = swapped(n, product);
  return n.result(product);
}

/// Row by row (Gustavson, "Two fast algorithms for sparse matrices", 1978):
/// each element of a meets the row of b that its column names; terms of one
/// place are then summed.
static LogicalResult sparseMatMul(NodeImport &n) {
  SparseTensor a = factor(n, 0, "a"), b = factor(n, 1, "b");
  if (!a || !b)
    return failure();
  int64_t rank = a.rank;
  if (b.rank != rank)
    return n.invalid("found operands of rank " + Twine(rank) + " and " + Twine(b.rank));
  require(
      n,
      n.compare("eq", n.slice(a.shape, 0, rank - 1, rank), n.slice(b.shape, 0, rank - 2, rank - 1)),
      "the matrices' inner sizes differ");
  b = sortSparse(n, b);
  Value rowShape = n.slice(b.shape, 0, 0, rank - 1);
  Value rowsOfB = linearKeys(n, columns(n, b.indices, 0, rank - 1), rowShape, rank - 1);
  Value rowsInB = n.reduce(rowShape, "prod", {0}, true);
  Value begins = splitsOf(n, segmentCounts(n, rowsOfB, rowsInB));
  // The row of b that each element of a meets.
  Value batch = columns(n, a.indices, 0, rank - 2), at = columns(n, a.indices, rank - 1, rank);
  Value met = linearKeys(n, rank == 2 ? at : n.concat({batch, at}, 1), rowShape, rank - 1);
  Value first = take(n, begins, met);
  Value lengths = n.sub(take(n, begins, n.add(met, 1.0)), first);
  Value terms = splitsOf(n, lengths);
  Value inB = rangesOf(n, first, terms);
  if (!inB)
    return failure();
  Value inA = rowIds(n, terms, n.sizeOf(inB, 0));
  Value products = n.mul(take(n, a.values, inA), take(n, b.values, inB));
  Value lead = take(n, columns(n, a.indices, 0, rank - 1), inA);
  Value last = take(n, columns(n, b.indices, rank - 1, rank), inB);
  SparseTensor c;
  c.rank = rank;
  c.shape = n.concat({n.slice(a.shape, 0, 0, rank - 1), n.slice(b.shape, 0, rank - 1, rank)}, 0);
  Distinct places = distinct(n, linearKeys(n, n.concat({lead, last}, 1), c.shape, rank));
  if (!places)
    return failure();
  c.indices = unravel(n, places.values, c.shape, rank);
  c.values = segmentSums(n, products, places.inverse, n.sizeOf(places.values, 0));
  return matrixResult(n, c);
}

/// alpha a + beta b, at the places of either.
static LogicalResult add(NodeImport &n) {
  SparseTensor a = matrixInput(n, 0), b = matrixInput(n, 1);
  Value alpha = n.in(2), beta = n.in(3);
  if (!a || !b || !alpha || !beta)
    return failure();
  if (a.rank != b.rank)
    return n.invalid("found operands of rank " + Twine(a.rank) + " and " + Twine(b.rank));
  require(n, n.compare("eq", a.shape, b.shape), "the shapes differ");
  Distinct places = distinct(n, n.concat({linearKeys(n, a.indices, a.shape, a.rank),
                                          linearKeys(n, b.indices, a.shape, a.rank)},
                                         0));
  if (!places)
    return failure();
  Value values = n.concat({n.mul(a.values, alpha), n.mul(b.values, beta)}, 0);
  a.indices = unravel(n, places.values, a.shape, a.rank);
  a.values = segmentSums(n, values, places.inverse, n.sizeOf(places.values, 0));
  return matrixResult(n, a);
}

/// Times a scalar, or one for each matrix of a batch, [batch, 1, 1].
static LogicalResult multiply(NodeImport &n) {
  SparseTensor a = matrixInput(n, 0);
  Value b = n.in(1);
  if (!a || !b)
    return failure();
  if (n.rank(b) == 3 && a.rank == 3)
    b = take(n, n.reshape(b, {-1}), column(n, a.indices, 0));
  else if (n.rank(b) != 0)
    return n.unsupported("expected a factor that is a scalar or [batch, 1, 1], got rank " +
                         Twine(n.rank(b)));
  a.values = n.mul(a.values, b);
  return matrixResult(n, a);
}

static LogicalResult zeros(NodeImport &n) {
  Value shape = n.in(0);
  Type type = n.elementAttr("type");
  if (!shape || !type)
    return failure();
  int64_t rank = n.dim(shape, 0);
  if (ShapedType::isDynamic(rank))
    return n.unsupported("found a shape of unknown rank");
  SparseTensor x;
  x.rank = rank;
  x.indices = n.splat(n.b.getI64Type(), {0, rank}, 0);
  x.values = n.splat(type, {0}, 0);
  x.shape = shape;
  return isMatrix(n, x) ? matrixResult(n, x) : failure();
}

static LogicalResult softmax(NodeImport &n) {
  SparseTensor x = matrixInput(n, 0);
  if (!x)
    return failure();
  x.values = softmaxOfRows(n, x);
  return matrixResult(n, x);
}

/// For each element the sum of its row's `values`, one an element of `x`.
static Value rowSums(NodeImport &n, const SparseTensor &x, Value values) {
  Value keys = linearKeys(n, columns(n, x.indices, 0, x.rank - 1), x.shape, x.rank - 1);
  Distinct rows = distinct(n, keys);
  if (!rows)
    return {};
  Value sums = segmentSums(n, n.widen(values), rows.inverse, n.sizeOf(rows.values, 0));
  return n.cast(take(n, sums, rows.inverse), n.element(values));
}

/// The gradient of the softmax of each row: both matrices have the same places.
static LogicalResult softmaxGradient(NodeImport &n) {
  SparseTensor y = matrixInput(n, 0), dy = matrixInput(n, 1);
  if (!y || !dy)
    return failure();
  if (y.rank != dy.rank)
    return n.invalid("found matrices of ranks " + Twine(y.rank) + " and " + Twine(dy.rank));
  Value places = n.reshapeTo(dy.indices, n.shapeOf(y.indices));
  require(n, n.compare("eq", places, y.indices),
          "a gradient whose elements lie elsewhere than the softmax's");
  y.values = n.mul(n.sub(dy.values, rowSums(n, y, n.mul(y.values, dy.values))), y.values);
  return matrixResult(n, y);
}

static LogicalResult cholesky(NodeImport &n) {
  SparseTensor a = matrixInput(n, 0);
  Value order = n.in(1);
  if (!a || !order)
    return failure();
  if (n.rank(order) != a.rank - 1)
    return n.invalid("expected a permutation of rank " + Twine(a.rank - 1) + ", got rank " +
                     Twine(n.rank(order)));
  SmallVector<Type> types{RankedTensorType::get({ShapedType::kDynamic, a.rank}, n.b.getI64Type()),
                          RankedTensorType::get({ShapedType::kDynamic}, n.element(a.values))};
  Operation *made = n.kernelCall("weir_kernel_sparse_cholesky", types,
                                 {a.indices, a.values, a.shape, n.toI64(order)});
  if (!made)
    return failure();
  a.indices = made->getResult(0);
  a.values = made->getResult(1);
  return matrixResult(n, a);
}

static LogicalResult components(NodeImport &n) {
  SparseTensor x = matrixInput(n, 0);
  Value index = n.in(1);
  if (!x || !index)
    return failure();
  if (x.rank == 3) {
    Value rows = whereTrue(n, n.compare("eq", column(n, x.indices, 0), n.toI64(index)));
    x.indices = columns(n, take(n, x.indices, rows), 1, 3);
    x.values = take(n, x.values, rows);
    x.shape = n.slice(x.shape, 0, 1, 3);
  }
  Type i32 = n.b.getI32Type();
  Value counts = segmentCounts(n, column(n, x.indices, 0), n.slice(x.shape, 0, 0, 1));
  return n.results(
      {n.cast(splitsOf(n, counts), i32), n.cast(column(n, x.indices, 1), i32), x.values});
}

ArrayRef<OpImport> weir::tf::sparseMatrixImports() {
  static const OpImport rows[] = {
      {"SparseTensorToCSRSparseMatrix", fromSparseTensor},
      {"DenseToCSRSparseMatrix", fromDense},
      {"CSRSparseMatrixToDense", toDense},
      {"CSRSparseMatrixToSparseTensor", toSparseTensor},
      {"CSRSparseMatrixComponents", components},
      {"SparseMatrixNNZ", nonZeros},
      {"SparseMatrixTranspose", transpose},
      {"SparseMatrixMatMul", matMul},
      {"SparseMatrixSparseMatMul", sparseMatMul},
      {"SparseMatrixAdd", add},
      {"SparseMatrixMul", multiply},
      {"SparseMatrixZeros", zeros},
      {"SparseMatrixSoftmax", softmax},
      {"SparseMatrixSoftmaxGrad", softmaxGradient},
      {"SparseMatrixSparseCholesky", cholesky},
  };
  return rows;
}
