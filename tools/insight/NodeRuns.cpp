//===- NodeRuns.cpp - values inside of a model, in runs -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/insight/NodeRuns.h"

#include "compiler/insight/ModelTypes.h"
#include "tools/common/LoadProgram.h"

#include <algorithm>

using namespace weir;
using namespace weir::tools;

NodeRuns::NodeRuns(const driver::Options &options, const insight::ModelGraph &graph)
    : base(options), model(graph) {
  base.name = "model";
  if (base.entries.empty()) {
    base.entries.emplace_back();
    base.entries[0].name = "main";
    if (!graph.signatures.empty()) {
      auto serving = std::find(graph.signatures.begin(), graph.signatures.end(), "serving_default");
      base.entries[0].signature =
          serving == graph.signatures.end() ? graph.signatures[0] : *serving;
    }
  }
  base.entries.resize(1);
}

bool NodeRuns::addInputs(const std::vector<std::string> &flags, DiagnosticSink &sink) {
  for (const std::string &flag : flags)
    if (!inputs.add(flag, sink))
      return false;
  return true;
}

driver::Options NodeRuns::with(const Variant &variant,
                               const std::vector<std::string> &values) const {
  driver::Options options = base;
  options.passLimit = variant.passLimit;
  options.computeInF64 = variant.computeInF64;
  if (!variant.hasFault)
    options.plantedFault.clear();
  // What is fetched beside the model's results may leave a test's fault no place.
  else if (!options.plantedFault.empty() && values != ownFetches())
    options.plantedFault.insert(0, "?");
  options.entries[0].fetches.clear();
  for (const std::string &value : values)
    options.entries[0].fetches.push_back({value, value});
  return options;
}

std::vector<std::string> NodeRuns::ownFetches() const {
  std::vector<std::string> values;
  for (const FetchSpec &fetch : base.entries[0].fetches)
    values.push_back(fetch.value);
  if (values.empty() && base.entries[0].signature.empty())
    values = model.outputs;
  if (values.empty())
    for (const auto &[signature, outputs] : model.signatureOutputs)
      if (signature == base.entries[0].signature)
        values = outputs;
  return values;
}

void NodeRuns::keepPossible(std::vector<std::string> values, std::vector<std::string> &kept,
                            std::vector<std::string> &skipped) {
  if (values.empty())
    return;
  DiagnosticSink unheard;
  std::vector<TensorInfo> types;
  driver::Options options = with({}, {});
  if (insight::findTypes(options, values, unheard, types)) {
    for (size_t i = 0; i < values.size(); ++i)
      (types[i].dtype == WEIR_INVALID ? skipped : kept).push_back(values[i]);
    return;
  }
  if (values.size() == 1) {
    skipped.push_back(values[0]);
    return;
  }
  auto middle = values.begin() + values.size() / 2;
  keepPossible({values.begin(), middle}, kept, skipped);
  keepPossible({middle, values.end()}, kept, skipped);
}

std::vector<std::string> NodeRuns::fetchable(std::vector<std::string> &skipped,
                                             DiagnosticSink &sink) {
  std::vector<std::string> own = ownFetches(), values, kept;
  std::set<size_t> needed = model.cone(own);
  for (size_t i = 0; i < model.mainNodes; ++i) {
    const insight::GraphNode &node = model.nodes[i];
    if (!needed.count(i) || node.isConstant)
      continue;
    bool isInput =
        std::find(model.inputs.begin(), model.inputs.end(), node.name) != model.inputs.end();
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty() && !isInput)
        (node.canFetch(k) ? values : skipped).push_back(node.outputs[k]);
  }
  keepPossible(values, kept, skipped);
  return kept;
}

bool NodeRuns::run(const Variant &variant, const std::vector<std::string> &values,
                   NamedTensors &results, DiagnosticSink &sink) {
  driver::Options options = with(variant, values);
  std::unique_ptr<LoadedModel> loaded = loadProgram(options, sink);
  if (!loaded)
    return false;
  RunStatus status;
  weir_session_options sessionOptions = WEIR_SESSION_OPTIONS_INIT;
  sessionOptions.threads = options.threads;
  std::unique_ptr<Session> session = Session::create(*loaded, sessionOptions, status);
  if (session) {
    const LoadedEntry &entry = session->entries()[0];
    std::vector<HostTensor> feeds;
    if (!inputs.checkNames(options.input, session->entries(), {entry.name}, sink) ||
        !inputs.collect(options.input, entry, feeds, sink))
      return false;
    lastFeeds.clear();
    for (size_t i = 0; i < feeds.size(); ++i)
      lastFeeds.emplace_back(entry.feeds[i].name, feeds[i]);
    NamedTensors held;
    auto hold = [&] {
      for (const std::string &name : session->variables()) {
        HostTensor value;
        if (!findTensor(held, name) && session->getVariable(name, value).ok())
          held.emplace_back(name, std::move(value));
      }
    };
    if (!hasVariables)
      hold();
    status = session->run(0, feeds, results);
    if (!hasVariables && status.ok()) {
      hold();
      firstVariables = std::move(held);
      hasVariables = true;
    }
  }
  if (!status.ok())
    sink.report({"W0704",
                 options.input,
                 "",
                 "",
                 "entry \"" + options.entries[0].name + "\" failed: " + status.text(),
                 {}});
  return status.ok();
}
