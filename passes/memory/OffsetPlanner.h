//===- OffsetPlanner.h - Offsets for buffers with lifetimes ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives every buffer of a device an offset in one arena, so that buffers that
// live at the same time lie apart, and the arena is as small as can be found:
// several greedy orders first, then an exact search inside a budget of steps.
// Knows no IR; schedules come in as lifetimes.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_OFFSETPLANNER_H
#define WEIR_PASSES_MEMORY_OFFSETPLANNER_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::memory {

/// A buffer occupies [offset, offset + size) of the arena during [lower, upper)
/// of any linear time that refines happens-before. Its offset is a multiple of
/// `alignment` (at least 1). A buffer of no size or no lifetime meets no other.
struct Buffer {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
  int64_t alignment = 1;
};

struct PlanOptions {
  /// Stop at the first plan that is no larger; without it, go on to the bound.
  std::optional<int64_t> capacity;
  /// Work allowed to the exact search, in buffers looked at, some 50 million a
  /// second on one core; 0 leaves it out. Results depend on this number, never
  /// on time.
  int64_t steps = 30'000'000;
};

struct Plan {
  std::vector<int64_t> offsets; ///< one a buffer, in bytes
  int64_t peak = 0;             ///< largest offset + size, in bytes
  /// No plan is smaller: the most bytes that live at one moment, each buffer
  /// padded as the common alignment forces.
  int64_t lowerBound = 0;
  bool provedOptimal = false;  ///< no plan has a smaller peak
  bool provedTooLarge = false; ///< no plan fits within options.capacity
  int64_t steps = 0;           ///< of the exact search, spent
};

/// Plans `buffers`. Pure: equal arguments give equal plans; callable from any
/// number of threads. Time is near-linear in buffers and pairs that live at the
/// same time, plus the budget. Sizes and lifetimes must not be negative, and
/// the sum of all sizes must fit into 62 bits.
///
/// The search visits only plans in canonical form, after Moffitt, "MiniMalloc:
/// A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning",
/// ASPLOS 2023.
Plan planOffsets(std::span<const Buffer> buffers, const PlanOptions &options = {});

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_OFFSETPLANNER_H
