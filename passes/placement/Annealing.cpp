//===- Annealing.cpp - local search over groups, clusters and orders ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/placement/Annealing.h"

#include "passes/placement/Schedule.h"

#include <algorithm>
#include <cmath>

using namespace weir::placement;

namespace {

class Annealer {
public:
  Annealer(Neighbourhood &state, Random &random)
      : state(state), graph(state.graph), random(random), mark(graph.groups, 0) {}

  /// One random change; true when it was made.
  bool step(double limit) {
    if (graph.devices == 1 || random.below(8) < 2)
      return moveInOrder(limit);
    int32_t seed = chooseGroup();
    if (graph.choices[seed].size() < 2)
      return false;
    switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
      return moveCluster(seed, 1, limit);
    case 3:
      return moveCluster(seed, 2 + random.below(6), limit);
    case 4:
      return moveCluster(seed, 4 << random.below(7), limit);
    case 5:
      return moveStretch(seed, limit);
    case 6:
      return swapGroups(seed, limit);
    default:
      return moveCut(seed, limit);
    }
  }

  void refreshCriticalPath() {
    critical.clear();
    int32_t node = 0;
    for (int32_t i = 0; i < graph.nodes; ++i)
      if (state.end[i] > state.end[node])
        node = i;
    std::vector<int32_t> last(graph.devices, -1), before(graph.nodes, -1);
    for (int32_t i : state.order) {
      before[i] = last[state.device[i]];
      last[state.device[i]] = i;
    }
    while (node >= 0) {
      critical.push_back(node);
      double begin = state.start[node];
      int32_t next = -1;
      if (before[node] >= 0 && state.end[before[node]] >= begin)
        next = before[node];
      // Of several reasons any one; data rather than the device.
      for (const Neighbour &input : graph.predecessors[node])
        if (state.end[input.node] +
                graph.transfer(input.size, state.device[input.node], state.device[node]) >=
            begin)
          next = input.node;
      node = begin > 0 ? next : -1;
    }
  }

private:
  int32_t chooseNode() {
    if (!critical.empty() && random.below(2))
      return critical[random.below(int32_t(critical.size()))];
    return random.below(graph.nodes);
  }
  int32_t chooseGroup() { return graph.group[chooseNode()]; }

  /// Where one of the neighbours is, or anywhere. -1: nowhere else.
  int32_t chooseDevice(int32_t g) {
    int32_t from = state.deviceOfGroup[g];
    auto neighbours = graph.groupNeighbours[g];
    if (!neighbours.empty() && random.below(4)) {
      int32_t other = neighbours[random.below(int32_t(neighbours.size()))].node;
      int32_t to = state.deviceOfGroup[other];
      if (to != from && graph.possible(g, to))
        return to;
    }
    auto choices = graph.choices[g];
    int32_t to = choices[random.below(int32_t(choices.size()))];
    // Of empty devices that nothing tells apart, one is enough.
    if (!state.residents[to])
      for (int32_t d : choices)
        if (d != from && !state.residents[d] && graph.deviceClass[d] == graph.deviceClass[to]) {
          to = d;
          break;
        }
    return to == from ? -1 : to;
  }

  void add(int32_t g, int32_t to) {
    mark[g] = stamp;
    moves.push_back({g, to});
  }

  /// A connected part of what lies on one device, to another.
  bool moveCluster(int32_t seed, int32_t size, double limit) {
    int32_t to = chooseDevice(seed), from = state.deviceOfGroup[seed];
    if (to < 0)
      return false;
    ++stamp;
    moves.clear();
    add(seed, to);
    bool wide = random.below(2); // breadth first or along a random branch
    for (size_t i = 0; i < moves.size() && int32_t(moves.size()) < size; ++i) {
      size_t at = wide ? i : random.below(int32_t(moves.size()));
      for (const Neighbour &next : graph.groupNeighbours[moves[at].group])
        if (mark[next.node] != stamp && state.deviceOfGroup[next.node] == from &&
            int32_t(moves.size()) < size && graph.possible(next.node, to)) {
          add(next.node, to);
          if (!wide)
            break;
        }
    }
    return state.tryMoves(moves, limit);
  }

