//===- GraphReader.cpp - GraphDef from bytes ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Field numbers are those of graph.proto, node_def.proto, attr_value.proto,
// tensor.proto, tensor_shape.proto, function.proto, op_def.proto and
// versions.proto of TensorFlow's public schema.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphReader.h"

#include "compiler/frontend/WireReader.h"

#include <cstring>

using namespace weir;
using namespace weir::tf;
using frontend::WireReader;
using frontend::WireType;

// Deeper than any exporter nests (functions in lists in functions).
static constexpr int kMaxDepth = 32;
static constexpr size_t kMaxRank = 254; // TensorFlow's own limit

bool weir::tf::readShape(std::string_view bytes, Shape &shape) {
  WireReader reader(bytes);
  while (reader.next()) {
    if (reader.field() == 3) {
      shape.unknownRank = reader.integer() != 0;
    } else if (reader.field() == 2) {
      WireReader dim(reader.bytes());
      int64_t size = 0;
      while (dim.next())
        if (dim.field() == 1)
          size = dim.integer();
      if (dim.malformed() || shape.dims.size() == kMaxRank)
        return false;
      shape.dims.push_back(size < 0 ? -1 : size);
    }
  }
  return !reader.malformed();
}

bool weir::tf::readTensor(std::string_view bytes, Tensor &tensor) {
  tensor.message = bytes;
  WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      tensor.type = toDataType(reader.integer());
      break;
    case 2:
      if (!readShape(reader.bytes(), tensor.shape))
        return false;
      break;
    case 4:
      tensor.content = reader.bytes();
      break;
    default:
      break;
    }
  }
  return !reader.malformed();
}

/// A map<string, AttrValue> entry.
static bool readAttrEntry(std::string_view bytes, std::vector<Attr> &attrs, int depth) {
  Attr attr;
  WireReader reader(bytes);
  while (reader.next()) {
    if (reader.field() == 1)
      attr.first = reader.bytes();
    else if (reader.field() == 2 && !readAttrValue(reader.bytes(), attr.second, depth))
      return false;
  }
  if (reader.malformed())
    return false;
  attrs.push_back(std::move(attr));
  return true;
}

/// NameAttrList: a function's name and its attributes.
static bool readFunc(std::string_view bytes, AttrValue &value, int depth) {
  value.kind = AttrValue::Kind::Func;
  auto attrs = std::make_shared<std::vector<Attr>>();
  WireReader reader(bytes);
  while (reader.next()) {
    if (reader.field() == 1)
      value.s = reader.bytes();
    else if (reader.field() == 2 && !readAttrEntry(reader.bytes(), *attrs, depth))
      return false;
  }
  value.funcAttrs = std::move(attrs);
  return !reader.malformed();
}

static bool readFloats(WireReader &reader, std::vector<float> &floats) {
  if (reader.type() == WireType::Fixed32) {
    floats.push_back(reader.number32());
    return true;
  }
  std::string_view packed = reader.bytes();
  if (packed.size() % 4)
    return false;
  size_t before = floats.size();
  floats.resize(before + packed.size() / 4);
  if (!packed.empty())
    std::memcpy(floats.data() + before, packed.data(), packed.size());
  return !reader.malformed();
}

static bool readList(std::string_view bytes, AttrValue::List &list, int depth) {
  using Kind = AttrValue::Kind;
  WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
    case 2:
      list.kind = Kind::String;
      list.strings.push_back(reader.bytes());
      break;
    case 3:
    case 5:
    case 6:
      list.kind = reader.field() == 3 ? Kind::Int : reader.field() == 5 ? Kind::Bool : Kind::Type;
      if (!forEachInteger(reader, [&](int64_t value) { list.ints.push_back(value); }))
        return false;
      break;
    case 4:
      list.kind = Kind::Float;
      if (!readFloats(reader, list.floats))
        return false;
      break;
    case 7:
      list.kind = Kind::Shape;
      if (!readShape(reader.bytes(), list.shapes.emplace_back()))
        return false;
      break;
    case 8:
      list.kind = Kind::Tensor;
      if (!readTensor(reader.bytes(), list.tensors.emplace_back()))
        return false;
      break;
    case 9:
      list.kind = Kind::Func;
      if (!readFunc(reader.bytes(), list.funcs.emplace_back(), depth))
        return false;
      break;
    default:
      break;
    }
  }
  return !reader.malformed();
}

bool weir::tf::readAttrValue(std::string_view bytes, AttrValue &value, int depth) {
  using Kind = AttrValue::Kind;
  if (++depth > kMaxDepth)
    return false;
  WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
    case 1: {
      value.kind = Kind::List;
      auto list = std::make_shared<AttrValue::List>();
      if (!readList(reader.bytes(), *list, depth))
        return false;
      value.list = std::move(list);
      break;
    }
    case 2:
      value.kind = Kind::String;
      value.s = reader.bytes();
      break;
    case 3:
      value.kind = Kind::Int;
      value.i = reader.integer();
      break;
    case 4:
      value.kind = Kind::Float;
      value.f = reader.number32();
      break;
    case 5:
      value.kind = Kind::Bool;
      value.b = reader.integer() != 0;
      break;
    case 6:
      value.kind = Kind::Type;
      value.i = reader.integer();
      break;
    case 7: {
      value.kind = Kind::Shape;
      auto shape = std::make_shared<Shape>();
      if (!readShape(reader.bytes(), *shape))
        return false;
      value.shape = std::move(shape);
      break;
    }
    case 8: {
      value.kind = Kind::Tensor;
      auto tensor = std::make_shared<Tensor>();
      if (!readTensor(reader.bytes(), *tensor))
        return false;
      value.tensor = std::move(tensor);
      break;
    }
    case 9:
      value.kind = Kind::Placeholder;
      value.s = reader.bytes();
      break;
    case 10:
      if (!readFunc(reader.bytes(), value, depth))
        return false;
      break;
    default:
      break;
    }
  }
  return !reader.malformed();
}

