//===- RandomPlacements.cpp - placements of made-up graphs ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/RandomPlacements.h"

#include "passes/placement/Placement.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace weir::placement;

namespace {

using Generator = std::mt19937_64;

int32_t below(Generator &random, int32_t end) { return int32_t(random() % uint64_t(end)); }

double unit(Generator &random) { return double(random() >> 11) * 0x1p-53; }

//===----------------------------------------------------------------------===//
// Small graphs, and the best there is
//===----------------------------------------------------------------------===//

/// Up to 9 groups on two devices: times that differ by device, transfers from
/// nothing to more than the work, at times a node that runs on one device only,
/// or a memory limit that forbids most placements.
Problem smallGraph(Generator &random) {
  Problem problem;
  int32_t groups = 2 + below(random, 8), nodes = groups + below(random, 3);
  double transfers = 0.1 * (1 << below(random, 6)), density = unit(random);
  double total = 0;
  for (int32_t i = 0; i < nodes; ++i) {
    Node node;
    double work = 1 + below(random, 20);
    node.times = {work, work * (0.25 + 2 * unit(random))};
    if (!below(random, 12))
      node.times[below(random, 2)] = never;
    node.memory = 1 + below(random, 9);
    node.group = i < groups ? i : below(random, groups);
    total += node.memory;
    problem.nodes.push_back(std::move(node));
    for (int32_t j = 0; j < i; ++j)
      if (unit(random) < density * 2 / std::max(i, 1) + 0.05)
        problem.edges.push_back({j, i, transfers * (1 + below(random, 20))});
  }
  double limit = below(random, 3) ? never : 0.75 * total;
  problem.memoryLimits = {limit, limit};
  problem.links.assign(4, {0.25 * below(random, 3), 1});
  return problem;
}

/// All placements, and for each all orders that start no node before one that
/// could have ended by then; given up where the work left cannot end sooner
/// than the best known.
class Exhaustive {
public:
  explicit Exhaustive(const Problem &problem)
      : problem(problem), count(int32_t(problem.nodes.size())), inputs(count), users(count),
        device(count), end(count), rank(count) {
    for (const Edge &edge : problem.edges) {
      inputs[edge.dest].push_back(edge);
      users[edge.source].push_back(edge);
    }
  }

  double solve() {
    int32_t groups = 0;
    for (const Node &node : problem.nodes)
      groups = std::max(groups, node.group + 1);
    for (int32_t bits = 0; bits < 1 << groups; ++bits) {
      double held[2] = {0, 0};
      bool possible = true;
      for (int32_t i = 0; i < count; ++i) {
        const Node &node = problem.nodes[i];
        device[i] = bits >> node.group & 1;
        held[device[i]] += node.memory;
        possible &= node.times[device[i]] != never;
      }
      if (!possible || held[0] > problem.memoryLimits[0] || held[1] > problem.memoryLimits[1])
        continue;
      // Edges lead to higher numbers.
      for (int32_t i = count; i-- > 0;) {
        rank[i] = 0;
        for (const Edge &edge : users[i])
          rank[i] = std::max(rank[i], transfer(edge) + rank[edge.dest]);
        rank[i] += problem.nodes[i].times[device[i]];
      }
      double free[2] = {0, 0};
      extend(0, free, 0);
    }
    return best;
  }

private:
  double transfer(const Edge &edge) const {
    int32_t from = device[edge.source], to = device[edge.dest];
    const Link &link = problem.links[from * 2 + to];
    return from == to ? 0 : link.latency + edge.size * link.timePerSize;
  }

  void extend(uint32_t done, const double *free, double makespan) {
    if (makespan >= best)
      return;
    if (done == (1u << count) - 1) {
      best = makespan;
      return;
    }
    double left[2] = {0, 0};
    for (int32_t i = 0; i < count; ++i)
      if (!(done >> i & 1))
        left[device[i]] += problem.nodes[i].times[device[i]];
    if (std::max(free[0] + left[0], free[1] + left[1]) >= best)
      return;
    for (int32_t i = 0; i < count; ++i) {
      if (done >> i & 1)
        continue;
      double start = free[device[i]];
      bool ready = true;
      for (const Edge &edge : inputs[i]) {
        ready &= done >> edge.source & 1;
        start = std::max(start, end[edge.source] + transfer(edge));
      }
      if (!ready || start + rank[i] >= best)
        continue;
      double after[2] = {free[0], free[1]};
      end[i] = after[device[i]] = start + problem.nodes[i].times[device[i]];
      extend(done | 1u << i, after, std::max(makespan, end[i]));
    }
  }

