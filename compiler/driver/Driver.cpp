//===- Driver.cpp - from a model file to an object ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Driver.h"

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/OptionalPasses.h"
#include "compiler/driver/Outputs.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/emit/Descriptors.h"
#include "compiler/emit/ElfObject.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>
#include <mutex>

using namespace weir;
using namespace weir::driver;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The model's name without folders and suffix.
static std::string inputStem(const Options &options) {
  llvm::StringRef path = options.input;
  while (path.size() > 1 && path.ends_with("/"))
    path = path.drop_back();
  bool isFolder = llvm::sys::fs::is_directory(options.input);
  return (isFolder ? llvm::sys::path::filename(path) : llvm::sys::path::stem(path)).str();
}

std::string driver::defaultOutput(const Options &options) {
  int stop = stageIndex(options.stopAfter);
  const char *suffix = ".o";
  if (stop >= 0 && stop < stageIndex(codegenStage))
    suffix = ".mlir";
  else if (stop == stageIndex(codegenStage))
    suffix = ".ll";
  return inputStem(options) + suffix;
}

std::string driver::symbolPrefix(const Options &options) {
  if (!options.name.empty())
    return options.name;
  std::string stem = options.output.empty() || options.output == "-"
                         ? inputStem(options)
                         : llvm::sys::path::stem(options.output).str();
  std::string name = cIdentifier(stem);
  // Of a name without a letter of C's nothing is left to read.
  if (llvm::none_of(name, llvm::isAlnum))
    name = "model";
  // weir_session_create and the like belong to the runtime.
  return llvm::StringRef(name).starts_with("weir") ? "m_" + name : name;
}

std::vector<std::string> driver::stageNames() {
  std::vector<std::string> names;
  for (const Stage *stage : stages())
    names.push_back(stage->name);
  return names;
}

std::vector<std::string> driver::optionalPasses() {
  std::vector<std::string> names;
  for (const Stage *stage : stages())
    for (const PipelinePass &pass : stage->passes)
      if (isOptionalPass(pass.pass))
        names.push_back(pass.pass);
  return names;
}

void driver::printPipeline(const Options &options, llvm::raw_ostream &os) {
  int last = options.stopAfter.empty() ? int(stages().size()) - 1 : stageIndex(options.stopAfter);
  for (int i = 0; i <= last; ++i) {
    const Stage &stage = *stages()[i];
    os << stage.name << ": " << stage.why << "\n";
    for (const PipelinePass &pass : stage.passes)
      os << "  " << pass.pass << ": " << pass.why << "\n";
  }
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void driver::registerDialects(mlir::DialectRegistry &registry) {
  registry
      .insert<WeirDialect, plan::WeirPlanDialect, mlir::arith::ArithDialect,
              mlir::cf::ControlFlowDialect, mlir::complex::ComplexDialect, mlir::func::FuncDialect,
              mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
              mlir::scf::SCFDialect, mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  for (const DeviceBackend *backend : allDeviceBackends())
    backend->registerDialects(registry);
}

void driver::registerPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    mlir::registerTransformsPasses();
    registerWeirPasses();
    for (const Stage *stage : stages()) {
      if (stage->passes.empty())
        continue;
      std::string text;
      for (const PipelinePass &pass : stage->passes)
        text += (text.empty() ? "" : ",") + std::string(pass.pass);
      mlir::PassPipelineRegistration<>("weir-stage-" + std::string(stage->name), stage->why,
                                       [text](mlir::OpPassManager &passes) {
                                         if (mlir::failed(mlir::parsePassPipeline(text, passes)))
                                           llvm::report_fatal_error(
                                               "a stage names a pass that is not there");
                                       });
    }
  });
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// The same text for all paths of a file, which need not be there yet; "" for
/// what is no regular file.
static std::string placeOf(llvm::StringRef path) {
  llvm::SmallString<256> place;
  if (!llvm::sys::fs::real_path(path, place))
    return llvm::sys::fs::is_regular_file(place) ? std::string(place) : "";
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (path.empty() || path == "-" || llvm::sys::fs::real_path(folder.empty() ? "." : folder, place))
    return "";
  llvm::sys::path::append(place, llvm::sys::path::filename(path));
  return std::string(place);
}

/// Whether weirc may write the header `path`: there is none, or it begins as ours do.
static bool isOurs(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFileSlice(path, 512, 0);
  return !buffer || (*buffer)->getBuffer().contains(". Written by weirc ");
}

static std::optional<OutputForm> formOf(llvm::StringRef output) {
  return llvm::StringSwitch<std::optional<OutputForm>>(llvm::sys::path::extension(output))
      .Case(".o", OutputForm::Object)
      .Case(".a", OutputForm::Archive)
      .Case(".so", OutputForm::SharedObject)
      .Case(".mlir", OutputForm::Mlir)
      .Case(".ll", OutputForm::LlvmIr)
      .Case(".s", OutputForm::Assembly)
      .Default(std::nullopt);
}

