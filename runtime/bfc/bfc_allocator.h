//===- bfc_allocator.h - best fit with coalescing ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The allocator of every device, after TensorFlow's (which is after Doug Lea's
// dlmalloc): memory comes in regions from a sub-allocator, is cut into chunks
// of whole granules, and a request gets the smallest chunk that fits, the one
// at the lowest address among equals. All bookkeeping is beside the memory,
// never in it, so that the memory may be any device's. docs/bfc-allocator.md has
// layout, invariants, policy and limits.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_BFC_BFC_ALLOCATOR_H
#define WEIR_RUNTIME_BFC_BFC_ALLOCATOR_H

#include "bfc/chunk_table.h"
#include "bfc/sub_allocator.h"
#include "support/sync.h"

namespace weir::rt {

struct BfcOptions {
  int64_t limit = 0;             ///< bytes from the sub-allocator, 0: none
  int64_t firstRegion = 2 << 20; ///< size of the first region asked for
  bool growth = true;            ///< false: one region of the size of the limit
  bool collect = true;           ///< give idle regions back when that helps
  /// A larger surplus is split off even from a chunk less than twice the size.
  int64_t splitSurplus = int64_t(128) << 20;
  /// Counts the events of a device in order; frees are stamped with it. Null:
  /// memory may be reused at once (a CPU).
  const std::atomic<uint64_t> *clock = nullptr;
};

enum class ChunkEnd : uint8_t { Low, High };

struct AllocationRequest {
  int64_t bytes = 0;
  /// Names what the memory is for in reports: model nodes, as a rule. Static
  /// storage.
  const char *tag = "";
  /// How long to wait for frees, absolute; 0: fail at once (no retry).
  int64_t deadline = 0;
  /// When set and non-zero, waiting ends.
  const std::atomic<uint32_t> *stop = nullptr;
  /// Only memory that was freed no later than this count of the clock; 0: any.
  uint64_t freedBy = 0;
  /// From which end of a chunk to cut.
  ChunkEnd end = ChunkEnd::Low;
  /// For what lives long: the rest of a chunk is split off, however small.
  bool exact = false;
};

struct BfcStats {
  int64_t limit, reserved, inUse, requested, peakInUse, allocations, live, largest, largestFree,
      waits, collected;
  int32_t regions;
  double fragmentation;
};

/// Thread-safe. Addresses are multiples of 256.
class BfcAllocator {
public:
  /// `name` is the device's, for reports; static storage.
  BfcAllocator(const char *name, SubAllocator source, BfcOptions options);
  /// Gives all memory back, in use or not.
  ~BfcAllocator();
  BfcAllocator(const BfcAllocator &) = delete;
  BfcAllocator &operator=(const BfcAllocator &) = delete;

  /// Memory of at least `bytes`; null for 0 bytes, or when there is none.
  void *allocate(const AllocationRequest &request);
  /// Returns false, and does nothing, when `data` is not in use here (freed
  /// twice, or never ours). Null is fine.
  bool free(void *data);
  /// Bytes asked for by the allocation at `data`, -1 when it is none of ours.
  int64_t requestedSize(const void *data);

  /// Everything stamped no later than `frontier` may be reused by anyone. Only
  /// grows.
  void setSafeFrontier(uint64_t frontier);
  /// Wakes waiting allocations, to look at their `stop`.
  void wake();
  /// Gives wholly idle regions back. Returns bytes.
  int64_t collect();

  BfcStats stats();
  /// A report in text; returns its full length, like snprintf.
  int64_t report(char *buffer, int64_t capacity);
  /// The message for a request that failed: what was asked for, who holds the
  /// memory, what to do.
  void explainFailure(const AllocationRequest &request, char *buffer, int64_t capacity);
  /// For tests: null, or which invariant does not hold.
  const char *checkInvariants();

private:
  void *tryAllocate(const AllocationRequest &request, int64_t rounded);
  void *find(const AllocationRequest &request, int64_t rounded);
  void *take(ChunkHandle handle, const AllocationRequest &request, int64_t rounded);
  ChunkHandle split(ChunkHandle handle, int64_t lowSize);
  bool extend(int64_t rounded);
  bool extendAnywhere(int64_t rounded);
  bool extendTail(int64_t rounded);
  bool addRegion(uint8_t *base, int64_t bytes);
  ChunkHandle coalesce(ChunkHandle handle, bool ignoreStamps);
  ChunkHandle join(ChunkHandle low, ChunkHandle high);
  void mergeSafe();
  bool mergeUnsafe(int64_t rounded);
  int64_t collectIdle();
  int64_t idleBytes() const;
  void insertFree(ChunkHandle handle);
  void removeFree(ChunkHandle handle);
  bool isSafe(const Chunk &chunk) const {
    return chunk.freedAt == 0 || chunk.freedAt <= safeFrontier;
  }
  int64_t largestFree() const;
  double fragmentation() const;
  friend class BfcReport;

  const char *const name;
  const SubAllocator source;
  const BfcOptions options;
  const int64_t limit; ///< options.limit, or a number that is never reached

  Mutex mutex;
  Condition freed;
  int32_t waiting = 0;

  ChunkTable chunks;
  FreeBin bins[binCount];
  uint32_t nonEmptyBins = 0;
  RegionTable regions;
  int64_t nextRegion; ///< size to ask the sub-allocator for
  uint64_t safeFrontier = 0;
  /// Free chunks that carry a stamp, in no order: not merged with neighbours
  /// until the frontier has passed them.
  ChunkHandle stamped = noChunk;

  int64_t reserved = 0, inUse = 0, requested = 0, peakInUse = 0, allocations = 0, live = 0,
          largest = 0, waits = 0, collected = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_BFC_BFC_ALLOCATOR_H
