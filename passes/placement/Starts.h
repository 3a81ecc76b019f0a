//===- Starts.h - placements that a search begins with ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLACEMENT_STARTS_H
#define WEIR_PASSES_PLACEMENT_STARTS_H

#include "passes/placement/Graph.h"

namespace weir::placement {

/// In which order a greedy placement looks at nodes.
enum class Visit {
  AsRun,      ///< when their inputs are there: the white paper's simulation
  ByRank,     ///< longest path to the end first: HEFT (Topcuoglu et al. 2002)
  Topological ///< branches one after the other
};

/// Each node where it would end first, groups as their first node. `random`
/// (or null) disturbs ranks. A device per group; empty when memory ran out.
std::vector<int32_t> placeEarliest(const Graph &graph, Visit visit, Random *random);

/// Groups in the given order, cut into one contiguous segment a device, so that
/// work and transfers at the cuts together take least: dynamic programming over
/// (devices of each class that are used, cut, class). Empty when nothing fits.
std::vector<int32_t> placeContiguously(const Graph &graph, std::span<const int32_t> groups);

/// Any placement within the limits: largest groups first, each where most room
/// is left, or, with `random`, anywhere where it fits. Empty when that fails.
std::vector<int32_t> placeByMemory(const Graph &graph, Random *random);

} // namespace weir::placement

#endif // WEIR_PASSES_PLACEMENT_STARTS_H
