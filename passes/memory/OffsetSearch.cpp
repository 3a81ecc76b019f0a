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

/// Offsets are counted in 32 bits here, with room for one size on top.
constexpr int64_t largestCapacity = (int64_t(1) << 30) - 1;

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
        capacity(capacity), sections(component.sections),
        above(component.sections), part(component.sections + 1) {
    for (int32_t i : ranking) {
      const Item &item = component.items[i];
      items.push_back({item.first, item.last, int32_t(item.size),
                       int32_t(std::min(item.alignment, largestCapacity + 1))});
    }
  }

  SearchResult run(int64_t budget) {
    left = budget;
    stack.clear();
    for (size_t i = 0; i < items.size(); ++i)
      stack.push_back({int32_t(i), 0, 0});
    if (!isDeadEnd(0, stack.size(), {0, -1}, {0, sections}) &&
        solve(0, stack.size(), {0, -1}))
      return SearchResult::Found;
    return left <= 0 ? SearchResult::Unknown : SearchResult::Impossible;
  }

  int64_t left = 0;             ///< of the budget
  std::vector<int64_t> offsets; ///< by rank
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
  };
  /// The item placed last: later ones have a greater (offset, rank).
  struct Last {
    int32_t offset;
    int32_t item;
  };
  struct Range {
    int32_t first, last;
    void include(const Block &block) {
      first = std::min(first, block.first);
      last = std::max(last, block.last);
    }
  };

  bool solve(size_t begin, size_t end, Last last);
  bool solveParts(size_t begin, size_t end, Last last);
  int32_t splitParts(size_t begin, size_t end);
  bool isDeadEnd(size_t begin, size_t end, Last last, Range changed);
  bool isOverfull(size_t begin, size_t end, Range changed);
  bool raisePassedOver(size_t begin, size_t end, Range &changed);
  uint64_t hash(size_t begin, size_t end) const;
  int32_t raised(int32_t offset, const Block &block) const {
    return block.alignment == 1 ? offset : alignUp(offset, block.alignment);
  }

  int32_t capacity, sections;
  std::vector<Block> items; ///< by rank
  FailedStates failed;
  std::vector<Open> stack; ///< the open items of every level of the recursion
  // Scratch.
  std::vector<int32_t> above, part; ///< by section
  std::vector<uint64_t> byEarliest;
  std::vector<size_t> passedOver;
};

/// An item that could have been placed before `last` and was not must come to
/// rest on one that is still open. Returns true when there is none.
bool Search::raisePassedOver(size_t begin, size_t end, Range &changed) {
  for (size_t p : passedOver) {
    Open &open = stack[p];
    const Block &block = items[open.item];
    int32_t support = INT32_MAX;
    for (size_t k = begin; k < end; ++k) {
      const Block &other = items[stack[k].item];
      int32_t top = stack[k].earliest + other.size;
      bool meets = other.first < block.last && block.first < other.last;
      support = meets && k != p ? std::min(support, top) : support;
    }
    left -= (end - begin) / 4;
    if (support > capacity)
      return true;
    support = raised(support, block);
    if (support <= open.earliest)
      continue;
    open.earliest = support;
    changed.include(block);
  }
  return false;
}

/// Whether some section among `changed` cannot hold what is left in it:
/// whatever starts at x or later needs the room above x.
bool Search::isOverfull(size_t begin, size_t end, Range changed) {
  byEarliest.clear();
  for (size_t k = begin; k < end; ++k) {
    const Block &block = items[stack[k].item];
    if (block.first < changed.last && changed.first < block.last)
      byEarliest.push_back(uint64_t(~uint32_t(stack[k].earliest)) << 32 |
                           stack[k].item);
  }
  left -= byEarliest.size();
  std::sort(byEarliest.begin(), byEarliest.end());
  std::fill(above.begin() + changed.first, above.begin() + changed.last, 0);
  for (uint64_t key : byEarliest) {
    const Block &block = items[uint32_t(key)];
    int32_t room = capacity - int32_t(~uint32_t(key >> 32));
    int32_t first = std::max(block.first, changed.first);
    int32_t last = std::min(block.last, changed.last);
    int32_t most = 0;
    for (int32_t s = first; s < last; ++s)
      most = std::max(most, above[s] += block.size);
    if (most <= room)
      continue;
    auto full = std::find(above.begin() + first, above.begin() + last, most);
    failures[full - above.begin()] += 1;
    return true;
  }
  return false;
}

