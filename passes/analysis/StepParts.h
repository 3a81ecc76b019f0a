//===- StepParts.h - parts of a batch that a step computes ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replicas and micro-batches are both copies of a training step, of which each works on some of
// the batch's rows.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_STEPPARTS_H
#define WEIR_PASSES_ANALYSIS_STEPPARTS_H

#include "dialects/weir/Weir.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weir {

/// `loc` with `prefix` in front of the names of its nodes.
mlir::Location prefixed(mlir::Location loc, llvm::StringRef prefix);

/// What the rows of a feed are called: its name, or "feed" with its number.
std::string feedName(mlir::BlockArgument feed);

/// The feeds of `step` whose rows are divided: those of its attribute `weir.sharded_feeds`, else
/// all that have a dimension. Failure, which is said (W0417): a name is no such feed's.
mlir::FailureOr<llvm::SmallVector<mlir::BlockArgument>> dividedFeeds(mlir::func::FuncOp step);

/// A feed of known size gets as many rows as `count` parts have together.
void multiplyRows(mlir::func::FuncOp step, llvm::ArrayRef<mlir::BlockArgument> feeds,
                  int64_t count);

/// A part of the rows.
struct RowPart {
  int64_t at, count;    ///< the `at`-th of `count` equal ones
  llvm::StringRef what; ///< "replicas", for the error of a run whose rows cannot be divided
};

/// The rows of `feed` (already multiplied) that belong to a part, made at `b`. `made` is called for
/// each new operation.
mlir::Value rowsOf(mlir::OpBuilder &b, mlir::Location loc, mlir::BlockArgument feed,
                   const RowPart &part, llvm::function_ref<void(mlir::Operation *)> made);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_STEPPARTS_H
