//===- MatrixGradients.cpp - gradients of matrices and complex numbers ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factorizations as in Giles, "Collected matrix derivative results for forward
// and reverse mode algorithmic differentiation", 2008. A gradient by a complex
// number is the gradient times the conjugate of the derivative.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/tensorflow/RegisteredGradients.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

using Gradients = SmallVector<Value>;

static bool isComplex(Value v) { return v && isa<ComplexType>(getElementTypeOrSelf(v.getType())); }
static Value conj(NodeImport &n, Value v) { return isComplex(v) ? n.op<ConjOp>(v) : v; }

static Value transposed(NodeImport &n, Value v) {
  if (!v)
    return {};
  IntVector order = axesFrom(0, n.rank(v));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return n.transpose(v, order);
}
static Value adjoint(NodeImport &n, Value v) { return conj(n, transposed(n, v)); }

static std::vector<Attr> flags(std::initializer_list<std::pair<const char *, bool>> values) {
  std::vector<Attr> attrs;
  for (auto [name, value] : values) {
    AttrValue attr;
    attr.kind = AttrValue::Kind::Bool;
    attr.b = value;
    attrs.emplace_back(name, attr);
  }
  return attrs;
}

/// Row minus column of each place of a matrix like `v`, i64: [rows, columns].
static Value places(NodeImport &n, Value v) {
  int64_t rank = n.rank(v);
  Type i64 = n.b.getI64Type();
  Value rows = n.op<IotaOp>(n.sizeOf(v, rank - 2), n.number(0), n.typeAttr(i64));
  Value columns = n.op<IotaOp>(n.sizeOf(v, rank - 1), n.number(0), n.typeAttr(i64));
  return n.sub(n.unsqueeze(rows, {1}), columns);
}

/// The lower triangle, its diagonal counted `diagonal` times.
static Value lower(NodeImport &n, Value v, double diagonal) {
  Value at = places(n, v), zero = n.like(v, 0);
  Value onDiagonal = diagonal == 1 ? v : n.mul(v, diagonal);
  return n.select(n.compare("gt", at, 0), v, n.select(n.compare("eq", at, 0), onDiagonal, zero));
}

static Value identityLike(NodeImport &n, Value v) {
  Value unit = n.cast(n.compare("eq", places(n, v), 0), n.element(v));
  return n.expandTo(unit, n.shapeOf(v));
}

/// A matrix with `d` on its diagonal.
static Value diagonal(NodeImport &n, Value d, Value like) {
  return n.mul(n.unsqueeze(d, {n.rank(d)}), identityLike(n, like));
}

static Gradients choleskyGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value l = d.y[0];
  Value inverse = d.call("MatrixTriangularSolve", {l, identityLike(n, l)}, 0,
                         flags({{"lower", true}, {"adjoint", false}}));
  Value middle = lower(n, n.matmul(adjoint(n, l), d.dy[0]), 0.5);
  Value dx = n.matmul(n.matmul(adjoint(n, inverse), middle), inverse);
  return {n.mul(n.add(dx, adjoint(n, dx)), 0.5)};
}

static Gradients inverseGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value inverse = d.y[0], dy = d.dy[0];
  Value dx = n.isSet("adjoint") ? n.matmul(inverse, n.matmul(adjoint(n, dy), inverse))
                                : n.matmul(adjoint(n, inverse), n.matmul(dy, adjoint(n, inverse)));
  return {n.op<NegOp>(dx)};
}

static Gradients determinantGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  bool isLog = n.node.op == "LogMatrixDeterminant";
  Value by = isLog ? d.dy[1] : n.mul(d.dy[0], conj(n, d.y[0]));
  Value inverse = d.call("MatrixInverse", {d.x[0]}, 0, flags({{"adjoint", true}}));
  int64_t rank = n.rank(by);
  return {n.mul(n.unsqueeze(by, {rank, rank + 1}), inverse)};
}

