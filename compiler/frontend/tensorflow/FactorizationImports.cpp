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

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// A size that is known, or that the program computes.
struct Extent {
  Value vector; ///< tensor<1xi64>
  Value scalar; ///< tensor<i64>
  int64_t known = 0;

  bool isOpen() const { return ShapedType::isDynamic(known); }
};

/// A batch of matrices as [batch, rows, columns], and the way back.
struct Batch {
  Value matrices;
  Value shape; ///< of the leading dimensions, tensor<? x i64>; null: none
  Extent n;    ///< rows
  Extent columns;
};

using State = std::vector<Imported>;

} // namespace

static Extent extentOf(NodeImport &n, Value x, int64_t dim) {
  Extent extent;
  extent.known = n.dim(x, dim);
  extent.vector = n.sizeOf(x, dim);
  extent.scalar = extent.isOpen() ? n.toScalar(extent.vector) : n.intScalar(extent.known);
  return extent;
}

static std::optional<Batch> flatten(NodeImport &n, Value x) {
  if (!x)
    return std::nullopt;
  int64_t rank = n.rank(x);
  if (rank < 2 || !isa<FloatType, ComplexType>(n.element(x))) {
    (void)n.unsupported("expected matrices of numbers, got a tensor of rank " + Twine(rank));
    return std::nullopt;
  }
  Batch batch;
  batch.n = extentOf(n, x, rank - 2);
  batch.columns = extentOf(n, x, rank - 1);
  if (rank > 2)
    batch.shape = n.shapeSlice(x, 0, rank - 2);
  Value leading = n.sizeProduct(x, 0, rank - 2);
  batch.matrices = n.reshapeTo(x, n.concat({leading, batch.n.vector, batch.columns.vector}, 0));
  return batch;
}

static Value restore(NodeImport &n, const Batch &batch, Value x, ArrayRef<Extent> tail) {
  if (!x)
    return {};
  SmallVector<Value> sizes = {batch.shape ? batch.shape : n.ints({})};
  for (const Extent &extent : tail)
    sizes.push_back(extent.vector);
  return n.reshapeTo(x, n.concat(sizes, 0));
}

