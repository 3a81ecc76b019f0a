//===- Top.h - a live table of kernels by time ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_TOP_H
#define WEIR_TOOLS_WEIRRUN_TOP_H

#include "tools/common/Session.h"
#include "tools/weir-run/ThreadLanes.h"

#include "weir/weir.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::tools {

/// What a processor counted for one thread; as perf_event_open has it.
struct Counts {
  int64_t cycles = 0, instructions = 0, misses = 0; ///< misses: of the last cache

  Counts &operator+=(const Counts &other);
  Counts operator-(const Counts &other) const;
};

/// The counters of the calling thread; none where the machine or its rights offer none.
class ThreadCounters {
public:
  ThreadCounters();
  ~ThreadCounters();
  ThreadCounters(const ThreadCounters &) = delete;
  ThreadCounters &operator=(const ThreadCounters &) = delete;

  bool areThere() const { return leader >= 0; }
  const std::string &reason() const { return why; } ///< why there are none
  Counts read() const;

private:
  int leader = -1;
  std::vector<int> others; ///< of the same group
  std::string why;
};

/// Adds up what kernels took, thread by thread, and prints them by time.
class TopTable {
public:
  TopTable();
  ~TopTable();

  /// To be given to a session; valid as long as the table.
  const weir_trace *hooks() const { return &table; }

  /// Runs an entry over and over for `seconds`, and prints the table each second: over the
  /// last one on a terminal, one behind the other elsewhere. The last has all runs.
  RunStatus watch(Session &session, int entry, std::vector<HostTensor> &feeds, double seconds,
                  NamedTensors &fetches);

  /// Kernels by time, the `most` first. Not during a run.
  std::string text(size_t most) const;

private:
  struct Row {
    std::string name, nodes;
    int64_t calls = 0, nanoseconds = 0, flops = 0, bytes = 0;
    Counts counts;
  };
  struct Begin {
    std::chrono::steady_clock::time_point time;
    Counts counts;
  };
  struct Lane {
    ThreadCounters counters;
    std::vector<Begin> open;
    /// By the places of the names of kernel and nodes in the program.
    std::map<std::pair<const char *, const char *>, Row> rows;
  };

  void begin();
  void end(const weir_trace_event &event);

  weir_trace table = {};
  ThreadLanes<Lane> lanes;
  int64_t runs = 0;
  double seconds = 0; ///< in runs
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_TOP_H
