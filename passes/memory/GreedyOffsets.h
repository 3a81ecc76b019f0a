//===- GreedyOffsets.h - Offsets by fixed orders ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy plans: buffers are taken in some order, and each goes where it fits
// among those that are placed. Cheap, often at the bound, and the start and the
// ceiling of the exact search.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_GREEDYOFFSETS_H
#define WEIR_PASSES_MEMORY_GREEDYOFFSETS_H

#include "passes/memory/Sections.h"

namespace weir::memory {

/// Offsets of a component's items, in granules.
struct Placement {
  std::vector<int64_t> offsets;
  int64_t peak = 0;
};

/// What decides who is placed first; ties fall to the next in the list, then to
/// the caller's order.
enum class GreedyOrder {
  Size,     ///< large first
  Area,     ///< size times lifetime, large first
  Lifetime, ///< long first
  Conflict, ///< in the fullest sections first
  Time,     ///< early first
};

enum class GreedyFit {
  First, ///< the lowest gap
  Best,  ///< the smallest gap, the lowest of equals
};

inline constexpr GreedyOrder greedyOrders[] = {GreedyOrder::Size, GreedyOrder::Area,
                                               GreedyOrder::Lifetime, GreedyOrder::Conflict,
                                               GreedyOrder::Time};

/// The pairs of items that meet, as lists one after another.
struct Meetings {
  std::vector<int64_t> begin; ///< items + 1 positions in `others`
  std::vector<int32_t> others;

  std::span<const int32_t> of(int32_t i) const {
    return {others.data() + begin[i], size_t(begin[i + 1] - begin[i])};
  }
};

/// Number of pairs that meet. O(n).
int64_t countMeetings(const Component &component);
Meetings findMeetings(const Component &component);

/// The items in the order named.
std::vector<int32_t> greedyOrder(const Component &component, GreedyOrder order);

/// Places in the order given. O(pairs that meet, times a logarithm).
Placement placeInOrder(const Component &component, const Meetings &meetings,
                       std::span<const int32_t> order, GreedyFit fit);

/// Allocates and frees in the order of time, best fit, as an allocator would at
/// run time; O(n log n) whatever meets.
Placement placeOnline(const Component &component);

/// The best of all of the above that the number of meetings allows in
/// near-linear time; stops early at the bound.
Placement placeGreedily(const Component &component);

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_GREEDYOFFSETS_H
