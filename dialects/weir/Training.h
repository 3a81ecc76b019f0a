//===- Training.h - what training needs to know of a graph ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes that importers leave for passes/training where a model is to be
// trained (ImportOptions::training), and that are gone behind it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_TRAINING_H
#define WEIR_DIALECTS_WEIR_TRAINING_H

#include "dialects/weir/Weir.h"

namespace weir {

/// On a gate around a constant, a string: the constant is the weight of that name.
/// Nothing folds through it.
inline constexpr llvm::StringLiteral weightAttr = "weir.weight";
/// Beside it: the weight is a part of the model's.
inline constexpr llvm::StringLiteral weightPartAttr = "weir.weight_part";
/// On a gate, a float: here a model in training drops so many of its elements.
inline constexpr llvm::StringLiteral dropoutAttr = "weir.dropout";
/// On a batch_norm, a float: in training its statistics keep so much of what they
/// were in each step.
inline constexpr llvm::StringLiteral momentumAttr = "weir.momentum";
/// Beside it: the variance that they move to is the unbiased one.
inline constexpr llvm::StringLiteral unbiasedAttr = "weir.unbiased";
/// On a batch_norm: mean and variance are those of its operand, and its gradient takes them so.
inline constexpr llvm::StringLiteral batchStatisticsAttr = "weir.batch_statistics";
/// On a variable: its model says that it is not trained.
inline constexpr llvm::StringLiteral notTrainedAttr = "weir.not_trained";
/// On a result: what training asked for, no result of the model.
inline constexpr llvm::StringLiteral furtherAttr = "weir.further";
/// On an entry, a dictionary: how it is trained (passes/training/TrainingSpec.h).
inline constexpr llvm::StringLiteral trainAttr = "weir.train";

/// On a train_step, a number: of how many replicas it is one (passes/training/Replicate.cpp).
inline constexpr llvm::StringLiteral replicasAttr = "weir.replicas";
/// Beside it, names: the feeds of which each replica gets a part; without, all that have a
/// dimension.
inline constexpr llvm::StringLiteral shardedAttr = "weir.sharded_feeds";
/// On a gate: here stands the sum of what all replicas have. Nothing folds through it.
inline constexpr llvm::StringLiteral replicaSumAttr = "weir.replica_sum";
/// On a gate: here stands the replica's number, from 0. Likewise.
inline constexpr llvm::StringLiteral replicaIndexAttr = "weir.replica_index";
/// On a gate, a number: here stands what the replica of that number has. Likewise.
inline constexpr llvm::StringLiteral replicaPartAttr = "weir.replica_part";
/// On a train_step, a number: into how many stages it is cut (passes/partition/FormPipeline.cpp).
inline constexpr llvm::StringLiteral stagesAttr = "weir.stages";
/// Beside it, a number: of how many micro-batches the batch of a replica is one.
inline constexpr llvm::StringLiteral microBatchesAttr = "weir.micro_batches";
/// On a gate: here stands the sum of what all micro-batches have. Nothing folds through it.
inline constexpr llvm::StringLiteral microSumAttr = "weir.micro_sum";
/// On a gate: here stands the micro-batch's number, from 0. Likewise.
inline constexpr llvm::StringLiteral microIndexAttr = "weir.micro_index";
/// On an operation, a number: of the stage that it is in.
inline constexpr llvm::StringLiteral stageAttr = "weir.stage_index";
/// Likewise, of its place among a replica's devices (passes/training/Replicate.cpp).
inline constexpr llvm::StringLiteral placeAttr = "weir.place_index";
/// On a function: its operations are in the order in which devices are to run them.
inline constexpr llvm::StringLiteral keepsOrderAttr = "weir.keeps_order";
/// On an all_reduce, or a concat of what devices have: they compute it together, each with a part
/// of its own.
inline constexpr llvm::StringLiteral collectiveAttr = "weir.collective";
/// On a variable: it holds what the variable of its name in container "" holds, on another
/// replica's device.
inline constexpr llvm::StringLiteral copyAttr = "weir.copy";
/// On a variable, a number: it holds an equal part, along that dimension, of what has its name in
/// checkpoints; other replicas have the other parts, in their order.
inline constexpr llvm::StringLiteral shardAttr = "weir.shard";
/// On a module, a device's name: where the variables are that are no copies.
inline constexpr llvm::StringLiteral stateDeviceAttr = "weir.state_device";

/// On a module: what a placed step costs is asked for (passes/partition/StepEstimate.h).
inline constexpr llvm::StringLiteral wantsEstimateAttr = "weir.wants_estimate";
/// On a module: what devices hold was looked at when the way to train was chosen.
inline constexpr llvm::StringLiteral memoryCheckedAttr = "weir.memory_checked";

/// On a module, texts NODE:AXIS: products that devices share (passes/simplify/ShardProducts.cpp).
inline constexpr llvm::StringLiteral shardedProductsAttr = "weir.sharded_products";
/// Beside it, a number: of how many groups of devices, one for each stage of each replica, each
/// shares the products.
inline constexpr llvm::StringLiteral shardGroupsAttr = "weir.shard_groups";
/// On a function, a number: of the devices of such a group.
inline constexpr llvm::StringLiteral shardCountAttr = "weir.shard_count";
/// Beside it, numbers by node: the device of the group that a part of a product is for.
inline constexpr llvm::StringLiteral shardMembersAttr = "weir.shard_members";

/// Whether replicas or micro-batches differ here, or meet.
inline bool isReplicaMark(GateOp gate) {
  return gate->hasAttr(replicaSumAttr) || gate->hasAttr(replicaIndexAttr) ||
         gate->hasAttr(replicaPartAttr) || gate->hasAttr(microSumAttr) ||
         gate->hasAttr(microIndexAttr);
}

/// Whether a gate marks something that passes/training looks for.
inline bool isTrainingMark(GateOp gate) {
  return gate->hasAttr(weightAttr) || gate->hasAttr(dropoutAttr);
}

/// A constant as the weight `name`.
inline mlir::Value markWeight(mlir::OpBuilder &b, mlir::Location loc, mlir::Value constant,
                              llvm::StringRef name) {
  auto gate = GateOp::create(b, loc, constant.getType(), constant, mlir::ValueRange());
  gate->setAttr(weightAttr, b.getStringAttr(name));
  return gate;
}

/// The constant behind a weight's mark; any other value as it is.
inline mlir::Value behindWeight(mlir::Value value) {
  auto gate = value ? value.getDefiningOp<GateOp>() : GateOp();
  return gate && gate->hasAttr(weightAttr) ? gate.getValue() : value;
}

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_TRAINING_H
