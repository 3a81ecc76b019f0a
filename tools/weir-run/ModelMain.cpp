//===- ModelMain.cpp - weir-run-model -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weir-run with the compiler: what weir-run becomes where it is given a model.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/DeviceFlags.h"
#include "tools/common/LoadProgram.h"
#include "tools/common/Terminal.h"
#include "tools/weir-run/Drift.h"
#include "tools/weir-run/Run.h"
#include "tools/weir-run/TensorBoard.h"

using namespace weir;
using namespace weir::tools;

namespace {

class CompilerTools : public ModelTools {
public:
  std::unique_ptr<LoadedModel> load(const driver::Options &options, JitListener listener,
                                    DiagnosticSink &sink) override {
    return loadProgram(options, sink, &report, listener);
  }

  bool writeTensorBoard(const Settings &settings, const TraceRecorder &recorder,
                        const Session &session, DiagnosticSink &sink) override {
    return tools::writeTensorBoard(settings.tensorBoard, settings.options, report, recorder,
                                   session, sink);
  }

  bool showNumbers(const Settings &settings, DiagnosticSink &sink) override {
    if (!settings.steps.steps)
      return printNumerics(settings.options, settings.numerics, sink);
    return printDrift(settings.options, settings.numerics, settings.steps,
                      settings.entries.empty() ? "" : settings.entries.back(), sink);
  }

  std::optional<std::string> deviceProfile(const std::string &type, std::string &why) override {
    return driver::deviceProfile(type, why);
  }

private:
  Report report;
};

} // namespace

int main(int argc, char **argv) {
  CompilerTools made;
  return finishOutput(toolName, runTool(argc, argv, &made));
}
