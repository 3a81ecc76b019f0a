//===- GraphBuilderTest.cpp - names to numbers --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Graph.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "test/unit/tensorflow/GraphWriter.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace weir;
using namespace weir::tf;
using namespace weir::tf::test;

namespace {

/// A file, read and built; keeps what the graph looks into.
struct Built {
  std::string bytes, file = "m.pb";
  GraphDef def;
  DiagnosticSink sink;
  Library library;
  std::optional<Graph> graph;

  explicit Built(std::string contents) : bytes(std::move(contents)) {
    std::string error;
    EXPECT_TRUE(readGraphDef(bytes, def, error)) << error;
    library = Library(def, file, sink);
    graph = buildGraph(def, library, file, sink);
  }
  bool reports(const std::string &code, const std::string &node = "") const {
    return std::any_of(sink.diagnostics().begin(), sink.diagnostics().end(),
                       [&](const Diagnostic &d) { return d.code == code && d.node == node; });
  }
};

} // namespace

TEST(GraphBuilder, ResolvesEveryFormOfInput) {
  Built b(placeholder("x") +
          bytes(1, node("s", "Split", {"axis", "x"},
                        typeAttr("T", 1) + attr("num_split", number(3, 2)))) +
          bytes(1, node("axis", "Const", {},
                        typeAttr("dtype", 3) + attr("value", bytes(8, tensor(3, {}))))) +
          bytes(1, node("y", "Neg", {"s:1", "^x", "^x"}, typeAttr("T", 1))));
  ASSERT_TRUE(b.graph) << b.sink.diagnostics()[0].str();
  const Node &y = b.graph->nodes[3];
  ASSERT_EQ(y.inputs.size(), 1u);
  EXPECT_EQ(y.inputs[0], (Edge{1, 1}));
  EXPECT_EQ(y.controls, std::vector<uint32_t>{0}); // each once
}

TEST(GraphBuilder, FillsInStrippedDefaults) {
  Built b(placeholder("x") + placeholder("w") +
          bytes(1, node("c", "Conv2D", {"x", "w"},
                        typeAttr("T", 1) + attr("padding", bytes(2, "SAME")) +
                            attr("strides", bytes(1, bytes(3, "\1\1\1\1"))))));
  ASSERT_TRUE(b.graph);
  const Node &c = b.graph->nodes[2];
  ASSERT_TRUE(c.attr("data_format"));
  EXPECT_EQ(c.attr("data_format")->s, "NHWC");
  EXPECT_EQ(c.attr("dilations")->list->ints.size(), 4u);
}

TEST(GraphBuilder, ReportsEverythingThatIsWrong) {
  Built b(placeholder("x") + placeholder("x") + unary("a", "Neg", "nowhere") +
          unary("b", "Neg", "x:3") + bytes(1, node("c", "Neg", {"x"})));
  EXPECT_FALSE(b.graph);
  EXPECT_TRUE(b.reports("W0205", "x"));
  EXPECT_TRUE(b.reports("W0206", "a"));
  EXPECT_TRUE(b.reports("W0207", "b"));
  EXPECT_TRUE(b.reports("W0210", "c"));
}

TEST(GraphBuilder, NamesACycle) {
  Built b(unary("a", "Neg", "b") + unary("b", "Neg", "c") + unary("c", "Neg", "a"));
  EXPECT_FALSE(b.graph);
  ASSERT_EQ(b.sink.diagnostics().size(), 1u);
  EXPECT_EQ(b.sink.diagnostics()[0].code, "W0208");
  EXPECT_NE(b.sink.diagnostics()[0].notes[0].find("\"b\""), std::string::npos);
}

TEST(GraphBuilder, ALongChainNeedsNoStack) {
  std::string file = placeholder("n0");
  for (int i = 1; i < 100000; ++i)
    file += unary("n" + std::to_string(i), "Neg", "n" + std::to_string(i - 1));
  Built b(file);
  ASSERT_TRUE(b.graph);
  EXPECT_EQ(b.graph->order.back(), 99999u);
}

TEST(GraphBuilder, ChecksNumberAndTypesOfInputs) {
  Built b(placeholder("x") + bytes(1, node("i", "Placeholder", {}, typeAttr("dtype", 3))) +
          bytes(1, node("few", "Add", {"x"}, typeAttr("T", 1))) +
          bytes(1, node("odd", "Add", {"x", "i"}, typeAttr("T", 1))));
  EXPECT_TRUE(b.reports("W0216", "few"));
  EXPECT_TRUE(b.reports("W0217", "odd"));
}

TEST(GraphBuilder, BoundsWhatAttributesClaim) {
  // A million outputs each, that nothing in the file backs.
  std::string file = placeholder("x");
  for (int i = 0; i < 100; ++i)
    file += bytes(1, node("s" + std::to_string(i), "Unpack", {"x"},
                          typeAttr("T", 1) + attr("num", number(3, 1 << 20))));
  Built b(file);
  EXPECT_FALSE(b.graph);
  Built huge(placeholder("x") +
             bytes(1, node("s", "Unpack", {"x"},
                           typeAttr("T", 1) + attr("num", number(3, int64_t(1) << 40)))));
  EXPECT_TRUE(huge.reports("W0210", "s"));
}

TEST(GraphBuilder, RefusesOtherReaders) {
  DiagnosticSink sink;
  Versions newer;
  newer.minConsumer = 1 << 30;
  EXPECT_FALSE(checkVersions(newer, "m.pb", sink));
  EXPECT_EQ(sink.diagnostics()[0].code, "W0204");
}

TEST(GraphBuilder, InstantiatesAFunctionForItsCall) {
  // f(a: T) -> (r: T) { n = Neg[T=$T](a); r = n }
  std::string function = bytes(1, bytes(1, "f") + bytes(2, bytes(1, "a") + bytes(4, "T")) +
                                      bytes(3, bytes(1, "r") + bytes(4, "T"))) +
                         bytes(3, node("n", "Neg", {"a:0"}, attr("T", bytes(9, "T")))) +
                         bytes(4, bytes(1, "r") + bytes(2, "n:y:0"));
  Built b(bytes(2, bytes(1, function)) + placeholder("x") +
          bytes(1, node("call", "f", {"x"}, typeAttr("T", 1))));
  ASSERT_TRUE(b.graph);
  const Node &call = b.graph->nodes[1];
  ASSERT_TRUE(call.callee);
  auto body = instantiate(*call.callee, call.attrs, b.library, b.file, b.sink);
  ASSERT_TRUE(body);
  ASSERT_EQ(body->rets.size(), 1u);
  EXPECT_EQ(body->nodes[body->rets[0].node].op, "Neg");
  EXPECT_EQ(body->nodes[body->rets[0].node].outputTypes[0], DataType::Float);
  // Without the attribute there is nothing to put in its place.
  DiagnosticSink sink;
  EXPECT_FALSE(instantiate(*call.callee, {}, b.library, b.file, sink));
  EXPECT_TRUE(sink.hasErrors());
}

TEST(GraphBuilder, TensorNames) {
  EXPECT_EQ(parseTensorName("a/b").port, 0);
  EXPECT_EQ(parseTensorName("a:2").port, 2);
  EXPECT_EQ(parseTensorName("a:2").node, "a");
  EXPECT_EQ(parseTensorName("^a").port, -1);
  EXPECT_EQ(parseTensorName("a:b").node, "a:b");
}
