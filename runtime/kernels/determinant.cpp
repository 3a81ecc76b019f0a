//===- determinant.cpp - determinants of batches of matrices --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elimination with the largest pivot of each column (Golub and Van Loan, "Matrix
// Computations", 3.4), a matrix at a time in memory of its own: it stays in the first cache, and
// the loop over a row becomes vectors.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

#include <string.h>

using namespace weir::rt;

namespace {

template <typename T> T magnitude(T x) { return x < 0 ? -x : x; }

/// The determinant of a row-major n x n matrix, which is written over.
template <typename T> T determinant(T *a, int64_t n) {
  T product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (magnitude(a[i * n + k]) > magnitude(a[pivot * n + k]))
        pivot = i;
    T *__restrict top = a + pivot * n;
    T head = top[k];
    product *= pivot == k ? head : -head;
    if (head == 0)
      return product;
    if (pivot != k)
      for (int64_t j = k; j < n; ++j) {
        T held = a[k * n + j];
        a[k * n + j] = top[j];
        top[j] = held;
      }
    const T *__restrict row = a + k * n;
    for (int64_t i = k + 1; i < n; ++i) {
      T *__restrict own = a + i * n;
      T factor = own[k] / head;
      for (int64_t j = k + 1; j < n; ++j)
        own[j] -= factor * row[j];
    }
  }
  return product;
}

template <typename T>
int32_t determinants(weir_context *ctx, const weir_tensor &matrices, weir_tensor &result) {
  int64_t n = matrices.dims[matrices.rank - 1], count = elementCountOf(result);
  Scratch<T> room(ctx, n * n + 1);
  if (!room.data)
    return WEIR_RESOURCE_EXHAUSTED;
  auto *from = static_cast<const T *>(matrices.data);
  for (int64_t k = 0; k < count; ++k) {
    memcpy(room.data, from + k * n * n, size_t(n * n) * sizeof(T));
    static_cast<T *>(result.data)[k] = determinant(room.data, n);
  }
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_determinant(weir_context *ctx, const weir_tensor *operands,
                                int32_t operand_count, weir_tensor *results, int32_t result_count,
                                const int64_t *) {
  if (operand_count != 1 || result_count != 1 || results[0].dtype != operands[0].dtype)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  const weir_tensor &matrices = operands[0];
  int32_t rank = matrices.rank;
  if (matrices.dtype != WEIR_F32 && matrices.dtype != WEIR_F64)
    return failDtype(ctx, "matrices", matrices.dtype);
  if (rank < 2 || matrices.dims[rank - 1] != matrices.dims[rank - 2])
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "matrices are not square");
  if (!shapeResult(ctx, results[0], rank - 2, matrices.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  return matrices.dtype == WEIR_F32 ? determinants<float>(ctx, matrices, results[0])
                                    : determinants<double>(ctx, matrices, results[0]);
}
