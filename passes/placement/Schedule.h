//===- Schedule.h - orders for given devices --------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLACEMENT_SCHEDULE_H
#define WEIR_PASSES_PLACEMENT_SCHEDULE_H

#include "passes/placement/Graph.h"

namespace weir::placement {

/// When every node ends if devices run them in this order; the makespan.
double simulate(const Graph &graph, std::span<const int32_t> device, std::span<const int32_t> order,
                std::vector<double> &end);

/// Longest path from the beginning of a node to the end, transfers between the
/// given devices included.
std::vector<double> upwardRanks(const Graph &graph, std::span<const int32_t> device);

/// List scheduling: a device that is free takes, of the nodes whose inputs have
/// arrived, the one of highest rank.
std::vector<int32_t> listSchedule(const Graph &graph, std::span<const int32_t> device,
                                  std::span<const double> rank);

/// How long before the end of the step each node has to start, when devices keep
/// this order and everything runs as late as it can.
std::vector<double> startsBeforeEnd(const Graph &graph, std::span<const int32_t> device,
                                    std::span<const int32_t> order);

/// Moves every node as late, then as early as it can go, nodes that end last
/// first; the order that results is never slower (Li and Willis, "An iterative
/// scheduling technique for resource-constrained project scheduling", 1992).
/// Returns the makespan.
double shift(const Graph &graph, std::span<const int32_t> device, std::vector<int32_t> &order);

/// The better of list schedules, shifted until it gains no more.
Plan schedule(const Graph &graph, std::vector<int32_t> device);

} // namespace weir::placement

#endif // WEIR_PASSES_PLACEMENT_SCHEDULE_H
