//===- Branches.cpp - switches and merges become weir.if ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Items on no further branch are emitted as they become ready. When none is
// left that could be, a predicate is chosen, and everything on its two sides
// that needs nothing else becomes one weir.if, whose results are the merges
// that this completes, and values that later items on the same branch need.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Regions.h"

#include <algorithm>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

void GraphImporter::emit(Region &region, ArrayRef<uint32_t> order, const Branches &base,
                         Scope &scope, OpBuilder &b) {
  std::vector<uint32_t> pending(order.begin(), order.end());
  auto isReady = [&](const Item &item) {
    return llvm::all_of(item.needs, [&](uint32_t need) { return region.items[need].done; });
  };
  while (!pending.empty()) {
    std::vector<uint32_t> rest;
    for (uint32_t index : pending) {
      Item &item = region.items[index];
      bool here = item.branches.size() <= base.size() && item.mergeOf.first == UINT32_MAX;
      // Constants need no branch: whoever uses one on a branch sees its value.
      bool isConstant = !item.loop && region.body.graph().nodes[item.node].op == "Const";
      if ((here && isReady(item)) || isConstant)
        emitItem(region, item, scope, b);
      else if (!item.done)
        rest.push_back(index);
    }
    pending = std::move(rest);
    if (!pending.empty())
      emitBranch(region, pending, base, scope, b);
  }
}

std::optional<Edge> GraphImporter::choosePredicate(const Region &region, ArrayRef<uint32_t> pending,
                                                   const Branches &base, const Scope &scope) {
  std::optional<Edge> chosen;
  auto consider = [&](std::pair<uint32_t, uint32_t> candidate) {
    Edge edge{candidate.first, candidate.second};
    if (!chosen && !base.count(candidate) && scope.find(edge))
      chosen = edge;
  };
  for (uint32_t index : pending) {
    const Item &item = region.items[index];
    for (auto &[candidate, side] : item.branches)
      consider(candidate);
    if (item.mergeOf.first != UINT32_MAX)
      consider(item.mergeOf);
  }
  return chosen;
}

/// What becomes of pending items when one predicate is decided.
struct GraphImporter::Choice {
  std::pair<uint32_t, uint32_t> predicate;
  std::vector<uint32_t> sides[2], merges, dead;
  std::vector<std::pair<Edge, uint32_t>> escapes; ///< edge, side: what others need of a side

  bool isEmpty() const {
    return sides[0].empty() && sides[1].empty() && merges.empty() && dead.empty();
  }
};

GraphImporter::Choice GraphImporter::sortOut(const Region &region, ArrayRef<uint32_t> pending,
                                             const Branches &base,
                                             std::pair<uint32_t, uint32_t> predicate) {
  const Graph &graph = region.body.graph();
  Choice choice;
  choice.predicate = predicate;
  // What is on either side and needs nothing that is not there yet.
  std::vector<bool> inside(region.items.size());
  auto reachable = [&](uint32_t need) { return region.items[need].done || inside[need]; };
  for (uint32_t index : pending) {
    const Item &item = region.items[index];
    auto on = item.branches.find(predicate);
    if (on == item.branches.end() || !llvm::all_of(item.needs, reachable))
      continue;
    inside[index] = true;
    if (on->second < 2)
      choice.sides[on->second].push_back(index);
    else
      choice.dead.push_back(index);
  }
  for (uint32_t index : pending) {
    const Item &item = region.items[index];
    if (item.mergeOf == predicate && item.branches.size() <= base.size() &&
        llvm::all_of(item.needs, reachable))
      choice.merges.push_back(index);
  }
  // Values made inside that pending items outside of this choice need.
  auto escape = [&](Edge edge) {
    auto made = region.itemOf.find(edge.node);
    if (made == region.itemOf.end() || !inside[made->second])
      return;
    uint32_t side = region.items[made->second].branches.find(predicate)->second;
    if (side < 2 && !llvm::is_contained(choice.escapes, std::pair(edge, side)))
      choice.escapes.emplace_back(edge, side);
  };
  for (Edge edge : region.goals)
    escape(edge);
  for (uint32_t index : pending) {
    const Item &item = region.items[index];
    if (inside[index] || item.loop || llvm::is_contained(choice.merges, index))
      continue;
    for (Edge edge : graph.nodes[item.node].inputs)
      escape(edge);
    // What decides it, too: inputs may know that by another name.
    for (auto &[other, side] : item.branches)
      escape({other.first, other.second});
    if (item.mergeOf.first != UINT32_MAX)
      escape({item.mergeOf.first, item.mergeOf.second});
  }
  return choice;
}

