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
// Where there are barriers of some threads (mbarrier), and others than threads that touch
// memory (the copy engine, tensor cores), each of these agents knows of every other up to
// when that one's accesses are before its own: a vector clock, in the interpreter's time.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_PTXSHADOW_H
#define WEIR_TEST_CUDA_RECORDER_PTXSHADOW_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptx {

class Shadow {
public:
  enum Kind : uint8_t { Read, Write, Atomic };
  /// By agent, the time before which its accesses are known.
  using Clock = std::vector<uint32_t>;

  struct Access {
    uint32_t time = 0; ///< 0: there was none
    uint16_t thread = 0;
    Kind kind = Read;
    int32_t line = 0; ///< of PTX
  };

  /// Of `bytes` of memory. No access is narrower than `granule`, and each is
  /// aligned to its size, so that a cell for each granule is exact. `others`: agents that
  /// are no threads.
  Shadow(size_t bytes, size_t granule, size_t threads, size_t others)
      : shift(unsigned(std::countr_zero(granule))), threads(threads),
        cells((bytes + granule - 1) / granule), warpTimes((threads + 31) / 32) {
    if (others) {
      known.assign(threads + others, Clock(threads + others));
      readers.resize(cells.size());
    }
  }

  /// All threads of the block have met.
  void meet() {
    barrierTime = ++now;
    if (hasAgents())
      meetAmong(0, threads);
  }

  /// The threads of a warp have met.
  void meetWarp(size_t warp) {
    warpTimes[warp] = ++now;
    if (!hasAgents())
      return;
    meetAmong(warp * 32, std::min(warp * 32 + 32, threads));
  }

  bool hasAgents() const { return !known.empty(); }
  size_t agents() const { return known.size(); }
  static void join(Clock &clock, const Clock &other) {
    for (size_t i = 0; i < clock.size(); ++i)
      clock[i] = std::max(clock[i], other[i]);
  }
  Clock &clockOf(size_t agent) { return known[agent]; }
  /// What a thread knows, itself included.
  Clock clockNow(size_t thread) {
    Clock clock = known[thread];
    clock[thread] = ++now;
    return clock;
  }
  uint32_t tick() { return ++now; }

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
      if (hasAgents()) {
        if (const Access *other = touchAmongAgents(cell, readers[c], access))
          return other;
        continue;
      }
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

  /// A thread's own write to these bytes that is later than `fenced` says of it, or null.
  const Access *findUnfenced(size_t at, size_t bytes, const std::vector<uint32_t> &fenced) const {
    for (size_t c = at >> shift, end = (at + bytes) >> shift; c < end; ++c)
      if (const Access &write = cells[c].write; write.time && write.thread < threads &&
                                                write.time >= blockBegan &&
                                                fenced[write.thread] <= write.time)
        return &write;
    return nullptr;
  }

  /// What was before is another block's.
  void begin() {
    meet();
    blockBegan = now;
    for (Clock &clock : known)
      std::fill(clock.begin(), clock.end(), 0);
    for (auto &each : readers)
      each.clear();
  }

private:
  void meetAmong(size_t first, size_t end) {
    for (size_t t = first + 1; t < end; ++t)
      join(known[first], known[t]);
    for (size_t t = first; t < end; ++t)
      known[first][t] = now;
    for (size_t t = first + 1; t < end; ++t)
      known[t] = known[first];
  }

  bool isSameWarp(const Access &a, const Access &b) const {
    return a.thread / 32 == b.thread / 32 && a.thread < threads && b.thread < threads;
  }

  /// Whether barriers, or the order of a thread's own instructions, put `old`
  /// before what happens now.
  bool isBefore(const Access &old, const Access &access) const {
    return old.time < blockBegan || (old.time < barrierTime && old.thread < threads) ||
           (old.thread == access.thread && old.thread < threads) ||
           (isSameWarp(old, access) && old.time < warpTimes[old.thread / 32]) ||
           (hasAgents() && old.time < known[access.thread][old.thread]);
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
      bool twoWarps = second.time >= shadow.barrierTime && !shadow.isSameWarp(first, second);
      if (!twoWarps || !shadow.isSameWarp(first, access))
        second = access;
    }
  };

  struct alignas(64) Cell {
    Access write; ///< the last: earlier ones are before it
    Few reads, atomics;
  };

  /// Of barriers' own words `Atomic` is any use: it follows what made the barrier.
  const Access *touchAmongAgents(Cell &cell, std::vector<Access> &reads, const Access &access) {
    if (access.kind == Atomic)
      return nullptr;
    if (access.kind == Write) {
      for (const Access &read : reads)
        if (!isBefore(read, access))
          return &read;
      reads.clear();
      cell.write = access;
      return nullptr;
    }
    for (Access &read : reads)
      if (read.thread == access.thread) {
        read = access;
        return nullptr;
      }
    reads.push_back(access);
    return nullptr;
  }

  unsigned shift;
  size_t threads;
  uint32_t now = 1, barrierTime = 1, blockBegan = 1;
  std::vector<Cell> cells;
  std::vector<std::vector<Access>> readers; ///< by cell, where there are agents
  std::vector<uint32_t> warpTimes;          ///< when each warp met last
  std::vector<Clock> known;                 ///< by agent, where there are some
};

} // namespace ptx

#endif // WEIR_TEST_CUDA_RECORDER_PTXSHADOW_H
