//===- LaunchWork.h - how much a launch computes -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many parts of a kernel's range are worth a thread follows from the work of a
// part. Where sizes are open, the work is a sum of products of sizes, which the step
// multiplies out when it makes the launch.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_LAUNCHWORK_H
#define WEIR_PASSES_PLAN_LAUNCHWORK_H

#include "dialects/plan/Plan.h"
#include "mlir/IR/SymbolTable.h"

namespace weir::plan {

/// Of a run whose kernel has open sizes: its operations, an array of `[factor, number…]`,
/// each the factor times the open sizes of these numbers, to be added up. Sizes are
/// numbered as kernels get them: in the order of buffers and dimensions.
inline constexpr const char *workAttribute = "work";

/// Operations that are worth a thread: some 20 microseconds at a modest 4 of them a
/// nanosecond.
inline constexpr int64_t workOfThread = 80000;

/// Operations of one of a kernel's: `factor` times these open sizes of tensors.
struct WorkTerm {
  int64_t factor = 1;
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> sizes;
};

/// What `kernel` computes, in operations; to move an element is one, too. Of a chain: what
/// moving the elements of its result is; its stages have kernels of their own.
llvm::SmallVector<WorkTerm> workOf(KernelOp kernel);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_LAUNCHWORK_H
