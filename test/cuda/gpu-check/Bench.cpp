//===- Bench.cpp - times on the GPU ---------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench.h"

#include "Direct.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <memory>

namespace weir::gpucheck {

namespace {

/// What a calling thread may spend on a step, and a session's share of the link.
constexpr double mostHostMicroseconds = 15, leastShareOfLink = 0.9;

/// A session of one benchmark, ended with it.
struct Session {
  const weir_plugin &plugin;
  Opened opened;

  explicit Session(const Case &tested)
      : plugin(*tested.plugin), opened(open(plugin, "require", {tested.weights})) {}
  ~Session() {
    if (opened.session)
      plugin.session_destroy(opened.session);
  }
};

/// Two events in a stream, and the time between them.
struct Timer {
  Gpu &gpu;
  rt::cuda::Event begin = nullptr, end = nullptr;

  explicit Timer(Gpu &gpu) : gpu(gpu) {
    gpu.api->eventCreate(&begin, 0);
    gpu.api->eventCreate(&end, 0);
  }
  ~Timer() {
    gpu.api->eventDestroy(begin);
    gpu.api->eventDestroy(end);
  }
  void start() { gpu.api->eventRecord(begin, gpu.stream); }
  /// Microseconds; waits.
  double stop() {
    gpu.api->eventRecord(end, gpu.stream);
    gpu.api->streamSynchronize(gpu.stream);
    float milliseconds = 0;
    gpu.api->eventElapsed(&milliseconds, begin, end);
    return double(milliseconds) * 1e3;
  }
};

/// From the first begin to the last end of what the GPU did in a traced run.
struct Span {
  std::mutex mutex;
  int64_t first = INT64_MAX, last = INT64_MIN;
  KernelTimes *times = nullptr;
  std::map<std::string, double> ofRun = {}; ///< microseconds, by kernel

  static void ignore(void *, const weir_trace_event *) {}
  static void tell(void *self, const weir_trace_event *event, int64_t begin, int64_t end) {
    auto *span = static_cast<Span *>(self);
    std::lock_guard<std::mutex> lock(span->mutex);
    span->first = std::min(span->first, begin);
    span->last = std::max(span->last, end);
    if (event->kind != WEIR_TRACE_KERNEL || !span->times)
      return;
    KernelTime &time = (*span->times)[event->name];
    time.nodes = event->nodes;
    time.flops = event->flops;
    time.bytes = event->bytes;
    ++time.launches;
    span->ofRun[event->name] += double(end - begin) / 1e3;
  }
};

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double minimum(const std::vector<double> &values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

/// Of all threads, in microseconds.
double processorTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) / 1e3;
}

__attribute__((format(printf, 2, 3))) void add(std::string &figures, const char *format, ...) {
  char text[160];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  figures += (figures.empty() ? "" : " ") + std::string(text);
}

/// "" or why these are no results of a network.
std::string judge(const Outcome &outcome) {
  for (size_t i = 0; i < outcome.fetches.size(); ++i) {
    std::vector<double> values;
    double tolerance;
    if (!toDoubles(outcome.fetches[i], values, tolerance) || values.empty())
      continue;
    for (double value : values)
      if (!std::isfinite(value))
        return "fetch " + std::to_string(i) + " is not finite";
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (values.size() > 1 && *low == *high)
      return "fetch " + std::to_string(i) + " has one value everywhere";
  }
  return "";
}

/// One run after the other, each waited for.
std::string timeSteps(Direct &direct, Gpu &gpu, int repeat, std::string &figures) {
  std::vector<double> steps, calls;
  Timer timer(gpu);
  double before = processorTime();
  for (int i = 0; i < repeat; ++i) {
    Waiter waiter;
    weir_status status = WEIR_STATUS_INIT;
    timer.start();
    auto begin = Clock::now();
    direct.start(waiter, status);
    calls.push_back(microseconds(Clock::now() - begin));
    if (status.code)
      return status.message;
    waiter.wait();
    steps.push_back(timer.stop());
    if (waiter.code)
      return waiter.message;
  }
  double all = (processorTime() - before) / repeat, host = median(calls);
  add(figures, "step_us=%.1f step_min_us=%.1f", median(steps), minimum(steps));
  add(figures, "host_us=%.2f cpu_us=%.1f host_demand=%s", host, all,
      host <= mostHostMicroseconds ? "met" : "missed");
  return "";
}

/// Batches of runs of which several are in flight, in the same stream.
std::string timeBatches(std::vector<std::unique_ptr<Direct>> &slots, Gpu &gpu, int repeat,
                        std::string &figures) {
  constexpr int batch = 20;
  std::vector<double> times;
  Timer timer(gpu);
  for (int round = -1; round < std::max(1, repeat / 10); ++round) {
    std::vector<std::unique_ptr<Waiter>> waiters;
    std::string problem;
    timer.start();
    for (size_t i = 0; i < batch; ++i) {
      // A slot's run has ended before the next one takes its memory.
      if (i >= slots.size())
        waiters[i - slots.size()]->wait();
      waiters.push_back(std::make_unique<Waiter>());
      weir_status status = WEIR_STATUS_INIT;
      if (slots[i % slots.size()]->start(*waiters.back(), status)) {
        waiters.pop_back();
        problem = status.message;
        break;
      }
    }
    for (std::unique_ptr<Waiter> &waiter : waiters) {
      waiter->wait();
      if (problem.empty() && waiter->code)
        problem = waiter->message;
    }
    double time = timer.stop() / batch;
    if (!problem.empty())
      return problem;
    if (round >= 0) // the first makes graphs
      times.push_back(time);
  }
  add(figures, "gpu_us=%.1f gpu_min_us=%.1f", median(times), minimum(times));
  return "";
}

std::string timeTraced(Direct &direct, int repeat, std::string &figures, KernelTimes &kernels) {
  std::vector<double> times;
  for (int i = 0; i < std::max(1, repeat / 10); ++i) {
    Span span;
    span.times = &kernels;
    weir_trace trace = {sizeof(weir_trace), 0,          &span,  Span::ignore,
                        Span::ignore,       Span::tell, nullptr};
    direct.trace = &trace;
    auto end = direct.runOnce();
    direct.trace = nullptr;
    if (end.first)
      return end.second;
    for (const auto &[name, time] : span.ofRun)
      kernels[name].runs.push_back(time);
    if (span.first < span.last)
      times.push_back(double(span.last - span.first) / 1e3);
  }
  add(figures, "traced_us=%.1f", median(times));
  return "";
}

} // namespace

