//===- Passes.td - training of models -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_TRAINING_PASSES_TD
#define WEIR_PASSES_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def WeirTrainPass : Pass<"weir-train", "::mlir::ModuleOp"> {
  let summary = "makes entries that train of one that infers";
  let description = [{
    What: for the entry with the attribute `weir.train`, makes `train_step`
    (forward in training form, loss, gradients, optimizer, assignments),
    `evaluate` (loss and results) and `predict` (results). Weights that get a
    gradient become variables of the session, all others constants.
    Why here: first of all: weights, dropout and batch normalisation are as the
    importer marked them, and what is made is simplified with the rest.
    After: no mark of training is left.
    What breaks if it moves: behind canonicalisation, composites that train in another form than they
    infer are gone.
  }];
}

#endif // WEIR_PASSES_TRAINING_PASSES_TD
