//===- Compilation.cpp - one compilation, stage by stage ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compilation.h"
#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/Devices.h"
#include "compiler/driver/Frontends.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/OptionRules.h"
#include "compiler/driver/Parallel.h"
#include "compiler/driver/Version.h"
#include "compiler/emit/Header.h"
#include "compiler/emit/OutputFile.h"
#include "dialects/weir/Training.h"
#include "dialects/weir/Weir.h"
#include "passes/gradient/Gradient.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

/// Whether code for anything but CPUs is asked for.
static bool hasAccelerators(const Options &options) {
  return llvm::any_of(acceleratorBackends(), [&](const DeviceBackend *backend) {
    return !targetsFor(*backend, options).empty();
  });
}

Compilation::Compilation(const Options &options, DiagnosticSink &sink)
    : options(options), sink(sink), work(options, sink), pipeline(options), memoryLimit(options) {
  sink.setWarnings(options.warnings);
  work.name = symbolPrefix(options);
  pipeline.kernelize.tuning = &tuning;
  pipeline.codegen.limit = &memoryLimit;
}

bool Compilation::plantFault() {
  if (options.plantedFault.empty())
    return true;
  std::string possible;
  if (!fault.parse(options.plantedFault, possible)) {
    driver::report(sink, "W0112", options.input,
                   "found --plant-fault=" + options.plantedFault +
                       "; possible in this release: " + possible);
    return false;
  }
  follow([this] { return fault.instrumentation(); });
  return true;
}

bool Compilation::selectProcessors(OutputForm form) {
  std::vector<Target> targets;
  if (!selectTargets(options, sink, targets))
    return false;
  for (Target &target : targets)
    work.codes.emplace_back().target = std::move(target);
  work.code = &work.codes.back();
  if (work.codes.size() > 1 && !checkVariants(form))
    return false;
  const Target &target = work.target();
  if (form == OutputForm::SharedObject &&
      target.machine->getTargetTriple().getArch() !=
          llvm::Triple(llvm::sys::getProcessTriple()).getArch()) {
    driver::report(sink, "W0107", options.input,
                   "found a .so for " + target.triple + "; possible for another machine: .o or .a");
    return false;
  }
  if (options.verbose) {
    work.log.tell();
    llvm::errs() << "weir " << weirVersion << ", LLVM " LLVM_VERSION_STRING << ", " << target.triple
                 << ", " << processors() << "\n";
  }
  work.report.model = options.input;
  work.report.name = work.name;
  work.report.cpu = processors();
  work.report.target = target.triple;
  return true;
}

bool Compilation::runPasses() {
  if (work.nextStage > stageIndex("simplify"))
    countOperations(work);
  else if (!chooseParallel(work, pipeline))
    return false;
  OwningOpRef<ModuleOp> whole = loopsToDivide();
  if (!runPassesOnce())
    return false;
  return !whole || memoryLimit.excess() <= 0 || divideLoops(std::move(whole));
}

OwningOpRef<ModuleOp> Compilation::loopsToDivide() {
  if (!memoryLimit || work.nextStage > stageIndex("simplify") ||
      work.stopStage < stageIndex("plan-memory"))
    return {};
  bool found = false;
  for (auto function : work.module->getOps<mlir::func::FuncOp>())
    if (function->hasAttr(trainAttr) || function->hasAttr("weir.gradient"))
      function.walk([&](WhileOp) { found = true; });
  return found ? OwningOpRef<ModuleOp>(work.module->clone()) : OwningOpRef<ModuleOp>();
}

bool Compilation::divideLoops(OwningOpRef<ModuleOp> whole) {
  OwningOpRef<ModuleOp> first = std::move(work.module);
  MemoryLimit firstLimit = memoryLimit;
  Report firstReport = work.report;
  work.module = std::move(whole);
  (*work.module)->setAttr(checkpointLoopsAttr, UnitAttr::get(work.context.get()));
  work.nextStage = stageIndex("simplify");
  if (!runPassesOnce())
    return false;
  if (memoryLimit.excess() < firstLimit.excess())
    return true;
  work.module = std::move(first);
  memoryLimit = firstLimit;
  work.report = std::move(firstReport);
  return true;
}

