//===- bfc_check.cpp - invariants of the BFC allocator --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For tests: nothing else refers to this file, so that it is not linked.

#include "bfc/bfc_allocator.h"

namespace weir::rt {

const char *BfcAllocator::checkInvariants() {
  Lock lock(mutex);
  int64_t total = 0, used = 0, asked = 0, usedCount = 0, freeCount = 0, stampedCount = 0;
  for (int32_t i = 0; i < regions.count(); ++i) {
    const Region &region = regions[i];
    if (i > 0 && regions[i - 1].end() > region.base)
      return "regions overlap, or are out of order";
    if (source.coalesces && i > 0 && regions[i - 1].end() == region.base)
      return "regions touch and are not joined";
    uint8_t *expected = region.base;
    ChunkHandle previous = noChunk;
    for (ChunkHandle handle = region.handles[0]; handle != noChunk; handle = chunks[handle].next) {
      const Chunk &chunk = chunks[handle];
      if (chunk.data != expected || chunk.size <= 0 || chunk.size % granule)
        return "chunks do not tile their region";
      if (chunk.previous != previous)
        return "the link to the previous chunk is wrong";
      if (regions.chunkAt(chunk.data) != handle)
        return "the map from address to chunk is wrong";
      if (chunk.inUse()) {
        if (chunk.requested > chunk.size)
          return "a chunk is smaller than what was asked for";
        ++usedCount;
        used += chunk.size;
        asked += chunk.requested;
      } else {
        ++freeCount;
        stampedCount += chunk.freedAt != 0;
        if (previous != noChunk && !chunks[previous].inUse() && chunk.freedAt == 0 &&
            chunks[previous].freedAt == 0)
          return "two free neighbours are not merged";
      }
      expected += chunk.size;
      previous = handle;
    }
    if (expected != region.end())
      return "chunks do not fill their region";
    total += region.bytes;
  }
  if (total != reserved || used != inUse || asked != requested || usedCount != live)
    return "statistics differ from the chunks";
  if (reserved > limit)
    return "more than the limit is held";

  for (int bin = 0; bin < binCount; ++bin) {
    if (bins[bin].empty() == (nonEmptyBins >> bin & 1))
      return "the mask of bins is wrong";
    const Chunk *last = nullptr;
    for (ChunkHandle handle = bins[bin].notBefore(chunks, 0, nullptr); handle != noChunk;) {
      const Chunk &chunk = chunks[handle];
      if (chunk.inUse() || binOf(chunk.size) != bin)
        return "a chunk is in a bin where it does not belong";
      if (regions.chunkAt(chunk.data) != handle)
        return "a bin holds a chunk that is no more";
      if (last &&
          (last->size > chunk.size || (last->size == chunk.size && last->data >= chunk.data)))
        return "a bin is out of order";
      last = &chunk;
      --freeCount;
      handle = bins[bin].notBefore(chunks, chunk.size, chunk.data + 1);
    }
  }
  if (freeCount != 0)
    return "a free chunk is in no bin";
  for (ChunkHandle handle = stamped; handle != noChunk; handle = chunks[handle].stampNext) {
    if (chunks[handle].inUse() || chunks[handle].freedAt == 0)
      return "the list of stamped chunks holds another";
    --stampedCount;
  }
  return stampedCount == 0 ? nullptr : "a stamped chunk is not on the list";
}

} // namespace weir::rt
