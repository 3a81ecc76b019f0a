//===- Recompute.h - values computed again instead of kept ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings the bytes that are alive under a limit by running work again: a value
// that waits across a full moment is dropped behind its last use before, and
// computed anew in front of the next. Knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_RECOMPUTE_H
#define WEIR_PASSES_MEMORY_RECOMPUTE_H

#include "passes/memory/Order.h"

namespace weir::memory {

/// One execution of a node.
struct Execution {
  int node = 0;
  /// For each value that the node reads, the execution that made what it gets,
  /// as a position in the list.
  std::vector<int> sources;
};

struct RecomputeOptions {
  int64_t limit = 0; ///< bytes that may be alive at once
  /// Work allowed, in executions looked at, some hundred million a second.
  /// Results depend on this number, never on time.
  int64_t steps = 300'000'000;
};

struct Recomputation {
  std::vector<Execution> executions; ///< in order; the first of a node is its own
  /// For each value, the execution whose result is there in the end; -1: none.
  std::vector<int> finals;
  int64_t givenPeak = 0; ///< most bytes alive at once, every node run once
  int64_t peak = 0;      ///< the same with what runs again; the limit is kept if it is no more
  int repeated = 0;      ///< executions that are not the first of their node
  double cost = 0;       ///< of those
};

/// Starts from the nodes in the order of their numbers. `costs`: what another
/// execution of each node takes, in any unit; below 0: it must not run again.
/// Of all ways to drop a value that are seen, the one with the most bytes above
/// the limit saved, over all moments, for its cost is taken, until nothing is
/// above or nothing helps; then repetitions that proved needless are undone.
/// What is needed for computing again is taken where it is alive, computed again
/// itself, or kept longer. Pure. The idea is Chen and others', "Training Deep
/// Nets with Sublinear Memory Cost", 2016, with the choices of Kumar and others,
/// "Efficient Rematerialization for Deep Networks", NeurIPS 2019, left to a
/// greedy search.
Recomputation recomputeValues(std::span<const OrderNode> nodes,
                              std::span<const OrderValue> values,
                              std::span<const double> costs,
                              const RecomputeOptions &options);

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_RECOMPUTE_H
