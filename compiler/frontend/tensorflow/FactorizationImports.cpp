//===- FactorizationImports.cpp - systems of equations, determinants ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Column by column, over all matrices of a batch at once, in a weir.while whose
// body works on whole rows. Textbook algorithms (Golub and Van Loan, "Matrix
// computations"): elimination with row pivoting, substitution, Cholesky.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// A batch of matrices as [batch, rows, columns], and the way back.
struct Batch {
  Value matrices;
  Value shape; ///< of the leading dimensions, tensor<? x i64>; null: none
  int64_t n = 0;
};

using State = std::vector<Imported>;

} // namespace

static std::optional<Batch> flatten(NodeImport &n, Value x) {
  if (!x)
    return std::nullopt;
  int64_t rank = n.rank(x);
  if (rank < 2 || !isa<FloatType>(n.element(x))) {
    (void)n.unsupported("found a tensor of rank " + Twine(rank) +
                        " or complex numbers; possible are matrices of floats");
    return std::nullopt;
  }
  int64_t rows = n.type(x).getDimSize(rank - 2),
          columns = n.type(x).getDimSize(rank - 1);
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(columns)) {
    (void)n.unsupported("found matrices of unknown size");
    return std::nullopt;
  }
  Batch batch;
  batch.n = rows;
  if (rank > 2)
    batch.shape = n.shapeSlice(x, 0, rank - 2);
  Value leading = n.sizeProduct(x, 0, rank - 2);
  batch.matrices =
      n.reshapeTo(x, n.concat({leading, n.ints({rows, columns})}, 0));
  return batch;
}

static Value restore(NodeImport &n, const Batch &batch, Value x, Ints tail) {
  if (!x)
    return {};
  Value shape = n.ints(tail);
  if (batch.shape)
    shape = tail.empty() ? batch.shape : n.concat({batch.shape, shape}, 0);
  return n.reshapeTo(x, shape);
}

/// for k in [0, count): state = step(k, state); `k` is a scalar i64.
static FailureOr<State>
repeat(NodeImport &n, int64_t count, State state,
       llvm::function_ref<std::vector<Value>(onnx::TensorBuilder &, Value,
                                             ArrayRef<Value>)>
           step) {
  if (count == 0)
    return state;
  state.insert(state.begin(), Imported(n.intScalar(0)));
  auto results = n.g.buildWhile(
      std::move(state),
      [&](State s, OpBuilder &b) -> FailureOr<State> {
        onnx::TensorBuilder t(b, n.loc);
        return State{Imported(
            t.compare("lt", s[0].value, static_cast<double>(count)))};
      },
      [&](State s, OpBuilder &b) -> FailureOr<State> {
        onnx::TensorBuilder t(b, n.loc);
        SmallVector<Value> values;
        for (const Imported &one : ArrayRef<Imported>(s).drop_front())
          values.push_back(one.value);
        State next = {Imported(t.add(s[0].value, 1.0))};
        for (Value value : step(t, s[0].value, values)) {
          if (!value)
            return failure();
          next.emplace_back(value);
        }
        return next;
      },
      n.node, n.b, n.loc);
  if (failed(results))
    return failure();
  results->erase(results->begin());
  return results;
}

/// 0, 1, … as [1, size, 1] or [1, 1, size].
static Value indexAlong(onnx::TensorBuilder &t, int64_t size, int64_t axis) {
  IntVector all(size);
  for (int64_t i = 0; i < size; ++i)
    all[i] = i;
  return t.unsqueeze(t.ints(all), axis == 1 ? Ints{0, 2} : Ints{0, 1});
}

/// One row (axis 1) or column (axis 2) of each matrix, the dimension kept.
static Value line(onnx::TensorBuilder &t, Value m, Value k, int64_t axis) {
  return t.unsqueeze(t.op<GatherOp>(m, k, t.number(axis), t.number(0),
                                    t.flag(false)),
                     {axis});
}

