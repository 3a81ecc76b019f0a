//===- Neighbourhood.h - a placement that is changed step by step -*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// One placement and one order of all nodes, which is kept sorted by start. A
// change is simulated from the first node on that it touches, given up as soon
// as it cannot end within a limit, and undone when it is refused.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLACEMENT_NEIGHBOURHOOD_H
#define WEIR_PASSES_PLACEMENT_NEIGHBOURHOOD_H

#include "passes/placement/Graph.h"

namespace weir::placement {

class Neighbourhood {
public:
  explicit Neighbourhood(const Graph &graph);

  /// Begins at a plan that is possible.
  void reset(const Plan &plan);

  double makespan() const { return span; }
  /// Nodes simulated so far.
  int64_t steps() const { return spent; }
  Plan plan() const { return {device, order, span}; }

  /// What a change moves: groups to devices.
  struct Move {
    int32_t group, device;
  };

  /// Makes all moves if they fit the memory and the makespan stays within
  /// `limit`; false: nothing has changed.
  bool tryMoves(std::span<const Move> moves, double limit);
  /// The same for a node's place in the order. `to` is clamped to where its
  /// inputs and users let it be.
  bool tryPlace(int32_t node, int32_t to, double limit);

  const Graph &graph;
  std::vector<int32_t> device; ///< of a node
  std::vector<int32_t> deviceOfGroup;
  std::vector<int32_t> order, place; ///< inverse of each other
  /// Kept both, since rounding may not bring one back from the other.
  std::vector<double> start, end;
  std::vector<double> held;       ///< memory on a device
  std::vector<int32_t> residents; ///< groups on a device

private:
  bool simulateFrom(int32_t first, double limit);
  void restore(int32_t first, int32_t last);
  void sortFrom(int32_t first);

  static constexpr int32_t stride = 32;
  /// When devices are free before every stride-th place in the order.
  std::vector<double> checkpoints;
  /// Of what a simulation has overwritten.
  std::vector<double> oldStart, oldEnd, oldCheckpoints;
  std::vector<double> free;
  double span = 0;
  int64_t spent = 0;
  int32_t reached = 0; ///< by the last simulation, exclusive
};

} // namespace weir::placement

#endif // WEIR_PASSES_PLACEMENT_NEIGHBOURHOOD_H
