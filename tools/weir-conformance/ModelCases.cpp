//===- ModelCases.cpp - models with recorded inputs and outputs -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NAME.io/inputs.npz and outputs.npz; keys are `index|tensor name`: an ONNX
// value's name, a GraphDef's node:port, an input of a SavedModel's
// serving_default.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/CompiledCase.h"
#include "tools/weir-conformance/Operators.h"
#include "tools/weir-conformance/RaggedRows.h"
#include "tools/weir-conformance/TensorFlowGraph.h"
#include "tools/weir-conformance/Tolerances.h"

#include "compiler/frontend/onnx/ModelReader.h"

#include <filesystem>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

/// Takes the `index|` off the keys.
std::string readTensors(const fs::path &path, NamedTensors &tensors) {
  std::string error;
  if (!readNpzFile(path.string(), tensors, error))
    return path.filename().string() + ": " + error;
  for (auto &[name, tensor] : tensors) {
    size_t bar = name.find('|');
    if (bar != std::string::npos && name.find_first_not_of("0123456789") == bar)
      name.erase(0, bar + 1);
  }
  return "";
}

/// Whether the graph's own inputs that are no initializers are those given: an
/// initializer that is fed needs an entry that says so. Lists the operators.
bool isDefaultEntry(const std::string &path, NamedTensors &given,
                    std::vector<std::string> &operators) {
  std::string error;
  std::unique_ptr<MappedFile> file = MappedFile::open(path, error);
  DiagnosticSink sink;
  auto model = file ? onnx::readModel(file->bytes(), path, sink) : nullptr;
  if (!model)
    return true;
  operators = operatorsOf(*model);
  for (const onnx::Tensor &tensor : model->graph.initializers)
    if (findTensor(given, tensor.name))
      return false;
  return true;
}

/// The folder NAME.io of a case: its id names it, its path may be a version
/// below it.
fs::path dataFolder(const Case &test) {
  fs::path path = test.path;
  if (fs::is_directory(path)) {
    if (fs::is_directory(path.string() + ".io"))
      return path.string() + ".io";
    return path.parent_path().string() + ".io";
  }
  return path.replace_extension(".io");
}

/// Compiles; where only the rank of feeds is open, with the flags that settle
/// it.
std::optional<Verdict> compileWithShapes(driver::Options options, const NamedTensors &given,
                                         CompiledCase &compiled) {
  auto verdict = compileCase(options, compiled);
  if (!verdict || verdict->reason.find("W0253") == std::string::npos)
    return verdict;
  for (const auto &[name, tensor] : given)
    options.shapes[name] = tensor.dims;
  return compileCase(options, compiled);
}

Verdict runRecorded(const Case &test, std::vector<std::string> &operators) {
  NamedTensors given, wanted;
  fs::path data = dataFolder(test);
  std::string problem = readTensors(data / "inputs.npz", given);
  if (problem.empty())
    problem = readTensors(data / "outputs.npz", wanted);
  if (!problem.empty())
    return Verdict::failed(problem);

  driver::Options options;
  options.input = test.path;
  options.name = "model";
  EntrySpec entry;
  entry.name = "main";
  bool spelledOut = false;
  if (fs::is_directory(test.path)) {
    entry.name = entry.signature = "serving_default";
    spelledOut = true;
  } else if (test.path.ends_with(".onnx")) {
    if (!isDefaultEntry(test.path, given, operators)) {
      for (auto &[name, tensor] : given)
        entry.feeds.push_back({name, name});
      for (auto &[name, tensor] : wanted)
        entry.fetches.push_back({name, name});
      spelledOut = true;
    }
  } else {
    TensorFlowGraph graph;
    std::string error;
    if (test.path.ends_with(".pb") && !graph.open(test.path, error))
      return Verdict::failed(error);
    operators = operatorsOf(graph.graph);
    for (auto &[name, tensor] : given)
      entry.feeds.push_back(feedOf(graph, name, name, tensor));
    for (auto &[name, tensor] : wanted)
      entry.fetches.push_back({name, name});
    spelledOut = true;
  }
  if (spelledOut)
    options.entries.push_back(std::move(entry));

  CompiledCase compiled;
  if (auto verdict = compileWithShapes(options, given, compiled))
    return *verdict;
  if (auto verdict = openSession(compiled))
    return *verdict;
  // One run: it may change what the session keeps.
  std::vector<HostTensor> feeds;
  if (auto verdict = collectFeeds(compiled.session->entries()[0], given, feeds))
    return *verdict;
  NamedTensors got;
  if (auto verdict = runEntry(compiled, 0, feeds, got))
    return *verdict;
  for (auto &[name, tensor] : wanted) {
    NamedTensors parts;
    if (tensor.dtype == WEIR_STRING && !findTensor(got, name) && isRagged(got, name)) {
      problem = readRaggedRows(name, tensor, got, parts);
      if (!problem.empty())
        return Verdict::failed(problem);
    } else {
      parts.emplace_back(name, tensor);
    }
    for (const auto &part : parts)
      if (auto verdict = compareAll(got, {part}, modelTolerance(part.second.dtype)))
        return *verdict;
  }
  return {};
}

} // namespace

Verdict weir::conformance::runModel(const Case &test) {
  std::vector<std::string> operators;
  Verdict verdict = runRecorded(test, operators);
  verdict.operators = std::move(operators);
  return verdict;
}