namespace {
/// L below the diagonal (its own is 1), U on and above it; `order[i]` is the
/// row that came to i; `sign` of the permutation, [batch, 1, 1].
struct Elimination {
  Value lu, order, sign;
};
} // namespace

static std::optional<Elimination> eliminate(NodeImport &n, const Batch &batch) {
  int64_t size = batch.n;
  Value lead = n.sizeOf(batch.matrices, 0);
  Value order = n.expandTo(indexAlong(n, size, 1),
                           n.concat({lead, n.ints({size, 1})}, 0));
  Value sign = n.expandTo(n.like(batch.matrices, 1),
                          n.concat({lead, n.ints({1, 1})}, 0));
  auto result = repeat(
      n, size, {Imported(batch.matrices), Imported(order), Imported(sign)},
      [&](onnx::TensorBuilder &t, Value k,
          ArrayRef<Value> s) -> std::vector<Value> {
        Value m = s[0], rows = indexAlong(t, size, 1);
        Value columns = indexAlong(t, size, 2);
        Value column = t.op<AbsOp>(line(t, m, k, 2));
        column = t.select(t.compare("lt", rows, k), t.like(m, -1), column);
        Value pivot = t.op<ArgReduceOp>(
            column, t.flag(true), t.number(1), t.flag(true), t.flag(false),
            t.typeAttr(t.b.getI64Type())); // [batch, 1, 1]
        Value isPivot = t.compare("eq", rows, pivot),
              isK = t.compare("eq", rows, k);
        auto swap = [&](Value v) {
          Value atK = line(t, v, k, 1);
          Value atPivot = t.reduce(t.select(isPivot, v, t.like(v, 0)), "sum",
                                   {1}, true);
          return t.select(isK, atPivot, t.select(isPivot, atK, v));
        };
        m = swap(m);
        Value flipped = t.select(t.compare("eq", pivot, k), s[2],
                                 t.op<NegOp>(s[2]));
        Value head = line(t, line(t, m, k, 1), k, 2); // [batch, 1, 1]
        // A column of zeros needs no elimination (and must not divide).
        Value safe = t.select(t.compare("eq", head, 0), t.like(m, 1), head);
        Value below = t.compare("gt", rows, k);
        Value factors = t.select(below, t.div(line(t, m, k, 2), safe),
                                 t.like(m, 0)); // [batch, n, 1]
        Value right = t.compare("gt", columns, k);
        Value row = t.select(right, line(t, m, k, 1), t.like(m, 0));
        Value next = t.sub(m, t.mul(factors, row));
        Value isColumn = t.op<AndOp>(t.compare("eq", columns, k), below);
        next = t.select(isColumn, t.add(t.mul(next, 0.0), factors), next);
        return {next, swap(s[1]), flipped};
      });
  if (failed(result))
    return std::nullopt;
  return Elimination{(*result)[0].value, (*result)[1].value,
                     (*result)[2].value};
}

/// Solves T X = B for a triangular T, row by row.
static Value substitute(NodeImport &n, Value triangle, Value b, int64_t size,
                        bool lower, bool unitDiagonal) {
  if (!triangle || !b)
    return {};
  auto result = repeat(
      n, size, {Imported(b)},
      [&](onnx::TensorBuilder &t, Value step,
          ArrayRef<Value> s) -> std::vector<Value> {
        Value k = lower ? step
                        : t.sub(t.intScalar(size - 1), step);
        Value rows = indexAlong(t, size, 1);
        Value head = line(t, line(t, triangle, k, 1), k, 2);
        Value x = line(t, s[0], k, 1); // [batch, 1, m]
        if (!unitDiagonal)
          x = t.div(x, head);
        Value rest = t.compare(lower ? "gt" : "lt", rows, k);
        Value factors = t.select(rest, line(t, triangle, k, 2),
                                 t.like(triangle, 0));
        Value next = t.sub(s[0], t.mul(factors, x));
        Value isK = t.compare("eq", rows, k);
        return {t.select(isK, x, next)};
      });
  return failed(result) ? Value() : (*result)[0].value;
}

