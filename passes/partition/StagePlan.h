//===- StagePlan.h - a training step in stages ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_STAGEPLAN_H
#define WEIR_PASSES_PARTITION_STAGEPLAN_H

#include "passes/partition/CostModel.h"

#include <string>
#include <vector>

namespace weir {

/// What an operation of a training step is computed for.
enum class StepPhase {
  Once,    ///< for the whole step: weights, sums over micro-batches, the optimizer
  Forward, ///< for each micro-batch; the loss depends on it
  Backward ///< for each micro-batch; else
};

/// The operations of a step's block, by what they are computed for. Neither constants nor
/// variables' handles are among them.
class StepPhases {
public:
  /// `feeds`: those whose rows micro-batches divide.
  StepPhases(mlir::Block &body, llvm::ArrayRef<mlir::BlockArgument> feeds);

  StepPhase of(mlir::Operation *op) const { return phases.lookup(op); }
  bool isEach(mlir::Operation *op) const { return of(op) != StepPhase::Once; }
  /// The block's operations that `op`, and what is inside of it, reads.
  static llvm::SmallVector<mlir::Operation *> makersFor(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Operation *, StepPhase> phases;
};

/// One of the two passes of a micro-batch through a stage.
struct StageTurn {
  int64_t stage, micro;
  bool isForward;
  double start = 0, end = 0; ///< simulated
};

/// A stage, by the cost model; seconds and bytes.
struct StageCost {
  double forward = 0, backward = 0; ///< of a micro-batch
  double memory = 0;                ///< of weights, sums, and the micro-batches that it keeps
  double sends = 0;                 ///< that go on to later stages, of a micro-batch
  std::string first, last;          ///< nodes of the forward pass
};

/// How a step is cut into stages, and in which order they work.
struct StagePlan {
  llvm::DenseMap<mlir::Operation *, int64_t> stageOf; ///< of the block's operations
  std::vector<StageCost> stages;
  std::vector<StageTurn> turns; ///< by start
  double seconds = 0;           ///< of all passes, simulated
  double bubble = 0;            ///< the share of that in which a stage waits, in the mean

  /// "F0 F1 B0 F2 …" of a stage.
  std::string orderOf(int64_t stage) const;
};

/// Cuts the forward pass of `step` into `stages` pieces of its order, so that the longest of them,
/// with its backward pass and what it receives, is as short as can be, and none holds more than
/// its device has. Stage s is on device s of the cost model. What belongs to one node, or to one
/// variable, is in one stage. Nothing where that is impossible; `why` says what was found, and what
/// would be possible.
std::optional<StagePlan> cutIntoStages(mlir::func::FuncOp step, const StepPhases &phases,
                                       int64_t stages, int64_t microBatches, std::string &why);

/// One forward, one backward (Narayanan and others, "PipeDream", 2019; without its stale weights):
/// stage s begins with as many forward passes as there are stages behind it, and then does a
/// backward pass for each further forward one, so that it keeps at most `stages - s` micro-batches.
/// `transfer`: seconds from stage s to s + 1, and back.
void simulateTurns(StagePlan &plan, int64_t microBatches, llvm::ArrayRef<double> transfer);

} // namespace weir

#endif // WEIR_PASSES_PARTITION_STAGEPLAN_H
