//===- ModelGraph.cpp - the nodes of a model file -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/ModelGraph.h"
#include "compiler/frontend/MappedFile.h"
#include "compiler/frontend/onnx/GraphOrder.h"
#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/onnx/ModelVerifier.h"
#include "compiler/frontend/tensorflow/InlineCalls.h"
#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"
#include "compiler/insight/GraphDefFile.h"

#include <functional>

using namespace weir;
using namespace weir::insight;

/// A node's first value has two names in a GraphDef; this is the one without a port.
static std::string valueOf(std::string tensor) {
  if (tensor.ends_with(":0"))
    tensor.resize(tensor.size() - 2);
  return tensor;
}

int64_t ModelGraph::producer(const std::string &value) const {
  auto it = byValue.find(value);
  if (it == byValue.end())
    it = byValue.find(valueOf(value));
  return it == byValue.end() ? -1 : int64_t(it->second);
}

int64_t ModelGraph::find(const std::string &name) const {
  auto it = byName.find(name);
  return it == byName.end() ? producer(name) : int64_t(it->second);
}

std::set<size_t> ModelGraph::cone(const std::vector<std::string> &values) const {
  std::set<size_t> found;
  std::vector<int64_t> open;
  for (const std::string &value : values)
    open.push_back(producer(value));
  while (!open.empty()) {
    int64_t at = open.back();
    open.pop_back();
    if (at < 0 || !found.insert(size_t(at)).second)
      continue;
    for (const std::string &input : nodes[at].inputs)
      open.push_back(producer(input));
    for (const std::string &control : nodes[at].controls)
      open.push_back(find(control));
  }
  return found;
}

std::map<std::string, std::vector<std::string>>
ModelGraph::callPrefixes(const std::set<size_t> &callers) const {
  constexpr size_t most = 1 << 14; // a file can nest calls without end
  std::map<std::string, std::vector<size_t>> bodies;
  for (size_t i = mainNodes; i < nodes.size(); ++i)
    bodies[nodes[i].inside].push_back(i);
  std::map<std::string, std::vector<std::string>> prefixes;
  std::vector<std::pair<std::string, std::string>> open; // function, prefix
  for (size_t at : callers)
    for (const std::string &function : nodes[at].calls)
      open.emplace_back(function, nodes[at].name + "/");
  for (size_t made = 0; !open.empty() && made < most; ++made) {
    auto [function, prefix] = std::move(open.back());
    open.pop_back();
    prefixes[function].push_back(prefix);
    constexpr size_t deepest = 4096;
    if (prefix.size() < deepest)
      for (size_t at : bodies[function])
        for (const std::string &inner : nodes[at].calls)
          open.emplace_back(inner, prefix + nodes[at].name + "/");
  }
  return prefixes;
}

static void index(ModelGraph &graph) {
  for (size_t i = 0; i < graph.mainNodes; ++i) {
    graph.byName.emplace(graph.nodes[i].name, i);
    for (const std::string &output : graph.nodes[i].outputs)
      if (!output.empty())
        graph.byValue.emplace(output, i);
  }
}

//===----------------------------------------------------------------------===//
// ONNX
//===----------------------------------------------------------------------===//

static GraphNode describe(const onnx::Node &node, const std::string &inside) {
  GraphNode made;
  made.name = onnx::displayName(node);
  made.op = std::string(node.op);
  made.inside = inside;
  made.isConstant = node.op == "Constant";
  for (std::string_view input : node.inputs)
    if (!input.empty())
      made.inputs.emplace_back(input);
  for (const onnx::NodeAttribute &attr : node.attributes)
    for (const auto &graph : attr.graphs)
      for (std::string_view name : onnx::freeNames(*graph))
        made.inputs.emplace_back(name);
  made.outputs.assign(node.outputs.begin(), node.outputs.end());
  return made;
}

static void addInner(const onnx::Node &node, const std::string &inside, ModelGraph &graph) {
  for (const onnx::NodeAttribute &attr : node.attributes)
    for (const auto &inner : attr.graphs)
      for (const onnx::Node &child : inner->nodes) {
        graph.nodes.push_back(describe(child, inside));
        addInner(child, inside, graph);
      }
}

std::optional<ModelGraph> insight::readOnnxGraph(const std::string &path,
                                                 const FrontendFlagValues &, DiagnosticSink &sink,
                                                 Calls) {
  std::string error;
  std::unique_ptr<MappedFile> mapped = MappedFile::open(path, error);
  if (!mapped) {
    sink.report({"W0101", path, "", "", "cannot be read: " + error, {}});
    return std::nullopt;
  }
  std::unique_ptr<onnx::Model> model = onnx::readModel(mapped->bytes(), path, sink);
  // Brings nodes into an order that runs.
  if (!model || !onnx::verifyModel(*model, path, sink))
    return std::nullopt;
  ModelGraph graph;
  const onnx::Graph &main = model->graph;
  for (const onnx::Tensor &tensor : main.initializers)
    graph.constants.emplace(tensor.name);
  for (const onnx::SparseTensor &tensor : main.sparseInitializers)
    graph.constants.emplace(tensor.values.name);
  for (const onnx::ValueInfo &input : main.inputs)
    if (!graph.constants.count(std::string(input.name)))
      graph.inputs.emplace_back(input.name);
  for (const onnx::ValueInfo &output : main.outputs)
    graph.outputs.emplace_back(output.name);
  for (const onnx::Node &node : main.nodes)
    graph.nodes.push_back(describe(node, ""));
  graph.mainNodes = graph.nodes.size();
  for (const onnx::Node &node : main.nodes)
    addInner(node, onnx::displayName(node), graph);
  for (const onnx::Function &function : model->functions)
    for (const onnx::Node &node : function.nodes) {
      graph.nodes.push_back(describe(node, std::string(function.name)));
      addInner(node, std::string(function.name), graph);
    }
  std::set<std::string> functions;
  for (const onnx::Function &function : model->functions)
    functions.emplace(function.name);
  for (GraphNode &node : graph.nodes)
    if (functions.count(node.op))
      node.calls.push_back(node.op);
  index(graph);
  return graph;
}