static Value identityLike(NodeImport &n, const Batch &batch) {
  Value on = n.compare("eq", indexAlong(n, batch.n, 1),
                       indexAlong(n, batch.n, 2));
  Value one = n.like(batch.matrices, 1), zero = n.like(batch.matrices, 0);
  return n.expandTo(n.select(on, one, zero), n.shapeOf(batch.matrices));
}

/// Ends the run if a matrix has no inverse, as TensorFlow does.
static void requireInvertible(NodeImport &n, Value lu, int64_t size) {
  if (!lu)
    return;
  Value on = n.compare("eq", indexAlong(n, size, 1), indexAlong(n, size, 2));
  Value zero = n.op<AndOp>(on, n.compare("eq", lu, 0));
  Value good = n.op<NotOp>(n.reduce(zero, "any", {0, 1, 2}, false));
  if (good)
    AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), good,
                     n.text("Input matrix is not invertible."), n.number(3),
                     ValueRange());
}

/// A⁻¹ B by elimination, B already in the order of A's rows.
static Value solveWith(NodeImport &n, const Batch &a, Value b) {
  auto lu = eliminate(n, a);
  if (!lu || !b)
    return {};
  requireInvertible(n, lu->lu, a.n);
  Value order = n.squeeze(lu->order, {2});
  Value permuted = n.op<GatherOp>(b, order, n.number(1), n.number(1),
                                  n.flag(false));
  Value y = substitute(n, lu->lu, permuted, a.n, true, true);
  return substitute(n, lu->lu, y, a.n, false, false);
}

static Value flip(NodeImport &n, Value x) {
  return n.transpose(x, {0, 2, 1});
}

static bool isSquare(NodeImport &n, const Batch &batch) {
  if (n.type(batch.matrices).getDimSize(2) == batch.n)
    return true;
  (void)n.invalid("found matrices that are not square");
  return false;
}

static LogicalResult matrixSolve(NodeImport &n) {
  auto a = flatten(n, n.in(0)), b = flatten(n, n.in(1));
  if (!a || !b || !isSquare(n, *a))
    return failure();
  if (n.isSet("adjoint"))
    a->matrices = flip(n, a->matrices);
  int64_t columns = n.type(b->matrices).getDimSize(2);
  return n.result(restore(n, *b, solveWith(n, *a, b->matrices),
                          {a->n, columns}));
}

static LogicalResult matrixInverse(NodeImport &n) {
  auto a = flatten(n, n.in(0));
  if (!a || !isSquare(n, *a))
    return failure();
  if (n.isSet("adjoint"))
    a->matrices = flip(n, a->matrices);
  return n.result(
      restore(n, *a, solveWith(n, *a, identityLike(n, *a)), {a->n, a->n}));
}

static LogicalResult triangularSolve(NodeImport &n) {
  auto a = flatten(n, n.in(0)), b = flatten(n, n.in(1));
  if (!a || !b || !isSquare(n, *a))
    return failure();
  if (n.rank(n.in(0)) != n.rank(n.in(1)))
    return n.unsupported("found batches that broadcast");
  bool lower = n.isSet("lower");
  if (n.isSet("adjoint")) {
    a->matrices = flip(n, a->matrices);
    lower = !lower;
  }
  int64_t columns = n.type(b->matrices).getDimSize(2);
  Value x = substitute(n, a->matrices, b->matrices, a->n, lower, false);
  return n.result(restore(n, *b, x, {a->n, columns}));
}

/// The diagonal of U, [batch, n].
static Value diagonalOf(NodeImport &n, Value lu, int64_t size) {
  Value on = n.compare("eq", indexAlong(n, size, 1), indexAlong(n, size, 2));
  return n.reduce(n.select(on, lu, n.like(lu, 0)), "sum", {2}, false);
}