std::string benchmark(const Case &tested, Gpu &gpu, int repeat, const PredictedBy &prediction,
                      std::string &figures, Comparison &kernels) {
  auto loading = Clock::now();
  Session session(tested);
  if (!session.opened.session)
    return session.opened.message;
  double load = microseconds(Clock::now() - loading);
  std::vector<Feed> feeds;
  if (!makeFeeds(tested.plugin->program, tested.entry, feeds, tested.kind))
    return "skipped";
  // Warm: libraries' ways are chosen, graphs are made.
  Outcome outcome = run(*tested.plugin, session.opened.session, tested.entry, feeds, repeat + 3);
  std::string problem = outcome.code ? outcome.message : judge(outcome);
  std::vector<int64_t> sizes = sizesOf(outcome);
  release(*tested.plugin, session.opened.session, outcome);
  if (!problem.empty())
    return problem;
  double first = outcome.times[0];
  outcome.times.erase(outcome.times.begin(), outcome.times.begin() + 3);
  constexpr size_t inFlight = 3;
  KernelTimes times;
  std::vector<std::unique_ptr<Direct>> slots;
  int there = 0;
  for (size_t i = 0; i < inFlight; ++i) {
    slots.push_back(std::make_unique<Direct>(session.opened.session, tested.entry, gpu));
    there = slots.back()->place(feeds, sizes);
  }
  Direct &direct = *slots[0];
  for (int i = 0; problem.empty() && i < 3; ++i)
    problem = direct.runOnce().second;
  if (problem.empty())
    problem = timeBatches(slots, gpu, repeat, figures);
  if (problem.empty())
    problem = timeSteps(direct, gpu, repeat, figures);
  if (problem.empty())
    problem = timeTraced(direct, repeat, figures, times);
  constexpr size_t mostKernels = 60;
  Rates rates = ratesOf(gpu, prediction.rates);
  kernels = compareKernels(times, rates, readWorks(prediction.works), mostKernels);
  add(figures, "predicted_us=%.1f rates=%s", kernels.predicted, rates.from.c_str());
  add(figures, "end_us=%.1f end_min_us=%.1f direct=%d/%zu load_ms=%.0f first_ms=%.0f",
      median(outcome.times), minimum(outcome.times), there, feeds.size() + sizes.size(), load / 1e3,
      first / 1e3);
  return problem;
}

