//===- RowReduction.h - reductions along lines and what surrounds them --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_ROWREDUCTION_H
#define WEIR_PASSES_ANALYSIS_ROWREDUCTION_H

#include "dialects/plan/Plan.h"
#include "llvm/ADT/SetVector.h"

namespace weir {

/// Reductions of the last dimension, and elementwise operations before, between and
/// behind them, that one kernel computes a line at a time: a softmax, a normalisation.
/// On offload devices, which split reductions (SplitReductions.cpp), lines may also lie
/// across: short ones along another dimension, in a kernel of one element for each.
struct RowReductionForm {
  /// Has an element for each of the line's, or one for all. Its result is the kernel's first.
  mlir::Operation *root = nullptr;
  /// All operations of the kernel but constants, the root among them.
  llvm::SetVector<mlir::Operation *> operations;
  /// What operations behind the root read, too: one element a line each.
  llvm::SmallVector<mlir::Value> others;
};

/// The lines that end in `root`, as large as they get; none where no reduction (no two
/// of them, where the root has one element a line) is among them, lines are of fewer
/// than 4 elements or of more than 8,192 (across: 2 and 32) or, on offload devices, of open
/// length, or elements are no f32.
/// `isFree`: whether an operation may become part of a kernel with others, which is
/// asked of each but the root. `visited` takes in what was looked at: no lines end there.
/// `withHalves`: elementwise operations on f16 and bf16 count as if they were of f32.
std::optional<RowReductionForm>
matchRowReduction(mlir::Operation *root, llvm::function_ref<bool(mlir::Operation *)> isFree,
                  llvm::DenseSet<mlir::Operation *> &visited, bool withHalves = false);

/// Whether the kernel's body is one of lines: the first result may have an element for
/// each of the line's, further ones have one for all.
bool hasRowReduction(plan::KernelOp kernel, bool isOnHost = false);

/// What is reduced in such a kernel, whose shape is that of all its lines.
mlir::RankedTensorType lineType(plan::KernelOp kernel);
/// The dimension along which they lie.
int64_t lineAxis(plan::KernelOp kernel);
/// Whether that is not the last one.
bool liesAcross(plan::KernelOp kernel);

/// What passes keep of a line lies on the stack up to this length. Of open lines that turn
/// out to be longer nothing is kept.
inline constexpr int64_t longestKeptLine = 8192;

/// Which values of a row reduction each pass along a line makes. A pass ends in a
/// reduction; a last one in the result, where that has the line's elements.
struct LinePass {
  mlir::Value end;
  /// Values that it keeps for later passes, which would take longer to make again.
  llvm::SmallVector<mlir::Value> kept;
};
llvm::SmallVector<LinePass> linePasses(plan::KernelOp kernel);

/// Behind a product of halves on an offload device, f32 is twice the memory of
/// what a library leaves: lines read that, and make it wide themselves.
bool widensForRowReductions(mlir::Operation *op);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_ROWREDUCTION_H
