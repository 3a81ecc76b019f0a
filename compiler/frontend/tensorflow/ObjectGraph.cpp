//===- ObjectGraph.cpp - state that objects, not nodes, restore -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/ObjectGraph.h"

#include "compiler/frontend/tensorflow/saved_model.pb.h"

using namespace weir;
using namespace weir::tf;

static constexpr char kStoredGraph[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
static constexpr char kValue[] = "VARIABLE_VALUE";

/// The function that a node calls; empty for other nodes.
static std::string_view calleeOf(const Node &node) {
  if (node.callee)
    return node.op;
  const AttrValue *f = node.attr("f");
  bool isCall = node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall";
  return isCall && f && f->kind == AttrValue::Kind::Func ? f->s : std::string_view();
}

ObjectGraph::ObjectGraph(const SavedModel &model, const Graph &graph) {
  BundleTensor stored;
  std::string ignored;
  proto::TrackableObjectGraph trackables;
  if (!model.variables || !model.variables->read(kStoredGraph, stored, ignored) ||
      stored.strings.size() != 1 || !trackables.ParseFromString(std::string(stored.strings[0])))
    return;
  for (int i = 0; i < trackables.nodes_size(); ++i)
    for (const auto &attribute : trackables.nodes(i).attributes()) {
      keys[{i, attribute.name()}] = attribute.checkpoint_key();
      if (attribute.name() != kValue || attribute.full_name().empty())
        continue;
      auto [it, isNew] = byName.try_emplace(attribute.full_name(), attribute.checkpoint_key());
      if (!isNew)
        it->second.clear();
    }
  proto::SavedObjectGraph saved;
  if (!saved.ParseFromString(std::string(model.objectGraph)))
    return;
  for (int i = 0; i < saved.nodes_size(); ++i)
    if (saved.nodes(i).has_variable() && !saved.nodes(i).variable().trainable()) {
      notTrained.insert(i);
      named.insert(saved.nodes(i).variable().name());
    }
  for (const Node &node : graph.nodes) {
    std::string_view callee = calleeOf(node);
    if (callee.empty())
      continue;
    auto function = saved.concrete_functions().find(std::string(callee));
    if (function == saved.concrete_functions().end())
      continue;
    size_t count = static_cast<size_t>(function->second.bound_inputs_size());
    if (count > node.inputs.size())
      continue;
    for (size_t i = 0; i < count; ++i) {
      Edge edge = node.inputs[node.inputs.size() - count + i];
      objects.try_emplace(std::string(graph.nodes[edge.node].name),
                          function->second.bound_inputs(static_cast<int>(i)));
    }
  }
}

bool ObjectGraph::isTrained(const Node &node) const {
  if (auto object = objects.find(node.name); object != objects.end())
    return !notTrained.count(object->second);
  const AttrValue *shared = node.attr("shared_name");
  return !named.count(shared && !shared->s.empty() ? shared->s : node.name);
}

std::string ObjectGraph::keyOf(const Node &node, std::string_view attribute) const {
  if (auto object = objects.find(node.name); object != objects.end()) {
    auto key = keys.find({object->second, std::string(attribute)});
    return key == keys.end() ? std::string() : key->second;
  }
  if (attribute != kValue)
    return {};
  const AttrValue *shared = node.attr("shared_name");
  auto key = byName.find(shared && !shared->s.empty() ? shared->s : node.name);
  return key == byName.end() ? std::string() : key->second;
}
