//===- Cut.cpp - weirc cut ------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/FormatTools.h"
#include "compiler/insight/ModelTypes.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "tools/weirc/Commands.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

using namespace weir;
using namespace weir::tools;

namespace {

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

} // namespace

int weir::tools::runCut(int argc, char **argv) {
  driver::Options options;
  insight::CutRequest request;
  bool json = false;
  FlagParser parser("weirc cut", "MODEL --from=NAME --to=NAME -o PART",
                    "Writes a part of a model as a model of its own.");
  std::vector<std::string> models;
  parser.positionals("MODEL", insight::editableFiles(), 1, 1, models);
  parser.group("The part");
  parser.value("--from", "NAME[,NAME…]",
               "where it begins: a node (the first of the part) or a value (which is fed). "
               "Repeatable; without: the model's inputs",
               listSetter(request.from));
  parser.value("--to", "NAME[,NAME…]",
               "where it ends: a node (the last of the part) or a value (which is fetched). "
               "Repeatable; without: the model's outputs",
               listSetter(request.to));
  parser.text("-o", "PART", "of the model's format: " + insight::writtenSuffixes(), options.output);
  parser.flag("--json", "for programs", json);
  addEntryFlags(parser, options, driver::frontendFlags());
  addWarningFlags(parser, options);
  parser.exitCode(0, "PART is written");
  parser.exitCode(1, "an error was printed, and nothing is written");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  options.input = models[0];
  options.name = "model";
  DiagnosticSink sink;
  sink.setWarnings(options.warnings);
  const insight::FormatTools *format = insight::formatToolsFor(options.input, sink);
  if (!format) {
    printDiagnostics(sink);
    return 1;
  }
  if (!options.output.ends_with(format->suffix)) {
    printError("weirc cut", "found -o '" + options.output + "'; possible: a name that ends in " +
                                format->suffix);
    return 1;
  }
  insight::CutSummary summary;
  auto types = [&](const std::vector<std::string> &values, std::vector<TensorInfo> &found) {
    return insight::findTypes(options, values, sink, found);
  };
  std::error_code ignored;
  bool good = false;
  if (std::filesystem::equivalent(options.input, options.output, ignored))
    sink.report({"W0105",
                 options.input,
                 "",
                 "",
                 "found " + options.output +
                     " for the output, which is the model already; "
                     "possible: another name",
                 {}});
  else
    good = format->cut(options.input, options.frontendFlags, request, types, options.output, sink,
                       summary);
  printDiagnostics(sink);
  if (!good)
    return 1;
  if (json) {
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                               {"part", options.output},
                                               {"nodes", summary.nodes},
                                               {"inputs", llvm::json::Array(summary.inputs)},
                                               {"outputs", llvm::json::Array(summary.outputs)},
                                               {"notes", llvm::json::Array(summary.notes)}}))
                 << "\n";
    return 0;
  }
  llvm::outs() << options.output << ": " << summary.nodes << " node"
               << (summary.nodes == 1 ? "" : "s") << ", from " << joined(summary.inputs) << " to "
               << joined(summary.outputs) << "\n";
  for (const std::string &note : summary.notes)
    llvm::outs() << "  note: " << note << "\n";
  return 0;
}
