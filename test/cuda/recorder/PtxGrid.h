//===- PtxGrid.h - finds races between blocks of a launch ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Who touched what of global memory, of a launch whose blocks run at the same time. Two
// blocks race where both touch a byte, not both read it nor both by atomic operations, and
// nothing orders them. What does is what one releases and another acquires, at the GPU's
// scope; and within a block its barriers, which pass on what one thread has acquired, and
// put what others have written before what one of them releases. Times of a block are the
// barriers that its threads have met at.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_PTXGRID_H
#define WEIR_TEST_CUDA_RECORDER_PTXGRID_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ptx {

class GridShadow {
public:
  enum Kind : uint8_t { Read, ReadConstant, Write, Atomic };
  /// By block, the time before which its accesses are known.
  using Clock = std::vector<uint32_t>;

  explicit GridShadow(size_t blocks) : times(blocks), seen(blocks, Clock(blocks)) {
    acquired.resize(blocks);
  }

  struct Access {
    uint32_t block = 0, time = 0;
    int32_t line = 0; ///< of PTX; 0: there was none
    Kind kind = Read;
  };

  /// Notes an access. Returns the one that it races with, or null.
  const Access *touch(uint64_t address, size_t bytes, Kind kind, uint32_t block, uint32_t thread,
                      int32_t line) {
    const Access access{block, times[block], line, kind};
    for (uint64_t at = address; at < address + bytes; ++at) {
      Cell &cell = cellAt(at);
      // What a launch writes is not read by the path for what never changes.
      bool isStale = kind == ReadConstant && cell.write.line;
      if (isStale || (cell.write.line && !isBefore(cell.write, block, thread) &&
                      !(kind == Atomic && cell.write.kind == Atomic)))
        return &cell.write;
      if (kind == Write || kind == Atomic) {
        if (cell.read.line &&
            (cell.read.kind == ReadConstant || !isBefore(cell.read, block, thread)))
          return &cell.read;
        if (cell.others)
          for (const Access &read : *cell.others)
            if (read.kind == ReadConstant || !isBefore(read, block, thread))
              return &read;
        cell.write = access;
        continue;
      }
      if (!cell.read.line || cell.read.block == block)
        cell.read = access;
      else
        noteOther(cell, access);
    }
    return nullptr;
  }

  /// All threads of the block have met.
  void meet(uint32_t block) {
    for (const auto &[thread, clock] : acquired[block])
      join(seen[block], clock);
    acquired[block].clear();
    ++times[block];
  }

  /// The thread makes known, by the word at `address`, what its block did before it met last.
  void release(uint64_t address, uint32_t block, uint32_t thread) {
    Clock clock = seen[block];
    if (auto own = acquired[block].find(thread); own != acquired[block].end())
      join(clock, own->second);
    clock[block] = times[block];
    Clock &word = words.try_emplace(address, clock.size()).first->second;
    join(word, clock);
  }
  void acquire(uint64_t address, uint32_t block, uint32_t thread) {
    auto word = words.find(address);
    if (word != words.end())
      join(acquired[block].try_emplace(thread, times.size()).first->second, word->second);
  }

private:
  struct Cell {
    Access write, read;
    std::unique_ptr<std::vector<Access>> others; ///< other blocks' reads
  };
  static constexpr uint64_t pageBytes = 64;
  struct Page {
    Cell cells[pageBytes];
  };

  static void join(Clock &clock, const Clock &other) {
    for (size_t i = 0; i < clock.size(); ++i)
      clock[i] = std::max(clock[i], other[i]);
  }
  bool isBefore(const Access &old, uint32_t block, uint32_t thread) const {
    if (old.block == block || old.time < seen[block][old.block])
      return true;
    auto own = acquired[block].find(thread);
    return own != acquired[block].end() && old.time < own->second[old.block];
  }
  void noteOther(Cell &cell, const Access &access) {
    if (!cell.others)
      cell.others = std::make_unique<std::vector<Access>>();
    for (Access &other : *cell.others)
      if (other.block == access.block) {
        other = access;
        return;
      }
    cell.others->push_back(access);
  }
  Cell &cellAt(uint64_t address) {
    uint64_t number = address / pageBytes;
    if (number != lastNumber || !last) {
      auto &page = pages[number];
      if (!page)
        page = std::make_unique<Page>();
      last = page.get();
      lastNumber = number;
    }
    return last->cells[address % pageBytes];
  }

  std::vector<uint32_t> times;                               ///< barriers that the block has met at
  std::vector<Clock> seen;                                   ///< by block
  std::vector<std::unordered_map<uint32_t, Clock>> acquired; ///< by block and thread, since it met
  std::unordered_map<uint64_t, Clock> words;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastNumber = 0;
  Page *last = nullptr;
};

} // namespace ptx

#endif // WEIR_TEST_CUDA_RECORDER_PTXGRID_H
