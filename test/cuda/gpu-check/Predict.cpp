//===- Predict.cpp - what kernels should take -------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Predict.h"

#include <algorithm>
#include <cstdio>

namespace weir::gpucheck {

namespace {
/// CUdevice_attribute.
constexpr int clockRate = 13, memoryClockRate = 36, memoryBusWidth = 37;
/// Begin and end of a launch that follows another within a graph.
constexpr double launchMicroseconds = 1;

/// Operations that a multiprocessor does at a tick.
struct Ticks {
  int capability;
  double f32, halves, bytes;
};
constexpr Ticks ticks[] = {
    {80, 128, 2048, 4096}, {86, 256, 512, 1024},    {87, 256, 1024, 2048},   {89, 256, 512, 1024},
    {90, 256, 4096, 8192}, {100, 256, 8192, 16384}, {103, 256, 8192, 16384}, {120, 256, 512, 1024},
};
} // namespace

Rates ratesOf(const Gpu &gpu) {
  constexpr Rates h100 = {3.35e12, 6.7e13, 9.9e14, 1.98e15, true};
  if (!gpu.usable)
    return h100;
  auto ask = [&](int attribute) {
    int value = 0;
    gpu.api->deviceAttribute(&value, attribute, gpu.device);
    return double(value);
  };
  double clock = ask(clockRate) * 1e3, memory = ask(memoryClockRate) * 1e3,
         width = ask(memoryBusWidth) / 8, processors = ask(rt::cuda::multiprocessors);
  int capability = int(ask(rt::cuda::capabilityMajor)) * 10 + int(ask(rt::cuda::capabilityMinor));
  const Ticks *known = std::find_if(std::begin(ticks), std::end(ticks), [&](const Ticks &each) {
    return each.capability == capability;
  });
  if (clock <= 0 || memory <= 0 || width <= 0 || known == std::end(ticks))
    return h100;
  double each = clock * processors;
  // Two words a tick.
  return {2 * memory * width, known->f32 * each, known->halves * each, known->bytes * each, false};
}

double KernelTime::predicted(const Rates &rates, const std::string &name, double launches,
                             bool &byMemory) const {
  if (flops < 0 && bytes < 0)
    return 0;
  // A kernel's name ends in the type of what it computes.
  std::string type = name.substr(name.rfind('_') + 1);
  bool isHalf = type == "bf16" || type == "f16",
       isByte = type == "i8" || type == "ui8" || type == "si8";
  double rate = isHalf ? rates.halves : isByte ? rates.bytes : rates.f32;
  double work = double(std::max<int64_t>(flops, 0)) / rate,
         traffic = double(std::max<int64_t>(bytes, 0)) / rates.memory;
  byMemory = traffic >= work;
  return launches * (std::max(work, traffic) * 1e6 + launchMicroseconds);
}

std::vector<std::string> compareKernels(const KernelTimes &times, const Rates &rates, size_t most,
                                        double &predicted) {
  struct Line {
    double lost;
    std::string text;
  };
  std::vector<Line> lines;
  predicted = 0;
  for (const auto &[name, time] : times) {
    if (time.runs.empty())
      continue;
    std::vector<double> runs = time.runs;
    auto middle = runs.begin() + ptrdiff_t(runs.size() / 2);
    std::nth_element(runs.begin(), middle, runs.end());
    double launches = double(time.launches) / double(runs.size()), measured = *middle;
    bool byMemory = true;
    double expected = time.predicted(rates, name, launches, byMemory);
    predicted += expected;
    char text[512];
    std::snprintf(text, sizeof(text),
                  "%s launches=%.0f measured_us=%.1f predicted_us=%.1f share=%.2f bound=%s "
                  "nodes=%.200s",
                  name.c_str(), launches, measured, expected,
                  measured > 0 ? expected / measured : 0,
                  expected <= 0 ? "unknown"
                  : byMemory    ? "memory"
                                : "arithmetic",
                  time.nodes.c_str());
    lines.push_back({measured - expected, text});
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line &a, const Line &b) { return a.lost > b.lost; });
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(most, lines.size()); ++i)
    texts.push_back(lines[i].text);
  return texts;
}

} // namespace weir::gpucheck
