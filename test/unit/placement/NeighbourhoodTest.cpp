//===- NeighbourhoodTest.cpp - changes are simulated right, and undone ----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Neighbourhood.h"
#include "RandomProblem.h"
#include "passes/placement/Schedule.h"

#include <gtest/gtest.h>

using namespace weir::placement;

namespace {

/// The state against a simulation from nothing.
void expectConsistent(const Problem &problem, const Neighbourhood &state) {
  std::vector<double> end;
  EXPECT_EQ(simulate(state.graph, state.device, state.order, end), state.makespan());
  EXPECT_EQ(end, state.end);
  for (int32_t i = 0; i < state.graph.nodes; ++i) {
    ASSERT_EQ(state.place[state.order[i]], i);
    if (i > 0) {
      EXPECT_LE(state.start[state.order[i - 1]], state.start[state.order[i]]);
    }
  }
  double makespan;
  EXPECT_EQ(checkPlan(problem, state.plan(), makespan), std::nullopt);
  EXPECT_EQ(makespan, state.makespan());
}

TEST(NeighbourhoodTest, RandomChangesKeepTheStateAndRefusedOnesLeaveNoTrace) {
  std::mt19937 random(3);
  int made = 0, refused = 0;
  for (int instance = 0; instance < 40; ++instance) {
    // More nodes than lie between two checkpoints.
    Problem problem = randomProblem(random, 20 + instance * 4, 6, 3, true);
    Options options;
    options.steps = 0;
    std::optional<Plan> plan = search(problem, options);
    if (!plan)
      continue;
    Graph graph(problem);
    Neighbourhood state(graph);
    state.reset(*plan);
    EXPECT_EQ(state.makespan(), plan->makespan);
    for (int change = 0; change < 60; ++change) {
      Plan before = state.plan();
      std::vector<double> held = state.held;
      double limit = state.makespan() * (0.9 + 0.01 * (random() % 60));
      bool done;
      if (random() % 2) {
        done = state.tryPlace(random() % graph.nodes, random() % graph.nodes, limit);
      } else {
        std::vector<Neighbourhood::Move> moves;
        for (int32_t g = 0; g < graph.groups; ++g)
          if (random() % graph.groups < 3)
            moves.push_back({g, graph.choices[g][random() % graph.choices[g].size()]});
        done = state.tryMoves(moves, limit);
      }
      (done ? made : refused) += 1;
      if (done) {
        EXPECT_LE(state.makespan(), limit);
      } else {
        EXPECT_EQ(state.plan().device, before.device);
        EXPECT_EQ(state.order, before.order);
        EXPECT_EQ(state.held, held);
      }
      expectConsistent(problem, state);
      if (HasFailure())
        return;
    }
  }
  EXPECT_GT(made, 200);
  EXPECT_GT(refused, 200);
}

} // namespace