/// Finds out how low each open item can still come to lie, and whether that
/// leaves no solution. Sections outside of `changed` are as they were when this
/// was called for a level above.
bool Search::isDeadEnd(size_t begin, size_t end, Last last, Range changed) {
  passedOver.clear();
  for (size_t k = begin; k < end; ++k) {
    Open &open = stack[k];
    int32_t earliest = open.lowest;
    if (open.lowest < last.offset ||
        (open.lowest == last.offset && open.item < last.item)) {
      passedOver.push_back(k);
      earliest = last.offset + 1;
    }
    if (earliest <= open.earliest)
      continue;
    open.earliest = earliest;
    changed.include(items[open.item]);
  }
  left -= (end - begin) / 4;
  return raisePassedOver(begin, end, changed) ||
         isOverfull(begin, end, changed);
}

uint64_t Search::hash(size_t begin, size_t end) const {
  uint64_t sum = 0;
  for (size_t k = begin; k < end; ++k)
    sum += scramble(uint64_t(stack[k].earliest) << 32 | stack[k].item);
  return sum;
}

/// Writes to `part` the number of the independent part that each section
/// belongs to; returns how many there are.
int32_t Search::splitParts(size_t begin, size_t end) {
  Range range = {INT32_MAX, 0};
  for (size_t k = begin; k < end; ++k)
    range.include(items[stack[k].item]);
  std::fill(part.begin() + range.first, part.begin() + range.last + 1, 0);
  for (size_t k = begin; k < end; ++k) {
    ++part[items[stack[k].item].first + 1];
    --part[items[stack[k].item].last];
  }
  int32_t parts = 1, crossing = 0;
  part[range.first] = 0;
  for (int32_t s = range.first + 1; s < range.last; ++s) {
    crossing += part[s];
    parts += crossing == 0;
    part[s] = parts - 1;
  }
  return parts;
}

bool Search::solveParts(size_t begin, size_t end, Last last) {
  if (begin == end)
    return true;
  const Block &placed = items[last.item];
  Range changed = {placed.first, placed.last};
  if (isDeadEnd(begin, end, last, changed))
    return false;
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

  bool fits = true;
  at = base;
  for (auto [size, p] : bySize) {
    fits = fits && (size == 0 || solve(at, at + size, last));
    at += size;
  }
  stack.resize(base);
  return fits;
}

bool Search::solve(size_t begin, size_t end, Last last) {
  if (left <= 0)
    return false;
  uint64_t key = hash(begin, end);
  if (failed.contains(key))
    return false;

  // Where an item is placed at or above the place that another could fill
  // below it, that other one comes first in canonical order.
  int32_t ceiling = INT32_MAX;
  for (size_t k = begin; k < end; ++k)
    ceiling = std::min(ceiling, stack[k].lowest + items[stack[k].item].size);
  std::vector<std::pair<int32_t, int32_t>> candidates;
  for (size_t k = begin; k < end; ++k)
    if (stack[k].lowest < ceiling && stack[k].lowest == stack[k].earliest)
      candidates.emplace_back(stack[k].lowest, stack[k].item);
  std::sort(candidates.begin(), candidates.end());

  for (auto [offset, i] : candidates) {
    const Block &block = items[i];
    size_t base = stack.size();
    for (size_t k = begin; k < end; ++k) {
      Open next = stack[k];
      if (next.item == i)
        continue;
      const Block &other = items[next.item];
      if (other.first < block.last && block.first < other.last)
        next.lowest = std::max(next.lowest, raised(offset + block.size, other));
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
  if (capacity > largestCapacity)
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
      weights[s] = 0.6 * weights[s] + search.failures[s] / sum;
  }
  return SearchResult::Unknown;
}
