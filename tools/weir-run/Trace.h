//===- Trace.h - recording a run's kernels ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Listens to the runtime's tracing hooks. The trace is JSON for Perfetto and
// chrome://tracing; the profile is a table of kernels that weirc --profile
// reads.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_TRACE_H
#define WEIR_TOOLS_WEIRRUN_TRACE_H

#include "tools/weir-run/ThreadLanes.h"

#include "weir/weir.h"

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace weir::tools {

class TraceRecorder {
public:
  TraceRecorder();
  ~TraceRecorder();

  /// To be given to a session or a run; valid as long as the recorder.
  const weir_trace *hooks() const { return &table; }

  struct Event {
    int32_t kind, thread;
    int64_t step, flops, bytes, partBegin, partEnd;
    std::string name, nodes, device;
    int64_t start, duration; ///< nanoseconds since the recorder was made
  };

  /// Asks for the bytes that a device's allocator has handed out, by its number among `devices`,
  /// as a kernel begins; thread-safe. To be called before the first run; what it reads must stay
  /// until the last.
  void watchMemory(std::vector<std::string> devices, std::function<int64_t(int32_t)> bytesInUse);

  /// The last run and what it did, by begin. Valid until the next run.
  std::vector<const Event *> lastRun() const;

  /// Trace Event Format: complete events, flows from sends to receives, counters of memory and
  /// bandwidth, microseconds. Not during a run.
  std::string traceJson() const;

  /// Where a trace of several tasks is written together.
  struct Shared {
    uint64_t job;                     ///< the same in all tasks of it
    int64_t clockOffset, clockError;  ///< nanoseconds that lead to the first one's clock
    std::vector<std::string> devices; ///< of the program: numbers of processes in the trace
  };
  /// Writes the events of this task into `path`, in the time of the task that leads, beside those
  /// that other tasks of the job have written there; what is of another job is written over. Tasks
  /// may do so at once. False, with the reason.
  bool writeShared(const std::string &path, const Shared &shared, std::string &error) const;

  /// One object a kernel: calls, nanoseconds over all threads, work.
  std::string profileJson() const;

private:
  struct Sample {
    int32_t device;
    int64_t time, bytes;
  };
  /// What one thread records, without waiting for others.
  struct Lane {
    std::vector<int64_t> open; ///< starts of what has not ended yet
    std::vector<Event> events;
    std::vector<Sample> samples; ///< of memory in use, where it changed
  };

  /// With commas between. `shared` null: times since the recorder was made.
  std::string eventsJson(const Shared *shared) const;
  int64_t now() const;
  void sampleMemory(Lane &lane, const char *device, int64_t time) const;
  static void add(Lane &lane, const weir_trace_event &event, int64_t start, int64_t duration);
  void begin(const weir_trace_event &event);
  void end(const weir_trace_event &event);
  void span(const weir_trace_event &event, int64_t begin, int64_t end);

  std::chrono::steady_clock::time_point origin;
  weir_trace table = {};
  ThreadLanes<Lane> lanes;
  std::vector<std::string> watched; ///< devices
  std::function<int64_t(int32_t)> bytesInUse;
  std::mutex mutex; ///< of `receives`
  /// Receives may end on another thread than they began on.
  std::map<std::string, int64_t> receives;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_TRACE_H
