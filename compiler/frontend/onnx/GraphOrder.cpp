//===- GraphOrder.cpp - names and order of a graph's nodes ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphOrder.h"
#include "compiler/frontend/onnx/ModelReader.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

using namespace weir;
using namespace weir::onnx;

namespace {

using Name = std::string_view;
/// Who defines a name: a node's index, or -1 for inputs and initializers.
using Definitions = std::unordered_map<Name, int64_t>;
using Names = std::vector<Name>;

std::string quoted(Name text) { return "\"" + std::string(text) + "\""; }

/// Distinct names in order of first use.
struct NameList {
  Names list;
  std::unordered_set<Name> known;
  void add(Name name) {
    if (!name.empty() && known.insert(name).second)
      list.push_back(name);
  }
};

class Orderer {
public:
  Orderer(const std::string &file, DiagnosticSink &sink) : file(file), sink(sink) {}

  void model(Graph &graph);
  void function(Function &function);

private:
  /// Orders a graph; names that it does not define are added to `outer`.
  void graph(Graph &graph, NameList &outer);
  void nodes(std::vector<Node> &nodes, Definitions &defined, NameList &outer);
  /// Reports uses of names that nothing defines, by the nodes that use them.
  void missingNames(const std::vector<Node> &nodes, const NameList &missing);
  void sort(std::vector<Node> &nodes, const Definitions &defined, const std::vector<Names> &uses);
  void report(const Node *node, int code, std::string text) {
    sink.report(diagnose(file, node, {code, std::move(text)}));
  }

  const std::string &file;
  DiagnosticSink &sink;
};

/// Adds `name` to `defined`; false where it is there.
bool define(Definitions &defined, Name name, int64_t by) {
  return defined.emplace(name, by).second;
}

void Orderer::nodes(std::vector<Node> &nodes, Definitions &defined, NameList &outer) {
  for (size_t i = 0; i < nodes.size(); ++i)
    for (Name output : nodes[i].outputs)
      if (!output.empty() && !define(defined, output, i))
        report(&nodes[i], 308,
               "expected a name of its own, got output " + quoted(output) +
                   ", which is defined already");
  std::vector<Names> uses(nodes.size());
  bool sorted = true;
  for (size_t i = 0; i < nodes.size(); ++i) {
    NameList used;
    for (Name input : nodes[i].inputs)
      used.add(input);
    for (NodeAttribute &attr : nodes[i].attributes)
      for (std::unique_ptr<Graph> &inner : attr.graphs)
        graph(*inner, used);
    for (Name name : used.list) {
      auto definition = defined.find(name);
      if (definition == defined.end())
        outer.add(name);
      else
        sorted &= definition->second < static_cast<int64_t>(i);
    }
    uses[i] = std::move(used.list);
  }
  if (!sorted)
    sort(nodes, defined, uses);
}

void Orderer::sort(std::vector<Node> &nodes, const Definitions &defined,
                   const std::vector<Names> &uses) {
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> waiting(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    for (Name name : uses[i]) {
      auto definition = defined.find(name);
      if (definition == defined.end() || definition->second < 0)
        continue;
      users[definition->second].push_back(i);
      ++waiting[i];
    }
  // The first ready node in the file's order, always: a small change of a file
  // then makes a small change of the program.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!waiting[i])
      ready.push(i);
  std::vector<Node> order;
  order.reserve(nodes.size());
  std::vector<bool> placed(nodes.size());
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    placed[next] = true;
    for (size_t user : users[next])
      if (--waiting[user] == 0)
        ready.push(user);
    order.push_back(std::move(nodes[next]));
  }
  if (order.size() == nodes.size()) {
    nodes = std::move(order);
    return;
  }
  // Walk back along unplaced operands; the first node met twice is on a cycle.
  size_t at = 0;
  while (placed[at])
    ++at;
  std::unordered_set<size_t> walked;
  Name through;
  while (walked.insert(at).second)
    for (Name name : uses[at]) {
      auto definition = defined.find(name);
      if (definition == defined.end() || definition->second < 0 || placed[definition->second])
        continue;
      at = definition->second;
      through = name;
      break;
    }
  report(&nodes[at], 310,
         "expected a graph without cycles, got one: the node needs its own output " +
             quoted(through));
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!placed[i])
      order.push_back(std::move(nodes[i]));
  nodes = std::move(order);
}

