//===- StepTimes.h - when a step uses its buffers ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_STEPTIMES_H
#define WEIR_PASSES_PLAN_STEPTIMES_H

#include "dialects/plan/Plan.h"

namespace weir::plan {

/// The memref that a chain of views looks at.
mlir::Value rootOf(mlir::Value buffer);

/// Whether the operation of a step may write the buffer that this operand of it
/// names; a view is no operation of that kind.
bool isWritten(mlir::OpOperand &operand);

/// Bytes of one element in a buffer.
int64_t elementSize(mlir::Type type);
/// Bytes that a buffer of fixed size takes in an arena, padded to `alignment`;
/// one without elements has a place of its own, too.
int64_t arenaBytes(mlir::MemRefType type);

/// Buffers begin on cache lines, which are also the widest vectors.
constexpr int64_t arenaAlignment = 64;

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
