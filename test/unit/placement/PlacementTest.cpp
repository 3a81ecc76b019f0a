//===- PlacementTest.cpp - placements are legal, and as good as claimed ---===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Placement.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace weir::placement;

namespace {

/// The best of all placements and all orders.
double exhaustive(const Problem &problem) {
  int32_t count = int32_t(problem.nodes.size());
  Plan plan;
  plan.device.assign(count, 0);
  plan.order.resize(count);
  double best = never;
  for (;;) {
    std::iota(plan.order.begin(), plan.order.end(), 0);
    do {
      double makespan;
      if (!checkPlan(problem, plan, makespan))
        best = std::min(best, makespan);
    } while (std::next_permutation(plan.order.begin(), plan.order.end()));
    int32_t i = 0;
    while (i < count && ++plan.device[i] == problem.devices())
      plan.device[i++] = 0;
    if (i == count)
      return best;
  }
}

double makespanOf(const Problem &problem, const std::optional<Plan> &plan) {
  if (!plan)
    return never;
  double makespan = never;
  EXPECT_EQ(checkPlan(problem, *plan, makespan), std::nullopt);
  EXPECT_EQ(makespan, plan->makespan);
  EXPECT_GE(makespan, lowerBound(problem) * (1 - 1e-12));
  return makespan;
}

/// A chain of `n` nodes of one unit on `devices` like devices.
Problem chain(int n, int devices, double transfer) {
  Problem problem;
  for (int i = 0; i < n; ++i) {
    problem.nodes.push_back({std::vector<double>(devices, 1), 1, -1});
    if (i)
      problem.edges.push_back({i - 1, i, 1});
  }
  problem.memoryLimits.assign(devices, never);
  problem.links.assign(devices * devices, {0, transfer});
  return problem;
}

TEST(PlacementTest, SearchFindsTheBestOfTinyProblems) {
  std::mt19937 random(1);
  int equal = 0, count = 0;
  for (int instance = 0; instance < 40; ++instance) {
    Problem problem = randomProblem(random, 5, 2, 2, instance % 2);
    Options options;
    options.steps = 200'000;
    double found = makespanOf(problem, search(problem, options));
    double best = exhaustive(problem);
    EXPECT_GE(found, best - 1e-9);
    equal += found <= best + 1e-9 || best == never;
    ++count;
  }
  EXPECT_EQ(equal, count);
}

TEST(PlacementTest, SearchIsNeverWorseThanWhatItMustBeat) {
  std::mt19937 random(2);
  for (int instance = 0; instance < 60; ++instance) {
    Problem problem = randomProblem(random, 10 + instance, 8, 2 + instance % 3, instance % 2);
    for (int64_t steps : {0, 1, 100'000}) {
      Options options;
      options.steps = steps;
      std::optional<Plan> plan = search(problem, options);
      double found = makespanOf(problem, plan);
      EXPECT_LE(found, makespanOf(problem, placeGreedily(problem)));
      EXPECT_LE(found, makespanOf(problem, placeOnOneDevice(problem)));
      if (plan) {
        options.hint = plan->device;
        options.seed = 77;
        EXPECT_LE(makespanOf(problem, search(problem, options)),
                  scheduleFor(problem, options.hint).makespan);
      }
    }
  }
}

TEST(PlacementTest, EqualSeedsGiveEqualPlans) {
  std::mt19937 random(4);
  Problem problem = randomProblem(random, 60, 10, 3, true);
  Options options;
  options.steps = 300'000;
  options.seed = 9;
  std::optional<Plan> a = search(problem, options), b = search(problem, options);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->device, b->device);
  EXPECT_EQ(a->order, b->order);
}

TEST(PlacementTest, AChainWithTransfersStaysTogether) {
  std::optional<Plan> plan = search(chain(20, 3, 5));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->makespan, 20);
}

TEST(PlacementTest, AChainThatFitsNoDeviceIsCutOnce) {
  Problem problem = chain(20, 3, 5);
  problem.memoryLimits.assign(3, 12);
  std::optional<Plan> plan = search(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->makespan, 25);
}

TEST(PlacementTest, IndependentWorkIsSpread) {
  Problem problem = chain(12, 3, 1);
  problem.edges.clear();
  std::optional<Plan> plan = search(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->makespan, 4);
}

TEST(PlacementTest, GroupsStayTogether) {
  Problem problem = chain(12, 3, 1);
  problem.edges.clear();
  for (Node &node : problem.nodes)
    node.group = 5;
  std::optional<Plan> plan = search(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->makespan, 12);
}

TEST(PlacementTest, WhereNoLinkIsNothingCrosses) {
  Problem problem = chain(4, 2, never);
  problem.edges = {{0, 1, 0}, {2, 3, 0}};
  std::optional<Plan> plan = search(problem);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->makespan, 2);
  problem.nodes[0].times[0] = never;
  problem.nodes[1].times[1] = never;
  EXPECT_FALSE(search(problem));
  EXPECT_FALSE(placeGreedily(problem));
}

TEST(PlacementTest, TightMemoryIsPackedOrRefused) {
  Problem problem = chain(9, 3, 1);
  for (int i = 0; i < 9; ++i)
    problem.nodes[i].memory = 1 + i % 3;
  problem.memoryLimits.assign(3, 6);
  EXPECT_LT(makespanOf(problem, search(problem)), never);
  problem.memoryLimits.assign(3, 5.9);
  EXPECT_FALSE(search(problem));
  EXPECT_FALSE(placeGreedily(problem));
  EXPECT_FALSE(placeOnOneDevice(problem));
}

