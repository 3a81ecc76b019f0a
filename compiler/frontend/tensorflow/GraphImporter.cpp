//===- GraphImporter.cpp - TensorFlow graphs to regions of weir -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/CustomCall.h"
#include "compiler/frontend/tensorflow/Regions.h"
#include "compiler/frontend/tensorflow/RegisteredGradients.h"

#include "llvm/ADT/ScopeExit.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Nodes that one entry may hold after inlining: a file of a few kilobytes,
/// whose functions call each other twice each, could ask for more than any
/// memory holds.
static constexpr int64_t kMaxNodes = 4'000'000;
/// Regions and calls inside each other.
static constexpr int kMaxDepth = 128;

static uint64_t keyOf(Edge edge) { return static_cast<uint64_t>(edge.node) << 32 | edge.port; }

const Imported *GraphImporter::Scope::find(Edge edge) const {
  for (const Scope *at = this; at; at = at->outer)
    if (auto it = at->values.find(keyOf(edge)); it != at->values.end())
      return &it->second;
  return nullptr;
}

bool GraphImporter::Scope::hasRun(uint32_t node) const {
  for (const Scope *at = this; at; at = at->outer)
    if (at->ran.contains(node))
      return true;
  return false;
}

void GraphImporter::Scope::set(Edge edge, Imported value) {
  values[keyOf(edge)] = std::move(value);
}

Imported GraphImporter::lookup(Edge edge, const Scope &scope) const {
  const Imported *found = scope.find(edge);
  return found ? *found : Imported();
}

std::string GraphImporter::nameOf(const Node &node) const {
  return (current ? current->prefix : std::string()) + std::string(node.name);
}

Location GraphImporter::location(const Node &node) const {
  auto op = NameLoc::get(StringAttr::get(context, StringRef(node.op.data(), node.op.size())));
  return NameLoc::get(StringAttr::get(context, nameOf(node)), op);
}

LogicalResult GraphImporter::report(const Node &node, const char *code, std::string text,
                                    std::vector<std::string> notes) {
  sink->report({code, file, nameOf(node), std::string(node.op), std::move(text), std::move(notes)});
  return failure();
}

//===----------------------------------------------------------------------===//
// What must run, in an order that runs
//===----------------------------------------------------------------------===//

/// Gathers the items that the goals need and that have not run, depth first, so
/// that each comes after what it needs. An inner loop is one item.
void GraphImporter::collect(Region &region, ArrayRef<Edge> edges, ArrayRef<uint32_t> controls) {
  const Structure &structure = region.body.structure;
  const Graph &graph = structure.graph;
  struct Step {
    uint32_t item;
    bool leave;
  };
  std::vector<Step> stack;
  // The item that stands for a node: itself, or the loop that it leaves.
  auto require = [&](uint32_t node, uint32_t user) {
    const Node &target = graph.nodes[node];
    bool leavesLoop =
        isExit(target) && structure.frameOf[node] != region.frame && structure.frameOf[node] != 0;
    uint64_t key = leavesLoop ? (uint64_t(1) << 40) + structure.frameOf[node] : node;
    auto [it, isNew] = region.itemOf.try_emplace(key, static_cast<uint32_t>(region.items.size()));
    if (isNew) {
      Item item;
      item.node = node;
      item.loop = leavesLoop ? structure.frameOf[node] : 0;
      region.items.push_back(std::move(item));
      stack.push_back({it->second, false});
    }
    if (user != UINT32_MAX)
      region.items[user].needs.push_back(it->second);
  };
  auto requireEdge = [&](Edge edge, uint32_t user) {
    if (!region.scope.find(edge))
      require(edge.node, user);
  };
  auto requireControl = [&](uint32_t node, uint32_t user) {
    if (!region.scope.hasRun(node))
      require(node, user);
  };
  auto visit = [&](uint32_t index) {
    if (uint32_t loop = region.items[index].loop) {
      for (uint32_t enter : structure.frames[loop].enters) {
        for (Edge edge : graph.nodes[enter].inputs)
          requireEdge(edge, index);
        for (uint32_t control : graph.nodes[enter].controls)
          requireControl(control, index);
      }
      return;
    }
    uint32_t at = region.items[index].node;
    const Node &node = graph.nodes[at];
    for (Edge edge : node.inputs)
      if (!isNextIteration(graph.nodes[edge.node]) || !isMerge(node))
        requireEdge(edge, index);
    for (uint32_t control : node.controls)
      requireControl(control, index);
  };
  auto drain = [&] {
    while (!stack.empty()) {
      Step step = stack.back();
      stack.pop_back();
      if (step.leave) {
        region.order.push_back(step.item);
        continue;
      }
      stack.push_back({step.item, true});
      visit(step.item);
    }
  };
  for (Edge edge : edges) {
    requireEdge(edge, UINT32_MAX);
    drain();
  }
  for (uint32_t control : controls) {
    requireControl(control, UINT32_MAX);
    drain();
  }
  // Depth-first visiting pushes needs before the item is left, but an item that
  // was already on the stack may be left after its user: sort for good.
  std::vector<uint32_t> pending(region.items.size(), 0), sorted;
  std::vector<std::vector<uint32_t>> users(region.items.size());
  for (uint32_t i = 0; i < region.items.size(); ++i)
    for (uint32_t need : region.items[i].needs) {
      users[need].push_back(i);
      ++pending[i];
    }
  // In the order of discovery where the needs leave a choice.
  for (uint32_t i : region.order)
    if (pending[i] == 0)
      sorted.push_back(i);
  for (size_t done = 0; done < sorted.size(); ++done)
    for (uint32_t user : users[sorted[done]])
      if (--pending[user] == 0)
        sorted.push_back(user);
  region.order = std::move(sorted);
}

