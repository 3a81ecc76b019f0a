//===- chunk_table.cpp - chunks, bins and regions of the BFC allocator ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "bfc/chunk_table.h"

#include <initializer_list>
#include <stdlib.h>
#include <string.h>

namespace weir::rt {

//===----------------------------------------------------------------------===//
// ChunkTable
//===----------------------------------------------------------------------===//

ChunkTable::~ChunkTable() {
  for (uint32_t i = 0; i < slabCount; ++i)
    ::free(slabs[i]);
  ::free(slabs);
}

bool ChunkTable::reserve() {
  if (unused != noChunk || fresh < slabCount * slabChunks)
    return true;
  if (slabCount == slabCapacity) {
    uint32_t capacity = slabCapacity ? slabCapacity * 2 : 8;
    void *grown = realloc(slabs, capacity * sizeof(Chunk *));
    if (!grown)
      return false;
    slabs = static_cast<Chunk **>(grown);
    slabCapacity = capacity;
  }
  void *slab = malloc(slabChunks * sizeof(Chunk));
  if (!slab)
    return false;
  slabs[slabCount++] = static_cast<Chunk *>(slab);
  return true;
}

ChunkHandle ChunkTable::acquire() {
  if (!reserve())
    return noChunk;
  ChunkHandle handle = unused;
  if (handle != noChunk)
    unused = (*this)[handle].left;
  else
    handle = fresh++;
  memset(&(*this)[handle], 0, sizeof(Chunk));
  return handle;
}

void ChunkTable::release(ChunkHandle handle) {
  (*this)[handle].left = unused;
  unused = handle;
}

//===----------------------------------------------------------------------===//
// FreeBin
//===----------------------------------------------------------------------===//

/// Multiplicative hash (Knuth 6.4), its high bits folded down.
static uint32_t priority(ChunkHandle handle) {
  uint32_t hash = handle * 2654435769u;
  return hash ^ (hash >> 15);
}

static bool before(const Chunk &chunk, int64_t size, const uint8_t *data) {
  return chunk.size != size ? chunk.size < size : chunk.data < data;
}

void FreeBin::insert(ChunkTable &chunks, ChunkHandle handle) {
  Chunk &added = chunks[handle];
  ChunkHandle *link = &root;
  while (*link != noChunk && priority(*link) >= priority(handle)) {
    Chunk &chunk = chunks[*link];
    link = before(chunk, added.size, added.data) ? &chunk.right : &chunk.left;
  }
  // Takes this place; what was here is split around it.
  ChunkHandle rest = *link;
  *link = handle;
  ChunkHandle *smaller = &added.left, *larger = &added.right;
  while (rest != noChunk) {
    Chunk &chunk = chunks[rest];
    if (before(chunk, added.size, added.data)) {
      *smaller = rest;
      smaller = &chunk.right;
      rest = chunk.right;
    } else {
      *larger = rest;
      larger = &chunk.left;
      rest = chunk.left;
    }
  }
  *smaller = noChunk;
  *larger = noChunk;
}

void FreeBin::remove(ChunkTable &chunks, ChunkHandle handle) {
  const Chunk &removed = chunks[handle];
  ChunkHandle *link = &root;
  while (*link != handle) {
    Chunk &chunk = chunks[*link];
    link = before(chunk, removed.size, removed.data) ? &chunk.right : &chunk.left;
  }
  ChunkHandle left = removed.left, right = removed.right;
  while (left != noChunk && right != noChunk) {
    if (priority(left) >= priority(right)) {
      *link = left;
      link = &chunks[left].right;
      left = *link;
    } else {
      *link = right;
      link = &chunks[right].left;
      right = *link;
    }
  }
  *link = left != noChunk ? left : right;
}

ChunkHandle FreeBin::notBefore(const ChunkTable &chunks, int64_t size, const uint8_t *data) const {
  ChunkHandle best = noChunk, current = root;
  while (current != noChunk) {
    const Chunk &chunk = chunks[current];
    if (before(chunk, size, data)) {
      current = chunk.right;
    } else {
      best = current;
      current = chunk.left;
    }
  }
  return best;
}

ChunkHandle FreeBin::last(const ChunkTable &chunks) const {
  ChunkHandle current = root;
  while (current != noChunk && chunks[current].right != noChunk)
    current = chunks[current].right;
  return current;
}

//===----------------------------------------------------------------------===//
// RegionTable
//===----------------------------------------------------------------------===//

RegionTable::~RegionTable() {
  for (int32_t i = 0; i < size; ++i)
    freeMaps(regions[i]);
  ::free(regions);
}

/// Both maps of a region, empty; false when the host is out of memory.
bool RegionTable::makeMaps(Region &region) const {
  region.handles =
      static_cast<ChunkHandle *>(calloc(size_t(region.bytes / granule), sizeof(ChunkHandle)));
  region.areLarge = nullptr;
  if (region.handles && largePage)
    region.areLarge = static_cast<uint8_t *>(calloc(size_t(region.bytes / largePage + 2), 1));
  if (region.handles && (region.areLarge || !largePage))
    return true;
  freeMaps(region);
  return false;
}

void RegionTable::freeMaps(const Region &region) {
  ::free(region.handles);
  ::free(region.areLarge);
}

int32_t RegionTable::find(const void *address) const {
  auto *data = static_cast<const uint8_t *>(address);
  int32_t low = 0, high = size; // the first region that begins after it
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (regions[middle].base <= data)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && data < regions[low - 1].end() ? low - 1 : -1;
}

int32_t RegionTable::add(uint8_t *base, int64_t bytes) {
  if (size == capacity) {
    int32_t grown = capacity ? capacity * 2 : 4;
    void *data = realloc(regions, size_t(grown) * sizeof(Region));
    if (!data)
      return -1;
    regions = static_cast<Region *>(data);
    capacity = grown;
  }
  Region made{base, bytes, nullptr, nullptr};
  if (!makeMaps(made))
    return -1;
  int32_t index = 0;
  while (index < size && regions[index].base < base)
    ++index;
  memmove(regions + index + 1, regions + index, size_t(size - index) * sizeof(Region));
  regions[index] = made;
  ++size;
  return index;
}

void RegionTable::remove(int32_t index) {
  freeMaps(regions[index]);
  --size;
  memmove(regions + index, regions + index + 1, size_t(size - index) * sizeof(Region));
}

bool RegionTable::join(int32_t index, const ChunkTable &chunks) {
  Region &low = regions[index], &high = regions[index + 1];
  Region both{low.base, low.bytes + high.bytes, nullptr, nullptr};
  if (!makeMaps(both))
    return false;
  // Walks the chunks instead of copying the maps, which are mostly untouched
  // pages.
  for (ChunkHandle first : {low.handles[0], high.handles[0]})
    for (ChunkHandle handle = first; handle != noChunk; handle = chunks[handle].next)
      both.handles[(chunks[handle].data - low.base) / granule] = handle;
  for (const Region &part : {low, high})
    for (int64_t page = 0; largePage && page < part.bytes / largePage + 2; ++page)
      if (part.areLarge[page])
        both.areLarge[page + int64_t(uintptr_t(part.base)) / largePage -
                      int64_t(uintptr_t(low.base)) / largePage] = 1;
  freeMaps(low);
  low = both;
  remove(index + 1);
  return true;
}

ChunkHandle RegionTable::chunkAt(const void *address) {
  int32_t index = find(address);
  if (index < 0)
    return noChunk;
  auto offset = static_cast<const uint8_t *>(address) - regions[index].base;
  return offset % granule ? noChunk : regions[index].handles[offset / granule];
}

} // namespace weir::rt
