//===- StructureTest.cpp - loops and branches of version one ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Structure.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "test/unit/tensorflow/GraphWriter.h"

#include <gtest/gtest.h>

using namespace weir;
using namespace weir::tf;
using namespace weir::tf::test;

namespace {

std::string enter(std::string_view name, const std::string &input, const std::string &frame) {
  return bytes(
      1, node(name, "Enter", {input}, typeAttr("T", 1) + attr("frame_name", bytes(2, frame))));
}

/// while (p(m)) m = -m, in frame `frame`, from `input`; its exit is P + "x".
std::string loop(const std::string &p, const std::string &input, const std::string &frame) {
  return enter(p + "e", input, frame) +
         bytes(1, node(p + "m", "Merge", {p + "e", p + "n"},
                       typeAttr("T", 1) + attr("N", number(3, 2)))) +
         bytes(1, node(p + "t", "IsFinite", {p + "m"}, typeAttr("T", 1))) +
         bytes(1, node(p + "r", "All", {p + "t", p + "i"}, typeAttr("Tidx", 3))) +
         bytes(1, node(p + "i", "Const", {"^" + p + "m"},
                       typeAttr("dtype", 3) + attr("value", bytes(8, tensor(3, {0}))))) +
         bytes(1, node(p + "c", "LoopCond", {p + "r"})) +
         bytes(1, node(p + "s", "Switch", {p + "m", p + "c"}, typeAttr("T", 1))) +
         unary(p + "b", "Neg", p + "s:1") + unary(p + "n", "NextIteration", p + "b") +
         unary(p + "x", "Exit", p + "s");
}

struct Parsed {
  std::string bytes, file = "m.pb";
  GraphDef def;
  DiagnosticSink sink;
  Library library;
  std::optional<Graph> graph;
  explicit Parsed(std::string contents) : bytes(std::move(contents)) {
    std::string error;
    EXPECT_TRUE(readGraphDef(bytes, def, error)) << error;
    library = Library(def, file, sink);
    graph = buildGraph(def, library, file, sink);
    if (!graph)
      ADD_FAILURE() << sink.diagnostics()[0].str();
  }
  uint32_t at(std::string_view name) const { return static_cast<uint32_t>(graph->find(name)); }
};

} // namespace

TEST(Structure, FindsALoopsParts) {
  Parsed p(placeholder("x") + loop("w", "x", "f") + unary("y", "Neg", "wx"));
  ASSERT_TRUE(p.graph);
  Structure structure(*p.graph);
  ASSERT_EQ(structure.frames.size(), 2u);
  const Frame &frame = structure.frames[1];
  EXPECT_EQ(frame.merges, std::vector<uint32_t>{p.at("wm")});
  EXPECT_EQ(frame.exits, std::vector<uint32_t>{p.at("wx")});
  EXPECT_EQ(frame.loopCond, p.at("wc"));
  EXPECT_EQ(structure.frameOf[p.at("wb")], 1u);
  EXPECT_EQ(structure.frameOf[p.at("y")], 0u);
  EXPECT_TRUE(structure.isLoopSwitch(p.at("ws")));
  EXPECT_FALSE(structure.hasBranches);
  EXPECT_EQ(structure.backEdge(p.at("wm")).node, p.at("wn"));
}

TEST(Structure, FramesNest) {
  // The inner loop starts from the outer's variable.
  std::string outer = loop("o", "x", "f");
  Parsed p(placeholder("x") + outer + loop("i", "os:1", "g") + unary("use", "Neg", "ix"));
  ASSERT_TRUE(p.graph);
  Structure structure(*p.graph);
  ASSERT_EQ(structure.frames.size(), 3u);
  uint32_t inner = structure.frameOf[p.at("ib")];
  EXPECT_EQ(structure.frames[inner].parent, structure.frameOf[p.at("ob")]);
  EXPECT_EQ(structure.frameOf[p.at("use")], structure.frameOf[p.at("ob")]);
}

TEST(Structure, TellsBranchesFromLoops) {
  Parsed p(placeholder("x") + bytes(1, node("p", "Placeholder", {}, typeAttr("dtype", 10))) +
           bytes(1, node("s", "Switch", {"x", "p"}, typeAttr("T", 1))) +
           bytes(1, node("m", "Merge", {"s", "s:1"}, typeAttr("T", 1) + attr("N", number(3, 2)))));
  ASSERT_TRUE(p.graph);
  Structure structure(*p.graph);
  EXPECT_TRUE(structure.hasBranches);
  EXPECT_FALSE(structure.isLoopMerge(p.at("m")));
}
