//===- Compilation.cpp - one compilation, stage by stage ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compilation.h"

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/codegen/cuda/CudaCodegen.h"
#include "compiler/driver/Devices.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Specs.h"
#include "compiler/driver/Version.h"
#include "compiler/emit/CodeUnits.h"
#include "compiler/emit/Descriptors.h"
#include "compiler/emit/Fingerprint.h"
#include "compiler/emit/Header.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/frontend/Import.h"
#include "dialects/weir/Weir.h"
#include "weir/abi.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <thread>

using namespace mlir;
using namespace weir;
using namespace weir::driver;

Compilation::Compilation(const Options &options, DiagnosticSink &sink)
    : options(options), sink(sink), name(symbolPrefix(options)),
      log(options.dumpIrDir, options.dumpIrFilter),
      logging(!options.dumpIrDir.empty() || options.timePasses) {}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

bool Compilation::checkOptions() {
  size_t before = sink.errorCount();
  auto refuse = [&](llvm::StringRef flag, llvm::StringRef possible) {
    driver::report(sink, "W0112", options.input,
                   "found " + flag + "; possible in this release: " + possible);
  };
  if (!options.cuda.empty() && !parseArchitectures(options.cuda))
    driver::report(sink, "W0620", options.input,
                   "found --cuda=" + options.cuda + "; possible: one or more of " +
                       knownArchitectures());
  if (!options.schedule.empty() && options.schedule != "latency" &&
      options.schedule != "memory" && options.schedule != "balanced")
    refuse("--schedule=" + options.schedule, "latency, memory or balanced");
  if (!options.precision.empty() && options.precision != "f32" &&
      options.precision != "bf16")
    refuse("--precision=" + options.precision, "f32 or bf16");
  if (!options.memoryLimit.empty() &&
      !(memoryLimit = parseSize(options.memoryLimit)))
    driver::report(sink, "W0112", options.input,
                   "found --memory-limit=" + options.memoryLimit +
                       "; possible: bytes, or a number with K, M, G or T");
  if (options.tune)
    refuse("--tune=" + std::to_string(options.tune), "--tune=0");

  if (!options.name.empty() &&
      (cIdentifier(options.name) != options.name ||
       llvm::StringRef(options.name).starts_with("weir")))
    driver::report(sink, "W0109", options.input,
                   "found --name=" + options.name +
                       "; possible: a C identifier that is no keyword and does "
                       "not start with weir");
  if (!options.stopAfter.empty() && stageIndex(options.stopAfter) < 0) {
    std::string nearest = nearestName(options.stopAfter, stageNames());
    driver::report(
        sink, "W0108", options.input,
        "found --stop-after=" + options.stopAfter + "; possible: " +
            (nearest.empty() ? llvm::join(stageNames(), ", ") : nearest));
  }
  return sink.errorCount() == before;
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

bool Compilation::load() {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(options.input, status)) {
    driver::report(sink, "W0101", options.input,
                   "cannot be read: " + code.message());
    return false;
  }
  bool isFolder = llvm::sys::fs::is_directory(status);
  llvm::StringRef suffix = llvm::sys::path::extension(options.input);
  ImportOptions imports;
  if (!importOptions(options, sink, imports))
    return false;

  log.setStage(importStage);
  log.begin({});
  if (!isFolder && suffix == ".mlir") {
    ParserConfig config(context.get());
    module = parseSourceFile<ModuleOp>(options.input, config);
    if (!module && !sink.hasErrors())
      driver::report(sink, "W0110", options.input, "is no MLIR module");
  } else if (!isFolder && suffix == ".onnx") {
    module = importOnnx(*context, options.input, imports, sink);
  } else if (isFolder || suffix == ".pb" || suffix == ".pbtxt") {
    module = importTensorFlow(*context, options.input, imports, sink);
  } else {
    driver::report(sink, "W0102", options.input,
                   "found a model file that ends in \"" + suffix +
                       "\"; possible: .onnx, .pb, .pbtxt, .mlir, or the folder "
                       "of a SavedModel");
    return false;
  }
  if (!module || sink.hasErrors()) {
    if (!sink.hasErrors())
      driver::report(sink, "W0199", options.input,
                     "the import failed without saying why");
    return false;
  }
  if (failed(verify(*module)))
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
    (*module)->setAttr(stageAttribute,
                       StringAttr::get(context.get(), importStage));
  }
  if (!options.schedule.empty())
    (*module)->setAttr("weir.schedule",
                       StringAttr::get(context.get(), options.schedule));
  if (options.sanitizePlan)
    (*module)->setAttr("weir.sanitize_plan", UnitAttr::get(context.get()));
  // Tiles are chosen for the processor's vectors.
  OpBuilder builder(context.get());
  (*module)->setAttr("weir.vector_bytes",
                     builder.getI64IntegerAttr(target.code.vectorBytes));
  (*module)->setAttr("weir.vector_registers",
                     builder.getI64IntegerAttr(target.code.vectorRegisters));
  // Rounding only pays where tiles of bf16 are multiplied.
  if (options.precision == "bf16" &&
      target.requiredFeatures & WEIR_CPU_AMX_BF16) {
    Builder b(context.get());
    (*module)->setAttr("weir.precision", b.getStringAttr(options.precision));
    llvm::SmallVector<llvm::StringRef> kept(options.keepF32.begin(),
                                            options.keepF32.end());
    (*module)->setAttr("weir.keep_f32", b.getStrArrayAttr(kept));
  }
  if (logging)
    log.end(importStage, *module);
  if (stopStage < nextStage - 1) {
    driver::report(
        sink, "W0108", options.input,
        "found --stop-after=" + options.stopAfter +
            " for a module that is past it; possible: a stage from " +
            llvm::StringRef(stages()[nextStage - 1].name) + " on");
    return false;
  }
  return true;
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

