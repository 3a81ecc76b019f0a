//===- Compilation.h - one compilation, stage by stage ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_COMPILATION_H
#define WEIR_COMPILER_DRIVER_COMPILATION_H

#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/PlantedFault.h"
#include "compiler/driver/Tuning.h"
#include "compiler/driver/Work.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace weir::driver {

class Compilation {
public:
  Compilation(const Options &options, DiagnosticSink &sink);

  /// Runs all stages that `form` and --stop-after ask for. False when the sink
  /// holds an error; then nothing else is to be used.
  bool run(OutputForm form);

  /// Before run(): who follows its passes.
  void follow(Work::Follower follower) { work.followers.push_back(std::move(follower)); }
  /// Before run(): what one of the compilation's threads does while code is generated, once
  /// program() has all its constants. It makes no attributes and types: passes run beside it.
  void doBeside(std::function<void()> work) { pipeline.emit.beside.set(std::move(work)); }
  /// After run(): what the last stage that is made of passes left. Null before.
  mlir::ModuleOp ir() { return work.module ? *work.module : mlir::ModuleOp(); }

  /// After run(): whether `text` is the output, because a stage before the last
  /// was asked for, or a form that is text.
  bool isText() const { return work.isText; }
  llvm::SmallVector<char, 0> &bytes() { return work.output; }
  Program &program() { return work.code->program; }
  Report &report() { return work.report; }
  const std::string &prefix() const { return work.name; }
  const std::set<std::string> &modelFiles() const { return work.files; }
  const std::vector<std::string> &nodeLines() const { return work.debugLines; }
  std::string header() const;
  /// What is to become of options.tuneFile, "": it stays as it is.
  std::string tunedText() const { return tuning.text(options); }

private:
  bool plantFault();
  bool selectProcessors(OutputForm form);
  bool runStages(OutputForm form);
  /// Stages that are made of passes, up to work.stopStage.
  bool runPasses();
  /// The same from work.nextStage on.
  bool runPassesOnce();
  /// A copy of the module that gradients are not yet made of; null where none is of a loop, or no
  /// plan has to stay within a limit.
  mlir::OwningOpRef<mlir::ModuleOp> loopsToDivide();
  /// Runs them once more on that copy, with loops that keep less for their gradients; what is
  /// better stays.
  bool divideLoops(mlir::OwningOpRef<mlir::ModuleOp> whole);
  void takeFigures();
  bool writePlacement();
  bool finishLog(bool good);
  // Variants.cpp
  bool checkVariants(OutputForm form);
  /// Number of stages that all processors share.
  int sharedStages();
  /// LLVM IR for each processor, of the module that they share.
  bool translateVariants();
  /// Those that code is generated for, for people.
  std::string processors() const;

  const Options &options;
  DiagnosticSink &sink;
  Work work;
  Pipeline pipeline;
  PlantedFault fault;
  MemoryLimit memoryLimit;
  Tuning tuning;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_COMPILATION_H
