//===- Contiguous.cpp - one segment of the graph a device -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Starts.h"

#include <algorithm>

using namespace weir::placement;

namespace {

/// Cuts and states beyond which the table would take longer than the search.
constexpr int32_t mostCuts = 200, mostStates = 512;

/// What crosses each cut of the groups' order: the largest size there is, each
/// way. Cut i lies before the i-th group.
struct Cuts {
  std::vector<double> forward, backward;

  Cuts(const Graph &graph, std::span<const int32_t> groups)
      : forward(groups.size() + 1, 0), backward(groups.size() + 1, 0) {
    std::vector<int32_t> place(graph.groups);
    for (size_t i = 0; i < groups.size(); ++i)
      place[groups[i]] = int32_t(i);
    for (int32_t node = 0; node < graph.nodes; ++node)
      for (const Neighbour &next : graph.successors[node]) {
        int32_t from = place[graph.group[node]], to = place[graph.group[next.node]];
        for (int32_t cut = from + 1; cut <= to; ++cut)
          forward[cut] = std::max(forward[cut], next.size);
        for (int32_t cut = to + 1; cut <= from; ++cut)
          backward[cut] = std::max(backward[cut], next.size);
      }
  }

  /// Where segments may end: all cuts, or the cheapest and some in every part.
  std::vector<int32_t> choose() const {
    int32_t count = int32_t(forward.size()) - 1;
    std::vector<int32_t> chosen;
    auto cost = [&](int32_t cut) { return forward[cut] + backward[cut]; };
    int32_t windows = mostCuts / 4;
    std::vector<char> in(count + 1, count <= mostCuts);
    in[0] = in[count] = 1;
    if (count > mostCuts) {
      std::vector<int32_t> byCost;
      for (int32_t cut = 1; cut < count; ++cut)
        byCost.push_back(cut);
      std::stable_sort(byCost.begin(), byCost.end(),
                       [&](int32_t a, int32_t b) { return cost(a) < cost(b); });
      byCost.resize(mostCuts - windows);
      for (int32_t cut : byCost)
        in[cut] = 1;
      for (int32_t w = 0; w < windows; ++w) {
        int32_t begin = 1 + int64_t(count - 1) * w / windows,
                end = 1 + int64_t(count - 1) * (w + 1) / windows, best = begin;
        for (int32_t cut = begin; cut < end; ++cut)
          if (cost(cut) < cost(best))
            best = cut;
        in[best] = 1;
      }
    }
    for (int32_t cut = 0; cut <= count; ++cut)
      if (in[cut])
        chosen.push_back(cut);
    return chosen;
  }
};

/// Devices by class, no more of each than keep the table small.
std::vector<std::vector<int32_t>> classesOf(const Graph &graph) {
  std::vector<std::vector<int32_t>> classes;
  std::vector<int32_t> numbers(graph.devices, -1);
  for (int32_t d = 0; d < graph.devices; ++d) {
    int32_t &number = numbers[graph.deviceClass[d]];
    if (number < 0) {
      number = int32_t(classes.size());
      classes.emplace_back();
    }
    classes[number].push_back(d);
  }
  if (classes.size() > 6)
    classes.resize(6);
  for (;;) {
    int64_t states = 1;
    for (auto &c : classes)
      states *= int64_t(c.size()) + 1;
    if (states <= mostStates)
      return classes;
    std::max_element(classes.begin(), classes.end(), [](auto &a, auto &b) {
      return a.size() < b.size();
    })->pop_back();
  }
}

/// Sums up to each cut.
struct Sums {
  std::vector<double> work;        ///< by cut and class
  std::vector<int32_t> impossible; ///< groups that no device of a class can do, as `work`
  std::vector<double> memory;