static Gradients solveGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  bool isAdjoint = n.isSet("adjoint");
  Value byRight = d.call("MatrixSolve", {d.x[0], d.dy[0]}, 0, flags({{"adjoint", !isAdjoint}}));
  Value byMatrix =
      isAdjoint ? n.matmul(d.y[0], adjoint(n, byRight)) : n.matmul(byRight, adjoint(n, d.y[0]));
  return {n.op<NegOp>(byMatrix), byRight};
}

static Gradients triangularSolveGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value a = d.x[0], b = d.x[1];
  // Where batches broadcast, sums go back over them.
  if (!n.isStatic(a) || !n.isStatic(b) || n.sizes(a).drop_back(2) != n.sizes(b).drop_back(2))
    return {};
  bool isAdjoint = n.isSet("adjoint");
  Value byRight =
      d.call("MatrixTriangularSolve", {a, d.dy[0]}, 0, flags({{"adjoint", !isAdjoint}}));
  Value byMatrix = n.op<NegOp>(isAdjoint ? n.matmul(d.y[0], adjoint(n, byRight))
                                         : n.matmul(byRight, adjoint(n, d.y[0])));
  Value at = places(n, a);
  Value isInside = n.isSet("lower") ? n.compare("ge", at, 0) : n.compare("le", at, 0);
  return {n.select(isInside, byMatrix, n.like(byMatrix, 0)), byRight};
}

/// Of the normal equations; weir's own where there are none.
static Gradients leastSquaresGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  if (!n.isSet("fast"))
    return {};
  Value a = d.x[0], b = d.x[1], x = d.y[0], dy = d.dy[0];
  Value weight = n.cast(n.toScalar(d.x[2]), n.element(a));
  // With M the matrix that is solved with: x = M⁻¹A*b of tall A, and x = A*M⁻¹b of others.
  auto gradients = [&](bool tall) -> FailureOr<frontend::Values> {
    Value gram = tall ? n.matmul(adjoint(n, a), a) : n.matmul(a, adjoint(n, a));
    Value isDiagonal = n.compare("eq", places(n, gram), 0);
    gram = n.select(isDiagonal, n.add(gram, weight), gram);
    auto solve = [&](Value rhs) { return d.call("MatrixSolve", {gram, rhs}); };
    if (tall) {
      Value z = solve(dy), byRight = n.matmul(a, z);
      Value rest = n.sub(b, n.matmul(a, x));
      return frontend::Values{
          n.sub(n.matmul(rest, adjoint(n, z)), n.matmul(byRight, adjoint(n, x))), byRight};
    }
    Value byRight = solve(n.matmul(a, dy)), y = solve(b);
    Value rest = n.sub(dy, n.matmul(adjoint(n, a), byRight));
    return frontend::Values{n.sub(n.matmul(y, adjoint(n, rest)), n.matmul(byRight, adjoint(n, x))),
                            byRight};
  };
  int64_t rank = n.rank(a), rows = n.dim(a, rank - 2), columns = n.dim(a, rank - 1);
  FailureOr<frontend::Values> made = failure();
  if (!ShapedType::isDynamic(rows) && !ShapedType::isDynamic(columns)) {
    made = gradients(rows >= columns);
  } else {
    Value tall =
        n.compare("ge", n.toScalar(n.sizeOf(a, rank - 2)), n.toScalar(n.sizeOf(a, rank - 1)));
    made = frontend::buildIf(
        n, tall, [&] { return gradients(true); }, [&] { return gradients(false); });
  }
  if (failed(made))
    return {};
  return {(*made)[0], (*made)[1]};
}

/// Eigenvectors of equal eigenvalues have no derivative: TensorFlow's term is
/// kept finite there.
static Gradients eigenGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  bool hasVectors = n.isSet("compute_v");
  Value v =
      hasVectors ? d.y[1] : d.call("SelfAdjointEigV2", {d.x[0]}, 1, flags({{"compute_v", true}}));
  Value inner = diagonal(n, n.cast(d.dy[0], n.element(v)), v);
  if (hasVectors) {
    Value e = d.y[0];
    int64_t rank = n.rank(e);
    Value gap = n.sub(n.unsqueeze(e, {rank - 1}), n.unsqueeze(e, {rank}));
    Value f = n.div(gap, n.add(n.mul(gap, gap), 1e-20));
    f = n.select(n.compare("eq", places(n, v), 0), n.like(f, 0), f);
    inner = n.add(inner, n.mul(n.cast(f, n.element(v)), n.matmul(adjoint(n, v), d.dy[1])));
  }
  Value dx = n.matmul(v, n.matmul(inner, adjoint(n, v)));
  return {lower(n, n.add(dx, adjoint(n, dx)), 0.5)};
}