  const Problem &problem;
  int32_t count;
  std::vector<std::vector<Edge>> inputs, users;
  std::vector<int32_t> device;
  std::vector<double> end, rank;
  double best = never;
};

//===----------------------------------------------------------------------===//
// Networks
//===----------------------------------------------------------------------===//

/// Accelerators with little memory, which reach each other through the host,
/// and CPUs that are many times slower.
class Network {
public:
  explicit Network(Generator &random) : random(random) {
    bool operations = below(random, 2), training = below(random, 2);
    accelerators = 2 + below(random, 10);
    cpus = 1 + below(random, 8);
    slower = 5 + below(random, 20);
    transfers = 0.05 * (1 << below(random, 10));
    int32_t blocks = 4 + below(random, 40);
    int32_t value = add(0, {});
    for (int32_t b = 0; b < blocks; ++b)
      value = block(value, operations);
    if (training)
      mirror();
    place();
  }

  Problem problem;

private:
  int32_t add(double time, const std::vector<int32_t> &inputs) {
    Node node;
    node.times = {time};
    node.memory = 1 + below(random, 20);
    int32_t index = int32_t(problem.nodes.size());
    node.group = index;
    problem.nodes.push_back(std::move(node));
    for (int32_t input : inputs)
      problem.edges.push_back({input, index, problem.nodes[input].memory * transfers});
    return index;
  }

  /// A layer; operation by operation with its weights, which share its device.
  int32_t layer(int32_t input, bool operations) {
    double time = unit(random) * (below(random, 3) ? 1 : 8);
    if (!operations)
      return add(time, {input});
    int32_t weight = add(0, {});
    problem.nodes[weight].memory *= 8;
    int32_t product = add(time, {input, weight});
    problem.nodes[weight].group = product;
    int32_t activation = add(0.1 * time, {product});
    if (below(random, 2))
      problem.nodes[activation].group = product;
    return activation;
  }

  /// A chain with a shortcut, or branches that meet.
  int32_t block(int32_t input, bool operations) {
    int32_t branches = below(random, 3) ? 1 : 2 + below(random, 3);
    std::vector<int32_t> outputs;
    if (branches == 1 && below(random, 2))
      outputs.push_back(input);
    for (int32_t b = 0; b < branches; ++b) {
      int32_t value = input;
      for (int32_t n = 1 + below(random, 4); n > 0; --n)
        value = layer(value, operations);
      outputs.push_back(value);
    }
    return outputs.size() == 1 ? outputs[0] : add(0.02, outputs);
  }

  /// The backward half: an edge the other way for each, twice the work, on the
  /// device of what it belongs to and fed by it.
  void mirror() {
    int32_t half = int32_t(problem.nodes.size());
    std::vector<Edge> forward = problem.edges;
    for (int32_t i = 0; i < half; ++i) {
      Node node = problem.nodes[i];
      node.times[0] *= 2;
      problem.nodes.push_back(std::move(node));
    }
    for (const Edge &edge : forward)
      problem.edges.push_back({edge.dest + half, edge.source + half, edge.size});
    for (int32_t i = 0; i < half; ++i)
      problem.edges.push_back({i, i + half, 0});
  }

  void place() {
    int32_t devices = accelerators + cpus;
    double memory = 0;
    for (Node &node : problem.nodes) {
      memory += node.memory;
      double time = node.times[0];
      node.times.assign(devices, time * slower);
      std::fill_n(node.times.begin(), accelerators, time);
    }
    double limit = below(random, 4) ? memory / accelerators * (0.8 + unit(random)) : never;
    for (int32_t d = 0; d < devices; ++d)
      problem.memoryLimits.push_back(d < accelerators ? limit : never);
    for (int32_t from = 0; from < devices; ++from)
      for (int32_t to = 0; to < devices; ++to)
        problem.links.push_back(
            {0, from == to ? 0.0 : double(from < accelerators) + (to < accelerators)});
  }

  Generator &random;
  int32_t accelerators, cpus;
  double slower, transfers;
};

/// Distances in percent.
struct Distances {
  std::string name;
  std::vector<double> values;
  int64_t impossible = 0;

