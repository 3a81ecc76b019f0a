//===- bfc_allocator.cpp - best fit with coalescing -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "bfc/bfc_allocator.h"

#include <initializer_list>

namespace weir::rt {

/// Far from where sums of sizes would overflow.
static constexpr int64_t unlimited = int64_t(1) << 62;

BfcAllocator::BfcAllocator(const char *name, SubAllocator source, BfcOptions options)
    : name(name), source(source), options(options),
      limit(options.limit > 0 ? options.limit / granule * granule : unlimited),
      regions(source.largePage), nextRegion(roundUpToGranule(options.firstRegion)) {
  if (!options.growth)
    nextRegion = limit;
}

BfcAllocator::~BfcAllocator() {
  for (int32_t i = 0; i < regions.count(); ++i)
    source.release(source.self, regions[i].base, regions[i].bytes);
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

void *BfcAllocator::allocate(const AllocationRequest &request) {
  if (request.bytes <= 0 || request.bytes > unlimited)
    return nullptr;
  int64_t rounded = roundUpToGranule(request.bytes);
  Lock lock(mutex);
  void *data = tryAllocate(request, rounded);
  if (data || request.deadline == 0)
    return data;

  // Someone may free. A deadline bounds the sum of all waits, however often
  // frees that were of no use wake us.
  ++waits;
  ++waiting;
  while (!data && inUse > 0 && rounded <= limit) {
    if (request.stop && request.stop->load(std::memory_order_acquire))
      break;
    bool inTime = true;
    if (request.deadline == noDeadline)
      freed.wait(mutex);
    else
      inTime = freed.waitUntil(mutex, request.deadline);
    data = tryAllocate(request, rounded);
    if (!inTime)
      break;
  }
  --waiting;
  return data;
}

/// The order of attempts, cheapest and least intrusive first.
void *BfcAllocator::tryAllocate(const AllocationRequest &request, int64_t rounded) {
  mergeSafe();
  if (void *data = find(request, rounded))
    return data;
  if (extend(rounded))
    if (void *data = find(request, rounded))
      return data;
  // Chunks that others may still be reading are merged only for a caller that
  // is ordered after all of them.
  if (request.freedBy == 0 && mergeUnsafe(rounded))
    if (void *data = find(request, rounded))
      return data;
  // Idle regions are too small or in the way of a larger one. No use when even
  // without them the limit would not do.
  if (options.collect && rounded <= limit - reserved + idleBytes() && collectIdle() > 0 &&
      extend(rounded))
    return find(request, rounded);
  return nullptr;
}

void *BfcAllocator::find(const AllocationRequest &request, int64_t rounded) {
  int first = binOf(rounded);
  for (uint32_t rest = nonEmptyBins >> first << first; rest; rest &= rest - 1) {
    const FreeBin &bin = bins[__builtin_ctz(rest)];
    ChunkHandle handle = bin.notBefore(chunks, rounded, nullptr);
    while (handle != noChunk) {
      Chunk &chunk = chunks[handle];
      if (request.freedBy == 0 || chunk.freedAt <= request.freedBy)
        return take(handle, request, rounded);
      handle = bin.notBefore(chunks, chunk.size, chunk.data + 1);
    }
  }
  return nullptr;
}

void *BfcAllocator::take(ChunkHandle handle, const AllocationRequest &request, int64_t rounded) {
  removeFree(handle);
  int64_t surplus = chunks[handle].size - rounded;
  // Small surpluses stay with a chunk that soon comes back: splinters would be of
  // no use, and cost a merge later.
  if (surplus > 0 && (request.exact || surplus >= rounded || surplus >= options.splitSurplus)) {
    bool high = request.end == ChunkEnd::High;
    ChunkHandle upper = split(handle, high ? surplus : rounded);
    if (upper != noChunk) {
      insertFree(high ? handle : upper);
      handle = high ? upper : handle;
    }
  }
  Chunk &chunk = chunks[handle];
  chunk.requested = request.bytes;
  chunk.tag = request.tag;
  chunk.number = uint64_t(++allocations);
  chunk.freedAt = 0;
  ++live;
  inUse += chunk.size;
  requested += request.bytes;
  if (inUse > peakInUse)
    peakInUse = inUse;
  if (request.bytes > largest)
    largest = request.bytes;
  // Small pages around what ends within a large one: the rest of that would be resident for
  // nothing, and so would a surplus.
  if (source.largePage && rounded >= source.largePage / 2)
    regions.enlarge(chunk.data, rounded, [&](uint8_t *page, int64_t bytes) {
      source.enlarge(source.self, page, bytes);
    });
  return chunk.data;
}

/// Cuts a chunk that is in no bin after `lowSize` bytes and returns the upper
/// part, in no bin either; noChunk when the host is out of memory.
ChunkHandle BfcAllocator::split(ChunkHandle handle, int64_t lowSize) {
  ChunkHandle upperHandle = chunks.acquire();
  if (upperHandle == noChunk)
    return noChunk;
  Chunk &lower = chunks[handle], &upper = chunks[upperHandle];
  upper.data = lower.data + lowSize;
  upper.size = lower.size - lowSize;
  upper.requested = -1;
  upper.tag = "";
  upper.freedAt = lower.freedAt;
  upper.previous = handle;
  upper.next = lower.next;
  if (lower.next != noChunk)
    chunks[lower.next].previous = upperHandle;
  lower.next = upperHandle;
  lower.size = lowSize;
  regions.setChunkAt(upper.data, upperHandle);
  return upperHandle;
}

//===----------------------------------------------------------------------===//
// Growth and collection
//===----------------------------------------------------------------------===//

/// Adds to the free end of a region what a request lacks there.
bool BfcAllocator::extendTail(int64_t rounded) {
  if (!source.extend)
    return false;
  for (int32_t i = 0; i < regions.count(); ++i) {
    ChunkHandle last = regions[i].handles[0];
    while (chunks[last].next != noChunk)
      last = chunks[last].next;
    const Chunk &chunk = chunks[last];
    int64_t missing = rounded - chunk.size;
    if (chunk.inUse() || !isSafe(chunk) || missing <= 0 || missing > limit - reserved ||
        !chunks.reserve())
      continue;
    int64_t received = 0;
    void *data = source.extend(source.self, regions[i].end(), missing, &received);
    if (!data)
      continue;
    // Whole granules of the source may be more than the limit leaves.
    if (received <= limit - reserved && addRegion(static_cast<uint8_t *>(data), received))
      return true;
    source.release(source.self, data, received);
  }
  return false;
}

bool BfcAllocator::extend(int64_t rounded) {
  return extendAnywhere(rounded) || extendTail(rounded);
}

bool BfcAllocator::extendAnywhere(int64_t rounded) {
  int64_t available = limit - reserved;
  if (rounded > available || !chunks.reserve())
    return false;
  bool doubled = false;
  while (nextRegion < rounded) {
    nextRegion *= 2;
    doubled = true;
  }
  int64_t bytes = nextRegion < available ? nextRegion : available;
  if (source.spare && bytes > rounded) {
    int64_t spare = source.spare(source.self) / granule * granule;
    bytes = spare > rounded ? (spare < bytes ? spare : bytes) : rounded;
  }
  int64_t received = 0;
  void *data = source.allocate(source.self, granule, bytes, &received);
  // The system has less than we would like to take ahead: nine tenths of it,
  // and so on, down to what is needed.
  while (!data && bytes > rounded) {
    bytes = bytes / 10 * 9 / granule * granule;
    if (bytes < rounded)
      bytes = rounded;
    data = source.allocate(source.self, granule, bytes, &received);
  }
  if (!data)
    return false;
  if (!addRegion(static_cast<uint8_t *>(data), received / granule * granule)) {
    source.release(source.self, data, received);
    return false;
  }
  if (options.growth && !doubled && nextRegion < unlimited / 2)
    nextRegion *= 2;
  return true;
}

bool BfcAllocator::addRegion(uint8_t *base, int64_t bytes) {
  int32_t index = regions.add(base, bytes);
  if (index < 0)
    return false;
  ChunkHandle handle = chunks.acquire(); // reserved by extend
  Chunk &chunk = chunks[handle];
  chunk.data = base;
  chunk.size = bytes;
  chunk.requested = -1;
  chunk.tag = "";
  regions[index].handles[0] = handle;
  reserved += bytes;

  // Regions that touch become one, so that a chunk may lie across the border.
  for (int32_t low : {index, index - 1}) {
    if (!source.coalesces || low < 0 || low + 1 >= regions.count() ||
        regions[low].end() != regions[low + 1].base)
      continue;
    ChunkHandle upper = regions[low + 1].handles[0];
    ChunkHandle lower = regions[low].handles[0];
    while (chunks[lower].next != noChunk)
      lower = chunks[lower].next;
    if (!regions.join(low, chunks))
      continue;
    chunks[lower].next = upper;
    chunks[upper].previous = lower;
  }
  insertFree(coalesce(handle, /*ignoreStamps=*/false));
  return true;
}

/// A region is idle when it is one free chunk that no one may still read.
static bool isIdle(const Region &region, const ChunkTable &chunks) {
  const Chunk &chunk = chunks[region.handles[0]];
  return !chunk.inUse() && chunk.size == region.bytes && chunk.freedAt == 0;
}

int64_t BfcAllocator::idleBytes() const {
  int64_t bytes = 0;
  for (int32_t i = 0; i < regions.count(); ++i)
    if (isIdle(regions[i], chunks))
      bytes += regions[i].bytes;
  return bytes;
}

int64_t BfcAllocator::collectIdle() {
  int64_t bytes = 0;
  for (int32_t i = regions.count() - 1; i >= 0; --i) {
    Region region = regions[i];
    if (!isIdle(region, chunks))
      continue;
    removeFree(region.handles[0]);
    chunks.release(region.handles[0]);
    regions.remove(i);
    source.release(source.self, region.base, region.bytes);
    bytes += region.bytes;
  }
  if (bytes > 0) {
    reserved -= bytes;
    collected += bytes;
    // What was given back did not fit the need: growth begins anew.
    if (options.growth)
      nextRegion = roundUpToGranule(options.firstRegion);
  }
  return bytes;
}

int64_t BfcAllocator::collect() {
  Lock lock(mutex);
  mergeSafe();
  return collectIdle();
}

//===----------------------------------------------------------------------===//
// Freeing and merging
//===----------------------------------------------------------------------===//

bool BfcAllocator::free(void *data) {
  if (!data)
    return true;
  Lock lock(mutex);
  ChunkHandle handle = regions.chunkAt(data);
  if (handle == noChunk || !chunks[handle].inUse())
    return false;
  Chunk &chunk = chunks[handle];
  --live;
  inUse -= chunk.size;
  requested -= chunk.requested;
  chunk.requested = -1;
  if (options.clock)
    chunk.freedAt = options.clock->load(std::memory_order_acquire);
  if (isSafe(chunk))
    chunk.freedAt = 0;
  // With a stamp, neighbours could not be told apart any more once merged.
  if (chunk.freedAt == 0)
    handle = coalesce(handle, /*ignoreStamps=*/false);
  insertFree(handle);
  if (waiting > 0)
    freed.notifyAll();
  return true;
}

/// Merges a chunk that is in no bin with its free neighbours, the next one,
/// then the previous one, and returns the result, which is in no bin either.
ChunkHandle BfcAllocator::coalesce(ChunkHandle handle, bool ignoreStamps) {
  auto mergeable = [&](ChunkHandle neighbour) {
    return neighbour != noChunk && !chunks[neighbour].inUse() &&
           (ignoreStamps || chunks[neighbour].freedAt == 0);
  };
  ChunkHandle next = chunks[handle].next;
  if (mergeable(next)) {
    removeFree(next);
    handle = join(handle, next);
  }
  ChunkHandle previous = chunks[handle].previous;
  if (mergeable(previous)) {
    removeFree(previous);
    handle = join(previous, handle);
  }
  return handle;
}

ChunkHandle BfcAllocator::join(ChunkHandle lowHandle, ChunkHandle highHandle) {
  Chunk &low = chunks[lowHandle], &high = chunks[highHandle];
  regions.setChunkAt(high.data, noChunk);
  low.size += high.size;
  low.next = high.next;
  if (high.next != noChunk)
    chunks[high.next].previous = lowHandle;
  if (high.freedAt > low.freedAt)
    low.freedAt = high.freedAt;
  chunks.release(highHandle);
  return lowHandle;
}

/// Clears the stamps that the frontier has passed, and merges those chunks.
void BfcAllocator::mergeSafe() {
  // A merge may take any other chunk off the list, so each find starts anew;
  // passed chunks leave it for good.
  for (ChunkHandle handle = stamped; handle != noChunk;) {
    if (!isSafe(chunks[handle])) {
      handle = chunks[handle].stampNext;
      continue;
    }
    ChunkHandle next = chunks[handle].stampNext;
    removeFree(handle);
    chunks[handle].freedAt = 0;
    // Only unstamped neighbours are merged: `next` stays valid.
    insertFree(coalesce(handle, /*ignoreStamps=*/false));
    handle = next;
  }
}

/// Merges stamped chunks, whatever their stamps, until one is large enough.
bool BfcAllocator::mergeUnsafe(int64_t rounded) {
  for (ChunkHandle handle = stamped; handle != noChunk;) {
    int64_t size = chunks[handle].size;
    ChunkHandle next = chunks[handle].stampNext;
    removeFree(handle);
    ChunkHandle whole = coalesce(handle, /*ignoreStamps=*/true);
    insertFree(whole);
    if (chunks[whole].size >= rounded)
      return true;
    // A merge may have taken `next` off the list; there are fewer chunks after
    // each, so starting anew ends.
    handle = chunks[whole].size == size ? next : stamped;
  }
  return false;
}

void BfcAllocator::setSafeFrontier(uint64_t frontier) {
  Lock lock(mutex);
  if (frontier <= safeFrontier)
    return;
  safeFrontier = frontier;
  if (waiting > 0)
    freed.notifyAll();
}

void BfcAllocator::wake() {
  Lock lock(mutex);
  if (waiting > 0)
    freed.notifyAll();
}

//===----------------------------------------------------------------------===//
// Bins
//===----------------------------------------------------------------------===//

void BfcAllocator::insertFree(ChunkHandle handle) {
  Chunk &chunk = chunks[handle];
  int bin = binOf(chunk.size);
  bins[bin].insert(chunks, handle);
  nonEmptyBins |= 1u << bin;
  if (chunk.freedAt == 0)
    return;
  chunk.stampPrevious = noChunk;
  chunk.stampNext = stamped;
  if (stamped != noChunk)
    chunks[stamped].stampPrevious = handle;
  stamped = handle;
}

void BfcAllocator::removeFree(ChunkHandle handle) {
  Chunk &chunk = chunks[handle];
  int bin = binOf(chunk.size);
  bins[bin].remove(chunks, handle);
  if (bins[bin].empty())
    nonEmptyBins &= ~(1u << bin);
  if (chunk.freedAt == 0)
    return;
  if (chunk.stampPrevious != noChunk)
    chunks[chunk.stampPrevious].stampNext = chunk.stampNext;
  else
    stamped = chunk.stampNext;
  if (chunk.stampNext != noChunk)
    chunks[chunk.stampNext].stampPrevious = chunk.stampPrevious;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

int64_t BfcAllocator::requestedSize(const void *data) {
  Lock lock(mutex);
  ChunkHandle handle = regions.chunkAt(data);
  return handle == noChunk ? -1 : chunks[handle].requested;
}

int64_t BfcAllocator::largestFree() const {
  if (!nonEmptyBins)
    return 0;
  int bin = 31 - __builtin_clz(nonEmptyBins);
  return chunks[bins[bin].last(chunks)].size;
}

double BfcAllocator::fragmentation() const {
  int64_t free = reserved - inUse;
  return free > 0 ? double(free - largestFree()) / double(free) : 0;
}

BfcStats BfcAllocator::stats() {
  Lock lock(mutex);
  return {options.limit, reserved,      inUse, requested, peakInUse,       allocations,    live,
          largest,       largestFree(), waits, collected, regions.count(), fragmentation()};
}

} // namespace weir::rt
