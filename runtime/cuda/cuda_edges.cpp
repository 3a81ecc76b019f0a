//===- cuda_edges.cpp - tensors to and from GPUs ------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Tensors cross between the host and a GPU by way of pinned memory, but for large
// feeds, which are read where the caller has them, and large fetches into pinned
// memory of the caller's, which are written there: a copy on the host would take
// longer than the one to the GPU.
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_device.h"

#include <stdlib.h>

namespace weir::rt::cuda {

/// A copy in either direction that the host waits for. Its end is told on the driver's
/// thread, which may neither call the driver nor wait for who does: all that follows is
/// a task.
struct Transfer {
  Task task;
  weir_context *ctx;
  Block *block; ///< what is delivered, or free again
  Result status;
  int32_t edge; ///< -1: staging memory that was read
  int64_t iteration;
  weir_tensor tensor;
};

static Transfer *makeTransfer(weir_context *ctx, Block *block) {
  auto *transfer = static_cast<Transfer *>(calloc(1, sizeof(Transfer)));
  if (!transfer)
    return nullptr;
  transfer->ctx = ctx;
  transfer->block = block;
  transfer->edge = -1;
  return transfer;
}

static void finishTransfer(Task *task) {
  auto *transfer = reinterpret_cast<Transfer *>(task);
  weir_context *ctx = transfer->ctx;
  if (transfer->edge >= 0 && transfer->status == 0) {
    passOn(ctx, transfer->edge, transfer->iteration, transfer->tensor, transfer->block);
  } else {
    transfer->block->memory->free(transfer->block);
    if (transfer->edge >= 0)
      fail(ctx, "a copy from the GPU failed", transfer->status);
  }
  free(transfer);
  endSegment(ctx->run);
}

/// The segment that was begun for it passes to the task.
static void onTransferred(Stream, Result status, void *data) {
  auto *transfer = static_cast<Transfer *>(data);
  transfer->status = status;
  transfer->task.run = finishTransfer;
  transfer->task.owner = transfer->ctx->run;
  transfer->ctx->run->session->executor->post(&transfer->task);
}

/// Lets the transfer end with what lies in `stream` now.
static Result endWith(weir_context *ctx, Transfer *transfer, Stream stream) {
  beginSegment(ctx->run);
  Result error = partOf(ctx)->device->driver->streamCallback(stream, onTransferred, transfer, 0);
  if (error)
    endSegment(ctx->run);
  return error;
}

} // namespace weir::rt::cuda

using namespace weir::rt;
using namespace weir::rt::cuda;

//===----------------------------------------------------------------------===//
// Fetches
//===----------------------------------------------------------------------===//

/// Whether a feed other than `under`, or another fetch, has some of the bytes of `fetch`. The
/// memories of GPUs and of the host have other addresses.
static bool isShared(const weir_run &run, const weir_tensor &fetch,
                     const weir_tensor *under = nullptr) {
  auto meets = [&](const weir_tensor *tensors, int32_t count) {
    auto begin = reinterpret_cast<uintptr_t>(fetch.data);
    for (int32_t i = 0; i < count; ++i) {
      auto other = reinterpret_cast<uintptr_t>(tensors[i].data);
      if (other && &tensors[i] != &fetch && &tensors[i] != under &&
          other < begin + uintptr_t(fetch.bytes) && begin < other + uintptr_t(tensors[i].bytes))
        return true;
    }
    return false;
  };
  return meets(run.feeds, run.entry->feed_count) || meets(run.fetches, run.entry->fetch_count);
}

void *weir_cuda_fetch_place(weir_context *ctx, int32_t edge, int64_t bytes, void *planned) {
  const weir_tensor *fetch = directTensor(ctx->run, edge, /*isFetch=*/true);
  return fetch && fetch->bytes >= bytes && !isShared(*ctx->run, *fetch) ? fetch->data : planned;
}

void *weir_cuda_fetch_over(weir_context *ctx, int32_t edge, int32_t feed, int64_t bytes,
                           void *planned) {
  const weir_tensor *fetch = directTensor(ctx->run, edge, /*isFetch=*/true),
                    *under = directTensor(ctx->run, feed, /*isFetch=*/false);
  bool isOver = fetch && under && fetch->data == under->data && under->bytes <= bytes &&
                fetch->bytes >= bytes && !isShared(*ctx->run, *fetch, under);
  return isOver ? fetch->data : weir_cuda_fetch_place(ctx, edge, bytes, planned);
}

