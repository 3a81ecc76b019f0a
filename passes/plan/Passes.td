//===- Passes.td - order, buffers, offsets -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_PASSES_TD
#define WEIR_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirBufferizePass : Pass<"weir-bufferize", "::mlir::ModuleOp"> {
  let summary = "gives every tensor of a step a buffer";
  let description = [{
    What: turns each entry function on tensors into a step on memrefs: feeds,
    constants and variables are read in place, every launch gets result buffers
    (`buffer` where the size is fixed, `alloc` where it is not), sizes become
    index arithmetic, few host integers become scalars, weir.if and weir.while
    become scf with explicit copies of what they carry.
    Why here: after kernelize and the order of launches, which decide how long
    values live; before offsets, which need to know all buffers.
    Before: launches and step operations on tensors. After: no tensor is left
    outside of kernels; every value of a launch lies in one buffer that nothing
    else writes while it is read.
  }];
  let dependentDialects = ["::weir::plan::WeirPlanDialect"];
}

def WeirFreeDynamicPass : Pass<"weir-free-dynamic", "::mlir::ModuleOp"> {
  let summary = "ends the life of dynamic buffers after their last use";
  let description = [{
    What: inserts a `free` after the last use of every buffer that an alloc, a
    library call or a structured operation made in the same block.
    Why here: after bufferize, which only makes buffers. Independent of offsets.
  }];
}

def WeirPlanMemoryPass : Pass<"weir-plan-memory", "::mlir::ModuleOp"> {
  let summary = "places buffers of fixed size in the device's arena";
  let description = [{
    What: derives lifetimes of `buffer` operations from the step's order (a
    buffer used inside of a loop that it lies outside of lives through the whole
    loop), asks the offset planner, writes the offsets, the arena's size and its
    lower bound, and has them checked by code that shares nothing with the
    planner.
    Why here: last before code, when no pass will move work any more.
    After: every `buffer` has an offset; the module has `weir_plan.arenas`.
  }];
}

#endif // WEIR_PASSES_PLAN_PASSES_TD
