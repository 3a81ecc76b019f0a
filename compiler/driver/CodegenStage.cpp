//===- CodegenStage.cpp - from the plan to LLVM IR ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Version.h"
#include "compiler/emit/Fingerprint.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

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

static bool readProfiles(const Work &work, const DeviceBackend &backend,
                         std::vector<DeviceProfile> &profiles) {
  for (const std::string &file : profilesFor(backend, work.options)) {
    DeviceBackend::Profiles form = backend.profiles();
    auto text = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
    std::string found =
        text ? backend.whyNotProfile((*text)->getBuffer()) : text.getError().message();
    if (!found.empty()) {
      driver::report(work.sink, "W0623", work.options.input,
                     "found " + form.flag + "=" + file + ": " + found + "; possible: " + form.form);
      return false;
    }
    profiles.push_back({file, (*text)->getBuffer().trim().str()});
  }
  return true;
}

/// Code for devices that are no CPUs; `cpu` learns of their steps.
static bool generateAccelerators(Work &work, CpuOptions &cpu) {
  const Options &options = work.options;
  DeviceCodeOptions how;
  how.prefix = work.name;
  how.precision = options.precision;
  how.optLevel = options.optLevel;
  if (work.isLogging)
    how.log = [&work](llvm::StringRef what, llvm::StringRef suffix, llvm::StringRef text) {
      work.log.end(what, suffix, text);
      work.log.begin({});
    };
  how.forecast = [&work](llvm::StringRef kernel, KernelForecast made) {
    work.report.forecasts[kernel.str()] = std::move(made);
  };
  work.report.deviceCode.clear(); // those of another processor's object are the same
  if (options.report)
    how.code = [&work](llvm::StringRef kernel, DeviceKernel code) {
      work.report.deviceCode[kernel.str()].push_back(std::move(code));
    };
  std::vector<StepRewriterFactory> factories;
  for (const DeviceBackend *backend : acceleratorBackends()) {
    how.targets = targetsFor(*backend, options);
    if (how.targets.empty())
      continue;
    how.profiles.clear();
    if (!readProfiles(work, *backend, how.profiles))
      return false;
    work.log.begin({});
    auto steps = backend->generate(*work.module, how, work.code->program);
    if (failed(steps)) {
      if (!work.sink.hasErrors())
        driver::report(work.sink, "W0199", options.input,
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

std::string driver::codeFlags(const Options &options, const Target &target) {
  std::string flags = (llvm::Twine(weirVersion) + " " + target.triple + " " + target.code.features +
                       " " + target.code.tuneCpu + " -O" + llvm::Twine(options.optLevel) + " " +
                       llvm::Twine(int(options.sanitizeAddress)))
                          .str();
  for (const DeviceBackend *backend : acceleratorBackends())
    if (std::string targets = targetsFor(*backend, options); !targets.empty())
      flags += " " + targets;
  return flags;
}

int driver::jobsOf(const Options &options) {
  return std::max(options.jobs ? options.jobs : int(std::thread::hardware_concurrency()), 1);
}

bool CodegenStage::run(Work &work) {
  const Options &options = work.options;
  DiagnosticSink &sink = work.sink;
  ProcessorCode &code = *work.code;
  work.log.setStage(name);
  for (const DeviceBackend *backend : allDeviceBackends())
    for (llvm::StringRef feature : backend->requiredFeatures(*work.module))
      requireFeature(options, code.target, feature);
  code.context = std::make_unique<llvm::LLVMContext>();
  code.context->setDiagnosticHandlerCallBack(handleLlvmMessage, &sink);
  {
    MlirMessages messages(*work.context, sink, options.input);
    messages.setDefaultCode(defaultCode);
    CpuOptions cpu;
    cpu.prefix = prefix;
    cpu.machine = code.target.machine.get();
    cpu.optLevel = options.optLevel;
    cpu.jobs = unsigned(jobsOf(options));
    cpu.sanitizeAddress = options.sanitizeAddress;
    cpu.nodeLines = &work.debugLines;
    if (options.debugInfo)
      cpu.debugFile =
          llvm::sys::path::stem(options.output.empty() ? defaultOutput(options) : options.output)
              .str() +
          ".nodes";
    // Code generation builds in dialects that nothing before it has loaded.
    work.context->loadAllAvailableDialects();
    if (beside && jobsOf(options) > 1)
      cpu.haveConstants = [this] { beside->begin(); };
    if (!generateAccelerators(work, cpu))
      return false;
    work.log.begin(*work.module);
    code.module = generateCpu(*work.module, cpu, *code.context, code.program);
    if (!code.module && !sink.hasErrors())
      driver::report(sink, "W0199", options.input, "code generation failed without saying why");
    if (!code.module || sink.hasErrors())
      return false;
  }
  if (limit && !limit->check(work))
    return false;
  code.program.name = work.name;
  code.program.requiredCpuFeatures = code.target.requiredFeatures;
  code.program.defaultThreads = options.threads;
  fingerprint(*code.module, codeFlags(options, code.target) + previous, code.program);
  return true;
}
