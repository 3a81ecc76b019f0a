//===- StepEstimate.h - what a placed training step costs -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_STEPESTIMATE_H
#define WEIR_PASSES_PARTITION_STEPESTIMATE_H

#include "passes/partition/CostModel.h"

namespace weir {

/// Writes `weir_plan.estimate` = {seconds, bytes = by device} of the entry `train_step` alone, run
/// in the plan's order: the simulated step, and at most how many bytes of variables and of results,
/// own and received, a device holds at once.
void noteEstimate(mlir::ModuleOp module, const CostModel &model, const placement::Plan &plan);

} // namespace weir

#endif // WEIR_PASSES_PARTITION_STEPESTIMATE_H
