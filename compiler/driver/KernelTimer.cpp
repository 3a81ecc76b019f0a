//===- KernelTimer.cpp - how long kernels run -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/KernelTimer.h"

#include "compiler/execute/ForkServer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

using namespace weir;
using namespace weir::driver;

namespace {

/// Constants lie there so often that they take this much together.
constexpr int64_t beyondCaches = int64_t(1) << 25;
constexpr int64_t mostCopies = 64;
/// A sample is as many runs as take this long; a trial takes samples of each kernel
/// for that long, but at least so many.
constexpr double sampleSeconds = 100e-6, trialSeconds = 0.15;
constexpr size_t fewestSamples = 5, mostSamples = 101;
constexpr double deadlineSeconds = 60;

double processorTime() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// A kernel with its buffers. Lives in a child, whose end frees everything.
class Runner {
public:
  explicit Runner(const TimedKernel &kernel) : kernel(kernel) {
    int64_t constants = 1;
    for (const TimedKernel::Buffer &buffer : kernel.buffers)
      constants += buffer.isConstant ? buffer.bytes : 0;
    sets.resize(std::clamp<int64_t>(beyondCaches / constants, 1, mostCopies));
    for (size_t i = 0; i < kernel.buffers.size(); ++i)
      for (size_t set = 0; set < sets.size(); ++set)
        sets[set].push_back(set && !kernel.buffers[i].isConstant ? sets[0][i]
                                                                 : make(kernel.buffers[i].bytes));
  }

  bool run(int64_t times) {
    bool good = true;
    for (int64_t i = 0; i < times; ++i) {
      good &= kernel.function(nullptr, sets[next].data(), nullptr, 0, kernel.range) == 0;
      next = (next + 1) % sets.size();
    }
    return good;
  }

  double sample(int64_t times) {
    double start = processorTime();
    run(times);
    return (processorTime() - start) / double(times);
  }

private:
  static void *make(int64_t bytes) {
    constexpr int64_t line = 64;
    int64_t size = (bytes / line + 2) * line;
    auto *data = static_cast<float *>(std::aligned_alloc(line, size));
    if (!data)
      std::abort();
    for (int64_t i = 0; i < size / int64_t(sizeof(float)); ++i)
      data[i] = float(i * 7919 % 2048 - 1024) / 1024;
    return data;
  }

  const TimedKernel &kernel;
  std::vector<std::vector<void *>> sets; ///< of buffers, which share all but constants
  size_t next = 0;
};

double median(std::vector<double> samples) {
  auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// In the child: both medians as text, "" where a kernel reports an error.
std::string timeBoth(const TimedKernel &a, const TimedKernel &b) {
  Runner runners[2] = {Runner(a), Runner(b)};
  if (!runners[0].run(1) || !runners[1].run(1))
    return "";
  double once = std::max(std::min(runners[0].sample(1), runners[1].sample(1)), 1e-9);
  int64_t times = std::max<int64_t>(1, int64_t(sampleSeconds / once));
  std::vector<double> samples[2];
  double spent = 0;
  while (samples[0].size() < fewestSamples ||
         (spent < 2 * trialSeconds && samples[0].size() < mostSamples))
    // Who goes first changes, as what the first leaves in the caches may help.
    for (size_t i = 0, first = samples[0].size() % 2; i < 2; ++i) {
      size_t which = (i + first) % 2;
      samples[which].push_back(runners[which].sample(times));
      spent += samples[which].back() * double(times);
    }
  char text[64];
  std::snprintf(text, sizeof(text), "%.9e %.9e", median(samples[0]), median(samples[1]));
  return text;
}

} // namespace

std::optional<std::pair<double, double>> driver::timeInTurn(const TimedKernel &a,
                                                            const TimedKernel &b) {
  ForkOptions how;
  how.secondsPerCase = deadlineSeconds;
  std::optional<std::pair<double, double>> seconds;
  runForked(
      1, how, [&](size_t) { return timeBoth(a, b); },
      [&](size_t, const ForkedResult &result) {
        double first, second;
        if (result.kind == ForkedResult::Kind::Done &&
            std::sscanf(result.text.c_str(), "%lf %lf", &first, &second) == 2)
          seconds = {first, second};
      });
  return seconds;
}
