//===- Compilation.cpp - one compilation, stage by stage ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compilation.h"
#include "compiler/driver/ComputeInF64.h"
#include "compiler/driver/DeviceKinds.h"

#include "compiler/driver/Devices.h"
#include "compiler/driver/Formats.h"
#include "compiler/driver/Frontends.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/OptionalPasses.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Specs.h"
#include "compiler/driver/Training.h"
#include "compiler/driver/Version.h"
#include "compiler/emit/Header.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/frontend/NearestName.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Target.h"
#include "dialects/weir/Weir.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

Compilation::Compilation(const Options &options, DiagnosticSink &sink)
    : options(options), sink(sink), name(symbolPrefix(options)), pipeline(options),
      log(options.dumpIrDir, options.dumpIrFilter),
      logging(!options.dumpIrDir.empty() || options.timePasses) {
  sink.setWarnings(options.warnings);
  pipeline.simplify.after = [this] { countOperations(); };
  pipeline.place.after = [this] { reported.placement = takePlacement(*module); };
  pipeline.kernelize.before = [this] { return chooseTiles(); };
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

bool Compilation::checkOptions() {
  size_t before = sink.errorCount();
  auto refuse = [&](llvm::StringRef flag, llvm::StringRef possible) {
    driver::report(sink, "W0112", options.input,
                   "found " + flag + "; possible in this release: " + possible);
  };
  for (const DeviceBackend *backend : acceleratorBackends()) {
    std::string targets = targetsFor(*backend, options), possible;
    if (!targets.empty())
      possible = backend->possibleInsteadOf(targets);
    if (!possible.empty())
      driver::report(sink, "W0620", options.input,
                     "found " + backend->flag() + "=" + targets + "; possible: " + possible);
    std::vector<std::string> profiles = profilesFor(*backend, options);
    if (targets.empty() && !profiles.empty())
      driver::report(sink, "W0623", options.input,
                     "found " + backend->profiles().flag + "=" + profiles.front() + " without " +
                         backend->flag() + "; possible: with it");
  }
  bool isTrained = !options.training.loss.empty();
  if (!options.schedule.empty() && options.schedule != "latency" && options.schedule != "memory" &&
      options.schedule != "balanced")
    refuse("--schedule=" + options.schedule, "latency, memory or balanced");
  if (!options.receives.empty() && options.receives != "early" && options.receives != "late")
    refuse("--receives=" + options.receives, "early or late");
  if (!options.precision.empty() && options.precision != "f32" && options.precision != "tf32" &&
      options.precision != "bf16" && !(isTrained && options.precision == "f16"))
    refuse("--precision=" + options.precision,
           isTrained ? "f32, tf32, bf16 or f16" : "f32, tf32 or bf16");
  if (!options.memoryLimit.empty() && !(memoryLimit = parseSize(options.memoryLimit)))
    driver::report(sink, "W0112", options.input,
                   "found --memory-limit=" + options.memoryLimit +
                       "; possible: bytes, or a number with K, M, G or T");
  if (!options.name.empty() && (cIdentifier(options.name) != options.name ||
                                llvm::StringRef(options.name).starts_with("weir")))
    driver::report(sink, "W0109", options.input,
                   "found --name=" + options.name +
                       "; possible: a C identifier that is no keyword and does "
                       "not start with weir");
  for (const std::string &archive : options.runtimeArchives)
    if (std::vector<std::string> known = runtimeArchives(); !llvm::is_contained(known, archive))
      refuse("--runtime-with=" + archive, llvm::join(known, " and "));
  if (!options.dumpIrFilter.empty() && options.dumpIrDir.empty())
    noEffect(sink, options.input, "--dump-ir-filter=" + options.dumpIrFilter,
             "nothing is dumped; possible: with --dump-ir=DIR");
  if (!options.stopAfter.empty() && stageIndex(options.stopAfter) < 0) {
    std::string nearest = nearestName(options.stopAfter, stageNames());
    driver::report(sink, "W0108", options.input,
                   "found --stop-after=" + options.stopAfter + "; possible: " +
                       (nearest.empty() ? llvm::join(stageNames(), ", ") : nearest));
  }
  if (std::string possible; !options.plantedFault.empty()) {
    if (fault.parse(options.plantedFault, possible))
      follow([this] { return fault.instrumentation(); });
    else
      refuse("--plant-fault=" + options.plantedFault, possible);
  }
  return sink.errorCount() == before;
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// Whether each name that was given a shape or a size is one of `offered`.
bool Compilation::areBound(const std::set<std::string> &offered) {
  std::vector<std::string> names(offered.begin(), offered.end());
  auto refuse = [&](const std::string &flag, const std::string &name) {
    NearestName nearest(name);
    for (const std::string &one : offered)
      nearest.show(one);
    driver::report(
        sink, "W0114", options.input,
        "found --" + flag + "=" + name + "=…, and nothing of that name; possible: " +
            (names.empty() ? "no name in a file of this kind" : llvm::join(names, ", ")) +
            nearest.question());
    return false;
  };
  bool good = true;
  for (auto &[name, shape] : options.shapes)
    good &= offered.count(name) || refuse("shape", name);
  for (auto &[name, size] : options.dims)
    good &= offered.count(name) || refuse("dim", name);
  return good;
}

/// Whether --keep-f32 names nodes of the model; warns of what has no effect.
bool Compilation::checkPrecision() {
  bool rounds = roundsToBf16(options, target);
  // In training it says what products are computed in, on every processor.
  bool isTrained = !options.training.loss.empty();
  if (options.precision == "bf16" && !rounds && !isTrained)
    noEffect(sink, options.input, "--precision=bf16",
             llvm::Twine(target.cpu) +
                 " gains nothing by products of bf16; possible: a --cpu that does, as znver4 or "
                 "sapphirerapids");
  if (options.precision == "tf32" && llvm::none_of(acceleratorBackends(), [&](auto *backend) {
        return !targetsFor(*backend, options).empty();
      }))
    noEffect(sink, options.input, "--precision=tf32",
             "code is made for no device that has it; possible: with such a device");
  if (options.keepF32.empty())
    return true;
  if (options.precision != "bf16" && options.precision != "f16")
    noEffect(sink, options.input, "--keep-f32",
             "without --precision=bf16 all nodes keep f32; possible: with it");
  llvm::SetVector<llvm::StringRef> names;
  module->walk([&](Operation *op) { collectNodeNames(op->getLoc(), names); });
  bool good = true;
  for (const std::string &asked : options.keepF32) {
    if (names.contains(asked))
      continue;
    NearestName nearest(asked);
    for (llvm::StringRef name : names)
      nearest.show(name);
    driver::report(sink, "W0118", options.input,
                   "found --keep-f32=" + asked + ", and no node of that name" + nearest.question());
    good = false;
  }
  return good;
}

/// Whether the model's format has all flags of formats that were given.
bool Compilation::hasFlags(const Frontend &frontend) {
  bool good = true;
  std::vector<FrontendFlag> own = frontend.flags();
  for (const FrontendFlag &flag : frontendFlags()) {
    auto given = options.frontendFlags.find(flag.flag);
    if (given == options.frontendFlags.end() || given->second.empty() ||
        llvm::any_of(own, [&](const FrontendFlag &one) { return one.flag == flag.flag; }))
      continue;
    driver::report(sink, "W0114", options.input,
                   "found " + flag.flag + "=" + llvm::join(given->second, ",") + ", and no " +
                       flag.of + "; possible: none for a file of " + frontend.name());
    good = false;
  }
  return good;
}

bool Compilation::load() {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(options.input, status)) {
    driver::report(sink, "W0101", options.input, "cannot be read: " + code.message());
    return false;
  }
  std::string why;
  const Frontend *frontend = formatOf(options.input, why);
  if (!frontend) {
    driver::report(sink, "W0102", options.input, why);
    return false;
  }
  ImportOptions imports;
  if (!importOptions(options, sink, imports) || !prepareTraining(options, sink, imports) ||
      !hasFlags(*frontend))
    return false;
  std::set<std::string> offered;
  imports.offered = &offered;
  imports.files = &files;
  log.setStage(importStage);
  log.begin({});
  module = frontend->import(*context, options.input, imports, sink);
  if (!module || sink.hasErrors()) {
    if (!sink.hasErrors())
      driver::report(sink, "W0199", options.input, "the import failed without saying why");
    return false;
  }
  if (failed(verify(*module)) || !areBound(offered) || !checkPrecision() ||
      !markTraining(options, sink, *module))
    return false;

  nextStage = 1;
  if (auto done = (*module)->getAttrOfType<StringAttr>(stageAttribute)) {
    int index = stageIndex(done.getValue());
    if (index < 0) {
      driver::report(sink, "W0115", options.input,
                     "found weir.stage = \"" + done.getValue() +
                         "\"; possible: " + llvm::join(stageNames(), ", "));
      return false;
    }
    nextStage = index + 1;
  } else {
    (*module)->setAttr(stageAttribute, StringAttr::get(context.get(), importStage));
  }
  describeTarget();
  if (options.computeInF64 && !computeInF64(*module)) {
    driver::report(sink, "W0154", options.input,
                   "found an operation that does not compute in f64; possible: another reference");
    return false;
  }
  if (logging)
    log.end(importStage, *module);
  if (stopStage < nextStage - 1) {
    driver::report(sink, "W0108", options.input,
                   "found --stop-after=" + options.stopAfter +
                       " for a module that is past it; possible: a stage from " +
                       llvm::StringRef(pipeline[nextStage - 1].name) + " on");
    return false;
  }
  return true;
}

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

void Compilation::describeTarget() {
  auto bytes = hasBytes(*module) ? byteProducts(target) : ByteProducts::None;
  (*module)->setAttr(targetAttribute,
                     TargetAttr::get(context.get(), target.code.vectorBytes,
                                     target.code.vectorRegisters, bytes, bf16Products(target),
                                     /*widensHalves=*/computesHalvesOnCpu(*module, options),
                                     /*mayOffload=*/hasAccelerators(options)));
  pipeline.layout.roundsToBf16 = roundsToBf16(options, target);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void Compilation::countOperations() {
  reported.operations.clear();
  module->walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() == "weir")
      ++reported.operations[op->getName().stripDialect().str()];
  });
}

