//===- ModelReader.cpp - from an ONNX file's bytes to a Model -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function a message, one case a field; fields that weir does not read are
// skipped. Subgraphs recurse to a fixed depth, skipping a nested message costs
// nothing, so the whole is linear in the file.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/ModelReader.h"
#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/onnx/TensorReader.h"

#include <algorithm>

using namespace weir;
using namespace weir::onnx;
using weir::frontend::WireReader;
using weir::frontend::WireType;

namespace {

using Bytes = std::string_view;

/// "ai.onnx" and "" are the same domain.
Bytes normalDomain(Bytes domain) { return domain == "ai.onnx" ? "" : domain; }

class Reader {
public:
  Reader(const std::string &file, DiagnosticSink &sink) : file(file), sink(sink) {}

  bool model(Bytes message, Model &model);

private:
  bool graph(Bytes message, Graph &graph, unsigned depth);
  bool function(Bytes message, Function &function);
  bool node(Bytes message, Node &node, unsigned depth);
  bool attribute(Bytes message, NodeAttribute &attr, unsigned depth);
  bool attributeValue(WireReader &reader, NodeAttribute &attr, unsigned depth);
  bool valueInfo(Bytes message, ValueInfo &value);
  bool type(Bytes message, TypeInfo &type, unsigned depth);
  bool tensorType(Bytes message, TypeInfo &type);
  bool mapType(Bytes message, TypeInfo &type, unsigned depth);
  bool wrappedType(Bytes message, TypeInfo &type, unsigned depth);
  bool shape(Bytes message, TypeInfo &type);
  bool opset(Bytes message, std::vector<OpsetImport> &opsets);
  bool tensor(Bytes message, std::vector<Tensor> &tensors);
  bool sparseTensor(Bytes message, std::vector<SparseTensor> &tensors);

  /// Reports what is wrong, at the node that is being read; false.
  bool fail(int code, std::string text);
  bool fail(Problem problem) { return fail(problem.code, std::move(problem.text)); }
  /// Whether the reader came to the end of its message in good order.
  bool finish(const WireReader &reader, const char *what) {
    return !reader.malformed() || fail(301, std::string("found a malformed ") + what +
                                                "; the file is damaged or was cut short");
  }

  const std::string &file;
  DiagnosticSink &sink;
  const Node *current = nullptr;
};

bool Reader::fail(int code, std::string text) {
  sink.report(diagnose(file, current, {code, std::move(text)}));
  return false;
}

/// What exporters write for "any size": no name, so that two such sizes may differ.
static bool isNoName(std::string_view symbol) {
  constexpr std::string_view words[] = {"?", "*", "-1", "None", "none", "unknown", "unk"};
  return std::find(std::begin(words), std::end(words), symbol) != std::end(words);
}

bool Reader::shape(Bytes message, TypeInfo &type) {
  type.hasShape = true;
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() != 1)
      continue;
    Dim dim;
    WireReader entry(reader.bytes());
    while (entry.next()) {
      if (entry.field() == 1)
        dim.size = entry.integer();
      else if (entry.field() == 2)
        dim.symbol = entry.bytes();
      if (isNoName(dim.symbol))
        dim.symbol = {};
    }
    if (!finish(entry, "dimension"))
      return false;
    // Some exporters write -1, or 0, for "any"; a negative size means nothing
    // else.
    if (dim.size < 0)
      dim.size = -1;
    type.shape.push_back(dim);
    if (type.shape.size() > 64)
      return fail(304, "found a type of more than 64 dimensions");
  }
  return finish(reader, "shape");
}

bool Reader::tensorType(Bytes message, TypeInfo &type) {
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1)
      type.elementType = static_cast<DataType>(reader.integer());
    else if (reader.field() == 2 && !shape(reader.bytes(), type))
      return false;
  }
  return finish(reader, "tensor type");
}

