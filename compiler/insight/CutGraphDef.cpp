//===- CutGraphDef.cpp - a part of a GraphDef -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/NearestName.h"
#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/WireWriter.h"
#include "compiler/frontend/tensorflow/InlineCalls.h"
#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"
#include "compiler/insight/Cut.h"
#include "compiler/insight/GraphDefFile.h"
#include "compiler/insight/GraphDefNode.h"

#include "compiler/emit/OutputFile.h"

#include <algorithm>
#include <map>
#include <set>

using namespace weir;
using namespace weir::insight;
using frontend::WireReader;
using frontend::WireWriter;

namespace {

using Name = std::string_view;

std::string quoted(Name text) { return "\"" + std::string(text) + "\""; }

/// Nodes that give what a variable holds, which a GraphDef does not say.
bool readsVariable(const tf::Node &node) {
  return node.op == "ReadVariableOp" || node.op == "VariableV2" || node.op == "Variable";
}

using EdgeKey = std::pair<uint32_t, uint32_t>;

class GraphDefCut {
public:
  GraphDefCut(const std::string &file, const tf::GraphDef &def, const tf::Graph &graph,
              DiagnosticSink &sink, CutSummary &summary)
      : file(file), def(def), graph(graph), sink(sink), summary(summary) {}

  bool select(const CutRequest &request);
  bool findTypes(const ValueTypes &types);
  std::string write(Name bytes);

private:
  struct Variable {
    uint32_t node;
    std::string value, assignment; ///< nodes that the part gets for it
  };
  bool refuse(const char *code, std::string text) {
    sink.report({code, file, "", "", std::move(text), {}});
    return false;
  }
  bool unknown(const std::string &name, const char *flag);
  bool resolve(const CutRequest &request);
  bool find(const std::string &name, const char *flag, bool &isNode, tf::Edge &edge);
  /// A variable is no value that anybody could feed: it comes along, and is assigned.
  void addInput(tf::Edge edge, std::string name) {
    if (graph.nodes[edge.node].op == "VarHandleOp" ||
        std::find(from.begin(), from.end(), edge) != from.end())
      return;
    from.push_back(edge);
    fromNames.push_back(std::move(name));
  }
  void addOnce(std::vector<tf::Edge> &list, tf::Edge edge) {
    if (std::find(list.begin(), list.end(), edge) == list.end())
      list.push_back(edge);
  }
  void follow(const std::vector<uint32_t> &roots);
  void followControls();
  std::string nameOf(tf::Edge edge) const {
    return std::string(graph.nodes[edge.node].name) +
           (edge.port ? ":" + std::to_string(edge.port) : "");
  }
  void findVariables();
  void nameInputs();
  std::string placeholder(size_t input) const;
  std::string variableValue(const Variable &variable) const;
  std::vector<std::string> assignmentsBefore(const tf::Node &node) const;
  std::string node(Name message, const tf::Node &node);
  std::string inlinedNode(const tf::Node &node) const;
  void keepFunctions();
  std::string library(Name message);

