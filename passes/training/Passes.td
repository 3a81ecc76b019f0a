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
    Before: the graph is as it was imported.
    After: no mark of training is left.
    What breaks if it moves: behind canonicalisation, composites that train in another form than they
    infer are gone.
  }];
}

def WeirReplicatePass : Pass<"weir-replicate", "::mlir::ModuleOp"> {
  let summary = "makes replicas of a training step, a device each";
  let description = [{
    What: of a `train_step` with the attribute `weir.replicas` as many copies in one
    function, each asking for its device (one a stage, and a part of shared products), with variables and a part of the batch of its
    own; what is marked as a sum over replicas (gradients, loss, statistics) becomes
    all_reduces of buckets (`weir.collective`), in an order in which each replica's own
    part lies together where it uses no other, and what is marked as other replicas'
    parts becomes concats of buckets. Makes the entry `synchronize`, which gives all
    replicas the first one's variables, but for parts.
    Why here: before placement, which has to see all copies, and behind all that
    simplifies: the copies are alike, and cost no time there.
    Before: one copy of the training step.
    After: no mark of replicas is left.
    What breaks if it moves: equal values of different replicas would be computed once.
  }];
}

#endif // WEIR_PASSES_TRAINING_PASSES_TD
