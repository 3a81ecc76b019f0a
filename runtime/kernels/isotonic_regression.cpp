//===- isotonic_regression.cpp - the nearest series that does not rise ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Pool adjacent violators (Ayer et al., "An empirical distribution function for
// sampling with incomplete information", 1955): neighbours in the wrong order
// become one block with their mean. Linear in the length.

#include "kernels/kernel_support.h"

using namespace weir::rt;

namespace {

struct Block {
  double sum;
  int64_t count;

  double mean() const { return sum / double(count); }
};

/// One row. `blocks` has room for `count` of them.
template <typename T>
void fitRow(const T *values, int64_t count, T *fitted, weir_tensor &segments, int64_t first,
            Block *blocks) {
  int64_t used = 0;
  for (int64_t i = 0; i < count; ++i) {
    Block block = {double(values[i]), 1};
    while (used > 0 && blocks[used - 1].mean() < block.mean()) {
      --used;
      block = {blocks[used].sum + block.sum, blocks[used].count + block.count};
    }
    blocks[used++] = block;
  }
  int64_t at = 0;
  for (int64_t b = 0; b < used; ++b) {
    T mean = T(blocks[b].mean());
    for (int64_t i = 0; i < blocks[b].count; ++i, ++at) {
      fitted[at] = mean;
      storeIndex(segments, first + at, b);
    }
  }
}

} // namespace

int32_t weir_kernel_isotonic_regression(weir_context *ctx, const weir_tensor *operands,
                                        int32_t operand_count, weir_tensor *results,
                                        int32_t result_count, const int64_t *) {
  if (operand_count < 1 || result_count < 2 || !isIndexType(results[1].dtype) ||
      results[0].dtype != operands[0].dtype)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  const weir_tensor &values = operands[0];
  bool isWide = values.dtype == WEIR_F64;
  if (!isWide && values.dtype != WEIR_F32)
    return failDtype(ctx, "values", values.dtype);
  if (values.rank != 2)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the values are not a matrix");
  int64_t rows = values.dims[0], count = values.dims[1];
  Scratch<Block> blocks(ctx, count);
  if (!blocks.data || !shapeResult(ctx, results[0], 2, values.dims) ||
      !shapeResult(ctx, results[1], 2, values.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = row * count;
    if (isWide)
      fitRow(static_cast<const double *>(values.data) + first, count,
             static_cast<double *>(results[0].data) + first, results[1], first, blocks.data);
    else
      fitRow(static_cast<const float *>(values.data) + first, count,
             static_cast<float *>(results[0].data) + first, results[1], first, blocks.data);
  }
  return WEIR_OK;
}
