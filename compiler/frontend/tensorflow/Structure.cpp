//===- Structure.cpp - loops and branches of version one ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Structure.h"

using namespace weir::tf;

Structure::Structure(const Graph &graph)
    : graph(graph), frameOf(graph.nodes.size(), 0), loopMerge(graph.nodes.size(), false) {
  frames.emplace_back();
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> byName;
  for (uint32_t at : graph.order) {
    const Node &node = graph.nodes[at];
    // The innermost frame among the inputs: constants need not enter.
    uint32_t frame = 0;
    auto consider = [&](uint32_t from) {
      uint32_t other = frameOf[from];
      if (isExit(graph.nodes[from]))
        other = frames[other].parent;
      if (frames[other].depth > frames[frame].depth)
        frame = other;
    };
    bool closesLoop = false;
    for (Edge edge : node.inputs) {
      if (isMerge(node) && isNextIteration(graph.nodes[edge.node])) {
        closesLoop = true;
        continue;
      }
      consider(edge.node);
    }
    for (uint32_t control : node.controls)
      consider(control);
    if (isEnter(node)) {
      const AttrValue *name = node.attr("frame_name");
      auto key = std::make_pair(frame, name ? name->s : std::string_view());
      auto [it, isNew] = byName.emplace(key, static_cast<uint32_t>(frames.size()));
      if (isNew) {
        Frame child;
        child.name = key.second;
        child.parent = frame;
        child.depth = frames[frame].depth + 1;
        frames.push_back(std::move(child));
      }
      frame = it->second;
      frames[frame].enters.push_back(at);
    } else if (isExit(node)) {
      frames[frame].exits.push_back(at); // its own frame is the loop's
    } else if (node.op == "LoopCond") {
      frames[frame].loopCond = at;
    } else if (closesLoop) {
      loopMerge[at] = true;
      frames[frame].merges.push_back(at);
    } else if (isMerge(node)) {
      hasBranches = true;
    }
    frameOf[at] = frame;
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (isSwitch(graph.nodes[i]) && !isLoopSwitch(i))
      hasBranches = true;
}

Edge Structure::backEdge(uint32_t merge) const {
  for (Edge edge : graph.nodes[merge].inputs)
    if (isNextIteration(graph.nodes[edge.node]))
      return edge;
  return {};
}

Edge Structure::enterEdge(uint32_t merge) const {
  for (Edge edge : graph.nodes[merge].inputs)
    if (!isNextIteration(graph.nodes[edge.node]))
      return edge;
  return {};
}

Edge Structure::origin(Edge edge) const {
  for (;;) {
    const Node &node = graph.nodes[edge.node];
    if (node.op != "Identity" || node.inputs.empty())
      return edge;
    edge = node.inputs[0];
  }
}

bool Structure::isLoopSwitch(uint32_t at) const {
  const Node &node = graph.nodes[at];
  Edge predicate = origin(node.inputs[1]);
  return graph.nodes[predicate.node].op == "LoopCond" && frameOf[predicate.node] == frameOf[at];
}