//===----------------------------------------------------------------------===//
// TensorFlow
//===----------------------------------------------------------------------===//

/// Nodes within the frames of loops, and what gives or takes dead values: their outputs
/// are not one tensor a run.
static std::vector<bool> inFrames(const tf::Graph &graph) {
  std::vector<bool> inside(graph.nodes.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t at : graph.order) {
      const tf::Node &node = graph.nodes[at];
      bool isInside = node.op == "Enter" || node.op == "RefEnter" || node.op == "Switch" ||
                      node.op == "RefSwitch";
      for (tf::Edge input : node.inputs)
        isInside |= inside[input.node];
      for (uint32_t control : node.controls)
        isInside |= inside[control];
      // Values leave a loop by Exit, a condition by Merge.
      if (node.op == "Exit" || node.op == "RefExit")
        isInside = false;
      if (isInside && !inside[at]) {
        inside[at] = true;
        changed = true;
      }
    }
  }
  return inside;
}

/// The functions of the file that a node names: its operation, or attributes.
static std::vector<std::string> callsOf(std::string_view op, const std::vector<tf::Attr> &attrs,
                                        const tf::Library &library) {
  std::vector<std::string> calls;
  auto add = [&](std::string_view name) {
    if (library.find(name))
      calls.emplace_back(name);
  };
  add(op);
  for (const auto &[key, value] : attrs) {
    if (value.kind == tf::AttrValue::Kind::Func)
      add(value.s);
    if (value.list)
      for (const tf::AttrValue &func : value.list->funcs)
        add(func.s);
  }
  return calls;
}

std::optional<ModelGraph> insight::readTensorFlowGraph(const std::string &path,
                                                       const FrontendFlagValues &flags,
                                                       DiagnosticSink &sink, Calls calls) {
  std::unique_ptr<GraphDefFile> opened =
      GraphDefFile::open(path, valuesOf(flags, tf::tagsFlag), sink);
  if (!opened)
    return std::nullopt;
  tf::Library library(opened->graph(), path, sink);
  std::optional<tf::Graph> resolved = tf::buildGraph(opened->graph(), library, path, sink);
  if (!resolved)
    return std::nullopt;
  std::optional<tf::InlinedGraph> inlined;
  if (calls == Calls::AreInlined) {
    inlined = tf::inlineCalls(*resolved, library, path, sink);
    if (!inlined)
      return std::nullopt;
    resolved = std::move(inlined->graph);
  }
  ModelGraph graph;
  std::vector<bool> isInFrame = inFrames(*resolved), isUsed(resolved->nodes.size(), false);
  auto value = [&](tf::Edge edge) {
    return std::string(resolved->nodes[edge.node].name) +
           (edge.port ? ":" + std::to_string(edge.port) : "");
  };
  for (uint32_t at : resolved->order) {
    const tf::Node &node = resolved->nodes[at];
    GraphNode made;
    made.name = std::string(node.name);
    made.op = std::string(node.op);
    made.isConstant = node.op == "Const";
    made.isFetchable = !isInFrame[at];
    made.calls = callsOf(node.op, node.attrs, library);
    for (tf::Edge input : node.inputs) {
      made.inputs.push_back(value(input));
      isUsed[input.node] = true;
    }
    for (uint32_t control : node.controls) {
      made.controls.emplace_back(resolved->nodes[control].name);
      isUsed[control] = true;
    }
    for (uint32_t port = 0; port < node.outputTypes.size(); ++port) {
      tf::DataType type = node.outputTypes[port];
      made.isOpaque.push_back(type == tf::DataType::Resource || type == tf::DataType::Variant);
      made.outputs.push_back(value({at, port}));
    }
    if (node.op == "Placeholder" || node.op == "PlaceholderV2")
      graph.inputs.push_back(made.name);
    graph.nodes.push_back(std::move(made));
  }
  graph.mainNodes = graph.nodes.size();
  for (uint32_t at : resolved->order)
    if (!isUsed[at] && !resolved->nodes[at].outputTypes.empty())
      graph.outputs.push_back(value({at, 0}));
  if (const tf::SavedModel *saved = opened->savedModel())
    for (const tf::Signature &signature : saved->signatures) {
      if (signature.outputs.empty() || signature.key.starts_with("__saved_model"))
        continue;
      graph.signatures.push_back(signature.key);
      for (const tf::SignatureTensor &output : signature.outputs)
        graph.signatureOutputs[signature.key].push_back(valueOf(output.tensor));
      for (const tf::SignatureTensor &input : signature.inputs)
        graph.signatureInputs[signature.key].emplace_back(input.name, valueOf(input.tensor));
    }
  for (const tf::FunctionDef &function : opened->graph().functions)
    for (const tf::NodeDef &node : function.nodes) {
      GraphNode made;
      made.name = std::string(node.name);
      made.op = std::string(node.op);
      made.inside = std::string(function.name);
      made.isConstant = node.op == "Const";
      for (std::string_view input : node.inputs)
        made.inputs.emplace_back(input);
      made.calls = callsOf(node.op, node.attrs, library);
      made.isFetchable = false;
      graph.nodes.push_back(std::move(made));
    }
  index(graph);
  return graph;
}
