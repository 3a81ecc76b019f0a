//===- RecomputeTest.cpp - what runs again computes the same --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/Recompute.h"
#include "RandomWork.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace weir::memory;
using weir::test::Problem;
using weir::test::randomProblem;

namespace {

/// The most bytes alive at once by the definition alone, -1 where an execution
/// reads what is not there.
int64_t judge(const Problem &p, const Recomputation &made) {
  using Key = std::pair<int, int>; // execution, value
  std::map<Key, size_t> lastUse;
  size_t count = made.executions.size();
  // A copy back reads nothing here, and makes its value.
  std::vector<OrderNode> copies(p.values.size());
  for (size_t v = 0; v < copies.size(); ++v)
    copies[v].writes = {int(v)};
  auto nodeOf = [&](size_t e) -> const OrderNode & {
    const Execution &execution = made.executions[e];
    return execution.value >= 0 ? copies[execution.value] : p.nodes[execution.node];
  };
  auto makes = [&](int e, int value) {
    if (e < 0 || e >= int(count))
      return false;
    const auto &writes = nodeOf(e).writes;
    return std::find(writes.begin(), writes.end(), value) != writes.end();
  };
  std::vector<char> seen(p.nodes.size(), 0);
  std::set<int> gone; ///< written over
  for (size_t e = 0; e < count; ++e) {
    const OrderNode &node = nodeOf(e);
    if (int v = made.executions[e].value; v >= 0) {
      // What was saved was computed before, and is no copy itself.
      const std::vector<int> &sources = made.executions[e].sources;
      if (sources.size() != 1 || sources[0] >= int(e) || !makes(sources[0], v) ||
          made.executions[sources[0]].value >= 0)
        return -1;
      continue;
    }
    for (int m : node.after)
      if (!seen[m])
        return -1;
    for (int v : node.reads)
      if (gone.count(v))
        return -1;
    gone.insert(node.overwrites.begin(), node.overwrites.end());
    seen[made.executions[e].node] = 1;
    if (made.executions[e].sources.size() != node.reads.size())
      return -1;
    for (size_t r = 0; r < node.reads.size(); ++r) {
      int source = made.executions[e].sources[r];
      if (source >= int(e) || !makes(source, node.reads[r]))
        return -1;
      lastUse[{source, node.reads[r]}] = e;
    }
  }
  if (std::find(seen.begin(), seen.end(), 0) != seen.end())
    return -1;
  for (size_t v = 0; v < p.values.size(); ++v)
    if (p.values[v].outlives) {
      if (!makes(made.finals[v], v))
        return -1;
      lastUse[{made.finals[v], int(v)}] = count;
    }
  int64_t peak = 0;
  for (size_t at = 0; at <= count; ++at) {
    int64_t bytes = 0;
    for (size_t e = 0; e <= at && e < count; ++e)
      for (int v : nodeOf(e).writes) {
        auto use = lastUse.find({int(e), v});
        size_t end = use == lastUse.end() ? e : use->second;
        bytes += e <= at && at <= end ? p.values[v].size : 0;
      }
    if (at < count) {
      const OrderNode &node = nodeOf(at);
      bytes += node.scratch;
      for (size_t r = 0; r < node.reads.size(); ++r)
        if (node.reads[r] == node.inPlace && node.writes.size() == 1 &&
            lastUse[{made.executions[at].sources[r], node.inPlace}] == at) {
          bytes -= std::min(p.values[node.inPlace].size, p.values[node.writes[0]].size);
          break;
        }
    }
    peak = std::max(peak, bytes);
  }
  return peak;
}

std::vector<int> numbers(const Problem &p) {
  std::vector<int> order;
  for (size_t n = 0; n < p.nodes.size(); ++n)
    order.push_back(n);
  return order;
}

/// Adds a node that reads these values and writes one more, of `size` bytes.
auto adderTo(Problem &p) {
  return [&p](std::vector<int> reads, int64_t size) {
    OrderNode node;
    node.reads = std::move(reads);
    node.writes = {int(p.values.size())};
    p.nodes.push_back(node);
    p.values.push_back({size, false});
  };
}

TEST(Recompute, KeepsWhatIsComputed) {
  int lowered = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    Problem p = randomProblem(10 + seed % 50, seed);
    std::vector<double> costs;
    for (size_t n = 0; n < p.nodes.size(); ++n) {
      costs.push_back(n % 7 == 3 ? -1 : 1 + n % 5);
      p.nodes[n].scratch = n % 11 == 0 ? 16 : 0;
    }
    int64_t peak = peakOf(p.nodes, p.values, numbers(p));
    RecomputeOptions options;
    options.limit = peak * (40 + seed % 60) / 100;
    Recomputation made = recomputeValues(p.nodes, p.values, costs, options);
    EXPECT_EQ(made.givenPeak, peak) << "seed " << seed;
    EXPECT_EQ(judge(p, made), made.peak) << "seed " << seed;
    EXPECT_LE(made.peak, peak) << "seed " << seed;
    std::vector<int> times(p.nodes.size(), 0);
    for (const Execution &execution : made.executions)
      ++times[execution.node];
    EXPECT_EQ(made.returned, 0) << "seed " << seed;
    for (size_t n = 0; n < times.size(); ++n)
      EXPECT_TRUE(times[n] == 1 || (times[n] > 1 && costs[n] >= 0)) << "seed " << seed;
    lowered += made.peak < peak;
  }
  EXPECT_GT(lowered, 100);
}

