//===- cumulative_logsumexp.cpp - running log of sums of exponentials -----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"
#include "weir/numerics.h"

#include <math.h>

using namespace weir::rt;

namespace {

float logOfSum(float low, float high) { return log1pf(expf(low - high)) + high; }
double logOfSum(double low, double high) { return log1p(exp(low - high)) + high; }

/// One step. Comparisons with NaN are false, and decide as in TensorFlow: a NaN that
/// comes is taken for what there is.
template <typename T> T step(T sum, T x, T lowest) {
  T low = x < sum ? x : sum, high = sum < x ? x : sum;
  return high < lowest ? high : logOfSum(low, high);
}

template <typename T>
void scan(const weir_tensor &x, weir_tensor &result, const AxisView &view, T lowest,
          bool isExclusive, bool isReverse) {
  auto *from = static_cast<const T *>(x.data);
  auto *to = static_cast<T *>(result.data);
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      T sum = T(-INFINITY);
      for (int64_t i = 0; i < view.size; ++i) {
        int64_t along = isReverse ? view.size - 1 - i : i;
        int64_t at = (outer * view.size + along) * view.inner + inner;
        T next = step(sum, from[at], lowest);
        to[at] = isExclusive ? sum : next;
        sum = next;
      }
    }
}

} // namespace

int32_t weir_kernel_cumulative_logsumexp(weir_context *ctx, const weir_tensor *operands,
                                         int32_t operand_count, weir_tensor *results,
                                         int32_t result_count, const int64_t *attributes) {
  const weir_tensor &x = operands[0];
  int64_t axis = 0;
  AxisView view;
  if (operand_count != 2 || result_count != 1 || !loadInteger(operands[1], &axis))
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  if ((x.dtype != WEIR_F32 && x.dtype != WEIR_F64) || results[0].dtype != x.dtype)
    return failDtype(ctx, "a running sum", x.dtype);
  if (!viewAlong(x, axis, &view))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the axis is none of the tensor's");
  if (!shapeResult(ctx, results[0], x.rank, x.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  bool isExclusive = attributes[0] != 0, isReverse = attributes[1] != 0;
  if (x.dtype == WEIR_F32)
    scan<float>(x, results[0], view, -3.4028234663852886e38f, isExclusive, isReverse);
  else
    scan<double>(x, results[0], view, -1.7976931348623157e308, isExclusive, isReverse);
  return WEIR_OK;
}
