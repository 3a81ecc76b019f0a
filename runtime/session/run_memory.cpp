//===- run_memory.cpp - memory that ends with a run, and its results ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/run.h"

#include <new>

namespace weir::rt {

/// What a chunk of such a block has too much is worth splitting off: others find room in it.
static constexpr int64_t largeBlock = 1 << 20;

Block *allocateBlock(BfcAllocator *memory, int64_t bytes, const char *tag, uint64_t kind,
                     int64_t deadline, const std::atomic<uint32_t> *stop) {
  AllocationRequest request;
  if (__builtin_add_overflow(bytes, int64_t(sizeof(Block)), &request.bytes))
    return nullptr;
  request.tag = tag;
  request.deadline = deadline;
  request.stop = stop;
  // A result is the caller's, for as long as it likes.
  request.exact = kind == Block::ofResult || bytes >= largeBlock;
  void *data = memory->allocate(request);
  return data ? new (data) Block{nullptr, nullptr, memory, bytes, kind} : nullptr;
}

Block *allocateForRun(weir_context *ctx, int64_t bytes, const char *tag, uint64_t kind) {
  weir_run *run = ctx->run;
  weir_session *session = run->session;
  BfcAllocator *memory = session->memory[ctx->device];
  if (Block *block = allocateBlock(memory, bytes, tag, kind, 0, nullptr))
    return block;
  freeAtHand(run);
  trimSession(session);
  int64_t deadline = 0;
  // Without other runs no one would free what we wait for.
  if (session->activeRuns.load(std::memory_order_relaxed) > 1 && session->allocationWait > 0) {
    deadline = now() + session->allocationWait;
    if (run->deadline < deadline)
      deadline = run->deadline;
  }
  return allocateBlock(memory, bytes, tag, kind, deadline, &run->aborted);
}

int32_t recordOutOfMemory(weir_context *ctx, int64_t bytes, const char *tag, int32_t site) {
  // What ended the wait is the reason, if it was not patience.
  if (int32_t code = checkStop(ctx->run))
    return code;
  AllocationRequest request;
  request.bytes = bytes;
  request.tag = tag;
  char text[1016];
  ctx->run->session->memory[ctx->device]->explainFailure(request, text, sizeof(text));
  return recordError(ctx->run, WEIR_RESOURCE_EXHAUSTED, site, text);
}

void linkBlock(weir_run *run, Block *block) {
  Lock lock(run->mutex);
  linkBlockLocked(run, block);
}

void linkBlockLocked(weir_run *run, Block *block) {
  block->previous = nullptr;
  block->next = run->blocks;
  if (run->blocks)
    run->blocks->previous = block;
  run->blocks = block;
}

void freeLinked(weir_run *run, Block *block) {
  {
    Lock lock(run->mutex);
    (block->previous ? block->previous->next : run->blocks) = block->next;
    if (block->next)
      block->next->previous = block->previous;
    if (block->bytes <= fewBytes && run->atHandCount < run->maxAtHand) {
      block->kind = Block::atHand;
      giveBack(block);
      run->atHand[run->atHandCount++] = block;
      return;
    }
  }
  block->memory->free(block);
}

Block *takeAtHandLocked(weir_run *run, int32_t device, int64_t bytes) {
  const BfcAllocator *memory = run->session->memory[device];
  for (int32_t i = 0; i < run->atHandCount && bytes <= fewBytes; ++i) {
    Block *block = run->atHand[i];
    if (block->memory != memory || block->used.load(std::memory_order_acquire) != 0)
      continue;
    block->used.store(1, std::memory_order_relaxed);
    block->bytes = bytes;
    return block;
  }
  return nullptr;
}

void freeAtHand(weir_run *run) {
  Block *freed[weir_run::maxAtHand];
  int32_t count = 0, kept = 0;
  {
    Lock lock(run->mutex);
    for (int32_t i = 0; i < run->atHandCount; ++i) {
      Block *block = run->atHand[i];
      if (block->used.load(std::memory_order_acquire) != 0)
        run->atHand[kept++] = block;
      else
        freed[count++] = block;
    }
    run->atHandCount = kept;
  }
  for (int32_t i = 0; i < count; ++i)
    freed[i]->memory->free(freed[i]);
}

Block *findResult(weir_session *session, void *data) {
  if (!data || uintptr_t(data) < sizeof(Block))
    return nullptr;
  Block *block = Block::of(data);
  // The allocators know by their own tables: memory of the caller's is not
  // looked into.
  for (int32_t i = 0; i < session->deviceCount; ++i)
    if (session->memory[i]->requestedSize(block) >= int64_t(sizeof(Block)))
      return block->kind == Block::ofResult ? block : nullptr;
  return nullptr;
}

/// Tries it once for each device; -1: all have one, else the device that lacks
/// it, with the request that failed. An entry that needs less than the one before gives back
/// the rest: results may take it.
static int32_t allocateArenas(weir_run *run, int64_t deadline, AllocationRequest *request) {
  const weir_session *session = run->session;
  for (int32_t i = 0; i < session->deviceCount; ++i) {
    const weir_device_desc &device = session->program->devices[i];
    DeviceRun &deviceRun = run->devices[i];
    int64_t need = hasStep(run, i) ? arenaBytesOf(session->program, run->entry, i) : 0;
    if (need == deviceRun.arenaBytes || acceleratorOf(session, i))
      continue;
    session->memory[i]->free(deviceRun.arenaBlock);
    deviceRun.arenaBlock = nullptr;
    deviceRun.arenaBytes = 0;
    if (need <= 0)
      continue;
    // Chunks are aligned to 256; what wants more gets room to be moved in.
    int64_t align = device.arena_align > granule ? device.arena_align : 0;
    request->bytes = need + align;
    request->tag = arenaTag(session->program, i);
    request->deadline = deadline;
    request->stop = &run->aborted;
    request->exact = true;
    // Memory is asked for by the largest entry's arena, whatever runs first: others, and their
    // results, lie in it.
    if (!deviceRun.hadArena && need < device.arena_bytes) {
      AllocationRequest largest = *request;
      largest.bytes = device.arena_bytes + align;
      largest.deadline = 0;
      session->memory[i]->free(session->memory[i]->allocate(largest));
    }
    deviceRun.hadArena = true;
    void *block = session->memory[i]->allocate(*request);
    if (!block)
      return i;
    deviceRun.arenaBlock = block;
    deviceRun.arenaBytes = need;
    auto address = uintptr_t(block);
    if (align)
      address = (address + uintptr_t(align) - 1) / uintptr_t(align) * uintptr_t(align);
    deviceRun.context.arena = reinterpret_cast<uint8_t *>(address);
  }
  return -1;
}

int32_t prepareArenas(weir_run *run, int64_t deadline) {
  weir_session *session = run->session;
  for (int32_t i = 0; i < session->deviceCount; ++i)
    if (Accelerator *accelerator = acceleratorOf(session, i); accelerator && run->entry->steps[i])
      if (int32_t code = accelerator->desc->driver->begin(run, i))
        return code;
  AllocationRequest request;
  int32_t device = allocateArenas(run, 0, &request);
  if (device >= 0) {
    // Other arenas that lie idle, then those of runs that are about to end.
    trimSession(session);
    bool others = session->activeRuns.load(std::memory_order_relaxed) > 1;
    device = allocateArenas(run, others ? deadline : 0, &request);
  }
  if (device < 0)
    return WEIR_OK;
  // What ended the wait is the reason, if it was not patience.
  if (int32_t code = checkStop(run))
    return code;
  char text[1016];
  session->memory[device]->explainFailure(request, text, sizeof(text));
  return abortRun(run, WEIR_RESOURCE_EXHAUSTED, text);
}

} // namespace weir::rt

