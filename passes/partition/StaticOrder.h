//===- StaticOrder.h - operations in the order of the plan ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_STATICORDER_H
#define WEIR_PASSES_PARTITION_STATICORDER_H

#include "passes/partition/CostModel.h"

namespace weir {

/// When an operation runs in the simulated step, in seconds from its beginning:
/// of one with regions, all that is inside.
struct SimulatedTimes {
  double earliest = 0; ///< starts, at the earliest
  double latest = 0;   ///< starts, so that the step does not end later
  double duration = 0;
  double stored = 0; ///< bytes of its results; of regions none
  double earliestEnd() const { return earliest + duration; }
  double latestEnd() const { return latest + duration; }
};

/// Brings the operations of every block into the plan's order, where that makes
/// the simulated step shorter than the order that is there: all devices'
/// programs will be projections of this one. What data and effects ask for is
/// kept. `plan` becomes what then is, and is never slower for it.
void orderByPlan(mlir::ModuleOp module, const CostModel &model, placement::Plan &plan);

/// Writes simulated times onto the model's operations, for the partition.
void writeTimes(const CostModel &model, const placement::Plan &plan);

/// The times that were written, of a control operation those of what is inside;
/// nothing: none are known.
std::optional<SimulatedTimes> timesOf(mlir::Operation *op);

/// Takes them off again.
void removeTimes(mlir::ModuleOp module);

} // namespace weir

#endif // WEIR_PASSES_PARTITION_STATICORDER_H
