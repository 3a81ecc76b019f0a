//===- GreedyOffsets.cpp - Offsets by fixed orders ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/GreedyOffsets.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

using namespace weir::memory;

namespace {

/// Pairs looked at, over all orders, before the rest of them are left out.
constexpr int64_t pairBudget = 60'000'000;

/// For every item the largest total of its sections, by sparse table.
std::vector<int64_t> largestTotals(const Component &component) {
  std::vector<std::vector<int64_t>> levels = {sectionTotals(component)};
  for (size_t step = 1; 2 * step <= levels[0].size(); step *= 2) {
    const std::vector<int64_t> &below = levels.back();
    std::vector<int64_t> next(below.size() - step);
    for (size_t i = 0; i < next.size(); ++i)
      next[i] = std::max(below[i], below[i + step]);
    levels.push_back(std::move(next));
  }
  std::vector<int64_t> largest;
  largest.reserve(component.items.size());
  for (const Item &item : component.items) {
    int level = 0;
    while (2 << level <= item.last - item.first)
      ++level;
    largest.push_back(std::max(levels[level][item.first], levels[level][item.last - (1 << level)]));
  }
  return largest;
}

std::vector<int32_t> itemsByStart(const Component &component) {
  std::vector<int32_t> byStart(component.items.size());
  std::iota(byStart.begin(), byStart.end(), 0);
  std::sort(byStart.begin(), byStart.end(), [&](int32_t a, int32_t b) {
    return std::pair(component.items[a].first, a) < std::pair(component.items[b].first, b);
  });
  return byStart;
}

} // namespace

int64_t weir::memory::countMeetings(const Component &component) {
  // Of any two that meet, one begins while the other lives; a death in section
  // s comes before a birth there.
  std::vector<int64_t> births(component.sections + 1, 0);
  std::vector<int64_t> deaths(component.sections + 1, 0);
  for (const Item &item : component.items) {
    ++births[item.first];
    ++deaths[item.last];
  }
  int64_t live = 0, pairs = 0;
  for (int32_t s = 0; s < component.sections; ++s) {
    live -= deaths[s];
    pairs += live * births[s] + births[s] * (births[s] - 1) / 2;
    live += births[s];
  }
  return pairs;
}

Meetings weir::memory::findMeetings(const Component &component) {
  const std::vector<Item> &items = component.items;
  std::vector<int32_t> byStart = itemsByStart(component);
  Meetings result;
  result.begin.assign(items.size() + 1, 0);
  auto forEachPair = [&](auto visit) {
    std::vector<int32_t> live;
    for (int32_t i : byStart) {
      std::erase_if(live, [&](int32_t j) { return items[j].last <= items[i].first; });
      for (int32_t j : live)
        visit(i, j);
      live.push_back(i);
    }
  };
  forEachPair([&](int32_t i, int32_t j) {
    ++result.begin[i + 1];
    ++result.begin[j + 1];
  });
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.others.resize(result.begin.back());
  std::vector<int64_t> next(result.begin.begin(), result.begin.end() - 1);
  forEachPair([&](int32_t i, int32_t j) {
    result.others[next[i]++] = j;
    result.others[next[j]++] = i;
  });
  return result;
}

std::vector<int32_t> weir::memory::greedyOrder(const Component &component, GreedyOrder order) {
  const std::vector<Item> &items = component.items;
  std::vector<int64_t> largest = largestTotals(component);
  using Key = std::array<int64_t, 3>;
  std::vector<Key> keys(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    int64_t size = items[i].size, length = items[i].last - items[i].first;
    switch (order) {
    case GreedyOrder::Size:
      keys[i] = {-size, -length, items[i].first};
      break;
    case GreedyOrder::Area:
      keys[i] = {-size * length, -size, items[i].first};
      break;
    case GreedyOrder::Lifetime:
      keys[i] = {-length, -size, items[i].first};
      break;
    case GreedyOrder::Conflict:
      keys[i] = {-largest[i], -size * length, items[i].first};
      break;
    case GreedyOrder::Time:
      keys[i] = {items[i].first, -length, -size};
      break;
    }
  }
  std::vector<int32_t> result(items.size());
  std::iota(result.begin(), result.end(), 0);
  std::sort(result.begin(), result.end(),
            [&](int32_t a, int32_t b) { return std::tie(keys[a], a) < std::tie(keys[b], b); });
  return result;
}