/// for k in [0, count): state = step(k, state); `k` is a scalar i64.
static FailureOr<State>
repeat(NodeImport &n, const Extent &count, State state,
       llvm::function_ref<std::vector<Value>(TensorBuilder &, Value, ArrayRef<Value>)> step) {
  if (count.known == 0)
    return state;
  state.insert(state.begin(), Imported(n.intScalar(0)));
  auto results = n.g.buildWhile(
      std::move(state),
      [&](State s, OpBuilder &b) -> FailureOr<State> {
        TensorBuilder t(b, n.loc);
        return State{Imported(t.compare("lt", s[0].value, count.scalar))};
      },
      [&](State s, OpBuilder &b) -> FailureOr<State> {
        TensorBuilder t(b, n.loc);
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

static bool isComplex(Value x) { return isa<ComplexType>(TensorBuilder::element(x)); }

static Value magnitude(TensorBuilder &t, Value x) {
  return !x || !isComplex(x) ? t.op<AbsOp>(x) : t.op<ComplexAbsOp>(x);
}

static Value conjugate(TensorBuilder &t, Value x) {
  return x && isComplex(x) ? t.op<ConjOp>(x) : x;
}

/// 0, 1, … as [1, size, 1] or [1, 1, size].
static Value indexAlong(TensorBuilder &t, const Extent &size, int64_t axis) {
  Value all = t.op<IotaOp>(size.vector, t.number(0), t.typeAttr(t.b.getI64Type()));
  return t.unsqueeze(all, axis == 1 ? Ints{0, 2} : Ints{0, 1});
}

/// One row (axis 1) or column (axis 2) of each matrix, the dimension kept.
static Value line(TensorBuilder &t, Value m, Value k, int64_t axis) {
  return t.unsqueeze(t.op<GatherOp>(m, k, t.number(axis), t.number(0), t.flag(false)), {axis});
}

namespace {
/// L below the diagonal (its own is 1), U on and above it; `order[i]` is the
/// row that came to i; `sign` of the permutation, [batch, 1, 1].
struct Elimination {
  Value lu, order, sign;
};
} // namespace

static std::optional<Elimination> eliminate(NodeImport &n, const Batch &batch) {
  const Extent &size = batch.n;
  Value lead = n.sizeOf(batch.matrices, 0);
  Value order = n.expandTo(indexAlong(n, size, 1), n.concat({lead, size.vector, n.ints({1})}, 0));
  Value sign = n.expandTo(n.like(batch.matrices, 1), n.concat({lead, n.ints({1, 1})}, 0));
  auto result =
      repeat(n, size, {Imported(batch.matrices), Imported(order), Imported(sign)},
             [&](TensorBuilder &t, Value k, ArrayRef<Value> s) -> std::vector<Value> {
               Value m = s[0], rows = indexAlong(t, size, 1);
               Value columns = indexAlong(t, size, 2);
               Value column = magnitude(t, line(t, m, k, 2));
               column = t.select(t.compare("lt", rows, k), t.like(column, -1), column);
               Value pivot =
                   t.op<ArgReduceOp>(column, t.flag(true), t.number(1), t.flag(true), t.flag(false),
                                     t.typeAttr(t.b.getI64Type())); // [batch, 1, 1]
               Value isPivot = t.compare("eq", rows, pivot), isK = t.compare("eq", rows, k);
               auto swap = [&](Value v) {
                 Value atK = line(t, v, k, 1);
                 Value atPivot = t.reduce(t.select(isPivot, v, t.like(v, 0)), "sum", {1}, true);
                 return t.select(isK, atPivot, t.select(isPivot, atK, v));
               };
               m = swap(m);
               Value flipped = t.select(t.compare("eq", pivot, k), s[2], t.op<NegOp>(s[2]));
               Value head = line(t, line(t, m, k, 1), k, 2); // [batch, 1, 1]
               // A column of zeros needs no elimination (and must not divide).
               Value safe = t.select(t.compare("eq", head, 0), t.like(m, 1), head);
               Value below = t.compare("gt", rows, k);
               // Chosen, not multiplied by zero: rows that are done keep infinities of others away.
               Value factors = t.div(line(t, m, k, 2), safe); // [batch, n, 1]
               Value rest = t.op<AndOp>(t.compare("gt", columns, k), below);
               Value next = t.select(rest, t.sub(m, t.mul(factors, line(t, m, k, 1))), m);
               Value isColumn = t.op<AndOp>(t.compare("eq", columns, k), below);
               next = t.select(isColumn, factors, next);
               return {next, swap(s[1]), flipped};
             });
  if (failed(result))
    return std::nullopt;
  return Elimination{(*result)[0].value, (*result)[1].value, (*result)[2].value};
}

/// Solves T X = B for a triangular T, row by row.
static Value substitute(NodeImport &n, Value triangle, Value b, const Extent &size, bool lower,
                        bool unitDiagonal) {
  if (!triangle || !b)
    return {};
  auto result = repeat(n, size, {Imported(b)},
                       [&](TensorBuilder &t, Value step, ArrayRef<Value> s) -> std::vector<Value> {
                         Value k = lower ? step : t.sub(t.sub(size.scalar, 1.0), step);
                         Value rows = indexAlong(t, size, 1);
                         Value head = line(t, line(t, triangle, k, 1), k, 2);
                         Value x = line(t, s[0], k, 1); // [batch, 1, m]
                         if (!unitDiagonal)
                           x = t.div(x, head);
                         Value rest = t.compare(lower ? "gt" : "lt", rows, k);
                         Value factors = line(t, triangle, k, 2);
                         Value next = t.select(rest, t.sub(s[0], t.mul(factors, x)), s[0]);
                         Value isK = t.compare("eq", rows, k);
                         return {t.select(isK, x, next)};
                       });
  return failed(result) ? Value() : (*result)[0].value;
}

static Value identityLike(NodeImport &n, const Batch &batch) {
  Value on = n.compare("eq", indexAlong(n, batch.n, 1), indexAlong(n, batch.n, 2));
  Value one = n.like(batch.matrices, 1), zero = n.like(batch.matrices, 0);
  return n.expandTo(n.select(on, one, zero), n.shapeOf(batch.matrices));
}

/// Ends the run if a matrix has no inverse, as TensorFlow does.
static void requireInvertible(NodeImport &n, Value lu, const Extent &size) {
  if (!lu)
    return;
  Value on = n.compare("eq", indexAlong(n, size, 1), indexAlong(n, size, 2));
  Value zero = n.op<AndOp>(on, n.compare("eq", lu, 0));
  require(n, n.op<NotOp>(n.reduce(zero, "any", {0, 1, 2}, false)),
          "Input matrix is not invertible.");
}

/// A⁻¹ B by elimination, B already in the order of A's rows.
static Value solveWith(NodeImport &n, const Batch &a, Value b) {
  auto lu = eliminate(n, a);
  if (!lu || !b)
    return {};
  requireInvertible(n, lu->lu, a.n);
  Value order = n.squeeze(lu->order, {2});
  Value permuted = n.op<GatherOp>(b, order, n.number(1), n.number(1), n.flag(false));
  Value y = substitute(n, lu->lu, permuted, a.n, true, true);
  return substitute(n, lu->lu, y, a.n, false, false);
}

static Value flip(NodeImport &n, Value x) { return n.transpose(x, {0, 2, 1}); }

static Value adjoint(NodeImport &n, Value x) { return flip(n, conjugate(n, x)); }

static bool isSquare(NodeImport &n, const Batch &batch) {
  if (batch.columns.known == batch.n.known && !batch.n.isOpen())
    return true;
  if (batch.columns.isOpen() || batch.n.isOpen()) {
    require(n, n.compare("eq", batch.n.scalar, batch.columns.scalar), "a matrix is not square");
    return true;
  }
  (void)n.invalid("found matrices that are not square");
  return false;
}

static LogicalResult matrixSolve(NodeImport &n) {
  auto a = flatten(n, n.in(0)), b = flatten(n, n.in(1));
  if (!a || !b || !isSquare(n, *a))
    return failure();
  int64_t rank = n.rank(n.in(0));
  if (n.rank(n.in(1)) != rank)
    return n.invalid("expected operands of one rank, got " + Twine(rank) + " and " +
                     Twine(n.rank(n.in(1))));
  if (failed(requireSame(n, n.in(0), n.in(1), "batches and rows", 0, rank - 1)))
    return failure();
  if (n.isSet("adjoint"))
    a->matrices = adjoint(n, a->matrices);
  return n.result(restore(n, *b, solveWith(n, *a, b->matrices), {a->n, b->columns}));
}

static LogicalResult matrixInverse(NodeImport &n) {
  auto a = flatten(n, n.in(0));
  if (!a || !isSquare(n, *a))
    return failure();
  if (n.isSet("adjoint"))
    a->matrices = adjoint(n, a->matrices);
  return n.result(restore(n, *a, solveWith(n, *a, identityLike(n, *a)), {a->n, a->n}));
}

/// The two with leading dimensions that are broadcast to each other.
static std::pair<Value, Value> broadcastBatches(NodeImport &n, Value a, Value b) {
  if (!a || !b || n.rank(a) < 2 || n.rank(b) < 2)
    return {a, b};
  int64_t rank = std::max(n.rank(a), n.rank(b));
  if (n.rank(a) == n.rank(b) && n.sizes(a).drop_back(2) == n.sizes(b).drop_back(2) &&
      !llvm::is_contained(n.sizes(a).drop_back(2), ShapedType::kDynamic))
    return {a, b};
  auto corner = [&](Value v) {
    return n.slice(n.slice(v, n.rank(v) - 1, 0, 1), n.rank(v) - 2, 0, 1);
  };
  Value both = n.add(corner(a), corner(b));
  Value leading = n.shapeSlice(both, 0, rank - 2);
  auto spread = [&](Value v) {
    return n.expandTo(v, n.concat({leading, n.shapeSlice(v, n.rank(v) - 2, n.rank(v))}, 0));
  };
  return {spread(a), spread(b)};
}

static LogicalResult triangularSolve(NodeImport &n) {
  auto [left, right] = broadcastBatches(n, n.in(0), n.in(1));
  auto a = flatten(n, left), b = flatten(n, right);
  if (!a || !b || !isSquare(n, *a))
    return failure();
  bool lower = n.isSet("lower");
  if (n.isSet("adjoint")) {
    a->matrices = adjoint(n, a->matrices);
    lower = !lower;
  }
  Value x = substitute(n, a->matrices, b->matrices, a->n, lower, false);
  return n.result(restore(n, *b, x, {a->n, b->columns}));
}

/// The diagonal of U, [batch, n].
static Value diagonalOf(NodeImport &n, Value lu, const Extent &size) {
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
  Value sign =
      n.mul(n.reduce(n.op<SignOp>(diagonal), "prod", {1}, false), n.squeeze(lu->sign, {1, 2}));
  Value logs = n.reduce(n.op<LogOp>(magnitude(n, diagonal)), "sum", {1}, false);
  logs = n.cast(logs, n.element(a->matrices));
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
  return n.results({restore(n, *a, parts->lu, {a->n, a->n}), restore(n, *a, order, {a->n})});
}

static LogicalResult cholesky(NodeImport &n) {
  auto a = flatten(n, n.in(0));
  if (!a || !isSquare(n, *a))
    return failure();
  const Extent &size = a->n;
  // Column k: divided by its head's root, then taken from those to the right.
  auto result = repeat(n, size, {Imported(a->matrices)},
                       [&](TensorBuilder &t, Value k, ArrayRef<Value> s) -> std::vector<Value> {
                         Value rows = indexAlong(t, size, 1), columns = indexAlong(t, size, 2);
                         Value head = line(t, line(t, s[0], k, 1), k, 2);
                         // A Hermitian matrix has a real diagonal, whatever is written there.
                         if (head && isComplex(head))
                           head = t.cast(t.op<RealOp>(head), t.element(head));
                         Value root = t.sqrt(head);
                         Value column = t.div(line(t, s[0], k, 2), root);
                         column = t.select(t.compare("ge", rows, k), column, t.like(s[0], 0));
                         // Not by division: an infinity's would be NaN, and that of a zero.
                         column = t.select(t.compare("eq", rows, k), root, column);
                         Value below = t.select(t.compare("gt", rows, k), column, t.like(s[0], 0));
                         Value next =
                             t.sub(s[0], t.mul(below, t.transpose(conjugate(t, below), {0, 2, 1})));
                         return {t.select(t.compare("eq", columns, k), column, next)};
                       });
  if (failed(result))
    return failure();
  Value keep = n.compare("ge", indexAlong(n, size, 1), indexAlong(n, size, 2));
  Value lower = n.select(keep, (*result)[0].value, n.like(a->matrices, 0));
  // A matrix that is not positive definite has nothing but NaN, of complex numbers nothing but
  // zeros, as TensorFlow has it. There a NaN as a pivot is none of the signs.
  Value diagonal = diagonalOf(n, lower, size);
  const bool isComplexMatrix = diagonal && isComplex(diagonal);
  if (isComplexMatrix)
    diagonal = n.op<RealOp>(diagonal);
  const double spoilt = isComplexMatrix ? 0 : std::numeric_limits<double>::quiet_NaN();
  Value bad = isComplexMatrix
                  ? n.reduce(n.compare("le", diagonal, 0), "any", {1}, false)
                  : n.op<NotOp>(n.reduce(n.compare("gt", diagonal, 0), "all", {1}, false));
  Value isSpoilt = n.op<AndOp>(n.unsqueeze(bad, {1, 2}), keep);
  lower = n.select(isSpoilt, n.like(lower, spoilt), lower);
  return n.result(restore(n, *a, lower, {size, size}));
}

/// The gradient by A = L L* (Murray, "Differentiation of the Cholesky
/// decomposition", 2016): L^-T Φ(L^T grad) L^-1, made symmetric. Φ takes the
/// lower half, and half of the diagonal.
static LogicalResult choleskyGrad(NodeImport &n) {
  if (failed(requireSame(n, n.in(0), n.in(1), "the factor and its gradient")))
    return failure();
  auto l = flatten(n, n.in(0)), grad = flatten(n, n.in(1));
  if (!l || !grad || !isSquare(n, *l))
    return failure();
  const Extent &size = l->n;
  Value rows = indexAlong(n, size, 1), columns = indexAlong(n, size, 2);
  Value zero = n.like(l->matrices, 0);
  auto lowerHalf = [&](Value x) { return n.select(n.compare("ge", rows, columns), x, zero); };
  Value lower = lowerHalf(l->matrices);
  Value product = n.matmul(flip(n, lower), lowerHalf(grad->matrices));
  Value half = n.select(n.compare("eq", rows, columns), n.mul(product, 0.5), lowerHalf(product));
  Value transposed = flip(n, lower);
  Value left = substitute(n, transposed, half, size, false, false);
  Value both = substitute(n, transposed, flip(n, left), size, false, false);
  Value symmetric = n.mul(n.add(both, flip(n, both)), 0.5);
  return n.result(restore(n, *l, symmetric, {size, size}));
}

/// x with A x nearest to b where rows are no fewer than columns; else the shortest x with
/// A x = b. `regularizer` is added to the diagonal of the smaller of A*A and AA*.
static Value normalEquations(NodeImport &n, const Batch &a, Value b, Value regularizer) {
  Value m = a.matrices, turned = adjoint(n, m);
  Value weight = n.cast(n.toScalar(regularizer), n.element(m));
  auto solve = [&](bool tall) -> FailureOr<frontend::Values> {
    Batch gram;
    gram.n = gram.columns = tall ? a.columns : a.n;
    gram.matrices = tall ? n.matmul(turned, m) : n.matmul(m, turned);
    gram.matrices = n.add(gram.matrices, n.mul(identityLike(n, gram), weight));
    return frontend::Values{tall ? solveWith(n, gram, n.matmul(turned, b))
                                 : n.matmul(turned, solveWith(n, gram, b))};
  };
  FailureOr<frontend::Values> made =
      a.n.isOpen() || a.columns.isOpen()
          ? frontend::buildIf(
                n, n.compare("ge", a.n.scalar, a.columns.scalar), [&] { return solve(true); },
                [&] { return solve(false); })
          : solve(a.n.known >= a.columns.known);
  return failed(made) ? Value() : made->front();
}

/// By singular values, those that rounding may have made counting as zero: of all x with A x
/// nearest to b the shortest.
static Value shortestSolution(NodeImport &n, const Batch &a, Value b) {
  Value m = a.matrices;
  Type element = n.element(m);
  bool isOpen = a.n.isOpen() || a.columns.isOpen();
  int64_t rows = a.n.known, columns = a.columns.known;
  int64_t least = isOpen ? ShapedType::kDynamic : std::min(rows, columns);
  auto like = [&](Ints sizes) {
    IntVector shape = {n.dim(m, 0)};
    shape.append(sizes.begin(), sizes.end());
    return RankedTensorType::get(shape, element);
  };
  Operation *parts = n.kernelCall(
      "weir_kernel_svd", {like({least}), like({rows, least}), like({columns, least})}, {m}, {0});
  if (!parts)
    return {};
  Value values = parts->getResult(0);
  Value sizes = isComplex(values) ? n.op<RealOp>(values) : values;
  bool isDouble = n.element(sizes).isF64();
  Value longest = n.cast(n.maximum(a.n.scalar, a.columns.scalar), n.element(sizes));
  Value epsilon = n.mul(longest, isDouble ? 0x1p-52 : 0x1p-23);
  Value largest = n.reduce(sizes, "max", {1}, true);
  Value counts = n.compare("gt", sizes, n.mul(largest, epsilon));
  Value inverse = n.select(counts, n.div(n.like(sizes, 1), sizes), n.like(sizes, 0));
  Value inner = n.matmul(adjoint(n, parts->getResult(1)), b);
  inner = n.mul(inner, n.unsqueeze(n.cast(inverse, element), {2}));
  return n.matmul(parts->getResult(2), inner);
}

static LogicalResult leastSquares(NodeImport &n) {
  auto a = flatten(n, n.in(0)), b = flatten(n, n.in(1));
  Value regularizer = n.in(2);
  if (!a || !b || !regularizer)
    return failure();
  if (n.rank(n.in(0)) != n.rank(n.in(1)))
    return n.invalid("expected operands of one rank, got " + Twine(n.rank(n.in(0))) + " and " +
                     Twine(n.rank(n.in(1))));
  if (failed(requireSame(n, n.in(0), n.in(1), "batches and rows", 0, n.rank(n.in(0)) - 1)))
    return failure();
  SmallVector<Extent> tail = {a->columns, b->columns};
  if (a->n.known == 0 || a->columns.known == 0) {
    Value shape = n.concat({n.sizeOf(a->matrices, 0), a->columns.vector, b->columns.vector}, 0);
    return n.result(restore(n, *b, n.expandTo(n.like(a->matrices, 0), shape), tail));
  }
  Value x = n.isSet("fast") ? normalEquations(n, *a, b->matrices, regularizer)
                            : shortestSolution(n, *a, b->matrices);
  return n.result(restore(n, *b, x, tail));
}

/// The matrix of a lower triangle's diagonals, the main one first; of an upper
/// one's, the main one last. Each has room for a whole row.
static LogicalResult bandedSolve(NodeImport &n) {
  if (failed(requireElements(n, n.in(0), "diagonals")) ||
      failed(requireElements(n, n.in(1), "right-hand sides")))
    return failure();
  auto [left, right] = broadcastBatches(n, n.in(0), n.in(1));
  auto bands = flatten(n, left), b = flatten(n, right);
  if (!bands || !b)
    return failure();
  require(n, n.compare("eq", n.sizeOf(left, n.rank(left) - 1), n.sizeOf(right, n.rank(right) - 2)),
          "diagonals and right-hand sides have different numbers of rows");
  if (bands->n.isOpen())
    return n.unsupported("found an unknown number of diagonals");
  int64_t count = bands->n.known;
  const Extent &size = bands->columns;
  constexpr int64_t mostBands = 1024; // each is written out
  if (count > mostBands)
    return n.unsupported("expected at most " + Twine(mostBands) + " diagonals, got " +
                         Twine(count));
  bool lower = n.isSet("lower");
  Value rows = indexAlong(n, size, 1), columns = indexAlong(n, size, 2);
  Batch triangle;
  triangle.n = triangle.columns = size;
  for (int64_t k = 0; k < count; ++k) {
    int64_t band = lower ? k : count - 1 - k;
    Value line = flip(n, n.slice(bands->matrices, 1, band, band + 1));
    Value on = n.compare("eq", columns, lower ? n.sub(rows, double(k)) : n.add(rows, double(k)));
    Value part = n.select(on, line, n.like(line, 0));
    triangle.matrices = triangle.matrices ? n.add(triangle.matrices, part) : part;
  }
  if (n.isSet("adjoint")) {
    triangle.matrices = adjoint(n, triangle.matrices);
    lower = !lower;
  }
  Value x = substitute(n, triangle.matrices, b->matrices, size, lower, false);
  return n.result(restore(n, *b, x, {size, b->columns}));
}

/// Three diagonals, those that lie above, on and below the main one in rows.
static LogicalResult tridiagonalSolve(NodeImport &n) {
  Value diagonals = n.in(0), right = n.in(1);
  if (!diagonals || !right)
    return failure();
  if (n.rank(diagonals) < 2 || n.rank(diagonals) != n.rank(right))
    return n.invalid("expected matrices, as many of either, got operands of rank " +
                     Twine(n.rank(diagonals)) + " and " + Twine(n.rank(right)));
  if (n.isSet("perturb_singular"))
    return n.unsupported("found perturb_singular");
  const AttrValue *pivots = n.attr("partial_pivoting");
  Operation *call = n.kernelCall("weir_kernel_tridiagonal_solve", right.getType(),
                                 {diagonals, right}, {!pivots || pivots->b});
  return call ? n.result(call->getResult(0)) : failure();
}

/// Each row of three diagonals times the rows around. The ends of the outer diagonals, which
/// have no row, are not read: zero times NaN would be seen.
static LogicalResult tridiagonalMatMul(NodeImport &n) {
  Value above = n.in(0), main = n.in(1), below = n.in(2), x = n.in(3);
  if (!above || !main || !below || !x)
    return failure();
  int64_t rank = n.rank(x), rows = rank - 2;
  if (rank < 2 || n.rank(main) != rank)
    return n.invalid("found tensors of different rank");
  Value shape = n.concat({n.shapeSlice(x, 0, rows), n.ints({1}), n.sizeOf(x, rows)}, 0);
  for (Value diagonal : {above, main, below})
    if (failed(requireShape(n, diagonal, shape, "diagonals")))
      return failure();
  IntVector order = axesFrom(0, rank);
  std::swap(order[rank - 1], order[rank - 2]);
  constexpr int64_t end = std::numeric_limits<int64_t>::max();
  auto along = [&](Value diagonal, int64_t from, int64_t to) {
    return n.slice(n.transpose(diagonal, order), rows, from, to);
  };
  Value zero = n.expandTo(n.like(x, 0), n.shapeOf(n.slice(x, rows, 0, 1)));
  Value upper = n.mul(along(above, 0, -1), n.slice(x, rows, 1, end));
  Value lower = n.mul(along(below, 1, end), n.slice(x, rows, 0, -1));
  Value sum = n.add(n.mul(along(main, 0, end), x), n.concat({upper, zero}, rows));
  return n.result(n.add(sum, n.concat({zero, lower}, rows)));
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
      {"CholeskyGrad", choleskyGrad},
      {"BatchCholeskyGrad", choleskyGrad},
      {"MatrixSolveLs", leastSquares},
      {"BatchMatrixSolveLs", leastSquares},
      {"BandedTriangularSolve", bandedSolve},
      {"TridiagonalMatMul", tridiagonalMatMul},
      {"TridiagonalSolve", tridiagonalSolve},
  };
  return rows;
}