  const std::string &file;
  const tf::GraphDef &def;
  const tf::Graph &graph;
  DiagnosticSink &sink;
  CutSummary &summary;
  std::vector<tf::Edge> from, to;
  std::vector<std::string> fromNames; ///< as the request has them
  std::vector<Variable> variables;    ///< of the part that have no value in it
  std::map<EdgeKey, size_t> inputs;   ///< fed edges → index into `fed`
  std::vector<tf::Edge> fed;
  std::vector<std::string> inputNames; ///< of the placeholders
  std::vector<TensorInfo> inputTypes;
  std::vector<bool> kept; ///< nodes
  std::set<Name> functions;
};

bool GraphDefCut::unknown(const std::string &name, const char *flag) {
  for (const tf::Node &node : graph.nodes)
    if (node.name.ends_with("/" + name))
      return refuse("W0152", "found " + std::string(flag) + "=" + name +
                                 ", the name of a node in a function; possible: " +
                                 quoted(node.name) + ", which is the call's before it");
  for (const tf::FunctionDef &function : def.functions)
    for (const tf::NodeDef &node : function.nodes)
      if (node.name == name)
        return refuse("W0152", "found " + std::string(flag) + "=" + name + " in function " +
                                   quoted(function.name) + "; possible: a node that calls it");
  NearestName nearest(name);
  for (const tf::Node &node : graph.nodes)
    nearest.show({node.name.data(), node.name.size()});
  return refuse("W0151", "found " + std::string(flag) + "=" + name +
                             ", and no node or value of that name" + nearest.question());
}

bool GraphDefCut::find(const std::string &name, const char *flag, bool &isNode, tf::Edge &edge) {
  int64_t whole = graph.find(name);
  isNode = whole >= 0;
  tf::TensorName value = tf::parseTensorName(name);
  int64_t node = isNode ? whole : graph.find(value.node);
  if (node < 0 || value.port < 0)
    return unknown(name, flag);
  edge = {static_cast<uint32_t>(node), isNode ? 0 : static_cast<uint32_t>(value.port)};
  if (!isNode && edge.port >= graph.nodes[node].outputTypes.size())
    return refuse("W0151", "found " + std::string(flag) + "=" + name + ", and node " +
                               quoted(value.node) + " with " +
                               std::to_string(graph.nodes[node].outputTypes.size()) + " outputs");
  return true;
}

bool GraphDefCut::resolve(const CutRequest &request) {
  bool isNode;
  tf::Edge edge;
  for (const std::string &name : request.from) {
    if (!find(name, "--from", isNode, edge))
      return false;
    isNode &= !request.areValues;
    if (!isNode) {
      addInput(edge, name);
      continue;
    }
    for (tf::Edge input : graph.nodes[edge.node].inputs)
      if (graph.nodes[input.node].op != "Const")
        addInput(input, nameOf(input));
  }
  for (const std::string &name : request.to) {
    if (!find(name, "--to", isNode, edge))
      return false;
    isNode &= !request.areValues;
    size_t ports = isNode ? graph.nodes[edge.node].outputTypes.size() : 1;
    for (uint32_t port = 0; port < ports; ++port)
      addOnce(to, {edge.node, edge.port + port});
  }
  if (!request.to.empty())
    return true;
  std::vector<bool> isUsed(graph.nodes.size(), false);
  for (const tf::Node &node : graph.nodes) {
    for (tf::Edge input : node.inputs)
      isUsed[input.node] = true;
    for (uint32_t control : node.controls)
      isUsed[control] = true;
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (!isUsed[i] && !graph.nodes[i].outputTypes.empty())
      addOnce(to, {i, 0});
  return true;
}

/// Keeps what `roots` need, up to the edges that are fed.
void GraphDefCut::follow(const std::vector<uint32_t> &roots) {
  std::vector<uint32_t> open(roots);
  while (!open.empty()) {
    uint32_t at = open.back();
    open.pop_back();
    if (kept[at])
      continue;
    kept[at] = true;
    for (tf::Edge input : graph.nodes[at].inputs) {
      if (readsVariable(graph.nodes[input.node]) && !inputs.count({input.node, input.port})) {
        inputs.emplace(EdgeKey{input.node, input.port}, fed.size());
        fed.push_back(input);
        summary.notes.push_back("what variable " + quoted(nameOf(input)) +
                                " holds is an input of the part");
      }
      if (!inputs.count({input.node, input.port}))
        open.push_back(input.node);
    }
  }
}

/// What is to run before the part stays, unless what is fed stands for it.
void GraphDefCut::followControls() {
  std::vector<bool> isBefore(graph.nodes.size(), false);
  std::vector<uint32_t> open;
  for (tf::Edge edge : fed)
    open.push_back(edge.node);
  while (!open.empty()) {
    uint32_t at = open.back();
    open.pop_back();
    if (isBefore[at])
      continue;
    isBefore[at] = true;
    for (tf::Edge input : graph.nodes[at].inputs)
      open.push_back(input.node);
    for (uint32_t control : graph.nodes[at].controls)
      open.push_back(control);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      if (!kept[i])
        continue;
      for (uint32_t control : graph.nodes[i].controls)
        if (!kept[control] && !isBefore[control]) {
          follow({control});
          changed = true;
        }
    }
  }
}

bool GraphDefCut::select(const CutRequest &request) {
  if (!resolve(request))
    return false;
  kept.assign(graph.nodes.size(), false);
  for (tf::Edge edge : from)
    if (inputs.emplace(EdgeKey{edge.node, edge.port}, fed.size()).second)
      fed.push_back(edge);
  std::vector<uint32_t> roots;
  for (tf::Edge edge : to)
    if (!inputs.count({edge.node, edge.port}))
      roots.push_back(edge.node);
  follow(roots);
  std::set<EdgeKey> used;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (kept[i])
      for (tf::Edge input : graph.nodes[i].inputs)
        used.insert({input.node, input.port});
  for (tf::Edge edge : from)
    if (!used.count({edge.node, edge.port}))
      return refuse("W0152", "found --from with " + quoted(nameOf(edge)) +
                                 ", on which nothing that --to names depends; possible: a node "
                                 "or value before it");
  followControls();
  summary.nodes = std::count(kept.begin(), kept.end(), true);
  if (!summary.nodes)
    return refuse("W0152", "found no node between --from and --to; possible: --from names what "
                           "comes before --to");
  for (tf::Edge edge : fed) {
    tf::DataType type = graph.nodes[edge.node].outputTypes[edge.port];
    if (type == tf::DataType::Resource || type == tf::DataType::Variant)
      return refuse("W0152", "found value " + quoted(nameOf(edge)) + " of type " +
                                 std::string(tf::typeName(type)) +
                                 " where the part begins, which nobody can feed; possible: "
                                 "--from further up or down");
  }
  findVariables();
  nameInputs();
  keepFunctions();
  summary.inputs = inputNames;
  for (size_t i = 0; i < fed.size(); ++i)
    summary.sources.push_back(i < fromNames.size() ? fromNames[i] : nameOf(fed[i]));
  for (const Variable &variable : variables) {
    const tf::Node &handle = graph.nodes[variable.node];
    const tf::AttrValue *shared = handle.attr("shared_name");
    summary.inputs.push_back(variable.value);
    summary.sources.emplace_back(handle.name);
    summary.variables[variable.value] = shared && !shared->s.empty() ? shared->s : handle.name;
    summary.notes.push_back("what variable " + quoted(handle.name) +
                            " holds is an input of the part");
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (kept[i] && (graph.nodes[i].op == "Placeholder" || graph.nodes[i].op == "PlaceholderV2")) {
      summary.inputs.emplace_back(graph.nodes[i].name);
      summary.sources.emplace_back(graph.nodes[i].name);
    }
  for (tf::Edge edge : to)
    summary.outputs.push_back(nameOf(edge));
  return true;
}

void GraphDefCut::findVariables() {
  std::set<uint32_t> used, assigned;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (kept[i])
      for (tf::Edge input : graph.nodes[i].inputs)
        (graph.nodes[i].op == "AssignVariableOp" ? assigned : used).insert(input.node);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (kept[i] && graph.nodes[i].op == "VarHandleOp" && used.count(i) && !assigned.count(i))
      variables.push_back({i, "", ""});
}

/// A placeholder has the name of the node whose place it takes, where that is free.
void GraphDefCut::nameInputs() {
  std::set<std::string> taken;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (kept[i])
      taken.emplace(graph.nodes[i].name);
  for (tf::Edge edge : fed) {
    std::string name(graph.nodes[edge.node].name);
    if (edge.port || taken.count(name))
      name += "_" + std::to_string(edge.port);
    while (!taken.insert(name).second)
      name += "_";
    inputNames.push_back(std::move(name));
  }
  auto unique = [&](std::string name) {
    while (!taken.insert(name).second)
      name += "_";
    return name;
  };
  for (Variable &variable : variables) {
    std::string name(graph.nodes[variable.node].name);
    variable.value = unique(name + "_value");
    variable.assignment = unique(name + "_assign");
  }
}

bool GraphDefCut::findTypes(const ValueTypes &types) {
  std::vector<std::string> names;
  for (tf::Edge edge : fed)
    names.push_back(nameOf(edge));
  return names.empty() || types(names, inputTypes);
}

void GraphDefCut::keepFunctions() {
  std::map<Name, const tf::FunctionDef *> known;
  for (const tf::FunctionDef &function : def.functions)
    known.emplace(function.name, &function);
  std::vector<Name> open;
  std::function<void(const std::vector<tf::Attr> &)> inAttrs =
      [&](const std::vector<tf::Attr> &attrs) {
        for (const auto &[key, value] : attrs) {
          if (value.kind == tf::AttrValue::Kind::Func)
            open.push_back(value.s);
          if (value.funcAttrs)
            inAttrs(*value.funcAttrs);
          if (value.list)
            for (const tf::AttrValue &func : value.list->funcs)
              open.push_back(func.s);
          // Gradients of functions are found by a string.
          if (key == "_gradient_op_type")
            open.push_back(value.s);
        }
      };
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (kept[i]) {
      open.push_back(graph.nodes[i].op);
      inAttrs(graph.nodes[i].attrs);
    }
  while (!open.empty()) {
    Name name = open.back();
    open.pop_back();
    auto function = known.find(name);
    if (function == known.end() || !functions.insert(function->first).second)
      continue;
    for (const tf::NodeDef &node : function->second->nodes) {
      open.push_back(node.op);
      inAttrs(node.attrs);
    }
    for (const auto &[of, gradient] : def.gradients)
      if (of == name)
        open.push_back(gradient);
  }
}

std::string GraphDefCut::placeholder(size_t input) const {
  tf::Edge edge = fed[input];
  WireWriter type, shape, dims, out;
  type.integer(6, static_cast<int64_t>(graph.nodes[edge.node].outputTypes[edge.port]));
  if (input < inputTypes.size() && inputTypes[input].ranked)
    for (int64_t size : inputTypes[input].dims) {
      WireWriter dim;
      dim.integer(1, size);
      dims.bytes(2, dim.take());
    }
  else
    dims.integer(3, 1);
  shape.bytes(7, dims.take());
  out.bytes(1, inputNames[input]);
  out.bytes(2, "Placeholder");
  for (const auto &[key, value] : {std::pair("dtype", type.take()), {"shape", shape.take()}}) {
    WireWriter entry;
    entry.bytes(1, key);
    entry.bytes(2, value);
    out.bytes(5, entry.take());
  }
  return out.take();
}

/// The placeholder of a variable's value, and what assigns it.
std::string GraphDefCut::variableValue(const Variable &variable) const {
  const tf::Node &handle = graph.nodes[variable.node];
  tf::Node value, assignment;
  value.name = variable.value;
  value.op = "Placeholder";
  assignment.name = variable.assignment;
  assignment.op = "AssignVariableOp";
  for (const tf::Attr &attr : handle.attrs) {
    if (attr.first == "dtype")
      assignment.attrs.push_back(attr);
    if (attr.first == "dtype" || attr.first == "shape")
      value.attrs.push_back(attr);
  }
  WireWriter out;
  out.bytes(1, nodeMessage(value, {}));
  out.bytes(1, nodeMessage(assignment, {std::string(handle.name), variable.value}));
  return out.take();
}

/// Control inputs of what takes a variable.
std::vector<std::string> GraphDefCut::assignmentsBefore(const tf::Node &node) const {
  std::vector<std::string> names;
  for (const Variable &variable : variables)
    if (std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](tf::Edge input) { return input.node == variable.node; }))
      names.push_back("^" + variable.assignment);
  return names;
}