FailureOr<std::vector<Imported>> GraphImporter::emitSide(Region &region, const Choice &choice,
                                                         uint32_t side, const Branches &base,
                                                         Scope &scope, OpBuilder &b) {
  const Graph &graph = region.body.graph();
  Scope inner(&scope);
  Branches here = base;
  here[choice.predicate] = side;
  emit(region, choice.sides[side], here, inner, b);
  std::vector<Imported> values;
  for (uint32_t index : choice.merges) {
    const Item &item = region.items[index];
    const Node &merge = graph.nodes[item.node];
    const Item::Arrival &arrival = item.arrivals[side];
    values.push_back(lookup(arrival.edge, inner));
    NodeImport t(*this, merge, {}, b, location(merge));
    values.push_back( // value_index
        arrival.number >= 0 ? Imported(t.scalar(b.getI32Type(), arrival.number))
                            : lookup({arrival.edge.node, arrival.edge.port + 1}, inner));
  }
  for (auto &[edge, of] : choice.escapes)
    values.push_back(of == side ? lookup(edge, inner) : Imported());
  return values;
}

void GraphImporter::emitBranch(Region &region, std::vector<uint32_t> &pending, const Branches &base,
                               Scope &scope, OpBuilder &b) {
  const Graph &graph = region.body.graph();
  std::optional<Edge> predicate = choosePredicate(region, pending, base, scope);
  if (!predicate) {
    // Nothing can be decided: a predicate could not be imported (reported), or
    // the graph is not structured. Leave the rest out.
    const Node &node = graph.nodes[region.items[pending[0]].node];
    if (sink->errorCount() == 0)
      (void)report(node, "W0254", "found switches and merges that are not nested conditions");
    for (uint32_t index : pending)
      region.items[index].done = true;
    pending.clear();
    return;
  }
  const Choice choice = sortOut(region, pending, base, {predicate->node, predicate->port});
  Value condition = lookup(*predicate, scope).value;
  const Node &owner = graph.nodes[predicate->node];
  auto part = [&](uint32_t side) {
    return
        [&, side](OpBuilder &inner) { return emitSide(region, choice, side, base, scope, inner); };
  };
  auto known = constantIntegers(condition);
  FailureOr<std::vector<Imported>> values = failure();
  if (known && known->size() == 1)
    values = part(known->front() != 0)(b);
  else
    values = buildIf(condition, part(1), part(0), owner, b, location(owner));
  for (const std::vector<uint32_t> *list : {&choice.sides[0], &choice.sides[1], &choice.dead})
    for (uint32_t index : *list)
      region.items[index].done = true;
  size_t next = 0;
  for (uint32_t index : choice.merges) {
    Item &item = region.items[index];
    item.done = true;
    scope.ran.insert(item.node);
    if (failed(values))
      continue;
    scope.set(item.merged, (*values)[next]);
    scope.set({item.merged.node, item.merged.port + 1}, (*values)[next + 1]);
    next += 2;
  }
  if (succeeded(values))
    for (auto &[edge, side] : choice.escapes)
      scope.set(edge, (*values)[next++]);
  if (choice.isEmpty()) {
    // No progress is possible on this predicate: the rest is not structured.
    (void)report(owner, "W0254", "found switches and merges that are not nested conditions");
    for (uint32_t index : pending)
      region.items[index].done = true;
  }
  llvm::erase_if(pending, [&](uint32_t index) { return region.items[index].done; });
}
