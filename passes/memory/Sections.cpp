//===- Sections.cpp - Lifetimes as ranges of sections ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/Sections.h"

#include <algorithm>
#include <numeric>

using namespace weir::memory;

namespace {

struct Event {
  int64_t time;
  bool birth; ///< deaths sort before births: upper bounds are exclusive
  int32_t buffer;

  bool operator<(const Event &other) const {
    if (time != other.time)
      return time < other.time;
    if (birth != other.birth)
      return !birth;
    return buffer < other.buffer;
  }
};

bool meetsOthers(const Buffer &b) { return b.size > 0 && b.lower < b.upper; }

std::vector<Event> sortedEvents(std::span<const Buffer> buffers) {
  std::vector<Event> events;
  events.reserve(2 * buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!meetsOthers(buffers[i]))
      continue;
    events.push_back({buffers[i].lower, true, int32_t(i)});
    events.push_back({buffers[i].upper, false, int32_t(i)});
  }
  std::sort(events.begin(), events.end());
  return events;
}

/// The bytes that are live at each moment, less what the uppermost buffer need
/// not pad: whichever lies on top ends at its size, not at a granule.
int64_t boundInBytes(std::span<const Buffer> buffers, const std::vector<Event> &events,
                     int64_t alignment) {
  // A live buffer with the most padding is found lazily: the heap drops
  // buffers that have died when they come up.
  std::vector<std::pair<int64_t, int32_t>> heap;
  std::vector<char> live(buffers.size(), 0);
  int64_t sum = 0, bound = 0;
  for (const Event &e : events) {
    int64_t padded = alignUp(buffers[e.buffer].size, alignment);
    live[e.buffer] = e.birth;
    if (!e.birth) {
      sum -= padded;
      continue;
    }
    sum += padded;
    heap.emplace_back(padded - buffers[e.buffer].size, e.buffer);
    std::push_heap(heap.begin(), heap.end());
    while (!live[heap.front().second]) {
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    bound = std::max(bound, sum - heap.front().first);
  }
  return bound;
}

/// Where buffers rest on each other, every offset is a multiple of this.
int64_t commonGranule(std::span<const Buffer> buffers, int64_t alignment) {
  int64_t granule = 0;
  for (const Buffer &b : buffers)
    if (meetsOthers(b))
      granule = std::gcd(granule, alignUp(b.size, alignment));
  // An alignment that divides the granule comes by itself; any other moves
  // offsets to multiples of its own.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Buffer &b : buffers) {
      if (!meetsOthers(b) || granule % b.alignment == 0)
        continue;
      int64_t finer = std::gcd(granule, b.alignment);
      changed |= finer != granule;
      granule = finer;
    }
  }
  return granule;
}

} // namespace

std::vector<int64_t> weir::memory::sectionTotals(const Component &component) {
  std::vector<int64_t> totals(component.sections + 1, 0);
  for (const Item &item : component.items) {
    totals[item.first] += item.size;
    totals[item.last] -= item.size;
  }
  std::partial_sum(totals.begin(), totals.end(), totals.begin());
  totals.pop_back();
  return totals;
}

Problem weir::memory::buildProblem(std::span<const Buffer> buffers) {
  Problem problem;
  std::vector<Event> events = sortedEvents(buffers);
  if (events.empty())
    return problem;

  int64_t alignment = 0;
  for (const Buffer &b : buffers)
    if (meetsOthers(b))
      alignment = std::gcd(alignment, b.alignment);
  int64_t granule = commonGranule(buffers, alignment);
  problem.granule = granule;
  problem.lowerBound = boundInBytes(buffers, events, alignment);

  // A section ends where a death follows a birth; a component where nothing
  // lives.
  Component current;
  std::vector<int32_t> itemOf(buffers.size(), -1);
  int64_t live = 0;
  bool bornSince = false;
  for (const Event &e : events) {
    const Buffer &b = buffers[e.buffer];
    if (e.birth) {
      itemOf[e.buffer] = current.items.size();
      problem.padded |= b.size % alignment != 0;
      current.items.push_back({current.sections, 0, alignUp(b.size, alignment) / granule,
                               b.alignment / std::gcd(b.alignment, granule), e.buffer});
      bornSince = true;
      ++live;
      continue;
    }
    if (bornSince)
      ++current.sections;
    bornSince = false;
    current.items[itemOf[e.buffer]].last = current.sections;
    if (--live == 0) {
      std::vector<int64_t> totals = sectionTotals(current);
      current.lowerBound = *std::max_element(totals.begin(), totals.end());
      problem.components.push_back(std::move(current));
      current = Component();
    }
  }
  return problem;
}