bool Compilation::runPassesOf(const Stage &stage) {
  MlirMessages messages(*context, sink, options.input);
  messages.setDefaultCode(stage.defaultCode);
  log.setStage(stage.name);
  PassManager passes(context.get(), ModuleOp::getOperationName());
  passes.enableVerifier(true);
  std::string error;
  llvm::raw_string_ostream errors(error);
  for (const PipelinePass &pass : stage.passes) {
    if (isOptionalPass(pass.pass) && ++optionalSeen > options.passLimit && options.passLimit >= 0)
      continue;
    if (std::unique_ptr<Pass> made = stage.make(pass.pass)) {
      passes.addPass(std::move(made));
    } else if (failed(parsePassPipeline(pass.pass, passes, errors))) {
      driver::report(sink, "W0199", options.input,
                     "stage " + llvm::StringRef(stage.name) + " cannot be set up: " + error);
      return false;
    }
  }
  if (logging)
    passes.addInstrumentation(log.instrumentation());
  for (const Follower &follower : followers)
    passes.addInstrumentation(follower());
  bool good = succeeded(passes.run(*module));
  if (!good && !sink.hasErrors())
    driver::report(sink, "W0199", options.input,
                   "stage " + llvm::StringRef(stage.name) + " failed without saying why");
  if (!good || sink.hasErrors())
    return false;
  (*module)->setAttr(stageAttribute, StringAttr::get(context.get(), stage.name));
  return true;
}

