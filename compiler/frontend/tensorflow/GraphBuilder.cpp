//===- GraphBuilder.cpp - names to numbers, checked -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Graph.h"
#include "compiler/frontend/tensorflow/TypeConstraints.h"

#include <algorithm>
#include <charconv>

using namespace weir;
using namespace weir::tf;

namespace {

class Builder {
public:
  Builder(const Library &library, const std::string &file, DiagnosticSink &sink)
      : library(library), file(file), sink(sink) {}

  std::optional<Graph> fromGraph(const GraphDef &def);
  std::optional<Graph> fromFunction(const FunctionDef &function,
                                    const std::vector<Attr> &callAttrs);

private:
  void addNode(const NodeDef &def);
  void bindAttrs(Node &node);
  void completeAttrs(Node &node);
  void typeOutputs(Node &node);
  void resolveInputs(uint32_t index, const std::vector<std::string_view> &names);
  void checkInputs(const Node &node);
  bool addArgs(const FunctionDef &function);
  std::optional<Edge> resolveBodyName(const Node &user, std::string_view text);
  std::optional<int64_t> outputIndex(const Node &node, std::string_view outArg, int64_t index);
  bool finish();

  void error(const char *code, const Node &node, std::string message) {
    failed = true;
    std::string name(node.name);
    if (!graph.name.empty())
      name = std::string(graph.name) + "/" + name;
    sink.report({code, file, std::move(name), std::string(node.op), std::move(message), {}});
  }

  const Library &library;
  const std::string &file;
  DiagnosticSink &sink;
  Graph graph;
  bool isFunction = false;
  const std::vector<Attr> *bindings = nullptr;
  const FunctionDef *function = nullptr;
  /// Of a function argument's name: its first _Arg node and how many.
  std::unordered_map<std::string_view, std::pair<uint32_t, uint32_t>> argNodes;
  /// Outputs of all nodes: attributes claim them, nothing in the file backs it.
  size_t outputCount = 0;
  bool failed = false;
};

} // namespace

static constexpr size_t kMaxOutputs = size_t(1) << 24;

static std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// What op tables call the kind of a value.
static std::string_view kindName(const AttrValue &value) {
  using Kind = AttrValue::Kind;
  switch (value.kind) {
  case Kind::None:
    return "nothing";
  case Kind::String:
    return "string";
  case Kind::Int:
    return "int";
  case Kind::Float:
    return "float";
  case Kind::Bool:
    return "bool";
  case Kind::Type:
    return "type";
  case Kind::Shape:
    return "shape";
  case Kind::Tensor:
    return "tensor";
  case Kind::List:
    return "list";
  case Kind::Func:
    return "func";
  case Kind::Placeholder:
    return "placeholder";
  }
  return "";
}

static bool fitsKind(const AttrValue &value, std::string_view kind) {
  if (kind.starts_with("list(")) {
    if (value.kind != AttrValue::Kind::List)
      return false;
    AttrValue element;
    element.kind = value.list->kind;
    return value.list->size() == 0 || kindName(element) == kind.substr(5, kind.size() - 6);
  }
  return kindName(value) == kind;
}

/// Replaces placeholders by the call's attributes, through functions, too.
static bool bindValue(AttrValue &value, const std::vector<Attr> &bindings,
                      std::string_view &missing) {
  if (value.kind == AttrValue::Kind::Placeholder) {
    const AttrValue *bound = findAttr(bindings, value.s);
    if (!bound) {
      missing = value.s;
      return false;
    }
    value = *bound;
    return true;
  }
  if (value.kind != AttrValue::Kind::Func || value.funcAttrs->empty())
    return true;
  auto attrs = std::make_shared<std::vector<Attr>>(*value.funcAttrs);
  for (Attr &attr : *attrs)
    if (!bindValue(attr.second, bindings, missing))
      return false;
  value.funcAttrs = std::move(attrs);
  return true;
}

void Builder::bindAttrs(Node &node) {
  for (Attr &attr : node.attrs) {
    std::string_view missing;
    if (isFunction) {
      if (!bindValue(attr.second, *bindings, missing))
        error("W0210", node,
              "attribute " + quoted(attr.first) + " stands for " + quoted(missing) +
                  " of the call, which the call does not give");
    } else if (attr.second.kind == AttrValue::Kind::Placeholder) {
      error("W0210", node,
            "attribute " + quoted(attr.first) +
                " is a placeholder; they are possible inside functions only");
    }
  }
}

/// The first type that an attribute has and may not; Invalid: none.
static DataType forbiddenType(uint64_t allowed, const AttrValue &value) {
  auto isForbidden = [&](DataType type) {
    return type != DataType::Invalid && !(allowed >> static_cast<unsigned>(type) & 1);
  };
  if (allowed == 0)
    return DataType::Invalid;
  if (value.kind == AttrValue::Kind::Type)
    return isForbidden(value.type()) ? value.type() : DataType::Invalid;
  if (value.list)
    for (int64_t number : value.list->ints)
      if (isForbidden(toDataType(number)))
        return toDataType(number);
  return DataType::Invalid;
}