Placement weir::memory::placeInOrder(const Component &component, const Meetings &meetings,
                                     std::span<const int32_t> order, GreedyFit fit) {
  const std::vector<Item> &items = component.items;
  Placement result;
  result.offsets.assign(items.size(), -1);
  std::vector<std::pair<int64_t, int64_t>> occupied;
  for (int32_t i : order) {
    occupied.clear();
    for (int32_t j : meetings.of(i))
      if (result.offsets[j] >= 0)
        occupied.emplace_back(result.offsets[j], result.offsets[j] + items[j].size);
    std::sort(occupied.begin(), occupied.end());
    int64_t top = 0, chosen = -1, smallest = INT64_MAX;
    for (auto [begin, end] : occupied) {
      int64_t offset = alignUp(top, items[i].alignment);
      if (offset + items[i].size <= begin && begin - top < smallest) {
        chosen = offset;
        smallest = begin - top;
        if (fit == GreedyFit::First)
          break;
      }
      top = std::max(top, end);
    }
    if (chosen < 0)
      chosen = alignUp(top, items[i].alignment);
    result.offsets[i] = chosen;
    result.peak = std::max(result.peak, chosen + items[i].size);
  }
  return result;
}

Placement weir::memory::placeOnline(const Component &component) {
  const std::vector<Item> &items = component.items;
  std::vector<int32_t> births = greedyOrder(component, GreedyOrder::Time);
  std::vector<int32_t> deaths = births;
  std::sort(deaths.begin(), deaths.end(), [&](int32_t a, int32_t b) {
    return std::pair(items[a].last, a) < std::pair(items[b].last, b);
  });

  Placement result;
  result.offsets.assign(items.size(), 0);
  // Gaps below the peak, by offset and by size; neighbours are merged.
  std::map<int64_t, int64_t> gaps;
  std::set<std::pair<int64_t, int64_t>> bySize;
  auto addGap = [&](int64_t begin, int64_t end) {
    if (begin == end)
      return;
    gaps.emplace(begin, end);
    bySize.emplace(end - begin, begin);
  };
  auto takeGap = [&](std::map<int64_t, int64_t>::iterator gap) {
    bySize.erase({gap->second - gap->first, gap->first});
    gaps.erase(gap);
  };
  auto release = [&](int64_t begin, int64_t end) {
    auto next = gaps.lower_bound(begin);
    if (next != gaps.end() && next->first == end) {
      end = next->second;
      takeGap(next);
    }
    auto previous = gaps.lower_bound(begin);
    if (previous != gaps.begin() && (--previous)->second == begin) {
      begin = previous->first;
      takeGap(previous);
    }
    addGap(begin, end);
  };
  size_t dead = 0;
  for (int32_t i : births) {
    for (; items[deaths[dead]].last <= items[i].first; ++dead) {
      int64_t offset = result.offsets[deaths[dead]];
      release(offset, offset + items[deaths[dead]].size);
    }
    int64_t begin = -1, end = 0;
    auto fit = bySize.lower_bound({items[i].size, 0});
    for (int tries = 0; fit != bySize.end() && tries < 8; ++fit, ++tries) {
      int64_t offset = alignUp(fit->second, items[i].alignment);
      if (offset + items[i].size > fit->second + fit->first)
        continue;
      begin = fit->second;
      end = begin + fit->first;
      takeGap(gaps.find(begin));
      break;
    }
    if (begin < 0) {
      // Grow the arena, from the gap that ends at its top where there is one.
      begin = end = result.peak;
      if (!gaps.empty() && std::prev(gaps.end())->second == result.peak) {
        begin = std::prev(gaps.end())->first;
        takeGap(std::prev(gaps.end()));
      }
    }
    int64_t offset = alignUp(begin, items[i].alignment);
    int64_t top = offset + items[i].size;
    result.offsets[i] = offset;
    result.peak = std::max(result.peak, top);
    addGap(begin, offset);
    if (top < end)
      addGap(top, end);
  }
  return result;
}

Placement weir::memory::placeGreedily(const Component &component) {
  Placement best = placeOnline(component);
  int64_t pairs = countMeetings(component);
  if (best.peak == component.lowerBound || pairs > pairBudget)
    return best;
  Meetings meetings = findMeetings(component);
  int64_t spent = pairs;
  for (GreedyOrder order : greedyOrders) {
    std::vector<int32_t> items = greedyOrder(component, order);
    for (GreedyFit fit : {GreedyFit::First, GreedyFit::Best}) {
      if (best.peak == component.lowerBound || spent > pairBudget)
        return best;
      Placement next = placeInOrder(component, meetings, items, fit);
      spent += 2 * pairs;
      if (next.peak < best.peak)
        best = std::move(next);
    }
  }
  return best;
}
