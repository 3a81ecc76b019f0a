//===- GraphDefNode.cpp - nodes of a graph as messages --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fields of NodeDef, AttrValue and NameAttrList are those of TensorFlow's node_def.proto
// and attr_value.proto.
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/GraphDefNode.h"
#include "compiler/frontend/WireWriter.h"

using namespace weir;
using frontend::WireWriter;
using Kind = tf::AttrValue::Kind;

namespace {

/// Fields that AttrValue and its ListValue share.
enum ValueField : uint32_t {
  listField = 1,
  stringField,
  intField,
  floatField,
  boolField,
  typeField,
  shapeField,
  tensorField,
  placeholderField, ///< of an AttrValue; functions in lists
  funcField,
};

std::string attrMessage(const tf::AttrValue &value);

std::string shapeMessage(const tf::Shape &shape) {
  WireWriter out;
  for (int64_t size : shape.dims) {
    WireWriter dim;
    dim.integer(1, size);
    out.bytes(2, dim.take());
  }
  if (shape.unknownRank)
    out.integer(3, 1);
  return out.take();
}

void writeAttrs(WireWriter &out, uint32_t field, const std::vector<tf::Attr> &attrs) {
  for (const auto &[name, value] : attrs) {
    WireWriter entry;
    entry.bytes(1, name);
    entry.bytes(2, attrMessage(value));
    out.bytes(field, entry.take());
  }
}

std::string funcMessage(const tf::AttrValue &value) {
  WireWriter out;
  out.bytes(1, value.s);
  if (value.funcAttrs)
    writeAttrs(out, 2, *value.funcAttrs);
  return out.take();
}

std::string listMessage(const tf::AttrValue::List &list) {
  WireWriter out;
  for (std::string_view text : list.strings)
    out.bytes(stringField, text);
  for (int64_t i : list.ints)
    out.integer(list.kind == Kind::Bool   ? boolField
                : list.kind == Kind::Type ? typeField
                                          : intField,
                i);
  for (float f : list.floats)
    out.fixed32(floatField, f);
  for (const tf::Shape &shape : list.shapes)
    out.bytes(shapeField, shapeMessage(shape));
  for (const tf::Tensor &tensor : list.tensors)
    out.bytes(tensorField, tensor.message);
  for (const tf::AttrValue &func : list.funcs)
    out.bytes(placeholderField, funcMessage(func));
  return out.take();
}

std::string attrMessage(const tf::AttrValue &value) {
  WireWriter out;
  switch (value.kind) {
  case Kind::None:
    break;
  case Kind::String:
    out.bytes(stringField, value.s);
    break;
  case Kind::Int:
    out.integer(intField, value.i);
    break;
  case Kind::Float:
    out.fixed32(floatField, value.f);
    break;
  case Kind::Bool:
    out.integer(boolField, value.b);
    break;
  case Kind::Type:
    out.integer(typeField, value.i);
    break;
  case Kind::Shape:
    out.bytes(shapeField, value.shape ? shapeMessage(*value.shape) : std::string());
    break;
  case Kind::Tensor:
    out.bytes(tensorField, value.tensor ? value.tensor->message : std::string_view());
    break;
  case Kind::List:
    out.bytes(listField, value.list ? listMessage(*value.list) : std::string());
    break;
  case Kind::Func:
    out.bytes(funcField, funcMessage(value));
    break;
  case Kind::Placeholder:
    out.bytes(placeholderField, value.s);
    break;
  }
  return out.take();
}

} // namespace

std::string insight::nodeMessage(const tf::Node &node, const std::vector<std::string> &inputs) {
  WireWriter out;
  out.bytes(1, node.name);
  out.bytes(2, node.op);
  for (const std::string &input : inputs)
    out.bytes(3, input);
  if (!node.device.empty())
    out.bytes(4, node.device);
  writeAttrs(out, 5, node.attrs);
  return out.take();
}
