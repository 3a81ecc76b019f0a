//===- SkylineSearch.cpp - Offsets from the bottom up ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SkylineSearch.h"

#include <algorithm>
#include <numeric>

using namespace weir::memory;

/// The finalizer of a 64-bit hash: every bit depends on every bit.
static uint64_t scramble(uint64_t x) {
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44d;
  return x ^ x >> 33;
}

SkylineSearch::SkylineSearch(const Component &component, int64_t capacity,
                             std::span<const int32_t> ranking, std::span<const double> trouble)
    : offsets(component.items.size(), 0), failures(component.sections, 0), capacity(capacity),
      sections(component.sections), trouble(trouble), floor(component.sections, 0),
      slack(component.sections, capacity), lowest(component.items.size(), 0),
      scratch(component.sections, 0) {
  for (int32_t i : ranking) {
    const Item &item = component.items[i];
    items.push_back({item.first, item.last, int32_t(item.size),
                     int32_t(std::min(item.alignment, capacity + 1))});
    for (int32_t s = item.first; s < item.last; ++s)
      slack[s] -= item.size;
  }
}

SearchResult SkylineSearch::run(int64_t budget) {
  left = budget;
  List open(items.size());
  std::iota(open.begin(), open.end(), 0);
  return solve(open, {0, sections}) ? SearchResult::Found : SearchResult::Unknown;
}

SkylineSearch::Saved SkylineSearch::save(Range range) const {
  return {range,
          {floor.begin() + range.first, floor.begin() + range.last},
          {slack.begin() + range.first, slack.begin() + range.last}};
}

void SkylineSearch::restore(const Saved &saved) {
  std::copy(saved.floor.begin(), saved.floor.end(), floor.begin() + saved.range.first);
  std::copy(saved.slack.begin(), saved.slack.end(), slack.begin() + saved.range.first);
}

int32_t SkylineSearch::lowestOf(const Block &block) const {
  int32_t low = *std::max_element(floor.begin() + block.first, floor.begin() + block.last);
  return block.alignment == 1 ? low : int32_t(alignUp(low, block.alignment));
}

//===----------------------------------------------------------------------===//
// Dead ends
//===----------------------------------------------------------------------===//

/// Where nothing can stand on the floor of a section, the floor is higher, and
/// there is less slack; until nothing changes. False: something has no room.
bool SkylineSearch::raiseFloors(const List &open, Range range) {
  for (bool again = true; again;) {
    again = false;
    std::fill(scratch.begin() + range.first, scratch.begin() + range.last, INT32_MAX);
    left -= open.size();
    for (int32_t i : open) {
      const Block &block = items[i];
      lowest[i] = lowestOf(block);
      if (lowest[i] > capacity - block.size) {
        ++failures[block.first];
        return false;
      }
      for (int32_t s = block.first; s < block.last; ++s)
        scratch[s] = std::min(scratch[s], lowest[i]);
    }
    for (int32_t s = range.first; s < range.last; ++s) {
      if (scratch[s] == INT32_MAX || scratch[s] <= floor[s])
        continue;
      slack[s] -= scratch[s] - floor[s];
      floor[s] = scratch[s];
      again = true;
      if (slack[s] < 0) {
        ++failures[s];
        return false;
      }
    }
  }
  return true;
}

/// Whether some section cannot hold what is left in it: whatever starts at x or
/// later needs the room above x, for every x.
bool SkylineSearch::isOverfull(const List &open, Range range) {
  List falling = open;
  left -= open.size();
  std::sort(falling.begin(), falling.end(), [&](int32_t a, int32_t b) {
    return std::pair(-lowest[a], a) < std::pair(-lowest[b], b);
  });
  std::fill(scratch.begin() + range.first, scratch.begin() + range.last, 0);
  for (int32_t i : falling)
    for (int32_t s = items[i].first; s < items[i].last; ++s)
      if ((scratch[s] += items[i].size) > capacity - lowest[i]) {
        ++failures[s];
        return true;
      }
  return false;
}

