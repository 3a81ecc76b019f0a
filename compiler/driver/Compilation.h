//===- Compilation.h - one compilation, stage by stage ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_COMPILATION_H
#define WEIR_COMPILER_DRIVER_COMPILATION_H

#include "compiler/driver/Driver.h"
#include "compiler/driver/IrDump.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/PlantedFault.h"
#include "compiler/driver/Target.h"
#include "compiler/driver/TuneFile.h"
#include "compiler/emit/CodeUnits.h"
#include "compiler/emit/Descriptors.h"
#include "compiler/emit/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace weir {
struct CpuOptions;
struct DeviceProfile;
class DeviceBackend;
class Frontend;
} // namespace weir

namespace weir::driver {

/// What a compilation is to leave behind.
enum class OutputForm { Object, Archive, SharedObject, Mlir, LlvmIr, Assembly };

/// Whether the model computes with tensors of bytes: only then does it matter what
/// multiplies them.
bool hasBytes(mlir::ModuleOp module);

/// Whether it computes with f16 or bf16, and all of it on CPUs.
bool computesHalvesOnCpu(mlir::ModuleOp module, const Options &options);

/// The program for one of several processors.
struct Variant {
  Target target;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  Program program;
};

class Compilation {
public:
  Compilation(const Options &options, DiagnosticSink &sink);

  /// Runs all stages that `form` and --stop-after ask for. False when the sink
  /// holds an error; then nothing else is to be used.
  bool run(OutputForm form);

  /// Before run(): who follows its passes; called once for each stage.
  using Follower = std::function<std::unique_ptr<mlir::PassInstrumentation>()>;
  void follow(Follower follower) { followers.push_back(std::move(follower)); }
  /// After run(): what the last stage that is made of passes left. Null before.
  mlir::ModuleOp ir() { return module ? *module : mlir::ModuleOp(); }

  /// After run(): whether `text` is the output, because a stage before the last
  /// was asked for, or a form that is text.
  bool isText() const { return textOutput; }
  llvm::SmallVector<char, 0> &bytes() { return output; }
  Program &program() { return described; }
  Report &report() { return reported; }
  const std::string &prefix() const { return name; }
  /// Files of the model beside options.input, as importers found them.
  const std::set<std::string> &modelFiles() const { return files; }
  /// With --debug-info: what each line of the file that debuggers show says.
  const std::vector<std::string> &nodeLines() const { return debugLines; }
  std::string header() const;
  /// What is to become of options.tuneFile, "": it stays as it is.
  std::string tunedText() const;

private:
  bool checkOptions();
  bool load();
  bool hasFlags(const Frontend &frontend);
  bool checkPrecision();
  bool areBound(const std::set<std::string> &offered);
  bool runStage(const Stage &stage);
  bool runPassesOf(const Stage &stage);
  bool runPasses();
  void takeFigures();
  /// Tells the passes what the target's registers and tiles are like.
  void describeTarget();
  void countOperations();
  void leaveText(std::string text);
  bool writePlacement();
  bool finishLog(bool good);
  // Tuning.cpp
  bool checkTuning();
  /// Tells the passes what measurements say of tiles: those of the file, and of
  /// trials.
  bool chooseTiles();
  void noteTunedKernels();
  void searchChoices(const std::string &processor);
  // MemoryLimit.cpp
  bool planWithinLimit();
  bool checkMemoryLimit();
  // GenerateCode.cpp
  /// Code for devices that are no CPUs; `cpu` learns of their steps.
  bool generateAccelerators(CpuOptions &cpu);
  bool readProfiles(const DeviceBackend &backend, std::vector<DeviceProfile> &profiles);
  /// LLVM IR of the module, whose symbols begin with `prefix`. Constants that
  /// `described` has already stay where they are.
  bool translate(llvm::StringRef prefix);
  /// All but the LLVM IR that shapes the code.
  std::string codeFlags() const;
  /// Adds to the LLVM IR what an object needs beside it.
  bool describe(OutputForm form, DescriptorOptions descriptors);
  /// Optimises the module, or a copy of it, for those who look at it.
  void showOptimized(bool isCopy);
  bool generateCode(OutputForm form);
  /// Object code of the module, kernel by kernel, which is added to `units`.
  llvm::Error compileInUnits(std::vector<CodeUnit> &units);
  /// Makes `output` of the units.
  bool joinUnits(llvm::ArrayRef<CodeUnit> units);
  bool check(llvm::Error error);
  // Variants.cpp
  bool checkVariants(OutputForm form);
  /// Number of stages that all processors share.
  int sharedStages() const;
  bool generateVariants(OutputForm form);
  bool translateVariants();
  /// Takes a variant's place, which takes what was here.
  void exchange(Variant &variant);
  /// Those that code is generated for, for people.
  std::string processors() const;

  const Options &options;
  DiagnosticSink &sink;
  std::string name;
  Pipeline pipeline;
  std::set<std::string> files;
  std::vector<Target> targets; ///< further ones, the most demanding first
  Target target;               ///< that code is generated for
  PipelineLog log;
  bool logging = false;
  PlantedFault fault;
  std::vector<Follower> followers;
  int64_t optionalSeen = 0; ///< passes that may be left out and that were come to
  int stopStage = 0, nextStage = 0;
  std::optional<int64_t> memoryLimit; ///< bytes a device may use
  /// Bytes of a run's results on each device, known once a limit was planned for.
  std::map<int64_t, int64_t> resultBytes;

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<llvm::LLVMContext> llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;

  TuneFile tuneFile;
  std::vector<Variant> variants; ///< those before the last, translated
  Program described;
  bool isShared = false; ///< what is made is a shared object
  Report reported;
  llvm::SmallVector<char, 0> output;
  std::vector<std::string> debugLines;
  bool textOutput = false;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_COMPILATION_H