bool Compilation::runStage(const Stage &stage) {
  MlirMessages messages(*context, sink, options.input);
  messages.setDefaultCode(stage.defaultCode);
  log.setStage(stage.name);
  std::string text;
  for (const PipelinePass &pass : stage.passes)
    text += (text.empty() ? "" : ",") + std::string(pass.pass);
  PassManager passes(context.get(), ModuleOp::getOperationName());
  passes.enableVerifier(true);
  std::string error;
  llvm::raw_string_ostream errors(error);
  if (failed(parsePassPipeline(text, passes, errors))) {
    driver::report(sink, "W0199", options.input,
                   "stage " + llvm::StringRef(stage.name) +
                       " cannot be set up: " + error);
    return false;
  }
  if (logging)
    passes.addInstrumentation(log.instrumentation());
  bool good = succeeded(passes.run(*module));
  if (!good && !sink.hasErrors())
    driver::report(sink, "W0199", options.input,
                   "stage " + llvm::StringRef(stage.name) +
                       " failed without saying why");
  if (!good || sink.hasErrors())
    return false;
  (*module)->setAttr(stageAttribute,
                     StringAttr::get(context.get(), stage.name));
  return true;
}

bool Compilation::runPasses() {
  int codegen = stageIndex(codegenStage);
  if (nextStage > stageIndex("simplify"))
    countOperations();
  for (; nextStage < codegen && nextStage <= stopStage; ++nextStage) {
    const Stage &stage = stages()[nextStage];
    bool isKernelize = llvm::StringRef(stage.name) == "kernelize";
    if (isKernelize && memoryLimit && stopStage >= stageIndex("plan-memory")) {
      if (!planWithinLimit())
        return false;
      nextStage = stageIndex("plan-memory");
      continue;
    }
    if (!runStage(stage))
      return false;
    if (llvm::StringRef(stage.name) == "simplify")
      countOperations();
    if (llvm::StringRef(stage.name) == "place")
      reported.placement = takePlacement(*module);
  }
  auto number = [&](const char *attribute, const char *key) -> int64_t {
    auto dictionary = (*module)->getAttrOfType<DictionaryAttr>(attribute);
    auto value = dictionary ? dictionary.getAs<IntegerAttr>(key) : IntegerAttr();
    return value ? value.getInt() : 0;
  };
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
  for (auto [attribute, nodes] :
       {std::pair("weir.removed", &reported.removed),
        {"weir.hoisted", &reported.hoisted}})
    if (auto found = (*module)->getAttrOfType<DictionaryAttr>(attribute))
      for (NamedAttribute entry : found)
        for (auto name : llvm::cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>())
          (*nodes)[entry.getName().str()].push_back(name.str());
  return true;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// LLVM's own errors, which it would otherwise print and exit.
static void handleLlvmMessage(const llvm::DiagnosticInfo *info, void *context) {
  if (info->getSeverity() != llvm::DS_Error)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DiagnosticPrinterRawOStream printer(os);
  info->print(printer);
  driver::report(*static_cast<DiagnosticSink *>(context), "W0500", "", text);
}

bool Compilation::generateAccelerators(CpuOptions &cpu) {
  if (options.cuda.empty())
    return true;
  CudaOptions cuda;
  cuda.prefix = name;
  cuda.architectures = *parseArchitectures(options.cuda);
  cuda.optLevel = options.optLevel;
  if (logging)
    cuda.log = [this](llvm::StringRef what, llvm::StringRef suffix, llvm::StringRef text) {
      log.end(what, suffix, text);
      log.begin({});
    };
  log.begin({});
  auto steps = generateCuda(*module, cuda, described);
  if (failed(steps)) {
    if (!sink.hasErrors())
      driver::report(sink, "W0199", options.input,
                     "code generation for GPUs failed without saying why");
    return false;
  }
  cpu.otherSteps = *steps;
  return true;
}

bool Compilation::generateCode(OutputForm form) {
  auto fail = [&](llvm::Error error) {
    if (!error)
      return !sink.hasErrors();
    driver::report(sink, "W0500", options.input,
                   llvm::toString(std::move(error)));
    return false;
  };
  log.setStage(codegenStage);
  llvmContext.setDiagnosticHandlerCallBack(handleLlvmMessage, &sink);
  {
    MlirMessages messages(*context, sink, options.input);
    messages.setDefaultCode(stages()[stageIndex(codegenStage)].defaultCode);
    CpuOptions cpu;
    cpu.prefix = name;
    cpu.machine = target.machine.get();
    cpu.optLevel = options.optLevel;
    cpu.sanitizeAddress = options.sanitizeAddress;
    // Code generation builds in dialects that nothing before it has loaded.
    context->loadAllAvailableDialects();
    if (!generateAccelerators(cpu))
      return false;
    log.begin(*module);
    llvmModule = generateCpu(*module, cpu, llvmContext, described);
    if (!llvmModule && !sink.hasErrors())
      driver::report(sink, "W0199", options.input,
                     "code generation failed without saying why");
    if (!llvmModule || sink.hasErrors())
      return false;
  }
  if (!checkMemoryLimit())
    return false;
  described.requiredCpuFeatures = target.requiredFeatures;
  described.defaultThreads = options.threads;
  std::string flags = (llvm::Twine(weirVersion) + " " + target.triple + " " +
                       target.code.features + " " + target.code.tuneCpu +
                       " -O" + llvm::Twine(options.optLevel) + " " +
                       llvm::Twine(int(options.sanitizeAddress)))
                          .str();
  if (!options.cuda.empty())
    flags += " " + options.cuda;
  fingerprint(*llvmModule, flags, described);
  DescriptorOptions descriptors;
  descriptors.compiler = weirVersion;
  // Looked for by its own name beside the program, wherever that is then.
  descriptors.weightsFile =
      llvm::sys::path::filename(options.weightsFile).str();
  descriptors.plugin = form == OutputForm::SharedObject;
  if (!fail(emitDescriptors(described, descriptors, *llvmModule)))
    return false;
  setTargetAttributes(*llvmModule, target.code);
  if (logging)
    log.end("translate", llvmModule.get());

  // Code that is to be read is one module. Otherwise that is made only to be
  // looked at.
  bool isOneModule = form == OutputForm::LlvmIr || form == OutputForm::Assembly ||
                     stopStage == stageIndex(codegenStage);
  if (isOneModule || !options.dumpIrDir.empty()) {
    log.begin({});
    std::unique_ptr<llvm::Module> copy;
    if (!isOneModule)
      copy = llvm::CloneModule(*llvmModule);
    llvm::Module &seen = copy ? *copy : *llvmModule;
    optimize(seen, *target.machine, options.optLevel, options.sanitizeAddress);
    if (logging)
      log.end("optimize", &seen);
  }
  describeProgram(described, reported);
  if (form == OutputForm::LlvmIr || stopStage == stageIndex(codegenStage)) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvmModule->print(os, nullptr);
    leaveText(std::move(text));
    return true;
  }

  log.setStage(emitStage);
  log.begin({});
  output.clear();
  textOutput = form == OutputForm::Assembly;
  if (!fail(textOutput ? generateMachineCode(*llvmModule, *target.machine,
                                             llvm::CodeGenFileType::AssemblyFile,
                                             output)
                       : compileInUnits(flags)))
    return false;
  if (logging)
    log.end("machine-code", static_cast<llvm::Module *>(nullptr));
  if (!textOutput) {
    reported.codeBytes = output.size();
    reported.objectBytes =
        output.size() + (options.weightsFile.empty() ? described.blobBytes : 0);
  }
  return true;
}

