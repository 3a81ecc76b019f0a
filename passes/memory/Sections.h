//===- Sections.h - Lifetimes as ranges of sections ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Time matters to a plan only through which buffers meet. A section is a moment
// whose set of live buffers is contained in no other's: two buffers meet
// exactly if they share a section, and the memory of every moment is bounded by
// that of a section. Sections are numbered by time.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_SECTIONS_H
#define WEIR_PASSES_MEMORY_SECTIONS_H

#include "passes/memory/OffsetPlanner.h"

namespace weir::memory {

/// A buffer over sections [first, last), with sizes and alignments counted in
/// granules.
struct Item {
  int32_t first = 0;
  int32_t last = 0;
  int64_t size = 0;
  int64_t alignment = 1;
  int32_t buffer = 0; ///< index among the caller's buffers
};

/// Buffers that meet no buffer outside: an independent piece of the problem.
struct Component {
  std::vector<Item> items;
  int32_t sections = 0;
  int64_t lowerBound = 0; ///< granules
};

struct Problem {
  int64_t granule = 1; ///< bytes; divides every size, padded, and every offset
  std::vector<Component> components;
  int64_t lowerBound = 0; ///< bytes
  bool padded = false;    ///< some size is no multiple of the common alignment
};

/// The live granules of every section.
std::vector<int64_t> sectionTotals(const Component &component);

/// Splits the buffers that meet others into components over sections.
/// O(n log n).
Problem buildProblem(std::span<const Buffer> buffers);

inline int64_t alignUp(int64_t value, int64_t alignment) {
  return alignment == 1 ? value : (value + alignment - 1) / alignment * alignment;
}

inline bool meet(const Item &a, const Item &b) { return a.first < b.last && b.first < a.last; }

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_SECTIONS_H
