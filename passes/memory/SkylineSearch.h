//===- SkylineSearch.h - Offsets from the bottom up ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A second search beside CanonicalSearch, which finds what that one misses. It
// fills the lowest place of the skyline that placed items make: in one section
// there, either one of few items lies at that place, or nothing does, which costs
// slack. The section with the fewest choices is taken, and what could not be
// filled is remembered by skyline and remaining items, however it came about.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_SKYLINESEARCH_H
#define WEIR_PASSES_MEMORY_SKYLINESEARCH_H

#include "passes/memory/OffsetSearch.h"

#include <unordered_set>

namespace weir::memory {

class SkylineSearch {
public:
  /// `capacity` is at most largestSearchedCapacity (CanonicalSearch.h). Items are
  /// tried by `ranking`; among sections with equally many choices, one with more
  /// `trouble` (0 to 1 each) goes first.
  SkylineSearch(const Component &component, int64_t capacity, std::span<const int32_t> ranking,
                std::span<const double> trouble);

  /// Found, or Unknown: proofs are left to CanonicalSearch.
  SearchResult run(int64_t budget);

  int64_t left = 0;             ///< of the budget
  std::vector<int64_t> offsets; ///< by rank, when found
  std::vector<double> failures; ///< dead ends met in each section

private:
  struct Block {
    int32_t first, last, size, alignment;
    bool operator==(const Block &) const = default;
    bool meets(int32_t section) const { return first <= section && section < last; }
  };
  /// Sections [first, last).
  struct Range {
    int32_t first, last;
  };
  /// What a choice changes, to be undone.
  struct Saved {
    Range range;
    std::vector<int32_t> floor, slack;
  };
  using List = std::vector<int32_t>; ///< items, by rank

  bool solve(const List &open, Range range);
  bool solveParts(const List &open, Range range);
  bool solvePart(const List &open, Range range);
  bool placeEach(const List &open, Range range, int32_t section, int32_t bottom);
  bool leaveGap(const List &open, Range range, int32_t section);
  bool raiseFloors(const List &open, Range range);
  bool isOverfull(const List &open, Range range);
  int32_t lowestOf(const Block &block) const;
  uint64_t hashOf(const List &open, Range range) const;
  Saved save(Range range) const;
  void restore(const Saved &saved);

  int32_t capacity, sections;
  std::vector<Block> items; ///< by rank
  std::span<const double> trouble;
  std::vector<int32_t> floor;          ///< tops of what lies in each section
  std::vector<int32_t> slack;          ///< room that may stay empty above them
  std::vector<int32_t> lowest;         ///< of open items, on the floors
  std::unordered_set<uint64_t> failed; ///< skylines and items, hashed
  std::vector<int32_t> scratch;        ///< by section
};

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_SKYLINESEARCH_H