bool Compilation::runPassesOnce() {
  int codegen = stageIndex(codegenStage), planned = stageIndex("plan-memory");
  for (; work.nextStage < codegen && work.nextStage <= work.stopStage; ++work.nextStage) {
    Stage &stage = pipeline[work.nextStage];
    // Of the stages from kernels to the plan some are tried more than once.
    if (&stage == &pipeline.kernelize && memoryLimit && work.stopStage >= planned) {
      if (!tuning.chooseTiles(work) || !memoryLimit.plan(work, pipeline))
        return false;
      work.nextStage = planned;
    } else if (!stage.run(work)) {
      return false;
    }
  }
  return true;
}

void Compilation::takeFigures() {
  tuning.noteKernels(work);
  driver::takeFigures(work);
}

bool Compilation::finishLog(bool good) {
  if (llvm::Error error = work.log.finish()) {
    driver::report(sink, "W0104", options.input, llvm::toString(std::move(error)));
    good = false;
  }
  if (options.timePasses)
    llvm::errs() << work.log.times();
  return good;
}

bool Compilation::run(OutputForm form) {
  bool good = checkOptions(options, sink);
  if (!plantFault() || !good || !selectProcessors(form))
    return false;
  registerPasses();
  DialectRegistry registry;
  registerDialects(registry);
  // Without threads: the compilation may run in a process that forks, and a
  // log wants passes one at a time.
  work.context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  bool isDone = runStages(form);
  // Where a stage failed nobody has waited for what goes on beside it.
  pipeline.emit.beside.wait();
  return finishLog(isDone);
}

bool Compilation::runStages(OutputForm form) {
  const int codegen = stageIndex(codegenStage), last = stageIndex(emitStage);
  const bool areSeveral = work.codes.size() > 1;
  int asked = options.stopAfter.empty() ? last : stageIndex(options.stopAfter);
  // A module is asked for: the last stage that leaves one.
  if (form == OutputForm::Mlir)
    asked = std::min(asked, codegen - 1);
  work.stopStage = asked;
  if (!pipeline.import.run(work) || !tuning.check(work))
    return false;
  if (areSeveral)
    work.stopStage = std::max(work.nextStage, sharedStages()) - 1;
  if (!attachDevices(options, sink, *work.module) || !runPasses())
    return false;
  if (!options.plantedFault.empty() && fault.wasMissed()) {
    driver::report(
        sink, "W0112", options.input,
        "found --plant-fault=" + options.plantedFault +
            ", and nothing of that node that can be spoilt so behind the pass; possible: "
            "another node or kind");
    return false;
  }
  work.stopStage = asked;
  if (areSeveral) {
    if (!translateVariants())
      return false;
  } else {
    takeFigures();
  }
  if (!options.placementOut.empty() && !writePlacement())
    return false;
  if (work.stopStage < codegen) {
    work.leaveText(printModule(*work.module));
    return true;
  }
  if (options.reportOnly && !areSeveral && !hasAccelerators(options)) {
    describeCpu(*work.module, work.name, work.code->program);
    describeProgram(work.code->program, work.report);
    return !memoryLimit || memoryLimit.check(work);
  }
  pipeline.codegen.prefix = work.name;
  pipeline.codegen.beside = areSeveral ? nullptr : &pipeline.emit.beside;
  pipeline.emit.form = form;
  if ((!areSeveral && !pipeline.codegen.run(work)) || !pipeline.emit.describe(work))
    return false;
  if (!areSeveral)
    describeProgram(work.code->program, work.report);
  if (form != OutputForm::LlvmIr && work.stopStage != codegen)
    return pipeline.emit.run(work);
  std::string text;
  llvm::raw_string_ostream os(text);
  work.code->module->print(os, nullptr);
  work.leaveText(text);
  return true;
}

bool Compilation::writePlacement() {
  if (work.stopStage < stageIndex("place")) {
    driver::report(sink, "W0108", options.input,
                   "found --placement-out with --stop-after=" + options.stopAfter +
                       "; possible: a stage from place on");
    return false;
  }
  llvm::Error error =
      writeFile(options.placementOut, placementFile(work.report.placement, options.input));
  if (!error)
    return true;
  driver::report(sink, "W0104", options.input, llvm::toString(std::move(error)));
  return false;
}

std::string Compilation::header() const {
  return modelHeader(work.code->program, pipeline.emit.form == OutputForm::SharedObject,
                     llvm::sys::path::filename(options.input), weirVersion);
}