bool Compilation::runStage(const Stage &stage) {
  if ((stage.before && !stage.before()) || !runPassesOf(stage))
    return false;
  if (stage.after)
    stage.after();
  return true;
}

bool Compilation::runPasses() {
  int codegen = stageIndex(codegenStage), planned = stageIndex("plan-memory");
  if (nextStage > stageIndex("simplify"))
    countOperations();
  for (; nextStage < codegen && nextStage <= stopStage; ++nextStage) {
    const Stage &stage = pipeline[nextStage];
    // Of the stages from kernels to the plan some are tried more than once.
    if (&stage == &pipeline.kernelize && memoryLimit && stopStage >= planned) {
      if (!chooseTiles() || !planWithinLimit())
        return false;
      nextStage = planned;
    } else if (!runStage(stage)) {
      return false;
    }
  }
  return true;
}

void Compilation::takeFigures() {
  noteTunedKernels();
  auto number = [&](const char *attribute, const char *key) -> int64_t {
    auto dictionary = (*module)->getAttrOfType<DictionaryAttr>(attribute);
    auto value = dictionary ? dictionary.getAs<IntegerAttr>(key) : IntegerAttr();
    return value ? value.getInt() : 0;
  };
  if (auto edges = (*module)->getAttrOfType<ArrayAttr>("weir_plan.edges"))
    reported.placement.transfers = int64_t(edges.size());
  reported.placement.asked = number("weir_plan.late_transfers", "asked");
  reported.placement.delayed =
      number("weir_plan.late_transfers", "moved") + reported.placement.asked;
  reported.givenPeak = number("weir_plan.order", "as_given");
  reported.chosenPeak = number("weir_plan.order", "chosen");
  if (auto order = (*module)->getAttrOfType<DictionaryAttr>("weir_plan.order"))
    if (auto proved = order.getAs<BoolAttr>("proved"))
      reported.orderProved = proved.getValue();
  reported.reusedBuffers = number("weir_plan.reuse", "buffers");
  reported.reusedBytes = number("weir_plan.reuse", "bytes");
  reported.savedCopies = number("weir_plan.reuse", "copies");
  reported.boundedBuffers = number("weir_plan.bounded", "planned");
  reported.dynamicBuffers = number("weir_plan.bounded", "dynamic");
  reported.memoryLimit = memoryLimit.value_or(0);
  reported.repeatedLaunches = number("weir_plan.recompute", "launches");
  reported.repeatedWork = number("weir_plan.recompute", "per_mille");
  reported.memoryChoices = memoryChoicesOf(*module);
  reported.swappedValues = number("weir_plan.swap", "saved");
  reported.swapReturns = number("weir_plan.swap", "returned");
  reported.swappedBytes = number("weir_plan.swap", "bytes");
  for (auto [attribute, nodes] :
       {std::pair("weir.removed", &reported.removed), {"weir.hoisted", &reported.hoisted}})
    if (auto found = (*module)->getAttrOfType<DictionaryAttr>(attribute))
      for (NamedAttribute entry : found)
        for (auto name : llvm::cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>())
          (*nodes)[entry.getName().str()].push_back(name.str());
}

