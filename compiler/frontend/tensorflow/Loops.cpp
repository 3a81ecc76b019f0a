//===- Loops.cpp - frames become weir.while -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop's variables are its merges. The condition region computes what
// LoopCond is given, from the merges; the body region what the NextIterations
// are given; what an Exit takes is computed from the variables' last values.
// Values that enter without a merge are the same in every iteration, and are
// used from outside.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

std::optional<std::vector<Imported>> GraphImporter::loopInits(const Structure &structure,
                                                              const Frame &frame, const Node &face,
                                                              Scope &scope) {
  const Graph &graph = structure.graph;
  if (frame.loopCond < 0 || frame.merges.empty()) {
    (void)report(face, "W0254",
                 "found a loop (frame \"" + std::string(frame.name) + "\") " +
                     (frame.merges.empty() ? "without variables" : "without a LoopCond"));
    return std::nullopt;
  }
  std::vector<Imported> inits;
  for (uint32_t merge : frame.merges) {
    Edge enter = structure.enterEdge(merge);
    const Node &node = graph.nodes[enter.node];
    if (!isEnter(node) || graph.nodes[merge].inputs.size() != 2) {
      (void)report(graph.nodes[merge], "W0254",
                   "found a loop variable that is not the merge of one Enter "
                   "and one NextIteration");
      return std::nullopt;
    }
    inits.push_back(lookup(node.inputs[0], scope));
    if (inits.back().kind == Imported::Kind::None)
      return std::nullopt; // reported where it could not be made
  }
  return inits;
}

void GraphImporter::emitLoop(Body &body, uint32_t index, Scope &scope, OpBuilder &b) {
  const Structure &structure = body.structure;
  const Graph &graph = structure.graph;
  const Frame &frame = structure.frames[index];
  const Node &face = graph.nodes[frame.exits.empty() ? frame.enters[0] : frame.exits[0]];
  std::optional<std::vector<Imported>> begun = loopInits(structure, frame, face, scope);
  if (!begun)
    return;
  std::vector<Imported> &inits = *begun;
  // Whether it is the first trip, which a merge's value_index tells.
  auto asksForTrip = [&](const Node &node) {
    return llvm::any_of(node.inputs, [&](Edge edge) {
      return edge.port == 1 && structure.isLoopMerge(edge.node) &&
             structure.frameOf[edge.node] == index;
    });
  };
  bool counts = llvm::any_of(graph.nodes, asksForTrip);
  auto trip = [&](OpBuilder &at, double value) {
    NodeImport t(*this, face, {}, at, location(face));
    return Imported(t.scalar(at.getI32Type(), value));
  };
  if (counts)
    inits.push_back(trip(b, 0));
  // Gives an inner scope what enters, and the variables.
  auto bind = [&](Scope &inner, const std::vector<Imported> &variables) {
    for (uint32_t enter : frame.enters) {
      inner.set({enter, 0}, lookup(graph.nodes[enter].inputs[0], scope));
      inner.ran.insert(enter);
    }
    for (size_t i = 0; i < frame.merges.size(); ++i) {
      inner.set({frame.merges[i], 0}, variables[i]);
      if (counts)
        inner.set({frame.merges[i], 1}, variables.back());
      inner.ran.insert(frame.merges[i]);
    }
  };
  size_t errors = sink->errorCount();
  auto condition = [&](std::vector<Imported> variables,
                       OpBuilder &inner) -> FailureOr<std::vector<Imported>> {
    Scope innerScope(&scope);
    bind(innerScope, variables);
    const Node &loopCond = graph.nodes[frame.loopCond];
    import(body, index, loopCond.inputs, loopCond.controls, innerScope, inner);
    Imported value = lookup(loopCond.inputs[0], innerScope);
    if (value.kind != Imported::Kind::Tensor)
      return failure();
    return std::vector<Imported>{value};
  };
  auto loopBody = [&](std::vector<Imported> variables,
                      OpBuilder &inner) -> FailureOr<std::vector<Imported>> {
    Scope innerScope(&scope);
    bind(innerScope, variables);
    // Inside the body the condition holds.
    innerScope.ran.insert(static_cast<uint32_t>(frame.loopCond));
    NodeImport t(*this, graph.nodes[frame.loopCond], {}, inner,
                 location(graph.nodes[frame.loopCond]));
    innerScope.set({static_cast<uint32_t>(frame.loopCond), 0},
                   Imported(t.scalar(inner.getI1Type(), 1)));
    std::vector<Edge> goals;
    std::vector<uint32_t> controls;
    for (uint32_t merge : frame.merges) {
      const Node &next = graph.nodes[structure.backEdge(merge).node];
      goals.push_back(next.inputs[0]);
      controls.insert(controls.end(), next.controls.begin(), next.controls.end());
    }
    import(body, index, goals, controls, innerScope, inner);
    std::vector<Imported> values;
    for (Edge goal : goals) {
      values.push_back(lookup(goal, innerScope));
      if (values.back().kind == Imported::Kind::None)
        return failure();
    }
    if (counts)
      values.push_back(trip(inner, 1));
    return values;
  };
  auto results = buildWhile(inits, condition, loopBody, face, b, location(face));
  if (failed(results)) {
    if (!failedSince(errors))
      (void)report(face, "W0254",
                   "found a loop (frame \"" + std::string(frame.name) +
                       "\") whose parts give no value");
    return;
  }
  Scope after(&scope);
  bind(after, *results);
  for (uint32_t exit : frame.exits) {
    Edge edge = graph.nodes[exit].inputs[0];
    // Through the switch that let it out, to what the switch was given.
    while (!after.find(edge) && !graph.nodes[edge.node].inputs.empty() &&
           (isSwitch(graph.nodes[edge.node]) || graph.nodes[edge.node].op == "Identity"))
      edge = graph.nodes[edge.node].inputs[0];
    if (!after.find(edge))
      import(body, index, {edge}, {}, after, b);
    scope.ran.insert(exit);
    scope.set({exit, 0}, lookup(edge, after));
  }
}