/// Of singular values alone.
static Gradients svdGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  if (n.isSet("compute_uv"))
    return {};
  auto attrs = flags({{"compute_uv", true}, {"full_matrices", false}});
  Value u = d.call("Svd", {d.x[0]}, 1, attrs), v = d.call("Svd", {d.x[0]}, 2, attrs);
  Value s = n.cast(d.dy[0], n.element(u));
  return {n.matmul(n.mul(u, s ? n.unsqueeze(s, {n.rank(s) - 1}) : Value()), adjoint(n, v))};
}

static Gradients qrGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  Value q = d.y[0], r = d.y[1], dq = d.dy[0], dr = d.dy[1];
  int64_t rank = n.rank(q), rows = n.dim(q, rank - 2), columns = n.dim(r, rank - 1),
          inner = n.dim(q, rank - 1);
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(columns) || isComplex(q) ||
      (rows > columns && inner == rows))
    return {};
  // x r^-H for an upper triangular r.
  auto divided = [&](Value x, Value by) {
    return adjoint(n, d.call("MatrixTriangularSolve", {by, adjoint(n, x)}, 0,
                             flags({{"lower", false}, {"adjoint", false}})));
  };
  auto square = [&](Value by, Value byQ, Value byR) {
    Value qdq = n.matmul(adjoint(n, q), byQ), rdr = n.matmul(by, adjoint(n, byR));
    Value skew = n.add(n.sub(qdq, adjoint(n, qdq)), n.sub(rdr, adjoint(n, rdr)));
    Value first = n.matmul(q, n.add(byR, divided(lower(n, skew, 1), by)));
    return n.add(first, divided(n.sub(byQ, n.matmul(q, qdq)), by));
  };
  if (rows >= columns)
    return {square(r, dq, dr)};
  auto split = [&](Value v, bool isLeft) {
    return isLeft ? n.slice(v, rank - 1, 0, rows) : n.slice(v, rank - 1, rows, columns);
  };
  Value rest = split(dr, false);
  Value left = square(split(r, true), n.add(dq, n.matmul(split(d.x[0], false), adjoint(n, rest))),
                      split(dr, true));
  return {n.concat({left, n.matmul(q, rest)}, rank - 1)};
}

//===----------------------------------------------------------------------===//
// Complex numbers
//===----------------------------------------------------------------------===//

static Value asComplex(NodeImport &n, Value real) {
  return real ? n.op<ComplexOp>(real, n.expandTo(n.like(real, 0), n.shapeOf(real))) : Value();
}

static Gradients magnitudeGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  if (!isComplex(d.x[0]))
    return {};
  return {d.call("DivNoNan", {n.mul(asComplex(n, d.dy[0]), d.x[0]), asComplex(n, d.y[0])})};
}

static Gradients angleGradient(const Differentiated &d) {
  NodeImport &n = d.n;
  if (!isComplex(d.x[0]))
    return {};
  Value turned = n.op<ComplexOp>(n.op<ImagOp>(d.x[0]), n.op<RealOp>(d.x[0]));
  return {n.op<NegOp>(n.div(asComplex(n, d.dy[0]), turned))};
}

