//===- Placement.h - devices for the nodes of a graph -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives every node of a graph a device, and every device an order, so that one
// step ends as early as can be found. Knows no IR: nodes are times and bytes,
// edges are transfers. The model of a step: a device runs one node at a time,
// in its order and without preemption; transfers overlap with work and with
// each other.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLACEMENT_PLACEMENT_H
#define WEIR_PASSES_PLACEMENT_PLACEMENT_H

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::placement {

inline constexpr double never = std::numeric_limits<double>::infinity();

/// Times are in any one unit, memory and sizes in any other.
struct Node {
  /// One a device; `never` where the node cannot run.
  std::vector<double> times;
  /// Held on its device for the whole step.
  double memory = 0;
  /// Nodes of one group share a device; negative: alone.
  int32_t group = -1;
};

/// What `dest` needs of `source`. On one device it is there at once.
struct Edge {
  int32_t source = 0, dest = 0;
  double size = 0;
};

struct Link {
  double latency = 0;     ///< of one transfer
  double timePerSize = 0; ///< `never` for both: no way between the two
};

struct Problem {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  /// One a device: the most that its nodes may hold together.
  std::vector<double> memoryLimits;
  /// links[from * devices + to]; those of a device with itself are not read.
  std::vector<Link> links;

  int32_t devices() const { return int32_t(memoryLimits.size()); }
};

struct Plan {
  std::vector<int32_t> device; ///< one a node
  /// All nodes, in an order that keeps edges; a device runs its own in it.
  std::vector<int32_t> order;
  double makespan = never;
};

struct Options {
  /// Work allowed to the search, in nodes simulated, some 100 million a second
  /// on one core. Results depend on this number and the seed, never on time.
  int64_t steps = 20'000'000;
  uint64_t seed = 1;
  /// A plan to start from, beside the ones that are made: one device a node.
  std::vector<int32_t> hint;
};

/// What makes a problem impossible to read: sizes that differ, an edge to no
/// node, a circle, a negative time. Nothing: it is well formed.
std::optional<std::string> findDefect(const Problem &problem);

/// The simulated run of the TensorFlow white paper (Abadi et al. 2015, section
/// 3.2.1): nodes in the order in which a run would come to them, each on the
/// device where it would end first. Colocation groups go where their first node
/// goes. Nothing when no placement within the memory limits was found.
///
/// This and the functions below are pure, callable from any number of threads,
/// and expect a well-formed problem.
std::optional<Plan> placeGreedily(const Problem &problem);

/// Everything on one device; nothing where that is impossible. Of several the
/// fastest.
std::optional<Plan> placeOnOneDevice(const Problem &problem);

/// The best plan that is found within the budget; never worse than
/// `placeGreedily`, `placeOnOneDevice` and the hint. Nothing when no placement
/// within the memory limits was found.
std::optional<Plan> search(const Problem &problem, const Options &options = {});

/// No plan is faster: the longest path at every node's best time, or all work
/// spread evenly.
double lowerBound(const Problem &problem);

/// A plan for given devices: list scheduling by upward rank, improved by
/// shifting. Devices must be possible.
Plan scheduleFor(const Problem &problem, std::span<const int32_t> device);

/// When nodes start while every device keeps its order.
struct Timeline {
  std::vector<double> earliest; ///< as soon as inputs and the device are there
  std::vector<double> latest;   ///< so that the step still ends at `makespan`
  double makespan = 0;
};

/// The simulated run of nodes on given devices in a given order, forwards (as
/// soon as possible) and from its end backwards (as late as possible).
Timeline timelineOf(const Problem &problem, std::span<const int32_t> device,
                    std::span<const int32_t> order);

/// Judges a plan by the definition, with code that shares nothing with the
/// search. Returns what is wrong with it, or nothing and the makespan.
std::optional<std::string> checkPlan(const Problem &problem, const Plan &plan, double &makespan);

} // namespace weir::placement

#endif // WEIR_PASSES_PLACEMENT_PLACEMENT_H
