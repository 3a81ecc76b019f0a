//===- EmitStage.cpp - from LLVM IR to the bytes of an object --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Messages.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Version.h"
#include "compiler/emit/CodeUnits.h"
#include "compiler/emit/Descriptors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace weir;
using namespace weir::driver;

static bool check(Work &work, llvm::Error error) {
  if (!error)
    return !work.sink.hasErrors();
  driver::report(work.sink, "W0500", work.options.input, llvm::toString(std::move(error)));
  return false;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

static bool describe(Work &work, ProcessorCode &code, OutputForm form,
                     DescriptorOptions descriptors) {
  descriptors.compiler = weirVersion;
  // Looked for by its own name beside the program, wherever that is then.
  descriptors.weightsFile = llvm::sys::path::filename(work.options.weightsFile).str();
  descriptors.plugin = form == OutputForm::SharedObject && descriptors.symbol.empty();
  if (!check(work, emitDescriptors(code.program, descriptors, *code.module)))
    return false;
  setTargetAttributes(*code.module, code.target.code);
  if (work.isLogging)
    work.log.end("translate", code.module.get());
  return true;
}

/// Optimises the module, or a copy of it, for those who look at it.
static void showOptimized(Work &work, ProcessorCode &code, bool isCopy) {
  work.log.begin({});
  std::unique_ptr<llvm::Module> copy;
  if (isCopy)
    copy = llvm::CloneModule(*code.module);
  llvm::Module &seen = copy ? *copy : *code.module;
  optimizeKernels(seen, *code.target.machine, work.options.optLevel, work.options.sanitizeAddress);
  if (work.isLogging)
    work.log.end("optimize", &seen);
}

bool EmitStage::describe(Work &work) {
  const bool areSeveral = work.codes.size() > 1;
  DescriptorOptions seen;
  for (ProcessorCode &code : work.codes) {
    DescriptorOptions own;
    // Users see the last one's, which leads to the others.
    const bool isSeen = &code == &work.codes.back();
    if (isSeen)
      own = seen;
    if (areSeveral)
      own.cpu = code.target.name;
    if (!isSeen) {
      own.symbol = "weir.program." + cIdentifier(code.target.name);
      seen.variants.push_back(own.symbol);
    }
    if (!::describe(work, code, form, std::move(own)))
      return false;
    // Code that is to be read is one module. Otherwise that is made only to be
    // looked at.
    bool isOneModule = form == OutputForm::LlvmIr || form == OutputForm::Assembly ||
                       work.stopStage == stageIndex(codegenStage);
    if (isOneModule || !work.options.dumpIrDir.empty())
      showOptimized(work, code, /*isCopy=*/!isOneModule);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

/// Object code of the program, kernel by kernel, which is added to `units`; a thread does `beside`
/// meanwhile, or waits for its end. It may be null.
static llvm::Error compileInUnits(const Options &options, ProcessorCode &code, SideWork *beside,
                                  std::vector<CodeUnit> &units) {
  std::vector<std::string> kernels;
  llvm::StringSet<> known; // a kernel that nodes share has several rows
  for (const KernelInfo &kernel : code.program.kernels)
    if (!kernel.symbol.empty() && known.insert(kernel.symbol).second)
      kernels.push_back(kernel.symbol);
  // The sanitizer keeps tables of a module's functions and variables, DWARF those of a file.
  if (options.sanitizeAddress || options.debugInfo)
    kernels.clear();
  std::vector<CodeUnit> made = splitKernels(*code.module, kernels, /*shares=*/options.optLevel > 0);
  made.insert(made.begin(), wholeUnit(*code.module));
  code.module.reset();

  std::optional<CodeCache> cache;
  std::string folder =
      options.cacheFolder == "default" ? CodeCache::defaultFolder() : options.cacheFolder;
  if (!folder.empty())
    cache.emplace(folder, options.cacheBytes ? options.cacheBytes : CodeCache::defaultLimit);
  UnitOptions how;
  how.machine = [&] { return makeMachine(options, code.target); };
  how.flags = codeFlags(options, code.target) + " LLVM " LLVM_VERSION_STRING " units 28";
  how.optLevel = options.optLevel;
  how.sanitizeAddress = options.sanitizeAddress;
  how.jobs = jobsOf(options);
  how.cache = cache ? &*cache : nullptr;
  if (beside && *beside)
    how.beside = [beside] { beside->finish(); };
  if (llvm::Error error = compileUnits(made, how))
    return error;
  llvm::move(made, std::back_inserter(units));
  return llvm::Error::success();
}

bool EmitStage::run(Work &work) {
  work.log.setStage(name);
  work.log.begin({});
  work.output.clear();
  if (form == OutputForm::Assembly) {
    work.isText = true;
    ProcessorCode &code = work.codes.back();
    if (!check(work, generateMachineCode(*code.module, *code.target.machine,
                                         llvm::CodeGenFileType::AssemblyFile, work.output)))
      return false;
  } else {
    std::vector<CodeUnit> units;
    // The program that users see is the first of the object.
    if (!check(work, compileInUnits(work.options, work.codes.back(), &beside, units)))
      return false;
    for (ProcessorCode &code : llvm::MutableArrayRef(work.codes).drop_back())
      if (!check(work, compileInUnits(work.options, code, /*beside=*/nullptr, units)))
        return false;
    if (!check(work, mergeUnits(units, work.output)))
      return false;
  }
  if (work.isLogging)
    work.log.end("machine-code", static_cast<llvm::Module *>(nullptr));
  if (work.isText)
    return true;
  work.report.codeBytes = work.output.size();
  work.report.objectBytes =
      work.output.size() +
      (work.options.weightsFile.empty() ? work.codes.back().program.blobBytes : 0);
  return true;
}