/// A chain whose values are needed a second time, in reverse: a gradient.
Problem thereAndBack(int length) {
  Problem p;
  for (int i = 0; i < length; ++i) {
    OrderNode node;
    if (i)
      node.reads = {i - 1};
    node.writes = {i};
    p.nodes.push_back(node);
    p.values.push_back({100, false});
  }
  for (int i = length - 1; i >= 0; --i) {
    OrderNode node;
    node.reads = {i, int(p.values.size()) - 1};
    node.writes = {int(p.values.size())};
    p.nodes.push_back(node);
    p.values.push_back({100, i == 0});
  }
  return p;
}

TEST(Recompute, CheckpointsAChain) {
  Problem p = thereAndBack(32);
  std::vector<double> costs(p.nodes.size(), 1);
  // 33 values alive where the way turns; a third of them is enough, at less than
  // twice the way there.
  RecomputeOptions options;
  options.limit = 1200;
  Recomputation made = recomputeValues(p.nodes, p.values, costs, options);
  EXPECT_LE(made.peak, 1200);
  EXPECT_EQ(judge(p, made), made.peak);
  EXPECT_LE(made.repeated, 64);
  // Nothing runs again where all fits.
  options.limit = made.givenPeak;
  EXPECT_EQ(recomputeValues(p.nodes, p.values, costs, options).repeated, 0);
}

TEST(Recompute, RepeatsTheCheaper) {
  // Two values of one size wait across a large moment; one is dear to make.
  Problem p;
  auto add = adderTo(p);
  add({}, 1);        // 0
  add({0}, 100);     // 1: dear
  add({0}, 100);     // 2: cheap
  add({0, 1, 2}, 1); // 3: both are used
  add({0, 3}, 200);  // 4: large
  add({4}, 1);       // 5
  add({0, 1, 5}, 1); // 6
  add({0, 2, 6}, 1); // 7
  p.values.back().outlives = true;
  std::vector<double> costs = {1, 1000, 10, 1, 1, 1, 1, 1};
  RecomputeOptions options;
  options.limit = 350;
  Recomputation made = recomputeValues(p.nodes, p.values, costs, options);
  EXPECT_LE(made.peak, 350);
  EXPECT_EQ(made.repeated, 1);
  EXPECT_EQ(made.cost, 10);
}

TEST(Recompute, RunsNothingAgainBehindWhatWritesOver) {
  // What is made of a weight waits across a large moment, in front of which the weight is gone.
  Problem p;
  auto add = adderTo(p);
  add({}, 0);       // 0: the weight
  add({0}, 100);    // 1
  add({1}, 1);      // 2
  add({0}, 0);      // 3: writes over the weight
  add({2, 3}, 200); // 4: large
  add({4}, 1);      // 5
  add({1, 5}, 1);   // 6
  p.values.back().outlives = true;
  std::vector<double> costs = {-1, 1, 1, -1, 1, 1, 1};
  RecomputeOptions options;
  options.limit = 250;
  EXPECT_LE(recomputeValues(p.nodes, p.values, costs, options).peak, 250);
  p.nodes[3].overwrites = {0};
  p.nodes[3].after = {1};
  Recomputation made = recomputeValues(p.nodes, p.values, costs, options);
  EXPECT_EQ(made.peak, made.givenPeak);
  EXPECT_EQ(judge(p, made), made.peak);
  // Everywhere: values whose last reader writes over them.
  int lowered = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Problem random = randomProblem(20 + seed % 50, seed);
    std::vector<double> some(random.nodes.size(), 1);
    std::vector<int> last(random.values.size(), -1);
    for (size_t n = 0; n < random.nodes.size(); ++n)
      for (int v : random.nodes[n].reads)
        last[v] = int(n);
    for (size_t v = 0; v < last.size(); v += 3)
      if (last[v] >= 0 && !random.values[v].outlives) {
        OrderNode &writer = random.nodes[last[v]];
        writer.overwrites.push_back(int(v));
        some[last[v]] = -1;
        for (int n = 0; n < last[v]; ++n)
          if (std::count(random.nodes[n].reads.begin(), random.nodes[n].reads.end(), int(v)))
            writer.after.push_back(n);
      }
    options.limit = peakOf(random.nodes, random.values, numbers(random)) * 2 / 3;
    made = recomputeValues(random.nodes, random.values, some, options);
    EXPECT_EQ(judge(random, made), made.peak) << "seed " << seed;
    lowered += made.peak < made.givenPeak;
  }
  EXPECT_GT(lowered, 20);
}

