//===- timeline.h - when a GPU did what --------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// In a run that is traced, events stand between the calls of a step; when the
// step has ended, the times between them go to the trace. Such steps are put call
// by call, not as graphs, so that each kernel has a time of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_TIMELINE_H
#define WEIR_RUNTIME_CUDA_TIMELINE_H

#include "cuda/driver_api.h"
#include "weir/cuda.h"

namespace weir::rt::cuda {

struct CudaRun;

/// The marks of a step. Zeroed memory is an empty one; events are kept for the
/// next step.
struct Timeline {
  static constexpr int32_t start = -2; ///< a mark that ends nothing
  /// A mark that ends a collective.
  static constexpr int32_t collective(int32_t number) { return -3 - number; }

  bool on;
  Event base;       ///< the run's begin
  int64_t baseTime; ///< the same on the host's monotonic clock
  Event *events;
  int32_t *kernels; ///< what each mark ends; -1: no kernel; less: as above
  int32_t count, made, capacity;
};

/// Turns marks on if the run's trace takes spans. Waits for the GPU once, to know
/// how its clock and the host's compare. Returns a CUresult; the context is
/// current, as below.
Result beginTimeline(weir_context *ctx);
/// Puts a mark behind what was put; without memory for it, or where the driver
/// refuses, there is none.
void mark(CudaRun *part, int32_t kernel);
/// Tells the trace; all that was put is done.
void tellTimeline(weir_context *ctx);
void destroyTimeline(const Driver &driver, Timeline &timeline);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_TIMELINE_H
