//===- cuda_run.cpp - runs on GPUs ------------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_device.h"

#include <stdlib.h>

namespace weir::rt::cuda {

//===----------------------------------------------------------------------===//
// Memory of a run
//===----------------------------------------------------------------------===//

/// A piece that is free; null: none. Those that the run has had before come first, then,
/// for scratch, the oldest that was kept: so runs that ask for the same get the same.
static Piece *findPiece(CudaRun *part, int64_t wanted, bool mayBeUsed, PieceKind kind) {
  Piece *oldest = nullptr;
  for (Piece *piece = part->pieces; piece; piece = piece->next) {
    if (!piece->free || piece->bytes < wanted || piece->bytes / 2 > wanted)
      continue;
    if (piece->touched && mayBeUsed)
      return piece;
    if (!piece->touched && kind == PieceKind::Scratch)
      oldest = piece;
  }
  return oldest;
}

uint8_t *takePiece(weir_context *ctx, int64_t bytes, const char *tag, bool mayBeUsed, bool *used,
                   PieceKind kind) {
  CudaRun *part = partOf(ctx);
  // At least one byte: a buffer without elements has a place, too.
  int64_t wanted = bytes < 1 ? 1 : bytes;
  if (Piece *piece = findPiece(part, wanted, mayBeUsed, kind)) {
    *used = piece->touched;
    piece->free = false;
    piece->touched = true;
    piece->scratch |= kind == PieceKind::Scratch;
    return piece->data;
  }
  *used = false;
  auto *piece = static_cast<Piece *>(malloc(sizeof(Piece)));
  if (!piece)
    return nullptr;
  AllocationRequest request;
  request.bytes = wanted;
  request.tag = tag;
  request.stop = &ctx->run->aborted;
  BfcAllocator *memory = part->device->memory;
  void *data = memory->allocate(request);
  if (!data) {
    dropPieces(part, /*all=*/false);
    data = memory->allocate(request);
  }
  if (!data) {
    trimSession(ctx->run->session);
    data = memory->allocate(request);
  }
  if (!data) {
    free(piece);
    return nullptr;
  }
  *piece = {part->pieces, static_cast<uint8_t *>(data), wanted, false, false,
            true,         kind == PieceKind::Scratch};
  part->pieces = piece;
  return piece->data;
}

void dropPieces(CudaRun *part, bool all) {
  for (Piece **at = &part->pieces; *at;) {
    Piece *piece = *at;
    if (!all && piece->touched) {
      at = &piece->next;
      continue;
    }
    *at = piece->next;
    part->device->memory->free(piece->data);
    free(piece);
  }
}

void keepScratch(CudaRun *part) {
  for (Piece *piece = part->pieces; piece; piece = piece->next)
    piece->touched = piece->touched && piece->scratch && !piece->lands;
  dropPieces(part, /*all=*/false);
  for (Piece *piece = part->pieces; piece; piece = piece->next) {
    piece->free = true;
    piece->touched = false;
  }
}

//===----------------------------------------------------------------------===//
// A run's part on a GPU
//===----------------------------------------------------------------------===//

static void destroy(CudaRun *part) {
  const CudaDevice &device = *part->device;
  const Driver &driver = *device.driver;
  dropPieces(part, /*all=*/true);
  if (part->arena)
    device.memory->free(part->arena);
  Current current(device);
  destroyPeers(part);
  destroyWork(driver, part->pending);
  dropSwaps(part);
  dropShares(part);
  endTimeline(part);
  destroyTimeline(driver, part->timeline);
  for (Stream stream : {part->work, part->in, part->out})
    if (stream)
      driver.streamDestroy(stream);
  for (Stream stream : part->bodies)
    if (stream)
      driver.streamDestroy(stream);
  for (Event event : {part->worked, part->arrived, part->left, part->called})
    if (event)
      driver.eventDestroy(event);
  for (Pointer memory : {part->errorOnDevice, part->barrierOnDevice})
    if (memory)
      driver.memFree(memory);
  if (part->error)
    driver.hostFree(part->error);
  free(part->slots);
  free(part);
}

void releaseRun(weir_run *run, int32_t device) {
  destroy(static_cast<CudaRun *>(run->devices[device].onDevice));
  run->devices[device].onDevice = nullptr;
}

static CudaRun *make(CudaDevice *device, Result *error) {
  auto *part = static_cast<CudaRun *>(calloc(1, sizeof(CudaRun)));
  if (!part)
    return nullptr;
  part->device = device;
  part->pending.never = !device->graphs;
  const Driver &driver = *device->driver;
  Current current(*device);
  for (Stream *stream : {&part->work, &part->in, &part->out})
    if (!*error)
      *error = driver.streamCreate(stream, streamNonBlocking);
  for (Event *event : {&part->worked, &part->arrived, &part->left})
    if (!*error)
      *error = driver.eventCreate(event, eventDisableTiming);
  if (!*error)
    *error = driver.memAlloc(&part->errorOnDevice, sizeof(weir_cuda_error));
  if (!*error && device->phases)
    *error = driver.memAlloc(&part->barrierOnDevice, sizeof(uint32_t));
  if (!*error && device->phases)
    *error = driver.set32Async(part->barrierOnDevice, 0, 1, part->work);
  if (!*error)
    *error =
        driver.hostAlloc(reinterpret_cast<void **>(&part->error), sizeof(weir_cuda_error) + 16, 0);
  if (!*error) {
    part->stop = reinterpret_cast<uint32_t *>(part->error + 1) + 2;
    return part;
  }
  destroy(part);
  return nullptr;
}

/// The run's streams begin after what lies in the caller's, which may be one of
/// another GPU. The device's context is current.
static Result waitForCaller(CudaRun *part, Stream stream) {
  const Driver &driver = *part->device->driver;
  Context owner = nullptr;
  Result error = driver.streamContext(stream, &owner);
  if (error)
    return error;
  Event event = part->worked;
  bool isForeign = owner != part->device->context;
  if (isForeign) {
    // An event is recorded in streams of its own context alone.
    driver.contextPush(owner);
    if (part->called && part->caller != owner) {
      driver.eventDestroy(part->called);
      part->called = nullptr;
    }
    if (!part->called)
      error = driver.eventCreate(&part->called, eventDisableTiming);
    part->caller = owner;
    event = part->called;
  }
  if (!error)
    error = driver.eventRecord(event, stream);
  Context ignored;
  if (isForeign)
    driver.contextPop(&ignored);
  for (Stream each : {part->in, part->work})
    if (!error)
      error = driver.streamWait(each, event, 0);
  return error;
}

/// What the caller puts into its stream from now on comes after the run's work.
static Result letCallerFollow(CudaRun *part, Stream stream) {
  const Driver &driver = *part->device->driver;
  Context owner = nullptr, ignored;
  Result error = driver.eventRecord(part->worked, part->work);
  if (!error)
    error = driver.streamContext(stream, &owner);
  if (error)
    return error;
  driver.contextPush(owner);
  error = driver.streamWait(stream, part->worked, 0);
  driver.contextPop(&ignored);
  return error;
}

int32_t fail(weir_context *ctx, const char *what, Result error, const char *name,
             const char *kind) {
  char text[1016];
  Text out(text, sizeof(text));
  if (name && *name)
    out << kind << " \"" << name << "\": ";
  out << what << " on " << ctx->run->session->program->devices[ctx->device].name << ": ";
  appendError(out, *partOf(ctx)->device->driver, error);
  int32_t code = error == outOfMemory ? int32_t(WEIR_RESOURCE_EXHAUSTED) : int32_t(WEIR_INTERNAL);
  return abortRun(ctx->run, code, text);
}

int32_t abortOutOfMemory(weir_run *run, const CudaDevice &device, int64_t bytes, const char *tag,
                         int32_t site) {
  AllocationRequest request;
  request.bytes = bytes;
  request.tag = tag;
  char text[1016];
  device.memory->explainFailure(request, text, sizeof(text));
  return abortRun(run, recordError(run, WEIR_RESOURCE_EXHAUSTED, site, text));
}

int32_t beginRun(weir_run *run, int32_t index) {
  weir_session *session = run->session;
  auto *device = static_cast<CudaDevice *>(session->accelerators[index]);
  DeviceRun &deviceRun = run->devices[index];
  Result error = 0;
  if (!deviceRun.onDevice)
    deviceRun.onDevice = make(device, &error);
  auto *part = static_cast<CudaRun *>(deviceRun.onDevice);
  if (!part) {
    char text[256];
    Text out(text, sizeof(text));
    out << "no streams on " << session->program->devices[index].name << ": ";
    appendError(out, *device->driver, error ? error : outOfMemory);
    return abortRun(run, WEIR_RESOURCE_EXHAUSTED, text);
  }
  int64_t bytes = session->program->devices[index].arena_bytes;
  if (bytes > 0 && !part->arena) {
    AllocationRequest request;
    request.bytes = bytes;
    request.tag = arenaTag(session->program, index);
    request.exact = true; // it lives long
    part->arena = device->memory->allocate(request);
    if (!part->arena) {
      // Other arenas that lie idle.
      trimSession(session);
      part->arena = device->memory->allocate(request);
    }
    if (!part->arena)
      return abortOutOfMemory(run, *device, request.bytes, request.tag);
  }
  weir_context &context = deviceRun.context;
  context.arena = static_cast<uint8_t *>(part->arena);
  context.device_blobs = device->blobs;
  dropLandings(run, part, /*all=*/true);
  part->outIsOpen = false;
  part->swapped = false;
  for (int32_t i = 0; i < part->swapCount; ++i)
    part->swaps[i].cameBack = false;
  part->streamError = 0;
  part->mayReduceTogether = mayReduceTogether(*device);
  part->reducedTogether = false;
  for (int32_t i = 0; i < part->shareCount; ++i) {
    part->shares[i].state = Share::None;
    part->shares[i].timed = false;
  }
  part->awaited = -1;
  part->gave = false;
  discard(part->pending);
  part->openCount = 0;
  __atomic_store_n(part->stop, 0, __ATOMIC_RELAXED);
  Current current(*device);
  if (!part->errorIsZero && (error = device->driver->set8Async(
                                 part->errorOnDevice, 0, sizeof(weir_cuda_error), part->work)))
    return fail(&context, "the run cannot begin", error);
  part->errorIsZero = false; // until the run has ended, and found it so
  // What the caller has put into its stream makes the feeds.
  if (run->deviceStream) {
    error = waitForCaller(part, static_cast<Stream>(run->deviceStream));
    if (error)
      return fail(&context, "the caller's stream cannot be waited for", error);
  }
  if ((error = beginTimeline(&context)))
    return fail(&context, "the run cannot be timed", error);
  return WEIR_OK;
}

Result closeOut(CudaRun *part) {
  if (!part->outIsOpen)
    return 0;
  part->outIsOpen = false;
  return part->device->driver->streamWait(part->work, part->left, 0);
}

static void resumeStep(Task *task) {
  auto *run = static_cast<weir_run *>(task->owner);
  void *coroutine = nullptr;
  for (int32_t i = 0; i < run->session->deviceCount; ++i) {
    auto *part = static_cast<CudaRun *>(run->devices[i].onDevice);
    if (part && &part->resume == task)
      coroutine = part->coroutine;
  }
  (*static_cast<void (**)(void *)>(coroutine))(coroutine);
  endSegment(run);
}

/// The segment that was begun for it passes to the task.
static void onFinished(Stream, Result status, void *data) {
  auto *ctx = static_cast<weir_context *>(data);
  CudaRun *part = partOf(ctx);
  part->streamError = status;
  part->resume.run = resumeStep;
  part->resume.owner = ctx->run;
  ctx->run->session->executor->post(&part->resume);
}

} // namespace weir::rt::cuda

