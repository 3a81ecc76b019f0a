//===- Graph.h - a placement problem, made ready to search ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLACEMENT_GRAPH_H
#define WEIR_PASSES_PLACEMENT_GRAPH_H

#include "passes/placement/Placement.h"

namespace weir::placement {

/// Stands for "cannot" in sums, where an infinity would make NaN.
inline constexpr double forbidden = 1e30;

/// A node's neighbour over an edge.
struct Neighbour {
  int32_t node;
  double size;
};

/// Rows of different lengths in one array.
template <typename T> class Rows {
public:
  void assign(int32_t rows, std::span<const int32_t> rowOf, std::span<const T> values) {
    begins.assign(rows + 1, 0);
    for (int32_t row : rowOf)
      ++begins[row + 1];
    for (int32_t i = 0; i < rows; ++i)
      begins[i + 1] += begins[i];
    std::vector<int32_t> next(begins.begin(), begins.end() - 1);
    items.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      items[next[rowOf[i]]++] = values[i];
  }
  std::span<const T> operator[](int32_t row) const {
    return {items.data() + begins[row], items.data() + begins[row + 1]};
  }

private:
  std::vector<int32_t> begins;
  std::vector<T> items;
};

/// The problem by arrays: neighbours, groups, transfer costs, and what all
/// placements have in common.
class Graph {
public:
  explicit Graph(const Problem &problem);

  int32_t nodes, groups, devices;
  Rows<Neighbour> predecessors, successors;
  std::vector<double> times; ///< [node * devices + device]; `forbidden`: no
  std::vector<Link> links;   ///< [from * devices + to]; zero on the diagonal
  std::vector<double> limits;

  std::vector<int32_t> group; ///< of a node
  Rows<int32_t> members;      ///< nodes of a group, in topological order
  std::vector<double> groupMemory;
  std::vector<double> groupTimes; ///< [group * devices + device]
  /// Devices that a group may run on at all.
  Rows<int32_t> choices;
  /// Groups joined by an edge, with the sum of sizes.
  Rows<Neighbour> groupNeighbours;

  std::vector<int32_t> topological; ///< of two that could come next, the first
  std::vector<double> bestTime;     ///< of a node on any device
  std::vector<double> tail;         ///< longest path behind a node, at best times
  double bound;                     ///< no plan is faster

  /// Devices that nothing tells apart have the same number.
  std::vector<int32_t> deviceClass;

  double time(int32_t node, int32_t device) const { return times[size_t(node) * devices + device]; }
  double transfer(double size, int32_t from, int32_t to) const {
    const Link &link = links[size_t(from) * devices + to];
    return link.latency + size * link.timePerSize;
  }
  bool possible(int32_t g, int32_t device) const {
    return groupTimes[size_t(g) * devices + device] < forbidden;
  }
};

/// SplitMix64: the same numbers on every host.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, end); end > 0.
  int32_t below(int32_t end) { return int32_t((next() >> 32) * uint64_t(end) >> 32); }
  /// In [0, 1).
  double unit() { return double(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

} // namespace weir::placement

#endif // WEIR_PASSES_PLACEMENT_GRAPH_H
