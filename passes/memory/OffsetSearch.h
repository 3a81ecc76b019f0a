//===- OffsetSearch.h - Exact search for offsets ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether a component fits into a capacity, by searches in canonical
// order (CanonicalSearch.h) that are cut short and started again with what they
// learnt.
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
SearchResult searchOffsets(const Component &component, int64_t capacity, int64_t &budget,
                           std::vector<int64_t> &offsets);

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_OFFSETSEARCH_H
