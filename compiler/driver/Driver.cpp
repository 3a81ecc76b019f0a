//===- Driver.cpp - from a model file to an object ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Driver.h"

#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/OptionalPasses.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/emit/ApiFunctions.h"
#include "compiler/emit/Descriptors.h"
#include "compiler/emit/ElfObject.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/MemoryPicture.h"
#include "dialects/weir/BlobStore.h"
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
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>
#include <mutex>
#include <set>

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

/// /dev/null, a pipe and the like, beside which nothing is written.
static bool isDevice(llvm::StringRef path) {
  return !llvm::sys::fs::is_directory(path) && OutputFile::writesInPlace(path);
}

/// What constants of the model's files are made of.
static llvm::Expected<llvm::ArrayRef<char>> bytesOf(BlobAttr blob) {
  return BlobStore::global().bytes(blob);
}

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

namespace {

/// Writes what a compilation left, all files or none.
class Outputs {
public:
  Outputs(const Options &options, DiagnosticSink &sink, Compilation &compilation,
          std::string output)
      : options(options), sink(sink), compilation(compilation), output(std::move(output)) {}

  bool writeText();
  /// Writes the constants, which is most of a large model's object; once, from any thread, or
  /// else writeBinary does it, which also reports what went wrong.
  void writeConstants(OutputForm form);
  bool writeBinary(OutputForm form);
  bool addWeights();
  bool addTuning();
  bool addDepfile();
  bool commit();

private:
  bool check(llvm::Error error, llvm::StringRef code = "W0104");
  bool add(llvm::StringRef path, llvm::StringRef text);
  bool addHeader();
  bool addNodeLines();
  bool addReport();
  bool link(OutputForm form, OutputFile &object);
  /// The output's path with another suffix.
  std::string beside(llvm::StringRef suffix) {
    llvm::SmallString<256> path(output);
    llvm::sys::path::replace_extension(path, suffix);
    return std::string(path);
  }

  const Options &options;
  DiagnosticSink &sink;
  Compilation &compilation;
  std::string output;
  std::optional<OutputFile> object;                        ///< or what becomes one of the others
  std::string problem;                                     ///< with the constants
  std::vector<OutputFile> files;                           ///< written, not yet under their names
  std::vector<std::pair<std::string, std::string>> linked; ///< from, to
};

} // namespace

bool Outputs::check(llvm::Error error, llvm::StringRef code) {
  if (!error)
    return true;
  report(sink, code, options.input, llvm::toString(std::move(error)));
  return false;
}

bool Outputs::add(llvm::StringRef path, llvm::StringRef text) {
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return check(file.takeError());
  if (!check(file->write({text.data(), text.size()})))
    return false;
  files.push_back(std::move(*file));
  return true;
}

/// Nothing lies beside a device.
bool Outputs::addHeader() { return isDevice(output) || add(beside(".h"), compilation.header()); }

/// What debuggers show of a program with --debug-info: a node a line.
bool Outputs::addNodeLines() {
  if (!options.debugInfo || isDevice(output))
    return true;
  std::string text;
  for (const std::string &line : compilation.nodeLines())
    text += line + "\n";
  return add(beside(".nodes"), text);
}

bool Outputs::addReport() {
  if (!options.report)
    return true;
  std::string folder = options.reportDir.empty() ? beside(".report") : options.reportDir;
  // As any other new folder: what the umask leaves.
  if (std::error_code code = llvm::sys::fs::create_directories(folder, /*IgnoreExisting=*/true,
                                                               llvm::sys::fs::perms::all_all)) {
    report(sink, "W0104", options.input, "cannot make " + folder + ": " + code.message());
    return false;
  }
  std::string picture = memoryPicture(compilation.report());
  llvm::outs() << compilation.report().text();
  return add(folder + "/report.txt", compilation.report().text()) &&
         add(folder + "/report.json", compilation.report().json()) &&
         (picture.empty() || add(folder + "/memory.html", picture));
}

bool Outputs::commit() {
  bool good = true;
  auto tell = [&](llvm::StringRef path) {
    if (good && options.verbose)
      llvm::errs() << "  wrote " << path << "\n";
  };
  for (OutputFile &file : files) {
    good &= check(file.commit());
    tell(file.path());
  }
  for (auto &[from, to] : linked) {
    if (std::error_code code = llvm::sys::fs::rename(from, to)) {
      report(sink, "W0104", options.input, "cannot write " + to + ": " + code.message());
      good = false;
    }
    tell(to);
  }
  return good;
}

