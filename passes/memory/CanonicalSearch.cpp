//===- CanonicalSearch.cpp - One search for offsets -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/CanonicalSearch.h"

#include <algorithm>

using namespace weir::memory;

static void add(uint64_t *set, int32_t item) { set[item >> 6] |= uint64_t(1) << (item & 63); }

static bool has(const uint64_t *set, int32_t item) { return set[item >> 6] >> (item & 63) & 1; }

void CanonicalSearch::Range::include(const Block &block) {
  first = std::min(first, block.first);
  last = std::max(last, block.last);
}

CanonicalSearch::CanonicalSearch(const Component &component, int64_t capacity,
                                 std::span<const int32_t> ranking)
    : offsets(component.items.size(), 0), failures(component.sections, 0), capacity(capacity),
      sections(component.sections), words((component.items.size() + 63) / 64), conflict(words),
      above(component.sections), part(component.sections + 1) {
  for (int32_t i : ranking) {
    const Item &item = component.items[i];
    items.push_back({item.first, item.last, int32_t(item.size),
                     int32_t(std::min(item.alignment, largestSearchedCapacity + 1))});
  }
  meetings.assign(words * items.size(), 0);
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (items[i].first < items[j].last && items[j].first < items[i].last) {
        add(&meetings[i * words], j);
        add(&meetings[j * words], i);
      }
}

SearchResult CanonicalSearch::run(int64_t budget) {
  left = budget;
  stack.clear();
  for (size_t i = 0; i < items.size(); ++i)
    stack.push_back({int32_t(i), 0, 0});
  bool deadEnd = isOverfull(0, stack.size(), {0, sections});
  if (!deadEnd && solve(0, stack.size()))
    return SearchResult::Found;
  return left <= 0 ? SearchResult::Unknown : SearchResult::Impossible;
}

//===----------------------------------------------------------------------===//
// Dead ends
//===----------------------------------------------------------------------===//

/// An item that was passed over must come to rest on one that is still open.
/// Returns true when there is none that lies low enough.
bool CanonicalSearch::raisePassedOver(size_t begin, size_t end, Range &changed) {
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
    if (support > capacity) {
      std::fill(conflict.begin(), conflict.end(), 0);
      add(conflict.data(), open.item);
      addSupports(begin, end, conflict);
      return true;
    }
    support = aligned(support, block);
    if (support <= open.earliest)
      continue;
    open.earliest = support;
    changed.include(block);
  }
  return false;
}

/// Whether some section among `changed` cannot hold what is left in it:
/// whatever starts at x or later needs the room above x, for every x.
bool CanonicalSearch::isOverfull(size_t begin, size_t end, Range changed) {
  byEarliest.clear();
  for (size_t k = begin; k < end; ++k) {
    const Block &block = items[stack[k].item];
    if (block.first < changed.last && changed.first < block.last)
      byEarliest.push_back(uint64_t(~uint32_t(stack[k].earliest)) << 32 | stack[k].item);
  }
  left -= byEarliest.size();
  std::sort(byEarliest.begin(), byEarliest.end());
  std::fill(above.begin() + changed.first, above.begin() + changed.last, 0);
  for (size_t n = 0; n < byEarliest.size(); ++n) {
    const Block &block = items[uint32_t(byEarliest[n])];
    int32_t room = capacity - int32_t(~uint32_t(byEarliest[n] >> 32));
    int32_t first = std::max(block.first, changed.first);
    int32_t last = std::min(block.last, changed.last);
    int32_t most = 0;
    for (int32_t s = first; s < last; ++s)
      most = std::max(most, above[s] += block.size);
    if (most <= room)
      continue;
    int32_t full = std::find(above.begin() + first, above.begin() + last, most) - above.begin();
    failures[full] += 1;
    std::fill(conflict.begin(), conflict.end(), 0);
    for (size_t m = 0; m <= n; ++m) {
      int32_t item = uint32_t(byEarliest[m]);
      if (items[item].first <= full && full < items[item].last)
        add(conflict.data(), item);
    }
    addSupports(begin, end, conflict);
    return true;
  }
  return false;
}

