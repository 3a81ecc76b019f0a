/*===- DoublingProgram.c - an object as weirc emits them ---------*- C -*-===*\
|*
|* Part of weir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

/* y = 2 * x over four floats, by hand: what the loader is tested with. */

#include "weir/abi.h"
#include "weir/plugin.h"

static int32_t kernel(weir_context *ctx, void *const *buffers, const int64_t *dims, int64_t begin,
                      int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  (void)ctx;
  (void)dims;
  for (int64_t i = begin; i < end; ++i)
    y[i] = 2 * x[i];
  return 0;
}

static int32_t step(weir_context *ctx) {
  static const int64_t dims[] = {4};
  void *buffers[2];
  buffers[0] = ctx->feeds[0].data;
  buffers[1] = weir_rt_fetch(ctx, 0, 1, dims, 16);
  if (!buffers[1])
    return WEIR_INTERNAL;
  return weir_rt_parallel(ctx, kernel, buffers, 0, 4, 1, 0);
}

static const int64_t four[] = {4};
static const weir_tensor_desc feeds[] = {{"x", WEIR_F32, 1, four, 0, 0, 0}};
static const weir_tensor_desc fetches[] = {{"y", WEIR_F32, 1, four, 0, 0, 0}};
static const weir_step_fn steps[] = {step};
static const weir_device_desc devices[] = {{"/job:localhost/replica:0/task:0/device:CPU:0", 0, 64}};
static const weir_kernel_desc kernels[] = {{"double_f32_4", "y", 4, 32}};
static const weir_entry_desc entries[] = {{"main", 1, 1, feeds, fetches, steps, 0}};

static const struct weir_program_desc program = {.size = sizeof(struct weir_program_desc),
                                                 .abi_version = WEIR_ABI_VERSION,
                                                 .name = "doubling",
                                                 .compiler = "0.1.0",
                                                 .hash = {1, 2},
                                                 .device_count = 1,
                                                 .entry_count = 1,
                                                 .kernel_count = 1,
                                                 .devices = devices,
                                                 .entries = entries,
                                                 .kernels = kernels};

extern const struct weir_program_desc *doubling_program(void);
__attribute__((visibility("default"))) const struct weir_program_desc *doubling_program(void) {
  return &program;
}

extern const weir_plugin weir_plugin_table __asm__(WEIR_PLUGIN_SYMBOL);
__attribute__((visibility("default")))
const weir_plugin weir_plugin_table = {.size = sizeof(weir_plugin),
                                       .abi_version = WEIR_ABI_VERSION,
                                       .program = &program,
                                       .session_create = weir_session_create,
                                       .session_destroy = weir_session_destroy,
                                       .session_run = weir_session_run,
                                       .session_release = weir_session_release,
                                       .session_reset = weir_session_reset,
                                       .session_get_variable = weir_session_get_variable,
                                       .session_set_variable = weir_session_set_variable,
                                       .session_memory = weir_session_memory,
                                       .session_memory_report = weir_session_memory_report,
                                       .session_threads = weir_session_threads};