/// What a gradient's switch asks of a merge, "was it input number k?", is the
/// predicate that decides the merge: both names are one. Returns the predicate and
/// the side of it on which `predicate` is true; without one, `predicate` and 1.
std::pair<Edge, uint32_t> GraphImporter::decisionOf(const Region &region, Edge predicate) {
  const Structure &structure = region.body.structure;
  const Graph &graph = structure.graph;
  const Node &node = graph.nodes[predicate.node];
  bool isEqual = node.op == "Equal";
  if ((!isEqual && node.op != "NotEqual") || node.inputs.size() != 2)
    return {predicate, 1};
  for (int first : {0, 1}) {
    Edge merge = structure.origin(node.inputs[first]);
    const Node &number = graph.nodes[structure.origin(node.inputs[1 - first]).node];
    auto it = region.itemOf.find(merge.node);
    const AttrValue *value = number.op == "Const" ? number.attr("value") : nullptr;
    if (merge.port != 1 || !isMerge(graph.nodes[merge.node]) || it == region.itemOf.end() ||
        !value || !value->tensor)
      continue;
    auto known = dyn_cast_or_null<DenseIntElementsAttr>(tensorAttr(*value->tensor, number));
    const Item &item = region.items[it->second];
    if (!known || known.getNumElements() != 1 || item.mergeOf.first == UINT32_MAX)
      continue;
    int64_t wanted = (*known.begin()).getSExtValue();
    for (uint32_t side : {0, 1})
      if (item.arrivals[side].number == wanted && item.arrivals[1 - side].number >= 0)
        return {{item.mergeOf.first, item.mergeOf.second}, isEqual ? side : 1 - side};
  }
  return {predicate, 1};
}

/// The branches that an edge's value is on.
Branches GraphImporter::branchesOf(const Region &region, Edge edge) {
  const Structure &structure = region.body.structure;
  const Graph &graph = structure.graph;
  auto it = region.itemOf.find(edge.node);
  if (it == region.itemOf.end()) {
    if (isExit(graph.nodes[edge.node])) {
      auto loop = region.itemOf.find((uint64_t(1) << 40) + structure.frameOf[edge.node]);
      if (loop != region.itemOf.end())
        return region.items[loop->second].branches;
    }
    return {};
  }
  if (region.scope.find(edge))
    return {};
  Branches result = region.items[it->second].branches;
  const Node &node = graph.nodes[edge.node];
  if (isSwitch(node) && !structure.isLoopSwitch(edge.node)) {
    auto [predicate, truth] = decisionOf(region, structure.origin(node.inputs[1]));
    auto [on, isNew] = result.emplace(std::pair(predicate.node, predicate.port),
                                      edge.port == 1 ? truth : 1 - truth);
    if (!isNew && on->second != (edge.port == 1 ? truth : 1 - truth))
      on->second = 2; // on both sides: never runs
  }
  return result;
}

