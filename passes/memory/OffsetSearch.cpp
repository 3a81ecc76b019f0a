//===- OffsetSearch.cpp - Exact search for offsets ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/OffsetSearch.h"

#include "passes/memory/CanonicalSearch.h"
#include "passes/memory/SkylineSearch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

using namespace weir::memory;

namespace {

/// What ranks items that lie in equally troublesome sections. The first four
/// look at the fullest section before all.
enum class TieBreak {
  LongThenLarge,
  LongThenSmall,
  AreaThenLong,
  LargeThenLong,
  LongThenFull,
  AreaThenFull,
  LargeThenFull,
  LongThenLargeThenFull
};

constexpr TieBreak tieBreaks[] = {TieBreak::LongThenLarge, TieBreak::LongThenSmall,
                                  TieBreak::AreaThenLong,  TieBreak::LargeThenLong,
                                  TieBreak::LongThenFull,  TieBreak::AreaThenFull,
                                  TieBreak::LargeThenFull, TieBreak::LongThenLargeThenFull};
constexpr size_t styles = std::size(tieBreaks);

std::vector<int32_t> rank(const Component &component, const std::vector<double> &trouble,
                          TieBreak tieBreak) {
  using Key = std::array<double, 4>;
  std::vector<int64_t> totals = sectionTotals(component);
  std::vector<Key> keys;
  for (const Item &item : component.items) {
    double troubles =
        std::accumulate(trouble.begin() + item.first, trouble.begin() + item.last, 0.0);
    double total = *std::max_element(totals.begin() + item.first, totals.begin() + item.last);
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
    case TieBreak::LongThenFull:
      keys.push_back({-troubles, -length, -total, -size});
      break;
    case TieBreak::AreaThenFull:
      keys.push_back({-troubles, -length * size, -total, -size});
      break;
    case TieBreak::LargeThenFull:
      keys.push_back({-troubles, -size, -total, -length});
      break;
    case TieBreak::LongThenLargeThenFull:
      keys.push_back({-troubles, -length, -size, -total});
      break;
    }
  }
  std::vector<int32_t> ranking(component.items.size());
  std::iota(ranking.begin(), ranking.end(), 0);
  std::sort(ranking.begin(), ranking.end(),
            [&](int32_t a, int32_t b) { return std::tie(keys[a], a) < std::tie(keys[b], b); });
  return ranking;
}

/// Where runs of one kind failed, by what broke ties in them.
class Experience {
public:
  explicit Experience(int32_t sections) { trouble.fill(std::vector<double>(sections, 0)); }

  std::vector<double> &of(size_t style) { return trouble[style]; }

  void learn(size_t style, const std::vector<double> &failures) {
    double sum = std::accumulate(failures.begin(), failures.end(), 1.0);
    for (size_t s = 0; s < failures.size(); ++s)
      trouble[style][s] = 0.6 * trouble[style][s] + failures[s] / sum;
  }

private:
  std::array<std::vector<double>, styles> trouble;
};

/// One run within `allowed`, which becomes what it left.
template <typename Search>
SearchResult runOnce(Search &search, std::span<const int32_t> ranking, int64_t &allowed,
                     std::vector<int64_t> &offsets) {
  SearchResult result = search.run(allowed);
  allowed = search.left;
  if (result == SearchResult::Found) {
    offsets.resize(ranking.size());
    for (size_t r = 0; r < ranking.size(); ++r)
      offsets[ranking[r]] = search.offsets[r];
  }
  return result;
}

} // namespace

SearchResult weir::memory::searchOffsets(const Component &component, int64_t capacity,
                                         int64_t &budget, std::vector<int64_t> &offsets) {
  if (component.lowerBound > capacity)
    return SearchResult::Impossible;
  if (capacity > largestSearchedCapacity)
    return SearchResult::Unknown;

  // Searches that start badly stay bad for long, so each is stopped soon, and
  // the next ranks those items first in whose sections it failed. Every fifth is
  // of the other kind, which needs longer and fails elsewhere.
  constexpr size_t period = 5;
  Experience canonical(component.sections), skyline(component.sections);
  double limit = 100'000, longer = 1'000'000;
  for (size_t run = 0; budget > 0; ++run, limit *= 1.03, longer *= 1.03) {
    bool isSkyline = run % period == period - 1;
    size_t style = (isSkyline ? run / period : run) % styles;
    Experience &experience = isSkyline ? skyline : canonical;
    std::vector<int32_t> ranking = rank(component, experience.of(style), tieBreaks[style]);
    int64_t allowed = std::min(int64_t(isSkyline ? longer : limit), budget);
    budget -= allowed;
    SearchResult result;
    if (isSkyline) {
      std::vector<double> trouble = experience.of(style);
      double most = std::max(1e-12, *std::max_element(trouble.begin(), trouble.end()));
      for (double &each : trouble)
        each /= most;
      SkylineSearch search(component, capacity, ranking, trouble);
      result = runOnce(search, ranking, allowed, offsets);
      experience.learn(style, search.failures);
    } else {
      CanonicalSearch search(component, capacity, ranking);
      result = runOnce(search, ranking, allowed, offsets);
      experience.learn(style, search.failures);
    }
    budget += allowed;
    if (result != SearchResult::Unknown)
      return result;
  }
  return SearchResult::Unknown;
}
