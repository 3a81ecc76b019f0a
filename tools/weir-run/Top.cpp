//===- Top.cpp - a live table of kernels by time --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Top.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/perf_event.h>
#include <map>
#include <sys/syscall.h>
#include <unistd.h>

using namespace weir::tools;

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t shownKernels = 20, mostNodes = 60; ///< lines; characters
constexpr double bytesOfLine = 64;                  ///< of the last cache

double secondsOf(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// -1, with errno.
int openCounter(uint64_t config, int group) {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = config;
  attributes.read_format = PERF_FORMAT_GROUP;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return int(syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC));
}

} // namespace

Counts &Counts::operator+=(const Counts &other) {
  cycles += other.cycles;
  instructions += other.instructions;
  misses += other.misses;
  return *this;
}

Counts Counts::operator-(const Counts &other) const {
  return {cycles - other.cycles, instructions - other.instructions, misses - other.misses};
}

ThreadCounters::ThreadCounters() {
  leader = openCounter(PERF_COUNT_HW_CPU_CYCLES, -1);
  for (uint64_t config : {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CACHE_MISSES}) {
    int counter = leader < 0 ? -1 : openCounter(config, leader);
    if (counter >= 0)
      others.push_back(counter);
    else if (why.empty())
      why = std::strerror(errno);
  }
  // Two of three would be other columns on other machines.
  if (others.size() == 2)
    return;
  for (int counter : others)
    close(counter);
  others.clear();
  if (leader >= 0)
    close(leader);
  leader = -1;
}

ThreadCounters::~ThreadCounters() {
  for (int counter : others)
    close(counter);
  if (leader >= 0)
    close(leader);
}

Counts ThreadCounters::read() const {
  uint64_t values[4] = {}; // how many, and each
  if (leader < 0 || ::read(leader, values, sizeof(values)) != ssize_t(sizeof(values)))
    return {};
  return {int64_t(values[1]), int64_t(values[2]), int64_t(values[3])};
}

TopTable::TopTable() {
  table = {};
  table.size = sizeof(table);
  table.self = this;
  table.begin = [](void *self, const weir_trace_event *event) {
    if (event->kind == WEIR_TRACE_KERNEL || event->kind == WEIR_TRACE_CUSTOM)
      static_cast<TopTable *>(self)->begin();
  };
  table.end = [](void *self, const weir_trace_event *event) {
    if (event->kind == WEIR_TRACE_KERNEL || event->kind == WEIR_TRACE_CUSTOM)
      static_cast<TopTable *>(self)->end(*event);
  };
}

TopTable::~TopTable() = default;

void TopTable::begin() {
  Lane &lane = lanes.ofThread();
  Counts counts = lane.counters.read();
  lane.open.push_back({Clock::now(), counts});
}

void TopTable::end(const weir_trace_event &event) {
  Clock::time_point now = Clock::now();
  Lane &lane = lanes.ofThread();
  if (lane.open.empty())
    return;
  Begin begin = lane.open.back();
  lane.open.pop_back();
  auto [row, isNew] = lane.rows.try_emplace({event.name, event.nodes});
  Row &into = row->second;
  if (isNew) {
    into.name = event.name ? event.name : "";
    into.nodes = event.nodes ? event.nodes : "";
  }
  into.nanoseconds +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(now - begin.time).count();
  into.counts += lane.counters.read() - begin.counts;
  // A launch, with its work, is counted by its first part.
  if (event.part_begin == 0) {
    ++into.calls;
    into.flops += std::max<int64_t>(event.flops, 0);
    into.bytes += std::max<int64_t>(event.bytes, 0);
  }
}

RunStatus TopTable::watch(Session &session, int entry, std::vector<HostTensor> &feeds,
                          double duration, NamedTensors &fetches) {
  bool isTerminal = isatty(STDOUT_FILENO);
  Clock::time_point start = Clock::now(), shown = start;
  RunStatus status;
  do {
    fetches.clear();
    Clock::time_point begin = Clock::now();
    status = session.run(entry, feeds, fetches);
    Clock::time_point now = Clock::now();
    seconds += secondsOf(now - begin);
    ++runs;
    if (secondsOf(now - shown) >= 1 && secondsOf(now - start) < duration) {
      shown = now;
      std::printf("%s%s\n", isTerminal ? "\033[H\033[J" : "", text(shownKernels).c_str());
      std::fflush(stdout);
    }
  } while (status.ok() && secondsOf(Clock::now() - start) < duration);
  if (status.ok())
    std::printf("%s%s", isTerminal ? "\033[H\033[J" : "", text(shownKernels).c_str());
  return status;
}

std::string TopTable::text(size_t most) const {
  std::map<std::pair<std::string, std::string>, Row> kernels;
  int64_t all = 0;
  bool areCounted = !lanes.all().empty();
  std::string reason;
  for (const auto &lane : lanes.all()) {
    areCounted &= lane->counters.areThere();
    if (reason.empty())
      reason = lane->counters.reason();
    for (const auto &[place, row] : lane->rows) {
      Row &into = kernels[{row.name, row.nodes}];
      into.calls += row.calls;
      into.nanoseconds += row.nanoseconds;
      into.flops += row.flops;
      into.bytes += row.bytes;
      into.counts += row.counts;
      all += row.nanoseconds;
    }
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Row>> order(kernels.begin(),
                                                                         kernels.end());
  std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    return a.second.nanoseconds != b.second.nanoseconds
               ? a.second.nanoseconds > b.second.nanoseconds
               : a.first < b.first;
  });
  char line[512];
  std::snprintf(line, sizeof(line), "%lld runs, %.3f ms each, %zu threads, %zu kernels%s%s\n",
                (long long)runs, runs ? seconds * 1e3 / double(runs) : 0, lanes.all().size(),
                order.size(),
                areCounted ? "" : "; no processor counters: ", areCounted ? "" : reason.c_str());
  std::string out = line;
  std::snprintf(line, sizeof(line), "%6s %10s %8s %9s %8s%s  %s\n", "time", "us/run", "calls/run",
                "GFLOP/s", "GB/s", areCounted ? "   IPC  missGB/s" : "", "kernel, nodes");
  out += line;
  for (size_t i = 0; i < std::min(most, order.size()); ++i) {
    const Row &row = order[i].second;
    auto perNanosecond = [&](double amount) {
      return row.nanoseconds ? amount / double(row.nanoseconds) : 0;
    };
    std::snprintf(line, sizeof(line), "%5.1f%% %10.2f %8.1f %9.1f %8.1f",
                  all ? 100 * double(row.nanoseconds) / double(all) : 0,
                  double(row.nanoseconds) / 1e3 / double(runs), double(row.calls) / double(runs),
                  perNanosecond(double(row.flops)), perNanosecond(double(row.bytes)));
    out += line;
    if (areCounted) {
      std::snprintf(line, sizeof(line), " %5.2f %9.2f",
                    row.counts.cycles ? double(row.counts.instructions) / double(row.counts.cycles)
                                      : 0,
                    perNanosecond(double(row.counts.misses) * bytesOfLine));
      out += line;
    }
    const auto &[name, nodes] = order[i].first;
    out += "  " + name + (nodes.empty() ? "" : "  " + nodes.substr(0, mostNodes)) +
           (nodes.size() > mostNodes ? "…" : "") + "\n";
  }
  if (order.size() > most)
    out += "       and " + std::to_string(order.size() - most) + " kernels of less\n";
  return out;
}
