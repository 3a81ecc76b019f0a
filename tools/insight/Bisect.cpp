//===- Bisect.cpp - where an optimised program goes wrong -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/insight/Bisect.h"

#include "compiler/driver/Driver.h"
#include "compiler/insight/FormatTools.h"
#include "compiler/insight/ModelTypes.h"
#include "tools/common/Compare.h"

#include <algorithm>

using namespace weir;
using namespace weir::tools;

namespace {

/// What a part may have at most; larger ones are no help.
constexpr size_t mostPartNodes = 10;

class Bisection {
public:
  Bisection(const insight::ModelGraph &graph, NodeRuns &runs, const BisectOptions &options,
            BisectResult &result, DiagnosticSink &sink)
      : graph(graph), runs(runs), options(options), result(result), sink(sink) {
    tolerance.relative = options.tolerance;
    tolerance.absolute = 1e-7;
  }

  bool run();

private:
  /// The first of `values` that differs in this variant, "": none. Others may be fetched
  /// beside them. False after a report.
  bool firstDifference(int64_t limit, const std::vector<std::string> &fetched,
                       const std::vector<std::string> &judged, std::string &value,
                       std::string &difference);
  bool findPass();
  bool findNode();
  bool cutPart();
  bool tryPart(const std::set<size_t> &nodes, bool &differs);
  std::set<size_t> grown(const std::set<size_t> &nodes) const;
  const HostTensor *known(const std::string &value);

