//===- GenerateCode.cpp - from the plan to the bytes of an object ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/Version.h"
#include "compiler/emit/Fingerprint.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/Arranged.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <thread>

using namespace mlir;
using namespace weir;
using namespace weir::driver;

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

bool Compilation::readProfiles(const DeviceBackend &backend, std::vector<DeviceProfile> &profiles) {
  for (const std::string &file : profilesFor(backend, options)) {
    DeviceBackend::Profiles form = backend.profiles();
    auto text = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
    std::string found =
        text ? backend.whyNotProfile((*text)->getBuffer()) : text.getError().message();
    if (!found.empty()) {
      driver::report(sink, "W0623", options.input,
                     "found " + form.flag + "=" + file + ": " + found + "; possible: " + form.form);
      return false;
    }
    profiles.push_back({file, (*text)->getBuffer().trim().str()});
  }
  return true;
}

bool Compilation::generateAccelerators(CpuOptions &cpu) {
  DeviceCodeOptions how;
  how.prefix = name;
  how.precision = options.precision;
  how.optLevel = options.optLevel;
  if (logging)
    how.log = [this](llvm::StringRef what, llvm::StringRef suffix, llvm::StringRef text) {
      log.end(what, suffix, text);
      log.begin({});
    };
  how.forecast = [this](llvm::StringRef kernel, KernelForecast made) {
    reported.forecasts[kernel.str()] = std::move(made);
  };
  std::vector<StepRewriterFactory> factories;
  for (const DeviceBackend *backend : acceleratorBackends()) {
    how.targets = targetsFor(*backend, options);
    if (how.targets.empty())
      continue;
    how.profiles.clear();
    if (!readProfiles(*backend, how.profiles))
      return false;
    log.begin({});
    auto steps = backend->generate(*module, how, described);
    if (failed(steps)) {
      if (!sink.hasErrors())
        driver::report(sink, "W0199", options.input,
                       "code generation for " + backend->type() +
                           " devices failed without saying why");
      return false;
    }
    factories.push_back(*steps);
  }
  cpu.otherSteps = anyOf(std::move(factories));
  cpu.otherFunctions = [](OpBuilder &b, ModuleOp module) {
    for (const DeviceBackend *backend : allDeviceBackends())
      backend->declareFunctions(b, module);
  };
  return true;
}

bool Compilation::check(llvm::Error error) {
  if (!error)
    return !sink.hasErrors();
  driver::report(sink, "W0500", options.input, llvm::toString(std::move(error)));
  return false;
}

bool Compilation::translate(llvm::StringRef prefix) {
  log.setStage(codegenStage);
  for (const DeviceBackend *backend : allDeviceBackends())
    for (llvm::StringRef feature : backend->requiredFeatures(*module))
      requireFeature(options, target, feature);
  llvmContext = std::make_unique<llvm::LLVMContext>();
  llvmContext->setDiagnosticHandlerCallBack(handleLlvmMessage, &sink);
  {
    MlirMessages messages(*context, sink, options.input);
    messages.setDefaultCode(pipeline.codegen.defaultCode);
    CpuOptions cpu;
    cpu.prefix = prefix.str();
    cpu.machine = target.machine.get();
    cpu.optLevel = options.optLevel;
    cpu.sanitizeAddress = options.sanitizeAddress;
    cpu.nodeLines = &debugLines;
    if (options.debugInfo)
      cpu.debugFile =
          llvm::sys::path::stem(options.output.empty() ? defaultOutput(options) : options.output)
              .str() +
          ".nodes";
    // Code generation builds in dialects that nothing before it has loaded.
    context->loadAllAvailableDialects();
    if (!generateAccelerators(cpu))
      return false;
    log.begin(*module);
    llvmModule = generateCpu(*module, cpu, *llvmContext, described);
    if (!llvmModule && !sink.hasErrors())
      driver::report(sink, "W0199", options.input, "code generation failed without saying why");
    if (!llvmModule || sink.hasErrors())
      return false;
  }
  if (!checkMemoryLimit())
    return false;
  described.name = name;
  described.requiredCpuFeatures = target.requiredFeatures;
  described.defaultThreads = options.threads;
  return true;
}

