//===- Model.h - an ONNX model as its file says it --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain structures for the parts of an ONNX file that weir reads, one a
// message, field for field. Every string_view looks into the file's bytes, so a
// Model is valid as long as the MappedFile (or buffer) it was read from; the
// values of tensors stay there, found by position. ModelReader.h fills these,
// ModelVerifier.h says what else holds of a model that it accepts.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_MODEL_H
#define WEIR_COMPILER_FRONTEND_ONNX_MODEL_H

#include "compiler/frontend/onnx/DataType.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace weir::onnx {

struct Graph;

/// A tensor's values in a file of their own, as external_data's keys give it.
struct ExternalData {
  std::string_view location; ///< relative to the model's folder
  int64_t offset = 0;        ///< bytes
  int64_t length = -1;       ///< bytes; -1: as many as the shape asks for
};

/// TensorProto. After reading, `count` is the product of `dims`, and the values
/// that the file holds have been compared with it.
struct Tensor {
  std::string_view name;
  DataType type = DataType::Undefined;
  std::vector<int64_t> dims;
  int64_t count = 0;
  /// The values as a host lays them out, little-endian (raw_data, or a single
  /// packed float_data or double_data). Empty where `decode` is set.
  std::string_view raw;
  /// The values lie in a typed field that must be decoded from `message`.
  bool decode = false;
  bool isExternal = false;
  ExternalData external;
  /// The whole TensorProto.
  std::string_view message;
};

/// SparseTensorProto: `values` at `indices` (linear, or one row of coordinates
/// each), zero elsewhere.
struct SparseTensor {
  Tensor values;
  Tensor indices;
  std::vector<int64_t> dims;
  int64_t count = 0;
};

/// A dimension: a size, a name, or (neither) unknown.
struct Dim {
  int64_t size = -1; ///< -1: not given as a number
  std::string_view symbol;
};

/// TypeProto. Sequence and optional types hold their element in `element`, maps
/// their value type.
struct TypeInfo {
  enum class Kind : uint8_t { Unknown, Tensor, SparseTensor, Sequence, Optional, Map, Opaque };
  Kind kind = Kind::Unknown;
  DataType elementType = DataType::Undefined; ///< of a tensor; key of a map
  bool hasShape = false;
  std::vector<Dim> shape;
  std::unique_ptr<TypeInfo> element;
};

struct ValueInfo {
  std::string_view name;
  TypeInfo type;
};

/// AttributeProto.AttributeType.
enum class AttributeKind : uint8_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  TypeProto = 13,
  TypeProtos = 14,
};

struct NodeAttribute {
  std::string_view name;
  AttributeKind kind = AttributeKind::Undefined;
  /// In a function's body: takes the value of the caller's attribute.
  std::string_view reference;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<Tensor> tensors;                ///< one for kind Tensor
  std::vector<std::unique_ptr<Graph>> graphs; ///< one for kind Graph
  std::vector<SparseTensor> sparseTensors;    ///< one for kind SparseTensor
  std::vector<TypeInfo> types;                ///< one for kind TypeProto
};

struct Node {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs;  ///< "": left out
  std::vector<std::string_view> outputs; ///< "": left out
  std::vector<NodeAttribute> attributes;
  /// Place in its graph's list, which names nodes without a name.
  uint32_t index = 0;

  const NodeAttribute *attribute(std::string_view attributeName) const {
    for (const NodeAttribute &attr : attributes)
      if (attr.name == attributeName)
        return &attr;
    return nullptr;
  }
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes; ///< after verification: in an order that runs
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparseInitializers; ///< named by `values.name`
  std::vector<ValueInfo> inputs, outputs, values;
};

struct OpsetImport {
  std::string_view domain; ///< "" for the standard domain, however it is spelled
  int64_t version = 0;
};

/// A function that the model defines for itself.
struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes; ///< without a default
  std::vector<NodeAttribute> defaults;      ///< attributes with one
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
};

/// Domain, name and overload of a function.
using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

struct Model {
  int64_t irVersion = 0;
  std::vector<OpsetImport> opsets;
  std::string_view producer, producerVersion;
  Graph graph;
  std::vector<Function> functions;
  /// By domain, name and overload; made by verifyModel.
  std::map<FunctionKey, const Function *> functionIndex;

  /// The version of a domain that the model imports; -1: none.
  int64_t opsetVersion(std::string_view domain) const {
    for (const OpsetImport &opset : opsets)
      if (opset.domain == domain)
        return opset.version;
    return -1;
  }
};

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_MODEL_H