uint64_t SkylineSearch::hashOf(const List &open, Range range) const {
  uint64_t hash = 0;
  for (int32_t i : open)
    hash += scramble(i * 0x9e3779b97f4a7c15 + 1);
  for (int32_t s = range.first; s < range.last; ++s) {
    hash ^= scramble(uint64_t(s) << 32 | uint32_t(floor[s]));
    hash *= 0x9e3779b97f4a7c15;
  }
  return hash;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Leaves the skyline as it was where it fails.
bool SkylineSearch::solve(const List &open, Range range) {
  if (open.empty())
    return true;
  if (left <= 0)
    return false;
  Saved saved = save(range);
  if (raiseFloors(open, range) && !isOverfull(open, range) && solveParts(open, range))
    return true;
  restore(saved);
  return false;
}

/// Items that share no section with others are solved alone, few first.
bool SkylineSearch::solveParts(const List &open, Range range) {
  // Sections that something reaches into from the one before.
  std::fill(scratch.begin() + range.first, scratch.begin() + range.last, 0);
  for (int32_t i : open) {
    scratch[items[i].first] |= 2; // something begins
    for (int32_t s = items[i].first + 1; s < items[i].last; ++s)
      scratch[s] |= 1;
  }
  std::vector<std::pair<Range, List>> parts;
  for (int32_t s = range.first; s < range.last; ++s) {
    if (!(scratch[s] & 1) && scratch[s] & 2)
      parts.push_back({{s, s + 1}, {}});
    else if (scratch[s] & 1)
      parts.back().first.last = s + 1;
  }
  for (int32_t i : open) {
    auto behind =
        std::upper_bound(parts.begin(), parts.end(), items[i].first,
                         [](int32_t first, const auto &part) { return first < part.first.first; });
    std::prev(behind)->second.push_back(i);
  }
  std::sort(parts.begin(), parts.end(), [](const auto &a, const auto &b) {
    return std::pair(a.second.size(), a.first.first) < std::pair(b.second.size(), b.first.first);
  });
  return std::all_of(parts.begin(), parts.end(), [&](const auto &part) {
    return parts.size() == 1 ? solvePart(part.second, part.first) : solve(part.second, part.first);
  });
}

bool SkylineSearch::solvePart(const List &open, Range range) {
  uint64_t hash = hashOf(open, range);
  if (failed.count(hash)) {
    --left;
    return false;
  }
  // The lowest place, and in how many ways each of its sections can be filled.
  std::vector<int32_t> fillers(range.last - range.first, 0);
  int32_t bottom = INT32_MAX, section = -1;
  for (int32_t i : open)
    bottom = std::min(bottom, lowest[i]);
  for (int32_t i : open)
    if (lowest[i] == bottom)
      for (int32_t s = items[i].first; s < items[i].last; ++s)
        ++fillers[s - range.first];
  double fewest = 0;
  for (int32_t s = range.first; s < range.last; ++s) {
    double choices = fillers[s - range.first] + (slack[s] > 0) - 0.9 * trouble[s];
    if (floor[s] == bottom && fillers[s - range.first] && (section < 0 || choices < fewest)) {
      fewest = choices;
      section = s;
    }
  }
  left -= open.size();
  if (placeEach(open, range, section, bottom) || leaveGap(open, range, section))
    return true;
  if (left > 0)
    failed.insert(hash);
  return false;
}

/// Tries each item that lies at the bottom of the section.
bool SkylineSearch::placeEach(const List &open, Range range, int32_t section, int32_t bottom) {
  List candidates;
  for (int32_t i : open)
    if (lowest[i] == bottom && items[i].meets(section))
      candidates.push_back(i);
  Saved saved = save(range);
  for (size_t k = 0; k < candidates.size() && left > 0; ++k) {
    int32_t item = candidates[k];
    const Block &block = items[item];
    // Of items that are alike one stands for all.
    if (std::any_of(candidates.begin(), candidates.begin() + k,
                    [&](int32_t other) { return items[other] == block; }))
      continue;
    for (int32_t s = block.first; s < block.last; ++s) {
      slack[s] -= bottom - floor[s];
      floor[s] = bottom + block.size;
    }
    offsets[item] = bottom;
    List rest;
    rest.reserve(open.size());
    std::copy_if(open.begin(), open.end(), std::back_inserter(rest),
                 [&](int32_t other) { return other != item; });
    if (solve(rest, range))
      return true;
    restore(saved);
  }
  return false;
}

/// Nothing lies at the bottom of the section: up to where something can next.
bool SkylineSearch::leaveGap(const List &open, Range range, int32_t section) {
  if (left <= 0 || slack[section] <= 0)
    return false;
  int32_t next = INT32_MAX;
  for (int32_t i : open) {
    const Block &block = items[i];
    if (!block.meets(section))
      continue;
    int32_t low = lowestOf(block);
    if (low > floor[section]) {
      next = std::min(next, low);
      continue;
    }
    // It must come to rest on another one.
    for (int32_t j : open)
      if (j != i && items[j].first < block.last && block.first < items[j].last)
        next = std::min(next, lowestOf(items[j]) + items[j].size);
  }
  left -= open.size();
  int32_t rise = next == INT32_MAX ? INT32_MAX : next - floor[section];
  if (rise > slack[section])
    return false;
  slack[section] -= rise;
  floor[section] += rise;
  if (solve(open, range))
    return true;
  slack[section] += rise;
  floor[section] -= rise;
  return false;
}
