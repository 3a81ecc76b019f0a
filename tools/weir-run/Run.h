//===- Run.h - what weir-run does -------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One command line for two programs: weir-run itself runs shared libraries and starts at once;
// weir-run-model, which it hands over to, compiles, and has the loader bring LLVM and MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIRRUN_RUN_H
#define WEIR_TOOLS_WEIRRUN_RUN_H

#include "tools/weir-run/Settings.h"
#include "tools/weir-run/Trace.h"

#include <memory>
#include <optional>
#include <string>

namespace weir::tools {

/// What takes the compiler. What fails is told to `sink`.
class ModelTools {
public:
  virtual ~ModelTools() = default;

  /// Compiles in memory, and links the object. Null after a report.
  virtual std::unique_ptr<LoadedModel> load(const driver::Options &options, JitListener listener,
                                            DiagnosticSink &sink) = 0;
  /// Writes --tensorboard's file of the model that was loaded last.
  virtual bool writeTensorBoard(const Settings &settings, const TraceRecorder &recorder,
                                const Session &session, DiagnosticSink &sink) = 0;
  /// The values of nodes instead of a run's results.
  virtual bool showNumbers(const Settings &settings, DiagnosticSink &sink) = 0;
  /// As driver::deviceProfile.
  virtual std::optional<std::string> deviceProfile(const std::string &type, std::string &why) = 0;
};

/// The whole program, for main. `tools` null: what takes them is left to the program that has
/// them (HandOver.h).
int runTool(int argc, char **argv, ModelTools *tools);

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIRRUN_RUN_H