/// The derivative of a function of one complex number.
static Value slopeOf(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], y = d.y[0], one = n.like(x, 1);
  std::string_view op = n.node.op;
  auto inverseRoot = [&](Value v) { return n.div(one, d.call("Sqrt", {v})); };
  auto inverse = [&](Value v) { return n.div(one, v); };
  Value square = n.mul(x, x);
  if (op == "Exp")
    return y;
  if (op == "Expm1")
    return d.call("Exp", {x});
  if (op == "Log")
    return inverse(x);
  if (op == "Log1p")
    return inverse(n.add(one, x));
  if (op == "Sin")
    return d.call("Cos", {x});
  if (op == "Cos")
    return n.op<NegOp>(d.call("Sin", {x}));
  if (op == "Tan") {
    Value secant = inverse(d.call("Cos", {x}));
    return n.mul(secant, secant);
  }
  if (op == "Sinh")
    return d.call("Cosh", {x});
  if (op == "Cosh")
    return d.call("Sinh", {x});
  if (op == "Tanh")
    return n.sub(one, n.mul(y, y));
  if (op == "Sigmoid")
    return n.mul(y, n.sub(one, y));
  if (op == "Sqrt")
    return n.div(n.like(x, 0.5), y);
  if (op == "Rsqrt")
    return n.mul(n.mul(n.mul(y, y), y), -0.5);
  if (op == "Asin")
    return inverseRoot(n.sub(one, square));
  if (op == "Acos")
    return n.op<NegOp>(inverseRoot(n.sub(one, square)));
  if (op == "Atan")
    return inverse(n.add(one, square));
  if (op == "Asinh")
    return inverse(d.call("Cosh", {y}));
  if (op == "Acosh")
    return inverse(d.call("Sinh", {y}));
  return inverse(n.sub(one, square)); // Atanh
}

static Gradients complexGradient(const Differentiated &d) {
  if (!isComplex(d.x[0]))
    return {};
  return {d.n.mul(d.dy[0], conj(d.n, slopeOf(d)))};
}

static Gradients complexPower(const Differentiated &d) {
  NodeImport &n = d.n;
  Value x = d.x[0], y = d.x[1];
  if (!isComplex(x) || n.type(x) != n.type(y) || !n.isStatic(x))
    return {};
  Value byBase = n.mul(y, d.call("Pow", {x, n.sub(y, 1.0)}));
  Value isSome = n.compare("ne", x, 0);
  Value log = d.call("Log", {n.select(isSome, x, n.like(x, 1))});
  Value byPower = n.mul(d.y[0], n.select(isSome, log, n.like(x, 0)));
  return {n.mul(d.dy[0], conj(n, byBase)), n.mul(d.dy[0], conj(n, byPower))};
}

ArrayRef<GradientRow> weir::tf::matrixGradients() {
  static const GradientRow rows[] = {
      {"Cholesky", choleskyGradient},
      {"BatchCholesky", choleskyGradient},
      {"MatrixInverse", inverseGradient},
      {"BatchMatrixInverse", inverseGradient},
      {"MatrixDeterminant", determinantGradient},
      {"BatchMatrixDeterminant", determinantGradient},
      {"LogMatrixDeterminant", determinantGradient},
      {"MatrixSolve", solveGradient},
      {"BatchMatrixSolve", solveGradient},
      {"MatrixTriangularSolve", triangularSolveGradient},
      {"BatchMatrixTriangularSolve", triangularSolveGradient},
      {"MatrixSolveLs", leastSquaresGradient},
      {"BatchMatrixSolveLs", leastSquaresGradient},
      {"SelfAdjointEigV2", eigenGradient},
      {"BatchSelfAdjointEigV2", eigenGradient},
      {"Svd", svdGradient},
      {"BatchSvd", svdGradient},
      {"Qr", qrGradient},
      {"Abs", magnitudeGradient},
      {"ComplexAbs", magnitudeGradient},
      {"Angle", angleGradient},
      {"Pow", complexPower},
      {"Exp", complexGradient},
      {"Expm1", complexGradient},
      {"Log", complexGradient},
      {"Log1p", complexGradient},
      {"Sin", complexGradient},
      {"Cos", complexGradient},
      {"Tan", complexGradient},
      {"Sinh", complexGradient},
      {"Cosh", complexGradient},
      {"Tanh", complexGradient},
      {"Sigmoid", complexGradient},
      {"Sqrt", complexGradient},
      {"Rsqrt", complexGradient},
      {"Asin", complexGradient},
      {"Acos", complexGradient},
      {"Atan", complexGradient},
      {"Asinh", complexGradient},
      {"Acosh", complexGradient},
      {"Atanh", complexGradient},
  };
  return rows;
}
