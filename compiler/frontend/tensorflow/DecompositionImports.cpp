//===- DecompositionImports.cpp - eigenvalues, singular values, functions -===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's kernels compute them (runtime/include/weir/kernels.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NumericImports.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {
/// A tensor of matrices, and types like it with other last dimensions.
struct Matrices {
  Value value;
  RankedTensorType type;
  int64_t rows = 0, columns = 0;

  RankedTensorType like(Ints tail, Type element) const {
    IntVector shape(type.getShape().drop_back(2));
    shape.append(tail.begin(), tail.end());
    return RankedTensorType::get(shape, element);
  }
};
} // namespace

static bool isDense(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return element.isF32() || element.isF64();
}

static std::optional<Matrices> matrices(NodeImport &n, bool square) {
  Value x = n.in(0);
  if (!x)
    return std::nullopt;
  Matrices m;
  m.value = x;
  m.type = n.type(x);
  int64_t rank = m.type.getRank();
  if (rank < 2 || !isDense(m.type.getElementType())) {
    (void)n.unsupported(
        "expected matrices of f32, f64 and their complex numbers, got a tensor of rank " +
        Twine(rank));
    return std::nullopt;
  }
  m.rows = m.type.getDimSize(rank - 2);
  m.columns = m.type.getDimSize(rank - 1);
  if (square && !ShapedType::isDynamic(m.rows) && !ShapedType::isDynamic(m.columns) &&
      m.rows != m.columns) {
    (void)n.invalid("found matrices that are not square");
    return std::nullopt;
  }
  return m;
}

static LogicalResult callResults(NodeImport &n, Operation *call) {
  if (!call)
    return failure();
  return n.results(SmallVector<Value>(call->getResults()));
}

/// Results that nobody asked for are empty.
static Value nothing(NodeImport &n, Type element) { return n.splat(element, {0}, 0); }

static LogicalResult selfAdjointEig(NodeImport &n) {
  auto m = matrices(n, true);
  if (!m)
    return failure();
  Type element = m->type.getElementType();
  SmallVector<Type> types = {m->like({m->rows}, element)};
  bool vectors = n.isSet("compute_v");
  if (vectors)
    types.push_back(m->type);
  Operation *call = n.kernelCall("weir_kernel_eigh", types, {m->value});
  if (!call || vectors)
    return callResults(n, call);
  return n.results({call->getResult(0), nothing(n, element)});
}

/// The first version: the values are a row above the vectors.
static LogicalResult selfAdjointEigV1(NodeImport &n) {
  auto m = matrices(n, true);
  if (!m)
    return failure();
  int64_t rank = m->type.getRank();
  Operation *call = n.kernelCall(
      "weir_kernel_eigh", {m->like({m->rows}, m->type.getElementType()), m->type}, {m->value});
  if (!call)
    return failure();
  return n.result(
      n.concat({n.unsqueeze(call->getResult(0), {rank - 2}), call->getResult(1)}, rank - 2));
}

static LogicalResult eig(NodeImport &n) {
  auto m = matrices(n, true);
  Type element = n.elementAttr("Tout");
  if (!m || !element)
    return failure();
  SmallVector<Type> types = {m->like({m->rows}, element)};
  bool vectors = n.isSet("compute_v");
  if (vectors)
    types.push_back(m->like({m->rows, m->rows}, element));
  Operation *call = n.kernelCall("weir_kernel_eig", types, {m->value});
  if (!call || vectors)
    return callResults(n, call);
  return n.results({call->getResult(0), nothing(n, element)});
}

/// The smaller of two sizes; open where either is.
static int64_t least(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) ? ShapedType::kDynamic
                                                              : std::min(a, b);
}

static LogicalResult svd(NodeImport &n) {
  auto m = matrices(n, false);
  if (!m)
    return failure();
  Type element = m->type.getElementType();
  int64_t values = least(m->rows, m->columns);
  bool full = n.isSet("full_matrices"), vectors = n.isSet("compute_uv");
  SmallVector<Type> types = {m->like({values}, element)};
  if (vectors) {
    types.push_back(m->like({m->rows, full ? m->rows : values}, element));
    types.push_back(m->like({m->columns, full ? m->columns : values}, element));
  }
  Operation *call = n.kernelCall("weir_kernel_svd", types, {m->value}, {full});
  if (!call || vectors)
    return callResults(n, call);
  return n.results({call->getResult(0), nothing(n, element), nothing(n, element)});
}

static LogicalResult qr(NodeImport &n) {
  auto m = matrices(n, false);
  if (!m)
    return failure();
  Type element = m->type.getElementType();
  bool full = n.isSet("full_matrices");
  int64_t kept = full ? m->rows : least(m->rows, m->columns);
  return callResults(
      n, n.kernelCall("weir_kernel_qr",
                      {m->like({m->rows, kept}, element), m->like({kept, m->columns}, element)},
                      {m->value}, {full}));
}

template <int64_t which> static LogicalResult function(NodeImport &n) {
  auto m = matrices(n, true);
  if (!m)
    return failure();
  return callResults(n, n.kernelCall("weir_kernel_matrix_function", m->type, {m->value}, {which}));
}

ArrayRef<OpImport> weir::tf::decompositionImports() {
  static const OpImport rows[] = {
      {"SelfAdjointEigV2", selfAdjointEig},
      {"BatchSelfAdjointEigV2", selfAdjointEig},
      {"SelfAdjointEig", selfAdjointEigV1},
      {"BatchSelfAdjointEig", selfAdjointEigV1},
      {"Eig", eig},
      {"Svd", svd},
      {"BatchSvd", svd},
      {"Qr", qr},
      {"MatrixSquareRoot", function<0>},
      {"MatrixLogarithm", function<1>},
      {"MatrixExponential", function<2>},
  };
  return rows;
}