using namespace weir::rt;

void *weir_rt_alloc(weir_context *ctx, int64_t bytes, int32_t site) {
  weir_run *run = ctx->run;
  if (site < 0)
    site = run->devices[ctx->device].librarySite;
  if (bytes < 0) {
    abortRun(run, weir_rt_error_text(ctx, site, WEIR_INTERNAL,
                                     "a buffer of {0} bytes was asked for", bytes, 0));
    return nullptr;
  }
  // What sizes are multiplied to where no number holds it: there is no such shape.
  if (bytes == INT64_MAX) {
    abortRun(run, weir_rt_error_text(ctx, site, WEIR_INVALID_ARGUMENT,
                                     "its shape has more elements than any memory holds", 0, 0));
    return nullptr;
  }
  if (bytes <= fewBytes) {
    Lock lock(run->mutex);
    if (Block *block = takeAtHandLocked(run, int32_t(ctx->device), bytes))
      return block->data();
  }
  const char *tag = nodeOf(run, site);
  Block *block = allocateForRun(ctx, bytes, tag, Block::ofRun);
  if (!block) {
    // Null carries no code, so that the run must learn of it here.
    abortRun(run, recordOutOfMemory(ctx, bytes, tag, site));
    return nullptr;
  }
  linkBlock(run, block);
  return block->data();
}

