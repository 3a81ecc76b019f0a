//===- Work.cpp - facts of a module for passes and report ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Work.h"
#include "compiler/codegen/cpu/schedule/TileChoice.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/MemoryLimit.h"
#include "dialects/weir/Target.h"
#include "dialects/weir/Weir.h"
#include "passes/gradient/Gradient.h"
#include "passes/kernelize/DivideRows.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

/// Whether an operation has a result whose elements are such.
static bool hasElements(ModuleOp module, llvm::function_ref<bool(Type element)> are) {
  auto isSuch = [&](Type type) { return are(getElementTypeOrSelf(type)); };
  return module
      .walk([&](Operation *op) {
        // What a program is fed with is only read.
        return llvm::any_of(op->getResultTypes(), isSuch) ||
                       llvm::any_of(op->getOperandTypes(), isSuch)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool driver::hasBytes(ModuleOp module) {
  return hasElements(
      module, [](Type element) { return element.isInteger(8) || element.isUnsignedInteger(8); });
}

static bool hasAccelerators(const Options &options) {
  return llvm::any_of(acceleratorBackends(), [&](const DeviceBackend *backend) {
    return !targetsFor(*backend, options).empty();
  });
}

bool driver::computesHalvesOnCpu(ModuleOp module, const Options &options) {
  return !hasAccelerators(options) &&
         hasElements(module, [](Type element) { return element.isF16() || element.isBF16(); });
}

void driver::describeTarget(Work &work) {
  ModuleOp module = *work.module;
  const Target &target = work.target();
  auto bytes = hasBytes(module) ? byteProducts(target) : ByteProducts::None;
  module->setAttr(targetAttribute,
                  TargetAttr::get(work.context.get(), target.code.vectorBytes,
                                  target.code.vectorRegisters, bytes, bf16Products(target),
                                  /*widensHalves=*/computesHalvesOnCpu(module, work.options),
                                  target.passesHalves,
                                  /*mayOffload=*/hasAccelerators(work.options)));
  if (int64_t ways = target.firstLevelWays)
    module->setAttr(firstLevelWaysAttribute, Builder(work.context.get()).getI64IntegerAttr(ways));
  if (const std::string &said = work.options.winograd; !said.empty())
    module->setAttr(
        winogradAttribute,
        Builder(work.context.get()).getI64IntegerAttr(said == "off" ? 0 : std::stoi(said)));
  if (const std::string &said = work.options.freeze; said == "auto")
    module->removeAttr(freezeAttribute);
  else if (!said.empty())
    module->setAttr(freezeAttribute, BoolAttr::get(work.context.get(), said == "all"));
}

void driver::countOperations(Work &work) {
  work.report.operations.clear();
  work.module->walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() == "weir")
      ++work.report.operations[op->getName().stripDialect().str()];
  });
}

/// What `weir_plan.pipeline` says.
static void takePipeline(ModuleOp module, PlacementInfo &placement) {
  auto pipeline = module->getAttrOfType<DictionaryAttr>("weir_plan.pipeline");
  if (!pipeline)
    return;
  auto number = [](DictionaryAttr from, const char *key) {
    return from.getAs<FloatAttr>(key).getValueAsDouble();
  };
  auto integer = [](DictionaryAttr from, const char *key) {
    return from.getAs<IntegerAttr>(key).getInt();
  };
  auto text = [](DictionaryAttr from, const char *key) {
    return from.getAs<StringAttr>(key).str();
  };
  placement.microBatches = integer(pipeline, "micro_batches");
  placement.bubble = number(pipeline, "bubble");
  for (auto stage : pipeline.getAs<ArrayAttr>("stages").getAsRange<DictionaryAttr>())
    placement.stages.push_back({text(stage, "first"), text(stage, "last"), text(stage, "order"),
                                number(stage, "forward"), number(stage, "backward"),
                                integer(stage, "bytes"), integer(stage, "sends")});
}

void driver::takeFigures(Work &work) {
  ModuleOp module = *work.module;
  Report &report = work.report;
  auto number = [&](const char *attribute, const char *key) -> int64_t {
    auto dictionary = module->getAttrOfType<DictionaryAttr>(attribute);
    auto value = dictionary ? dictionary.getAs<IntegerAttr>(key) : IntegerAttr();
    return value ? value.getInt() : 0;
  };
  if (auto edges = module->getAttrOfType<ArrayAttr>("weir_plan.edges"))
    report.placement.transfers = int64_t(edges.size());
  report.placement.asked = number("weir_plan.late_transfers", "asked");
  report.placement.delayed = number("weir_plan.late_transfers", "moved") + report.placement.asked;
  takePipeline(module, report.placement);
  report.givenPeak = number("weir_plan.order", "as_given");
  report.chosenPeak = number("weir_plan.order", "chosen");
  if (auto order = module->getAttrOfType<DictionaryAttr>("weir_plan.order"))
    if (auto proved = order.getAs<BoolAttr>("proved"))
      report.orderProved = proved.getValue();
  report.reusedBuffers = number("weir_plan.reuse", "buffers");
  report.reusedBytes = number("weir_plan.reuse", "bytes");
  report.savedCopies = number("weir_plan.reuse", "copies");
  report.boundedBuffers = number("weir_plan.bounded", "planned");
  report.dynamicBuffers = number("weir_plan.bounded", "dynamic");
  report.pooledBuffers = number("weir_plan.pooled", "buffers");
  report.memoryLimit = parseSize(work.options.memoryLimit).value_or(0);
  report.repeatedLaunches = number("weir_plan.recompute", "launches");
  report.repeatedWork = number("weir_plan.recompute", "per_mille");
  report.memoryChoices = memoryChoicesOf(module);
  report.loopsInSegments = module->hasAttr(checkpointLoopsAttr);
  auto divided = module->getAttrOfType<IntegerAttr>(dividedAttr);
  report.dividedOperations = divided ? divided.getInt() : 0;
  report.swappedValues = number("weir_plan.swap", "saved");
  report.swapReturns = number("weir_plan.swap", "returned");
  report.swappedBytes = number("weir_plan.swap", "bytes");
  for (auto [attribute, nodes] :
       {std::pair("weir.removed", &report.removed), {"weir.hoisted", &report.hoisted}})
    if (auto found = module->getAttrOfType<DictionaryAttr>(attribute))
      for (NamedAttribute entry : found)
        for (auto name : llvm::cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>())
          (*nodes)[entry.getName().str()].push_back(name.str());
}