/// Whether no file that is written would take the place of the model or of
/// another one.
static bool areApart(const Options &options, llvm::StringRef output, DiagnosticSink &sink) {
  OutputForm form = formOf(output).value_or(OutputForm::Object);
  llvm::SmallString<256> header, nodes;
  if (options.stopAfter.empty() && (form == OutputForm::Object || form == OutputForm::Archive ||
                                    form == OutputForm::SharedObject)) {
    header = output;
    llvm::sys::path::replace_extension(header, ".h");
  }
  if (options.debugInfo && !header.empty()) {
    nodes = output;
    llvm::sys::path::replace_extension(nodes, ".nodes");
  }
  std::pair<std::string, std::string> files[] = {
      {"the model", options.input},        {"the output", output.str()},
      {"the header", std::string(header)}, {"the nodes of --debug-info", std::string(nodes)},
      {"--weights", options.weightsFile},  {"--placement-out", options.placementOut},
      {"--tune-file", options.tuneFile},   {"--depfile", options.depfile},
  };
  if (!header.empty() && !placeOf(header).empty() && !isDevice(output) && !isOurs(header)) {
    report(sink, "W0105", options.input,
           "found " + header +
               " where the header is to be written, which weirc has not written; expected -o with "
               "another name, or no such file");
    return false;
  }
  std::map<std::string, std::string> taken;
  for (auto &[what, path] : files) {
    std::string place = placeOf(path);
    if (place.empty())
      continue;
    auto [it, isNew] = taken.try_emplace(place, what);
    if (isNew)
      continue;
    report(sink, "W0105", options.input,
           "found " + path + " for " + what + ", which is " + it->second +
               " already; possible: another name");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

static void fillResult(Compilation &compilation, Result &result) {
  result.report = compilation.report();
  result.symbolPrefix = compilation.prefix();
  if (!compilation.isText())
    result.header = compilation.header();
}

bool driver::compile(const Options &options, DiagnosticSink &sink, Result &result) {
  OutputForm form = formOf(options.output).value_or(OutputForm::Object);
  // In memory an object is all that can be used.
  if (form == OutputForm::Archive || form == OutputForm::SharedObject)
    form = OutputForm::Object;
  Compilation compilation(options, sink);
  if (!compilation.run(form))
    return false;
  fillResult(compilation, result);
  Outputs tuning(options, sink, compilation, "");
  if (!tuning.addTuning() || !tuning.commit())
    return false;
  if (options.reportOnly)
    return true;
  if (!compilation.isText()) {
    if (!options.weightsFile.empty()) {
      Outputs outputs(options, sink, compilation, "");
      if (!outputs.addWeights() || !outputs.commit())
        return false;
    } else if (llvm::Error error =
                   insertBlobs(compilation.program(), bytesOf, compilation.bytes())) {
      report(sink, "W0104", options.input, llvm::toString(std::move(error)));
      return false;
    }
  }
  result.object = std::move(compilation.bytes());
  return true;
}

bool driver::compileToFiles(const Options &asked, DiagnosticSink &sink, Result *result) {
  std::string output = asked.output.empty() ? defaultOutput(asked) : asked.output;
  std::optional<OutputForm> form = formOf(output);
  if (!form && isDevice(output))
    form = OutputForm::Object;
  // What a stage left is text, whatever its file is called.
  if (!form && asked.stopAfter.empty()) {
    report(sink, "W0103", asked.input,
           "found the output " + output +
               "; possible: a name that ends in .o, .a, .so, .mlir, .ll or .s");
    return false;
  }
  Options options = asked;
  if (options.tune && options.tuneFile.empty()) {
    if (output == "-" || isDevice(output)) {
      report(sink, "W0132", options.input,
             "found --tune=" + llvm::Twine(options.tune) +
                 " without a file beside the output to write; possible: --tune-file=FILE");
      return false;
    }
    llvm::SmallString<256> beside(output);
    llvm::sys::path::replace_extension(beside, ".tune");
    options.tuneFile = std::string(beside);
  }
  if (!areApart(options, output, sink))
    return false;
  Compilation compilation(options, sink);
  if (form != OutputForm::SharedObject) {
    const char *why = "it is for a .so; possible: -o with a name that ends in .so";
    if (options.sharedRuntime)
      noEffect(sink, options.input, "--shared-runtime", why);
    if (!options.runtimeLibrary.empty())
      noEffect(sink, options.input, "--runtime-library", why);
    if (!options.runtimeArchives.empty())
      noEffect(sink, options.input, "--runtime-with", why);
  }
  bool isText = !options.stopAfter.empty() || form == OutputForm::Mlir ||
                form == OutputForm::LlvmIr || form == OutputForm::Assembly;
  if (isText) {
    const char *why = "the output is text; possible: -o with a name that ends in .o, .a or .so";
    if (!options.weightsFile.empty())
      noEffect(sink, options.input, "--weights", why);
    if (options.report)
      noEffect(sink, options.input, "--report", why);
  }
  if (!options.numericsFile.empty() && !options.report)
    noEffect(sink, options.input, "--numerics=" + options.numericsFile,
             "no report shows it; possible: with --report");
  if (options.cacheBytes && options.cacheFolder.empty())
    noEffect(sink, options.input, "--cache-size", "nothing is kept; possible: without --cache=off");
  const OutputForm wanted = form.value_or(OutputForm::Object);
  Outputs outputs(options, sink, compilation, output);
  if (!isText)
    compilation.doBeside([&] { outputs.writeConstants(wanted); });
  if (!compilation.run(wanted))
    return false;
  if (result)
    fillResult(compilation, *result);
  return compilation.isText() ? outputs.writeText() : outputs.writeBinary(wanted);
}