  Sums(const Graph &graph, std::span<const int32_t> groups,
       const std::vector<std::vector<int32_t>> &classes, const std::vector<int32_t> &ends)
      : work(ends.size() * classes.size(), 0), impossible(ends.size() * classes.size(), 0),
        memory(ends.size(), 0) {
    size_t kinds = classes.size();
    for (size_t i = 1; i < ends.size(); ++i) {
      memory[i] = memory[i - 1];
      for (size_t k = 0; k < kinds; ++k) {
        work[i * kinds + k] = work[(i - 1) * kinds + k];
        impossible[i * kinds + k] = impossible[(i - 1) * kinds + k];
      }
      for (int32_t p = ends[i - 1]; p < ends[i]; ++p) {
        memory[i] += graph.groupMemory[groups[p]];
        for (size_t k = 0; k < kinds; ++k)
          if (graph.possible(groups[p], classes[k][0]))
            work[i * kinds + k] +=
                graph.groupTimes[size_t(groups[p]) * graph.devices + classes[k][0]];
          else
            ++impossible[i * kinds + k];
      }
    }
  }
};

} // namespace

std::vector<int32_t> weir::placement::placeContiguously(const Graph &graph,
                                                        std::span<const int32_t> groups) {
  std::vector<std::vector<int32_t>> classes = classesOf(graph);
  int32_t kinds = int32_t(classes.size()), states = 1;
  std::vector<int32_t> stride; // of a class in the number of a state
  for (auto &c : classes) {
    stride.push_back(states);
    states *= int32_t(c.size()) + 1;
  }
  Cuts cuts(graph, groups);
  std::vector<int32_t> ends = cuts.choose();
  int32_t count = int32_t(ends.size());

  const Sums sums(graph, groups, classes, ends);
  // Transfers between two devices of these classes, which may be one class.
  auto cross = [&](int32_t cut, int32_t from, int32_t to) -> double {
    int32_t a = classes[from][0], b = classes[to][0];
    if (from == to) {
      if (classes[from].size() < 2)
        return 0; // never used twice
      b = classes[from][1];
    }
    double cost = 0;
    if (double size = cuts.forward[ends[cut]])
      cost += graph.transfer(size, a, b);
    if (double size = cuts.backward[ends[cut]])
      cost += graph.transfer(size, b, a);
    return cost;
  };
  struct Cell {
    double cost = never;
    int32_t begin = 0, before = -1; ///< first cut and the class before
  };
  auto index = [&](int32_t state, int32_t cut, int32_t kind) {
    return (size_t(state) * count + cut) * kinds + kind;
  };
  std::vector<Cell> table(size_t(states) * count * kinds);
  auto used = [&](int32_t state, int32_t kind) {
    return state / stride[kind] % (int32_t(classes[kind].size()) + 1);
  };
  // A state's predecessors have smaller numbers.
  auto extend = [&](int32_t state, int32_t begin, int32_t before, double cost) {
    for (int32_t k = 0; k < kinds; ++k) {
      if (used(state, k) == int32_t(classes[k].size()))
        continue;
      double base = cost + (before < 0 ? 0 : cross(begin, before, k));
      for (int32_t cut = begin + 1; cut < count; ++cut) {
        if (sums.memory[cut] - sums.memory[begin] > graph.limits[classes[k][0]] ||
            sums.impossible[cut * kinds + k] > sums.impossible[begin * kinds + k])
          break;
        double time = sums.work[cut * kinds + k] - sums.work[begin * kinds + k];
        Cell &cell = table[index(state + stride[k], cut, k)];
        if (base + time < cell.cost)
          cell = {base + time, begin, before};
      }
    }
  };
  extend(0, 0, -1, 0);
  for (int32_t state = 1; state < states; ++state)
    for (int32_t cut = 1; cut < count - 1; ++cut)
      for (int32_t k = 0; k < kinds; ++k)
        if (double cost = table[index(state, cut, k)].cost; cost < forbidden)
          extend(state, cut, k, cost);
  int32_t state = -1, kind = 0;
  double best = forbidden;
  for (int32_t s = 1; s < states; ++s)
    for (int32_t k = 0; k < kinds; ++k)
      if (table[index(s, count - 1, k)].cost < best) {
        best = table[index(s, count - 1, k)].cost;
        state = s;
        kind = k;
      }
  if (state < 0)
    return {};
  std::vector<int32_t> device(graph.groups, -1);
  for (int32_t cut = count - 1; kind >= 0;) {
    const Cell &cell = table[index(state, cut, kind)];
    int32_t d = classes[kind][used(state, kind) - 1];
    for (int32_t p = ends[cell.begin]; p < ends[cut]; ++p)
      device[groups[p]] = d;
    cut = cell.begin;
    state -= stride[kind];
    kind = cell.before;
  }
  return device;
}