std::string Compilation::codeFlags() const {
  std::string flags = (llvm::Twine(weirVersion) + " " + target.triple + " " + target.code.features +
                       " " + target.code.tuneCpu + " -O" + llvm::Twine(options.optLevel) + " " +
                       llvm::Twine(int(options.sanitizeAddress)))
                          .str();
  for (const DeviceBackend *backend : acceleratorBackends())
    if (std::string targets = targetsFor(*backend, options); !targets.empty())
      flags += " " + targets;
  return flags;
}

bool Compilation::describe(OutputForm form, DescriptorOptions descriptors) {
  descriptors.compiler = weirVersion;
  // Looked for by its own name beside the program, wherever that is then.
  descriptors.weightsFile = llvm::sys::path::filename(options.weightsFile).str();
  descriptors.plugin = form == OutputForm::SharedObject && descriptors.symbol.empty();
  isShared = form == OutputForm::SharedObject;
  if (!check(emitDescriptors(described, descriptors, *llvmModule)))
    return false;
  setTargetAttributes(*llvmModule, target.code);
  if (logging)
    log.end("translate", llvmModule.get());
  return true;
}

void Compilation::showOptimized(bool isCopy) {
  log.begin({});
  std::unique_ptr<llvm::Module> copy;
  if (isCopy)
    copy = llvm::CloneModule(*llvmModule);
  llvm::Module &seen = copy ? *copy : *llvmModule;
  optimize(seen, *target.machine, options.optLevel, options.sanitizeAddress);
  if (logging)
    log.end("optimize", &seen);
}

bool Compilation::generateCode(OutputForm form) {
  if (!translate(name))
    return false;
  fingerprint(*llvmModule, codeFlags(), described);
  if (!describe(form, {}))
    return false;
  // Code that is to be read is one module. Otherwise that is made only to be
  // looked at.
  bool isOneModule = form == OutputForm::LlvmIr || form == OutputForm::Assembly ||
                     stopStage == stageIndex(codegenStage);
  if (isOneModule || !options.dumpIrDir.empty())
    showOptimized(/*isCopy=*/!isOneModule);
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
  if (form == OutputForm::Assembly) {
    output.clear();
    textOutput = true;
    if (!check(generateMachineCode(*llvmModule, *target.machine,
                                   llvm::CodeGenFileType::AssemblyFile, output)))
      return false;
    if (logging)
      log.end("machine-code", static_cast<llvm::Module *>(nullptr));
    return true;
  }
  std::vector<CodeUnit> units;
  return check(compileInUnits(units)) && joinUnits(units);
}

bool Compilation::joinUnits(llvm::ArrayRef<CodeUnit> units) {
  if (!check(mergeUnits(units, output)))
    return false;
  if (logging)
    log.end("machine-code", static_cast<llvm::Module *>(nullptr));
  reported.codeBytes = output.size();
  reported.objectBytes = output.size() + (options.weightsFile.empty() ? described.blobBytes : 0);
  return true;
}

llvm::Error Compilation::compileInUnits(std::vector<CodeUnit> &units) {
  std::vector<std::string> kernels;
  llvm::StringSet<> known; // a kernel that nodes share has several rows
  for (const KernelInfo &kernel : described.kernels)
    if (!kernel.symbol.empty() && known.insert(kernel.symbol).second)
      kernels.push_back(kernel.symbol);
  // The sanitizer keeps tables of a module's functions and variables, DWARF those of a file.
  if (options.sanitizeAddress || options.debugInfo)
    kernels.clear();
  std::vector<CodeUnit> made = splitKernels(*llvmModule, kernels);
  made.insert(made.begin(), wholeUnit(*llvmModule));
  llvmModule.reset();

  std::optional<CodeCache> cache;
  std::string folder =
      options.cacheFolder == "default" ? CodeCache::defaultFolder() : options.cacheFolder;
  if (!folder.empty())
    cache.emplace(folder, options.cacheBytes ? options.cacheBytes : CodeCache::defaultLimit);
  UnitOptions how;
  how.machine = [&] { return makeMachine(options, target); };
  how.flags = codeFlags() + " LLVM " LLVM_VERSION_STRING " units 4";
  how.optLevel = options.optLevel;
  how.sanitizeAddress = options.sanitizeAddress;
  how.jobs = options.jobs ? options.jobs : int(std::thread::hardware_concurrency());
  how.cache = cache ? &*cache : nullptr;
  if (llvm::Error error = compileUnits(made, how))
    return error;
  llvm::move(made, std::back_inserter(units));
  return llvm::Error::success();
}