void weir_rt_free(weir_context *ctx, void *data) {
  if (!data)
    return;
  Block *block = Block::of(data);
  if (block->kind == Block::ofRunKept)
    return;
  if (block->kind == Block::atHand)
    return giveBack(block);
  freeLinked(ctx->run, block);
}

void weir_rt_fetch_received(weir_context *ctx, int32_t index, void *to, const void *from,
                            int64_t bytes) {
  const uint8_t *there = ctx->run->fetchesOnDevice;
  if ((!there || !there[index]) && !ctx->run->results[index].arrived)
    memcpy(to, from, size_t(bytes));
}

void *weir_rt_fetch(weir_context *ctx, int32_t index, int32_t rank, const int64_t *dims,
                    int64_t bytes) {
  weir_run *run = ctx->run;
  const weir_entry_desc &entry = *run->entry;
  int64_t count = elementCount(rank, dims);
  if (bytes == INT64_MAX && index >= 0 && index < entry.fetch_count) {
    char text[512];
    Text out(text, sizeof(text));
    out << "fetch \"" << entry.fetches[index].name << "\" would have shape ";
    appendShape(out, rank, dims);
    out << ", more than any memory holds";
    // A shape whose elements no number counts is none.
    abortRun(run, count < 0 ? WEIR_INVALID_ARGUMENT : WEIR_RESOURCE_EXHAUSTED, text);
    return nullptr;
  }
  if (index < 0 || index >= entry.fetch_count || rank < 0 || rank > WEIR_MAX_RANK || count < 0 ||
      bytes / (weir_dtype_size(entry.fetches[index].dtype) | !count) != count) {
    char text[256];
    Text out(text, sizeof(text));
    out << "fetch " << index << " of entry \"" << entry.name << "\" is said to "
        << "have rank " << rank << " and " << bytes
        << " bytes, which contradict each other or the entry";
    abortRun(run, WEIR_INTERNAL, text);
    return nullptr;
  }
  FetchResult &result = run->results[index];
  if (result.block)
    result.block->memory->free(result.block);
  result.block = nullptr;
  const weir_tensor &offer = run->fetches[index];
  if (run->fetchesOnDevice && run->fetchesOnDevice[index] && offer.bytes < bytes) {
    char text[256];
    Text out(text, sizeof(text));
    out << "fetch \"" << entry.fetches[index].name << "\" of entry \"" << entry.name
        << "\": found a buffer on the " << acceleratorKind(run->session) << " of " << offer.bytes
        << " bytes, possible: " << bytes << " or more";
    abortRun(run, WEIR_INVALID_ARGUMENT, text);
    return nullptr;
  }
  bool inPlace = offer.data && offer.bytes >= bytes && !hasContents(entry.fetches[index].dtype);
  if (inPlace) {
    result.data = offer.data;
  } else {
    const char *tag = entry.fetches[index].name;
    result.block = allocateForRun(ctx, bytes, tag, Block::ofResult);
    if (!result.block) {
      abortRun(run, recordOutOfMemory(ctx, bytes, tag, -1));
      return nullptr;
    }
    result.data = result.block->data();
  }
  result.bytes = bytes;
  result.rank = rank;
  for (int32_t i = 0; i < rank; ++i)
    result.dims[i] = dims[i];
  result.written = true;
  return result.data;
}
