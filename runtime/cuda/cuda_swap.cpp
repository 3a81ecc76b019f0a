//===- cuda_swap.cpp - values that wait in the host's memory ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_device.h"

#include <stdlib.h>

using namespace weir::rt;
using namespace weir::rt::cuda;

namespace weir::rt::cuda {

Result closeSwaps(CudaRun *part) {
  if (!part->swapped)
    return 0;
  const Driver &driver = *part->device->driver;
  Result error = driver.eventRecord(part->arrived, part->in);
  if (!error)
    error = driver.streamWait(part->work, part->arrived, 0);
  if (!error)
    error = driver.eventRecord(part->left, part->out);
  part->outIsOpen = true;
  return error;
}

void dropSwaps(CudaRun *part) {
  for (int32_t i = 0; i < part->swapCount; ++i) {
    SwapSlot &slot = part->swaps[i];
    if (slot.block)
      slot.block->memory->free(slot.block);
    for (Event event : {slot.out, slot.in})
      if (event)
        part->device->driver->eventDestroy(event);
  }
  free(part->swaps);
  part->swaps = nullptr;
  part->swapCount = 0;
}

} // namespace weir::rt::cuda

/// Slot `number` with room for `bytes`. Null: the run was aborted with `code`.
static SwapSlot *slotFor(weir_context *ctx, int32_t number, int64_t bytes, int32_t *code) {
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  const char *tag = "values that wait in the host's memory";
  if (number >= part->swapCount) {
    auto *grown =
        static_cast<SwapSlot *>(realloc(part->swaps, sizeof(SwapSlot) * size_t(number + 1)));
    if (!grown) {
      *code = abortRun(ctx->run, recordOutOfMemory(ctx, bytes, tag, -1));
      return nullptr;
    }
    part->swaps = grown;
    memset(grown + part->swapCount, 0, sizeof(SwapSlot) * size_t(number + 1 - part->swapCount));
    part->swapCount = number + 1;
  }
  SwapSlot &slot = part->swaps[number];
  // Another entry's value may have been smaller; nothing of that is in flight.
  if (slot.block && slot.block->bytes < bytes) {
    slot.block->memory->free(slot.block);
    slot.block = nullptr;
  }
  if (!slot.block && !(slot.block = allocateForRun(ctx, bytes, tag, Block::ofRun))) {
    *code = abortRun(ctx->run, recordOutOfMemory(ctx, bytes, tag, -1));
    return nullptr;
  }
  Result error = 0;
  for (Event *event : {&slot.out, &slot.in})
    if (!*event && !error)
      error = driver.eventCreate(event, eventDisableTiming);
  if (!error)
    return &slot;
  *code = fail(ctx, "a value cannot be copied to the host", error);
  return nullptr;
}

int32_t weir_cuda_swap_out(weir_context *ctx, int32_t number, const void *data, int64_t bytes) {
  int32_t code = checkStop(ctx->run);
  if (code)
    return code;
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  Current current(*part->device);
  SwapSlot *slot = slotFor(ctx, number, bytes, &code);
  if (!slot || (code = flushWork(ctx)))
    return code;
  part->swapped = true;
  Result error = driver.eventRecord(part->worked, part->work);
  if (!error)
    error = driver.streamWait(part->out, part->worked, 0);
  // In a loop: what the turn before left here may still be copied back.
  if (!error && slot->cameBack)
    error = driver.streamWait(part->out, slot->in, 0);
  if (!error) {
    beginCopy(part, part->out, /*isIn=*/false, "swap out", bytes);
    error = driver.copyOutAsync(slot->block->data(), Pointer(data), size_t(bytes), part->out);
    endCopy(part, part->out);
  }
  if (!error)
    error = driver.eventRecord(slot->out, part->out);
  return error ? fail(ctx, "a value cannot be copied to the host", error) : int32_t(WEIR_OK);
}

int32_t weir_cuda_swap_in(weir_context *ctx, int32_t number, void *data, int64_t bytes) {
  int32_t code = checkStop(ctx->run);
  if (code)
    return code;
  CudaRun *part = partOf(ctx);
  const Driver &driver = *part->device->driver;
  SwapSlot &slot = part->swaps[number];
  Current current(*part->device);
  if ((code = flushWork(ctx)))
    return code;
  // What had the memory before is done with, by work and by what is sent.
  Result error = driver.eventRecord(part->worked, part->work);
  if (!error)
    error = driver.streamWait(part->in, part->worked, 0);
  if (!error && part->outIsOpen)
    error = driver.streamWait(part->in, part->left, 0);
  if (!error)
    error = driver.streamWait(part->in, slot.out, 0);
  if (!error) {
    beginCopy(part, part->in, /*isIn=*/true, "swap in", bytes);
    error = driver.copyInAsync(Pointer(data), slot.block->data(), size_t(bytes), part->in);
    endCopy(part, part->in);
  }
  if (!error)
    error = driver.eventRecord(slot.in, part->in);
  slot.cameBack = true;
  return error ? fail(ctx, "a value cannot be copied back from the host", error) : int32_t(WEIR_OK);
}

int32_t weir_cuda_await_swap(weir_context *ctx, int32_t copy) {
  if (int32_t code = checkStop(ctx->run))
    return code;
  CudaRun *part = partOf(ctx);
  const SwapSlot &slot = part->swaps[copy / 2];
  Current current(*part->device);
  // What was noted before need not wait.
  if (int32_t code = flushWork(ctx))
    return code;
  Result error = part->device->driver->streamWait(part->work, copy % 2 ? slot.in : slot.out, 0);
  return error ? fail(ctx, "a copy between the GPU and the host cannot be waited for", error)
               : int32_t(WEIR_OK);
}
