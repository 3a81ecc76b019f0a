//===- Structure.h - loops and branches of version one ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Version-one control flow is dataflow with tags: Enter opens a frame, Switch
// lets a value through on one side, Merge takes what arrives. Compiled code has
// regions. Structure finds them: which frame each node runs in, what each loop
// consists of, and which branches must be taken for a node to run (the others
// are dead). Nothing is rewritten; the importer walks the graph region by
// region.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_STRUCTURE_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_STRUCTURE_H

#include "compiler/frontend/tensorflow/Graph.h"

#include <map>
#include <string>
#include <vector>

namespace weir::tf {

/// The nodes that make a while loop out of a frame. Frame 0 is the graph.
struct Frame {
  std::string_view name;
  uint32_t parent = 0;
  uint32_t depth = 0;
  std::vector<uint32_t> enters; ///< all of them
  std::vector<uint32_t> exits;
  std::vector<uint32_t> merges; ///< those that a NextIteration leads back to
  int64_t loopCond = -1;        ///< the node, or -1
};

class Structure {
public:
  explicit Structure(const Graph &graph);

  const Graph &graph;
  std::vector<Frame> frames;
  std::vector<uint32_t> frameOf; ///< by node
  /// Whether there is any Switch or Merge that is no loop's.
  bool hasBranches = false;

  /// The NextIteration edge into a loop's Merge.
  Edge backEdge(uint32_t merge) const;
  /// The Enter edge into a loop's Merge.
  Edge enterEdge(uint32_t merge) const;
  bool isLoopMerge(uint32_t node) const { return loopMerge[node]; }
  /// Whether a Switch is steered by its own frame's LoopCond.
  bool isLoopSwitch(uint32_t node) const;
  /// Where an edge's value comes from, looking through identities: predicates
  /// are the same when their origins are.
  Edge origin(Edge edge) const;

private:
  std::vector<bool> loopMerge;
};

inline bool isSwitch(const Node &node) { return node.op == "Switch" || node.op == "RefSwitch"; }
inline bool isMerge(const Node &node) { return node.op == "Merge" || node.op == "RefMerge"; }
inline bool isEnter(const Node &node) { return node.op == "Enter" || node.op == "RefEnter"; }
inline bool isExit(const Node &node) { return node.op == "Exit" || node.op == "RefExit"; }
inline bool isNextIteration(const Node &node) {
  return node.op == "NextIteration" || node.op == "RefNextIteration";
}

/// The branches that a node is on: predicates with the side (0 or 1), sorted.
using Branches = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_STRUCTURE_H