static LogicalResult determinant(NodeImport &n) {
  auto a = flatten(n, n.in(0));
  if (!a || !isSquare(n, *a))
    return failure();
  auto lu = eliminate(n, *a);
  if (!lu)
    return failure();
  Value product = n.reduce(diagonalOf(n, lu->lu, a->n), "prod", {1}, false);
  Value value = n.mul(product, n.squeeze(lu->sign, {1, 2}));
  return n.result(restore(n, *a, value, {}));
}

static LogicalResult logDeterminant(NodeImport &n) {
  auto a = flatten(n, n.in(0));
  if (!a || !isSquare(n, *a))
    return failure();
  auto lu = eliminate(n, *a);
  if (!lu)
    return failure();
  Value diagonal = diagonalOf(n, lu->lu, a->n);
  Value sign = n.mul(n.reduce(n.op<SignOp>(diagonal), "prod", {1}, false),
                     n.squeeze(lu->sign, {1, 2}));
  Value logs = n.reduce(n.op<LogOp>(n.op<AbsOp>(diagonal)), "sum", {1}, false);
  return n.results({restore(n, *a, sign, {}), restore(n, *a, logs, {})});
}

static LogicalResult lu(NodeImport &n) {
  auto a = flatten(n, n.in(0));
  Type index = n.elementAttr("output_idx_type");
  if (!a || !isSquare(n, *a))
    return failure();
  auto parts = eliminate(n, *a);
  if (!parts)
    return failure();
  requireInvertible(n, parts->lu, a->n);
  Value order = n.cast(n.squeeze(parts->order, {2}), index);
  return n.results({restore(n, *a, parts->lu, {a->n, a->n}),
                    restore(n, *a, order, {a->n})});
}

static LogicalResult cholesky(NodeImport &n) {
  auto a = flatten(n, n.in(0));
  if (!a || !isSquare(n, *a))
    return failure();
  int64_t size = a->n;
  // Column k: divided by its head's root, then taken from those to the right.
  auto result = repeat(
      n, size, {Imported(a->matrices)},
      [&](onnx::TensorBuilder &t, Value k,
          ArrayRef<Value> s) -> std::vector<Value> {
        Value rows = indexAlong(t, size, 1), columns = indexAlong(t, size, 2);
        Value head = line(t, line(t, s[0], k, 1), k, 2);
        Value column = t.div(line(t, s[0], k, 2), t.sqrt(head));
        column = t.select(t.compare("ge", rows, k), column, t.like(s[0], 0));
        Value below = t.select(t.compare("gt", rows, k), column,
                               t.like(s[0], 0));
        Value next = t.sub(s[0],
                           t.mul(below, t.transpose(below, {0, 2, 1})));
        return {t.select(t.compare("eq", columns, k), column, next)};
      });
  if (failed(result))
    return failure();
  Value keep = n.compare("ge", indexAlong(n, size, 1), indexAlong(n, size, 2));
  Value lower = n.select(keep, (*result)[0].value, n.like(a->matrices, 0));
  return n.result(restore(n, *a, lower, {size, size}));
}

ArrayRef<OpImport> weir::tf::factorizationImports() {
  static const OpImport rows[] = {
      {"MatrixSolve", matrixSolve},
      {"BatchMatrixSolve", matrixSolve},
      {"MatrixInverse", matrixInverse},
      {"BatchMatrixInverse", matrixInverse},
      {"MatrixTriangularSolve", triangularSolve},
      {"BatchMatrixTriangularSolve", triangularSolve},
      {"MatrixDeterminant", determinant},
      {"BatchMatrixDeterminant", determinant},
      {"LogMatrixDeterminant", logDeterminant},
      {"Lu", lu},
      {"Cholesky", cholesky},
      {"BatchCholesky", cholesky},
  };
  return rows;
}