void *weir_cuda_alloc_fetch(weir_context *ctx, int32_t edge, int32_t feed, int64_t bytes,
                            int32_t site) {
  void *data = feed < 0 ? weir_cuda_fetch_place(ctx, edge, bytes, nullptr)
                        : weir_cuda_fetch_over(ctx, edge, feed, bytes, nullptr);
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

/// Whether the driver copies to and from `data` by itself.
static bool isPinned(const Driver &driver, const void *data) {
  constexpr unsigned ofHost = 1;
  unsigned type = 0;
  return driver.pointerAttribute(&type, pointerMemoryType, Pointer(data)) == 0 && type == ofHost;
}

/// Where the fetch that goes over the edge is copied to at once: the caller's memory.
/// Null: it goes by way of the run's. The context is current.
static FetchResult *fetchToWrite(weir_context *ctx, int32_t edge, const weir_tensor &value,
                                 void **data) {
  weir_run *run = ctx->run;
  int32_t number = value.bytes >= leastBorrowed ? hostFetch(run, edge) : -1;
  if (number < 0 || run->part)
    return nullptr;
  const weir_tensor &offer = run->fetches[number];
  if (!offer.data || offer.bytes < value.bytes || isShared(*run, offer) ||
      !isPinned(*partOf(ctx)->device->driver, offer.data))
    return nullptr;
  *data = offer.data;
  return &run->results[number];
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
  Current current(*part->device);
  void *target = nullptr;
  FetchResult *result = fetchToWrite(ctx, edge, *value, &target);
  // Pinned memory, whoever receives it; or a message without a value.
  int64_t bytes = result ? 1 : value->bytes;
  Block *block = allocateForRun(ctx, bytes, name, Block::ofRun);
  if (!block)
    return abortRun(run, recordOutOfMemory(ctx, bytes, name, -1));
  weir_tensor tensor = *value;
  tensor.data = result ? target : block->data();
  if (value->bytes <= 0)
    return passOn(ctx, edge, iteration, tensor, block);
  Transfer *transfer = makeTransfer(ctx, block);
  if (!transfer) {
    block->memory->free(block);
    return abortRun(run, WEIR_RESOURCE_EXHAUSTED, "no memory for a copy");
  }
  transfer->edge = edge;
  transfer->iteration = iteration;
  transfer->tensor = tensor;
  if (int32_t code = flushWork(ctx)) {
    free(transfer);
    block->memory->free(block);
    return code;
  }
  Result error = driver.eventRecord(part->worked, part->work);
  if (!error)
    error = driver.streamWait(part->out, part->worked, 0);
  if (!error) {
    beginCopy(part, part->out, /*isIn=*/false, name, value->bytes);
    error = driver.copyOutAsync(tensor.data, Pointer(value->data), size_t(value->bytes), part->out);
    endCopy(part, part->out);
  }
  if (!error)
    error = driver.eventRecord(part->left, part->out);
  if (!error) {
    part->outIsOpen = true;
    // Before who looks at it is told.
    if (result)
      result->arrived = true;
    error = endWith(ctx, transfer, part->out);
    if (!error)
      return WEIR_OK;
  }
  // What was put may still write into the block.
  driver.streamSynchronize(part->out);
  free(transfer);
  block->memory->free(block);
  return fail(ctx, "a copy from the GPU failed", error, name, "edge");
}

//===----------------------------------------------------------------------===//
// Feeds, and all else that comes from the host
//===----------------------------------------------------------------------===//

/// Memory of the GPU for what comes; null: there is none. `used`: work that was put
/// before may still read it.
static uint8_t *placeFor(weir_context *ctx, int64_t bytes, const char *name, bool *used) {
  // Used memory would have to wait for work that is not put yet, and cut it in two.
  bool nothingNoted = partOf(ctx)->pending.count == 0;
  uint8_t *data = takePiece(ctx, bytes, name, nothingNoted, used);
  return data || nothingNoted ? data : takePiece(ctx, bytes, name, true, used);
}

int32_t weir_cuda_receive(weir_context *ctx, int32_t edge, int64_t iteration, weir_tensor *out) {
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
  bool isInLoop = iteration == WEIR_NEXT_ITERATION;
  int32_t landed = WEIR_OK;
  if (uint8_t *data = takeLanding(ctx, block, name, isInLoop, &landed)) {
    out->data = data;
    return landed;
  }
  const void *from = out->data;
  if (isBorrowed(*block, *out)) {
    // The caller's memory stays as it is until the run has ended.
    memcpy(&from, block->data(), sizeof(from));
    block->memory->free(block);
    block = nullptr;
  } else if (!isInLoop) {
    linkBlock(run, block);
    block = nullptr;
  }
  bool used = false;
  uint8_t *data = placeFor(ctx, out->bytes, name, &used);
  Transfer *transfer = block && data ? makeTransfer(ctx, block) : nullptr;
  auto giveUp = [&] {
    free(transfer);
    if (block)
      block->memory->free(block);
  };
  if (!data || (block && !transfer)) {
    int32_t code = abortOutOfMemory(run, *part->device, out->bytes, name);
    giveUp();
    return code;
  }
  out->data = data;
  Current current(*part->device);
  Result error = 0;
  if (used) {
    // Work put before may still read what the memory had.
    if (int32_t code = flushWork(ctx)) {
      giveUp();
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
  // In a loop staging memory is needed again before the run ends.
  if (!error && transfer)
    error = endWith(ctx, transfer, part->in);
  if (!error)
    return WEIR_OK;
  driver.streamSynchronize(part->in);
  giveUp();
  return fail(ctx, "a copy to the GPU failed", error, name, "edge");
}
