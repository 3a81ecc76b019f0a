//===- OffsetSearch.cpp - Exact search for offsets ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/OffsetSearch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

using namespace weir::memory;

namespace {

/// Remembers sub-problems that were proved to have no plan, by a 64-bit hash of
/// their items and lowest offsets; newer ones displace older ones.
class FailedStates {
public:
  bool contains(uint64_t key) const { return slots[key >> shift] == key; }
  void insert(uint64_t key) { slots[key >> shift] = key; }

private:
  static constexpr int shift = 64 - 16;
  std::vector<uint64_t> slots = std::vector<uint64_t>(size_t(1) << 16, 0);
};

uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// One depth-first search under one ranking of the items.
class Search {
public:
  Search(const Component &component, int64_t capacity,
         std::span<const int32_t> ranking)
      : offsets(component.items.size(), 0), failures(component.sections, 0),
        capacity(capacity), lowestTop(component.sections),
        secondTop(component.sections), lowestItem(component.sections),
        above(component.sections), part(component.sections + 1) {
    for (int32_t i : ranking)
      items.push_back(component.items[i]);
  }

  SearchResult run(int64_t budget) {
    left = budget;
    stack.clear();
    for (size_t i = 0; i < items.size(); ++i)
      stack.push_back({int32_t(i), 0, 0});
    if (solve(0, stack.size(), {0, -1}))
      return SearchResult::Found;
    return left <= 0 ? SearchResult::Unknown : SearchResult::Impossible;
  }

  int64_t left = 0;             ///< of the budget
  std::vector<int64_t> offsets; ///< by rank
  std::vector<double> failures; ///< dead ends met in each section

private:
  /// An item that is not placed yet.
  struct Open {
    int32_t item;
    int64_t lowest;   ///< as low as the placed ones leave it
    int64_t earliest; ///< as low as it can come to lie from here on
  };
  /// The item placed last: later ones have a greater (offset, rank).
  struct Last {
    int64_t offset;
    int32_t item;
  };

  bool solve(size_t begin, size_t end, Last last);
  bool solveParts(size_t begin, size_t end, Last last);
  int32_t splitParts(size_t begin, size_t end);
  bool isDeadEnd(size_t begin, size_t end, Last last, uint64_t &key);
  bool raisePassedOver(size_t begin, size_t end, int32_t first, int32_t beyond);