llvm::Error Compilation::compileInUnits(llvm::StringRef flags) {
  std::vector<std::string> kernels;
  for (const KernelInfo &kernel : described.kernels)
    kernels.push_back(kernel.symbol);
  // The sanitizer keeps tables of a module's functions and variables.
  if (options.sanitizeAddress)
    kernels.clear();
  std::vector<CodeUnit> units = splitKernels(*llvmModule, kernels);
  units.insert(units.begin(), wholeUnit(*llvmModule));
  llvmModule.reset();

  std::optional<CodeCache> cache;
  std::string folder = options.cacheFolder == "default"
                           ? CodeCache::defaultFolder()
                           : options.cacheFolder;
  if (!folder.empty())
    cache.emplace(folder, options.cacheBytes
                                           ? options.cacheBytes
                                           : CodeCache::defaultLimit);
  UnitOptions how;
  how.machine = [&] { return makeMachine(options, target); };
  how.flags = (flags + " LLVM " LLVM_VERSION_STRING " units 1").str();
  how.optLevel = options.optLevel;
  how.sanitizeAddress = options.sanitizeAddress;
  how.jobs = options.jobs ? options.jobs
                          : int(std::thread::hardware_concurrency());
  how.cache = cache ? &*cache : nullptr;
  if (llvm::Error error = compileUnits(units, how))
    return error;
  return mergeUnits(units, output);
}

