//===- TraceNode.cpp - weirc trace-node -----------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Driver.h"
#include "compiler/insight/NodeTrace.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "tools/weirc/Commands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace weir;
using namespace weir::tools;
using insight::NodeFate;

namespace {

llvm::json::Object jsonOf(const NodeFate &fate) {
  return llvm::json::Object{{"node", fate.node},
                            {"operation", fate.operation},
                            {"inside", fate.inside},
                            {"fate", insight::fateName(fate.fate)},
                            {"pass", fate.pass},
                            {"with", fate.with},
                            {"kernels", llvm::json::Array(fate.kernels)},
                            {"copies", llvm::json::Array(fate.copies)},
                            {"text", fate.text()}};
}

void print(llvm::json::Object object) {
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(object))) << "\n";
}

void printSteps(const std::vector<insight::PassStep> &steps) {
  for (const insight::PassStep &step : steps) {
    llvm::outs() << step.stage << '/' << step.pass;
    if (!step.why.empty())
      llvm::outs() << ": " << step.why;
    llvm::outs() << "\n";
    for (const std::string &line : step.before)
      if (std::find(step.after.begin(), step.after.end(), line) == step.after.end())
        llvm::outs() << "  - " << line << "\n";
    for (const std::string &line : step.after)
      if (std::find(step.before.begin(), step.before.end(), line) == step.before.end())
        llvm::outs() << "  + " << line << "\n";
  }
}

/// A line for each fate, and how many nodes have it.
void printAll(const insight::NodeTrace &trace, bool json) {
  std::map<std::string, int64_t> counts;
  for (const NodeFate &fate : trace.fates)
    ++counts[insight::fateName(fate.fate)];
  if (json) {
    llvm::json::Object totals;
    for (const auto &[name, count] : counts)
      totals[name] = count;
    llvm::json::Array nodes;
    for (const NodeFate &fate : trace.fates)
      nodes.push_back(jsonOf(fate));
    return print(llvm::json::Object{{"counts", std::move(totals)}, {"nodes", std::move(nodes)}});
  }
  for (const NodeFate &fate : trace.fates)
    llvm::outs() << fate.node << " (" << fate.operation << "): " << fate.text() << "\n";
  llvm::outs() << trace.fates.size() << " nodes:";
  for (const auto &[name, count] : counts)
    llvm::outs() << ' ' << count << ' ' << name;
  llvm::outs() << "\n";
}

} // namespace

int weir::tools::runTraceNode(int argc, char **argv) {
  driver::Options options;
  bool json = false;
  FlagParser parser("weirc trace-node", "MODEL [NODE] [flags]",
                    "Follows a node of a model through all passes, and says what became of it; "
                    "without NODE what became of each.");
  std::vector<std::string> arguments;
  parser.positionals("MODEL [NODE]", "a model as weirc takes it; a node's name", 1, 2, arguments);
  parser.group("Output");
  parser.flag("--json", "for programs", json);
  addEntryFlags(parser, options, driver::frontendFlags());
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  parser.exitCode(0, "the node was found");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  options.input = arguments[0];
  options.name = "model";
  std::string node = arguments.size() > 1 ? arguments[1] : "";
  DiagnosticSink sink;
  sink.setWarnings(options.warnings);
  std::optional<insight::ModelGraph> graph =
      insight::readModelGraph(options.input, options.frontendFlags, sink);
  insight::NodeTrace trace;
  bool good = graph && insight::traceNodes(options, *graph, {node}, sink, trace);
  printDiagnostics(sink);
  if (!good)
    return 1;
  if (node.empty()) {
    printAll(trace, json);
    return 0;
  }
  const NodeFate *found = nullptr;
  std::vector<std::string> names;
  for (const NodeFate &fate : trace.fates) {
    names.push_back(fate.node);
    names.insert(names.end(), fate.copies.begin(), fate.copies.end());
    if (!found && (fate.node == node || llvm::is_contained(fate.copies, node)))
      found = &fate;
  }
  if (!found) {
    std::string nearest = nearestTo(node, names);
    DiagnosticSink unknown;
    unknown.report({"W0151",
                    options.input,
                    "",
                    "",
                    "found NODE=" + node + ", and no node of that name" +
                        (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"),
                    {}});
    printDiagnostics(unknown);
    return 1;
  }
  if (!json) {
    llvm::outs() << found->node << " (" << found->operation << "): " << found->text() << "\n";
    printSteps(trace.steps);
    return 0;
  }
  llvm::json::Object object = jsonOf(*found);
  llvm::json::Array steps;
  for (const insight::PassStep &step : trace.steps)
    steps.push_back(llvm::json::Object{{"stage", step.stage},
                                       {"pass", step.pass},
                                       {"why", step.why},
                                       {"before", llvm::json::Array(step.before)},
                                       {"after", llvm::json::Array(step.after)}});
  object["steps"] = std::move(steps);
  print(std::move(object));
  return 0;
}
