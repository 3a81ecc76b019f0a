//===- Parallel.cpp - how devices share a training step -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --parallel=auto: each way is compiled as far as the placer, which simulates its step. All ways
// are for one batch, in parts of as many rows as the model has, with one update of the weights.
// Ways that a device has no memory for are left out.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Parallel.h"
#include "compiler/driver/Devices.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/Training.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Training.h"
#include "dialects/weir/Weir.h"
#include "passes/analysis/DeviceSet.h"
#include "passes/training/TrainingSpec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

/// Elements of a weight from which on it is worth dividing.
static constexpr int64_t fewestShared = 1 << 14;

namespace {

/// A way that is tried.
struct Way {
  int64_t replicas = 1, stages = 1;
  int64_t microBatches = 1;          ///< for as many rows as all other ways have
  int64_t shards = 1;                ///< devices of each stage of each replica
  std::vector<std::string> products; ///< that these share, as --shard names them
  ParallelWay result;
};

std::string textOf(const Way &way) {
  auto several = [](int64_t count, const char *what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  std::string text;
  if (way.replicas > 1)
    text = several(way.replicas, "replica");
  if (way.stages > 1)
    text += (text.empty() ? "" : " of ") + several(way.stages, "stage");
  if (way.shards > 1)
    text += (text.empty() ? "" : " with ") + several(int64_t(way.products.size()), "product") +
            " over " + several(way.shards, "device") + (text.empty() ? "" : " each");
  return text.empty() ? "one copy, node by node" : text;
}

/// Products with a weight of their own, columns and sums in turn where one follows the other
/// (passes/simplify/ShardProducts.cpp).
std::vector<std::string> productsToShare(func::FuncOp entry, int64_t devices) {
  std::vector<std::string> products;
  llvm::DenseSet<Value> divided;
  entry.walk([&](Operation *op) {
    auto dot = dyn_cast<DotGeneralOp>(op);
    if (!dot) {
      bool follows = isa<ElementwiseOpInterface>(op) && op->getNumResults() == 1 &&
                     llvm::any_of(op->getOperands(), [&](Value operand) {
                       return divided.contains(operand) && operand.hasOneUse();
                     });
      if (follows)
        divided.insert(op->getResult(0));
      return;
    }
    auto weight = dyn_cast<RankedTensorType>(dot.getRhs().getType());
    auto result = dyn_cast<RankedTensorType>(dot.getType());
    bool isWeight = weight && weight.hasStaticShape() && weight.getRank() == 2 && result &&
                    weight.getNumElements() >= fewestShared && dot.getRhsBatch().empty() &&
                    dot.getRhsContract().size() == 1 && dot.getLhsContract().size() == 1 &&
                    behindWeight(dot.getRhs()).getDefiningOp<ConstantOp>() &&
                    dot.getRhs().hasOneUse() && dot->getBlock() == &entry.front();
    if (!isWeight)
      return;
    std::string name = nodeName(dot.getLoc()).str();
    auto left = dyn_cast<RankedTensorType>(dot.getLhs().getType());
    bool isLast = left && dot.getLhsContract()[0] == left.getRank() - 1;
    if (isLast && divided.contains(dot.getLhs()) &&
        weight.getDimSize(unsigned(dot.getRhsContract()[0])) >= devices) {
      products.push_back(name + ":sum");
      return;
    }
    if (weight.getDimSize(unsigned(1 - dot.getRhsContract()[0])) < devices)
      return;
    products.push_back(name + ":" + std::to_string(result.getRank() - 1));
    divided.insert(dot.getResult());
  });
  return products;
}

/// Every division of the devices, or of some of them, into replicas of stages, and of all into
/// those whose devices share products. All are for one batch, of as many parts as the longest
/// pipeline has micro-batches, at least one a replica.
std::vector<Way> waysFor(func::FuncOp entry, int64_t devices, int64_t microBatches) {
  int64_t parts = microBatches ? microBatches * devices : usualMicroBatches(devices);
  std::vector<Way> ways;
  for (int64_t used = 1; used <= devices; ++used) {
    if (devices % used != 0)
      continue;
    std::vector<std::string> products;
    if (used < devices)
      products = productsToShare(entry, devices / used);
    for (int64_t stages = 1; stages <= used; ++stages) {
      if (used % stages != 0)
        continue;
      Way way;
      way.replicas = used / stages;
      way.stages = stages;
      way.microBatches = std::max<int64_t>(parts / way.replicas, 1);
      ways.push_back(way);
      if (products.empty())
        continue;
      way.shards = devices / used;
      way.products = products;
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

/// Makes a module train in that way.
void apply(const Way &way, ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto attr = function->getAttrOfType<DictionaryAttr>(trainAttr)) {
      TrainingSpec spec = TrainingSpec::fromAttr(attr);
      spec.replicas = way.replicas;
      spec.stages = way.stages;
      spec.microBatches = way.microBatches;
      function->setAttr(trainAttr, spec.toAttr(module.getContext()));
    }
  if (!way.products.empty())
    shareProducts(module, way.products, way.replicas * way.stages);
}

/// Compiles a copy as far as the placer, and takes what that says.
void simulate(Way &way, ModuleOp module, ArrayRef<const PassStage *> stages) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  apply(way, *copy);
  (*copy)->setAttr(wantsEstimateAttr, UnitAttr::get(module.getContext()));
  std::string why;
  ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && why.empty())
      why = diagnostic.str();
    return success();
  });
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  std::string error;
  llvm::raw_string_ostream errors(error);
  for (const PassStage *stage : stages)
    for (const PipelinePass &pass : stage->passes)
      if (failed(stage->add(pass, passes, errors)))
        why = "its passes cannot be set up";
  DictionaryAttr estimate;
  if (why.empty() && succeeded(passes.run(*copy)))
    estimate = (*copy)->getAttrOfType<DictionaryAttr>("weir_plan.estimate");
  if (!estimate) {
    way.result.whyNot = why.empty() ? "it cannot be compiled" : why;
    return;
  }
  way.result.seconds = estimate.getAs<FloatAttr>("seconds").getValueAsDouble();
  DeviceSet cluster = DeviceSet::of(*copy, {});
  ArrayRef<int64_t> bytes = estimate.getAs<DenseI64ArrayAttr>("bytes").asArrayRef();
  for (auto [d, held] : llvm::enumerate(bytes)) {
    way.result.bytes = std::max(way.result.bytes, held);
    if (d < cluster.devices.size() && double(held) > cluster.devices[d].memory)
      way.result.whyNot = std::to_string(held) + " bytes on " + cluster.devices[d].name.str() +
                          ", which has " + std::to_string(int64_t(cluster.devices[d].memory));
  }
}

} // namespace

