//===- launch.cpp - kernels and custom operations -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/guarded_call.h"
#include "session/run.h"

#include <stddef.h>

namespace weir::rt {

weir_trace_event traceEvent(const weir_context *ctx, int32_t kind, const char *name,
                            const char *nodes) {
  weir_trace_event event = {};
  event.size = sizeof(event);
  event.kind = kind;
  event.step = ctx->step;
  event.name = name;
  event.nodes = nodes;
  event.device = ctx->run->session->program->devices[ctx->device].name;
  event.flops = event.bytes = -1;
  return event;
}

namespace {

/// A kernel's launch, shared by the threads that work on it.
struct Launch {
  weir_context *ctx;
  weir_kernel_fn kernel;
  void *const *buffers;
  const int64_t *dims;
  int64_t n, step;
  int32_t parts, kernelIndex;
  /// Part in the high half, code in the low one; of the lowest part that
  /// failed.
  std::atomic<uint64_t> firstError;

  static constexpr uint64_t noError = UINT64_MAX;

  /// Where part `part` begins: parts are alike, but for a step.
  int64_t border(int32_t part) const {
    // n * part cannot overflow before memory does: n <= 2^47.
    return part == parts ? n : n * part / parts / step * step;
  }

  int32_t runPart(int32_t part, int32_t thread) const {
    int64_t begin = border(part), end = border(part + 1);
    const weir_trace *trace = ctx->run->trace;
    if (!trace)
      return kernel(ctx, buffers, dims, begin, end);
    const weir_program_desc *program = ctx->run->session->program;
    bool known = kernelIndex >= 0 && kernelIndex < program->kernel_count;
    weir_trace_event event =
        traceEvent(ctx, WEIR_TRACE_KERNEL, known ? program->kernels[kernelIndex].name : "kernel",
                   known ? program->kernels[kernelIndex].nodes : "");
    if (known) {
      event.flops = program->kernels[kernelIndex].flops;
      event.bytes = program->kernels[kernelIndex].bytes;
    }
    event.part_begin = begin;
    event.part_end = end;
    event.thread = thread;
    trace->begin(trace->self, &event);
    int32_t code = kernel(ctx, buffers, dims, begin, end);
    trace->end(trace->self, &event);
    return code;
  }
};

/// What borders of parts of `length` are multiples of: of ranges of many elements vectors and lines
/// of the cache stay whole, and no part is a hundredth longer for that.
int64_t stepOf(int64_t length) {
  constexpr int64_t most = 64, share = 128;
  int64_t step = 1;
  while (step < most && 2 * step * share <= length)
    step *= 2;
  return step;
}

void launchPart(void *argument, int32_t part, int32_t thread) {
  auto &launch = *static_cast<Launch *>(argument);
  // Parts above a failed one are of no use any more; those below decide which
  // error is reported.
  uint64_t first = launch.firstError.load(std::memory_order_relaxed);
  if (first >> 32 < uint64_t(part))
    return;
  int32_t code = launch.runPart(part, thread);
  if (code == 0)
    return;
  uint64_t mine = uint64_t(part) << 32 | uint32_t(code);
  while (mine < first &&
         !launch.firstError.compare_exchange_weak(first, mine, std::memory_order_relaxed))
    ;
}

/// Tells the trace what a launch made.
[[gnu::cold]] void tellValues(const Launch &launch) {
  const weir_trace *trace = launch.ctx->run->trace;
  const weir_program_desc *program = launch.ctx->run->session->program;
  const weir_launch_desc *launches = launchesOf(program);
  int32_t index = launch.kernelIndex;
  if (!launches || index < 0 || index >= program->kernel_count)
    return;
  const weir_launch_desc &desc = launches[index];
  weir_trace_event event = traceEvent(launch.ctx, WEIR_TRACE_KERNEL, program->kernels[index].name,
                                      program->kernels[index].nodes);
  for (int32_t i = 0; i < desc.result_count; ++i) {
    const weir_result_desc &result = desc.results[i];
    weir_tensor value = {};
    value.dtype = result.dtype;
    value.rank = result.rank;
    value.data = launch.buffers[desc.operand_count + i];
    value.bytes = result.element_bytes;
    for (int32_t d = 0; d < result.rank; ++d) {
      value.dims[d] = result.dims[d] < 0 ? launch.dims[result.sizes[d]] : result.dims[d];
      value.bytes *= value.dims[d];
    }
    trace->value(trace->self, &event, result.node, &value);
  }
}

bool wantsValues(const weir_trace *trace) {
  return trace && trace->size >= offsetof(weir_trace, value) + sizeof(trace->value) && trace->value;
}

} // namespace
} // namespace weir::rt