static std::string typeNames(uint64_t allowed) {
  std::string names;
  for (unsigned type = 1; type < 64; ++type)
    if (allowed >> type & 1)
      names += (names.empty() ? "" : ", ") + std::string(typeName(DataType(type)));
  return names;
}

void Builder::completeAttrs(Node &node) {
  if (!node.def)
    return;
  for (const AttrDef &def : node.def->attrs) {
    const AttrValue *value = node.attr(def.name);
    if (value) {
      if (!fitsKind(*value, def.kind))
        error("W0210", node,
              "attribute " + quoted(def.name) + ": expected " + std::string(def.kind) + ", got " +
                  std::string(kindName(*value)));
      else if (DataType type = forbiddenType(allowedTypes(def), *value); type != DataType::Invalid)
        error("W0210", node,
              "attribute " + quoted(def.name) + ": expected type " + typeNames(allowedTypes(def)) +
                  ", got " + std::string(typeName(type)));
    } else if (def.hasDefault) {
      node.attrs.emplace_back(def.name, def.value);
    } else {
      error("W0210", node,
            "attribute " + quoted(def.name) + " (" + std::string(def.kind) +
                ") is missing, and has no default");
    }
  }
  // Names that begin with an underscore are anybody's, and operations that do are
  // TensorFlow's own: their attributes change from release to release.
  if (node.op.starts_with('_'))
    return;
  for (const Attr &attr : node.attrs)
    if (!attr.first.starts_with('_') &&
        std::none_of(node.def->attrs.begin(), node.def->attrs.end(),
                     [&](const AttrDef &def) { return def.name == attr.first; }))
      error("W0210", node,
            "attribute " + quoted(attr.first) +
                " is none of the operation's; expected one of its own, or one that begins with _");
}

void Builder::typeOutputs(Node &node) {
  const std::vector<ArgDef> *outputs = nullptr;
  if (node.def)
    outputs = &node.def->outputs;
  else if (node.callee)
    outputs = &node.callee->outputs;
  if (!outputs)
    return;
  for (const ArgDef &arg : *outputs) {
    auto types = outputCount < kMaxOutputs ? argTypes(arg, node.attrs) : std::nullopt;
    if (!types) {
      error("W0210", node,
            "the attribute that output " + quoted(arg.name) + " hangs on is missing or senseless");
      return;
    }
    outputCount += types->size();
    node.outputTypes.insert(node.outputTypes.end(), types->begin(), types->end());
  }
}

void Builder::addNode(const NodeDef &def) {
  Node node;
  node.name = def.name;
  node.op = def.op;
  node.device = def.device;
  node.attrs = def.attrs;
  if (def.name.empty() || def.op.empty())
    error("W0205", node, "a node has no name or no operation");
  if (def.name.find_first_of(" \t\n\"") != std::string_view::npos)
    error("W0205", node,
          "expected a name of letters, digits and _ . - / \\ >, got a space or a quote in it");
  node.callee = library.find(def.op);
  if (!node.callee)
    node.def = findOp(def.op);
  bindAttrs(node);
  completeAttrs(node);
  typeOutputs(node);
  uint32_t index = static_cast<uint32_t>(graph.nodes.size());
  if (!graph.byName.emplace(def.name, index).second)
    error("W0205", node, "the name stands for two nodes; names are unique");
  graph.nodes.push_back(std::move(node));
}

/// The flat index of element `index` of an output argument.
std::optional<int64_t> Builder::outputIndex(const Node &node, std::string_view outArg,
                                            int64_t index) {
  const std::vector<ArgDef> *outputs = nullptr;
  if (node.def)
    outputs = &node.def->outputs;
  else if (node.callee)
    outputs = &node.callee->outputs;
  if (!outputs)
    return index; // an unknown operation: take it at its word
  int64_t base = 0;
  for (const ArgDef &arg : *outputs) {
    int64_t count = argCount(arg, node.attrs).value_or(0);
    if (arg.name == outArg)
      return index < count ? std::optional(base + index) : std::nullopt;
    base += count;
  }
  return std::nullopt;
}

