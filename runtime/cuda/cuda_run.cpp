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

uint8_t *takePiece(weir_context *ctx, int64_t bytes, const char *tag,
                   bool mayBeUsed, bool *used) {
  CudaRun *part = partOf(ctx);
  // At least one byte: a buffer without elements has a place, too.
  int64_t wanted = bytes < 1 ? 1 : bytes;
  for (Piece *piece = part->pieces; mayBeUsed && piece; piece = piece->next)
    if (piece->free && piece->bytes >= wanted && piece->bytes / 2 <= wanted) {
      piece->free = false;
      *used = true;
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
  void *data = part->device->memory->allocate(request);
  if (!data) {
    trimSession(ctx->run->session);
    data = part->device->memory->allocate(request);
  }
  if (!data) {
    free(piece);
    return nullptr;
  }
  *piece = {part->pieces, static_cast<uint8_t *>(data), wanted, false, false};
  part->pieces = piece;
  return piece->data;
}

void dropPieces(CudaRun *part) {
  while (Piece *piece = part->pieces) {
    part->pieces = piece->next;
    part->device->memory->free(piece->data);
    free(piece);
  }
}

//===----------------------------------------------------------------------===//
// A run's part on a GPU
//===----------------------------------------------------------------------===//

static void destroy(CudaRun *part) {
  const CudaDevice &device = *part->device;
  const Driver &driver = *device.driver;
  dropPieces(part);
  destroyPeers(part);
  if (part->arena)
    device.memory->free(part->arena);
  Current current(device);
  destroyWork(driver, part->pending);
  dropSwaps(part);
  endTimeline(part);
  destroyTimeline(driver, part->timeline);
  for (Stream stream : {part->work, part->in, part->out})
    if (stream)
      driver.streamDestroy(stream);
  for (Event event : {part->worked, part->arrived, part->left, part->called})
    if (event)
      driver.eventDestroy(event);
  if (part->errorOnDevice)
    driver.memFree(part->errorOnDevice);
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
  if (!*error)
    *error = driver.hostAlloc(reinterpret_cast<void **>(&part->error),
                              sizeof(weir_cuda_error), 0);
  if (!*error)
    return part;
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
  out << what << " on " << ctx->run->session->program->devices[ctx->device].name
      << ": ";
  appendError(out, *partOf(ctx)->device->driver, error);
  int32_t code = error == outOfMemory ? int32_t(WEIR_RESOURCE_EXHAUSTED)
                                      : int32_t(WEIR_INTERNAL);
  return abortRun(ctx->run, code, text);
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
    if (!part->arena) {
      char text[1016];
      device->memory->explainFailure(request, text, sizeof(text));
      return abortRun(run, WEIR_RESOURCE_EXHAUSTED, text);
    }
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
  part->share.collective = -1;
  discard(part->pending);
  Current current(*device);
  if ((error = device->driver->set8Async(part->errorOnDevice, 0,
                                         sizeof(weir_cuda_error), part->work)))
    return fail(&context, "the run cannot begin", error);
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

/// A tensor that is on its way to the host.
struct Delivery {
  weir_context *ctx;
  int32_t edge;
  int64_t iteration;
  weir_tensor tensor;
  Block *block;
};

/// On the driver's thread, which must not call the driver.
static void onLeft(Stream, Result status, void *data) {
  auto *delivery = static_cast<Delivery *>(data);
  weir_run *run = delivery->ctx->run;
  if (status == 0) {
    passOn(delivery->ctx, delivery->edge, delivery->iteration, delivery->tensor,
           delivery->block);
  } else {
    delivery->block->memory->free(delivery->block);
    fail(delivery->ctx, "a copy from the GPU failed", status);
  }
  free(delivery);
  endSegment(run);
}

/// Staging memory that a copy has read.
struct Staged {
  weir_run *run;
  Block *block;
};

static void onArrived(Stream, Result, void *data) {
  auto *staged = static_cast<Staged *>(data);
  weir_run *run = staged->run;
  staged->block->memory->free(staged->block);
  free(staged);
  endSegment(run);
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

/// Whether a feed, or another fetch, has some of the bytes of `fetch`. Only
/// what is of a GPU can: the host's memory has other addresses.
static bool isShared(const weir_run &run, const weir_tensor &fetch) {
  auto meets = [&](const uint8_t *there, const weir_tensor *tensors,
                   int32_t count) {
    auto begin = reinterpret_cast<uintptr_t>(fetch.data);
    for (int32_t i = 0; there && i < count; ++i) {
      auto other = reinterpret_cast<uintptr_t>(tensors[i].data);
      if (there[i] && &tensors[i] != &fetch &&
          other < begin + uintptr_t(fetch.bytes) &&
          begin < other + uintptr_t(tensors[i].bytes))
        return true;
    }
    return false;
  };
  return meets(run.feedsOnDevice, run.feeds, run.entry->feed_count) ||
         meets(run.fetchesOnDevice, run.fetches, run.entry->fetch_count);
}

void *weir_cuda_fetch_place(weir_context *ctx, int32_t edge, int64_t bytes,
                            void *planned) {
  const weir_tensor *fetch = directTensor(ctx->run, edge, /*isFetch=*/true);
  return fetch && fetch->bytes >= bytes && !isShared(*ctx->run, *fetch)
             ? fetch->data
             : planned;
}

void *weir_cuda_alloc_fetch(weir_context *ctx, int32_t edge, int64_t bytes,
                            int32_t site) {
  void *data = weir_cuda_fetch_place(ctx, edge, bytes, nullptr);
  return data ? data : weir_cuda_alloc(ctx, bytes, site);
}

/// Writes a fetch where the caller wants it in this GPU's memory, unless it
/// lies there. Who receives it on the host is told at once: the run does not
/// end before its work does.
static int32_t writeFetch(weir_context *ctx, int32_t edge, int64_t iteration,
                          const weir_tensor &value, const weir_tensor &fetch) {
  if (fetch.bytes >= value.bytes && fetch.data != value.data)
    if (int32_t code = weir_cuda_copy(ctx, fetch.data, value.data, value.bytes))
      return code;
  // One that is too small is said to be so where its shape is known.
  Block *block = allocateForRun(ctx, 1, "fetch", Block::ofRun);
  if (!block)
    return abortRun(ctx->run, recordOutOfMemory(ctx, 1, "fetch", -1));
  return passOn(ctx, edge, iteration, value, block);
}

int32_t weir_cuda_send(weir_context *ctx, int32_t edge, int64_t iteration,
                       const weir_tensor *value) {
  weir_run *run = ctx->run;
  if (uint32_t code = run->aborted.load(std::memory_order_acquire))
    return int32_t(code);
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  const char *name = run->session->program->edges[edge].name;
  iteration = nextSent(run, edge, iteration, *value);
  if (const weir_tensor *direct = directTensor(run, edge, /*isFetch=*/true))
    return writeFetch(ctx, edge, iteration, *value, *direct);
  // Pinned memory, whoever receives it.
  Block *block = allocateForRun(ctx, value->bytes, name, Block::ofRun);
  if (!block)
    return abortRun(run, recordOutOfMemory(ctx, value->bytes, name, -1));
  weir_tensor tensor = *value;
  tensor.data = block->data();
  if (value->bytes <= 0)
    return passOn(ctx, edge, iteration, tensor, block);
  auto *delivery = static_cast<Delivery *>(malloc(sizeof(Delivery)));
  if (!delivery) {
    block->memory->free(block);
    return abortRun(run, WEIR_RESOURCE_EXHAUSTED, "no memory for a copy");
  }
  *delivery = {ctx, edge, iteration, tensor, block};
  Current current(*part->device);
  if (int32_t code = flushWork(ctx)) {
    free(delivery);
    block->memory->free(block);
    return code;
  }
  Result error = driver.eventRecord(part->worked, part->work);
  if (!error)
    error = driver.streamWait(part->out, part->worked, 0);
  if (!error) {
    beginCopy(part, part->out, /*isIn=*/false, name, value->bytes);
    error = driver.copyOutAsync(tensor.data, Pointer(value->data),
                                size_t(value->bytes), part->out);
    endCopy(part, part->out);
  }
  if (!error)
    error = driver.eventRecord(part->left, part->out);
  if (!error) {
    part->outIsOpen = true;
    beginSegment(run);
    error = driver.streamCallback(part->out, onLeft, delivery, 0);
    if (!error)
      return WEIR_OK;
    endSegment(run);
  }
  // What was put may still write into the block.
  driver.streamSynchronize(part->out);
  free(delivery);
  block->memory->free(block);
  return fail(ctx, "a copy from the GPU failed", error, name, "edge");
}

int32_t weir_cuda_receive(weir_context *ctx, int32_t edge, int64_t iteration,
                          weir_tensor *out) {
  weir_run *run = ctx->run;
  int32_t code;
  Block *block = takeArrival(ctx, edge, iteration, out, &code);
  if (!block)
    return code;
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  const char *name = run->session->program->edges[edge].name;
  if (directTensor(run, edge, /*isFetch=*/false)) {
    memcpy(&out->data, block->data(), sizeof(void *));
    block->memory->free(block);
    return WEIR_OK;
  }
  int32_t landed = WEIR_OK;
  if (uint8_t *data = takeLanding(ctx, block, name, iteration == WEIR_NEXT_ITERATION, &landed)) {
    out->data = data;
    return landed;
  }
  bool used = false;
  // Used memory would have to wait for work that is not put yet, and cut it in two.
  bool nothingNoted = part->pending.count == 0;
  uint8_t *data = takePiece(ctx, out->bytes, name, nothingNoted, &used);
  if (!data && !nothingNoted)
    data = takePiece(ctx, out->bytes, name, true, &used);
  auto *staged = static_cast<Staged *>(malloc(sizeof(Staged)));
  if (!data || !staged) {
    AllocationRequest request;
    request.bytes = out->bytes;
    request.tag = name;
    char text[1016];
    part->device->memory->explainFailure(request, text, sizeof(text));
    block->memory->free(block);
    free(staged);
    return abortRun(run, WEIR_RESOURCE_EXHAUSTED, text);
  }
  *staged = {run, block};
  const void *from = out->data;
  out->data = data;
  Current current(*part->device);
  Result error = 0;
  if (used) {
    // Work put before may still read what the memory had.
    if (int32_t code = flushWork(ctx)) {
      block->memory->free(block);
      free(staged);
      return code;
    }
    error = driver.eventRecord(part->worked, part->work);
    if (!error)
      error = driver.streamWait(part->in, part->worked, 0);
    if (!error && part->outIsOpen)
      error = driver.streamWait(part->in, part->left, 0);
  }
  if (!error && out->bytes > 0) {
    beginCopy(part, part->in, /*isIn=*/true, name, out->bytes);
    error = driver.copyInAsync(Pointer(data), from, size_t(out->bytes), part->in);
    endCopy(part, part->in);
  }
  if (!error)
    error = driver.eventRecord(part->arrived, part->in);
  if (!error)
    error = driver.streamWait(part->work, part->arrived, 0);
  if (!error) {
    beginSegment(run);
    error = driver.streamCallback(part->in, onArrived, staged, 0);
    if (!error)
      return WEIR_OK;
    endSegment(run);
  }
  driver.streamSynchronize(part->in);
  block->memory->free(block);
  free(staged);
  return fail(ctx, "a copy to the GPU failed", error, name, "edge");
}

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
  if (!error)
    error = closeOut(part);
  if (!error)
    error = driver.copyOutAsync(part->error, part->errorOnDevice,
                                sizeof(weir_cuda_error), part->work);
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
  for (Stream stream : {part->in, part->work, part->out})
    driver.streamSynchronize(stream);
  return 1;
}

int32_t weir_cuda_finish(weir_context *ctx, int32_t code) {
  CudaRun *part = partOf(ctx);
  dropPieces(part);
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
    int32_t failed = fail(ctx,
                          part->device->waitsAlways
                              ? "the step failed"
                              : "the step failed (WEIR_CUDA_SYNC=1 says where)",
                          part->streamError);
    return code ? code : failed;
  }
  if (code || !part->error->taken)
    return code;
  return weir_rt_error(ctx, part->error->site, part->error->value0,
                       part->error->value1);
}
