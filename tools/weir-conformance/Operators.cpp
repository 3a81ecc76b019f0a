//===- Operators.cpp - which operators a model holds ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/Operators.h"

#include <set>

using namespace weir;
using namespace weir::conformance;

namespace {

using Names = std::set<std::string>;

void collect(const std::vector<onnx::Node> &nodes, Names &names) {
  for (const onnx::Node &node : nodes) {
    bool standard = node.domain.empty() || node.domain == "ai.onnx";
    names.insert(standard ? std::string(node.op)
                          : std::string(node.domain) + "." + std::string(node.op));
    for (const onnx::NodeAttribute &attribute : node.attributes)
      for (const std::unique_ptr<onnx::Graph> &graph : attribute.graphs)
        collect(graph->nodes, names);
  }
}

void collect(const std::vector<tf::NodeDef> &nodes, Names &names) {
  for (const tf::NodeDef &node : nodes)
    names.emplace(node.op);
}

} // namespace

std::vector<std::string> weir::conformance::operatorsOf(const onnx::Model &model) {
  Names names;
  collect(model.graph.nodes, names);
  for (const onnx::Function &function : model.functions)
    collect(function.nodes, names);
  if (names.size() > 1)
    names.erase("Constant");
  return {names.begin(), names.end()};
}

std::vector<std::string> weir::conformance::operatorsOf(const tf::GraphDef &graph) {
  Names names;
  collect(graph.nodes, names);
  for (const tf::FunctionDef &function : graph.functions)
    collect(function.nodes, names);
  for (const char *glue : {"Const", "Placeholder", "NoOp", "Identity"})
    if (names.size() > 1)
      names.erase(glue);
  return {names.begin(), names.end()};
}