  double quantile(double q) const {
    return values[std::min(values.size() - 1, size_t(q * values.size()))];
  }
  void print() {
    if (values.empty())
      return;
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (double v : values)
      sum += v;
    auto above = std::upper_bound(values.begin(), values.end(), 1e-6);
    std::printf("| %s | %.1f %% | %.2f | %.2f | %.2f | %.2f | %.2f |\n", name.c_str(),
                100.0 * (above - values.begin()) / values.size(), sum / values.size(), quantile(.5),
                quantile(.9), quantile(.99), values.back());
  }
};

/// The distance of a plan's makespan from `from`; false when it is wrong.
bool record(const Problem &problem, const std::optional<Plan> &plan, double from,
            Distances &distances, int64_t instance) {
  if (!plan)
    return true;
  double makespan;
  if (auto error = checkPlan(problem, *plan, makespan)) {
    std::fprintf(stderr,
                 "weir-bench: error W0852: random graph %lld: the plan is "
                 "wrong: %s\n",
                 (long long)instance, error->c_str());
    return false;
  }
  distances.values.push_back(100 * (makespan / from - 1));
  return true;
}

} // namespace

int runRandomPlacements(int64_t count, uint64_t seed, int64_t steps) {
  Generator random(seed);
  Distances found{"search", {}}, greedy{"greedy", {}},
      single{"the better device alone, where it can", {}};
  int64_t impossible = 0;
  for (int64_t i = 0; i < count; ++i) {
    Problem problem = smallGraph(random);
    double best = Exhaustive(problem).solve();
    Options options;
    options.steps = steps;
    options.seed = seed;
    std::optional<Plan> plan = search(problem, options);
    if (plan.has_value() != (best < never)) {
      std::fprintf(stderr, "weir-bench: error W0852: random graph %lld: %s\n", (long long)i,
                   plan ? "a plan where there is none" : "no plan where there is one");
      return 1;
    }
    impossible += !plan;
    if (!record(problem, plan, best, found, i) ||
        !record(problem, placeGreedily(problem), best, greedy, i) ||
        !record(problem, placeOnOneDevice(problem), best, single, i))
      return 1;
  }
  std::printf("| placer | the best there is | mean %% above | median | 90 of "
              "100 | 99 of 100 | worst |\n|---|---|---|---|---|---|---|\n");
  found.print();
  greedy.print();
  single.print();
  std::printf("\n%lld graphs of up to 9 groups on 2 devices, seed %llu, %lld "
              "steps each; %lld cannot be placed\n",
              (long long)count, (unsigned long long)seed, (long long)steps, (long long)impossible);
  return 0;
}

int runNetworkPlacements(int64_t count, uint64_t seed, int64_t steps) {
  Generator random(seed);
  Distances greedy{"greedy", {}}, single{"one device, where it can", {}},
      brief{"search with a tenth of the steps", {}};
  int64_t impossible = 0, nodes = 0;
  for (int64_t i = 0; i < count; ++i) {
    Problem problem = Network(random).problem;
    nodes += int64_t(problem.nodes.size());
    Options options;
    options.steps = steps;
    options.seed = seed;
    std::optional<Plan> plan = search(problem, options);
    double makespan;
    if (!plan) {
      ++impossible;
      continue;
    }
    if (auto error = checkPlan(problem, *plan, makespan)) {
      std::fprintf(stderr,
                   "weir-bench: error W0852: random network %lld: the plan is "
                   "wrong: %s\n",
                   (long long)i, error->c_str());
      return 1;
    }
    options.steps /= 10;
    if (!record(problem, search(problem, options), makespan, brief, i) ||
        !record(problem, placeGreedily(problem), makespan, greedy, i) ||
        !record(problem, placeOnOneDevice(problem), makespan, single, i))
      return 1;
  }
  std::printf("| placer | no worse than search | mean %% above | median | 90 of "
              "100 | 99 of 100 | worst |\n|---|---|---|---|---|---|---|\n");
  brief.print();
  greedy.print();
  single.print();
  std::printf("\n%lld networks, %lld nodes, seed %llu, %lld steps each; %lld "
              "cannot be placed\n",
              (long long)count, (long long)nodes, (unsigned long long)seed, (long long)steps,
              (long long)impossible);
  return 0;
}