  /// What stands on one device in a stretch of time, to another.
  bool moveStretch(int32_t seed, double limit) {
    int32_t to = chooseDevice(seed), from = state.deviceOfGroup[seed];
    if (to < 0)
      return false;
    ++stamp;
    moves.clear();
    auto members = graph.members[seed];
    int32_t at = state.place[members[random.below(int32_t(members.size()))]];
    int32_t length = 2 << random.below(9), step = random.below(2) ? 1 : -1;
    for (int32_t i = at; i >= 0 && i < graph.nodes && length > 0; i += step) {
      int32_t g = graph.group[state.order[i]];
      if (state.deviceOfGroup[g] != from)
        continue;
      --length;
      if (mark[g] != stamp && graph.possible(g, to))
        add(g, to);
    }
    return state.tryMoves(moves, limit);
  }

  /// Two groups exchange their devices; for where memory is full.
  bool swapGroups(int32_t a, double limit) {
    int32_t b = chooseGroup();
    int32_t x = state.deviceOfGroup[a], y = state.deviceOfGroup[b];
    if (x == y || !graph.possible(a, y) || !graph.possible(b, x))
      return false;
    moves.assign({{a, y}, {b, x}});
    return state.tryMoves(moves, limit);
  }

  /// A transfer away: one end of a cut edge, with some of what hangs on it,
  /// comes to the other; what does not fit there makes room.
  bool moveCut(int32_t seed, double limit) {
    auto neighbours = graph.groupNeighbours[seed];
    if (neighbours.empty())
      return false;
    const Neighbour *large = nullptr;
    int32_t from = state.deviceOfGroup[seed];
    for (const Neighbour &other : neighbours)
      if (state.deviceOfGroup[other.node] != from &&
          (!large || other.size * random.unit() > large->size * random.unit()))
        large = &other;
    if (!large)
      return false;
    int32_t to = state.deviceOfGroup[large->node];
    if (!graph.possible(seed, to))
      return false;
    ++stamp;
    moves.clear();
    add(seed, to);
    int32_t size = 1 << random.below(5);
    for (size_t i = 0; i < moves.size() && int32_t(moves.size()) < size; ++i)
      for (const Neighbour &next : graph.groupNeighbours[moves[i].group])
        if (mark[next.node] != stamp && state.deviceOfGroup[next.node] == from &&
            int32_t(moves.size()) < size && graph.possible(next.node, to))
          add(next.node, to);
    double room = graph.limits[to] - state.held[to];
    for (Neighbourhood::Move move : moves)
      room -= graph.groupMemory[move.group];
    // Others go to where these came from, or to one neighbour of theirs.
    for (int32_t tries = 0; room < 0 && tries < 64; ++tries) {
      int32_t g = graph.group[random.below(graph.nodes)];
      if (state.deviceOfGroup[g] != to || mark[g] == stamp)
        continue;
      int32_t away = random.below(2) ? from : chooseDevice(g);
      if (away < 0 || away == to || !graph.possible(g, away))
        continue;
      add(g, away);
      room += graph.groupMemory[g];
    }
    return room >= 0 && state.tryMoves(moves, limit);
  }

  bool moveInOrder(double limit) {
    int32_t node = chooseNode(), at = state.place[node];
    int32_t reach = 1 + random.below(1 << (1 + random.below(9)));
    int32_t to = random.below(2) ? at - reach : at + reach;
    return state.tryPlace(node, std::clamp(to, 0, graph.nodes - 1), limit);
  }

  Neighbourhood &state;
  const Graph &graph;
  Random &random;
  std::vector<Neighbourhood::Move> moves;
  std::vector<int32_t> mark; ///< == stamp: moved already
  int32_t stamp = 0;
  std::vector<int32_t> critical;
};

} // namespace

Plan weir::placement::anneal(Neighbourhood &state, const Plan &plan, Random &random, int64_t steps,
                             double hot, double cold) {
  const Graph &graph = state.graph;
  state.reset(plan);
  Annealer annealer(state, random);
  Plan best = plan;
  int64_t begin = state.steps(), tries = 0;
  // Tries that simulate nothing are not free either.
  int64_t extra = 0;
  double temperature = hot * plan.makespan;
  for (;;) {
    int64_t spent = state.steps() - begin + extra;
    if (spent >= steps)
      break;
    if (tries++ % 64 == 0) {
      temperature = plan.makespan * hot * std::pow(cold / hot, double(spent) / double(steps));
      annealer.refreshCriticalPath();
      extra += graph.nodes;
    }
    double limit = state.makespan() - temperature * std::log(1 - random.unit());
    extra += 4;
    if (annealer.step(limit) && state.makespan() < best.makespan * (1 - 1e-12))
      best = state.plan();
  }
  return best;
}