  int64_t capacity;
  std::vector<Item> items; ///< by rank
  FailedStates failed;
  std::vector<Open> stack; ///< the open items of every level of the recursion
  // Scratch, by section.
  std::vector<int64_t> lowestTop, secondTop;
  std::vector<int32_t> lowestItem;
  std::vector<int64_t> above;
  std::vector<int32_t> part;
  std::vector<std::pair<int64_t, int32_t>> byEarliest;
};

/// An item that could have been placed before `last` and was not must come to
/// rest on one that is still open. Returns true when there is none.
bool Search::raisePassedOver(size_t begin, size_t end, int32_t first,
                             int32_t beyond) {
  std::fill(lowestTop.begin() + first, lowestTop.begin() + beyond, INT64_MAX);
  std::fill(secondTop.begin() + first, secondTop.begin() + beyond, INT64_MAX);
  for (size_t k = begin; k < end; ++k) {
    const Item &item = items[stack[k].item];
    int64_t top = stack[k].earliest + item.size;
    for (int32_t s = item.first; s < item.last; ++s) {
      if (top < lowestTop[s]) {
        secondTop[s] = lowestTop[s];
        lowestTop[s] = top;
        lowestItem[s] = stack[k].item;
      } else if (top < secondTop[s]) {
        secondTop[s] = top;
      }
    }
  }
  for (size_t k = begin; k < end; ++k) {
    Open &open = stack[k];
    if (open.earliest == open.lowest)
      continue;
    const Item &item = items[open.item];
    int64_t support = INT64_MAX;
    for (int32_t s = item.first; s < item.last; ++s)
      support = std::min(support, lowestItem[s] == open.item ? secondTop[s]
                                                             : lowestTop[s]);
    if (support > capacity)
      return true;
    open.earliest = std::max(open.earliest, alignUp(support, item.alignment));
  }
  return false;
}

/// Finds out how low each open item can still come to lie, and whether some
/// section cannot hold what is left; `key` becomes the state's hash.
bool Search::isDeadEnd(size_t begin, size_t end, Last last, uint64_t &key) {
  int32_t first = INT32_MAX, beyond = 0;
  bool passedOver = false;
  for (size_t k = begin; k < end; ++k) {
    Open &open = stack[k];
    const Item &item = items[open.item];
    first = std::min(first, item.first);
    beyond = std::max(beyond, item.last);
    bool passed = open.lowest < last.offset ||
                  (open.lowest == last.offset && open.item < last.item);
    open.earliest = passed ? last.offset + 1 : open.lowest;
    passedOver |= passed;
  }
  left -= end - begin;
  if (passedOver && raisePassedOver(begin, end, first, beyond))
    return true;

  // In a section, whatever starts at x or later needs the room above x.
  byEarliest.clear();
  key = 0;
  for (size_t k = begin; k < end; ++k) {
    byEarliest.emplace_back(-stack[k].earliest, stack[k].item);
    key += scramble(uint64_t(stack[k].earliest) * items.size() + stack[k].item);
  }
  std::sort(byEarliest.begin(), byEarliest.end());
  std::fill(above.begin() + first, above.begin() + beyond, 0);
  for (auto [earliest, i] : byEarliest) {
    const Item &item = items[i];
    int64_t most = 0;
    for (int32_t s = item.first; s < item.last; ++s)
      most = std::max(most, above[s] += item.size);
    if (most - earliest <= capacity)
      continue;
    auto full =
        std::find(above.begin() + item.first, above.begin() + item.last, most);
    failures[full - above.begin()] += 1;
    return true;
  }
  return false;
}

/// Writes to `part` the number of the independent part that each section
/// belongs to; returns how many there are.
int32_t Search::splitParts(size_t begin, size_t end) {
  int32_t first = INT32_MAX, beyond = 0;
  for (size_t k = begin; k < end; ++k) {
    first = std::min(first, items[stack[k].item].first);
    beyond = std::max(beyond, items[stack[k].item].last);
  }
  std::fill(part.begin() + first, part.begin() + beyond + 1, 0);
  for (size_t k = begin; k < end; ++k) {
    ++part[items[stack[k].item].first + 1];
    --part[items[stack[k].item].last];
  }
  int32_t parts = 1, crossing = 0;
  part[first] = 0;
  for (int32_t s = first + 1; s < beyond; ++s) {
    crossing += part[s];
    parts += crossing == 0;
    part[s] = parts - 1;
  }
  return parts;
}

bool Search::solveParts(size_t begin, size_t end, Last last) {
  if (begin == end)
    return true;
  int32_t parts = splitParts(begin, end);
  if (parts == 1)
    return solve(begin, end, last);

  // Small parts first: they fail soonest. A part may be empty where sections
  // have nothing left.
  std::vector<std::pair<int32_t, int32_t>> bySize(parts);
  for (int32_t p = 0; p < parts; ++p)
    bySize[p].second = p;
  for (size_t k = begin; k < end; ++k)
    ++bySize[part[items[stack[k].item].first]].first;
  std::sort(bySize.begin(), bySize.end());
  size_t base = stack.size();
  std::vector<size_t> next(parts);
  size_t at = base;
  for (auto [size, p] : bySize) {
    next[p] = at;
    at += size;
  }
  stack.resize(at);
  for (size_t k = begin; k < end; ++k)
    stack[next[part[items[stack[k].item].first]]++] = stack[k];

  uint64_t key;
  bool fits = true;
  at = base;
  for (auto [size, p] : bySize) {
    fits = fits && (size == 0 || !isDeadEnd(at, at + size, last, key));
    at += size;
  }
  at = base;
  for (auto [size, p] : bySize) {
    fits = fits && (size == 0 || solve(at, at + size, last));
    at += size;
  }
  stack.resize(base);
  return fits;
}

bool Search::solve(size_t begin, size_t end, Last last) {
  uint64_t key;
  if (left <= 0 || isDeadEnd(begin, end, last, key) || failed.contains(key))
    return false;

  // Where an item is placed at or above the place that another could fill
  // below it, that other one comes first in canonical order.
  int64_t ceiling = INT64_MAX;
  for (size_t k = begin; k < end; ++k)
    ceiling = std::min(ceiling, stack[k].lowest + items[stack[k].item].size);
  std::vector<std::pair<int64_t, int32_t>> candidates;
  for (size_t k = begin; k < end; ++k)
    if (stack[k].lowest < ceiling && stack[k].lowest == stack[k].earliest)
      candidates.emplace_back(stack[k].lowest, stack[k].item);
  std::sort(candidates.begin(), candidates.end());

  for (auto [offset, i] : candidates) {
    const Item &item = items[i];
    size_t base = stack.size();
    for (size_t k = begin; k < end; ++k) {
      Open next = stack[k];
      if (next.item == i)
        continue;
      if (meet(items[next.item], item))
        next.lowest =
            std::max(next.lowest,
                     alignUp(offset + item.size, items[next.item].alignment));
      stack.push_back(next);
    }
    offsets[i] = offset;
    bool found = solveParts(base, stack.size(), {offset, i});
    stack.resize(base);
    if (found)
      return true;
    if (left <= 0)
      return false;
  }
  failed.insert(key);
  return false;
}

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
    double worst = *std::max_element(trouble.begin() + item.first,
                                     trouble.begin() + item.last);
    double total = *std::max_element(totals.begin() + item.first,
                                     totals.begin() + item.last);
    double size = item.size, length = item.last - item.first;
    switch (tieBreak) {
    case TieBreak::LongThenLarge:
      keys.push_back({-worst, -total, -length, -size});
      break;
    case TieBreak::LongThenSmall:
      keys.push_back({-worst, -total, -length, size});
      break;
    case TieBreak::AreaThenLong:
      keys.push_back({-worst, -total, -size * length, -length});
      break;
    case TieBreak::LargeThenLong:
      keys.push_back({-worst, -total, -size, -length});
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
  // Searches that start badly stay bad for long, so each is stopped soon, and
  // the next ranks those items first in whose sections it failed.
  constexpr size_t styles = std::size(tieBreaks);
  std::array<std::vector<double>, styles> trouble;
  trouble.fill(std::vector<double>(component.sections, 0));
  double limit = std::max<double>(100'000, 300.0 * component.items.size());
  for (size_t run = 0; budget > 0; ++run, limit *= 1.1) {
    std::vector<double> &weights = trouble[run % styles];
    std::vector<int32_t> ranking =
        rank(component, weights, tieBreaks[run % styles]);
    Search search(component, capacity, ranking);
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
      weights[s] = 0.9 * weights[s] + search.failures[s] / sum;
  }
  return SearchResult::Unknown;
}
