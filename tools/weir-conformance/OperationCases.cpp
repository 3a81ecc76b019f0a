//===- OperationCases.cpp - single TensorFlow operations, text graphs -----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// <Op>/<case>.pb with <case>.npz: `in/<placeholder>`, `out/<node>:<port>`.
// And text GraphDefs beside an expect.tsv that says what TensorFlow does with
// them: imports, or refuses.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/CompiledCase.h"
#include "tools/weir-conformance/TensorFlowGraph.h"
#include "tools/weir-conformance/Tolerances.h"

#include "tools/common/Files.h"

#include <filesystem>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

Verdict runOperationGraph(const Case &test, const std::string &operation) {
  NamedTensors tensors, given, wanted;
  std::string error;
  fs::path data = test.path;
  data.replace_extension(".npz");
  if (!readNpzFile(data.string(), tensors, error))
    return Verdict::failed(data.filename().string() + ": " + error);
  TensorFlowGraph graph;
  if (!graph.open(test.path, error))
    return Verdict::failed(error);

  driver::Options options;
  options.input = test.path;
  options.name = "model";
  EntrySpec entry;
  entry.name = "main";
  for (auto &[key, tensor] : tensors) {
    if (key.starts_with("in/")) {
      std::string name = key.substr(3);
      entry.feeds.push_back(feedOf(graph, name + ":0", name, tensor));
      given.emplace_back(name, std::move(tensor));
    } else if (key.starts_with("out/")) {
      std::string name = key.substr(4);
      entry.fetches.push_back({name, name});
      wanted.emplace_back(name, std::move(tensor));
    }
  }
  options.entries.push_back(std::move(entry));

  CompiledCase compiled;
  if (auto verdict = compileCase(options, compiled))
    return *verdict;
  if (auto verdict = openSession(compiled))
    return *verdict;
  std::vector<HostTensor> feeds;
  if (auto verdict = collectFeeds(compiled.session->entries()[0], given, feeds))
    return *verdict;
  NamedTensors got;
  if (auto verdict = runEntry(compiled, 0, feeds, got))
    return *verdict;
  for (auto &[name, tensor] : wanted)
    if (auto verdict =
            compareAll(got, {{name, tensor}}, operationTolerance(operation, given, tensor)))
      return *verdict;
  return {};
}

/// Compiles as far as the options say. Where only the rank of feeds is open,
/// the flags that settle it are tried: what they are is not the file's
/// business.
bool importsWithShapes(const driver::Options &options, DiagnosticSink &sink) {
  driver::Result result;
  if (driver::compile(options, sink, result))
    return true;
  std::vector<std::string> feeds;
  for (const Diagnostic &diagnostic : sink.diagnostics()) {
    size_t open = diagnostic.message.find('"');
    size_t close = diagnostic.message.find('"', open + 1);
    if (diagnostic.code != "W0253" || close == std::string::npos)
      return false;
    feeds.push_back(diagnostic.message.substr(open + 1, close - open - 1));
  }
  for (size_t rank : {0, 1, 2, 4}) {
    driver::Options bound = options;
    for (const std::string &feed : feeds)
      bound.shapes[feed] = ShapeSpec(rank, -1);
    DiagnosticSink ignored;
    if (driver::compile(bound, ignored, result))
      return true;
  }
  return false;
}

} // namespace

Verdict weir::conformance::runOperation(const Case &test) {
  std::string operation = fs::path(test.path).parent_path().filename().string();
  Verdict verdict = runOperationGraph(test, operation);
  verdict.operators = {operation};
  return verdict;
}

Verdict weir::conformance::runGraphImport(const Case &test) {
  fs::path file = test.path;
  std::string table, error, outcome, reason;
  if (!readFile((file.parent_path() / "expect.tsv").string(), table, error))
    return Verdict::failed("expect.tsv: " + error);
  for (std::string_view line : splitLines(table)) {
    std::vector<std::string_view> fields = splitFields(line, '\t');
    if (fields.size() >= 2 && fields[0] == file.filename().string()) {
      outcome = fields[1];
      reason = fields.size() > 2 ? fields[2] : "";
    }
  }
  if (outcome.empty())
    return Verdict::failed("expect.tsv does not list the file");

  driver::Options options;
  options.input = test.path;
  options.name = "model";
  options.stopAfter = driver::stageNames().front();
  DiagnosticSink sink;
  bool imports = importsWithShapes(options, sink);
  if (outcome == "imports")
    return imports ? Verdict() : verdictOfRefusal(sink);
  // What TensorFlow refuses only for the spelling of a name, or because it
  // does not know an operation, may be taken.
  bool mayBeTaken = reason.find("invalid characters") != std::string::npos ||
                    reason.find("Op type not registered") != std::string::npos;
  if (imports && !mayBeTaken)
    return Verdict::failed("imports; TensorFlow refuses it: " + reason);
  if (!imports && sink.errorCount() == 0)
    return Verdict::failed("refused without a diagnostic");
  return {};
}
