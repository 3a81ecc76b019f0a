//===- OrderTest.cpp - orders against all orders --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomWork.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

using namespace weir::memory;
using weir::test::Problem;
using weir::test::randomProblem;

namespace {

bool isPossible(const Problem &p, const std::vector<int> &order) {
  std::vector<int> at(p.nodes.size(), -1), producer(p.values.size(), -1);
  for (size_t i = 0; i < order.size(); ++i)
    at[order[i]] = i;
  for (size_t n = 0; n < p.nodes.size(); ++n)
    for (int v : p.nodes[n].writes)
      producer[v] = n;
  for (size_t n = 0; n < p.nodes.size(); ++n) {
    if (at[n] < 0)
      return false;
    for (int m : p.nodes[n].after)
      if (at[m] > at[n])
        return false;
    for (int v : p.nodes[n].reads)
      if (producer[v] >= 0 && at[producer[v]] > at[n])
        return false;
  }
  return order.size() == p.nodes.size();
}

/// The least peak of all orders: over all sets of done nodes, by the definition
/// of a value's life alone.
int64_t exhaustive(const Problem &p) {
  int count = p.nodes.size();
  std::vector<unsigned> needs(count), readers(p.values.size());
  std::vector<int> producer(p.values.size(), -1);
  for (int n = 0; n < count; ++n) {
    for (int v : p.nodes[n].writes)
      producer[v] = n;
    for (int v : p.nodes[n].reads)
      readers[v] |= 1u << n;
  }
  for (int n = 0; n < count; ++n) {
    for (int m : p.nodes[n].after)
      needs[n] |= 1u << m;
    for (int v : p.nodes[n].reads)
      needs[n] |= 1u << producer[v];
  }
  auto alive = [&](unsigned done) {
    int64_t bytes = 0;
    for (size_t v = 0; v < p.values.size(); ++v)
      if (done >> producer[v] & 1 && (p.values[v].outlives || (readers[v] & ~done)))
        bytes += p.values[v].size;
    return bytes;
  };
  std::vector<int64_t> best(size_t(1) << count, INT64_MAX);
  best[0] = 0;
  for (unsigned done = 0; done + 1 < best.size(); ++done) {
    if (best[done] == INT64_MAX)
      continue;
    int64_t now = alive(done);
    for (int n = 0; n < count; ++n) {
      if (done >> n & 1 || (needs[n] & ~done))
        continue;
      int64_t moment = now, made = 0;
      for (int v : p.nodes[n].writes)
        made += p.values[v].size;
      moment += made;
      int v = p.nodes[n].inPlace;
      if (v >= 0 && p.nodes[n].writes.size() == 1 && !p.values[v].outlives &&
          !(readers[v] & ~done & ~(1u << n)))
        moment -= std::min(made, p.values[v].size);
      int64_t &to = best[done | 1u << n];
      to = std::min(to, std::max(best[done], moment));
    }
  }
  return best.back();
}

TEST(Order, IsTheBestOfAllOrders) {
  int better = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Problem p = randomProblem(4 + seed % 11, seed);
    int64_t wanted = exhaustive(p);
    Order order = orderNodes(p.nodes, p.values);
    ASSERT_TRUE(isPossible(p, order.nodes)) << "seed " << seed;
    EXPECT_EQ(order.peak, peakOf(p.nodes, p.values, order.nodes));
    EXPECT_EQ(order.peak, wanted) << "seed " << seed;
    EXPECT_TRUE(order.provedOptimal) << "seed " << seed;
    better += order.peak < order.numberedPeak;
  }
  EXPECT_GT(better, 100); // where there is anything to choose
}

// What serves where the exact search is too much stays within 2 %.
TEST(Order, BeamIsCloseToTheBest) {
  OrderOptions options;
  options.states = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Problem p = randomProblem(4 + seed % 11, seed);
    Order order = orderNodes(p.nodes, p.values, options);
    ASSERT_TRUE(isPossible(p, order.nodes)) << "seed " << seed;
    EXPECT_LE(order.peak, exhaustive(p) * 1.02) << "seed " << seed;
  }
}

TEST(Order, IsNeverWorseThanTheNumbers) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Problem p = randomProblem(40 + seed * 12, seed);
    for (Schedule schedule : {Schedule::Memory, Schedule::Balanced, Schedule::Latency}) {
      OrderOptions options;
      options.schedule = schedule;
      options.states = 2000;
      Order order = orderNodes(p.nodes, p.values, options);
      ASSERT_TRUE(isPossible(p, order.nodes)) << "seed " << seed;
      EXPECT_LE(order.peak, order.numberedPeak) << "seed " << seed;
      if (schedule == Schedule::Latency) {
        EXPECT_TRUE(std::is_sorted(order.nodes.begin(), order.nodes.end()));
      }
    }
  }
}

// A wide branch is finished before the next one begins.
TEST(Order, FinishesBranches) {
  Problem p;
  p.values.push_back({1, false});
  p.nodes.push_back({{}, {}, {0}, -1});
  const int branches = 40;
  // All wide values first, as a framework may number them, then the narrow ones.
  for (int i = 0; i < branches; ++i) {
    p.nodes.push_back({{}, {0}, {int(p.values.size())}, -1});
    p.values.push_back({1000, false});
  }
  OrderNode join;
  for (int i = 0; i < branches; ++i) {
    p.nodes.push_back({{}, {1 + i}, {int(p.values.size())}, -1});
    join.reads.push_back(p.values.size());
    p.values.push_back({1, false});
  }
  join.writes.push_back(p.values.size());
  p.values.push_back({1, true});
  p.nodes.push_back(join);
  Order order = orderNodes(p.nodes, p.values);
  EXPECT_GE(order.numberedPeak, 40000);
  EXPECT_LE(order.peak, 1000 + 1 + branches);
}

// Long graphs: windows keep it near-linear. Nothing is measured; it ends.
TEST(Order, OrdersLongGraphs) {
  Problem p = randomProblem(20000, 7);
  OrderOptions options;
  options.states = 500;
  options.width = 4;
  Order order = orderNodes(p.nodes, p.values, options);
  EXPECT_TRUE(isPossible(p, order.nodes));
  EXPECT_LE(order.peak, order.numberedPeak);
}

} // namespace
