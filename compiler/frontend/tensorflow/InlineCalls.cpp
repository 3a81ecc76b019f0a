//===- InlineCalls.cpp - bodies in the place of calls ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/InlineCalls.h"

#include <algorithm>

using namespace weir;
using namespace weir::tf;

namespace {

class Inliner {
public:
  Inliner(InlinedGraph &made, const Library &library, const std::string &file, DiagnosticSink &sink)
      : made(made), graph(made.graph), library(library), file(file), sink(sink) {}

  bool run();

private:
  /// What a call calls, and with which attributes; null: none, or none that is inlined.
  const FunctionDef *callee(const Node &node, std::vector<Attr> &attrs) const;
  bool inlineCall(uint32_t at);

  InlinedGraph &made;
  Graph &graph;
  const Library &library;
  const std::string &file;
  DiagnosticSink &sink;
  /// Of each node the functions that it came from, as places in `origins`; -1: the graph.
  std::vector<int64_t> originOf;
  std::vector<std::pair<const FunctionDef *, int64_t>> origins;
};

const FunctionDef *Inliner::callee(const Node &node, std::vector<Attr> &attrs) const {
  if (node.callee) {
    attrs = node.attrs;
    return node.callee;
  }
  if (node.op != "PartitionedCall" && node.op != "StatefulPartitionedCall")
    return nullptr;
  const AttrValue *function = node.attr("f");
  if (!function || function->kind != AttrValue::Kind::Func)
    return nullptr;
  if (function->funcAttrs)
    attrs = *function->funcAttrs;
  return library.find(function->s);
}

bool Inliner::inlineCall(uint32_t at) {
  std::vector<Attr> attrs;
  const FunctionDef *function = callee(graph.nodes[at], attrs);
  if (!function)
    return true;
  for (int64_t origin = originOf[at]; origin >= 0; origin = origins[origin].second)
    if (origins[origin].first == function)
      return true;
  std::optional<Graph> body = instantiate(*function, attrs, library, file, sink);
  if (!body)
    return false;
  if (body->args.size() != graph.nodes[at].inputs.size() ||
      body->rets.size() != graph.nodes[at].outputTypes.size() ||
      std::any_of(body->nodes.begin(), body->nodes.end(), [](const Node &node) {
        return node.op == "Enter" || node.op == "RefEnter" || node.op == "SymbolicGradient";
      }))
    return true;
  origins.emplace_back(function, originOf[at]);
  int64_t origin = int64_t(origins.size()) - 1;

  // Numbers of the body's nodes in the graph; its arguments are the call's inputs.
  std::vector<int64_t> argOf(body->nodes.size(), -1), place(body->nodes.size(), -1);
  for (size_t i = 0; i < body->args.size(); ++i)
    argOf[body->args[i]] = int64_t(i);
  uint32_t next = uint32_t(graph.nodes.size());
  for (size_t i = 0; i < body->nodes.size(); ++i)
    if (argOf[i] < 0)
      place[i] = next++;
  const Node call = graph.nodes[at];
  auto edge = [&](Edge inside) -> Edge {
    if (argOf[inside.node] >= 0)
      return call.inputs[argOf[inside.node]];
    return {uint32_t(place[inside.node]), inside.port};
  };
  auto addOnce = [](std::vector<uint32_t> &list, uint32_t node) {
    if (std::find(list.begin(), list.end(), node) == list.end())
      list.push_back(node);
  };
  std::string prefix = std::string(call.name) + "/";
  std::vector<uint32_t> effects;
  for (size_t i = 0; i < body->nodes.size(); ++i) {
    if (argOf[i] >= 0)
      continue;
    Node node = std::move(body->nodes[i]);
    node.name = made.names.emplace_back(prefix + std::string(node.name));
    if (node.device.empty())
      node.device = call.device;
    for (Edge &input : node.inputs)
      input = edge(input);
    std::vector<uint32_t> controls;
    for (uint32_t control : node.controls)
      if (argOf[control] < 0)
        addOnce(controls, uint32_t(place[control]));
    for (uint32_t control : call.controls)
      addOnce(controls, control);
    node.controls = std::move(controls);
    // Names in it are those of the function.
    std::erase_if(node.attrs, [](const Attr &attr) { return attr.first == "_class"; });
    if (node.def && node.def->isStateful && node.op != "Placeholder")
      effects.push_back(uint32_t(place[i]));
    graph.byName.emplace(node.name, uint32_t(graph.nodes.size()));
    graph.nodes.push_back(std::move(node));
    originOf.push_back(origin);
  }
  for (uint32_t control : body->controlRets)
    if (argOf[control] < 0)
      addOnce(effects, uint32_t(place[control]));

  Node &result = graph.nodes[at];
  result.op = "IdentityN";
  result.def = findOp("IdentityN");
  result.callee = nullptr;
  result.inputs.clear();
  for (Edge ret : body->rets)
    result.inputs.push_back(edge(ret));
  for (uint32_t effect : effects)
    addOnce(result.controls, effect);
  auto types = std::make_shared<AttrValue::List>();
  types->kind = AttrValue::Kind::Type;
  for (DataType type : result.outputTypes)
    types->ints.push_back(int64_t(type));
  AttrValue list;
  list.kind = AttrValue::Kind::List;
  list.list = std::move(types);
  result.attrs = {{"T", std::move(list)}};
  if (result.inputs.empty()) {
    result.op = "NoOp";
    result.def = findOp("NoOp");
    result.attrs.clear();
  }
  return true;
}

bool Inliner::run() {
  // A limit, not a promise: bodies are copied for each call.
  constexpr size_t mostNodes = 1 << 20;
  originOf.assign(graph.nodes.size(), -1);
  for (uint32_t at = 0; at < graph.nodes.size() && graph.nodes.size() < mostNodes; ++at)
    if (!inlineCall(at))
      return false;
  graph.order.clear();
  return sortGraph(graph, file, sink);
}

} // namespace

std::optional<InlinedGraph> weir::tf::inlineCalls(const Graph &graph, const Library &library,
                                                  const std::string &file, DiagnosticSink &sink) {
  std::optional<InlinedGraph> made(std::in_place);
  made->graph = graph;
  if (!Inliner(*made, library, file, sink).run())
    return std::nullopt;
  return made;
}
