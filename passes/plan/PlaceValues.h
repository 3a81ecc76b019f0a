//===- PlaceValues.h - values of variables where they stay -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variable's value never changes: who assigns makes another. What a launch computes
// for that on a device that keeps values of its own is written where it stays, and the
// assignment copies nothing.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_PLACEVALUES_H
#define WEIR_PASSES_PLAN_PLACEVALUES_H

#include "dialects/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"

namespace weir::plan {

/// Of a weir_plan.alloc: the session slot (i64) whose next value it is, if the step comes
/// to the assignment. The host, which does not know the attribute, allocates and copies.
constexpr char slotAttribute[] = "weir_plan.slot";

/// The launch that alone writes a buffer, in the buffer's block and before all who read
/// it; null: there is no such one.
RunOp writerOf(BufferOp buffer);

/// Gives buffers that one launch writes and an assignment behind it takes, in steps of
/// devices that keep variables, memory of their own. Returns how many copies are gone.
int64_t placeValues(mlir::ModuleOp module);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_PLACEVALUES_H
