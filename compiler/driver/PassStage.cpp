//===- PassStage.cpp - stages that are their passes -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Devices.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/OptionalPasses.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Tuning.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir;
using namespace weir;
using namespace weir::driver;

LogicalResult PassStage::add(const PipelinePass &pass, PassManager &manager,
                             llvm::raw_ostream &errors) const {
  if (std::unique_ptr<Pass> made = make(pass.pass)) {
    manager.addPass(std::move(made));
    return success();
  }
  return parsePassPipeline(pass.pass, manager, errors);
}

bool PassStage::runPasses(Work &work) {
  const Options &options = work.options;
  DiagnosticSink &sink = work.sink;
  MlirMessages messages(*work.context, sink, options.input);
  messages.setDefaultCode(defaultCode);
  work.log.setStage(name);
  // A look at everything behind every pass costs a third of the time of a large graph. A model's
  // own contradictions show where types are inferred; otherwise a stage's end is soon enough,
  // unless somebody asks which pass it was.
  const bool verifiesEach =
      !options.dumpIrDir.empty() || !work.followers.empty() || !options.plantedFault.empty();
  std::optional<PassManager> manager;
  auto run = [&] {
    if (!manager)
      return true;
    if (work.isLogging)
      manager->addInstrumentation(work.log.instrumentation());
    for (const Work::Follower &follower : work.followers)
      manager->addInstrumentation(follower());
    bool good =
        succeeded(manager->run(*work.module)) && (verifiesEach || succeeded(verify(*work.module)));
    manager.reset();
    return good;
  };
  std::string error;
  llvm::raw_string_ostream errors(error);
  bool good = true;
  for (const PipelinePass &pass : passes) {
    if (isOptionalPass(pass.pass) && ++work.optionalSeen > options.passLimit &&
        options.passLimit >= 0)
      continue;
    if (!manager) {
      manager.emplace(work.context.get(), ModuleOp::getOperationName());
      manager->enableVerifier(verifiesEach);
    }
    if (failed(add(pass, *manager, errors))) {
      driver::report(sink, "W0199", options.input,
                     "stage " + llvm::StringRef(name) + " cannot be set up: " + error);
      return false;
    }
    if (!verifiesEach && pass.pass == llvm::StringRef("weir-infer-shapes") && !(good = run()))
      break;
  }
  good = good && run();
  if (!good && !sink.hasErrors())
    driver::report(sink, "W0199", options.input,
                   "stage " + llvm::StringRef(name) + " failed without saying why");
  if (!good || sink.hasErrors())
    return false;
  (*work.module)->setAttr(stageAttribute, StringAttr::get(work.context.get(), name));
  return true;
}

bool SimplifyStage::run(Work &work) {
  if (!runPasses(work))
    return false;
  countOperations(work);
  return true;
}

bool LayoutStage::run(Work &work) {
  roundsToBf16 = driver::roundsToBf16(work.options, work.target());
  return runPasses(work);
}

bool PlaceStage::run(Work &work) {
  if (!runPasses(work))
    return false;
  std::vector<ParallelWay> ways = std::move(work.report.placement.ways);
  work.report.placement = takePlacement(*work.module);
  work.report.placement.ways = std::move(ways);
  return true;
}

bool KernelizeStage::run(Work &work) {
  return (!tuning || tuning->chooseTiles(work)) && runPasses(work);
}