/// GB/s of bare copies of `bytes` bytes, one after the other.
static double bareRate(Gpu &gpu, bool in, void *pinned, int64_t bytes, int repeat) {
  uint64_t there = 0;
  if (gpu.api->memAlloc(&there, size_t(bytes)) != 0)
    return 0;
  std::vector<double> times;
  for (int i = 0; i < repeat + 1; ++i) {
    auto begin = Clock::now();
    if (in)
      gpu.api->copyInAsync(there, pinned, size_t(bytes), gpu.stream);
    else
      gpu.api->copyOutAsync(pinned, there, size_t(bytes), gpu.stream);
    gpu.api->streamSynchronize(gpu.stream);
    if (i)
      times.push_back(microseconds(Clock::now() - begin));
  }
  gpu.api->memFree(there);
  return double(bytes) / 1e3 / median(times);
}

/// Microseconds of a run with tensors of the host; the large one lies at `data`.
static std::string timeRuns(const Case &tested, weir_session *session, std::vector<Feed> &feeds,
                            bool in, void *data, int64_t bytes, int repeat, double &time) {
  std::vector<weir_tensor> given;
  for (Feed &feed : feeds)
    given.push_back(feed.tensor);
  weir_tensor fetch = {};
  (in ? given[0] : fetch).data = data;
  (in ? given[0] : fetch).bytes = bytes;
  std::vector<double> times;
  for (int i = 0; i < repeat + 3; ++i) {
    weir_status status = WEIR_STATUS_INIT;
    auto begin = Clock::now();
    if (tested.plugin->session_run(session, tested.entry, given.data(), int32_t(given.size()),
                                   &fetch, 1, nullptr, &status))
      return status.message;
    if (i >= 3)
      times.push_back(microseconds(Clock::now() - begin));
  }
  tested.plugin->session_release(session, &fetch);
  time = median(times);
  return "";
}

std::string benchmarkCopy(const Case &tested, Gpu &gpu, int repeat, std::string &figures) {
  Session session(tested);
  if (!session.opened.session)
    return session.opened.message;
  std::vector<Feed> feeds;
  makeFeeds(tested.plugin->program, tested.entry, feeds);
  Outcome outcome = run(*tested.plugin, session.opened.session, tested.entry, feeds, 1);
  if (outcome.code || outcome.fetches.size() != 1 || feeds.empty())
    return outcome.code ? outcome.message : "not one fetch";
  bool in = feeds[0].tensor.bytes > outcome.fetches[0].bytes;
  int64_t bytes = in ? feeds[0].tensor.bytes : outcome.fetches[0].bytes;
  release(*tested.plugin, session.opened.session, outcome);
  void *pinned = nullptr;
  if (gpu.api->hostAlloc(&pinned, size_t(bytes), 0) != 0)
    return "no pinned memory of " + std::to_string(bytes) + " bytes";
  std::vector<uint64_t> ordinary(size_t(bytes) / 8 + 1);
  if (in) {
    std::copy_n(feeds[0].words.begin(), bytes / 8, static_cast<uint64_t *>(pinned));
    ordinary = feeds[0].words;
  }
  double bare = bareRate(gpu, in, pinned, bytes, repeat), fromPinned = 0, fromAny = 0;
  std::string problem =
      timeRuns(tested, session.opened.session, feeds, in, pinned, bytes, repeat, fromPinned);
  if (problem.empty())
    problem = timeRuns(tested, session.opened.session, feeds, in, ordinary.data(), bytes, repeat,
                       fromAny);
  gpu.api->hostFree(pinned);
  if (!problem.empty())
    return problem;
  double rate = double(bytes) / 1e3 / fromPinned, share = bare > 0 ? rate / bare : 0;
  add(figures, "bytes=%lld bare_GBps=%.2f pinned_GBps=%.2f share=%.2f any_GBps=%.2f link_demand=%s",
      static_cast<long long>(bytes), bare, rate, share, double(bytes) / 1e3 / fromAny,
      share >= leastShareOfLink ? "met" : "missed");
  return "";
}

} // namespace weir::gpucheck