/// Ports of merges of some of a merge's inputs, beyond those of any node.
static constexpr uint32_t kInnerMerge = 1u << 24;

/// Finds the predicate that decides a merge: each of `inputs` is on one side of
/// it. Where several are on one side, a merge of these becomes an item of its
/// own, before this one.
void GraphImporter::decideMerge(Region &region, uint32_t index, ArrayRef<uint32_t> inputs,
                                std::vector<uint32_t> &order) {
  const Node &node = region.body.graph().nodes[region.items[index].node];
  std::vector<Branches> of;
  for (uint32_t input : inputs)
    of.push_back(branchesOf(region, node.inputs[input]));
  bool isDecided = false;
  for (auto &[predicate, side] : of[0]) {
    std::vector<uint32_t> sides[2];
    bool isOnAll = true;
    for (auto [input, branches] : llvm::zip(inputs, of)) {
      auto on = branches.find(predicate);
      isOnAll &= on != branches.end() && on->second < 2;
      if (isOnAll)
        sides[on->second].push_back(input);
    }
    if (!isOnAll)
      continue;
    if (sides[0].empty() || sides[1].empty()) {
      region.items[index].branches.emplace(predicate, side);
      continue;
    }
    if (isDecided)
      continue;
    isDecided = true;
    region.items[index].mergeOf = predicate;
    for (uint32_t side : {0, 1}) {
      Item::Arrival arrival;
      if (sides[side].size() == 1) {
        arrival = {node.inputs[sides[side][0]], sides[side][0]};
      } else {
        uint32_t inner = static_cast<uint32_t>(region.items.size());
        Item item;
        item.node = region.items[index].node;
        item.merged = {item.node, kInnerMerge + 2 * inner};
        item.needs = region.items[index].needs;
        arrival.edge = item.merged;
        region.items[index].needs.push_back(inner);
        region.items.push_back(std::move(item));
        decideMerge(region, inner, sides[side], order);
        order.push_back(inner);
      }
      region.items[index].arrivals[side] = arrival;
    }
  }
}

/// Which branches each item is on: those of its inputs, the sides of the
/// switches that it reads from; a merge is on what all its inputs have.
void GraphImporter::computeBranches(Region &region) {
  const Structure &structure = region.body.structure;
  const Graph &graph = structure.graph;
  auto add = [](Branches &to, const Branches &from) {
    for (auto &[predicate, side] : from) {
      auto [it, isNew] = to.emplace(predicate, side);
      if (!isNew && it->second != side)
        it->second = 2; // on both sides: never runs
    }
  };
  std::vector<uint32_t> order;
  for (uint32_t index : region.order) {
    if (uint32_t loop = region.items[index].loop) {
      for (uint32_t enter : structure.frames[loop].enters)
        for (Edge edge : graph.nodes[enter].inputs)
          add(region.items[index].branches, branchesOf(region, edge));
      order.push_back(index);
      continue;
    }
    uint32_t at = region.items[index].node;
    const Node &node = graph.nodes[at];
    region.items[index].merged = {at, 0};
    if (isMerge(node) && node.inputs.size() >= 2 && !structure.isLoopMerge(at)) {
      std::vector<uint32_t> inputs(node.inputs.size());
      std::iota(inputs.begin(), inputs.end(), 0);
      decideMerge(region, index, inputs, order);
    } else {
      for (Edge edge : node.inputs)
        add(region.items[index].branches, branchesOf(region, edge));
    }
    // A ControlTrigger runs whatever did before it.
    for (uint32_t control : node.controls)
      if (auto it = region.itemOf.find(control);
          it != region.itemOf.end() && node.op != "ControlTrigger")
        add(region.items[index].branches, region.items[it->second].branches);
    order.push_back(index);
  }
  region.order = std::move(order);
}

