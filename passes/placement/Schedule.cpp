//===- Schedule.cpp - orders for given devices ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Schedule.h"

#include <algorithm>
#include <queue>

using namespace weir::placement;

double weir::placement::simulate(const Graph &graph, std::span<const int32_t> device,
                                 std::span<const int32_t> order, std::vector<double> &end) {
  std::vector<double> free(graph.devices, 0);
  end.resize(graph.nodes);
  double makespan = 0;
  for (int32_t node : order) {
    int32_t d = device[node];
    double start = free[d];
    for (const Neighbour &input : graph.predecessors[node])
      start = std::max(start, end[input.node] + graph.transfer(input.size, device[input.node], d));
    end[node] = free[d] = start + graph.time(node, d);
    makespan = std::max(makespan, end[node]);
  }
  return makespan;
}

std::vector<double> weir::placement::upwardRanks(const Graph &graph,
                                                 std::span<const int32_t> device) {
  std::vector<double> rank(graph.nodes);
  for (auto it = graph.topological.rbegin(); it != graph.topological.rend(); ++it) {
    double behind = 0;
    for (const Neighbour &next : graph.successors[*it])
      behind = std::max(behind, rank[next.node] +
                                    graph.transfer(next.size, device[*it], device[next.node]));
    rank[*it] = graph.time(*it, device[*it]) + behind;
  }
  return rank;
}

std::vector<int32_t> weir::placement::listSchedule(const Graph &graph,
                                                   std::span<const int32_t> device,
                                                   std::span<const double> rank) {
  using Entry = std::pair<double, int32_t>;
  // By rank, then in topological order: the queue gives its largest.
  std::vector<int32_t> place(graph.nodes);
  for (int32_t i = 0; i < graph.nodes; ++i)
    place[graph.topological[i]] = i;
  struct Queues {
    std::priority_queue<Entry> ready; ///< rank, -place
    /// time of arrival, place: the earliest first
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> coming;
    double free = 0;
    double nextStart() const {
      return !ready.empty() ? free : !coming.empty() ? std::max(free, coming.top().first) : never;
    }
  };
  std::vector<Queues> queues(graph.devices);
  std::vector<int32_t> waiting(graph.nodes);
  std::vector<double> arrival(graph.nodes, 0);
  for (int32_t node = 0; node < graph.nodes; ++node) {
    waiting[node] = int32_t(graph.predecessors[node].size());
    if (!waiting[node])
      queues[device[node]].coming.push({0, place[node]});
  }
  std::vector<int32_t> order;
  order.reserve(graph.nodes);
  // Always the device that can start something first: what is started later
  // cannot make anything ready before.
  while (int32_t(order.size()) < graph.nodes) {
    auto queue =
        std::min_element(queues.begin(), queues.end(), [](const Queues &a, const Queues &b) {
          return a.nextStart() < b.nextStart();
        });
    double start = queue->nextStart();
    while (!queue->coming.empty() && queue->coming.top().first <= start) {
      int32_t p = queue->coming.top().second;
      queue->ready.push({rank[graph.topological[p]], -p});
      queue->coming.pop();
    }
    int32_t node = graph.topological[-queue->ready.top().second];
    queue->ready.pop();
    order.push_back(node);
    double end = queue->free = start + graph.time(node, device[node]);
    for (const Neighbour &next : graph.successors[node]) {
      arrival[next.node] = std::max(
          arrival[next.node], end + graph.transfer(next.size, device[node], device[next.node]));
      if (!--waiting[next.node])
        queues[device[next.node]].coming.push({arrival[next.node], place[next.node]});
    }
  }
  return order;
}

std::vector<double> weir::placement::startsBeforeEnd(const Graph &graph,
                                                     std::span<const int32_t> device,
                                                     std::span<const int32_t> order) {
  std::vector<double> behind(graph.nodes), free(graph.devices, 0);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    int32_t d = device[*it];
    double after = free[d];
    for (const Neighbour &next : graph.successors[*it])
      after = std::max(after, behind[next.node] + graph.transfer(next.size, d, device[next.node]));
    behind[*it] = free[d] = after + graph.time(*it, d);
  }
  return behind;
}

double weir::placement::shift(const Graph &graph, std::span<const int32_t> device,
                              std::vector<int32_t> &order) {
  std::vector<double> end;
  double makespan = simulate(graph, device, order, end);
  for (;;) {
    // From the end, what ends last first.
    std::vector<int32_t> byEnd(order);
    std::reverse(byEnd.begin(), byEnd.end());
    std::stable_sort(byEnd.begin(), byEnd.end(),
                     [&](int32_t a, int32_t b) { return end[a] > end[b]; });
    std::vector<int32_t> forward(byEnd.rbegin(), byEnd.rend());
    std::vector<double> behind = startsBeforeEnd(graph, device, forward);
    std::stable_sort(forward.begin(), forward.end(),
                     [&](int32_t a, int32_t b) { return behind[a] > behind[b]; });
    double now = simulate(graph, device, forward, end);
    if (now >= makespan * (1 - 1e-12))
      return makespan;
    makespan = now;
    order = std::move(forward);
  }
}

Plan weir::placement::schedule(const Graph &graph, std::vector<int32_t> device) {
  Plan best;
  auto consider = [&](std::vector<int32_t> order) {
    double makespan = shift(graph, device, order);
    if (makespan < best.makespan) {
      best.makespan = makespan;
      best.order = std::move(order);
    }
  };
  consider(listSchedule(graph, device, upwardRanks(graph, device)));
  consider(graph.topological);
  best.device = std::move(device);
  if (best.order.empty())
    best.order = graph.topological, best.makespan = 0;
  return best;
}

Plan weir::placement::scheduleFor(const Problem &problem, std::span<const int32_t> device) {
  return schedule(Graph(problem), {device.begin(), device.end()});
}

Timeline weir::placement::timelineOf(const Problem &problem, std::span<const int32_t> device,
                                     std::span<const int32_t> order) {
  Graph graph(problem);
  Timeline timeline;
  timeline.makespan = simulate(graph, device, order, timeline.earliest);
  timeline.latest = startsBeforeEnd(graph, device, order);
  for (int32_t node = 0; node < graph.nodes; ++node) {
    timeline.earliest[node] -= graph.time(node, device[node]);
    timeline.latest[node] = timeline.makespan - timeline.latest[node];
  }
  return timeline;
}