/// `arg`, `arg:i`, `node:outarg:i` as function bodies write them.
std::optional<Edge> Builder::resolveBodyName(const Node &user, std::string_view text) {
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  int64_t index = 0;
  std::string_view outArg;
  size_t second = rest.find(':');
  std::string_view digits = rest;
  if (second != std::string_view::npos) {
    outArg = rest.substr(0, second);
    digits = rest.substr(second + 1);
  }
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (code != std::errc() || end != digits.data() + digits.size()) {
    outArg = rest;
    index = 0;
  }
  if (auto arg = argNodes.find(name); arg != argNodes.end()) {
    if (index < 0 || index >= arg->second.second) {
      error("W0207", user,
            "input " + quoted(text) + ": the argument has " + std::to_string(arg->second.second) +
                " tensors");
      return std::nullopt;
    }
    return Edge{arg->second.first + static_cast<uint32_t>(index), 0};
  }
  int64_t at = graph.find(name);
  if (at < 0) {
    error("W0206", user,
          "input " + quoted(text) + ": the function has no argument or node of that name");
    return std::nullopt;
  }
  const Node &from = graph.nodes[at];
  std::optional<int64_t> port = index;
  if (!outArg.empty())
    port = outputIndex(from, outArg, index);
  if (!port || *port < 0 || *port > (1 << 20)) {
    error("W0207", user,
          "input " + quoted(text) + ": " + quoted(name) + " (" + std::string(from.op) +
              ") has no such output");
    return std::nullopt;
  }
  return Edge{static_cast<uint32_t>(at), static_cast<uint32_t>(*port)};
}

void Builder::resolveInputs(uint32_t index, const std::vector<std::string_view> &names) {
  bool sawControl = false;
  for (std::string_view text : names) {
    Node &node = graph.nodes[index];
    bool isControl = text.starts_with('^');
    std::optional<Edge> edge;
    if (isFunction && !isControl) {
      edge = resolveBodyName(node, text);
    } else {
      TensorName name = parseTensorName(text);
      int64_t at = graph.find(name.node);
      if (at < 0 && isFunction)
        if (auto arg = argNodes.find(name.node); arg != argNodes.end())
          at = arg->second.first;
      if (at < 0)
        error("W0206", node, "input " + quoted(text) + ": there is no node of that name");
      else if (name.port > (1 << 20))
        error("W0207", node, "input " + quoted(text) + ": no such output");
      else
        edge =
            Edge{static_cast<uint32_t>(at), static_cast<uint32_t>(std::max<int64_t>(name.port, 0))};
    }
    if (isControl) {
      sawControl = true;
      if (edge &&
          std::find(node.controls.begin(), node.controls.end(), edge->node) == node.controls.end())
        node.controls.push_back(edge->node);
      continue;
    }
    if (sawControl) {
      error("W0206", node,
            "data input " + quoted(text) + " comes after a control input; controls come last");
      continue;
    }
    if (!edge)
      continue;
    Node &from = graph.nodes[edge->node];
    if (edge->port >= from.outputTypes.size()) {
      if (from.def || from.callee) {
        error("W0207", node,
              "input " + quoted(text) + ": " + quoted(from.name) + " (" + std::string(from.op) +
                  ") has " + std::to_string(from.outputTypes.size()) + " outputs");
        continue;
      }
      from.outputTypes.resize(edge->port + 1, DataType::Invalid);
    }
    node.inputs.push_back(*edge);
  }
}

/// Number and types of the inputs against the operation's signature.
void Builder::checkInputs(const Node &node) {
  const std::vector<ArgDef> *inputs = nullptr;
  if (node.def)
    inputs = &node.def->inputs;
  else if (node.callee)
    inputs = &node.callee->inputs;
  if (!inputs)
    return;
  size_t count = 0;
  for (const ArgDef &arg : *inputs) {
    std::optional<int64_t> tensors = argCount(arg, node.attrs);
    if (!tensors) {
      error("W0210", node,
            "the attribute that input " + quoted(arg.name) + " hangs on is missing or senseless");
      return;
    }
    count += static_cast<size_t>(*tensors);
  }
  if (count != node.inputs.size()) {
    error("W0216", node,
          "found " + std::to_string(node.inputs.size()) + " inputs; the operation takes " +
              std::to_string(count));
    return;
  }
  std::vector<DataType> wanted;
  for (const ArgDef &arg : *inputs) {
    std::vector<DataType> types = *argTypes(arg, node.attrs);
    wanted.insert(wanted.end(), types.begin(), types.end());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    Edge edge = node.inputs[i];
    DataType found = graph.nodes[edge.node].outputTypes[edge.port];
    if (found == DataType::Invalid || wanted[i] == DataType::Invalid || found == wanted[i])
      continue;
    error("W0217", node,
          "input " + std::to_string(i) + " is of type " + std::string(typeName(found)) +
              "; the operation expects " + std::string(typeName(wanted[i])));
  }
}

bool Builder::finish() {
  if (failed)
    return false;
  for (const Node &node : graph.nodes)
    checkInputs(node);
  if (failed)
    return false;
  joinCollectives(graph);
  return sortGraph(graph, file, sink);
}

