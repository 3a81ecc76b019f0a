//===- Passes.td - equal computations -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_REDUNDANCY_PASSES_TD
#define WEIR_REDUNDANCY_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirValueNumberingPass : Pass<"weir-value-numbering", "::mlir::ModuleOp"> {
  let summary = "computes equal values once, and invariant ones before their loop";
  let description = [{
    What: finds values that are equal whatever is fed (optimistically, so that
    loops do not hide it), uses the first of them, moves what does not change in
    a loop, or is computed on both ways of a conditional, in front of it. Writes
    what it removed, by operation and node, into `weir.redundancy`.
    Why here: once types are known, before patterns count uses, and again behind
    whatever repeats itself (expansions, layouts). Before: any module. After: no
    two pure operations on a device with a common scope compute the same value.
    It moves nothing across effects, and merges reads of a variable only where no
    write lies between. Later, on buffers, it would know nothing of values.
    What breaks if it moves: behind the cut equal values on one device are equal still, but those that cross would have
    been sent twice.
  }];
  let options = [
    Option<"hoist", "hoist", "bool", "true",
           "also move invariants out of loops and conditionals">
  ];
  let dependentDialects = ["::weir::WeirDialect"];
}

#endif // WEIR_REDUNDANCY_PASSES_TD
