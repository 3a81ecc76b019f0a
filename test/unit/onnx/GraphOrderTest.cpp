//===- GraphOrderTest.cpp -------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphOrder.h"

#include <gtest/gtest.h>

using namespace weir;
using namespace weir::onnx;

namespace {

Node make(std::string_view name, std::vector<std::string_view> inputs,
          std::vector<std::string_view> outputs) {
  Node node;
  node.name = name;
  node.op = "Op";
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

ValueInfo named(std::string_view name) {
  ValueInfo value;
  value.name = name;
  return value;
}

std::string order(Graph &graph, DiagnosticSink &sink) {
  orderGraph(graph, "m.onnx", sink);
  std::string names;
  for (const Node &node : graph.nodes)
    names += std::string(node.name) + " ";
  return names;
}

std::string firstFinding(Graph &graph) {
  DiagnosticSink sink;
  order(graph, sink);
  return sink.diagnostics().empty() ? "" : sink.diagnostics()[0].str();
}

TEST(GraphOrder, KeepsAnOrderThatRunsAndRepairsOneThatDoesNot) {
  Graph graph;
  graph.inputs.push_back(named("x"));
  graph.nodes.push_back(make("c", {"b", "a"}, {"c"}));
  graph.nodes.push_back(make("b", {"x"}, {"b"}));
  graph.nodes.push_back(make("a", {"x"}, {"a"}));
  DiagnosticSink sink;
  EXPECT_EQ(order(graph, sink), "b a c ");
  EXPECT_EQ(order(graph, sink), "b a c ");
  EXPECT_FALSE(sink.hasErrors());
}

TEST(GraphOrder, ASubgraphWaitsForWhatItTakesFromOutside) {
  Graph graph;
  graph.inputs.push_back(named("x"));
  Node outer = make("outer", {"x"}, {"y"});
  NodeAttribute attr;
  attr.graphs.push_back(std::make_unique<Graph>());
  attr.graphs[0]->nodes.push_back(make("inner", {"late"}, {"z"}));
  attr.graphs[0]->outputs.push_back(named("z"));
  outer.attributes.push_back(std::move(attr));
  graph.nodes.push_back(std::move(outer));
  graph.nodes.push_back(make("late", {"x"}, {"late"}));
  DiagnosticSink sink;
  EXPECT_EQ(order(graph, sink), "late outer ");
  EXPECT_FALSE(sink.hasErrors());
  EXPECT_EQ(freeNames(*graph.nodes[1].attributes[0].graphs[0]),
            (std::vector<std::string_view>{"late"}));
}

TEST(GraphOrder, NamesANodeOnACycle) {
  Graph graph;
  graph.nodes.push_back(make("behind", {"b"}, {"c"}));
  graph.nodes.push_back(make("a", {"b"}, {"a"}));
  graph.nodes.push_back(make("b", {"a"}, {"b"}));
  std::string found = firstFinding(graph);
  EXPECT_NE(found.find("W0310"), std::string::npos) << found;
  EXPECT_EQ(found.find("\"behind\" (Op)"), std::string::npos) << found;
}

TEST(GraphOrder, NamesTheNodeOfAMissingInput) {
  Graph graph;
  graph.nodes.push_back(make("a", {"nowhere"}, {"a"}));
  EXPECT_EQ(firstFinding(graph), "m.onnx: error W0309: node \"a\" (Op): found input \"nowhere\", "
                                 "which nothing defines");
}

TEST(GraphOrder, RefusesDuplicateNames) {
  Graph twice;
  twice.nodes.push_back(make("a", {}, {"a"}));
  twice.nodes.push_back(make("b", {}, {"a"}));
  EXPECT_NE(firstFinding(twice).find("W0308: node \"b\""), std::string::npos);
  Graph inputs;
  inputs.inputs.push_back(named("x"));
  inputs.inputs.push_back(named("x"));
  EXPECT_NE(firstFinding(inputs).find("W0308"), std::string::npos);
  Graph output;
  output.outputs.push_back(named("y"));
  EXPECT_NE(firstFinding(output).find("W0309"), std::string::npos);
}

TEST(GraphOrder, TakesAHundredThousandNodes) {
  std::vector<std::string> names;
  for (int i = 0; i <= 100000; ++i)
    names.push_back("v" + std::to_string(i));
  Graph graph;
  graph.inputs.push_back(named(names[0]));
  // In the worst order: last first.
  for (int i = 100000; i > 0; --i)
    graph.nodes.push_back(make(names[i], {names[i - 1]}, {names[i]}));
  DiagnosticSink sink;
  orderGraph(graph, "m.onnx", sink);
  EXPECT_FALSE(sink.hasErrors());
  EXPECT_EQ(graph.nodes.front().name, "v1");
}

} // namespace
