//===- model.c - a model as weirc would emit it ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/* y = x * FACTOR over a dynamic dimension, named MODEL. */

#include "weir/abi.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)

static int32_t scale(weir_context *ctx, void *const *buffers, const int64_t *dims, int64_t begin,
                     int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  (void)dims;
  for (int64_t i = begin; i < end; ++i) {
    if (x[i] < 0)
      return weir_rt_error(ctx, 0, i, 0);
    y[i] = x[i] * FACTOR;
  }
  return 0;
}

static int32_t step(weir_context *ctx) {
  const weir_tensor *x = &ctx->feeds[0];
  void *buffers[2] = {x->data, 0};
  buffers[1] = weir_rt_fetch(ctx, 0, x->rank, x->dims, x->bytes);
  if (!buffers[1])
    return WEIR_INTERNAL;
  return weir_rt_parallel(ctx, scale, buffers, 0, x->dims[0], 64, 0);
}

static const int64_t dims[1] = {-1};
static const weir_tensor_desc feeds[1] = {{"x", WEIR_F32, 1, dims, 0, 0, 0}};
static const weir_tensor_desc fetches[1] = {{"y", WEIR_F32, 1, dims, 0, 0, 0}};
static const weir_step_fn steps[1] = {step};
static const weir_entry_desc entries[1] = {{"main", 1, 1, feeds, fetches, steps, 0}};
static const weir_device_desc devices[1] = {{"/job:localhost/task:0/device:CPU:0", 1 << 16, 64}};
static const weir_error_site sites[1] = {
    {"scale", "Mul", "element {0} is negative", WEIR_OUT_OF_RANGE, 0}};
static const weir_kernel_desc kernels[1] = {{"mul_f32", "scale", -1, -1}};

const struct weir_program_desc JOIN(MODEL, _program) = {sizeof(struct weir_program_desc),
                                                        WEIR_ABI_VERSION,
                                                        TEXT(MODEL),
                                                        "test",
                                                        {1, 2},
                                                        0, /* features */
                                                        2, /* threads */
                                                        1, /* devices */
                                                        1, /* entries */
                                                        0, /* slots */
                                                        1, /* sites */
                                                        1, /* kernels */
                                                        0, /* edges */
                                                        0,
                                                        devices,
                                                        entries,
                                                        0,
                                                        sites,
                                                        kernels,
                                                        0,
                                                        0,
                                                        0,
                                                        0,
                                                        0,
                                                        0,
                                                        0,
                                                        0,
                                                        0, /* processor */
                                                        0,
                                                        0,
                                                        0,
                                                        0, /* collectives */
                                                        0,
                                                        0,
                                                        0,
                                                        0,
                                                        0,
                                                        0,
                                                        0};

/* What a plugin offers: 0 when the model computes what it should. */
WEIR_API int JOIN(MODEL, _check)(void);
int JOIN(MODEL, _check)(void) {
  weir_status status = WEIR_STATUS_INIT;
  weir_session *session = 0;
  if (weir_session_create(&JOIN(MODEL, _program), 0, &session, &status))
    return 1;
  float x[1000], y[1000];
  for (int i = 0; i < 1000; ++i)
    x[i] = (float)i;
  weir_tensor feed = {x, sizeof(x), WEIR_F32, 1, {1000}};
  weir_tensor fetch = {y, sizeof(y), 0, 0, {0}};
  int failed = weir_session_run(session, 0, &feed, 1, &fetch, 1, 0, &status);
  for (int i = 0; i < 1000; ++i)
    failed |= y[i] != x[i] * FACTOR;
  x[7] = -1;
  failed |= weir_session_run(session, 0, &feed, 1, &fetch, 1, 0, &status) != WEIR_OUT_OF_RANGE;
  weir_session_destroy(session);
  return failed;
}
