//===- Checks.cpp - an entry on the GPU and on the host ---- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "Direct.h"

#include <algorithm>
#include <cstdio>

namespace weir::gpucheck {

std::string compareAll(const Outcome &got, const Outcome &want, Closeness closeness) {
  for (size_t i = 0; i < got.fetches.size(); ++i)
    if (std::string difference = compare(got.fetches[i], want.fetches[i], closeness);
        !difference.empty())
      return "fetch " + std::to_string(i) + ": " + difference;
  return "";
}

/// Runs an entry with many sizes in turn, each again and again: steps that come as
/// graphs are those of their sizes.
static std::string checkSizes(const Case &tested, weir_session *host, weir_session *gpu) {
  const weir_plugin &plugin = *tested.plugin;
  for (int round = 0; round < 3; ++round)
    for (int64_t size = 3; size < 10; ++size) {
      std::vector<Feed> feeds;
      makeFeeds(plugin.program, tested.entry, feeds, {size, tested.kind.integers});
      Outcome want = run(plugin, host, tested.entry, feeds, 1);
      Outcome got = run(plugin, gpu, tested.entry, feeds, 1);
      std::string problem = got.code != want.code ? got.message
                            : got.code            ? ""
                                                  : compareAll(got, want, tested.closeness);
      release(plugin, host, want);
      release(plugin, gpu, got);
      if (!problem.empty())
        return "with open sizes of " + std::to_string(size) + ": " + problem;
    }
  return "";
}

/// A fetch over a feed, which is read before it is written.
static std::string checkShared(Direct &direct, const Outcome &want, Closeness closeness) {
  std::vector<uint64_t> words;
  for (size_t j = 0; j < direct.fetches.size(); ++j)
    for (size_t i = 0; i < direct.given.size(); ++i) {
      if (!direct.fetchesThere[j] || !direct.feedsThere[i] ||
          direct.fetches[j].bytes != direct.given[i].bytes)
        continue;
      direct.fetches[j].data = direct.given[i].data;
      auto end = direct.runOnce();
      std::string difference =
          end.first ? end.second : compare(direct.read(j, words), want.fetches[j], closeness);
      return difference.empty() ? "" : "fetch over a feed: " + difference;
    }
  return "";
}

/// The same of a fetch that is a little larger than the feed, as a cache that has grown by a step.
static std::string checkGrown(Direct &direct, Gpu &gpu, const std::vector<Feed> &feeds,
                              const Outcome &want, Closeness closeness) {
  std::vector<uint64_t> words;
  for (size_t j = 0; j < direct.fetches.size(); ++j)
    for (size_t i = 0; i < direct.given.size(); ++i) {
      weir_tensor before = direct.given[i];
      if (!direct.fetchesThere[j] || !direct.feedsThere[i] ||
          direct.fetches[j].bytes <= before.bytes ||
          4 * before.bytes < 3 * direct.fetches[j].bytes || direct.fetches[j].dtype != before.dtype)
        continue;
      gpu.api->copyInAsync(uint64_t(direct.fetches[j].data), feeds[i].tensor.data,
                           size_t(before.bytes), gpu.stream);
      direct.given[i].data = direct.fetches[j].data;
      auto end = direct.runOnce();
      direct.given[i] = before;
      std::string difference =
          end.first ? end.second : compare(direct.read(j, words), want.fetches[j], closeness);
      if (!difference.empty())
        return "fetch over a smaller feed: " + difference;
    }
  return "";
}

/// Runs an entry with feeds and fetches in the GPU's memory where that is possible,
/// in a stream, without waiting; `count` gets how many were there.
static std::string checkDirect(const Case &tested, weir_session *session, Gpu &gpu,
                               std::vector<Feed> &feeds, const Outcome &want, int &count) {
  Direct direct(session, tested.entry, gpu);
  count = direct.place(feeds, sizesOf(want));
  auto end = direct.runOnce();
  if (end.first)
    return "direct: " + end.second;
  std::vector<uint64_t> words;
  for (size_t i = 0; i < direct.fetches.size(); ++i)
    if (std::string difference = compare(direct.read(i, words), want.fetches[i], tested.closeness);
        !difference.empty())
      return "direct fetch " + std::to_string(i) + ": " + difference;
  std::string problem = checkGrown(direct, gpu, feeds, want, tested.closeness);
  return problem.empty() ? checkShared(direct, want, tested.closeness) : problem;
}

static double best(const Outcome &outcome) {
  return outcome.times.empty() ? 0 : *std::min_element(outcome.times.begin(), outcome.times.end());
}

/// What comes after a run that succeeded.
static std::string checkMore(const Case &tested, weir_session *host, weir_session *gpu, Gpu &driver,
                             std::vector<Feed> &feeds, const Outcome &want, bool isOpen,
                             const Counts &counts, std::string &note) {
  std::string problem = checkConcurrent(tested, gpu, feeds, want, counts.concurrent);
  if (problem.empty() && isOpen)
    problem = checkSizes(tested, host, gpu);
  int direct = 0;
  if (problem.empty() && driver.usable)
    problem = checkDirect(tested, gpu, driver, feeds, want, direct);
  std::string memory;
  if (problem.empty() && counts.limits)
    problem = checkMemory(tested, feeds, want, counts.limits, memory);
  const weir_plugin &plugin = *tested.plugin;
  Outcome slow = run(plugin, host, tested.entry, feeds, counts.repeat);
  Outcome fast = run(plugin, gpu, tested.entry, feeds, counts.repeat);
  char text[96];
  std::snprintf(text, sizeof(text), "host_us=%.1f gpu_us=%.1f direct=%d", best(slow), best(fast),
                direct);
  note = text + memory;
  release(plugin, host, slow);
  release(plugin, gpu, fast);
  return problem;
}

std::string checkEntry(const Case &tested, weir_session *host, weir_session *gpu, Gpu &driver,
                       const Counts &counts, std::string &note) {
  const weir_plugin &plugin = *tested.plugin;
  std::vector<Feed> feeds;
  bool isOpen = false;
  if (!makeFeeds(plugin.program, tested.entry, feeds, tested.kind, &isOpen))
    return "skipped";
  Outcome want = run(plugin, host, tested.entry, feeds, 1);
  Outcome got = run(plugin, gpu, tested.entry, feeds, 1);
  std::string problem;
  if (got.code != want.code || (got.code && got.message != want.message))
    problem = "ends with \"" + got.message + "\", on the host with \"" + want.message + "\"";
  else if (!got.code)
    problem = compareAll(got, want, tested.closeness);
  if (problem.empty() && !got.code)
    problem = checkMore(tested, host, gpu, driver, feeds, want, isOpen, counts, note);
  release(plugin, host, want);
  release(plugin, gpu, got);
  return problem;
}

} // namespace weir::gpucheck