/// A node whose inputs lead into the part alone.
std::string GraphDefCut::node(Name message, const tf::Node &node) {
  WireWriter out;
  size_t input = 0;
  for (WireReader reader(message); reader.next();) {
    if (reader.field() == 3) {
      Name text = reader.bytes();
      if (text.starts_with('^')) {
        int64_t at = graph.find(text.substr(1));
        if (at >= 0 && kept[at])
          out.raw(reader.raw());
        continue;
      }
      tf::Edge edge = node.inputs[input++];
      auto made = inputs.find({edge.node, edge.port});
      if (made == inputs.end())
        out.raw(reader.raw());
      else
        out.bytes(3, inputNames[made->second]);
      continue;
    }
    // Colocation with what is not there has no meaning.
    if (reader.field() == 5) {
      WireReader entry(reader.bytes());
      if (entry.next() && entry.field() == 1 && entry.bytes() == "_class")
        continue;
    }
    out.raw(reader.raw());
  }
  for (const std::string &before : assignmentsBefore(node))
    out.bytes(3, before);
  return out.take();
}

/// The same of a node that no message of the file is.
std::string GraphDefCut::inlinedNode(const tf::Node &node) const {
  std::vector<std::string> names;
  for (tf::Edge edge : node.inputs) {
    auto made = inputs.find({edge.node, edge.port});
    names.push_back(made == inputs.end() ? nameOf(edge) : inputNames[made->second]);
  }
  for (uint32_t control : node.controls)
    if (kept[control])
      names.push_back("^" + std::string(graph.nodes[control].name));
  for (std::string &before : assignmentsBefore(node))
    names.push_back(std::move(before));
  return nodeMessage(node, names);
}

