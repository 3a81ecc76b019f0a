//===- Graph.cpp - a placement problem, made ready to search --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace weir::placement;

namespace {

/// Kahn's algorithm; of several ready nodes the one that became ready last, so
/// that branches stay together. Fewer nodes than there are: a circle.
std::vector<int32_t> sortTopologically(const Problem &problem) {
  int32_t count = int32_t(problem.nodes.size());
  std::vector<std::vector<int32_t>> users(count);
  std::vector<int32_t> waiting(count, 0), ready, order;
  for (const Edge &edge : problem.edges) {
    users[edge.source].push_back(edge.dest);
    ++waiting[edge.dest];
  }
  for (int32_t i = count; i-- > 0;)
    if (!waiting[i])
      ready.push_back(i);
  while (!ready.empty()) {
    int32_t node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (auto user = users[node].rbegin(); user != users[node].rend(); ++user)
      if (!--waiting[*user])
        ready.push_back(*user);
  }
  return order;
}

double bounded(double value) { return std::isfinite(value) ? value : forbidden; }

/// Devices are alike when they run everything equally fast, hold equally much,
/// and reach all others alike.
bool alike(const Graph &graph, int32_t a, int32_t b) {
  int32_t devices = graph.devices;
  if (graph.limits[a] != graph.limits[b])
    return false;
  for (int32_t node = 0; node < graph.nodes; ++node)
    if (graph.time(node, a) != graph.time(node, b))
      return false;
  auto same = [&](int32_t from, int32_t to, int32_t from2, int32_t to2) {
    const Link &x = graph.links[size_t(from) * devices + to];
    const Link &y = graph.links[size_t(from2) * devices + to2];
    return x.latency == y.latency && x.timePerSize == y.timePerSize;
  };
  if (!same(a, b, b, a))
    return false;
  for (int32_t other = 0; other < devices; ++other)
    if (other != a && other != b && (!same(a, other, b, other) || !same(other, a, other, b)))
      return false;
  return true;
}

} // namespace

std::optional<std::string> weir::placement::findDefect(const Problem &problem) {
  size_t devices = problem.memoryLimits.size(), nodes = problem.nodes.size();
  auto number = [](double value) { return value >= 0; }; // not NaN either
  if (!devices)
    return "there is no device";
  if (devices > 4096 || nodes > size_t(1) << 24)
    return "more than 4096 devices or 16 million nodes";
  if (problem.links.size() != devices * devices)
    return "links are no square of the devices";
  for (const Link &link : problem.links)
    if (!number(link.latency) || !number(link.timePerSize))
      return "a link's latency or time is no number from 0 on";
  for (double limit : problem.memoryLimits)
    if (!number(limit))
      return "a memory limit is no number from 0 on";
  for (size_t i = 0; i < nodes; ++i) {
    const Node &node = problem.nodes[i];
    std::string name = "node " + std::to_string(i);
    if (node.times.size() != devices)
      return name + " has not one time a device";
    for (double time : node.times)
      if (!number(time))
        return name + " has a time that is no number from 0 on";
    if (!number(node.memory) || !std::isfinite(node.memory))
      return name + " has a memory that is no number from 0 on";
  }
  for (const Edge &edge : problem.edges) {
    if (edge.source < 0 || size_t(edge.source) >= nodes || edge.dest < 0 ||
        size_t(edge.dest) >= nodes)
      return "an edge begins or ends at no node";
    if (!number(edge.size) || !std::isfinite(edge.size))
      return "an edge has a size that is no number from 0 on";
  }
  if (sortTopologically(problem).size() != nodes)
    return "edges form a circle";
  return std::nullopt;
}

Graph::Graph(const Problem &problem)
    : nodes(int32_t(problem.nodes.size())), devices(problem.devices()), links(problem.links),
      limits(problem.memoryLimits), topological(sortTopologically(problem)) {
  std::vector<int32_t> sources, dests;
  std::vector<Neighbour> fromSource, fromDest;
  for (const Edge &edge : problem.edges) {
    sources.push_back(edge.source);
    fromSource.push_back({edge.dest, edge.size});
    dests.push_back(edge.dest);
    fromDest.push_back({edge.source, edge.size});
  }
  successors.assign(nodes, sources, fromSource);
  predecessors.assign(nodes, dests, fromDest);
  for (int32_t from = 0; from < devices; ++from)
    for (int32_t to = 0; to < devices; ++to) {
      Link &link = links[size_t(from) * devices + to];
      if (from == to)
        link = {};
      if (link.latency == never || link.timePerSize == never)
        link = {forbidden, 0};
    }
  for (const Node &node : problem.nodes)
    for (double time : node.times)
      times.push_back(bounded(time));

  // Groups are numbered in topological order of their first node.
  std::map<int32_t, int32_t> numbers;
  group.assign(nodes, -1);
  groups = 0;
  std::vector<int32_t> groupOfItem;
  for (int32_t node : topological) {
    int32_t asked = problem.nodes[node].group;
    if (asked < 0) {
      group[node] = groups++;
    } else {
      auto [it, isNew] = numbers.try_emplace(asked, groups);
      groups += isNew;
      group[node] = it->second;
    }
    groupOfItem.push_back(group[node]);
  }
  members.assign(groups, groupOfItem, topological);
  groupMemory.assign(groups, 0);
  groupTimes.assign(size_t(groups) * devices, 0);
  for (int32_t node = 0; node < nodes; ++node) {
    groupMemory[group[node]] += problem.nodes[node].memory;
    for (int32_t d = 0; d < devices; ++d) {
      double &sum = groupTimes[size_t(group[node]) * devices + d];
      sum = time(node, d) >= forbidden ? forbidden : sum + time(node, d);
    }
  }
  std::vector<int32_t> rows, values;
  for (int32_t g = 0; g < groups; ++g)
    for (int32_t d = 0; d < devices; ++d)
      if (possible(g, d) && groupMemory[g] <= limits[d]) {
        rows.push_back(g);
        values.push_back(d);
      }
  choices.assign(groups, rows, values);
  std::map<std::pair<int32_t, int32_t>, double> joined;
  for (const Edge &edge : problem.edges) {
    int32_t a = group[edge.source], b = group[edge.dest];
    if (a != b) {
      joined[{a, b}] += edge.size;
      joined[{b, a}] += edge.size;
    }
  }
  rows.clear();
  std::vector<Neighbour> neighbours;
  for (auto &[pair, size] : joined) {
    rows.push_back(pair.first);
    neighbours.push_back({pair.second, size});
  }
  groupNeighbours.assign(groups, rows, neighbours);

  bestTime.assign(nodes, forbidden);
  tail.assign(nodes, 0);
  double longest = 0, work = 0;
  for (auto it = topological.rbegin(); it != topological.rend(); ++it) {
    for (int32_t d = 0; d < devices; ++d)
      bestTime[*it] = std::min(bestTime[*it], time(*it, d));
    for (const Neighbour &next : successors[*it])
      tail[*it] = std::max(tail[*it], tail[next.node] + bestTime[next.node]);
    longest = std::max(longest, tail[*it] + bestTime[*it]);
    work += bestTime[*it];
  }
  bound = std::max(longest, work / devices);

  deviceClass.assign(devices, -1);
  for (int32_t d = 0; d < devices; ++d) {
    for (int32_t other = 0; other < d && deviceClass[d] < 0; ++other)
      if (deviceClass[other] == other && alike(*this, d, other))
        deviceClass[d] = other;
    if (deviceClass[d] < 0)
      deviceClass[d] = d;
  }
}

double weir::placement::lowerBound(const Problem &problem) { return Graph(problem).bound; }
