//===- GraphReaderTest.cpp - GraphDef off the wire ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphReader.h"
#include "test/unit/tensorflow/GraphWriter.h"

#include <gtest/gtest.h>

using namespace weir::tf;
using namespace weir::tf::test;

TEST(GraphReader, ReadsNodesAttributesAndVersions) {
  std::string list = bytes(3, varint(1) + varint(2) + varint(300));
  std::string file =
      bytes(1, node("x", "Placeholder", {}, typeAttr("dtype", 1))) +
      bytes(1, node("y", "Conv2D", {"x", "w:1", "^c"},
                    attr("strides", bytes(1, list)) + attr("padding", bytes(2, "SAME")))) +
      bytes(4, number(1, 1882) + number(2, 12) + number(3, 7));
  GraphDef graph;
  std::string error;
  ASSERT_TRUE(readGraphDef(file, graph, error)) << error;
  ASSERT_EQ(graph.nodes.size(), 2u);
  const NodeDef &conv = graph.nodes[1];
  EXPECT_EQ(conv.op, "Conv2D");
  EXPECT_EQ(conv.inputs, (std::vector<std::string_view>{"x", "w:1", "^c"}));
  const AttrValue *strides = findAttr(conv.attrs, "strides");
  ASSERT_TRUE(strides && strides->list);
  EXPECT_EQ(strides->list->ints, (std::vector<int64_t>{1, 2, 300}));
  EXPECT_EQ(findAttr(conv.attrs, "padding")->s, "SAME");
  EXPECT_EQ(graph.versions.producer, 1882);
  EXPECT_EQ(graph.versions.minConsumer, 12);
  EXPECT_EQ(graph.versions.badConsumers, std::vector<int64_t>{7});
}

TEST(GraphReader, LeavesTensorBytesInTheFile) {
  std::string content(4096, 'w');
  std::string file = bytes(
      1, node("c", "Const", {}, attr("value", bytes(8, tensor(1, {1024}) + bytes(4, content)))));
  GraphDef graph;
  std::string error;
  ASSERT_TRUE(readGraphDef(file, graph, error));
  const AttrValue *value = findAttr(graph.nodes[0].attrs, "value");
  ASSERT_TRUE(value && value->tensor);
  std::string_view found = value->tensor->content;
  EXPECT_EQ(found.size(), content.size());
  // A view into the file, not a copy.
  EXPECT_GE(found.data(), file.data());
  EXPECT_LE(found.data() + found.size(), file.data() + file.size());
}

TEST(GraphReader, NamesThePlaceWhereAFileIsCutOff) {
  std::string file = placeholder("x") + unary("y", "Neg", "x");
  file.resize(file.size() - 3);
  GraphDef graph;
  std::string error;
  EXPECT_FALSE(readGraphDef(file, graph, error));
  EXPECT_NE(error.find("\"x\""), std::string::npos) << error;
}

TEST(GraphReader, RefusesNestingWithoutEnd) {
  // func { attr { value { func { … } } } }, a few bytes a level.
  std::string value;
  for (int i = 0; i < 200; ++i)
    value = bytes(10, bytes(2, bytes(1, "f") + bytes(2, value)));
  AttrValue parsed;
  EXPECT_FALSE(readAttrValue(value, parsed));
}

TEST(GraphReader, RefusesLengthsBeyondTheFile) {
  std::string file = varint(1 << 3 | 2) + varint(uint64_t(1) << 60) + "abc";
  GraphDef graph;
  std::string error;
  EXPECT_FALSE(readGraphDef(file, graph, error));
}

TEST(GraphReader, ReadsFunctions) {
  std::string signature = bytes(1, "f") + bytes(2, bytes(1, "a") + bytes(4, "T")) +
                          bytes(3, bytes(1, "r") + number(3, 101));
  std::string function = bytes(1, signature) + bytes(3, node("n", "Neg", {"a"})) +
                         bytes(4, bytes(1, "r") + bytes(2, "n:y:0"));
  std::string file = bytes(2, bytes(1, function));
  GraphDef graph;
  std::string error;
  ASSERT_TRUE(readGraphDef(file, graph, error)) << error;
  ASSERT_EQ(graph.functions.size(), 1u);
  EXPECT_EQ(graph.functions[0].name, "f");
  EXPECT_EQ(graph.functions[0].inputs[0].typeAttr, "T");
  EXPECT_TRUE(graph.functions[0].outputs[0].isRef);
  EXPECT_EQ(graph.functions[0].outputs[0].type, DataType::Float);
  EXPECT_EQ(graph.functions[0].rets[0].second, "n:y:0");
}