void GraphImporter::import(Body &body, uint32_t frame, ArrayRef<Edge> edges,
                           ArrayRef<uint32_t> controls, Scope &scope, OpBuilder &b,
                           std::vector<Branches> *taken) {
  Region region{body, frame, scope, {}, {}, {}, {}};
  collect(region, edges, controls);
  Body *before = current;
  current = &body;
  if (++depth > kMaxDepth) {
    if (!region.items.empty())
      (void)report(body.graph().nodes[region.items[0].node], "W0254",
                   "found calls, loops and branches inside each other " +
                       std::to_string(kMaxDepth) + " deep");
  } else {
    if (body.structure.hasBranches)
      computeBranches(region);
    // What is wanted although it lies on one branch, and what decides that.
    for (size_t i = 0; taken && i < edges.size(); ++i) {
      taken->push_back(branchesOf(region, edges[i]));
      if (taken->back().empty())
        continue;
      region.goals.push_back(edges[i]);
      for (auto &[predicate, side] : taken->back())
        region.goals.push_back({predicate.first, predicate.second});
    }
    emit(region, region.order, {}, scope, b);
  }
  --depth;
  current = before;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void GraphImporter::emitItem(Region &region, Item &item, Scope &scope, OpBuilder &b) {
  item.done = true;
  if (item.loop)
    emitLoop(region.body, item.loop, scope, b);
  else
    emitNode(region.body, item.node, scope, b);
}

/// What brings operations of such a name into a graph, and how the graph is had without; "" of
/// other names. They are TensorFlow's, too, in builds with what they belong to.
static StringRef originOf(StringRef op) {
  struct Family {
    StringRef word, note;
  };
  constexpr Family families[] = {
      {"Xla", "operations of XLA come of a model that was compiled for it; export it without "
              "jit_compile, and one of JAX to ONNX"},
      {"TRT", "TensorRT wrote it in place of a part of the model; give the model from before its "
              "conversion"},
      {"TPU", "operations of TPUs come of a graph that was rewritten for them; export the model "
              "for serving on CPUs"},
      {"Tpu", "operations of TPUs come of a graph that was rewritten for them; export the model "
              "for serving on CPUs"},
      {"BoostedTrees",
       "TensorFlow makes such trees no more; export them anew, to ONNX for example"},
      {"Mkl", "oneDNN's operations are made when a graph is run; give the graph as it was saved"},
      {"DTensor", "operations of DTensor come of a graph that was divided among devices; export "
                  "it before that"},
  };
  for (const Family &family : families)
    if (op.contains(family.word))
      return family.note;
  return "";
}

void GraphImporter::reportUnknown(const Node &node) {
  std::vector<std::string> notes;
  if (StringRef origin = node.def ? "" : originOf(node.op); !origin.empty())
    notes.push_back(origin.str());
  else if (!node.def) {
    for (std::string_view name : similarOps(node.op))
      notes.push_back("TensorFlow has " + std::string(name));
  }
  notes.push_back("an operation of your own can be described and linked, see "
                  "docs/custom-operations.md");
  (void)report(node, "W0250",
               "found operation " + std::string(node.op) +
                   (node.def ? ", which is not supported"
                             : ", which is none of TensorFlow's that weir knows"),
               std::move(notes));
}

/// Kept by name, not at operations: rewrites keep names.
void GraphImporter::noteDevice(const Node &node) {
  if (!node.device.empty())
    deviceRequests.try_emplace(nameOf(node), node.device);
  const AttrValue *colocated = node.attr("_class");
  if (!colocated || colocated->kind != AttrValue::Kind::List)
    return;
  for (StringRef other : colocated->list->strings)
    if (other.consume_front("loc:@"))
      colocations[nameOf(node)].push_back(current->prefix + other.str());
}

void GraphImporter::emitNode(Body &body, uint32_t at, Scope &scope, OpBuilder &b) {
  const Node &node = body.graph().nodes[at];
  scope.ran.insert(at);
  noteDevice(node);
  std::vector<Imported> inputs;
  for (Edge edge : node.inputs) {
    inputs.push_back(lookup(edge, scope));
    // What an input's node could not give has been reported there; a merge of
    // one branch only takes what there is.
    if (inputs.back().kind == Imported::Kind::None && !isMerge(node))
      return;
  }
  auto set = [&](uint32_t port, Imported value) {
    // An edge that is fed stays what it was fed with.
    if (!scope.find({at, port}))
      scope.set({at, port}, std::move(value));
  };
  if (isSwitch(node)) {
    set(0, inputs[0]);
    set(1, inputs[0]);
    return;
  }
  if (isMerge(node)) {
    for (Imported &input : inputs)
      if (input.kind != Imported::Kind::None)
        return set(0, input);
    (void)report(node, "W0254",
                 "found a merge whose inputs are not the two sides of one "
                 "condition");
    return;
  }
  if (++imported > kMaxNodes) {
    if (imported == kMaxNodes + 1)
      (void)report(node, "W0211",
                   "found functions that call functions until there are more "
                   "than " +
                       std::to_string(kMaxNodes) + " nodes");
    return;
  }
  if (node.callee) {
    auto values = callFunction(*node.callee, node.attrs, inputs, node, b);
    if (succeeded(values))
      for (auto [port, value] : llvm::enumerate(*values))
        set(static_cast<uint32_t>(port), value);
    return;
  }
  auto giveUp = [&] {
    Imported nothing;
    nothing.kind = Imported::Kind::Resource;
    for (auto [port, type] : llvm::enumerate(node.outputTypes))
      if (keepsGoing && type == DataType::Resource)
        set(static_cast<uint32_t>(port), nothing);
  };
  const OpImport *row = findImport(node.op);
  const CustomOperation *custom = nullptr;
  if (!row && customOperations)
    custom = findCustomOperation(*customOperations, llvm::StringRef(node.op));
  if (!row && !custom && !instead)
    return reportUnknown(node);
  FailureOr<std::vector<Imported>> made = importNode({node, row, custom}, std::move(inputs), b);
  if (failed(made))
    return giveUp();
  for (auto [port, value] : llvm::enumerate(*made))
    set(static_cast<uint32_t>(port), std::move(value));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FailureOr<std::vector<Imported>> GraphImporter::inlineFunction(const AttrValue &function,
                                                               std::vector<Imported> args,
                                                               const Node &call, OpBuilder &b) {
  const FunctionDef *def =
      function.kind == AttrValue::Kind::Func ? library.find(function.s) : nullptr;
  if (!def) {
    (void)report(call, "W0211",
                 "found a call of function \"" + std::string(function.s) +
                     "\", which the library does not have");
    return failure();
  }
  return inlineFunction(*def, *function.funcAttrs, std::move(args), call, b);
}

FailureOr<std::vector<Imported>> GraphImporter::inlineFunction(const FunctionDef &function,
                                                               const std::vector<Attr> &attrs,
                                                               std::vector<Imported> args,
                                                               const Node &call, OpBuilder &b) {
  for (Body *at = current; at; at = at->outer)
    if (at->function == &function) {
      (void)report(call, "W0211",
                   "found function \"" + std::string(function.name) +
                       "\" calling itself; recursion is not possible");
      return failure();
    }
  std::optional<Graph> graph = instantiate(function, attrs, library, file, *sink);
  if (!graph)
    return failure();
  if (graph->args.size() != args.size()) {
    (void)report(call, "W0216",
                 "found " + std::to_string(args.size()) + " arguments for function \"" +
                     std::string(function.name) + "\", which takes " +
                     std::to_string(graph->args.size()));
    return failure();
  }
  Structure structure(*graph);
  Body body{structure, current, nameOf(call) + "/", &function};
  Scope scope;
  for (size_t i = 0; i < args.size(); ++i)
    scope.set({graph->args[i], 0}, std::move(args[i]));
  // Effects run whether or not a result needs them: stateful nodes are goals.
  std::vector<uint32_t> controls = graph->controlRets;
  for (uint32_t at : graph->order) {
    const Node &node = graph->nodes[at];
    if (structure.frameOf[at] == 0 && node.def && node.def->isStateful && node.op != "_Arg" &&
        node.op != "Placeholder")
      controls.push_back(at);
  }
  size_t errors = sink->errorCount();
  import(body, 0, graph->rets, controls, scope, b);
  std::vector<Imported> results;
  for (size_t i = 0; i < graph->rets.size(); ++i) {
    results.push_back(lookup(graph->rets[i], scope));
    if (results.back().kind == Imported::Kind::None) {
      if (!failedSince(errors))
        (void)report(call, "W0224",
                     "found no value for result \"" + std::string(graph->retNames[i]) +
                         "\" of function \"" + std::string(function.name) + "\"");
      return failure();
    }
  }
  if (failedSince(errors))
    return failure();
  return results;
}
