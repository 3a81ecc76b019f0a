//===- Measure.cpp - runs that are timed ----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <thread>

using namespace weir::tools;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// What one thread runs, and what became of it.
struct Stream {
  std::vector<weir_tensor> results;
  std::vector<double> times;
  double first = 0;
  RunStatus status;
};

/// All streams begin their timed runs together, once all are warm.
struct Start {
  std::atomic<int64_t> waiting{0};
  std::atomic<int64_t> next{0}; ///< number of the next timed run
  Clock::time_point time;

  void meet(int64_t streams) {
    if (waiting.fetch_add(1) + 1 == streams) {
      time = Clock::now();
      waiting.store(2 * streams);
    }
    while (waiting.load() < 2 * streams)
      std::this_thread::yield();
  }
};

} // namespace

void weir::tools::addMeasureFlags(FlagParser &parser, MeasureFlags &flags) {
  parser.group("Times");
  parser.number("--repeat", "N", "runs N times, and prints times in one line at the end",
                flags.repeat, 1, 1000000000);
  parser.number("--warm-up", "N",
                "with --repeat: runs before that are not timed, on each stream (default 0)",
                flags.warmUp, 0, 1000000000);
  parser.number("--streams", "N",
                "with --repeat: runs at once, each from a thread of its own in the one session "
                "(default 1)",
                flags.streams, 1, 1024);
  parser.flag("--latencies",
              "with --repeat: a line with percentiles and throughput before that of times; "
              "several streams print it always",
              flags.latencies);
}

double Times::percentile(double percent) const {
  auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(runs.size())));
  return runs[std::clamp<size_t>(rank, 1, runs.size()) - 1];
}

std::string Times::line(double loadMs) const {
  char text[256];
  std::snprintf(text, sizeof(text),
                "load_ms=%.3f first_ms=%.3f median_ms=%.3f min_ms=%.3f runs=%zu\n", loadMs, first,
                runs[runs.size() / 2], runs[0], runs.size());
  return text;
}

std::string Times::latencyLine(int64_t streams) const {
  double mean = std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
  char text[256];
  std::snprintf(text, sizeof(text),
                "latency_ms mean=%.3f p50=%.3f p90=%.3f p95=%.3f p99=%.3f max=%.3f "
                "runs_per_s=%.1f streams=%lld\n",
                mean, percentile(50), percentile(90), percentile(95), percentile(99), runs.back(),
                static_cast<double>(runs.size()) * 1e3 / wall, static_cast<long long>(streams));
  return text;
}

RunStatus weir::tools::measure(Session &session, int entry, std::vector<HostTensor> &feeds,
                               const MeasureFlags &flags, Checkpoints &checkpoints,
                               NamedTensors &fetches, Times &times) {
  std::vector<ViewStorage> storage(feeds.size());
  std::vector<weir_tensor> views;
  for (size_t i = 0; i < feeds.size(); ++i)
    views.push_back(viewOf(feeds[i], storage[i]));
  const std::vector<LoadedTensor> &outputs = session.entries()[entry].fetches;
  int64_t count = std::min(flags.streams, flags.repeat);
  std::vector<Stream> streams(count);
  std::atomic<bool> goesOn{true};
  Start start;
  auto runOnce = [&](Stream &stream) {
    Clock::time_point begin = Clock::now();
    stream.status = session.runRaw(entry, views, stream.results);
    if (!stream.status.ok())
      goesOn = false;
    return milliseconds(Clock::now() - begin);
  };
  auto serve = [&](Stream &stream) {
    stream.results.resize(outputs.size());
    bool isFirst = true;
    auto note = [&](double time) {
      stream.first = isFirst ? time : stream.first;
      isFirst = false;
    };
    for (int64_t i = 0; i < flags.warmUp && goesOn; ++i)
      note(runOnce(stream));
    start.meet(count);
    while (goesOn && start.next.fetch_add(1) < flags.repeat) {
      double time = runOnce(stream);
      note(time);
      stream.times.push_back(time);
      if (stream.status.ok() && count == 1 && !checkpoints.afterRun(session))
        goesOn = false;
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < count; ++i)
    threads.emplace_back(serve, std::ref(streams[i]));
  serve(streams[0]);
  for (std::thread &thread : threads)
    thread.join();
  times.wall = milliseconds(Clock::now() - start.time);
  RunStatus status;
  for (Stream &stream : streams) {
    if (status.ok())
      status = stream.status;
    times.runs.insert(times.runs.end(), stream.times.begin(), stream.times.end());
  }
  times.first = streams[0].first;
  std::sort(times.runs.begin(), times.runs.end());
  if (status.ok())
    for (size_t i = 0; i < outputs.size(); ++i)
      fetches.emplace_back(outputs[i].name, copyOf(streams[0].results[i]));
  for (Stream &stream : streams)
    session.release(stream.results);
  return status;
}
