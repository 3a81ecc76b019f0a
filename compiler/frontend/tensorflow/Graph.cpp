//===- Graph.cpp - a graph whose names are resolved -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Graph.h"

#include <algorithm>
#include <charconv>
#include <map>

using namespace weir;
using namespace weir::tf;

// What this reader stands for, in TensorFlow's numbers: it reads graphs as a
// TensorFlow of 2026 would, and any since 2015 (producer 0).
static constexpr int64_t kVersion = 2600;

bool weir::tf::checkVersions(const Versions &versions, const std::string &file,
                             DiagnosticSink &sink) {
  const auto &bad = versions.badConsumers;
  std::string message;
  if (versions.producer < 0 || versions.minConsumer < 0)
    message = "found a negative version";
  else if (versions.minConsumer > kVersion)
    message = "the file asks for readers of version " + std::to_string(versions.minConsumer) +
              " or later; this one stands for " + std::to_string(kVersion);
  else if (std::find(bad.begin(), bad.end(), kVersion) != bad.end())
    message = "the file forbids readers of version " + std::to_string(kVersion);
  if (message.empty())
    return true;
  sink.report({"W0204", file, "", "", message, {}});
  return false;
}

Library::Library(const GraphDef &graph, const std::string &file, DiagnosticSink &sink) {
  for (const FunctionDef &function : graph.functions)
    if (!byName.emplace(function.name, &function).second)
      sink.report({"W0211",
                   file,
                   "",
                   "",
                   "the library defines function \"" + std::string(function.name) + "\" twice",
                   {}});
  for (auto &[function, gradient] : graph.gradients)
    gradients.emplace(function, gradient);
}

TensorName weir::tf::parseTensorName(std::string_view text) {
  if (text.starts_with('^'))
    return {text.substr(1), -1};
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return {text, 0};
  std::string_view digits = text.substr(colon + 1);
  int64_t port = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 0)
    return {text, 0};
  return {text.substr(0, colon), port};
}

/// An edge that a loop closes with.
static bool isBackEdge(const Graph &graph, uint32_t from, const Node &to) {
  const Node &source = graph.nodes[from];
  return (to.op == "Merge" || to.op == "RefMerge") &&
         (source.op == "NextIteration" || source.op == "RefNextIteration");
}

template <typename Each>
static void forEachPredecessor(const Graph &graph, const Node &node, Each each) {
  for (Edge edge : node.inputs)
    if (!isBackEdge(graph, edge.node, node))
      each(edge.node);
  for (uint32_t control : node.controls)
    each(control);
}

/// The nodes of one cycle among those that sorting left over.
static std::string describeCycle(const Graph &graph, const std::vector<uint32_t> &pending) {
  uint32_t at = 0;
  while (pending[at] == 0)
    ++at;
  // Every pending node has a pending predecessor: walk back until one repeats.
  std::vector<uint32_t> path;
  std::vector<int64_t> seenAt(graph.nodes.size(), -1);
  while (seenAt[at] < 0) {
    seenAt[at] = static_cast<int64_t>(path.size());
    path.push_back(at);
    uint32_t next = at;
    forEachPredecessor(graph, graph.nodes[at], [&](uint32_t from) {
      if (pending[from])
        next = from;
    });
    at = next;
  }
  std::string names;
  size_t start = static_cast<size_t>(seenAt[at]);
  for (size_t i = path.size(); i-- > start;) {
    if (path.size() - i > 8) {
      names += " → …";
      break;
    }
    names += (names.empty() ? "\"" : " → \"") + std::string(graph.nodes[path[i]].name) + "\"";
  }
  return names;
}

void weir::tf::joinCollectives(Graph &graph) {
  std::map<std::string, std::vector<uint32_t>> groups;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    auto number = [&](std::string_view name) {
      const AttrValue *value = node.attr(name);
      return value ? std::to_string(value->i) : "";
    };
    const AttrValue *shared = node.attr("shared_name");
    std::string key;
    if (node.op == "NcclAllReduce" && shared)
      key = "n" + std::string(shared->s);
    else if (node.op == "CollectiveReduce")
      key = "c" + number("group_key") + ":" + number("instance_key");
    if (!key.empty())
      groups[key].push_back(i);
  }
  for (auto &[key, members] : groups) {
    std::vector<Edge> inputs;
    for (uint32_t member : members)
      inputs.insert(inputs.end(), graph.nodes[member].inputs.begin(),
                    graph.nodes[member].inputs.end());
    for (uint32_t member : members)
      graph.nodes[member].inputs = inputs;
  }
}

bool weir::tf::sortGraph(Graph &graph, const std::string &file, DiagnosticSink &sink) {
  std::vector<uint32_t> pending(graph.nodes.size(), 0);
  std::vector<std::vector<uint32_t>> users(graph.nodes.size());
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    forEachPredecessor(graph, graph.nodes[i], [&](uint32_t from) {
      users[from].push_back(i);
      ++pending[i];
    });
  graph.order.clear();
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (pending[i] == 0)
      graph.order.push_back(i);
  for (size_t done = 0; done < graph.order.size(); ++done)
    for (uint32_t user : users[graph.order[done]])
      if (--pending[user] == 0)
        graph.order.push_back(user);
  size_t left = graph.nodes.size() - graph.order.size();
  if (left == 0)
    return true;
  uint32_t first = 0;
  while (pending[first] == 0)
    ++first;
  sink.report({"W0208",
               file,
               std::string(graph.nodes[first].name),
               std::string(graph.nodes[first].op),
               std::to_string(left) + " nodes are in a cycle or wait for one; only a "
                                      "NextIteration may lead back, to a Merge",
               {"cycle: " + describeCycle(graph, pending)}});
  return false;
}