TEST(PlacementTest, DefectsAreNamed) {
  Problem problem = chain(3, 2, 1);
  EXPECT_EQ(findDefect(problem), std::nullopt);
  problem.edges.push_back({2, 0, 1});
  EXPECT_EQ(findDefect(problem), "edges form a circle");
  problem = chain(3, 2, 1);
  problem.edges.push_back({0, 3, 1});
  EXPECT_EQ(findDefect(problem), "an edge begins or ends at no node");
  problem = chain(3, 2, 1);
  problem.nodes[1].times.pop_back();
  EXPECT_EQ(findDefect(problem), "node 1 has not one time a device");
  problem = chain(3, 2, 1);
  problem.nodes[2].times[0] = -1;
  EXPECT_EQ(findDefect(problem), "node 2 has a time that is no number from 0 on");
  problem = chain(3, 2, 1);
  problem.links.pop_back();
  EXPECT_EQ(findDefect(problem), "links are no square of the devices");
  EXPECT_EQ(findDefect(Problem()), "there is no device");
}

TEST(PlacementTest, NothingIsPlacedToo) {
  Problem problem = chain(0, 2, 1);
  ASSERT_TRUE(search(problem));
  EXPECT_EQ(search(problem)->makespan, 0);
}

TEST(TimelineTest, ANodeCanWaitUntilItsLatestStart) {
  // 0 → 1 on one device, 2 → 3 on the other, 0 → 3 across: 2 is short.
  Problem problem = chain(4, 2, 1);
  problem.edges = {{0, 1, 1}, {2, 3, 1}, {0, 3, 1}};
  problem.nodes[1].times = {4, 4};
  Timeline timeline =
      timelineOf(problem, std::vector<int32_t>{0, 0, 1, 1}, std::vector<int32_t>{0, 1, 2, 3});
  EXPECT_EQ(timeline.makespan, 5);
  EXPECT_EQ(timeline.earliest, (std::vector<double>{0, 1, 0, 2}));
  EXPECT_EQ(timeline.latest, (std::vector<double>{0, 1, 3, 4}));
}

TEST(TimelineTest, BothEndsAreRunsOfTheSameOrder) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 60; ++instance) {
    Problem problem = randomProblem(random, 8 + instance, 6, 2 + instance % 3, instance % 2);
    std::optional<Plan> plan = placeGreedily(problem);
    if (!plan)
      continue;
    Timeline timeline = timelineOf(problem, plan->device, plan->order);
    EXPECT_EQ(timeline.makespan, plan->makespan);
    double slack = timeline.makespan * 1e-12;
    std::vector<double> free[2];
    for (auto &each : free)
      each.assign(problem.devices(), 0);
    auto timeOf = [&](int32_t node) { return problem.nodes[node].times[plan->device[node]]; };
    for (int32_t node : plan->order) {
      EXPECT_LE(timeline.earliest[node], timeline.latest[node] + slack);
      int32_t d = plan->device[node], run = 0;
      for (const std::vector<double> *start : {&timeline.earliest, &timeline.latest}) {
        EXPECT_GE((*start)[node], free[run][d] - slack);
        free[run++][d] = (*start)[node] + timeOf(node);
        EXPECT_LE((*start)[node] + timeOf(node), timeline.makespan + slack);
      }
    }
    for (const Edge &edge : problem.edges) {
      int32_t from = plan->device[edge.source], to = plan->device[edge.dest];
      const Link &link = problem.links[from * problem.devices() + to];
      double transfer = from == to ? 0 : link.latency + edge.size * link.timePerSize;
      for (const std::vector<double> *start : {&timeline.earliest, &timeline.latest})
        EXPECT_GE((*start)[edge.dest],
                  (*start)[edge.source] + timeOf(edge.source) + transfer - slack);
    }
  }
}

TEST(PlanCheckerTest, FindsWhatIsWrong) {
  Problem problem = chain(3, 2, 2);
  problem.memoryLimits = {2, 3};
  problem.nodes[1].times[1] = never;
  double makespan;
  auto check = [&](std::vector<int32_t> device, std::vector<int32_t> order) {
    return checkPlan(problem, {device, order, 0}, makespan).value_or("");
  };
  EXPECT_EQ(check({1, 0, 0}, {0, 1, 2}), "");
  EXPECT_EQ(makespan, 5);
  EXPECT_EQ(check({1, 1, 0}, {0, 1, 2}), "node 1 cannot run on device 1");
  EXPECT_EQ(check({1, 0, 2}, {0, 1, 2}), "node 2 is on no device");
  EXPECT_EQ(check({1, 0, 0}, {1, 0, 2}), "node 1 stands before its input 0");
  EXPECT_EQ(check({1, 0, 0}, {0, 1, 1}), "the order is no permutation of the nodes");
  EXPECT_NE(check({0, 0, 0}, {0, 1, 2}).find("device 0 holds"), std::string::npos);
  problem.nodes[0].group = problem.nodes[2].group = 4;
  EXPECT_EQ(check({1, 0, 0}, {0, 1, 2}), "group 4 is on two devices");
}

} // namespace
