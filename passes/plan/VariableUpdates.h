//===- VariableUpdates.h - new values over old ones -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an optimizer makes of a weight replaces it: one launch reads the old value, element by
// element, and nothing else needs it behind that. The launch writes over the variable's own
// memory then, unless the run finds that somebody else has the old value, and gives it a copy.
// Other runs' updates of the variable wait meanwhile, so that none is lost; so they do for what is
// not written over.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_VARIABLEUPDATES_H
#define WEIR_PASSES_PLAN_VARIABLEUPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/plan/InPlace.h"

namespace weir::plan {

/// Of a weir_plan.variable_read: memory that the next launch may write over
/// (weir_rt_variable_take). Of the weir_plan.variable_assign behind that launch, of the same
/// memory: nothing is copied (weir_rt_variable_put).
constexpr char takenAttribute[] = "weir_plan.taken";

/// Of a weir_plan.variable_read whose value the variable_assign behind it is made of, and of that:
/// no other run updates the variable between the two (weir_rt_variable_update).
constexpr char heldAttribute[] = "weir_plan.held";

/// Of a function of the host, behind updateVariables: has others wait where one kernel, or the
/// host, makes a variable's new value of the old one, and that one is not written over.
void holdVariables(mlir::func::FuncOp function);

/// `op`, or the first of the reads of updates that it lies in: where the step may wait for
/// something else.
mlir::Operation *beforeUpdates(mlir::Operation *op);

/// Of a function of the host, before buffers are merged. Adds the runs that write over an
/// input, and which that is, to `inPlace`. Returns how many copies are gone.
int64_t updateVariables(mlir::func::FuncOp function, mlir::SymbolTable &symbols,
                        InPlaceRuns &inPlace);

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_VARIABLEUPDATES_H