static bool readNode(std::string_view bytes, NodeDef &node) {
  WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      node.name = reader.bytes();
      break;
    case 2:
      node.op = reader.bytes();
      break;
    case 3:
      node.inputs.push_back(reader.bytes());
      break;
    case 4:
      node.device = reader.bytes();
      break;
    case 5:
      if (!readAttrEntry(reader.bytes(), node.attrs, 0))
        return false;
      break;
    default:
      break;
    }
  }
  return !reader.malformed();
}

static bool readArgDef(std::string_view bytes, ArgDef &arg) {
  WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      arg.name = reader.bytes();
      break;
    case 3: {
      int64_t number = reader.integer();
      arg.isRef |= isRefType(number);
      arg.type = toDataType(number);
      break;
    }
    case 4:
      arg.typeAttr = reader.bytes();
      break;
    case 5:
      arg.numberAttr = reader.bytes();
      break;
    case 6:
      arg.typeListAttr = reader.bytes();
      break;
    case 16:
      arg.isRef |= reader.integer() != 0;
      break;
    default:
      break;
    }
  }
  return !reader.malformed();
}

/// OpDef, as the signature of a function.
static bool readSignature(std::string_view bytes, FunctionDef &function) {
  WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      function.name = reader.bytes();
      break;
    case 2:
      if (!readArgDef(reader.bytes(), function.inputs.emplace_back()))
        return false;
      break;
    case 3:
      if (!readArgDef(reader.bytes(), function.outputs.emplace_back()))
        return false;
      break;
    case 4: { // AttrDef: name 1, default_value 3
      Attr attr;
      bool hasDefault = false;
      WireReader def(reader.bytes());
      while (def.next()) {
        if (def.field() == 1) {
          attr.first = def.bytes();
        } else if (def.field() == 3) {
          hasDefault = true;
          if (!readAttrValue(def.bytes(), attr.second))
            return false;
        }
      }
      if (def.malformed())
        return false;
      if (hasDefault)
        function.attrDefaults.push_back(std::move(attr));
      break;
    }
    default:
      break;
    }
  }
  return !reader.malformed();
}

static bool readStringPair(std::string_view bytes,
                           std::pair<std::string_view, std::string_view> &entry) {
  WireReader reader(bytes);
  while (reader.next()) {
    if (reader.field() == 1)
      entry.first = reader.bytes();
    else if (reader.field() == 2)
      entry.second = reader.bytes();
  }
  return !reader.malformed();
}

static bool readFunction(std::string_view bytes, FunctionDef &function) {
  WireReader reader(bytes);
  while (reader.next()) {
    bool good = true;
    switch (reader.field()) {
    case 1:
      good = readSignature(reader.bytes(), function);
      break;
    case 3:
      good = readNode(reader.bytes(), function.nodes.emplace_back());
      break;
    case 4:
      good = readStringPair(reader.bytes(), function.rets.emplace_back());
      break;
    case 5:
      good = readAttrEntry(reader.bytes(), function.attrs, 0);
      break;
    case 6:
      good = readStringPair(reader.bytes(), function.controlRets.emplace_back());
      break;
    default:
      break;
    }
    if (!good)
      return false;
  }
  return !reader.malformed();
}

static bool readVersions(std::string_view bytes, Versions &versions) {
  WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      versions.producer = reader.integer();
      break;
    case 2:
      versions.minConsumer = reader.integer();
      break;
    case 3:
      if (!forEachInteger(reader, [&](int64_t value) { versions.badConsumers.push_back(value); }))
        return false;
      break;
    default:
      break;
    }
  }
  return !reader.malformed();
}

static bool readLibrary(std::string_view bytes, GraphDef &graph, std::string &error) {
  WireReader reader(bytes);
  while (reader.next()) {
    if (reader.field() == 2) {
      auto &[function, gradient] = graph.gradients.emplace_back();
      WireReader pair(reader.bytes());
      while (pair.next())
        if (pair.field() == 1)
          function = pair.bytes();
        else if (pair.field() == 2)
          gradient = pair.bytes();
      if (pair.malformed()) {
        error = "a gradient of the function library is malformed";
        return false;
      }
      continue;
    }
    if (reader.field() != 1)
      continue;
    FunctionDef &function = graph.functions.emplace_back();
    if (!readFunction(reader.bytes(), function)) {
      error = "function \"" + std::string(function.name) + "\" is malformed";
      return false;
    }
  }
  if (reader.malformed())
    error = "the function library is malformed";
  return !reader.malformed();
}

bool weir::tf::readGraphDef(std::string_view bytes, GraphDef &graph, std::string &error) {
  WireReader reader(bytes);
  // The name of the last whole node says where a broken file stops.
  auto where = [&]() -> std::string {
    if (graph.nodes.empty())
      return "before its first node";
    return "near node " + std::to_string(graph.nodes.size() - 1) + " \"" +
           std::string(graph.nodes.back().name) + "\"";
  };
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      if (!readNode(reader.bytes(), graph.nodes.emplace_back())) {
        error = "malformed " + where();
        return false;
      }
      break;
    case 2:
      if (!readLibrary(reader.bytes(), graph, error))
        return false;
      break;
    case 3: // the version before VersionDef existed
      if (graph.versions.producer == 0)
        graph.versions.producer = reader.integer();
      break;
    case 4:
      if (!readVersions(reader.bytes(), graph.versions)) {
        error = "the versions are malformed";
        return false;
      }
      break;
    default:
      break;
    }
  }
  if (reader.malformed())
    error = "malformed or cut off " + where();
  return !reader.malformed();
}