using namespace weir::rt;

int32_t weir_rt_parallel(weir_context *ctx, weir_kernel_fn kernel, void *const *buffers,
                         const int64_t *dims, int64_t n, int64_t grain, int32_t kernel_index) {
  weir_run *run = ctx->run;
  if (int32_t code = checkStop(run))
    return code;
  if (n <= 0)
    return WEIR_OK;
  if (grain < 1)
    grain = 1;
  int64_t units = (n - 1) / grain + 1;
  int32_t parts = units < run->threads ? int32_t(units) : run->threads;
  Launch launch{ctx,   kernel,       buffers,          dims, n, stepOf(n / parts),
                parts, kernel_index, {Launch::noError}};
  if (parts == 1) {
    int32_t code = launch.runPart(0, 0);
    if (run->trace && code == WEIR_OK && wantsValues(run->trace))
      tellValues(launch);
    return code;
  }
  run->session->executor->parallel(launchPart, &launch, parts);
  uint64_t first = launch.firstError.load(std::memory_order_relaxed);
  if (first != Launch::noError)
    return int32_t(first);
  if (wantsValues(run->trace))
    tellValues(launch);
  return WEIR_OK;
}

int32_t weir_rt_library(weir_context *ctx, weir_library_fn function, int32_t site,
                        const weir_tensor *operands, int32_t operand_count, weir_tensor *results,
                        int32_t result_count, const int64_t *attributes) {
  weir_run *run = ctx->run;
  if (int32_t code = checkStop(run))
    return code;
  run->devices[ctx->device].librarySite = site;
  const weir_program_desc *program = run->session->program;
  bool known = site >= 0 && site < program->site_count;
  weir_trace_event event;
  if (run->trace) {
    event = traceEvent(ctx, WEIR_TRACE_CUSTOM, known ? program->sites[site].operation : "library",
                       nodeOf(run, site));
    run->trace->begin(run->trace->self, &event);
  }
  int32_t code = 0;
  auto call = [&] {
    code = function(ctx, operands, operand_count, results, result_count, attributes);
  };
  bool returned = callGuarded(call);
  run->devices[ctx->device].librarySite = -1;
  if (run->trace)
    run->trace->end(run->trace->self, &event);
  if (!returned)
    return weir_rt_error_text(ctx, site, WEIR_UNKNOWN,
                              "the function that computes it threw an exception", 0, 0);
  // An encoded error has the record's number above its code. Any other number,
  // WEIR_PENDING included, is the function's own.
  if (code != 0 && code >> 8 < 1) {
    // What failed inside of it may have told why, and only its code been handed on.
    if (int32_t told = recordedError(run, code, site))
      return told;
    return weir_rt_error_text(ctx, site, WEIR_UNKNOWN, "the function that computes it returned {0}",
                              code, 0);
  }
  return code;
}

void *weir_custom_alloc(weir_context *ctx, int64_t bytes) {
  return weir_rt_alloc(ctx, bytes, ctx->run->devices[ctx->device].librarySite);
}

int32_t weir_custom_error(weir_context *ctx, int32_t code, const char *message) {
  return recordError(ctx->run, code, ctx->run->devices[ctx->device].librarySite, message);
}
