//===- LoadProgram.cpp - from a model or library to a program -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/LoadProgram.h"

#include "compiler/driver/Driver.h"

using namespace weir;
using namespace weir::tools;

std::unique_ptr<LoadedModel> weir::tools::loadProgram(const driver::Options &options,
                                                      DiagnosticSink &sink, Report *report,
                                                      JitListener listener) {
  if (isLibrary(options.input))
    return openProgram(options, sink);
  driver::Result result;
  if (!driver::compile(options, sink, result))
    return nullptr;
  if (report)
    *report = std::move(result.report);
  std::string error;
  std::unique_ptr<LoadedModel> model = LoadedModel::link(
      {result.object.data(), result.object.size()}, result.symbolPrefix, error, listener);
  if (!model)
    sink.report({"W0705", options.input, "", "", "the program cannot be loaded: " + error, {}});
  return model;
}
