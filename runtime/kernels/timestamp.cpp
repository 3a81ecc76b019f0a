//===- timestamp.cpp - what the clock says --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

#include <time.h>

using namespace weir::rt;

int32_t weir_kernel_timestamp(weir_context *ctx, const weir_tensor *, int32_t, weir_tensor *results,
                              int32_t result_count, const int64_t *) {
  if (result_count != 1 || results[0].dtype != WEIR_F64)
    return failMessage(ctx, WEIR_INTERNAL, "a result is missing");
  timespec at = {};
  clock_gettime(CLOCK_REALTIME, &at);
  if (!shapeResult(ctx, results[0], 0, nullptr))
    return WEIR_RESOURCE_EXHAUSTED;
  // Whole microseconds, as TensorFlow counts.
  int64_t microseconds = int64_t(at.tv_sec) * 1000000 + at.tv_nsec / 1000;
  *static_cast<double *>(results[0].data) = double(microseconds) / 1e6;
  return WEIR_OK;
}
