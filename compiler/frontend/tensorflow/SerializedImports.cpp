//===- SerializedImports.cpp - tensors as text and bytes ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a serialized tensor has for a rank only the run knows: ParseTensor gives
// a box (RuntimeAxes.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/InputImports.h"
#include "compiler/frontend/tensorflow/RuntimeAxes.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static Type stringType(NodeImport &n) { return StringType::get(n.b.getContext()); }
static constexpr int64_t kOpen = ShapedType::kDynamic;

static int64_t typeNumber(NodeImport &n, std::string_view attr) {
  return int64_t(toDataType(n.i(attr)));
}

static LogicalResult serializeTensor(NodeImport &n) {
  Operation *made =
      n.kernelCall("weir_kernel_serialize_tensor", {RankedTensorType::get({}, stringType(n))},
                   {n.in(0)}, {typeNumber(n, "T")});
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult parseTensor(NodeImport &n) {
  if (!n.elementAttr("out_type"))
    return n.unsupported("found a type that weir does not have");
  auto type = RankedTensorType::get({1}, BoxType::get(n.b.getContext()));
  Operation *made =
      n.kernelCall("weir_kernel_parse_tensor", {type}, {n.in(0)}, {typeNumber(n, "out_type")});
  return made ? n.result(made->getResult(0)) : failure();
}

template <bool isMany> static LogicalResult serializeSparse(NodeImport &n) {
  if (toDataType(n.i("out_type")) != DataType::String)
    return n.unsupported("expected a sparse tensor serialized as strings, got variants");
  SmallVector<Value> operands = n.tensors(0, 3);
  if (operands.empty())
    return failure();
  IntVector shape;
  if (isMany)
    shape.push_back(kOpen);
  shape.push_back(3);
  return n.result(n.kernelCall("weir_kernel_serialize_sparse",
                               {RankedTensorType::get(shape, stringType(n))}, operands,
                               {typeNumber(n, "T"), isMany})
                      ->getResult(0));
}

static LogicalResult deserializeSparse(NodeImport &n) {
  Value x = n.in(0);
  Type element = n.elementAttr("dtype");
  if (!x)
    return failure();
  if (!n.isString(x))
    return n.unsupported("expected sparse tensors serialized as strings, got variants");
  if (!element)
    return n.unsupported("found a type that weir does not have");
  Type index = n.b.getI64Type();
  SmallVector<Type> types{RankedTensorType::get({kOpen, kOpen}, index),
                          RankedTensorType::get({kOpen}, element),
                          RankedTensorType::get({kOpen}, index)};
  Operation *made =
      n.kernelCall("weir_kernel_deserialize_sparse", types, {x}, {typeNumber(n, "dtype")});
  return n.results(SmallVector<Value>(made->getResults()));
}

static LogicalResult deserializeManySparse(NodeImport &n) {
  Value x = n.in(0);
  if (x && n.rank(x) != 2)
    return n.invalid("expected serialized sparse tensors as a matrix of three columns, got rank " +
                     Twine(n.rank(x)));
  return deserializeSparse(n);
}

static LogicalResult decodeCsv(NodeImport &n) {
  SmallVector<Value> inputs = n.tensors(0, n.inputCount());
  std::string_view delimiter = n.s("field_delim"), absent = n.s("na_value");
  if (inputs.empty())
    return failure();
  if (delimiter.size() != 1)
    return n.invalid("expected field_delim of one character, got " + Twine(delimiter.size()));
  IntVector chosen = n.is("select_cols");
  size_t count = inputs.size() - 1;
  if (!chosen.empty() && chosen.size() != count)
    return n.invalid("found " + Twine(chosen.size()) + " select_cols for " + Twine(count) +
                     " outputs");
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i] < 0 || (i && chosen[i] <= chosen[i - 1]))
      return n.invalid("found select_cols that do not rise");
  SmallVector<int64_t> attributes{static_cast<unsigned char>(delimiter[0]),
                                  n.isSet("use_quote_delim"), int64_t(chosen.size())};
  attributes.append(chosen.begin(), chosen.end());
  SmallVector<Value> operands{inputs[0], n.stringScalar(StringRef(absent.data(), absent.size()))};
  SmallVector<Type> types;
  for (Value standard : ArrayRef(inputs).drop_front()) {
    operands.push_back(standard);
    types.push_back(RankedTensorType::get(n.sizes(inputs[0]), n.element(standard)));
  }
  Operation *made = n.kernelCall("weir_kernel_decode_csv", types, operands, attributes);
  return made ? n.results(SmallVector<Value>(made->getResults())) : failure();
}

ArrayRef<OpImport> weir::tf::serializedImports() {
  static const OpImport rows[] = {
      {"DecodeCSV", decodeCsv},
      {"DeserializeManySparse", deserializeManySparse},
      {"DeserializeSparse", deserializeSparse},
      {"ParseTensor", parseTensor},
      {"SerializeManySparse", serializeSparse<true>},
      {"SerializeSparse", serializeSparse<false>},
      {"SerializeTensor", serializeTensor},
  };
  return rows;
}
