//===- Work.h - what the stages of a compilation hand on --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_WORK_H
#define WEIR_COMPILER_DRIVER_WORK_H

#include "compiler/driver/Driver.h"
#include "compiler/driver/IrDump.h"
#include "compiler/driver/Options.h"
#include "compiler/driver/Target.h"
#include "compiler/emit/Program.h"
#include "compiler/emit/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weir::driver {

/// What a compilation is to leave behind.
enum class OutputForm { Object, Archive, SharedObject, Mlir, LlvmIr, Assembly };

/// The program for one processor.
struct ProcessorCode {
  Target target;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module; ///< from code generation to machine code
  Program program;
};

/// One compilation: what is asked for, and what there is of it so far.
struct Work {
  Work(const Options &options, DiagnosticSink &sink)
      : options(options), sink(sink), log(options.dumpIrDir, options.dumpIrFilter),
        isLogging(!options.dumpIrDir.empty() || options.timePasses) {}

  const Options &options;
  DiagnosticSink &sink;
  PipelineLog log;
  bool isLogging;
  std::string name; ///< what symbols begin with

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int nextStage = 0; ///< that the module has not been through
  int stopStage = 0; ///< the last that is asked for
  /// Files of the model beside options.input, as importers found them.
  std::set<std::string> files;

  /// A program for each processor of --cpu, the most demanding first. What does not depend
  /// on the processor is done for the last.
  std::vector<ProcessorCode> codes;
  ProcessorCode *code = nullptr; ///< the one that stages work for
  Target &target() { return code->target; }

  Report report;
  llvm::SmallVector<char, 0> output;
  bool isText = false; ///< `output` is text
  /// With --debug-info: what each line of the file that debuggers show says.
  std::vector<std::string> debugLines;

  /// Who follows passes; called once for each stage.
  using Follower = std::function<std::unique_ptr<mlir::PassInstrumentation>()>;
  std::vector<Follower> followers;
  int64_t optionalSeen = 0; ///< passes that may be left out and that were come to

  void leaveText(const std::string &text) {
    output.assign(text.begin(), text.end());
    isText = true;
  }
};

/// Number of operations of the weir dialect by name, for the report.
void countOperations(Work &work);

/// Tells passes what the target's registers and units are like; before the layout stage.
void describeTarget(Work &work);

/// What the code depends on beside the LLVM IR that shapes it.
std::string codeFlags(const Options &options, const Target &target);

/// Threads that the compilation may have, at least one.
int jobsOf(const Options &options);

/// Copies what passes noted on the module into the report.
void takeFigures(Work &work);

/// Whether the module computes with tensors of bytes: only then does it matter what
/// multiplies them.
bool hasBytes(mlir::ModuleOp module);

/// Whether it computes with f16 or bf16, and all of it on CPUs.
bool computesHalvesOnCpu(mlir::ModuleOp module, const Options &options);

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_WORK_H
