//===- timeline.cpp - when a GPU did what --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/timeline.h"
#include "cuda/cuda_device.h"

#include <stdlib.h>

namespace weir::rt::cuda {

static bool takesSpans(const weir_trace *trace) {
  return trace && trace->size >= offsetof(weir_trace, span) + sizeof(trace->span) && trace->span;
}

Result beginTimeline(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  Timeline &timeline = part->timeline;
  const Driver &driver = *part->device->driver;
  timeline.on = takesSpans(ctx->run->trace);
  timeline.count = 0;
  if (!timeline.on)
    return 0;
  Result error = timeline.base ? 0 : driver.eventCreate(&timeline.base, 0);
  if (!error)
    error = driver.eventRecord(timeline.base, part->work);
  if (!error)
    error = driver.streamSynchronize(part->work);
  timeline.baseTime = now();
  return error;
}

void mark(CudaRun *part, int32_t kernel) {
  Timeline &timeline = part->timeline;
  const Driver &driver = *part->device->driver;
  if (timeline.count == timeline.capacity) {
    int32_t wanted = timeline.capacity ? timeline.capacity * 2 : 64;
    auto *events =
        static_cast<Event *>(realloc(timeline.events, sizeof(Event) * size_t(wanted)));
    if (!events)
      return;
    timeline.events = events;
    auto *kernels =
        static_cast<int32_t *>(realloc(timeline.kernels, sizeof(int32_t) * size_t(wanted)));
    if (!kernels)
      return;
    timeline.kernels = kernels;
    timeline.capacity = wanted;
  }
  if (timeline.count == timeline.made) {
    if (driver.eventCreate(&timeline.events[timeline.made], 0) != 0)
      return;
    ++timeline.made;
  }
  if (driver.eventRecord(timeline.events[timeline.count], part->work) == 0)
    timeline.kernels[timeline.count++] = kernel;
}

void tellTimeline(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  const Timeline &timeline = part->timeline;
  if (!timeline.on)
    return;
  const Driver &driver = *part->device->driver;
  const weir_program_desc *program = ctx->run->session->program;
  int64_t before = timeline.baseTime;
  for (int32_t i = 0; i < timeline.count; ++i) {
    float milliseconds;
    if (driver.eventElapsed(&milliseconds, timeline.base, timeline.events[i]) != 0)
      return;
    int64_t at = timeline.baseTime + int64_t(double(milliseconds) * 1e6);
    int32_t kernel = timeline.kernels[i];
    if (kernel >= 0) {
      const weir_kernel_desc &desc = program->kernels[kernel];
      weir_trace_event event = traceEvent(ctx, WEIR_TRACE_KERNEL, desc.name, desc.nodes);
      event.flops = desc.flops;
      event.bytes = desc.bytes;
      ctx->run->trace->span(ctx->run->trace->self, &event, before, at);
    } else if (kernel <= Timeline::collective(0)) {
      weir_trace_event event =
          traceEvent(ctx, WEIR_TRACE_KERNEL, "all_reduce", collectiveNode(*part->device, -3 - kernel));
      ctx->run->trace->span(ctx->run->trace->self, &event, before, at);
    } else if (kernel != Timeline::start) {
      weir_trace_event event = traceEvent(ctx, WEIR_TRACE_COPY, "copy", "");
      ctx->run->trace->span(ctx->run->trace->self, &event, before, at);
    }
    before = at;
  }
}

void destroyTimeline(const Driver &driver, Timeline &timeline) {
  for (int32_t i = 0; i < timeline.made; ++i)
    driver.eventDestroy(timeline.events[i]);
  if (timeline.base)
    driver.eventDestroy(timeline.base);
  free(timeline.events);
  free(timeline.kernels);
}

} // namespace weir::rt::cuda