void Compilation::leaveText(std::string text) {
  output.assign(text.begin(), text.end());
  textOutput = true;
}

//===----------------------------------------------------------------------===//
// All together
//===----------------------------------------------------------------------===//

bool Compilation::finishLog(bool good) {
  if (llvm::Error error = log.finish()) {
    driver::report(sink, "W0104", options.input,
                   llvm::toString(std::move(error)));
    good = false;
  }
  if (options.timePasses)
    llvm::errs() << log.times();
  return good;
}

bool Compilation::run(OutputForm form) {
  if (!checkOptions() || !selectTarget(options, sink, target))
    return false;
  if (form == OutputForm::SharedObject &&
      target.machine->getTargetTriple().getArch() !=
          llvm::Triple(llvm::sys::getProcessTriple()).getArch()) {
    driver::report(sink, "W0107", options.input,
                   "found a .so for " + target.triple +
                       "; possible for another machine: .o or .a");
    return false;
  }
  reported.model = options.input;
  reported.name = name;
  reported.cpu = target.cpu;
  reported.target = target.triple;
  stopStage = options.stopAfter.empty() ? stageIndex(emitStage)
                                        : stageIndex(options.stopAfter);
  int codegen = stageIndex(codegenStage);
  // A module is asked for: the last stage that leaves one.
  if (form == OutputForm::Mlir)
    stopStage = std::min(stopStage, codegen - 1);

  registerPasses();
  DialectRegistry registry;
  registerDialects(registry);
  // Without threads: the compilation may run in a process that forks, and a
  // log wants passes one at a time.
  context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  {
    MlirMessages messages(*context, sink, options.input);
    messages.setDefaultCode(
        llvm::StringRef(options.input).ends_with(".mlir") ? "W0110" : "W0400");
    if (!load())
      return finishLog(false);
  }
  if (!attachDevices(options, sink, *module) || !runPasses())
    return finishLog(false);
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
                   "found --placement-out with --stop-after=" +
                       options.stopAfter + "; possible: a stage from place on");
    return false;
  }
  llvm::Error error =
      writeFile(options.placementOut,
                placementFile(reported.placement, options.input));
  if (!error)
    return true;
  driver::report(sink, "W0104", options.input,
                 llvm::toString(std::move(error)));
  return false;
}

std::string Compilation::header() const {
  return modelHeader(described, llvm::sys::path::filename(options.input),
                     weirVersion);
}
