//===- chunk_table.h - chunks, bins and regions of the BFC allocator -*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The three tables that the allocator keeps: chunks (numbered, so that addresses
// of other devices are never followed), the free ones of each bin in order, and the
// regions with a map from address to chunk.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_BFC_CHUNK_TABLE_H
#define WEIR_RUNTIME_BFC_CHUNK_TABLE_H

#include <stddef.h>
#include <stdint.h>

namespace weir::rt {

inline constexpr int64_t granule = 256;
inline constexpr int binCount = 21;

inline int64_t roundUpToGranule(int64_t bytes) { return (bytes + granule - 1) / granule * granule; }

/// Bin i holds free chunks of [256 * 2^i, 256 * 2^(i+1)) bytes, the last also
/// all larger ones.
inline int binOf(int64_t bytes) {
  auto granules = uint64_t(bytes < granule ? granule : bytes) / granule;
  int bin = 63 - __builtin_clzll(granules);
  return bin < binCount ? bin : binCount - 1;
}
inline int64_t binBegin(int bin) { return granule << bin; }

using ChunkHandle = uint32_t;
inline constexpr ChunkHandle noChunk = 0;

struct Chunk {
  uint8_t *data;
  int64_t size;      ///< a multiple of the granule
  int64_t requested; ///< what was asked for; -1 while free
  const char *tag;
  uint64_t number;            ///< of the allocation, counting from 1
  uint64_t freedAt;           ///< stamp of the clock, 0: reusable by anyone
  ChunkHandle previous, next; ///< neighbours in the region, by address
  ChunkHandle left, right;    ///< in the bin's tree; `left` chains unused ones
  ChunkHandle stampPrevious, stampNext;

  bool inUse() const { return requested >= 0; }
};

/// Chunks by handle. Handles are stable, and reused after release.
class ChunkTable {
public:
  ChunkTable() = default;
  ~ChunkTable();
  ChunkTable(const ChunkTable &) = delete;
  ChunkTable &operator=(const ChunkTable &) = delete;

  Chunk &operator[](ChunkHandle handle) { return slabs[handle / slabChunks][handle % slabChunks]; }
  const Chunk &operator[](ChunkHandle handle) const {
    return slabs[handle / slabChunks][handle % slabChunks];
  }
  /// A zeroed chunk, or noChunk when the host is out of memory.
  ChunkHandle acquire();
  void release(ChunkHandle handle);
  /// Makes sure that the next acquire works.
  bool reserve();

private:
  static constexpr uint32_t slabChunks = 512;
  Chunk **slabs = nullptr;
  uint32_t slabCount = 0, slabCapacity = 0;
  ChunkHandle unused = noChunk; ///< released ones
  uint32_t fresh = 1;           ///< never handed out from here on; 0 is none
};

/// Free chunks ordered by (size, address): a treap, whose priorities are hashes
/// of the handles. Expected logarithmic in all operations.
class FreeBin {
public:
  bool empty() const { return root == noChunk; }
  void insert(ChunkTable &chunks, ChunkHandle handle);
  void remove(ChunkTable &chunks, ChunkHandle handle);
  /// The first chunk in order that is not before (size, data); noChunk: none.
  ChunkHandle notBefore(const ChunkTable &chunks, int64_t size, const uint8_t *data) const;
  ChunkHandle last(const ChunkTable &chunks) const;
  ChunkHandle top() const { return root; }

private:
  ChunkHandle root = noChunk;
};

struct Region {
  uint8_t *base;
  int64_t bytes;
  /// Chunk that begins at each granule. Zeroed pages of the system, of which
  /// only those are ever touched where a chunk begins.
  ChunkHandle *handles;
  /// For each large page that the region has a part of, whether it has been asked for.
  uint8_t *areLarge;

  uint8_t *end() const { return base + bytes; }
};

/// Regions ordered by address.
class RegionTable {
public:
  /// `largePage`: the source's, 0: none.
  explicit RegionTable(int64_t largePage) : largePage(largePage) {}
  ~RegionTable();
  RegionTable(const RegionTable &) = delete;
  RegionTable &operator=(const RegionTable &) = delete;

  int32_t count() const { return size; }
  Region &operator[](int32_t index) { return regions[index]; }
  const Region &operator[](int32_t index) const { return regions[index]; }
  /// Index of the region that holds the address, -1: none.
  int32_t find(const void *address) const;
  /// Returns its index, -1 when the host is out of memory.
  int32_t add(uint8_t *base, int64_t bytes);
  void remove(int32_t index);
  /// Makes regions index and index + 1, which touch, one. False (and nothing is
  /// changed) when the host is out of memory. Their chunks are not linked yet.
  bool join(int32_t index, const ChunkTable &chunks);

  /// Calls `ask` for large pages of which `bytes` from `data` on take at least half, for each once.
  template <typename Ask> void enlarge(uint8_t *data, int64_t bytes, Ask ask) {
    const Region &region = regions[find(data)];
    auto first = int64_t(uintptr_t(region.base)) / largePage;
    auto begin = int64_t(uintptr_t(data)), end = begin + bytes;
    for (int64_t page = begin / largePage; page * largePage < end; ++page) {
      int64_t low = page * largePage, high = low + largePage;
      int64_t taken = (end < high ? end : high) - (begin > low ? begin : low);
      auto *whole = reinterpret_cast<uint8_t *>(low);
      if (taken < largePage / 2 || whole < region.base || whole + largePage > region.end() ||
          region.areLarge[page - first])
        continue;
      region.areLarge[page - first] = 1;
      ask(whole, largePage);
    }
  }

  ChunkHandle &handleAt(int32_t index, const void *address) {
    return regions[index]
        .handles[(static_cast<const uint8_t *>(address) - regions[index].base) / granule];
  }
  /// Chunk that begins at `address`, noChunk: none.
  ChunkHandle chunkAt(const void *address);
  void setChunkAt(const void *address, ChunkHandle handle) {
    handleAt(find(address), address) = handle;
  }

private:
  bool makeMaps(Region &region) const;
  static void freeMaps(const Region &region);

  const int64_t largePage;
  Region *regions = nullptr;
  int32_t size = 0, capacity = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_BFC_CHUNK_TABLE_H
