//===- ModelReaderTest.cpp ------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/onnx/ModelVerifier.h"
#include "test/unit/onnx/ProtoWriter.h"

#include <gtest/gtest.h>

using namespace weir;
using namespace weir::onnx;
using namespace weir::onnx::test;

namespace {

/// Diagnostics of reading and verifying, a line each.
std::string findings(const std::string &bytes) {
  DiagnosticSink sink;
  std::unique_ptr<Model> model = readModel(bytes, "m.onnx", sink);
  if (model)
    verifyModel(*model, "m.onnx", sink);
  std::string text;
  for (const Diagnostic &diagnostic : sink.diagnostics())
    text += diagnostic.str() + "\n";
  return text;
}

#define EXPECT_FINDS(bytes, text)                                                                  \
  EXPECT_NE(findings(bytes).find(text), std::string::npos) << findings(bytes)

Proto reluGraph() {
  return Proto()
      .message(1, node("Relu", {"x"}, {"y"}, "relu"))
      .bytes(2, "g")
      .message(11, value("x", {2, 3}))
      .message(12, value("y", {2, 3}));
}

TEST(ModelReader, ReadsWhatItIsGiven) {
  DiagnosticSink sink;
  std::string bytes = model(reluGraph());
  std::unique_ptr<Model> read = readModel(bytes, "m.onnx", sink);
  ASSERT_TRUE(read);
  ASSERT_TRUE(verifyModel(*read, "m.onnx", sink));
  EXPECT_EQ(read->opsetVersion(""), 21);
  ASSERT_EQ(read->graph.nodes.size(), 1u);
  EXPECT_EQ(read->graph.nodes[0].op, "Relu");
  EXPECT_EQ(displayName(read->graph.nodes[0]), "relu");
  const TypeInfo &type = read->graph.inputs[0].type;
  EXPECT_EQ(type.kind, TypeInfo::Kind::Tensor);
  EXPECT_EQ(type.elementType, DataType::Float);
  ASSERT_EQ(type.shape.size(), 2u);
  EXPECT_EQ(type.shape[1].size, 3);
}

TEST(ModelReader, RefusesEveryTruncationOrReadsLess) {
  std::string bytes = model(reluGraph());
  for (size_t size = 0; size < bytes.size(); ++size) {
    DiagnosticSink sink;
    std::unique_ptr<Model> read =
        readModel(std::string_view(bytes).substr(0, size), "m.onnx", sink);
    EXPECT_EQ(read == nullptr, sink.hasErrors()) << size;
  }
}

TEST(ModelReader, NamesTheNodeOfABrokenAttribute) {
  Proto broken = node("Relu", {"x"}, {"y"}, "relu");
  Proto attr = Proto().bytes(1, "value").number(20, 4);
  broken.message(5, attr.message(5, tensor("", 1, {5}, "1234")));
  EXPECT_FINDS(model(Proto().message(1, broken)), "m.onnx: error W0305: node \"relu\" (Relu): ");
}

TEST(ModelReader, RefusesAnEmptyFileAndAFileWithoutAGraph) {
  EXPECT_FINDS("", "W0302");
  EXPECT_FINDS(Proto().number(1, 8).data, "W0302");
  EXPECT_FINDS("this is text, not a model", "W0301");
}

TEST(ModelReader, RefusesDeepNesting) {
  Proto graph = reluGraph();
  for (int i = 0; i < 3000; ++i) {
    Proto outer = node("If", {"c"}, {"y"}, "if");
    outer.message(5, Proto().bytes(1, "then_branch").number(20, 5).message(6, graph));
    graph = Proto().message(1, outer);
  }
  EXPECT_FINDS(model(graph), "W0303");
}

TEST(ModelVerifier, ReportsAllThatIsWrong) {
  Proto graph = Proto()
                    .message(1, node("Nonsense", {"x"}, {"a"}, "n1"))
                    .message(1, node("Relu", {}, {"b"}, "n2"))
                    .message(1, node("Relu", {"x", "x"}, {"c"}, "n3"))
                    .message(1, node("Softmax", {"x"}, {"d"}, "n4"))
                    .message(11, value("x", {2}));
  std::string bytes = model(graph, 12);
  EXPECT_FINDS(bytes, "W0313: node \"n1\" (Nonsense)");
  EXPECT_FINDS(bytes, "W0315: node \"n2\" (Relu): found 0 inputs; X is missing");
  EXPECT_FINDS(bytes, "W0315: node \"n3\" (Relu)");
  EXPECT_EQ(findings(bytes).find("n4"), std::string::npos);
}

TEST(ModelVerifier, ChecksAttributesByVersion) {
  auto withAttribute = [](const char *op, const char *name, int64_t opset) {
    Proto n = node(op, {"x"}, {"y"}, "n");
    n.message(5, Proto().bytes(1, name).number(20, 2).number(3, 1));
    return model(Proto().message(1, n).message(11, value("x", {2})), opset);
  };
  EXPECT_EQ(findings(withAttribute("Softmax", "axis", 13)), "");
  EXPECT_FINDS(withAttribute("Softmax", "axes", 13),
               "W0314: node \"n\" (Softmax): found attribute \"axes\"");
  // axes moved from an attribute (of another type, here) to an input.
  EXPECT_FINDS(withAttribute("Squeeze", "axes", 11), "of another type");
  EXPECT_FINDS(withAttribute("Squeeze", "axes", 13), "does not have");
  EXPECT_FINDS(withAttribute("Gelu", "axis", 19), "exists from opset 20 on");
}

TEST(ModelVerifier, ChecksOpsets) {
  EXPECT_FINDS(model(reluGraph(), 1000), "W0312");
  EXPECT_FINDS(model(reluGraph(), 0), "W0312");
  Proto foreign = node("Relu", {"x"}, {"y"}, "n").bytes(7, "ai.onnx.ml");
  EXPECT_FINDS(model(Proto().message(1, foreign).message(11, value("x", {1}))), "W0312");
}

TEST(ModelVerifier, RefusesFunctionsThatRecur) {
  auto function = [](const char *name, const char *callee) {
    return Proto()
        .bytes(1, name)
        .bytes(4, "a")
        .bytes(5, "b")
        .message(7, node(callee, {"a"}, {"b"}, "call").bytes(7, "f"))
        .message(9, Proto().bytes(1, "").number(2, 21))
        .bytes(10, "f");
  };
  std::string bytes = model(reluGraph());
  bytes += Proto().message(25, function("one", "two")).data;
  EXPECT_EQ(findings(bytes), "");
  bytes += Proto().message(25, function("two", "one")).data;
  EXPECT_FINDS(bytes, "W0316: node \"call\" (");
  bytes += Proto().message(25, function("two", "none")).data;
  EXPECT_FINDS(bytes, "W0308");
}

} // namespace
