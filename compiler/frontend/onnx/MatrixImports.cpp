//===- MatrixImports.cpp - determinants and inverses ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/NodeImport.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildLoop;
using frontend::Values;

namespace {

/// By cofactors along the first row: for matrices of up to 4×4.
Value determinant(NodeImport &n, Value x, int64_t size, int64_t rows) {
  if (!x)
    return {};
  int64_t rank = n.rank(x);
  if (size == 1)
    return n.pick(n.pick(x, rank - 1, 0), rank - 2, 0);
  Value sum;
  Value below = n.slice(x, rank - 2, 1, rows);
  Value first = n.pick(x, rank - 2, 0);
  for (int64_t column = 0; column < size; ++column) {
    SmallVector<int64_t> rest;
    for (int64_t i = 0; i < size; ++i)
      if (i != column)
        rest.push_back(i);
    Value minor = determinant(n, n.gather(below, n.ints(rest), rank - 1), size - 1, rows - 1);
    Value term = n.mul(n.pick(first, rank - 2, column), minor);
    sum = !sum ? term : column % 2 ? n.sub(sum, term) : n.add(sum, term);
  }
  return sum;
}

/// Inverses of matrices [batch, n, n] by Gauss-Jordan elimination with the largest pivot of each
/// column (Golub and Van Loan, "Matrix Computations", 3.4), a column a trip, in place: a column
/// that has become one of the identity's makes room for one of the inverse. Rows that change
/// places are columns of the inverse that do. A matrix without an inverse gives infinities and NaN.
FailureOr<Value> inverted(NodeImport &n, Value x) {
  Type i64 = n.b.getI64Type();
  Value size = n.sizeOf(x, 1);
  Value row = n.unsqueeze(n.op<IotaOp>(size, n.number(0), n.typeAttr(i64)), {0}); // [1, n]
  Value places = n.expandTo(row, n.shapeSlice(x, 0, 2)); // of columns of the inverse
  auto step = [&](Value k, Values args) -> FailureOr<Values> {
    Value a = args[0], column = n.gather(a, k, 2);
    Value candidates = n.select(n.compare("ge", row, k), n.op<AbsOp>(column), n.like(column, -1));
    Value pivotRow = n.op<ArgReduceOp>(candidates, n.flag(true), n.number(1), n.flag(true),
                                       n.flag(false), n.typeAttr(i64));
    // Row k and the pivot's change places.
    auto changed = [&](Value at) {
      return n.select(n.compare("eq", at, k), pivotRow,
                      n.select(n.compare("eq", at, pivotRow), k, at));
    };
    a = n.op<GatherOp>(a, changed(row), n.number(1), n.number(1), n.flag(false));
    Value top = n.gather(a, k, 1);                         // [batch, n]
    Value divisor = n.unsqueeze(n.gather(top, k, 1), {1}); // [batch, 1]
    Value factors = n.div(n.gather(a, k, 2), divisor);     // [batch, n]
    Value isOwn = n.compare("eq", row, k);                 // [1, n]
    top = n.select(isOwn, n.like(top, 1), top);
    Value own = n.unsqueeze(n.div(top, divisor), {1});
    Value rest = n.sub(n.select(n.unsqueeze(isOwn, {1}), n.like(a, 0), a),
                       n.mul(n.unsqueeze(factors, {2}), n.unsqueeze(top, {1})));
    return Values{n.select(n.unsqueeze(isOwn, {2}), own, rest), changed(args[1])};
  };
  FailureOr<Values> made = buildLoop(n, n.toScalar(size), {}, {x, places}, step);
  if (failed(made))
    return failure();
  return Value(n.op<GatherOp>((*made)[0], (*made)[1], n.number(2), n.number(1), n.flag(false)));
}

/// Matrices [batch…, n, n] as [batch, n, n]; null, with a report, where they are
/// known not to be square. Runs end where open sizes are not.
Value matrices(NodeImport &n, Value x) {
  int64_t rank = n.rank(x);
  if (rank < 2) {
    (void)n.invalid("expected square matrices, in the last two dimensions, got rank " +
                    Twine(rank));
    return {};
  }
  int64_t rows = n.dim(x, rank - 2), columns = n.dim(x, rank - 1);
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(columns)) {
    n.require(n.toScalar(n.compare("eq", n.sizeOf(x, rank - 2), n.sizeOf(x, rank - 1))),
              "matrices are not square");
  } else if (rows != columns) {
    (void)n.invalid("expected square matrices, in the last two dimensions, got " + Twine(rows) +
                    " rows and " + Twine(columns) + " columns");
    return {};
  }
  return n.reshapeTo(x,
                     n.concat({n.sizeProduct(x, 0, rank - 2), n.shapeSlice(x, rank - 2, rank)}, 0));
}

LogicalResult det(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(x);
  int64_t size = rank < 2 ? 0 : n.dim(x, rank - 1);
  if (rank >= 2 && size == n.dim(x, rank - 2) && size >= 1 && size <= 4)
    return n.result(n.cast(determinant(n, n.widen(x), size, size), n.element(x)));
  if (!matrices(n, x))
    return failure();
  Value all = n.widen(x);
  auto type = RankedTensorType::get(ArrayRef(n.sizes(x)).drop_back(2), n.element(all));
  Operation *made = n.kernelCall("weir_kernel_determinant", {type}, {all});
  return made ? n.result(n.cast(made->getResult(0), n.element(x))) : failure();
}

LogicalResult inverse(NodeImport &n) {
  Value x = n.in(0);
  Value all = x ? n.widen(matrices(n, x)) : Value();
  if (!all)
    return failure();
  FailureOr<Value> made = inverted(n, all);
  if (failed(made))
    return failure();
  return n.result(n.reshapeTo(n.cast(*made, n.element(x)), n.shapeOf(x)));
}

constexpr OperatorImport table[] = {
    {"", "Det", 11, 0, det},
    {"com.microsoft", "Inverse", 1, 0, inverse},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::matrixImports() { return table; }