std::optional<Graph> Builder::fromGraph(const GraphDef &def) {
  graph.nodes.reserve(def.nodes.size());
  graph.byName.reserve(def.nodes.size());
  for (const NodeDef &node : def.nodes)
    addNode(node);
  for (uint32_t i = 0; i < def.nodes.size(); ++i)
    resolveInputs(i, def.nodes[i].inputs);
  if (!finish())
    return std::nullopt;
  return std::move(graph);
}

/// Makes the `_Arg` nodes of a function. False where the attributes that say
/// how many there are are missing.
bool Builder::addArgs(const FunctionDef &function) {
  for (const ArgDef &arg : function.inputs) {
    auto types = argTypes(arg, *bindings);
    Node node;
    node.name = arg.name;
    node.op = "_Arg";
    node.def = findOp("_Arg");
    if (!types) {
      error("W0210", node, "the attribute that the argument hangs on is missing or senseless");
      return false;
    }
    argNodes[arg.name] = {static_cast<uint32_t>(graph.nodes.size()),
                          static_cast<uint32_t>(types->size())};
    for (DataType type : *types) {
      AttrValue typeValue, indexValue;
      typeValue.kind = AttrValue::Kind::Type;
      typeValue.i = static_cast<int64_t>(type);
      indexValue.kind = AttrValue::Kind::Int;
      indexValue.i = static_cast<int64_t>(graph.args.size());
      Node one = node;
      one.attrs = {{"T", typeValue}, {"index", indexValue}};
      one.outputTypes = {type};
      graph.args.push_back(static_cast<uint32_t>(graph.nodes.size()));
      graph.nodes.push_back(std::move(one));
    }
  }
  return true;
}

std::optional<Graph> Builder::fromFunction(const FunctionDef &def,
                                           const std::vector<Attr> &callAttrs) {
  isFunction = true;
  function = &def;
  graph.name = def.name;
  std::vector<Attr> all = callAttrs;
  for (const Attr &attr : def.attrDefaults)
    if (!findAttr(all, attr.first))
      all.push_back(attr);
  bindings = &all;
  if (!addArgs(def))
    return std::nullopt;
  uint32_t first = static_cast<uint32_t>(graph.nodes.size());
  for (const NodeDef &node : def.nodes)
    addNode(node);
  for (uint32_t i = 0; i < def.nodes.size(); ++i)
    resolveInputs(first + i, def.nodes[i].inputs);

  Node self; // for messages about the function as a whole
  self.name = "";
  self.op = def.name;
  for (const ArgDef &arg : def.outputs) {
    auto ret = std::find_if(def.rets.begin(), def.rets.end(),
                            [&](auto &entry) { return entry.first == arg.name; });
    std::optional<int64_t> count = argCount(arg, all);
    if (ret == def.rets.end() || !count) {
      error("W0211", self, "output " + quoted(arg.name) + " of the function is not given");
      continue;
    }
    std::optional<Edge> edge = resolveBodyName(self, ret->second);
    if (!edge)
      continue;
    for (int64_t i = 0; i < *count; ++i) {
      // A sequence is either an argument's nodes or one node's outputs.
      Edge one = *edge;
      if (graph.nodes[edge->node].op == "_Arg")
        one.node += static_cast<uint32_t>(i);
      else
        one.port += static_cast<uint32_t>(i);
      Node &from = graph.nodes[std::min<size_t>(one.node, graph.nodes.size() - 1)];
      if (one.node >= graph.nodes.size() || one.port >= from.outputTypes.size()) {
        if (one.node >= graph.nodes.size() || from.def || from.callee) {
          error("W0207", self,
                "output " + quoted(arg.name) + ": " + quoted(ret->second) + " has no such output");
          break;
        }
        from.outputTypes.resize(one.port + 1, DataType::Invalid);
      }
      graph.rets.push_back(one);
      graph.retNames.push_back(arg.name);
    }
  }
  for (auto &[name, node] : def.controlRets) {
    int64_t at = graph.find(node);
    if (at < 0)
      error("W0211", self,
            "control output " + quoted(name) + " names " + quoted(node) +
                ", which the function does not have");
    else
      graph.controlRets.push_back(static_cast<uint32_t>(at));
  }
  if (!finish())
    return std::nullopt;
  return std::move(graph);
}

std::optional<Graph> weir::tf::buildGraph(const GraphDef &def, const Library &library,
                                          const std::string &file, DiagnosticSink &sink) {
  return Builder(library, file, sink).fromGraph(def);
}

std::optional<Graph> weir::tf::instantiate(const FunctionDef &function,
                                           const std::vector<Attr> &attrs, const Library &library,
                                           const std::string &file, DiagnosticSink &sink) {
  return Builder(library, file, sink).fromFunction(function, attrs);
}