/// Finds out how low each open item can still come to lie after `last` was
/// placed, and whether that leaves no solution; then `conflict` says why.
/// Sections that nothing of this concerns are as they were a level above.
bool CanonicalSearch::isDeadEnd(size_t begin, size_t end, Last last) {
  Range changed = {items[last.item].first, items[last.item].last};
  passedOver.clear();
  for (size_t k = begin; k < end; ++k) {
    Open &open = stack[k];
    int32_t earliest = open.lowest;
    if (open.lowest < last.offset || (open.lowest == last.offset && open.item < last.item)) {
      passedOver.push_back(k);
      earliest = last.offset + 1;
    }
    if (earliest <= open.earliest)
      continue;
    open.earliest = earliest;
    changed.include(items[open.item]);
  }
  left -= (end - begin) / 4;
  return raisePassedOver(begin, end, changed) || isOverfull(begin, end, changed);
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

/// What is known of an item that was passed over holds only together with the
/// open items that could support it: adds these. Returns true if any was new.
bool CanonicalSearch::addSupports(size_t begin, size_t end, Bits &set) const {
  Bits open(words, 0);
  std::vector<int32_t> waiting;
  for (size_t k = begin; k < end; ++k) {
    add(open.data(), stack[k].item);
    if (stack[k].passedOver())
      waiting.push_back(stack[k].item);
  }
  bool added = false;
  for (bool again = true; again;) {
    again = false;
    for (int32_t &item : waiting) {
      if (item < 0 || !has(set.data(), item))
        continue;
      for (size_t w = 0; w < words; ++w) {
        uint64_t more = meetings[item * words + w] & open[w] & ~set[w];
        set[w] |= more;
        added |= more != 0;
      }
      item = -1;
      again = true;
    }
  }
  return added;
}

/// Whether the conflict of a level below, where `item` was placed, is one of
/// this level, too: none of its items can start earlier here.
bool CanonicalSearch::holdsAbove(size_t begin, size_t end, size_t child, int32_t item) const {
  for (size_t k = begin; k < end; ++k) {
    if (stack[k].item == item)
      continue;
    if (stack[child].earliest != stack[k].earliest && has(conflict.data(), stack[k].item))
      return false;
    ++child;
  }
  return true;
}

/// Whether the items that `seed` draws in by the conflicts of those tried are a
/// conflict of this level: each of them that could come first among them was
/// tried, and failed. Sets `conflict` if so.
bool CanonicalSearch::isClosed(size_t begin, size_t end, int32_t seed,
                               const std::vector<int32_t> &tried, const Bits &conflicts) {
  Bits set(words, 0);
  add(set.data(), seed);
  std::vector<char> used(tried.size(), 0);
  for (bool again = true; again;) {
    again = false;
    for (size_t t = 0; t < tried.size(); ++t) {
      if (used[t] || !has(set.data(), tried[t]))
        continue;
      used[t] = again = true;
      for (size_t w = 0; w < words; ++w)
        set[w] |= conflicts[t * words + w];
    }
    again |= addSupports(begin, end, set);
  }
  int32_t ceiling = INT32_MAX;
  for (size_t k = begin; k < end; ++k)
    if (has(set.data(), stack[k].item))
      ceiling = std::min(ceiling, stack[k].lowest + items[stack[k].item].size);
  for (size_t k = begin; k < end; ++k)
    if (has(set.data(), stack[k].item) && !stack[k].passedOver() && stack[k].lowest < ceiling &&
        std::find(tried.begin(), tried.end(), stack[k].item) == tried.end())
      return false;
  conflict = std::move(set);
  return true;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Writes to `part` the number of the independent part that each section
/// belongs to; returns how many there are.
int32_t CanonicalSearch::splitParts(size_t begin, size_t end) {
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

/// Solves what is left after `last` was placed, each independent part alone.
bool CanonicalSearch::solveParts(size_t begin, size_t end, Last last) {
  if (begin == end)
    return true;
  if (isDeadEnd(begin, end, last))
    return false;
  int32_t parts = splitParts(begin, end);
  if (parts == 1)
    return solve(begin, end);

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
    fits = fits && (size == 0 || solve(at, at + size));
    at += size;
  }
  stack.resize(base);
  return fits;
}

/// Pushes what is open after `item` was placed.
void CanonicalSearch::place(size_t begin, size_t end, int32_t offset, int32_t item) {
  const Block &block = items[item];
  for (size_t k = begin; k < end; ++k) {
    Open next = stack[k];
    if (next.item == item)
      continue;
    const Block &other = items[next.item];
    if (other.first < block.last && block.first < other.last)
      next.lowest = std::max(next.lowest, aligned(offset + block.size, other));
    stack.push_back(next);
  }
  offsets[item] = offset;
}

/// Tries each open item that can come first in canonical order. On failure
/// `conflict` holds some of these items; it means nothing once the budget is
/// spent.
bool CanonicalSearch::solve(size_t begin, size_t end) {
  if (left <= 0)
    return false;
  // Where an item lies at or above a place that another could fill entirely
  // below it, that other one comes first.
  int32_t ceiling = INT32_MAX, lowestTop = -1;
  for (size_t k = begin; k < end; ++k) {
    int32_t top = stack[k].lowest + items[stack[k].item].size;
    if (top < ceiling) {
      ceiling = top;
      lowestTop = stack[k].item;
    }
  }
  std::vector<std::pair<int32_t, int32_t>> candidates;
  for (size_t k = begin; k < end; ++k)
    if (stack[k].lowest < ceiling && !stack[k].passedOver())
      candidates.emplace_back(stack[k].lowest, stack[k].item);
  std::sort(candidates.begin(), candidates.end());

  std::vector<int32_t> tried;
  Bits conflicts; ///< one set a candidate tried
  for (auto [offset, item] : candidates) {
    size_t base = stack.size();
    place(begin, end, offset, item);
    bool found = solveParts(base, stack.size(), {offset, item});
    bool over = found || left <= 0;
    bool jump = !over && holdsAbove(begin, end, base, item);
    stack.resize(base);
    if (over || jump)
      return found;
    add(conflict.data(), item);
    tried.push_back(item);
    conflicts.insert(conflicts.end(), conflict.begin(), conflict.end());
    if (isClosed(begin, end, item, tried, conflicts) ||
        isClosed(begin, end, lowestTop, tried, conflicts))
      return false;
  }
  std::fill(conflict.begin(), conflict.end(), 0);
  for (size_t k = begin; k < end; ++k)
    add(conflict.data(), stack[k].item);
  return false;
}