bool Reader::mapType(Bytes message, TypeInfo &type, unsigned depth) {
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1) {
      type.elementType = static_cast<DataType>(reader.integer());
    } else if (reader.field() == 2) {
      type.element = std::make_unique<TypeInfo>();
      if (!this->type(reader.bytes(), *type.element, depth + 1))
        return false;
    }
  }
  return finish(reader, "map type");
}

bool Reader::wrappedType(Bytes message, TypeInfo &type, unsigned depth) {
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() != 1)
      continue;
    type.element = std::make_unique<TypeInfo>();
    if (!this->type(reader.bytes(), *type.element, depth + 1))
      return false;
  }
  return finish(reader, "sequence or optional type");
}

bool Reader::type(Bytes message, TypeInfo &type, unsigned depth) {
  if (depth > maxNesting)
    return fail(303, "found types nested deeper than " + std::to_string(maxNesting) + " levels");
  WireReader reader(message);
  while (reader.next()) {
    bool good = true;
    switch (reader.field()) {
    case 1:
      type.kind = TypeInfo::Kind::Tensor;
      good = tensorType(reader.bytes(), type);
      break;
    case 4:
      type.kind = TypeInfo::Kind::Sequence;
      good = wrappedType(reader.bytes(), type, depth);
      break;
    case 5:
      type.kind = TypeInfo::Kind::Map;
      good = mapType(reader.bytes(), type, depth);
      break;
    case 7:
      type.kind = TypeInfo::Kind::Opaque;
      break;
    case 8:
      type.kind = TypeInfo::Kind::SparseTensor;
      good = tensorType(reader.bytes(), type);
      break;
    case 9:
      type.kind = TypeInfo::Kind::Optional;
      good = wrappedType(reader.bytes(), type, depth);
      break;
    default:
      break;
    }
    if (!good)
      return false;
  }
  return finish(reader, "type");
}

bool Reader::valueInfo(Bytes message, ValueInfo &value) {
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1)
      value.name = reader.bytes();
    else if (reader.field() == 2 && !type(reader.bytes(), value.type, 0))
      return false;
  }
  return finish(reader, "value_info");
}

bool Reader::tensor(Bytes message, std::vector<Tensor> &tensors) {
  MaybeProblem problem = readTensor(message, tensors.emplace_back());
  return !problem || fail(*problem);
}

bool Reader::sparseTensor(Bytes message, std::vector<SparseTensor> &tensors) {
  MaybeProblem problem = readSparseTensor(message, tensors.emplace_back());
  return !problem || fail(*problem);
}

bool Reader::attributeValue(WireReader &reader, NodeAttribute &attr, unsigned depth) {
  switch (reader.field()) {
  case 2:
    attr.f = reader.number32();
    return true;
  case 3:
    attr.i = reader.integer();
    return true;
  case 4:
    attr.s = reader.bytes();
    return true;
  case 7:
    if (reader.type() == WireType::Fixed32) {
      attr.floats.push_back(reader.number32());
      return true;
    } else {
      Bytes packed = reader.bytes();
      if (packed.size() % sizeof(float))
        return fail(301, "found a malformed list of floats");
      size_t old = attr.floats.size();
      attr.floats.resize(old + packed.size() / sizeof(float));
      std::copy(packed.begin(), packed.end(), reinterpret_cast<char *>(attr.floats.data() + old));
      return true;
    }
  case 8:
    return forEachInteger(reader, [&](int64_t value) { attr.ints.push_back(value); }) ||
           fail(301, "found a malformed list of integers");
  case 9:
    attr.strings.push_back(reader.bytes());
    return true;
  case 5:
  case 10:
    return tensor(reader.bytes(), attr.tensors);
  case 6:
  case 11:
    attr.graphs.push_back(std::make_unique<Graph>());
    return graph(reader.bytes(), *attr.graphs.back(), depth + 1);
  case 22:
  case 23:
    return sparseTensor(reader.bytes(), attr.sparseTensors);
  case 14:
  case 15:
    return type(reader.bytes(), attr.types.emplace_back(), 0);
  default:
    return true;
  }
}

