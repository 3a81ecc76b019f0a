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
#include "compiler/driver/Target.h"
#include "compiler/emit/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace weir {
struct CpuOptions;
}

namespace weir::driver {

/// What a compilation is to leave behind.
enum class OutputForm { Object, Archive, SharedObject, Mlir, LlvmIr, Assembly };

class Compilation {
public:
  Compilation(const Options &options, DiagnosticSink &sink);

  /// Runs all stages that `form` and --stop-after ask for. False when the sink
  /// holds an error; then nothing else is to be used.
  bool run(OutputForm form);

  /// After run(): whether `text` is the output, because a stage before the last
  /// was asked for, or a form that is text.
  bool isText() const { return textOutput; }
  llvm::SmallVector<char, 0> &bytes() { return output; }
  Program &program() { return described; }
  Report &report() { return reported; }
  const std::string &prefix() const { return name; }
  std::string header() const;

private:
  bool checkOptions();
  bool load();
  bool runStage(const Stage &stage);
  bool runPasses();
  // MemoryLimit.cpp
  bool planWithinLimit();
  bool checkMemoryLimit();
  bool writePlacement();
  bool generateCode(OutputForm form);
  /// Object code of the module, kernel by kernel, into `output`.
  llvm::Error compileInUnits(llvm::StringRef flags);
  /// Code for devices that are no CPUs; `cpu` learns of their steps.
  bool generateAccelerators(CpuOptions &cpu);
  bool finishLog(bool good);
  void countOperations();
  void leaveText(std::string text);

  const Options &options;
  DiagnosticSink &sink;
  std::string name;
  Target target;
  PipelineLog log;
  bool logging = false;
  int stopStage = 0, nextStage = 0;
  std::optional<int64_t> memoryLimit; ///< bytes a device may use

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;

  Program described;
  Report reported;
  llvm::SmallVector<char, 0> output;
  bool textOutput = false;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_COMPILATION_H
