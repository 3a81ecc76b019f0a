//===- OffsetSearch.cpp - Exact search for offsets ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/OffsetSearch.h"

#include "passes/memory/CanonicalSearch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

using namespace weir::memory;

namespace {

/// What ranks items that lie in equally troublesome sections.
enum class TieBreak {
  LongThenLarge,
  LongThenSmall,
  AreaThenLong,
  LargeThenLong
};

constexpr TieBreak tieBreaks[] = {
    TieBreak::LongThenLarge, TieBreak::LongThenSmall, TieBreak::AreaThenLong,
    TieBreak::LargeThenLong};

std::vector<int32_t> rank(const Component &component,
                          const std::vector<double> &trouble,
                          TieBreak tieBreak) {
  using Key = std::array<double, 4>;
  std::vector<int64_t> totals = sectionTotals(component);
  std::vector<Key> keys;
  for (const Item &item : component.items) {
    double troubles = std::accumulate(trouble.begin() + item.first,
                                      trouble.begin() + item.last, 0.0);
    double total = *std::max_element(totals.begin() + item.first,
                                     totals.begin() + item.last);
    double size = item.size, length = item.last - item.first;
    switch (tieBreak) {
    case TieBreak::LongThenLarge:
      keys.push_back({-troubles, -total, -length, -size});
      break;
    case TieBreak::LongThenSmall:
      keys.push_back({-troubles, -total, -length, size});
      break;
    case TieBreak::AreaThenLong:
      keys.push_back({-troubles, -total, -size * length, -length});
      break;
    case TieBreak::LargeThenLong:
      keys.push_back({-troubles, -total, -size, -length});
      break;
    }
  }
  std::vector<int32_t> ranking(component.items.size());
  std::iota(ranking.begin(), ranking.end(), 0);
  std::sort(ranking.begin(), ranking.end(), [&](int32_t a, int32_t b) {
    return std::tie(keys[a], a) < std::tie(keys[b], b);
  });
  return ranking;
}

} // namespace

SearchResult weir::memory::searchOffsets(const Component &component,
                                         int64_t capacity, int64_t &budget,
                                         std::vector<int64_t> &offsets) {
  if (component.lowerBound > capacity)
    return SearchResult::Impossible;
  if (capacity > largestSearchedCapacity)
    return SearchResult::Unknown;

  // Searches that start badly stay bad for long, so each is stopped soon, and
  // the next ranks those items first in whose sections it failed.
  constexpr size_t styles = std::size(tieBreaks);
  std::array<std::vector<double>, styles> trouble;
  trouble.fill(std::vector<double>(component.sections, 0));
  double limit = 100'000;
  for (size_t run = 0; budget > 0; ++run, limit *= 1.1) {
    std::vector<double> &weights = trouble[run % styles];
    std::vector<int32_t> ranking =
        rank(component, weights, tieBreaks[run % styles]);
    CanonicalSearch search(component, capacity, ranking);
    int64_t allowed = std::min(int64_t(limit), budget);
    SearchResult result = search.run(allowed);
    budget -= allowed - search.left;
    if (result == SearchResult::Found) {
      offsets.resize(ranking.size());
      for (size_t r = 0; r < ranking.size(); ++r)
        offsets[ranking[r]] = search.offsets[r];
    }
    if (result != SearchResult::Unknown)
      return result;
    double sum =
        std::accumulate(search.failures.begin(), search.failures.end(), 1.0);
    for (int32_t s = 0; s < component.sections; ++s)
      weights[s] = 0.6 * weights[s] + search.failures[s] / sum;
  }
  return SearchResult::Unknown;
}
