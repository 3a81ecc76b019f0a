//===- timeline.cpp - when a GPU did what --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/timeline.h"
#include "cuda/cuda_device.h"
#include "cuda/work_records.h"

#include <stdlib.h>
#include <string.h>

namespace weir::rt::cuda {

static bool takesSpans(const weir_trace *trace) {
  return trace && trace->size >= offsetof(weir_trace, span) + sizeof(trace->span) && trace->span;
}

//===----------------------------------------------------------------------===//
// By CUPTI
//===----------------------------------------------------------------------===//

/// Calls are known by the run's number and their first piece's.
static void pushPieces(Timeline &timeline, const Cupti &cupti, int32_t first) {
  cupti.pushId(cupti::ownIds, uint64_t(timeline.serial) << 32 | uint32_t(first));
}

/// Room for one more behind `count` items; false: no memory. What is new is
/// zero.
template <typename T> static bool makeRoom(T *&items, int32_t count, int32_t &capacity) {
  if (count < capacity)
    return true;
  int32_t wanted = capacity ? capacity * 2 : 64;
  auto *grown = static_cast<T *>(realloc(items, sizeof(T) * size_t(wanted)));
  if (!grown)
    return false;
  memset(static_cast<void *>(grown + capacity), 0, sizeof(T) * size_t(wanted - capacity));
  items = grown;
  capacity = wanted;
  return true;
}

/// False: no memory.
static bool addPiece(Timeline &timeline, int32_t kernel, GraphNodes *nodes) {
  if (!makeRoom(timeline.pieces, timeline.pieceCount, timeline.pieceCapacity))
    return false;
  timeline.pieces[timeline.pieceCount++] = {kernel, UINT64_MAX, 0, nodes};
  return true;
}

void beginPiece(CudaRun *part, int32_t kernel) {
  Timeline &timeline = part->timeline;
  int32_t first = timeline.pieceCount;
  // One that has no place has a number that no piece has.
  addPiece(timeline, kernel, nullptr);
  pushPieces(timeline, *part->device->cupti, first);
}

void beginGraphPieces(CudaRun *part, GraphNodes *nodes) {
  Timeline &timeline = part->timeline;
  const PendingWork &work = part->pending;
  int32_t first = timeline.pieceCount;
  for (int64_t at = 0; at < work.bytes;) {
    const WorkRecord *record = recordAt(work, at);
    bool isFirst = at == 0;
    if (!addPiece(timeline, record->kernel, isFirst ? nodes : nullptr))
      break;
    if (isFirst)
      ++nodes->references;
    at += record->bytes;
  }
  pushPieces(timeline, *part->device->cupti, first);
}

void endPiece(CudaRun *part) {
  uint64_t ignored;
  part->device->cupti->popId(cupti::ownIds, &ignored);
}

/// How far the host's clock is ahead of CUPTI's: of several readings the one that
/// took the shortest time.
static int64_t clockOffset(const Cupti &cupti) {
  int64_t offset = 0, shortest = INT64_MAX;
  for (int32_t i = 0; i < 5; ++i) {
    uint64_t there = 0;
    int64_t before = now();
    cupti.timestamp(&there);
    int64_t after = now();
    if (after - before >= shortest)
      continue;
    shortest = after - before;
    offset = before + shortest / 2 - int64_t(there);
  }
  return offset;
}

/// What is one piece may be several things on the GPU: its time is from the first
/// one's begin to the last one's end.
static void placeActivity(void *self, const Activity &activity) {
  auto &timeline = *static_cast<Timeline *>(self);
  int64_t at = int64_t(activity.id & UINT32_MAX);
  if (at >= timeline.pieceCount)
    return;
  if (const GraphNodes *nodes = timeline.pieces[at].nodes) {
    int32_t position = positionOf(*nodes, activity.graphNode);
    if (position < 0 || at + position >= timeline.pieceCount)
      return;
    at += position;
  }
  TimedPiece &piece = timeline.pieces[at];
  piece.begin = activity.begin < piece.begin ? activity.begin : piece.begin;
  piece.end = activity.end > piece.end ? activity.end : piece.end;
}

static int32_t missingPieces(const Timeline &timeline) {
  int32_t missing = 0;
  for (int32_t i = 0; i < timeline.pieceCount; ++i)
    missing += timeline.pieces[i].end == 0;
  return missing;
}

/// Takes what CUPTI has of the run. It hands records on a while after the work is
/// done: waits for them, but not for those that it has lost. Returns how many pieces
/// have no time.
static int32_t gatherPieces(Timeline &timeline, const Cupti &cupti) {
  constexpr int32_t tries = 500; // a second: other work may hold CUPTI up
  constexpr timespec pause = {0, 2000000};
  int32_t missing = 0;
  for (int32_t i = 0; i <= tries; ++i) {
    // Forced, incomplete records of other runs come, too, and are lost for them.
    cupti.flushAll(i == tries ? cupti::flushForced : 0);
    takeActivity(timeline.serial, placeActivity, &timeline);
    missing = missingPieces(timeline);
    if (missing == 0 || lostActivity() != timeline.lostBefore)
      return missing;
    nanosleep(&pause, nullptr);
  }
  return missing;
}

/// Tells about the times themselves, as a copy that took none.
static void tellNote(weir_context *ctx, const char *text) {
  weir_trace_event event = traceEvent(ctx, WEIR_TRACE_COPY, text, "");
  int64_t at = now();
  ctx->run->trace->span(ctx->run->trace->self, &event, at, at);
}

static void tellKernel(weir_context *ctx, int32_t kernel, int64_t begin, int64_t end) {
  weir_trace_event event = traceEvent(ctx, WEIR_TRACE_COPY, "copy", "");
  if (kernel >= 0) {
    const weir_kernel_desc &desc = ctx->run->session->program->kernels[kernel];
    event = traceEvent(ctx, WEIR_TRACE_KERNEL, desc.name, desc.nodes);
    event.flops = desc.flops;
    event.bytes = desc.bytes;
  }
  ctx->run->trace->span(ctx->run->trace->self, &event, begin, end);
}

static void tellCopy(weir_context *ctx, const TimedCopy &copy, int64_t begin, int64_t end) {
  weir_trace_event event = traceEvent(ctx, WEIR_TRACE_COPY, copy.name, "");
  event.bytes = copy.bytes;
  event.thread = copy.isIn ? 1 : 2;
  ctx->run->trace->span(ctx->run->trace->self, &event, begin, end);
}

static void tellPieces(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  Timeline &timeline = part->timeline;
  int32_t missing = gatherPieces(timeline, *part->device->cupti);
  for (int32_t i = 0; i < timeline.pieceCount; ++i)
    if (const TimedPiece &piece = timeline.pieces[i]; piece.end != 0) {
      int64_t begin = int64_t(piece.begin) + timeline.clockOffset,
              end = int64_t(piece.end) + timeline.clockOffset;
      if (piece.kernel <= TimedPiece::copy(0))
        tellCopy(ctx, timeline.copies[TimedPiece::copy(piece.kernel)], begin, end);
      else
        tellKernel(ctx, piece.kernel, begin, end);
    }
  if (missing == 0)
    return;
  char text[128];
  Text(text, sizeof(text)) << "CUPTI lost records: " << missing << " of " << timeline.pieceCount
                           << " pieces of work have no time";
  tellNote(ctx, text);
}

void endTimeline(CudaRun *part) {
  Timeline &timeline = part->timeline;
  for (int32_t i = 0; i < timeline.pieceCount; ++i)
    dropNodes(timeline.pieces[i].nodes);
  timeline.pieceCount = timeline.copyCount = 0;
  if (timeline.open)
    endActivity(timeline.serial);
  timeline.open = false;
}

static void beginPieces(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  Timeline &timeline = part->timeline;
  CudaDevice &device = *part->device;
  openActivity(device);
  timeline.byActivity = device.cupti != nullptr;
  if (!timeline.byActivity)
    return tellNote(ctx, device.noCupti);
  timeline.serial = beginActivity();
  timeline.open = true;
  timeline.lostBefore = lostActivity();
  timeline.clockOffset = clockOffset(*device.cupti);
}

//===----------------------------------------------------------------------===//
// By events
//===----------------------------------------------------------------------===//

Result beginTimeline(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  Timeline &timeline = part->timeline;
  const Driver &driver = *part->device->driver;
  timeline.on = takesSpans(ctx->run->trace);
  timeline.count = 0;
  timeline.byActivity = false;
  endTimeline(part); // of a run that was aborted before its step began
  if (!timeline.on)
    return 0;
  beginPieces(ctx);
  if (timeline.byActivity && !part->device->collectives)
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
    auto *events = static_cast<Event *>(realloc(timeline.events, sizeof(Event) * size_t(wanted)));
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

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void beginCopy(CudaRun *part, Stream stream, bool isIn, const char *name, int64_t bytes) {
  Timeline &timeline = part->timeline;
  const Driver &driver = *part->device->driver;
  if (!timeline.on)
    return;
  bool fits = makeRoom(timeline.copies, timeline.copyCount, timeline.copyCapacity);
  if (fits) {
    TimedCopy &copy = timeline.copies[timeline.copyCount++];
    copy = {name, bytes, isIn, false, copy.begin, copy.end};
  }
  if (timeline.byActivity)
    return beginPiece(part, fits ? TimedPiece::copy(timeline.copyCount - 1) : -1);
  if (!fits)
    return;
  // Without its events it has no time.
  TimedCopy &copy = timeline.copies[timeline.copyCount - 1];
  for (Event *event : {&copy.begin, &copy.end})
    if (!*event && driver.eventCreate(event, 0) != 0)
      *event = nullptr;
  copy.isWhole = copy.begin && copy.end && driver.eventRecord(copy.begin, stream) == 0;
}

void endCopy(CudaRun *part, Stream stream) {
  Timeline &timeline = part->timeline;
  if (!timeline.on)
    return;
  if (timeline.byActivity)
    return endPiece(part);
  if (timeline.copyCount == 0)
    return;
  TimedCopy &copy = timeline.copies[timeline.copyCount - 1];
  copy.isWhole = copy.isWhole && part->device->driver->eventRecord(copy.end, stream) == 0;
}

/// When an event was, on the host's clock; false: the driver does not tell.
static bool timeOf(const CudaRun *part, Event event, int64_t *at) {
  float milliseconds;
  if (part->device->driver->eventElapsed(&milliseconds, part->timeline.base, event) != 0)
    return false;
  *at = part->timeline.baseTime + int64_t(double(milliseconds) * 1e6);
  return true;
}

/// Those that have events.
static void tellCopies(weir_context *ctx) {
  const CudaRun *part = partOf(ctx);
  const Timeline &timeline = part->timeline;
  for (int32_t i = 0; i < timeline.copyCount; ++i) {
    const TimedCopy &copy = timeline.copies[i];
    int64_t begin, end;
    if (copy.isWhole && timeOf(part, copy.begin, &begin) && timeOf(part, copy.end, &end))
      tellCopy(ctx, copy, begin, end);
  }
}

//===----------------------------------------------------------------------===//
// The trace
//===----------------------------------------------------------------------===//

/// What the GPU has reduced with others; of a loop's the last time.
static void tellShares(weir_context *ctx) {
  const CudaRun *part = partOf(ctx);
  for (int32_t i = 0; i < part->shareCount; ++i) {
    const Share &share = part->shares[i];
    int64_t begin, end;
    if (!share.timed || !timeOf(part, share.begin, &begin) || !timeOf(part, share.end, &end))
      continue;
    const weir_cuda_collective &desc = collectiveOf(*part->device, i);
    weir_trace_event event =
        traceEvent(ctx, WEIR_TRACE_KERNEL, desc.receiver ? "reduce" : "all_reduce", desc.node);
    ctx->run->trace->span(ctx->run->trace->self, &event, begin, end);
  }
}

void tellTimeline(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  const Timeline &timeline = part->timeline;
  if (!timeline.on)
    return;
  if (timeline.byActivity)
    tellPieces(ctx);
  else
    tellCopies(ctx);
  tellShares(ctx);
  int64_t before = timeline.baseTime;
  for (int32_t i = 0; i < timeline.count; ++i) {
    int64_t at;
    if (!timeOf(part, timeline.events[i], &at))
      return;
    int32_t kernel = timeline.kernels[i];
    if (kernel != Timeline::start)
      tellKernel(ctx, kernel, before, at);
    before = at;
  }
}

void destroyTimeline(const Driver &driver, Timeline &timeline) {
  for (int32_t i = 0; i < timeline.made; ++i)
    driver.eventDestroy(timeline.events[i]);
  if (timeline.base)
    driver.eventDestroy(timeline.base);
  for (int32_t i = 0; i < timeline.copyCapacity; ++i)
    for (Event event : {timeline.copies[i].begin, timeline.copies[i].end})
      if (event)
        driver.eventDestroy(event);
  free(timeline.copies);
  free(timeline.events);
  free(timeline.kernels);
  free(timeline.pieces);
}

} // namespace weir::rt::cuda