/// The kind of an attribute whose file leaves it out, as files before IR
/// version 2 do: the field that holds a value.
AttributeKind guessKind(uint32_t field) {
  switch (field) {
  case 2:
    return AttributeKind::Float;
  case 3:
    return AttributeKind::Int;
  case 4:
    return AttributeKind::String;
  case 5:
    return AttributeKind::Tensor;
  case 6:
    return AttributeKind::Graph;
  case 7:
    return AttributeKind::Floats;
  case 8:
    return AttributeKind::Ints;
  case 9:
    return AttributeKind::Strings;
  case 10:
    return AttributeKind::Tensors;
  case 11:
    return AttributeKind::Graphs;
  default:
    return AttributeKind::Undefined;
  }
}

bool Reader::attribute(Bytes message, NodeAttribute &attr, unsigned depth) {
  WireReader reader(message);
  AttributeKind guess = AttributeKind::Undefined;
  while (reader.next()) {
    if (reader.field() == 1) {
      attr.name = reader.bytes();
    } else if (reader.field() == 20) {
      attr.kind = static_cast<AttributeKind>(reader.integer());
    } else if (reader.field() == 21) {
      attr.reference = reader.bytes();
    } else if (!attributeValue(reader, attr, depth)) {
      return false;
    }
    if (AttributeKind kind = guessKind(reader.field()); kind != AttributeKind::Undefined)
      guess = kind;
  }
  if (!finish(reader, "attribute"))
    return false;
  if (attr.name.empty())
    return fail(311, "found an attribute without a name");
  if (attr.kind == AttributeKind::Undefined)
    attr.kind = guess;
  bool missing = attr.reference.empty() &&
                 ((attr.kind == AttributeKind::Tensor && attr.tensors.size() != 1) ||
                  (attr.kind == AttributeKind::Graph && attr.graphs.size() != 1) ||
                  (attr.kind == AttributeKind::SparseTensor && attr.sparseTensors.size() != 1) ||
                  (attr.kind == AttributeKind::TypeProto && attr.types.size() != 1));
  if (missing)
    return fail(311, "found attribute \"" + std::string(attr.name) +
                         "\" without the one value that its type asks for");
  return true;
}

bool Reader::node(Bytes message, Node &node, unsigned depth) {
  const Node *outer = current;
  current = &node;
  // Names first, so that whatever is wrong in an attribute names the node.
  WireReader names(message);
  while (names.next()) {
    switch (names.field()) {
    case 1:
      node.inputs.push_back(names.bytes());
      break;
    case 2:
      node.outputs.push_back(names.bytes());
      break;
    case 3:
      node.name = names.bytes();
      break;
    case 4:
      node.op = names.bytes();
      break;
    case 7:
      node.domain = normalDomain(names.bytes());
      break;
    case 8:
      node.overload = names.bytes();
      break;
    default:
      break;
    }
  }
  if (!finish(names, "node"))
    return false;
  if (node.op.empty())
    return fail(311, "found a node without an operator");
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 5 && !attribute(reader.bytes(), node.attributes.emplace_back(), depth))
      return false;
  }
  current = outer;
  return true;
}

bool Reader::graph(Bytes message, Graph &graph, unsigned depth) {
  if (depth > maxNesting)
    return fail(303, "found graphs nested deeper than " + std::to_string(maxNesting) + " levels");
  WireReader reader(message);
  while (reader.next()) {
    bool good = true;
    switch (reader.field()) {
    case 1: {
      auto index = static_cast<uint32_t>(graph.nodes.size());
      graph.nodes.emplace_back().index = index;
      good = node(reader.bytes(), graph.nodes.back(), depth);
      break;
    }
    case 2:
      graph.name = reader.bytes();
      break;
    case 5:
      good = tensor(reader.bytes(), graph.initializers);
      break;
    case 11:
      good = valueInfo(reader.bytes(), graph.inputs.emplace_back());
      break;
    case 12:
      good = valueInfo(reader.bytes(), graph.outputs.emplace_back());
      break;
    case 13:
      good = valueInfo(reader.bytes(), graph.values.emplace_back());
      break;
    case 15:
      good = sparseTensor(reader.bytes(), graph.sparseInitializers);
      break;
    default:
      break;
    }
    if (!good)
      return false;
  }
  return finish(reader, "graph");
}

