//===- Passes.td - gradients of functions -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_GRADIENT_PASSES_TD
#define WEIR_PASSES_GRADIENT_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirDifferentiatePass : Pass<"weir-differentiate", "::mlir::ModuleOp"> {
  let summary = "adds the gradients of functions that ask for them";
  let description = [{
    What: for each function with the attribute `weir.gradient = "name"`, adds a
    function of that name. It takes the arguments and a gradient for each result
    of floats, and returns the gradients of the arguments of floats (zeros where
    no path leads). Reverse accumulation, a rule an operation.
    Why here: on the graph, right behind the import, where operations still say
    what they are; everything behind it sees one graph, forward and backward.
    Before: functions still say which gradients they ask for.
    After: the attribute is gone. An operation without a rule is an error that
    names its node.
    What breaks if it moves: behind any rewrite: rules are written for the operations that importers make; a composite
    that is expanded has the gradient of its pieces, which costs more and rounds otherwise.
  }];
}

#endif // WEIR_PASSES_GRADIENT_PASSES_TD