void Orderer::graph(Graph &graph, NameList &outer) {
  Definitions defined;
  for (const ValueInfo &input : graph.inputs)
    if (!define(defined, input.name, -1))
      report(nullptr, 308, "found input " + quoted(input.name) + " twice");
  std::unordered_set<Name> initialized;
  auto initializer = [&](Name name) {
    if (!initialized.insert(name).second)
      report(nullptr, 308, "found initializer " + quoted(name) + " twice");
    define(defined, name, -1);
  };
  for (const Tensor &tensor : graph.initializers)
    initializer(tensor.name);
  for (const SparseTensor &tensor : graph.sparseInitializers)
    initializer(tensor.values.name);
  nodes(graph.nodes, defined, outer);
  for (const ValueInfo &output : graph.outputs) {
    if (output.name.empty())
      report(nullptr, 311, "found a graph output without a name");
    if (!defined.count(output.name))
      outer.add(output.name);
  }
}

void Orderer::function(Function &function) {
  Definitions defined;
  for (Name input : function.inputs)
    if (!define(defined, input, -1))
      report(nullptr, 308,
             "in function " + quoted(function.name) + " found input " + quoted(input) + " twice");
  NameList outer;
  nodes(function.nodes, defined, outer);
  for (Name output : function.outputs)
    if (!defined.count(output))
      outer.add(output);
  if (!outer.list.empty())
    missingNames(function.nodes, outer);
  for (Name output : function.outputs)
    if (outer.known.count(output) || output.empty())
      report(nullptr, 309,
             "in function " + quoted(function.name) + " found output " + quoted(output) +
                 ", which nothing defines");
}

void Orderer::missingNames(const std::vector<Node> &nodes, const NameList &missing) {
  for (const Node &node : nodes) {
    for (Name input : node.inputs)
      if (missing.known.count(input))
        report(&node, 309, "found input " + quoted(input) + ", which nothing defines");
    for (const NodeAttribute &attr : node.attributes)
      for (const std::unique_ptr<Graph> &inner : attr.graphs) {
        missingNames(inner->nodes, missing);
        for (const ValueInfo &output : inner->outputs)
          if (missing.known.count(output.name))
            report(&node, 309,
                   "found graph output " + quoted(output.name) + ", which nothing defines");
      }
  }
}

void Orderer::model(Graph &graph) {
  NameList missing;
  this->graph(graph, missing);
  if (missing.list.empty())
    return;
  missingNames(graph.nodes, missing);
  for (const ValueInfo &output : graph.outputs)
    if (missing.known.count(output.name))
      report(nullptr, 309, "found graph output " + quoted(output.name) + ", which nothing defines");
}

void collectFree(const Graph &graph, NameList &outer);

/// The names that nodes, the graphs inside them, and outputs take.
NameList listRead(const Graph &graph) {
  NameList used;
  for (const Node &node : graph.nodes) {
    for (Name input : node.inputs)
      used.add(input);
    for (const NodeAttribute &attr : node.attributes)
      for (const std::unique_ptr<Graph> &inner : attr.graphs)
        collectFree(*inner, used);
  }
  for (const ValueInfo &output : graph.outputs)
    used.add(output.name);
  return used;
}

void collectFree(const Graph &graph, NameList &outer) {
  std::unordered_set<Name> defined;
  for (const ValueInfo &input : graph.inputs)
    defined.insert(input.name);
  for (const Tensor &tensor : graph.initializers)
    defined.insert(tensor.name);
  for (const SparseTensor &tensor : graph.sparseInitializers)
    defined.insert(tensor.values.name);
  for (const Node &node : graph.nodes)
    defined.insert(node.outputs.begin(), node.outputs.end());
  const NameList used = listRead(graph);
  for (Name name : used.list)
    if (!defined.count(name))
      outer.add(name);
}

} // namespace

void weir::onnx::orderGraph(Graph &graph, const std::string &file, DiagnosticSink &sink) {
  Orderer(file, sink).model(graph);
}

void weir::onnx::orderFunction(Function &function, const std::string &file, DiagnosticSink &sink) {
  Orderer(file, sink).function(function);
}

std::vector<std::string_view> weir::onnx::freeNames(const Graph &graph) {
  NameList outer;
  collectFree(graph, outer);
  return outer.list;
}

std::unordered_set<std::string_view> weir::onnx::namesRead(const Graph &graph) {
  return listRead(graph).known;
}
