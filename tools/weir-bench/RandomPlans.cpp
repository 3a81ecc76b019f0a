//===- RandomPlans.cpp - weir-bench memory-plan --random ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/RandomPlans.h"

#include "passes/memory/GreedyOffsets.h"
#include "passes/memory/OffsetPlanner.h"
#include "passes/memory/PlanChecker.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace weir::memory;

namespace {

using Random = std::mt19937_64;

int64_t below(Random &random, int64_t end) { return random() % end; }

/// Sizes as tensors have them: few different ones, over three magnitudes.
int64_t tensorSize(Random &random) { return 64 * (1 + below(random, 15)) << below(random, 8); }

/// Inference: every step makes one or two buffers; most die at the next, some
/// are held for a branch or a skip connection.
std::vector<Buffer> inference(Random &random) {
  std::vector<Buffer> buffers;
  int64_t steps = 20 + below(random, 180);
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t k = below(random, 3) == 0 ? 2 : 1; k > 0; --k) {
      int64_t life = below(random, 4) ? 2 : 2 + below(random, 30);
      buffers.push_back({t, std::min(t + life, steps), tensorSize(random), 64});
    }
  return buffers;
}

/// Training: what the forward half makes is held until the backward half comes
/// back to it.
std::vector<Buffer> training(Random &random) {
  std::vector<Buffer> buffers;
  int64_t half = 10 + below(random, 70);
  for (int64_t t = 0; t < half; ++t) {
    if (below(random, 5))
      buffers.push_back({t, 2 * half - t, tensorSize(random), 64});
    buffers.push_back({t, t + 2, tensorSize(random), 64});
    int64_t back = 2 * half - t;
    buffers.push_back({back, back + 1 + below(random, 4), tensorSize(random), 64});
  }
  return buffers;
}

/// No structure at all.
std::vector<Buffer> scattered(Random &random) {
  std::vector<Buffer> buffers(20 + below(random, 180));
  for (Buffer &b : buffers) {
    b.lower = below(random, 100);
    b.upper = b.lower + 1 + below(random, 30);
    b.size = tensorSize(random);
    b.alignment = 64;
  }
  return buffers;
}

/// Distance to the bound, in percent of it, of every instance.
struct Distances {
  std::string name;
  std::vector<double> values;

  void add(int64_t peak, int64_t bound) { values.push_back(100.0 * (peak - bound) / bound); }
  double quantile(double q) const {
    return values[std::min(values.size() - 1, size_t(q * values.size()))];
  }
  void print() {
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (double v : values)
      sum += v;
    auto above = std::upper_bound(values.begin(), values.end(), 0.0);
    std::printf("| %s | %.1f %% | %.2f | %.2f | %.2f | %.2f | %.2f |\n", name.c_str(),
                100.0 * (above - values.begin()) / values.size(), sum / values.size(), quantile(.5),
                quantile(.9), quantile(.99), values.back());
  }
};

int64_t greedyPeak(const Problem &problem, size_t order) {
  int64_t peak = 0;
  for (const Component &component : problem.components) {
    Placement placed;
    if (order == std::size(greedyOrders) - 1)
      placed = placeOnline(component);
    else
      placed = placeInOrder(component, findMeetings(component),
                            greedyOrder(component, greedyOrders[order]), GreedyFit::First);
    peak = std::max(peak, placed.peak * problem.granule);
  }
  return peak;
}

} // namespace

int runRandomPlans(int64_t count, int64_t seed, int64_t steps) {
  Random random(seed);
  std::vector<Distances> greedy(std::size(greedyOrders));
  const char *names[] = {"by size, first fit", "by area, first fit", "by lifetime, first fit",
                         "by fullest moment, first fit", "as an allocator at run time, best fit"};
  for (size_t g = 0; g < greedy.size(); ++g)
    greedy[g].name = names[g];
  Distances planner{"the planner", {}};
  int64_t optimal = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Buffer> buffers = i % 3 == 0   ? inference(random)
                                  : i % 3 == 1 ? training(random)
                                               : scattered(random);
    PlanOptions options;
    options.steps = steps;
    Plan plan = planOffsets(buffers, options);
    std::vector<PlacedBuffer> placed;
    for (size_t k = 0; k < buffers.size(); ++k)
      placed.push_back({buffers[k].lower, buffers[k].upper, buffers[k].size, buffers[k].alignment,
                        plan.offsets[k]});
    if (auto error = checkPlan(placed, plan.peak)) {
      std::fprintf(stderr,
                   "weir-bench: error W0851: random instance %lld: the plan is "
                   "wrong: %s\n",
                   (long long)i, error->message.c_str());
      return 1;
    }
    optimal += plan.provedOptimal;
    planner.add(plan.peak, plan.lowerBound);
    Problem problem = buildProblem(buffers);
    for (size_t g = 0; g < greedy.size(); ++g)
      greedy[g].add(greedyPeak(problem, g), problem.lowerBound);
  }
  std::printf("| offsets | at the bound | mean %% | median | 90 of 100 | 99 of "
              "100 | worst |\n|---|---|---|---|---|---|---|\n");
  planner.print();
  for (Distances &distances : greedy)
    distances.print();
  std::printf("\n%lld instances, seed %lld, %lld steps each; %lld plans are "
              "proved to be the smallest\n",
              (long long)count, (long long)seed, (long long)steps, (long long)optimal);
  return 0;
}