bool driver::chooseParallel(Work &work, Pipeline &pipeline) {
  const Options &options = work.options;
  DiagnosticSink &sink = work.sink;
  ModuleOp module = *work.module;
  if (options.training.loss.empty() || options.training.parallel.empty())
    return true;
  func::FuncOp entry;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(trainAttr))
      entry = function;
  auto given = module->getAttrOfType<DictionaryAttr>("weir.cluster");
  auto listed = given ? given.getAs<ArrayAttr>("devices") : ArrayAttr();
  if (!entry || !listed || listed.size() < 2 || !options.shardedProducts.empty()) {
    driver::report(sink, "W0421", options.input,
                   !options.shardedProducts.empty()
                       ? "found --parallel=auto beside --shard; possible: one of them"
                       : "found --parallel=auto and one device; possible: with --devices or "
                         "--cluster, which have several");
    return false;
  }
  pipeline.layout.roundsToBf16 = roundsToBf16(options, work.target());
  auto devices = int64_t(listed.size());
  std::vector<Way> ways = waysFor(entry, devices, options.training.microBatches);
  Way *best = nullptr;
  for (Way &way : ways) {
    way.result.text = textOf(way);
    simulate(way, module, {&pipeline.simplify, &pipeline.layout, &pipeline.place});
    if (way.result.whyNot.empty() && (!best || way.result.seconds < best->result.seconds))
      best = &way;
  }
  if (!best) {
    weir::Diagnostic none{"W0421",
                          options.input,
                          "",
                          "",
                          "found no way to train on " + std::to_string(devices) +
                              " devices; possible: more memory, or more devices",
                          {}};
    for (const Way &way : ways)
      none.notes.push_back(way.result.text + ": " + way.result.whyNot);
    sink.report(std::move(none));
    return false;
  }
  best->result.isChosen = true;
  // Without stages micro-batches are for memory alone.
  DeviceSet cluster = DeviceSet::of(module, {});
  bool isLimited = llvm::any_of(cluster.devices, [](const ClusterDevice &device) {
    return device.memory != placement::never;
  });
  if (best->stages == 1 && !isLimited)
    best->microBatches = std::max(options.training.microBatches, 1);
  warnAboutReplicas(options, best->replicas, best->replicas * best->microBatches, sink);
  apply(*best, module);
  module->setAttr(memoryCheckedAttr, UnitAttr::get(work.context.get()));
  llvm::stable_sort(ways, [](const Way &a, const Way &b) {
    return std::tuple(!a.result.isChosen, !a.result.whyNot.empty(), a.result.seconds) <
           std::tuple(!b.result.isChosen, !b.result.whyNot.empty(), b.result.seconds);
  });
  for (Way &way : ways)
    work.report.placement.ways.push_back(std::move(way.result));
  return true;
}
