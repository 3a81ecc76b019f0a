//===- PtxShadow.h - finds races in shared memory ------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Who touched what of a block's shared memory. Two threads race where both
// touch a byte, not both read it, and no barrier lies between. The interpreter
// runs threads in one order of many: a race need not show in results, so it is
// looked for by itself.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_PTXSHADOW_H
#define WEIR_TEST_CUDA_RECORDER_PTXSHADOW_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptx {

class Shadow {
public:
  enum Kind : uint8_t { Read, Write, Atomic };

  struct Access {
    uint32_t time = 0; ///< 0: there was none
    uint16_t thread = 0;
    Kind kind = Read;
    int32_t line = 0; ///< of PTX
  };

  /// Of `bytes` of memory. No access is narrower than `granule`, and each is
  /// aligned to its size, so that a cell for each granule is exact.
  Shadow(size_t bytes, size_t granule, size_t threads)
      : shift(unsigned(std::countr_zero(granule))), cells((bytes + granule - 1) / granule),
        warpTimes((threads + 31) / 32) {}

  /// All threads of the block have met.
  void meet() { barrierTime = ++now; }

  /// The threads of a warp have met.
  void meetWarp(size_t warp) { warpTimes[warp] = ++now; }

  /// What comes later can be told from what was before: returns the last time
  /// of before.
  uint32_t mark() { return now++; }

  /// Notes an access. Returns the one that it races with, or null.
  const Access *touch(size_t at, size_t bytes, Kind kind, uint16_t thread, int32_t line) {
    const Access access{now, thread, kind, line};
    for (size_t c = at >> shift, end = (at + bytes) >> shift; c < end; ++c) {
      Cell &cell = cells[c];
      if (!isBefore(cell.write, access))
        return &cell.write;
      if (access.kind != Read)
        if (const Access *other = cell.reads.unordered(*this, access))
          return other;
      if (access.kind != Atomic)
        if (const Access *other = cell.atomics.unordered(*this, access))
          return other;
      if (access.kind == Write)
        cell.write = access;
      else
        (access.kind == Read ? cell.reads : cell.atomics).add(*this, access);
    }
    return nullptr;
  }

  /// An access to these bytes later than `time`, by any thread, or null.
  const Access *findLater(size_t at, size_t bytes, uint32_t time) const {
    for (size_t c = at >> shift, end = (at + bytes) >> shift; c < end; ++c)
      for (const Access *each : {&cells[c].write, &cells[c].reads.first, &cells[c].reads.second,
                                 &cells[c].atomics.first, &cells[c].atomics.second})
        if (each->time > time)
          return each;
    return nullptr;
  }

private:
  static bool isSameWarp(const Access &a, const Access &b) {
    return a.thread / 32 == b.thread / 32;
  }

  /// Whether barriers, or the order of a thread's own instructions, put `old`
  /// before what happens now.
  bool isBefore(const Access &old, const Access &access) const {
    return old.time < barrierTime || old.thread == access.thread ||
           (isSameWarp(old, access) && old.time < warpTimes[old.thread / 32]);
  }

  /// Accesses that do not race among themselves. Two of them are enough:
  /// whatever races with one that is left out races with one of these.
  struct Few {
    Access first, second;

    const Access *unordered(const Shadow &shadow, const Access &access) const {
      return !shadow.isBefore(first, access)    ? &first
             : !shadow.isBefore(second, access) ? &second
                                                : nullptr;
    }
    void add(const Shadow &shadow, const Access &access) {
      if (shadow.isBefore(first, access)) {
        first = access;
        return;
      }
      // Two warps race with all others and with each other. Two threads of one
      // warp do so until the warp meets.
      bool twoWarps = second.time >= shadow.barrierTime && !isSameWarp(first, second);
      if (!twoWarps || !isSameWarp(first, access))
        second = access;
    }
  };

  struct alignas(64) Cell {
    Access write; ///< the last: earlier ones are before it
    Few reads, atomics;
  };

  unsigned shift;
  uint32_t now = 1, barrierTime = 1;
  std::vector<Cell> cells;
  std::vector<uint32_t> warpTimes; ///< when each warp met last
};

} // namespace ptx

#endif // WEIR_TEST_CUDA_RECORDER_PTXSHADOW_H
