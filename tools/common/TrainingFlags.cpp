//===- TrainingFlags.cpp - flags that train -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/ModelFlags.h"

using namespace weir;
using namespace weir::tools;

void weir::tools::addTrainingFlags(FlagParser &parser, driver::Options &options) {
  driver::TrainingOptions &training = options.training;
  parser.group("Training");
  parser.text("--train", "loss:NODE|cross_entropy:LOGITS,LABELS|mse:OUTPUT,TARGET",
              "makes the entries train_step, evaluate and predict of one that infers; its "
              "weights become variables",
              training.loss);
  parser.text("--optimizer", "NAME[,KEY=VALUE…]",
              "sgd (default), momentum, adam, adamw, adagrad or lamb, with lr=NUMBER|feed, "
              "clip=norm:N|value:N, schedule=constant|linear:STEPS|cosine:STEPS|step:EVERY, "
              "warmup=STEPS, weight_decay=, beta1= …",
              training.optimizer);
  parser.text("--trainable", "REGEX",
              "weights to train, by name (default: all that the loss depends on)",
              training.trainable);
  parser.value("--accumulate", "N", "so many calls of train_step make one step of the optimizer",
               intSetter(training.accumulate, 1, 1 << 20));
  parser.value("--replicas", "N",
               "train_step works on N devices (those of --devices or --cluster, else a task each), "
               "each with a part of the batch; gradients are summed over all",
               intSetter(training.replicas, 1, 1024));
  parser.value("--pipeline", "STAGES",
               "train_step is cut into stages, a device each, through which micro-batches go one "
               "behind the other (1F1B); with --replicas each replica is cut so",
               intSetter(training.stages, 1, 256));
  parser.value("--micro-batches", "M",
               "a replica's batch is computed in M parts whose gradients are added up (default: "
               "with --pipeline four a stage, else one)",
               intSetter(training.microBatches, 1, 1024));
  parser.value("--parallel", "auto",
               "chooses by the placer's cost model, within the memory of the devices, among "
               "replicas, stages, both, and products that devices share",
               [&training](std::string_view text) -> std::string {
                 training.parallel = text;
                 return text == "auto" ? "" : "is no way to train; possible: auto";
               });
  parser.flag(
      "--shard-optimizer",
      "with --replicas: each replica holds an N-th of the optimizer's variables and updates "
      "that part of the weights, which all then gather",
      training.shardOptimizer);
  parser.value(
      "--shard-feed", "NAME",
      "with --replicas, --micro-batches: a feed of which each gets a part, others go to all "
      "(repeatable; default: all feeds with a dimension)",
      listSetter(training.shardedFeeds));
}