  const insight::ModelGraph &graph;
  NodeRuns &runs;
  const BisectOptions &options;
  BisectResult &result;
  DiagnosticSink &sink;
  Tolerance tolerance;
  std::vector<std::string> own, all;
  NamedTensors reference;
  std::vector<std::string> passes;
  int64_t limit = -1; ///< of passes, with which it differs
};

bool Bisection::firstDifference(int64_t passLimit, const std::vector<std::string> &fetched,
                                const std::vector<std::string> &judged, std::string &value,
                                std::string &difference) {
  NamedTensors got;
  ++result.compilations;
  value.clear();
  if (!runs.run({passLimit, false, true}, fetched, got, sink))
    return false;
  for (const std::string &name : judged) {
    const HostTensor *mine = findTensor(got, name), *other = findTensor(reference, name);
    if (!mine || !other)
      continue;
    if (auto found = compareTensors(*mine, converted(*other, mine->dtype), tolerance)) {
      value = name;
      difference = *found;
      return true;
    }
  }
  return true;
}

/// The fewest passes with which it differs; it is assumed that more do not undo it.
bool Bisection::findPass() {
  std::string value, difference;
  if (!firstDifference(0, own, own, value, difference))
    return false;
  if (!value.empty()) {
    limit = 0;
    return true;
  }
  int64_t good = 0, bad = int64_t(passes.size());
  while (bad - good > 1) {
    int64_t middle = (good + bad) / 2;
    if (!firstDifference(middle, own, own, value, difference))
      return false;
    (value.empty() ? good : bad) = middle;
  }
  limit = bad;
  result.pass = passes[bad - 1];
  result.passIndex = bad;
  return true;
}

bool Bisection::findNode() {
  std::vector<std::string> fetched = all;
  for (const std::string &name : own)
    if (std::find(fetched.begin(), fetched.end(), name) == fetched.end())
      fetched.push_back(name);
  if (!firstDifference(limit, fetched, fetched, result.value, result.valueDifference))
    return false;
  if (result.value.empty()) {
    // What is fetched is not fused: one value at a time, then.
    size_t good = 0, bad = all.size();
    std::string value, difference;
    auto differs = [&](size_t at, bool &answer) {
      std::vector<std::string> one = own;
      if (std::find(own.begin(), own.end(), all[at]) == own.end())
        one.push_back(all[at]);
      if (!firstDifference(limit, one, {all[at]}, value, difference))
        return false;
      answer = !value.empty();
      if (answer) {
        result.value = value;
        result.valueDifference = difference;
      }
      return true;
    };
    while (good < bad) {
      size_t middle = (good + bad) / 2;
      bool answer = false;
      if (!differs(middle, answer))
        return false;
      if (answer)
        bad = middle;
      else
        good = middle + 1;
    }
  }
  if (result.value.empty()) {
    result.value = result.fetch;
    result.valueDifference = result.difference;
  }
  if (int64_t at = graph.producer(result.value); at >= 0) {
    result.node = graph.nodes[at].name;
    result.operation = graph.nodes[at].op;
  }
  return true;
}

const HostTensor *Bisection::known(const std::string &value) {
  if (const HostTensor *tensor = findTensor(reference, value))
    return tensor;
  // A feed goes by its value's name, or by that of its signature.
  std::string fed = value;
  if (auto named = graph.signatureInputs.find(runs.options().entries[0].signature);
      named != graph.signatureInputs.end())
    for (const auto &[name, of] : named->second)
      if (of == value)
        fed = name;
  for (const auto &[name, tensor] : runs.feeds())
    if (name == fed)
      return &tensor;
  return nullptr;
}

/// The nodes with those beside them.
std::set<size_t> Bisection::grown(const std::set<size_t> &nodes) const {
  std::set<size_t> more = nodes;
  std::set<std::string> made;
  for (size_t at : nodes) {
    for (const std::string &input : graph.nodes[at].inputs)
      if (int64_t by = graph.producer(input); by >= 0 && !graph.nodes[by].isConstant)
        more.insert(size_t(by));
    made.insert(graph.nodes[at].outputs.begin(), graph.nodes[at].outputs.end());
  }
  std::set<size_t> needed = graph.cone(own);
  for (size_t i = 0; i < graph.mainNodes; ++i)
    for (const std::string &input : graph.nodes[i].inputs)
      if (made.count(input) && needed.count(i))
        more.insert(i);
  // Inputs of the model are no nodes of a part.
  for (auto it = more.begin(); it != more.end();)
    it = std::find(graph.inputs.begin(), graph.inputs.end(), graph.nodes[*it].name) !=
                 graph.inputs.end()
             ? more.erase(it)
             : std::next(it);
  return more;
}

bool Bisection::tryPart(const std::set<size_t> &nodes, bool &differs) {
  insight::CutRequest request;
  request.areValues = true;
  std::set<std::string> made, used;
  for (size_t at : nodes)
    for (const std::string &output : graph.nodes[at].outputs)
      made.insert(output);
  auto addOnce = [](std::vector<std::string> &list, const std::string &name) {
    if (!name.empty() && std::find(list.begin(), list.end(), name) == list.end())
      list.push_back(name);
  };
  for (size_t at : nodes)
    for (const std::string &input : graph.nodes[at].inputs) {
      int64_t by = graph.producer(input);
      bool isConstant = graph.constants.count(input) || (by >= 0 && graph.nodes[by].isConstant);
      if (!made.count(input) && !isConstant && !input.empty())
        addOnce(request.from, input);
    }
  // What leaves the part, and what nothing in it uses.
  for (size_t i = 0; i < graph.mainNodes; ++i)
    for (const std::string &input : graph.nodes[i].inputs)
      used.insert(input);
  std::set<std::string> usedInside;
  for (size_t at : nodes)
    usedInside.insert(graph.nodes[at].inputs.begin(), graph.nodes[at].inputs.end());
  for (size_t at : nodes)
    for (const std::string &output : graph.nodes[at].outputs) {
      bool isOwn = std::find(own.begin(), own.end(), output) != own.end();
      if (!usedInside.count(output) ? isOwn || used.count(output) : isOwn)
        addOnce(request.to, output);
    }
  if (request.to.empty())
    return true;
  insight::CutSummary summary;
  driver::Options whole = runs.options();
  DiagnosticSink unheard;
  auto types = [&](const std::vector<std::string> &values, std::vector<TensorInfo> &found) {
    return insight::findTypes(whole, values, unheard, found);
  };
  const insight::FormatTools *format = insight::formatToolsFor(whole.input, unheard);
  if (!format)
    return true;
  std::string file = options.output + format->suffix, error;
  if (!format->cut(whole.input, whole.frontendFlags, request, types, file, unheard, summary))
    return true;
  NamedTensors feeds;
  for (size_t i = 0; i < summary.inputs.size(); ++i) {
    auto variable = summary.variables.find(summary.inputs[i]);
    const HostTensor *tensor = variable == summary.variables.end()
                                   ? known(summary.sources[i])
                                   : runs.variable(variable->second);
    if (!tensor)
      return true;
    feeds.emplace_back(summary.inputs[i], *tensor);
  }
  std::string arrays = options.output + ".npz";
  if (!writeNpzFile(arrays, feeds, error)) {
    sink.report({"W0707", arrays, "", "", "cannot be written: " + error, {}});
    return false;
  }
  result.part = file;
  result.partInputs = arrays;
  result.partNodes.clear();
  for (size_t at : nodes)
    result.partNodes.push_back(graph.nodes[at].name);

  driver::Options part = whole;
  part.input = file;
  part.entries.clear();
  part.shapes.clear();
  part.dims.clear();
  part.frontendFlags.clear();
  for (const auto &[name, tensor] : feeds)
    if (!tensor.dims.empty())
      part.shapes[name] = tensor.dims;
  std::optional<insight::ModelGraph> partGraph = insight::readModelGraph(file, {}, unheard);
  if (!partGraph)
    return true;
  NodeRuns partRuns(part, *partGraph);
  NamedTensors got, want;
  if (!partRuns.addInputs({arrays}, unheard))
    return true;
  result.compilations += 2;
  if (!partRuns.run({0, false, false}, summary.outputs, want, unheard) ||
      !partRuns.run({}, summary.outputs, got, unheard))
    return true;
  for (auto &[name, tensor] : got)
    if (const HostTensor *other = findTensor(want, name))
      differs |= compareTensors(tensor, *other, tolerance).has_value();
  return true;
}

/// Grows a part around the node until it differs by itself.
bool Bisection::cutPart() {
  int64_t at = graph.producer(result.value);
  if (options.output.empty() || at < 0)
    return true;
  std::set<size_t> nodes = {size_t(at)};
  while (true) {
    bool differs = false;
    if (!tryPart(nodes, differs))
      return false;
    if (differs) {
      result.partDiffers = true;
      return true;
    }
    std::set<size_t> more = grown(nodes);
    if (more == nodes || more.size() > mostPartNodes)
      return true;
    nodes = std::move(more);
  }
}

bool Bisection::run() {
  std::vector<std::string> skipped;
  own = runs.ownFetches();
  all = runs.fetchable(skipped, sink);
  NamedTensors got;
  // First of all the program as users have it; it is what the feeds are known by, too.
  if (!runs.run({}, own, got, sink))
    return false;
  std::vector<std::string> asked = all;
  for (const std::string &name : own)
    if (std::find(asked.begin(), asked.end(), name) == asked.end())
      asked.push_back(name);
  if (!options.reference.values(runs, asked, reference, sink))
    return false;
  if (!firstDifference(-1, own, own, result.fetch, result.difference))
    return false;
  result.differs = !result.fetch.empty();
  if (!result.differs)
    return true;
  passes = driver::optionalPasses();
  result.passCount = int64_t(passes.size());
  return findPass() && findNode() && cutPart();
}

} // namespace

bool weir::tools::bisect(const driver::Options &options, const BisectOptions &asked,
                         BisectResult &result, DiagnosticSink &sink) {
  std::optional<insight::ModelGraph> graph = insight::readModelGraph(
      options.input, options.frontendFlags, sink, insight::Calls::AreInlined);
  if (!graph)
    return false;
  NodeRuns runs(options, *graph);
  return runs.addInputs(asked.inputs, sink) && Bisection(*graph, runs, asked, result, sink).run();
}
