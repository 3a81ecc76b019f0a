//===- search_sorted.cpp - where values belong in rows --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Halving, so that rows with numbers that do not compare, or that are not sorted,
// have the places that TensorFlow gives them.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "weir/numerics.h"

using namespace weir::rt;

namespace {

template <typename T> int64_t placeOf(const T *row, int64_t count, T value, bool isUpper) {
  int64_t first = 0;
  while (count > 0) {
    int64_t half = count / 2, middle = first + half;
    bool goesOn = isUpper ? !(value < row[middle]) : row[middle] < value;
    if (goesOn) {
      first = middle + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

template <typename T>
void search(const weir_tensor &rows, const weir_tensor &values, weir_tensor &result, bool isUpper) {
  int64_t length = rows.dims[1], many = values.dims[1];
  for (int64_t b = 0; b < rows.dims[0]; ++b)
    for (int64_t i = 0; i < many; ++i)
      storeIndex(result, b * many + i,
                 placeOf(static_cast<const T *>(rows.data) + b * length, length,
                         static_cast<const T *>(values.data)[b * many + i], isUpper));
}

} // namespace

int32_t weir_kernel_search_sorted(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  const weir_tensor &rows = operands[0], &values = operands[1];
  if (operand_count != 2 || result_count != 1 || !isIndexType(results[0].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  if ((rows.dtype != WEIR_I64 && rows.dtype != WEIR_F64) || values.dtype != rows.dtype)
    return failDtype(ctx, "sorted values", rows.dtype);
  if (rows.rank != 2 || values.rank != 2 || rows.dims[0] != values.dims[0])
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "Leading dim_size of both tensors must match, and both be matrices");
  if (!shapeResult(ctx, results[0], 2, values.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  if (rows.dtype == WEIR_I64)
    search<int64_t>(rows, values, results[0], attributes[0] != 0);
  else
    search<double>(rows, values, results[0], attributes[0] != 0);
  return WEIR_OK;
}