/// Each value copied for what a byte takes; work of one unit a node.
Transfers transfersOf(const Problem &p, double perByte) {
  Transfers transfers;
  for (const OrderValue &value : p.values)
    transfers.out.push_back(value.size * perByte);
  transfers.in = transfers.out;
  transfers.work.assign(p.nodes.size(), 1);
  return transfers;
}

TEST(Recompute, KeepsWhatIsCopied) {
  int lowered = 0, copied = 0, both = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    Problem p = randomProblem(10 + seed % 50, seed);
    std::vector<double> costs;
    for (size_t n = 0; n < p.nodes.size(); ++n)
      costs.push_back(n % 3 == 1 ? -1 : 1 + n % 5);
    Transfers transfers = transfersOf(p, 0.1);
    for (size_t v = 0; v < p.values.size(); v += 5)
      transfers.out[v] = -1;
    RecomputeOptions options;
    options.limit = peakOf(p.nodes, p.values, numbers(p)) * (40 + seed % 60) / 100;
    int64_t alone = recomputeValues(p.nodes, p.values, costs, options).peak;
    options.transfers = &transfers;
    Recomputation made = recomputeValues(p.nodes, p.values, costs, options);
    EXPECT_EQ(judge(p, made), made.peak) << "seed " << seed;
    int returned = 0;
    for (const Execution &execution : made.executions)
      if (execution.value >= 0) {
        EXPECT_GE(transfers.out[execution.value], 0) << "seed " << seed;
        ++returned;
      }
    EXPECT_EQ(returned, made.returned);
    EXPECT_LE(made.saved, made.returned);
    lowered += made.peak < alone;
    copied += returned > 0;
    both += returned > 0 && made.repeated > 0;
  }
  EXPECT_GT(lowered, 40);
  EXPECT_GT(copied, 100);
  EXPECT_GT(both, 10);
}

TEST(Recompute, CopiesWhatCannotRunAgain) {
  Problem p = thereAndBack(8);
  std::vector<double> costs(p.nodes.size(), -1);
  Transfers transfers = transfersOf(p, 0.01);
  RecomputeOptions options;
  options.limit = 400;
  options.transfers = &transfers;
  Recomputation made = recomputeValues(p.nodes, p.values, costs, options);
  EXPECT_LE(made.peak, 400);
  EXPECT_EQ(judge(p, made), made.peak);
  EXPECT_EQ(made.repeated, 0);
  EXPECT_GT(made.saved, 0);
  EXPECT_EQ(made.movedBytes, 100 * (made.saved + made.returned));
  // Where there is room, a copy back is begun before the work that hides it.
  bool ahead = false;
  for (size_t e = 0; e + 1 < made.executions.size(); ++e)
    if (int v = made.executions[e].value; v >= 0)
      ahead |= made.executions[e + 1].node >= 0 &&
               p.nodes[made.executions[e + 1].node].reads != std::vector<int>{v} &&
               std::count(made.executions[e + 1].sources.begin(),
                          made.executions[e + 1].sources.end(), int(e)) == 0;
  EXPECT_TRUE(ahead);
}

TEST(Recompute, CopiesWhatIsDearerToMake) {
  Problem p = thereAndBack(8);
  std::vector<double> costs(p.nodes.size(), 1);
  Transfers transfers = transfersOf(p, 0.1); // 10 a way
  RecomputeOptions options;
  options.limit = 600;
  options.transfers = &transfers;
  EXPECT_EQ(recomputeValues(p.nodes, p.values, costs, options).returned, 0);
  costs.assign(p.nodes.size(), 1000);
  EXPECT_EQ(recomputeValues(p.nodes, p.values, costs, options).repeated, 0);
}

TEST(Recompute, SavesOnceWhatIsCopiedBackTwice) {
  // One value is used at both ends of, and between, two full moments.
  Problem p;
  auto add = adderTo(p);
  add({}, 100);   // 0
  add({}, 1);     // 1
  add({1}, 200);  // 2: full
  add({2}, 1);    // 3
  add({0, 3}, 1); // 4
  add({4}, 200);  // 5: full
  add({5}, 1);    // 6
  add({0, 6}, 1); // 7
  p.values.back().outlives = true;
  std::vector<double> costs(p.nodes.size(), -1);
  Transfers transfers = transfersOf(p, 0.01);
  RecomputeOptions options;
  options.limit = 250;
  options.transfers = &transfers;
  Recomputation made = recomputeValues(p.nodes, p.values, costs, options);
  EXPECT_LE(made.peak, 250);
  EXPECT_EQ(judge(p, made), made.peak);
  EXPECT_EQ(made.saved, 1);
  EXPECT_EQ(made.returned, 2);
}

TEST(Recompute, SaysWhatItReachedWhereNothingHelps) {
  Problem p = thereAndBack(6);
  std::vector<double> costs(p.nodes.size(), -1);
  RecomputeOptions options;
  options.limit = 10;
  Recomputation made = recomputeValues(p.nodes, p.values, costs, options);
  EXPECT_EQ(made.peak, made.givenPeak);
  EXPECT_EQ(made.repeated, 0);
}

} // namespace
