//===- Recompute.h - values computed again instead of kept ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings the bytes that are alive under a limit: a value that waits across a full
// moment is dropped behind its last use before, and in front of the next one
// computed anew, or copied back from other memory where it was saved. Knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_MEMORY_RECOMPUTE_H
#define WEIR_PASSES_MEMORY_RECOMPUTE_H

#include "passes/memory/Order.h"

namespace weir::memory {

/// One execution of a node, or a value copied back.
struct Execution {
  int node = 0; ///< -1: a copy
  /// For each value that the node reads, the execution that made what it gets,
  /// as a position in the list; for a copy the one that made what was saved.
  std::vector<int> sources;
  int value = -1; ///< that a copy brings back
};

/// What copying values to other memory and back takes, in the unit of the nodes'
/// costs.
struct Transfers {
  std::vector<double> out, in; ///< for each value; below 0: it cannot be copied
  /// What each node takes when it runs: how long before its next use a value is
  /// begun to be copied back.
  std::vector<double> work;
};

struct RecomputeOptions {
  int64_t limit = 0; ///< bytes that may be alive at once
  /// Work allowed, in executions looked at, some hundred million a second.
  /// Results depend on this number, never on time.
  int64_t steps = 300'000'000;
  const Transfers *transfers = nullptr; ///< null: there is no other memory
};

struct Recomputation {
  std::vector<Execution> executions; ///< in order; the first of a node is its own
  /// For each value, the execution whose result is there in the end; -1: none.
  std::vector<int> finals;
  int64_t givenPeak = 0;  ///< most bytes alive at once, every node run once
  int64_t peak = 0;       ///< the same with what runs again; the limit is kept if it is no more
  int repeated = 0;       ///< executions of nodes that are not their first
  double cost = 0;        ///< of those
  int saved = 0;          ///< values copied to other memory, each once
  int returned = 0;       ///< copies back
  int64_t movedBytes = 0; ///< of all copies
  double moveCost = 0;    ///< of all copies
};

/// Starts from the nodes in the order of their numbers. `costs`: what another
/// execution of each node takes, in any unit; below 0: it must not run again.
/// Of all ways to drop a value that are seen, the one with the most bytes above
/// the limit saved, over all moments, for its cost is taken, until nothing is
/// above or nothing helps; then repetitions that proved needless are undone. A
/// value that is copied back several times is saved once. Copies back are begun as
/// early as hides them behind work, where the limit leaves room; what they cost is
/// counted as if nothing hid it.
/// What is needed for computing again is taken where it is alive, computed again
/// itself, or kept longer; what reads a value that a node writes over is not computed
/// again behind that node, which runs once. Pure. The idea is Chen and others', "Training Deep
/// Nets with Sublinear Memory Cost", 2016, with the choices of Kumar and others,
/// "Efficient Rematerialization for Deep Networks", NeurIPS 2019, left to a
/// greedy search.
Recomputation recomputeValues(std::span<const OrderNode> nodes, std::span<const OrderValue> values,
                              std::span<const double> costs, const RecomputeOptions &options);

} // namespace weir::memory

#endif // WEIR_PASSES_MEMORY_RECOMPUTE_H
