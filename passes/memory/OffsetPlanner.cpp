//===- OffsetPlanner.cpp - Offsets for buffers with lifetimes -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/OffsetPlanner.h"

#include "passes/memory/GreedyOffsets.h"
#include "passes/memory/OffsetSearch.h"

#include <algorithm>

using namespace weir::memory;

namespace {

/// Past this many items a descent of the search costs more than it is worth.
constexpr size_t largestSearched = 4096;

/// The best plan of one component and what is known about smaller ones, in
/// granules.
struct Solution {
  Placement best;
  int64_t proved; ///< no plan has a smaller peak
};

/// Narrows the gap between the best placement and the bound until the peak is
/// at most `enough`. The bound itself is tried first, for it is often reached;
/// then the gap is halved, and targets that were too hard count as out of
/// reach.
void improve(const Component &component, int64_t enough, bool hasCapacity, int64_t &budget,
             Solution &solution) {
  int64_t outOfReach = solution.proved - 1;
  bool first = true;
  while (budget > 0) {
    int64_t low = std::max(enough, outOfReach + 1);
    if (solution.best.peak <= low)
      return;
    int64_t target = first ? low : low + (solution.best.peak - 1 - low) / 2;
    // With a capacity there is nothing to save the budget for.
    int64_t allowed = hasCapacity ? budget : (budget + 1) / 2;
    first = false;
    budget -= allowed;
    std::vector<int64_t> offsets;
    SearchResult result = searchOffsets(component, target, allowed, offsets);
    budget += std::max<int64_t>(allowed, 0);
    if (result == SearchResult::Found) {
      solution.best.peak = 0;
      for (size_t i = 0; i < offsets.size(); ++i)
        solution.best.peak = std::max(solution.best.peak, offsets[i] + component.items[i].size);
      solution.best.offsets = std::move(offsets);
      continue;
    }
    outOfReach = target;
    if (result == SearchResult::Impossible)
      solution.proved = target + 1;
  }
}

} // namespace

Plan weir::memory::planOffsets(std::span<const Buffer> buffers, const PlanOptions &options) {
  Problem problem = buildProblem(buffers);
  Plan plan;
  plan.offsets.assign(buffers.size(), 0);
  plan.lowerBound = problem.lowerBound;

  std::vector<Solution> solutions;
  int64_t enough = 0;
  for (const Component &component : problem.components) {
    solutions.push_back({placeGreedily(component), component.lowerBound});
    enough = std::max(enough, component.lowerBound);
  }
  // Components share the arena, so none needs to be smaller than the largest
  // bound.
  if (options.capacity)
    enough = std::max(enough, *options.capacity / problem.granule);
  int64_t budget = options.steps;
  for (size_t c = 0; c < solutions.size(); ++c) {
    const Component &component = problem.components[c];
    if (component.items.size() <= largestSearched)
      improve(component, enough, options.capacity && enough <= *options.capacity / problem.granule,
              budget, solutions[c]);
    enough = std::max(enough, solutions[c].best.peak);
  }
  plan.steps = options.steps - budget;

  int64_t proved = 0;
  for (size_t c = 0; c < solutions.size(); ++c) {
    proved = std::max(proved, solutions[c].proved);
    const std::vector<Item> &items = problem.components[c].items;
    for (size_t i = 0; i < items.size(); ++i)
      plan.offsets[items[i].buffer] = solutions[c].best.offsets[i] * problem.granule;
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    plan.peak = std::max(plan.peak, plan.offsets[i] + buffers[i].size);
  // The search counts padding behind the uppermost buffer, the plan does not.
  int64_t provedBytes = plan.lowerBound;
  if (!problem.padded)
    provedBytes = std::max(provedBytes, proved * problem.granule);
  plan.provedOptimal = plan.peak == provedBytes;
  plan.provedTooLarge = options.capacity && provedBytes > *options.capacity;
  return plan;
}
