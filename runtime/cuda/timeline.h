//===- timeline.h - when a GPU did what --------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Where CUPTI is present, a run that is traced is put as any other, graphs
// included: each piece of its work has a number, by which the step's end finds
// what CUPTI recorded of it. Else events stand between the calls of a step, and
// the times between them go to the trace; such steps are put call by call, not
// as graphs, so that each kernel has a time of its own. Collectives, which are
// in no graph, have events in both forms. Copies to and from the GPU are on
// streams of their own: each is a piece with a number, or has an event before
// and one behind it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_TIMELINE_H
#define WEIR_RUNTIME_CUDA_TIMELINE_H

#include "cuda/activity.h"
#include "weir/cuda.h"

namespace weir::rt::cuda {

struct CudaRun;
struct PendingWork;

/// A piece of work that CUPTI times: a kernel's, with all that a library does for
/// it, or a copy's or store's.
struct TimedPiece {
  int32_t kernel; ///< -1: none; less: `copy` of a number
  /// What stands for the run's copy `number`.
  static constexpr int32_t copy(int32_t number) { return -2 - number; }
  uint64_t begin, end; ///< CUPTI's clock; end 0: nothing came
  GraphNodes *nodes;   ///< of a graph that this is the first piece of; counted
};

/// A copy between this GPU's memory and other.
struct TimedCopy {
  const char *name; ///< of the edge, or of what it is; the program's
  int64_t bytes;
  bool isIn;        ///< to the GPU
  bool isWhole;     ///< both events are recorded
  Event begin, end; ///< where CUPTI does not tell; kept for the next step
};

/// The marks of a step. Zeroed memory is an empty one; events are kept for the
/// next step.
struct Timeline {
  static constexpr int32_t start = -2; ///< a mark that ends nothing

  bool on;
  Event base;       ///< the run's begin
  int64_t baseTime; ///< the same on the host's monotonic clock
  Event *events;
  int32_t *kernels; ///< what each mark ends; -1: no kernel; or `start`
  int32_t count, made, capacity;

  bool byActivity;     ///< CUPTI tells; collectives have events
  uint32_t serial;     ///< of the run among those that CUPTI tells of
  uint64_t lostBefore; ///< records, when it began
  int64_t clockOffset; ///< the host's clock minus CUPTI's
  TimedPiece *pieces;
  int32_t pieceCount, pieceCapacity;
  TimedCopy *copies;
  int32_t copyCount, copyCapacity;
  bool open; ///< `serial` is one
};

/// Turns marks on if the run's trace takes spans. Waits for the GPU once, to know
/// how its clock and the host's compare. Returns a CUresult; the context is
/// current, as below.
Result beginTimeline(weir_context *ctx);
/// Puts a mark behind what was put; without memory for it, or where the driver
/// refuses, there is none.
void mark(CudaRun *part, int32_t kernel);
/// Around the call that puts a piece of work, where CUPTI tells.
void beginPiece(CudaRun *part, int32_t kernel);
/// The same for a graph of what is pending.
void beginGraphPieces(CudaRun *part, GraphNodes *nodes);
void endPiece(CudaRun *part);
/// Around the call that puts a copy into `stream`; nothing where the run takes
/// no times.
void beginCopy(CudaRun *part, Stream stream, bool isIn, const char *name, int64_t bytes);
void endCopy(CudaRun *part, Stream stream);
/// Tells the trace; all that was put is done.
void tellTimeline(weir_context *ctx);
/// The run is over, told or not.
void endTimeline(CudaRun *part);
void destroyTimeline(const Driver &driver, Timeline &timeline);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_TIMELINE_H
