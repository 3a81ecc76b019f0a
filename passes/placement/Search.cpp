//===- Search.cpp - the best plan found within a budget -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Starts of different kinds are annealed side by side; half of the budget that
// is left goes into each round, after which the worse half is given up. What
// remains in the end is reheated until the budget is spent.
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Annealing.h"
#include "passes/placement/Schedule.h"
#include "passes/placement/Starts.h"

#include <algorithm>
#include <numeric>

using namespace weir::placement;

namespace {

/// Starts that are annealed, and randomly disturbed ones among them.
constexpr size_t mostStarts = 8;
constexpr int disturbedStarts = 4, memoryTries = 200;
/// Temperatures, in fractions of the makespan.
constexpr double hottest = 0.05, reheated = 0.03, leastHot = 0.003, coldest = 1e-5;

bool faster(const Plan &a, const Plan &b) { return a.makespan < b.makespan; }

Plan planFor(const Graph &graph, std::span<const int32_t> deviceOfGroup) {
  std::vector<int32_t> device(graph.nodes);
  for (int32_t node = 0; node < graph.nodes; ++node)
    device[node] = deviceOfGroup[graph.group[node]];
  return schedule(graph, std::move(device));
}

/// Devices of groups when all are on one; empty where that is impossible.
std::vector<int32_t> allOn(const Graph &graph, int32_t device) {
  double memory = 0;
  for (int32_t g = 0; g < graph.groups; ++g) {
    memory += graph.groupMemory[g];
    if (!graph.possible(g, device))
      return {};
  }
  if (memory > graph.limits[device])
    return {};
  return std::vector<int32_t>(graph.groups, device);
}

/// Plans that only exist with a device for every group and links that do.
class Plans : public std::vector<Plan> {
public:
  explicit Plans(const Graph &graph) : graph(graph) {}
  void consider(const std::vector<int32_t> &deviceOfGroup) {
    if (deviceOfGroup.empty() && graph.groups > 0)
      return;
    add(planFor(graph, deviceOfGroup));
  }
  void add(Plan plan) {
    if (plan.makespan < forbidden)
      push_back(std::move(plan));
  }
  std::optional<Plan> best() const {
    if (empty())
      return std::nullopt;
    return *std::min_element(begin(), end(), faster);
  }

private:
  const Graph &graph;
};

/// Groups sorted by a number.
std::vector<int32_t> sortedBy(const std::vector<double> &key) {
  std::vector<int32_t> order(key.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return key[a] < key[b]; });
  return order;
}

/// Orders of groups that can be cut into segments: by branch, by how early they
/// can begin, and by how late they must.
std::vector<std::vector<int32_t>> linearOrders(const Graph &graph) {
  std::vector<double> branch(graph.groups), early(graph.groups, never), late(graph.groups, 0),
      begin(graph.nodes, 0);
  for (int32_t node : graph.topological) {
    int32_t g = graph.group[node];
    branch[g] = g;
    early[g] = std::min(early[g], begin[node]);
    late[g] = std::min(late[g], -graph.tail[node] - graph.bestTime[node]);
    for (const Neighbour &next : graph.successors[node])
      begin[next.node] = std::max(begin[next.node], begin[node] + graph.bestTime[node]);
  }
  return {sortedBy(branch), sortedBy(early), sortedBy(late)};
}

Plans makeStarts(const Graph &graph, const Options &options, Random &random) {
  Plans plans(graph);
  for (int32_t d = 0; d < graph.devices; ++d)
    if (graph.deviceClass[d] == d)
      plans.consider(allOn(graph, d));
  for (Visit visit : {Visit::AsRun, Visit::ByRank, Visit::Topological})
    plans.consider(placeEarliest(graph, visit, nullptr));
  for (int i = 0; i < disturbedStarts; ++i)
    plans.consider(placeEarliest(graph, Visit::ByRank, &random));
  for (const std::vector<int32_t> &groups : linearOrders(graph))
    plans.consider(placeContiguously(graph, groups));
  if (options.hint.size() == size_t(graph.nodes))
    plans.add(schedule(graph, options.hint));
  plans.consider(placeByMemory(graph, nullptr));
  for (int i = 0; i < memoryTries && plans.empty(); ++i)
    plans.consider(placeByMemory(graph, &random));
  std::stable_sort(plans.begin(), plans.end(), faster);
  if (plans.size() > mostStarts)
    plans.resize(mostStarts);
  return plans;
}

/// List scheduling again, where it is better, and shifting.
Plan polish(const Graph &graph, Plan plan) {
  plan.makespan = shift(graph, plan.device, plan.order);
  Plan listed = schedule(graph, plan.device);
  return faster(listed, plan) ? listed : plan;
}

} // namespace

std::optional<Plan> weir::placement::search(const Problem &problem, const Options &options) {
  Graph graph(problem);
  Random random(options.seed);
  Plans plans = makeStarts(graph, options, random);
  if (plans.empty())
    return std::nullopt;
  Plan best = plans.front();
  Neighbourhood state(graph);
  int64_t left = options.steps;
  double hot = hottest;
  while (left > 0 && best.makespan > graph.bound * (1 + 1e-9)) {
    int64_t share = std::max<int64_t>(left / 2 / int64_t(plans.size()), 1);
    if (plans.size() == 1)
      share = std::max(left / 3, std::min<int64_t>(left, 2000 * int64_t(graph.nodes)));
    for (Plan &plan : plans) {
      int64_t before = state.steps();
      plan = polish(graph, anneal(state, plan, random, share, hot, coldest));
      left -= std::max(share, state.steps() - before);
    }
    std::stable_sort(plans.begin(), plans.end(), faster);
    if (faster(plans.front(), best))
      best = plans.front();
    plans.resize((plans.size() + 1) / 2);
    if (plans.size() > 1)
      hot *= 0.6;
    else
      hot = hot < leastHot ? reheated : hot / 3;
  }
  return best;
}

std::optional<Plan> weir::placement::placeGreedily(const Problem &problem) {
  Graph graph(problem);
  Plans plans(graph);
  plans.consider(placeEarliest(graph, Visit::AsRun, nullptr));
  // Where it ran into a corner, what fits at all.
  if (plans.empty())
    plans.consider(placeByMemory(graph, nullptr));
  return plans.best();
}

std::optional<Plan> weir::placement::placeOnOneDevice(const Problem &problem) {
  Graph graph(problem);
  Plans plans(graph);
  for (int32_t d = 0; d < graph.devices; ++d)
    if (graph.deviceClass[d] == d)
      plans.consider(allOn(graph, d));
  return plans.best();
}
