//===- CustomNodes.cpp - nodes of operations that users describe ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/CustomCall.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/NodeImport.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// The value of an attribute as its description wants it; none: it is of another type.
static std::optional<CustomOperation::Constant> constantOf(const AttrValue &given, StringRef type,
                                                           MLIRContext *context) {
  CustomOperation::Constant value;
  bool known = true;
  auto addType = [&](int64_t number) {
    Type element = elementType(context, toDataType(number));
    value.texts.push_back(element ? customTypeName(element) : "");
    known &= !value.texts.back().empty();
  };
  auto addShape = [&](const Shape &shape) {
    known &= !shape.unknownRank;
    value.integers = shape.dims;
  };
  using Kind = AttrValue::Kind;
  std::string name;
  switch (given.kind) {
  case Kind::Int:
    value.integers = {given.i};
    name = "int";
    break;
  case Kind::Bool:
    value.integers = {given.b};
    name = type == "int" ? "int" : "bool";
    break;
  case Kind::Float:
    value.reals = {given.f};
    name = "float";
    break;
  case Kind::String:
    value.texts = {std::string(given.s)};
    name = "string";
    break;
  case Kind::Type:
    addType(given.i);
    name = "type";
    break;
  case Kind::Shape:
    addShape(*given.shape);
    name = "shape";
    break;
  case Kind::List: {
    const AttrValue::List &list = *given.list;
    if (list.kind == Kind::Type)
      llvm::for_each(list.ints, addType);
    else
      value.integers = list.ints;
    value.reals.assign(list.floats.begin(), list.floats.end());
    value.texts.insert(value.texts.end(), list.strings.begin(), list.strings.end());
    // An empty list does not say of what.
    name = list.kind == Kind::None     ? (type.ends_with("s") ? type.str() : "")
           : list.kind == Kind::Int    ? "ints"
           : list.kind == Kind::Bool   ? "ints"
           : list.kind == Kind::Float  ? "floats"
           : list.kind == Kind::String ? "strings"
           : list.kind == Kind::Type   ? "types"
                                       : "";
    break;
  }
  default:
    break;
  }
  if (!known || type != name)
    return std::nullopt;
  return value;
}

/// A node whose operation the user described.
LogicalResult GraphImporter::callCustom(const CustomOperation &custom, NodeImport &n) {
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (operands.size() != n.inputCount())
    return failure();
  CustomArguments arguments;
  for (const CustomOperation::Attribute &wanted : custom.attributes) {
    const AttrValue *given = n.attr(wanted.name);
    if (given && wanted.type == "tensor" && given->kind == AttrValue::Kind::Tensor) {
      TypedAttr constant = tensorAttr(*given->tensor, n.node);
      if (!constant)
        return failure();
      arguments.tensors.push_back(n.constant(constant));
      continue;
    }
    std::optional<CustomOperation::Constant> value =
        given ? constantOf(*given, wanted.type, n.b.getContext()) : wanted.standard;
    if (!value)
      return report(
          n.node, "W0324",
          given ? "found attribute \"" + wanted.name +
                      "\" of another type than its description has; expected " + wanted.type
                : "found no attribute \"" + wanted.name + "\", which its description hands over");
    arguments.add(n.b, n.loc, wanted, *value);
  }
  std::string error;
  auto values = buildCustomCall(n.b, n.loc, custom, operands, arguments, error);
  if (failed(values))
    return n.invalid("found a description that does not fit the node: " + Twine(error));
  return n.results(*values);
}
