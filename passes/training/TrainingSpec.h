//===- TrainingSpec.h - how a model is trained ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_TRAINING_TRAININGSPEC_H
#define WEIR_PASSES_TRAINING_TRAININGSPEC_H

#include "mlir/IR/BuiltinAttributes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

/// What --train, --optimizer and their kin ask for. docs/training.md has the
/// formulas.
struct TrainingSpec {
  std::string loss;      ///< "loss", "cross_entropy", "mse"
  std::string output;    ///< the result that the loss is, or is computed of
  std::string labels;    ///< feed; "" for "loss"
  std::string labelType; ///< of a new feed: "i64", "i32", "f32"; "": the loss's usual one
  int64_t axis = -1;     ///< of classes; negative: from the end

  std::string optimizer = "sgd"; ///< sgd, momentum, adam, adamw, adagrad, lamb
  double rate = 0.01;            ///< learning rate at the start
  bool feedsRate = false;        ///< it is the feed `learning_rate`
  double momentum = 0.9, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0, initial = 0;
  bool nesterov = false;

  std::string schedule = "constant";  ///< constant, linear, cosine, step
  int64_t steps = 0;                  ///< linear, cosine: until the end; step: between two cuts
  double factor = 0;                  ///< linear, cosine: at the end; step: of each cut
  int64_t warmup = 0;                 ///< steps in which the rate rises
  double clipNorm = 0, clipValue = 0; ///< 0: none

  std::string predict = "predict"; ///< the name of the entry that infers
  std::string trainable;           ///< regular expression over weights' names; "": all
  int64_t accumulate = 1;          ///< micro-batches a step of the optimizer
  std::string precision;           ///< of products: "" as the model has them, "bf16", "f16"
  double lossScale = 65536;        ///< for f16, at the start
  std::vector<std::string> kept;   ///< nodes that `precision` leaves alone
  int64_t seed = 0;                ///< of dropout

  int64_t replicas = 1;
  int64_t stages = 1;           ///< devices of a replica, one behind the other
  int64_t microBatches = 1;     ///< of a replica's batch, one behind the other through the stages
  bool shardsOptimizer = false; ///< each replica updates a part of the weights
  std::vector<std::string> sharded; ///< feeds that replicas share; empty: all with a dimension

  /// Equal parts that a batch is computed in.
  int64_t parts() const { return replicas * microBatches; }

  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
  /// What the dictionary leaves out is as above.
  static TrainingSpec fromAttr(mlir::DictionaryAttr attr);
};

} // namespace weir

#endif // WEIR_PASSES_TRAINING_TRAININGSPEC_H
