//===- FormatTools.cpp - what can be done with a format's files -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/FormatTools.h"
#include "compiler/driver/Frontends.h"

using namespace weir;
using namespace weir::insight;

static constexpr FormatTools rows[] = {
    {"onnx", ".onnx", readOnnxGraph, cutOnnx, anonymizeOnnx},
    {"tensorflow", ".pb", readTensorFlowGraph, cutGraphDef, anonymizeGraphDef},
};

static const FormatTools *toolsOf(const Frontend &frontend) {
  for (const FormatTools &row : rows)
    if (frontend.name() == row.format)
      return &row;
  return nullptr;
}

const FormatTools *insight::formatToolsFor(const std::string &model, DiagnosticSink &sink) {
  std::string why;
  const Frontend *frontend = driver::formatOf(model, why);
  const FormatTools *tools = frontend ? toolsOf(*frontend) : nullptr;
  if (tools)
    return tools;
  if (frontend)
    why = "found a file of " + frontend->name().str() + "; expected " + editableFiles();
  sink.report({"W0102", model, "", "", why, {}});
  return nullptr;
}

std::string insight::editableFiles() {
  llvm::SmallVector<const Frontend *> edited = driver::allFrontends();
  llvm::erase_if(edited, [](const Frontend *frontend) { return !toolsOf(*frontend); });
  return possibleFiles(edited);
}

std::string insight::writtenSuffixes() {
  std::string text;
  for (const FormatTools &row : rows)
    text += (text.empty() ? "" : " or ") + std::string(row.suffix);
  return text;
}

std::optional<ModelGraph> insight::readModelGraph(const std::string &model,
                                                  const FrontendFlagValues &flags,
                                                  DiagnosticSink &sink, Calls calls) {
  const FormatTools *tools = formatToolsFor(model, sink);
  return tools ? tools->read(model, flags, sink, calls) : std::nullopt;
}