bool Outputs::writeText() {
  llvm::StringRef text(compilation.bytes().data(), compilation.bytes().size());
  return add(output, text) && addTuning() && addDepfile() && commit();
}

bool Outputs::addWeights() {
  if (options.weightsFile.empty())
    return true;
  llvm::Expected<OutputFile> file = OutputFile::create(options.weightsFile);
  if (!file)
    return check(file.takeError());
  if (!check(writeWeights(compilation.program(), bytesOf, *file)))
    return false;
  files.push_back(std::move(*file));
  return true;
}

bool Outputs::addTuning() {
  std::string text = compilation.tunedText();
  return text.empty() || add(options.tuneFile, text);
}

/// A path as make reads it.
static std::string escaped(llvm::StringRef path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#' || c == '\\')
      text += '\\';
    if (c == '$')
      text += '$';
    text += c;
  }
  return text;
}

bool Outputs::addDepfile() {
  if (options.depfile.empty())
    return true;
  std::set<std::string> inputs = compilation.modelFiles();
  bool isFolder = llvm::sys::fs::is_directory(options.input);
  std::error_code ignored;
  for (llvm::sys::fs::recursive_directory_iterator at(options.input, ignored), end;
       isFolder && at != end && !ignored; at.increment(ignored))
    if (at->type() == llvm::sys::fs::file_type::regular_file)
      inputs.insert(at->path());
  if (!isFolder)
    inputs.insert(options.input);
  for (const std::string &file :
       {options.customOperations, options.devicesFile, options.placementFile, options.profileFile})
    if (llvm::sys::fs::is_regular_file(file))
      inputs.insert(file);
  if (!options.tune && !options.tuneFile.empty())
    inputs.insert(options.tuneFile);
  for (const auto &[type, profiles] : options.deviceProfiles)
    inputs.insert(profiles.begin(), profiles.end());
  std::string text = escaped(output) + ":";
  for (const std::string &file : inputs)
    text += " \\\n  " + escaped(file);
  return add(options.depfile, text + "\n");
}

bool Outputs::link(OutputForm form, OutputFile &object) {
  std::string temporary = object.temporaryPath() + ".linked";
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove(temporary); });
  llvm::StringRef stem = llvm::sys::path::stem(output);
  if (form == OutputForm::Archive) {
    if (!check(writeArchive(object.temporaryPath(), (stem + ".o").str(), temporary)))
      return false;
  } else {
    SharedObjectOptions shared;
    shared.soname = llvm::sys::path::filename(output).str();
    shared.exports.push_back("weir_plugin");
    for (const ApiFunction &api : apiFunctions(compilation.program(), /*isShared=*/true))
      shared.exports.push_back(api.symbol);
    if (!options.sharedRuntime) {
      llvm::Expected<std::string> library = findRuntimeLibrary(options.runtimeLibrary);
      if (!library)
        return check(library.takeError(), "W0111");
      shared.runtimeLibrary = *library;
      shared.runtimeArchives = options.runtimeArchives;
    }
    if (!check(linkSharedObject(object.temporaryPath(), temporary, shared), "W0111"))
      return false;
  }
  linked.emplace_back(temporary, output);
  bool good = addHeader() && addNodeLines() && addReport() && commit();
  linked.clear();
  return good;
}

void Outputs::writeConstants(OutputForm form) {
  // Archives and shared objects are made from an object that lies beside them.
  llvm::Expected<OutputFile> file =
      OutputFile::create(form == OutputForm::Object ? output : output + ".o");
  if (!file) {
    problem = llvm::toString(file.takeError());
    return;
  }
  object.emplace(std::move(*file));
  if (options.weightsFile.empty())
    if (llvm::Error error = writeObjectBlobs(compilation.program(), bytesOf, *object))
      problem = llvm::toString(std::move(error));
}

bool Outputs::writeBinary(OutputForm form) {
  if (!object && problem.empty())
    writeConstants(form);
  if (!problem.empty())
    return check(llvm::createStringError(problem));
  llvm::Error error = options.weightsFile.empty()
                          ? writeObject(compilation.program(), compilation.bytes(), *object)
                          : object->write(compilation.bytes());
  if (!check(std::move(error)) || !addWeights() || !addTuning() || !addDepfile())
    return false;
  if (form != OutputForm::Object)
    return link(form, *object);
  files.push_back(std::move(*object));
  object.reset();
  return addHeader() && addNodeLines() && addReport() && commit();
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
