//===- eigen.cpp - eigenvalues, singular values, QR of batches ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/decompositions.h"

using namespace weir::rt;

namespace {

/// Begins a decomposition of square matrices into eigenvalues and, as a second
/// result where there is one, eigenvectors. WEIR_OK, or the failure's code.
int32_t openEigen(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                  weir_tensor *results, int32_t result_count, Matrices *in) {
  if (operand_count != 1 || result_count < 1 || result_count > 2 || !isDenseType(results[0].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "eigenvalues of one operand");
  if (!readMatrices(ctx, operands[0], true, in))
    return WEIR_INVALID_ARGUMENT;
  int64_t tail[2] = {in->rows, in->rows};
  if (!shapeBatch(ctx, operands[0], results[0], tail, 1) ||
      (result_count > 1 && !shapeBatch(ctx, operands[0], results[1], tail, 2)))
    return WEIR_RESOURCE_EXHAUSTED;
  return WEIR_OK;
}

int32_t failConvergence(weir_context *ctx) {
  return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                     "the decomposition was not successful; the input might "
                     "not be valid");
}

bool isReal(const weir_tensor &tensor) {
  return tensor.dtype == WEIR_F32 || tensor.dtype == WEIR_F64;
}

/// Whether no element is NaN or infinite.
bool isFinite(const Matrix &m) {
  for (int64_t i = 0; i < m.size(); ++i)
    if (!isfinite(m.data[i].re) || !isfinite(m.data[i].im))
      return false;
  return true;
}

/// The same number in `count` elements from the at-th on.
void fillNumbers(weir_tensor &tensor, int64_t at, int64_t count, Complex number) {
  for (int64_t i = 0; i < count; ++i)
    storeNumbers(tensor, at + i, &number, 1);
}

/// Real numbers, as elements of a tensor.
void storeReals(weir_tensor &tensor, int64_t at, const double *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Complex number = {from[i], 0};
    storeNumbers(tensor, at + i, &number, 1);
  }
}

} // namespace

int32_t weir_kernel_eigh(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                         weir_tensor *results, int32_t result_count, const int64_t *) {
  Matrices in;
  if (int32_t code = openEigen(ctx, operands, operand_count, results, result_count, &in))
    return code;
  int64_t n = in.rows;
  Scratch<Complex> memory(ctx, 2 * n * n);
  Scratch<double> values(ctx, n);
  HermitianEigen engine(ctx, n, isReal(operands[0]));
  if (!memory.data || !values.data || engine.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix a = {memory.data, n, n};
  Matrix vectors = {result_count > 1 ? a.data + n * n : nullptr, n, n};
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, a);
    if (!engine.run(a, values.data, vectors))
      return failConvergence(ctx);
    storeReals(results[0], k * n, values.data, n);
    if (vectors.data)
      storeNumbers(results[1], k * n * n, vectors.data, n * n);
  }
  return WEIR_OK;
}

int32_t weir_kernel_svd(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                        weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  Matrices in;
  if (operand_count != 1 || (result_count != 1 && result_count != 3) ||
      !isDenseType(results[0].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "singular values of one operand");
  if (!readMatrices(ctx, operands[0], false, &in))
    return WEIR_INVALID_ARGUMENT;
  // Of a matrix with more columns than rows its adjoint is decomposed.
  bool wide = in.columns > in.rows;
  int64_t m = wide ? in.columns : in.rows, n = wide ? in.rows : in.columns;
  int64_t full = attributes[0] ? m : n;
  bool vectors = result_count == 3;
  int64_t ofLong[2] = {m, full}, ofShort[2] = {n, n};
  if (!shapeBatch(ctx, operands[0], results[0], &n, 1) ||
      (vectors && (!shapeBatch(ctx, operands[0], results[wide ? 2 : 1], ofLong, 2) ||
                   !shapeBatch(ctx, operands[0], results[wide ? 1 : 2], ofShort, 2))))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<Complex> memory(ctx, 2 * m * n + (vectors ? n * n + m * full : 0));
  Scratch<double> values(ctx, n);
  SingularValues engine(ctx, m, n, vectors ? full : 0, isReal(operands[0]));
  if (!memory.data || !values.data || engine.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix given = {memory.data, in.rows, in.columns}, a = {given.data + m * n, n, m};
  Matrix right = {vectors ? a.data + m * n : nullptr, n, n},
         left = {vectors ? right.data + n * n : nullptr, m, full};
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, given);
    if (!isFinite(given)) {
      // TensorFlow gives the type's quiet NaN, which std::numeric_limits has as 0 for complex
      // types.
      Complex none = {isReal(operands[0]) ? double(NAN) : 0.0, 0};
      fillNumbers(results[0], k * n, n, none);
      if (vectors) {
        fillNumbers(results[wide ? 2 : 1], k * m * full, m * full, none);
        fillNumbers(results[wide ? 1 : 2], k * n * n, n * n, none);
      }
      continue;
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        a(j, i) = wide ? given(j, i).conj() : given(i, j);
    if (!engine.run(a, values.data, left, right))
      return failConvergence(ctx);
    storeReals(results[0], k * n, values.data, n);
    if (!vectors)
      continue;
    storeNumbers(results[wide ? 2 : 1], k * m * full, left.data, m * full);
    storeNumbers(results[wide ? 1 : 2], k * n * n, right.data, n * n);
  }
  return WEIR_OK;
}

int32_t weir_kernel_eig(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                        weir_tensor *results, int32_t result_count, const int64_t *) {
  Matrices in;
  if (int32_t code = openEigen(ctx, operands, operand_count, results, result_count, &in))
    return code;
  int64_t n = in.rows;
  bool wantsVectors = result_count > 1;
  Scratch<Complex> memory(ctx, 2 * n * n + n);
  GeneralEigen engine(ctx, n, wantsVectors);
  if (!memory.data || engine.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix a = {memory.data, n, n}, vectors = {wantsVectors ? a.data + n * n : nullptr, n, n};
  Complex *values = a.data + 2 * n * n;
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, a);
    if (!engine.run(a, values, vectors))
      return failConvergence(ctx);
    storeNumbers(results[0], k * n, values, n);
    if (wantsVectors)
      storeNumbers(results[1], k * n * n, vectors.data, n * n);
  }
  return WEIR_OK;
}

int32_t weir_kernel_qr(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                       weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  Matrices in;
  if (operand_count != 1 || result_count != 2 || !isDenseType(results[0].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "qr has two results");
  if (!readMatrices(ctx, operands[0], false, &in))
    return WEIR_INVALID_ARGUMENT;
  int64_t m = in.rows, n = in.columns, least = m < n ? m : n;
  int64_t kept = attributes[0] ? m : least;
  int64_t ofQ[2] = {m, kept}, ofR[2] = {kept, n};
  if (!shapeBatch(ctx, operands[0], results[0], ofQ, 2) ||
      !shapeBatch(ctx, operands[0], results[1], ofR, 2))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<Complex> memory(ctx, m * n + m * kept);
  OrthogonalTriangular engine(ctx, m, n, kept, isReal(operands[0]));
  if (!memory.data || engine.failed())
    return WEIR_RESOURCE_EXHAUSTED;
  Matrix a = {memory.data, m, n}, q = {a.data + m * n, m, kept};
  for (int64_t k = 0; k < in.count; ++k) {
    loadMatrix(operands[0], k, a);
    engine.run(a, q);
    storeNumbers(results[0], k * m * kept, q.data, m * kept);
    storeNumbers(results[1], k * kept * n, a.data, kept * n);
  }
  return WEIR_OK;
}
