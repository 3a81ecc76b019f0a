//===- Stress.cpp - many runs at once, and too little memory -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include <algorithm>
#include <set>
#include <thread>

namespace weir::gpucheck {

std::string checkConcurrent(const Case &tested, weir_session *gpu, std::vector<Feed> &feeds,
                            const Outcome &want, int runs) {
  constexpr int threadCount = 4;
  std::vector<std::string> bad(threadCount);
  auto work = [&](int number) {
    std::string &mine = bad[size_t(number)];
    for (int i = number; mine.empty() && i < runs; i += threadCount) {
      Outcome other = run(*tested.plugin, gpu, tested.entry, feeds, 1);
      mine = other.code ? other.message : compareAll(other, want, tested.closeness);
      release(*tested.plugin, gpu, other);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < threadCount; ++i)
    threads.emplace_back(work, i);
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &mine : bad)
    if (!mine.empty())
      return "concurrent: " + mine;
  return "";
}

/// The most that the GPU's allocator has handed out.
static int64_t peakOf(const weir_plugin &plugin, weir_session *session) {
  int64_t peak = 0;
  for (int32_t i = 0; i < weir_program_device_count(plugin.program); ++i) {
    weir_memory_stats stats = {};
    stats.size = sizeof(stats);
    std::string name = weir_program_device_name(plugin.program, i);
    if (name.find("/device:GPU:") != std::string::npos &&
        plugin.session_memory(session, i, &stats) == 0)
      peak = std::max(peak, stats.peak_in_use);
  }
  return peak;
}

/// The node that a message names, or what all nodes of a step share; "": none.
static std::string placeIn(const std::string &message) {
  static const std::string arena = "the planned arena of a run";
  size_t begin = message.find("node \"");
  size_t end = begin == std::string::npos ? begin : message.find('"', begin + 6);
  if (end != std::string::npos)
    return message.substr(begin + 6, end - begin - 6);
  return message.find(arena) != std::string::npos ? arena : "";
}

namespace {

/// Runs under limits, and what they came to.
struct Limits {
  const Case &tested;
  std::vector<Feed> &feeds;
  const Outcome &want;
  int sessions = 0, runs = 0; ///< that ended in RESOURCE_EXHAUSTED
  std::set<std::string> places = {};

  /// "" or what is wrong with the run.
  std::string check(weir_session *session, bool limited) {
    Outcome got = run(*tested.plugin, session, tested.entry, feeds, 1);
    std::string problem;
    if (!got.code) {
      problem = compareAll(got, want, tested.closeness);
    } else if (!limited || got.code != WEIR_RESOURCE_EXHAUSTED) {
      problem = std::string(weir_code_name(got.code)) + ": " + got.message;
    } else if (placeIn(got.message).empty()) {
      problem = "no node is named: " + got.message;
    } else {
      ++runs;
      places.insert(placeIn(got.message));
    }
    release(*tested.plugin, session, got);
    return problem;
  }

  std::string checkLimit(int64_t limit) {
    Opened opened = open(*tested.plugin, "require", {tested.weights, limit});
    if (!opened.session) {
      ++sessions;
      return opened.code == WEIR_RESOURCE_EXHAUSTED
                 ? ""
                 : std::string("session: ") + weir_code_name(opened.code) + ": " + opened.message;
    }
    std::string problem;
    // Again: what failed has left nothing behind.
    for (int i = 0; problem.empty() && i < 2; ++i)
      problem = check(opened.session, true);
    tested.plugin->session_destroy(opened.session);
    return problem;
  }
};

} // namespace

std::string checkMemory(const Case &tested, std::vector<Feed> &feeds, const Outcome &want,
                        int places, std::string &note) {
  Opened ample = open(*tested.plugin, "require", {tested.weights});
  if (!ample.session)
    return "memory: " + ample.message;
  Limits limits = {tested, feeds, want};
  std::string problem = limits.check(ample.session, false);
  int64_t peak = peakOf(*tested.plugin, ample.session);
  for (int i = 0; problem.empty() && i < places; ++i) {
    int64_t limit = 1 + peak * i / places;
    problem = limits.checkLimit(limit);
    if (problem.empty())
      problem = limits.check(ample.session, false);
    if (!problem.empty())
      problem =
          "with " + std::to_string(limit) + " of " + std::to_string(peak) + " bytes: " + problem;
  }
  tested.plugin->session_destroy(ample.session);
  note = " limits=" + std::to_string(places) +
         " exhausted=" + std::to_string(limits.sessions + limits.runs) +
         " at=" + std::to_string(limits.places.size());
  return problem;
}

} // namespace weir::gpucheck
