//===- Restore.cpp - which variable takes which stored value --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loader runs the restore operation. Here it is followed instead: from it,
// over data and control edges and into called functions, to every assignment of
// a RestoreV2 output to a variable. The outputs' names are constants.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/SavedModel.h"
#include "compiler/frontend/tensorflow/TensorDecoder.h"

#include <deque>

using namespace weir;
using namespace weir::tf;

namespace {

/// A graph and, for the body of a call, what its arguments are outside.
struct Scope {
  const Graph *graph = nullptr;
  const Scope *outer = nullptr;
  const Node *call = nullptr; ///< in the outer graph
};

/// An output of a node in some scope.
struct Origin {
  const Scope *scope = nullptr;
  const Node *node = nullptr;
  uint32_t index = 0, port = 0;
};

class Follower {
public:
  Follower(const Library &library, const std::string &file, DiagnosticSink &sink)
      : library(library), file(file), sink(sink) {}

  void follow(const Graph &graph, uint32_t start);
  std::map<uint32_t, std::string> found;

private:
  void visit(const Scope &scope, std::vector<uint32_t> pending, int depth);
  void assignment(const Scope &scope, const Node &node);
  Origin origin(const Scope &scope, Edge edge) const;

  const Library &library;
  const std::string &file;
  DiagnosticSink &sink;
  std::deque<Graph> bodies;
  std::deque<Scope> scopes;
};

} // namespace

static constexpr int kMaxCallDepth = 16;

static bool passesThrough(const Node &node) {
  return node.op == "Identity" || node.op == "RefIdentity" || node.op == "NoOp" ||
         node.op == "EnsureShape";
}

/// Where a value comes from, through identities and out of functions.
Origin Follower::origin(const Scope &start, Edge edge) const {
  const Scope *scope = &start;
  for (;;) {
    const Node &node = scope->graph->nodes[edge.node];
    if (passesThrough(node) && !node.inputs.empty()) {
      edge = node.inputs[0];
    } else if (node.op == "_Arg" && scope->outer) {
      size_t index = static_cast<size_t>(node.attr("index")->i);
      if (index >= scope->call->inputs.size())
        return {};
      edge = scope->call->inputs[index];
      scope = scope->outer;
    } else {
      return {scope, &node, edge.node, edge.port};
    }
  }
}

/// The string constant at an edge; false where it is none.
static bool stringConstant(const Node &node, TensorValues &values) {
  const AttrValue *value = node.attr("value");
  std::string error;
  return node.op == "Const" && value && value->tensor && value->tensor->type == DataType::String &&
         decodeTensor(*value->tensor, values, error);
}

void Follower::assignment(const Scope &scope, const Node &node) {
  Origin variable = origin(scope, node.inputs[0]);
  Origin value = origin(scope, node.inputs[1]);
  if (!variable.node || !value.node || variable.scope->outer || value.node->op != "RestoreV2")
    return;
  Origin names = origin(*value.scope, value.node->inputs[1]);
  TensorValues values;
  if (!names.node || !stringConstant(*names.node, values))
    return;
  if (values.strings.empty() || value.port >= values.count)
    return;
  // A single string stands for all.
  size_t at = std::min<size_t>(value.port, values.strings.size() - 1);
  found.emplace(variable.index, std::string(values.strings[at]));
}

void Follower::visit(const Scope &scope, std::vector<uint32_t> pending, int depth) {
  std::vector<bool> seen(scope.graph->nodes.size());
  while (!pending.empty()) {
    uint32_t at = pending.back();
    pending.pop_back();
    if (seen[at])
      continue;
    seen[at] = true;
    const Node &node = scope.graph->nodes[at];
    for (Edge edge : node.inputs)
      pending.push_back(edge.node);
    for (uint32_t control : node.controls)
      pending.push_back(control);
    if (node.op == "Assign" || node.op == "AssignVariableOp") {
      assignment(scope, node);
      continue;
    }
    const FunctionDef *callee = node.callee;
    const std::vector<Attr> *attrs = &node.attrs;
    if (node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall") {
      const AttrValue *f = node.attr("f");
      if (f && f->kind == AttrValue::Kind::Func) {
        callee = library.find(f->s);
        attrs = f->funcAttrs.get();
      }
    }
    if (!callee || depth >= kMaxCallDepth)
      continue;
    auto body = instantiate(*callee, *attrs, library, file, sink);
    if (!body)
      continue;
    bodies.push_back(std::move(*body));
    scopes.push_back({&bodies.back(), &scope, &node});
    std::vector<uint32_t> all(bodies.back().nodes.size());
    for (uint32_t i = 0; i < all.size(); ++i)
      all[i] = i;
    visit(scopes.back(), std::move(all), depth + 1);
  }
}

void Follower::follow(const Graph &graph, uint32_t start) {
  scopes.push_back({&graph, nullptr, nullptr});
  visit(scopes.back(), {start}, 0);
}

std::map<uint32_t, std::string> weir::tf::restoredVariables(const SavedModel &model,
                                                            const Graph &graph,
                                                            const Library &library,
                                                            DiagnosticSink &sink) {
  if (model.restoreOp.empty())
    return {};
  int64_t start = graph.find(model.restoreOp);
  if (start < 0)
    return {};
  Follower follower(library, model.source->path(), sink);
  follower.follow(graph, static_cast<uint32_t>(start));
  return std::move(follower.found);
}