std::string GraphDefCut::library(Name message) {
  WireWriter out;
  size_t next = 0;
  for (WireReader reader(message); reader.next();) {
    Name of;
    if (reader.field() == 1)
      of = def.functions[next++].name;
    if (reader.field() == 2) {
      WireReader gradient(reader.bytes());
      while (gradient.next())
        if (gradient.field() == 1)
          of = gradient.bytes();
    }
    if (of.empty() || functions.count(of))
      out.raw(reader.raw());
  }
  return out.take();
}

std::string GraphDefCut::write(Name bytes) {
  WireWriter out;
  for (size_t i = 0; i < fed.size(); ++i)
    out.bytes(1, placeholder(i));
  for (const Variable &variable : variables)
    out.raw(variableValue(variable));
  size_t next = 0;
  for (WireReader reader(bytes); reader.next();)
    switch (reader.field()) {
    case 1:
      if (int64_t at = graph.find(def.nodes[next].name); at >= 0 && kept[at])
        out.bytes(1, graph.nodes[at].op == def.nodes[next].op
                         ? node(reader.bytes(), graph.nodes[at])
                         : inlinedNode(graph.nodes[at]));
      ++next;
      break;
    case 2:
      out.bytes(2, library(reader.bytes()));
      break;
    case 5: // where the nodes of the whole come from
      break;
    default:
      out.raw(reader.raw());
    }
  for (size_t i = def.nodes.size(); i < graph.nodes.size(); ++i)
    if (kept[i])
      out.bytes(1, inlinedNode(graph.nodes[i]));
  return out.take();
}

} // namespace

