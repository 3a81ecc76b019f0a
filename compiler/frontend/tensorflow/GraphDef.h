//===- GraphDef.h - a GraphDef as its file says it --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain structures for the parts of a GraphDef that weir reads, one a message.
// Every string_view looks into the bytes of a Source (the mapped file, or the
// binary form of a text file), which must outlive it; tensors stay there.
// GraphReader.h fills these; Graph.h resolves what names stand for.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHDEF_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHDEF_H

#include "compiler/frontend/tensorflow/DataType.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::tf {

/// TensorShapeProto. A dimension of -1 is unknown.
struct Shape {
  bool unknownRank = false;
  std::vector<int64_t> dims;
};

/// TensorProto, values not decoded yet (TensorDecoder.h does that).
struct Tensor {
  DataType type = DataType::Invalid;
  Shape shape;
  /// tensor_content, where the message has one.
  std::string_view content;
  /// The whole message, for typed fields.
  std::string_view message;
};

struct AttrValue;
using Attr = std::pair<std::string_view, AttrValue>;

/// AttrValue: exactly one of the members below `kind` means something.
struct AttrValue {
  enum class Kind : uint8_t {
    None, ///< the message was empty
    String,
    Int,
    Float,
    Bool,
    Type,
    Shape,
    Tensor,
    List,
    Func,
    Placeholder, ///< `s` names the attribute of the calling node
  };
  /// AttrValue.ListValue; at most one of the vectors is filled.
  struct List {
    std::vector<std::string_view> strings;
    std::vector<int64_t> ints; ///< also bools and types
    std::vector<float> floats;
    std::vector<Shape> shapes;
    std::vector<Tensor> tensors;
    std::vector<AttrValue> funcs;
    Kind kind = Kind::None; ///< of the elements; None: empty

    size_t size() const {
      return strings.size() + ints.size() + floats.size() + shapes.size() + tensors.size() +
             funcs.size();
    }
  };

  Kind kind = Kind::None;
  bool b = false;
  float f = 0;
  int64_t i = 0;      ///< also the number of a type, +100 for references
  std::string_view s; ///< string; name of a function; placeholder
  std::shared_ptr<const Shape> shape;
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<const List> list;
  std::shared_ptr<const std::vector<Attr>> funcAttrs;

  DataType type() const { return toDataType(i); }
};

/// NodeDef.
struct NodeDef {
  std::string_view name, op, device;
  std::vector<std::string_view> inputs;
  std::vector<Attr> attrs;
};

/// OpDef.ArgDef, as function signatures and op tables use it. Exactly one of
/// `type` and `typeAttr` says the type of a single tensor; `numberAttr` makes
/// it a sequence; `typeListAttr` a sequence of mixed types.
struct ArgDef {
  std::string_view name;
  DataType type = DataType::Invalid;
  bool isRef = false;
  std::string_view typeAttr, numberAttr, typeListAttr;
};

/// FunctionDef.
struct FunctionDef {
  std::string_view name;
  std::vector<ArgDef> inputs, outputs;
  std::vector<Attr> attrDefaults; ///< of the signature, where it has any
  std::vector<NodeDef> nodes;
  std::vector<Attr> attrs; ///< `_noinline` and the like
  /// Output argument → `node:outarg:index` inside the body.
  std::vector<std::pair<std::string_view, std::string_view>> rets;
  /// Names of control outputs → node inside the body.
  std::vector<std::pair<std::string_view, std::string_view>> controlRets;
};

/// VersionDef.
struct Versions {
  int64_t producer = 0;
  int64_t minConsumer = 0;
  std::vector<int64_t> badConsumers;
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::vector<FunctionDef> functions;
  /// GradientDef: function → the one that computes its gradient.
  std::vector<std::pair<std::string_view, std::string_view>> gradients;
  Versions versions;
};

/// The attribute of that name, or null.
inline const AttrValue *findAttr(const std::vector<Attr> &attrs, std::string_view name) {
  for (const Attr &attr : attrs)
    if (attr.first == name)
      return &attr.second;
  return nullptr;
}

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHDEF_H
