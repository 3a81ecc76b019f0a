//===- Predict.cpp - what kernels should take -------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Predict.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace weir::gpucheck {

using cuda::Arithmetic;

namespace {
/// CUdevice_attribute.
constexpr int clockRate = 13, memoryClockRate = 36, memoryBusWidth = 37;

/// Operations that a multiprocessor does at a tick.
struct Ticks {
  int capability;
  double f32, f64, tf32, half, f8, i8;
};
constexpr Ticks ticks[] = {
    {80, 128, 64, 1024, 2048, 2048, 4096},   {86, 256, 4, 256, 512, 512, 1024},
    {87, 256, 4, 512, 1024, 1024, 2048},     {89, 256, 4, 256, 512, 1024, 1024},
    {90, 256, 128, 2048, 4096, 8192, 8192},  {100, 256, 128, 4096, 8192, 16384, 16384},
    {103, 256, 4, 4096, 8192, 16384, 16384}, {120, 256, 4, 256, 512, 1024, 1024},
};

const cuda::DeviceFacts *known(const std::string &name) {
  for (const cuda::DeviceFacts &facts : cuda::knownDevices)
    if (name == facts.name)
      return &facts;
  return nullptr;
}
} // namespace

Rates ratesOf(const Gpu &gpu, const std::string &asked) {
  if (const cuda::DeviceFacts *facts = known(asked))
    return {*facts, asked};
  const Rates assumed = {*known("H100"), "assumed"};
  if (!gpu.usable)
    return assumed;
  auto ask = [&](int attribute) {
    int value = 0;
    gpu.api->deviceAttribute(&value, attribute, gpu.device);
    return double(value);
  };
  double clock = ask(clockRate) * 1e3, memory = ask(memoryClockRate) * 1e3,
         width = ask(memoryBusWidth) / 8, processors = ask(rt::cuda::multiprocessors);
  int capability = int(ask(rt::cuda::capabilityMajor)) * 10 + int(ask(rt::cuda::capabilityMinor));
  const Ticks *found = std::find_if(std::begin(ticks), std::end(ticks), [&](const Ticks &each) {
    return each.capability == capability;
  });
  if (clock <= 0 || memory <= 0 || width <= 0 || found == std::end(ticks))
    return assumed;
  double each = clock * processors;
  // Two words of memory a tick.
  return {{"this GPU", 2 * memory * width, found->f32 * each, found->f64 * each, found->tf32 * each,
           found->half * each, found->f8 * each, found->i8 * each},
          "driver's"};
}

KernelWorks readWorks(const std::string &path) {
  KernelWorks works;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::string name, arithmetic;
    cuda::KernelWork work;
    if (!(cells >> name >> arithmetic >> work.products >> work.others >> work.bytes))
      continue;
    for (Arithmetic each : {Arithmetic::F32, Arithmetic::F64, Arithmetic::Tf32, Arithmetic::Half,
                            Arithmetic::F8, Arithmetic::I8})
      if (arithmetic == cuda::nameOf(each))
        work.arithmetic = each;
    works[name] = work;
  }
  return works;
}

/// A kernel's name ends in the type of what it computes.
static Arithmetic arithmeticOf(const std::string &name) {
  std::string type = name.substr(name.rfind('_') + 1);
  bool isHalf = type == "bf16" || type == "f16",
       isByte = type == "i8" || type == "ui8" || type == "si8";
  return isHalf ? Arithmetic::Half : isByte ? Arithmetic::I8 : Arithmetic::F32;
}

std::optional<cuda::Prediction> KernelTime::predicted(const Rates &rates, const std::string &name,
                                                      const KernelWorks &works) const {
  if (auto known = works.find(name); known != works.end())
    return cuda::predict(rates.facts, known->second);
  if (flops < 0 && bytes < 0)
    return std::nullopt;
  return cuda::predict(rates.facts, {arithmeticOf(name), double(std::max<int64_t>(flops, 0)), 0,
                                     double(std::max<int64_t>(bytes, 0))});
}

Comparison compareKernels(const KernelTimes &times, const Rates &rates, const KernelWorks &works,
                          size_t most) {
  constexpr double farOff = 2; // measured over predicted
  struct Line {
    double lost;
    std::string text;
  };
  std::vector<Line> lines;
  Comparison made;
  double all = 0, lost = 0, worst = 0;
  size_t off = 0, judged = 0;
  std::string worstName;
  for (const auto &[name, time] : times) {
    if (time.runs.empty())
      continue;
    std::vector<double> runs = time.runs;
    auto middle = runs.begin() + ptrdiff_t(runs.size() / 2);
    std::nth_element(runs.begin(), middle, runs.end());
    double launches = double(time.launches) / double(runs.size()), measured = *middle;
    std::optional<cuda::Prediction> least = time.predicted(rates, name, works);
    double expected = least ? launches * least->microseconds : 0;
    made.predicted += expected;
    all += measured;
    if (least) {
      ++judged;
      if (measured > farOff * expected) {
        ++off;
        lost += measured - expected;
        if (measured - expected > worst) {
          worst = measured - expected;
          worstName = name;
        }
      }
    }
    char text[512];
    std::snprintf(text, sizeof(text),
                  "%s launches=%.0f measured_us=%.1f predicted_us=%.1f share=%.2f bound=%s "
                  "nodes=%.200s",
                  name.c_str(), launches, measured, expected,
                  measured > 0 ? expected / measured : 0,
                  !least              ? "unknown"
                  : least->isByMemory ? "memory"
                                      : "arithmetic",
                  time.nodes.c_str());
    lines.push_back({measured - expected, text});
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line &a, const Line &b) { return a.lost > b.lost; });
  for (size_t i = 0; i < std::min(most, lines.size()); ++i)
    made.lines.push_back(lines[i].text);
  if (off > 0) {
    char text[512];
    std::snprintf(text, sizeof(text),
                  "%zu of %zu kernels take more than %.0f times what they must: %.1f of %.1f us a "
                  "run, most of it %.200s",
                  off, judged, farOff, lost, all, worstName.c_str());
    made.offRoofline = text;
  }
  return made;
}

} // namespace weir::gpucheck
