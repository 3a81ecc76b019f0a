//===- StepTimes.h - when a step uses its buffers ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_STEPTIMES_H
#define WEIR_PASSES_PLAN_STEPTIMES_H

#include "dialects/plan/Buffers.h"

namespace weir::plan {

/// Linear time of a step: operations in program order, a structured one spans
/// its regions.
class StepTimes {
public:
  using Interval = std::pair<int64_t, int64_t>;

  explicit StepTimes(mlir::func::FuncOp function);

  /// When `op` begins and ends.
  Interval of(mlir::Operation *op) const { return times.lookup(op); }
  /// The same for its use of a buffer that was made in region `home`: from inside
  /// of a loop a buffer is used in every iteration, so the outermost loop in
  /// between counts.
  Interval ofUse(mlir::Operation *op, mlir::Region *home) const;
  /// From the begin of the first use of a `buffer` to the end of the last one,
  /// half open. One without uses lives while it is made.
  Interval lifetime(mlir::Value buffer) const;

private:
  void number(mlir::Region &region);

  llvm::DenseMap<mlir::Operation *, Interval> times;
  int64_t now = 0;
};

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_STEPTIMES_H
