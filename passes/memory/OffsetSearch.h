//===- OffsetSearch.h - Exact search for offsets ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether a component fits into a capacity. Every plan can be let down,
// buffer by buffer, until each rests on the bottom or on another; taken by
// (offset, rank), each buffer then lies as low as those before it allow. So the
// search places buffers in that order only, and a partial plan says much about
// the rest: whatever is left lies no lower than the last one placed.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_OFFSETSEARCH_H
#define WEIR_PASSES_MEMORY_OFFSETSEARCH_H

#include "passes/memory/Sections.h"

namespace weir::memory {

enum class SearchResult {
  Found,      ///< offsets that fit
  Impossible, ///< proved that none fit
  Unknown,    ///< the budget ended first
};

/// Searches for offsets with every offset + size <= capacity, in granules, and
/// writes them to `offsets` when found. Takes what it uses from `budget`.
SearchResult searchOffsets(const Component &component, int64_t capacity,
                           int64_t &budget, std::vector<int64_t> &offsets);

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_OFFSETSEARCH_H
