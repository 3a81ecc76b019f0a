//===- Alloc.cpp - weir-bench alloc ---------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The allocator of devices and malloc, in turn, over the same traces. Memory is
// not touched: what pages cost is the same for both.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Alloc.h"

#include "tools/common/FlagParser.h"
#include "tools/common/Terminal.h"

#include "bfc/bfc_allocator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

using namespace weir::tools;
using weir::rt::AllocationRequest;
using weir::rt::BfcAllocator;

namespace {

constexpr const char *toolName = "weir-bench alloc";

/// A slot is given memory when it has none, and gives it back when it has.
struct Event {
  uint32_t slot;
  int64_t bytes;
};

struct Pattern {
  const char *name, *what;
  int64_t smallest, largest; ///< sizes are uniform in their logarithm
  uint32_t slots;            ///< half of them hold memory at a time
  bool isStack;              ///< the last one allocated is freed first
};

constexpr Pattern patterns[] = {
    {"results", "1 KiB to 1 MiB, freed in reverse", 1 << 10, 1 << 20, 16, true},
    {"small", "256 B to 64 KiB in any order", 256, 64 << 10, 512, false},
    {"mixed", "256 B to 16 MiB in any order", 256, 16 << 20, 512, false},
};

std::vector<Event> traceOf(const Pattern &pattern, int64_t events, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> logarithm(std::log2(double(pattern.smallest)),
                                                   std::log2(double(pattern.largest)));
  std::vector<Event> trace;
  for (int64_t i = 0; i < events; ++i) {
    uint32_t at = uint32_t(i % (2 * pattern.slots));
    uint32_t slot = pattern.isStack ? (at < pattern.slots ? at : 2 * pattern.slots - 1 - at)
                                    : uint32_t(random() % pattern.slots);
    trace.push_back({slot, int64_t(std::exp2(logarithm(random)))});
  }
  return trace;
}

/// Nanoseconds an event; `take` and `give` are the allocator.
template <typename Take, typename Give>
double replay(const std::vector<Event> &trace, uint32_t slots, Take take, Give give) {
  std::vector<void *> held(slots, nullptr);
  auto begin = std::chrono::steady_clock::now();
  bool isComplete = true;
  for (const Event &event : trace) {
    void *&slot = held[event.slot];
    if (slot) {
      give(slot);
      slot = nullptr;
    } else {
      slot = take(event.bytes);
      isComplete &= slot != nullptr;
    }
  }
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  for (void *data : held)
    if (data)
      give(data);
  return isComplete ? took.count() / double(trace.size()) : -1;
}

/// The slowest of `threads` that replay a trace each at the same time.
template <typename Take, typename Give>
double replayTogether(const std::vector<std::vector<Event>> &traces, uint32_t slots, Take take,
                      Give give) {
  std::vector<double> times(traces.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < traces.size(); ++i)
    threads.emplace_back([&, i] { times[i] = replay(traces[i], slots, take, give); });
  for (std::thread &thread : threads)
    thread.join();
  if (std::count(times.begin(), times.end(), -1.0))
    return -1;
  return *std::max_element(times.begin(), times.end());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Returns whether all memory was to be had.
bool measure(const Pattern &pattern, int64_t events, int64_t rounds, int64_t threads,
             int64_t seed) {
  std::vector<std::vector<Event>> traces;
  for (int64_t i = 0; i < threads; ++i)
    traces.push_back(traceOf(pattern, events, uint64_t(seed + i)));
  std::vector<double> ours, system;
  weir::rt::BfcStats stats = {};
  for (int64_t round = 0; round <= rounds; ++round) {
    BfcAllocator bfc("weir-bench", weir::rt::systemSubAllocator(), {});
    double first = replayTogether(
        traces, pattern.slots,
        [&](int64_t bytes) {
          AllocationRequest request;
          request.bytes = bytes;
          return bfc.allocate(request);
        },
        [&](void *data) { bfc.free(data); });
    double second = replayTogether(
        traces, pattern.slots, [](int64_t bytes) { return std::malloc(size_t(bytes)); },
        [](void *data) { std::free(data); });
    if (first < 0 || second < 0)
      return false;
    stats = bfc.stats();
    if (round == 0)
      continue; // warms up
    ours.push_back(first);
    system.push_back(second);
  }
  std::printf("%-8s bfc=%.1f malloc=%.1f ns ratio=%.2f reserved=%.1f peak=%.1f MiB  %s\n",
              pattern.name, median(ours), median(system), median(ours) / median(system),
              double(stats.reserved) / (1 << 20), double(stats.peakInUse) / (1 << 20),
              pattern.what);
  return true;
}

} // namespace

int runAllocatorBenchmark(int argc, char **argv) {
  int64_t events = 200000, rounds = 7, threads = 1, seed = 1;
  FlagParser parser(toolName, "[flags]",
                    "Times allocations and frees of the allocator of devices and of malloc, in "
                    "turn, over the same traces.");
  parser.group("Measuring");
  parser.number("--events", "N", "allocations and frees in a round", events, 1, 100000000);
  parser.number("--rounds", "N", "rounds, of which medians are taken", rounds, 1, 1000);
  parser.number("--threads", "N", "threads that share the allocator", threads, 1, 256);
  parser.number("--seed", "N", "of the traces", seed, 0, int64_t(1) << 62);
  parser.exitCode(0, "measured");
  parser.exitCode(1, "an error was printed");
  int code = 0;
  if (!parser.parse(argc, argv, code))
    return code;
  for (const Pattern &pattern : patterns)
    if (!measure(pattern, events, rounds, threads, seed)) {
      printError(toolName, "out of memory in the trace '" + std::string(pattern.name) + "'",
                 {"fewer --threads need less"});
      return 1;
    }
  return 0;
}
