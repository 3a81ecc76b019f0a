//===- Greedy.cpp - each node where it would end first --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Starts.h"

#include <algorithm>
#include <numeric>
#include <queue>

using namespace weir::placement;

std::vector<int32_t> weir::placement::placeEarliest(const Graph &graph, Visit visit,
                                                    Random *random) {
  // Longest path to the end, at mean times over devices.
  std::vector<double> rank(graph.nodes), key(graph.nodes);
  double meanRate = 0;
  for (const Link &link : graph.links)
    meanRate += link.latency < forbidden ? link.timePerSize : 0;
  meanRate /= double(graph.links.size());
  for (auto it = graph.topological.rbegin(); it != graph.topological.rend(); ++it) {
    double behind = 0;
    for (const Neighbour &next : graph.successors[*it])
      behind = std::max(behind, rank[next.node] + next.size * meanRate);
    rank[*it] = behind + graph.bestTime[*it] * (random ? 0.5 + random->unit() : 1);
  }
  using Entry = std::pair<double, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<int32_t> waiting(graph.nodes), place(graph.nodes);
  for (int32_t i = 0; i < graph.nodes; ++i)
    place[graph.topological[i]] = i;
  std::vector<double> end(graph.nodes, 0), free(graph.devices, 0), held(graph.devices, 0);
  auto push = [&](int32_t node) {
    double first = 0;
    if (visit == Visit::AsRun)
      for (const Neighbour &input : graph.predecessors[node])
        first = std::max(first, end[input.node]);
    ready.push({visit == Visit::AsRun    ? first
                : visit == Visit::ByRank ? -rank[node]
                                         : place[node],
                place[node]});
  };
  for (int32_t node = 0; node < graph.nodes; ++node)
    if (!(waiting[node] = int32_t(graph.predecessors[node].size())))
      push(node);
  std::vector<int32_t> deviceOfGroup(graph.groups, -1), device(graph.nodes);
  while (!ready.empty()) {
    int32_t node = graph.topological[ready.top().second];
    ready.pop();
    int32_t g = graph.group[node];
    double best = never;
    auto consider = [&](int32_t d) {
      double start = free[d];
      for (const Neighbour &input : graph.predecessors[node])
        start =
            std::max(start, end[input.node] + graph.transfer(input.size, device[input.node], d));
      if (start + graph.time(node, d) < best) {
        best = start + graph.time(node, d);
        device[node] = d;
      }
    };
    if (deviceOfGroup[g] >= 0) {
      consider(deviceOfGroup[g]);
    } else {
      for (int32_t d : graph.choices[g])
        if (held[d] + graph.groupMemory[g] <= graph.limits[d])
          consider(d);
      if (best == never)
        return {};
      deviceOfGroup[g] = device[node];
      held[device[node]] += graph.groupMemory[g];
    }
    end[node] = free[device[node]] = best;
    for (const Neighbour &next : graph.successors[node])
      if (!--waiting[next.node])
        push(next.node);
  }
  return deviceOfGroup;
}

std::vector<int32_t> weir::placement::placeByMemory(const Graph &graph, Random *random) {
  std::vector<int32_t> order(graph.groups), device(graph.groups);
  std::iota(order.begin(), order.end(), 0);
  // What has fewer choices first, then what is larger.
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    size_t x = graph.choices[a].size(), y = graph.choices[b].size();
    return x != y ? x < y : graph.groupMemory[a] > graph.groupMemory[b];
  });
  std::vector<double> room = graph.limits;
  for (int32_t g : order) {
    int32_t best = -1, fitting = 0;
    for (int32_t d : graph.choices[g]) {
      if (room[d] < graph.groupMemory[g])
        continue;
      ++fitting;
      if (best < 0 || (random ? !random->below(fitting) : room[d] > room[best]))
        best = d;
    }
    if (best < 0)
      return {};
    device[g] = best;
    room[best] -= graph.groupMemory[g];
  }
  return device;
}
