//===- PlanChecker.cpp - What every memory plan must satisfy --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PlanChecker.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

using namespace weir::memory;

static PlanError broken(std::ptrdiff_t first, std::ptrdiff_t second, std::string message) {
  return {first, second, std::move(message)};
}

static std::optional<PlanError> checkAlone(const PlacedBuffer &b, std::ptrdiff_t i,
                                           int64_t arenaBytes) {
  if (b.size < 0 || b.lower > b.upper || b.alignment < 1)
    return broken(i, -1, "not a buffer");
  if (b.offset < 0 || b.size > arenaBytes || b.offset > arenaBytes - b.size)
    return broken(i, -1, "outside of the arena");
  if (b.offset % b.alignment != 0)
    return broken(i, -1, "not aligned");
  return std::nullopt;
}

std::optional<PlanError> weir::memory::checkPlan(std::span<const PlacedBuffer> buffers,
                                                 int64_t arenaBytes) {
  std::vector<std::ptrdiff_t> births;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (auto error = checkAlone(buffers[i], i, arenaBytes))
      return error;
    if (buffers[i].size > 0 && buffers[i].lower < buffers[i].upper)
      births.push_back(i);
  }
  std::vector<std::ptrdiff_t> deaths = births;
  std::sort(births.begin(), births.end(), [&](auto a, auto b) {
    return std::pair(buffers[a].lower, a) < std::pair(buffers[b].lower, b);
  });
  std::sort(deaths.begin(), deaths.end(), [&](auto a, auto b) {
    return std::pair(buffers[a].upper, a) < std::pair(buffers[b].upper, b);
  });

  // Walk through time with the live buffers by offset. While no two of them
  // overlap, a newcomer can only overlap its neighbours.
  std::map<int64_t, std::ptrdiff_t> live;
  size_t dead = 0;
  for (std::ptrdiff_t i : births) {
    for (; buffers[deaths[dead]].upper <= buffers[i].lower; ++dead)
      live.erase(buffers[deaths[dead]].offset);
    auto above = live.lower_bound(buffers[i].offset);
    if (above != live.end() && above->first < buffers[i].offset + buffers[i].size)
      return broken(i, above->second, "overlap while both live");
    if (above != live.begin()) {
      auto below = std::prev(above);
      if (below->first + buffers[below->second].size > buffers[i].offset)
        return broken(i, below->second, "overlap while both live");
    }
    live.emplace(buffers[i].offset, i);
  }
  return std::nullopt;
}

std::optional<PlanError> weir::memory::checkAccesses(std::span<const Access> accesses) {
  // Who wrote the bytes from here to `end` last. Ranges do not overlap.
  struct Written {
    int64_t end;
    int64_t location;
  };
  std::map<int64_t, Written> written;
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Access &access = accesses[i];
    if (access.size <= 0)
      continue;
    int64_t begin = access.offset, end = access.offset + access.size;
    auto it = written.upper_bound(begin);
    if (it != written.begin() && std::prev(it)->second.end > begin)
      --it;
    if (!access.isWrite) {
      for (; it != written.end() && it->first < end; ++it)
        if (it->second.location != access.location)
          return broken(i, -1, "reads what another buffer wrote");
      continue;
    }
    while (it != written.end() && it->first < end) {
      auto [from, old] = *it;
      it = written.erase(it);
      if (from < begin)
        written[from] = {begin, old.location};
      if (old.end > end)
        it = written.emplace(end, Written{old.end, old.location}).first;
    }
    written[begin] = {end, access.location};
  }
  return std::nullopt;
}

std::optional<PlanError> weir::memory::checkTransfers(std::span<const TransferEvent> events) {
  std::map<int64_t, size_t> open; // copies under way, and where they began
  for (size_t i = 0; i < events.size(); ++i) {
    const TransferEvent &event = events[i];
    if (event.kind == TransferEvent::Await) {
      open.erase(event.copy);
      continue;
    }
    bool writes = event.kind == TransferEvent::Write || event.kind == TransferEvent::CopyIn;
    for (auto [copy, began] : open) {
      const TransferEvent &other = events[began];
      bool meets =
          other.offset < event.offset + event.size && event.offset < other.offset + other.size;
      if (meets && other.kind == TransferEvent::CopyIn)
        return broken(i, began, "touches what is still copied back");
      if (meets && writes)
        return broken(i, began, "writes over what is still copied out");
    }
    if (event.kind == TransferEvent::CopyOut || event.kind == TransferEvent::CopyIn)
      open[event.copy] = i;
  }
  for (auto [copy, began] : open)
    if (events[began].kind == TransferEvent::CopyIn)
      return broken(began, -1, "is copied back, and never waited for");
  return std::nullopt;
}