using namespace weir::rt;
using namespace weir::rt::cuda;

//===----------------------------------------------------------------------===//
// What generated code calls
//===----------------------------------------------------------------------===//

int32_t weir_cuda_finish_ready(weir_context *ctx, void *coroutine) {
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  Current current(*part->device);
  part->coroutine = coroutine;
  // What is left of a run that was aborted is not wanted.
  if (ctx->run->aborted.load(std::memory_order_acquire))
    discard(part->pending);
  else
    flushWork(ctx);
  Result error = closeSwaps(part);
  if (Result atEnd = closeCollectives(ctx); !error)
    error = atEnd;
  if (!error)
    error = closeOut(part);
  if (!error)
    error =
        driver.copyOutAsync(part->error, part->errorOnDevice, sizeof(weir_cuda_error), part->work);
  // What the caller puts into its stream from now on may read the fetches.
  if (auto *stream = static_cast<Stream>(ctx->run->deviceStream); stream && !error)
    error = letCallerFollow(part, stream);
  if (!error) {
    beginSegment(ctx->run);
    error = driver.streamCallback(part->work, onFinished, ctx, 0);
    if (!error)
      return 0;
    endSegment(ctx->run);
  }
  // A stream that takes nothing more: what it has must end all the same.
  part->streamError = error;
  for (Stream stream : {part->in, part->work, part->out, part->together})
    if (stream)
      driver.streamSynchronize(stream);
  return 1;
}

int32_t weir_cuda_finish(weir_context *ctx, int32_t code) {
  CudaRun *part = partOf(ctx);
  if (part->streamError && part->reducedTogether)
    abandonCollectives(part);
  keepScratch(part);
  dropMade(part, /*good=*/!part->streamError);
  dropLandings(ctx->run, part, /*all=*/false);
  if (!part->streamError) {
    Current current(*part->device);
    tellTimeline(ctx);
  }
  endTimeline(part);
  if (lostCollectives(part))
    return abortRun(ctx->run, WEIR_INTERNAL,
                    "NCCL has failed in another run; WEIR_NCCL=off does without it");
  if (part->streamError) {
    int32_t failed =
        fail(ctx,
             part->device->waitsAlways ? "the step failed"
                                       : "the step failed (WEIR_CUDA_SYNC=1 says where)",
             part->streamError);
    return code ? code : failed;
  }
  part->errorIsZero = !part->error->taken;
  if (code || part->errorIsZero)
    return code;
  return weir_rt_error(ctx, part->error->site, part->error->value0, part->error->value1);
}
