//===- CanonicalSearch.h - One search for offsets --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every plan can be let down, buffer by buffer, until each rests on the bottom
// or on another; taken by (offset, rank), each buffer then lies as low as those
// before it allow. So the search places buffers in that order only, and a
// partial plan says much about the rest: what is left lies no lower than the
// last one placed.
//
// A failure comes with its conflict: items that cannot be placed above where
// they can start now, whatever becomes of the others. While it lies in the same
// items at the same places, going back and choosing otherwise elsewhere is in
// vain, and the search jumps over such choices.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_CANONICALSEARCH_H
#define WEIR_PASSES_MEMORY_CANONICALSEARCH_H

#include "passes/memory/OffsetSearch.h"

namespace weir::memory {

/// Offsets are counted in 32 bits here, with room for one size on top.
inline constexpr int64_t largestSearchedCapacity = (int64_t(1) << 30) - 1;

/// One depth-first search under one ranking of the items.
class CanonicalSearch {
public:
  /// `capacity` is at most largestSearchedCapacity; no item is larger.
  CanonicalSearch(const Component &component, int64_t capacity, std::span<const int32_t> ranking);

  /// Searches until the end or the budget's.
  SearchResult run(int64_t budget);

  int64_t left = 0;             ///< of the budget
  std::vector<int64_t> offsets; ///< by rank, when found
  std::vector<double> failures; ///< dead ends met in each section

private:
  /// An Item in 16 bytes.
  struct Block {
    int32_t first, last, size, alignment;
  };
  /// An item that is not placed yet.
  struct Open {
    int32_t item;
    int32_t lowest;   ///< as low as the placed ones leave it
    int32_t earliest; ///< as low as it can come to lie from here on
    /// It could have been placed earlier and was not: it cannot stay at its
    /// lowest offset, but must rest on an item that is open.
    bool passedOver() const { return earliest > lowest; }
  };
  /// The item placed last: later ones have a greater (offset, rank).
  struct Last {
    int32_t offset, item;
  };
  struct Range {
    int32_t first, last;
    void include(const Block &block);
  };
  using Bits = std::vector<uint64_t>;

  bool solve(size_t begin, size_t end);
  bool solveParts(size_t begin, size_t end, Last last);
  int32_t splitParts(size_t begin, size_t end);
  void place(size_t begin, size_t end, int32_t offset, int32_t item);

  bool isDeadEnd(size_t begin, size_t end, Last last);
  bool raisePassedOver(size_t begin, size_t end, Range &changed);
  bool isOverfull(size_t begin, size_t end, Range changed);
  int32_t aligned(int32_t offset, const Block &block) const {
    return block.alignment == 1 ? offset : alignUp(offset, block.alignment);
  }

  bool holdsAbove(size_t begin, size_t end, size_t child, int32_t item) const;
  bool isClosed(size_t begin, size_t end, int32_t seed, const std::vector<int32_t> &tried,
                const Bits &conflicts);
  bool addSupports(size_t begin, size_t end, Bits &items) const;

  int32_t capacity, sections;
  std::vector<Block> items; ///< by rank
  size_t words;             ///< of a set of items
  Bits meetings;            ///< one set an item: those that it meets
  /// The conflict of the latest failure.
  Bits conflict;
  std::vector<Open> stack; ///< the open items of every level of the recursion
  // Scratch.
  std::vector<int32_t> above, part; ///< by section
  std::vector<uint64_t> byEarliest;
  std::vector<size_t> passedOver;
};

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_CANONICALSEARCH_H