bool Reader::function(Bytes message, Function &function) {
  WireReader reader(message);
  while (reader.next()) {
    bool good = true;
    switch (reader.field()) {
    case 1:
      function.name = reader.bytes();
      break;
    case 4:
      function.inputs.push_back(reader.bytes());
      break;
    case 5:
      function.outputs.push_back(reader.bytes());
      break;
    case 6:
      function.attributes.push_back(reader.bytes());
      break;
    case 7: {
      auto index = static_cast<uint32_t>(function.nodes.size());
      function.nodes.emplace_back().index = index;
      good = node(reader.bytes(), function.nodes.back(), 0);
      break;
    }
    case 9:
      good = opset(reader.bytes(), function.opsets);
      break;
    case 10:
      function.domain = normalDomain(reader.bytes());
      break;
    case 11:
      good = attribute(reader.bytes(), function.defaults.emplace_back(), 0);
      break;
    case 13:
      function.overload = reader.bytes();
      break;
    default:
      break;
    }
    if (!good)
      return false;
  }
  return finish(reader, "function");
}

bool Reader::opset(Bytes message, std::vector<OpsetImport> &opsets) {
  OpsetImport opset;
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1)
      opset.domain = normalDomain(reader.bytes());
    else if (reader.field() == 2)
      opset.version = reader.integer();
  }
  opsets.push_back(opset);
  return finish(reader, "opset_import");
}

bool Reader::model(Bytes message, Model &model) {
  WireReader reader(message);
  bool hasGraph = false;
  while (reader.next()) {
    bool good = true;
    switch (reader.field()) {
    case 1:
      model.irVersion = reader.integer();
      break;
    case 2:
      model.producer = reader.bytes();
      break;
    case 3:
      model.producerVersion = reader.bytes();
      break;
    case 7:
      if (hasGraph)
        return fail(302, "expected one graph, got two");
      hasGraph = true;
      good = graph(reader.bytes(), model.graph, 0);
      break;
    case 8:
      good = opset(reader.bytes(), model.opsets);
      break;
    case 25:
      good = function(reader.bytes(), model.functions.emplace_back());
      break;
    default:
      break;
    }
    if (!good)
      return false;
  }
  if (!finish(reader, "model"))
    return false;
  if (!hasGraph)
    return fail(302, "expected an ONNX ModelProto, got no graph");
  return true;
}

} // namespace

std::string weir::onnx::displayName(const Node &node) {
  if (!node.name.empty())
    return std::string(node.name);
  for (std::string_view output : node.outputs)
    if (!output.empty())
      return std::string(output);
  return std::string(node.op) + "_" + std::to_string(node.index);
}

Diagnostic weir::onnx::diagnose(const std::string &file, const Node *node, Problem problem) {
  Diagnostic diagnostic;
  diagnostic.code = std::to_string(problem.code);
  diagnostic.code.insert(0, "W000", 5 - diagnostic.code.size());
  diagnostic.file = file;
  diagnostic.message = std::move(problem.text);
  if (node) {
    diagnostic.node = displayName(*node);
    diagnostic.op = std::string(node->op);
  }
  return diagnostic;
}

std::unique_ptr<Model> weir::onnx::readModel(std::string_view bytes, const std::string &file,
                                             DiagnosticSink &sink) {
  auto model = std::make_unique<Model>();
  if (!Reader(file, sink).model(bytes, *model))
    return nullptr;
  return model;
}
