//===- determinant.cpp - determinants of batches of matrices --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix at a time in memory of its own: it stays in the first cache.
//
//===----------------------------------------------------------------------===//

#include "kernels/decompositions.h"

#include <string.h>

using namespace weir::rt;

namespace {

template <typename T>
int32_t determinants(weir_context *ctx, const weir_tensor &matrices, weir_tensor &result) {
  int64_t n = matrices.dims[matrices.rank - 1], count = elementCountOf(result);
  Scratch<T> room(ctx, n * n + 1);
  Scratch<int32_t> pivots(ctx, n);
  if (!room.data || !pivots.data)
    return WEIR_RESOURCE_EXHAUSTED;
  auto *from = static_cast<const T *>(matrices.data);
  for (int64_t k = 0; k < count; ++k) {
    memcpy(room.data, from + k * n * n, size_t(n * n) * sizeof(T));
    static_cast<T *>(result.data)[k] = determinantOf(room.data, n, pivots.data);
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
