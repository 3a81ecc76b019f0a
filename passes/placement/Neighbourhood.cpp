//===- Neighbourhood.cpp - a placement that is changed step by step -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Neighbourhood.h"

#include <algorithm>

using namespace weir::placement;

Neighbourhood::Neighbourhood(const Graph &graph) : graph(graph) {
  place.resize(graph.nodes);
  start.resize(graph.nodes);
  end.resize(graph.nodes);
  oldStart.resize(graph.nodes);
  oldEnd.resize(graph.nodes);
  free.resize(graph.devices);
  checkpoints.resize(size_t(graph.nodes / stride + 1) * graph.devices);
  oldCheckpoints.resize(checkpoints.size());
}

void Neighbourhood::reset(const Plan &plan) {
  device = plan.device;
  order = plan.order;
  deviceOfGroup.assign(graph.groups, 0);
  held.assign(graph.devices, 0);
  residents.assign(graph.devices, 0);
  for (int32_t node = 0; node < graph.nodes; ++node)
    deviceOfGroup[graph.group[node]] = device[node];
  for (int32_t g = 0; g < graph.groups; ++g) {
    held[deviceOfGroup[g]] += graph.groupMemory[g];
    ++residents[deviceOfGroup[g]];
  }
  for (int32_t i = 0; i < graph.nodes; ++i)
    place[order[i]] = i;
  std::fill(checkpoints.begin(), checkpoints.end(), 0);
  simulateFrom(0, never);
  sortFrom(0);
  simulateFrom(0, never);
}

/// Leaves `end`, `checkpoints` and `span` as they are from `first` on under the
/// new devices and order; false when that is not within the limit.
bool Neighbourhood::simulateFrom(int32_t first, double limit) {
  first = first / stride * stride;
  double makespan = 0;
  const int32_t devices = graph.devices;
  if (graph.nodes == 0) {
    span = 0;
    return true;
  }
  std::copy_n(&checkpoints[size_t(first / stride) * devices], devices, free.begin());
  // All nodes before end before something behind does, or here.
  for (double time : free)
    makespan = std::max(makespan, time);
  for (int32_t i = first; i < graph.nodes; ++i) {
    if (i % stride == 0 && i > first) {
      double *saved = &checkpoints[size_t(i / stride) * devices];
      std::copy_n(saved, devices, &oldCheckpoints[saved - &checkpoints[0]]);
      std::copy_n(free.begin(), devices, saved);
    }
    int32_t node = order[i], d = device[node];
    double begin = free[d];
    for (const Neighbour &input : graph.predecessors[node])
      begin = std::max(begin, end[input.node] + graph.transfer(input.size, device[input.node], d));
    double done = begin + graph.time(node, d);
    oldStart[i] = start[node];
    oldEnd[i] = end[node];
    start[node] = begin;
    end[node] = free[d] = done;
    makespan = std::max(makespan, done);
    if (done + graph.tail[node] > limit) {
      reached = i + 1;
      spent += reached - first;
      return false;
    }
  }
  reached = graph.nodes;
  spent += reached - first;
  span = makespan;
  return true;
}

/// Undoes a simulation of places [first, last): `order` is as it was then.
void Neighbourhood::restore(int32_t first, int32_t last) {
  first = first / stride * stride;
  for (int32_t i = first; i < last; ++i) {
    if (i % stride == 0 && i > first) {
      double *saved = &checkpoints[size_t(i / stride) * graph.devices];
      std::copy_n(&oldCheckpoints[saved - &checkpoints[0]], graph.devices, saved);
    }
    start[order[i]] = oldStart[i];
    end[order[i]] = oldEnd[i];
  }
}

/// Brings nodes into the order of their starts, which changes nothing else.
void Neighbourhood::sortFrom(int32_t first) {
  first = std::max(first / stride * stride, 1);
  int32_t lowest = graph.nodes;
  for (int32_t i = first; i < graph.nodes; ++i) {
    int32_t node = order[i], j = i;
    double begin = start[node];
    for (; j > 0 && start[order[j - 1]] > begin; --j) {
      order[j] = order[j - 1];
      place[order[j]] = j;
    }
    order[j] = node;
    place[node] = j;
    if (j < i)
      lowest = std::min(lowest, j);
  }
  // Checkpoints behind the first change.
  const int32_t devices = graph.devices;
  int32_t block = lowest / stride;
  if (lowest == graph.nodes)
    return;
  std::copy_n(&checkpoints[size_t(block) * devices], devices, free.begin());
  for (int32_t i = block * stride; i < graph.nodes; ++i) {
    if (i % stride == 0)
      std::copy_n(free.begin(), devices, &checkpoints[size_t(i / stride) * devices]);
    free[device[order[i]]] = end[order[i]];
  }
}

bool Neighbourhood::tryMoves(std::span<const Move> moves, double limit) {
  if (moves.empty())
    return false;
  int32_t first = graph.nodes;
  double before = span;
  bool fits = true;
  // Devices are exchanged with the moves, so that the same loop undoes them.
  std::vector<Move> back(moves.begin(), moves.end());
  for (Move &move : back) {
    int32_t g = move.group, to = move.device, from = deviceOfGroup[g];
    move.device = from;
    for (int32_t node : graph.members[g]) {
      device[node] = to;
      first = std::min(first, place[node]);
    }
    deviceOfGroup[g] = to;
    held[from] -= graph.groupMemory[g];
    held[to] += graph.groupMemory[g];
    --residents[from];
    ++residents[to];
  }
  for (Move move : moves)
    fits &= held[move.device] <= graph.limits[move.device];
  if (fits && simulateFrom(first, limit)) {
    sortFrom(first);
    return true;
  }
  for (auto move = back.rbegin(); move != back.rend(); ++move) {
    int32_t g = move->group, to = move->device, from = deviceOfGroup[g];
    for (int32_t node : graph.members[g])
      device[node] = to;
    deviceOfGroup[g] = to;
    held[from] -= graph.groupMemory[g];
    held[to] += graph.groupMemory[g];
    --residents[from];
    ++residents[to];
  }
  if (fits)
    restore(first, reached);
  span = before;
  return false;
}

bool Neighbourhood::tryPlace(int32_t node, int32_t to, double limit) {
  int32_t from = place[node];
  if (to < from)
    for (const Neighbour &input : graph.predecessors[node])
      to = std::max(to, place[input.node] + 1);
  else
    for (const Neighbour &next : graph.successors[node])
      to = std::min(to, place[next.node] - 1);
  if (to == from)
    return false;
  auto rotate = [&](int32_t from, int32_t to) {
    int32_t step = from < to ? 1 : -1;
    for (int32_t i = from; i != to; i += step) {
      order[i] = order[i + step];
      place[order[i]] = i;
    }
    order[to] = node;
    place[node] = to;
  };
  rotate(from, to);
  int32_t first = std::min(from, to);
  double before = span;
  if (simulateFrom(first, limit)) {
    sortFrom(first);
    return true;
  }
  restore(first, reached);
  rotate(to, from);
  span = before;
  return false;
}