//===----------------------------------------------------------------------===//
// All together
//===----------------------------------------------------------------------===//

void Compilation::leaveText(std::string text) {
  output.assign(text.begin(), text.end());
  textOutput = true;
}

bool Compilation::finishLog(bool good) {
  if (llvm::Error error = log.finish()) {
    driver::report(sink, "W0104", options.input, llvm::toString(std::move(error)));
    good = false;
  }
  if (options.timePasses)
    llvm::errs() << log.times();
  return good;
}

bool Compilation::run(OutputForm form) {
  if (!checkOptions() || !selectTargets(options, sink, targets) ||
      (targets.size() > 1 && !checkVariants(form)))
    return false;
  target = std::move(targets.back());
  targets.pop_back();
  if (form == OutputForm::SharedObject &&
      target.machine->getTargetTriple().getArch() !=
          llvm::Triple(llvm::sys::getProcessTriple()).getArch()) {
    driver::report(sink, "W0107", options.input,
                   "found a .so for " + target.triple + "; possible for another machine: .o or .a");
    return false;
  }
  if (options.verbose) {
    log.tell();
    llvm::errs() << "weir " << weirVersion << ", LLVM " LLVM_VERSION_STRING << ", " << target.triple
                 << ", " << processors() << "\n";
  }
  reported.model = options.input;
  reported.name = name;
  reported.cpu = processors();
  reported.target = target.triple;
  stopStage = options.stopAfter.empty() ? stageIndex(emitStage) : stageIndex(options.stopAfter);
  int codegen = stageIndex(codegenStage);
  // A module is asked for: the last stage that leaves one.
  if (form == OutputForm::Mlir)
    stopStage = std::min(stopStage, codegen - 1);

  registerPasses();
  DialectRegistry registry;
  registerDialects(registry);
  // Without threads: the compilation may run in a process that forks, and a
  // log wants passes one at a time.
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  {
    MlirMessages messages(*context, sink, options.input);
    messages.setDefaultCode(isOwnIr(options.input) ? "W0110" : "W0400");
    if (!load())
      return finishLog(false);
  }
  if (!checkTuning())
    return finishLog(false);
  int lastStage = stopStage;
  if (!targets.empty())
    stopStage = std::max(nextStage, sharedStages()) - 1;
  if (!attachDevices(options, sink, *module) || !runPasses())
    return finishLog(false);
  if (!options.plantedFault.empty() && fault.wasMissed()) {
    driver::report(
        sink, "W0112", options.input,
        "found --plant-fault=" + options.plantedFault +
            ", and nothing of that node that can be spoilt so behind the pass; possible: "
            "another node or kind");
    return finishLog(false);
  }
  std::swap(stopStage, lastStage);
  if (!targets.empty())
    return finishLog(generateVariants(form) && (options.placementOut.empty() || writePlacement()));
  takeFigures();
  if (!options.placementOut.empty() && !writePlacement())
    return finishLog(false);
  if (stopStage < codegen) {
    leaveText(printModule(*module));
    return finishLog(true);
  }
  return finishLog(generateCode(form));
}

bool Compilation::writePlacement() {
  if (stopStage < stageIndex("place")) {
    driver::report(sink, "W0108", options.input,
                   "found --placement-out with --stop-after=" + options.stopAfter +
                       "; possible: a stage from place on");
    return false;
  }
  llvm::Error error =
      writeFile(options.placementOut, placementFile(reported.placement, options.input));
  if (!error)
    return true;
  driver::report(sink, "W0104", options.input, llvm::toString(std::move(error)));
  return false;
}

std::string Compilation::header() const {
  return modelHeader(described, isShared, llvm::sys::path::filename(options.input), weirVersion);
}