bool insight::cutGraphDef(const std::string &path, const FrontendFlagValues &flags,
                          const CutRequest &request, const ValueTypes &types,
                          const std::string &output, DiagnosticSink &sink, CutSummary &summary) {
  std::unique_ptr<GraphDefFile> opened =
      GraphDefFile::open(path, valuesOf(flags, tf::tagsFlag), sink);
  if (!opened)
    return false;
  tf::Library library(opened->graph(), path, sink);
  std::optional<tf::Graph> graph = tf::buildGraph(opened->graph(), library, path, sink);
  if (!graph)
    return false;
  auto hasAll = [&](const std::vector<std::string> &names) {
    return std::all_of(names.begin(), names.end(), [&](const std::string &name) {
      return graph->find(name) >= 0 || graph->find(tf::parseTensorName(name).node) >= 0;
    });
  };
  std::optional<tf::InlinedGraph> inlined;
  if (!hasAll(request.from) || !hasAll(request.to)) {
    inlined = tf::inlineCalls(*graph, library, path, sink);
    if (!inlined)
      return false;
    graph = std::move(inlined->graph);
  }
  GraphDefCut cut(path, opened->graph(), *graph, sink, summary);
  if (!cut.select(request) || !cut.findTypes(types))
    return false;
  if (llvm::Error failed = writeFile(output, cut.write(opened->bytes()))) {
    sink.report({"W0104", path, "", "", llvm::toString(std::move(failed)), {}});
    return false;
  }
  return true;
}
