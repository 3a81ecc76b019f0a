//===- Constants.cpp - ONNX tensors as constants of weir ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small tensors become elements attributes, which passes can compute with;
// large ones stay in the file, as blobs that say where.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/TensorBuilder.h"
#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/ModelReader.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Type weir::onnx::elementType(MLIRContext *context, DataType type) {
  auto unsignedInt = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (type) {
  case DataType::Float:
    return Float32Type::get(context);
  case DataType::Double:
    return Float64Type::get(context);
  case DataType::Float16:
    return Float16Type::get(context);
  case DataType::BFloat16:
    return BFloat16Type::get(context);
  case DataType::Int8:
    return IntegerType::get(context, 8);
  case DataType::Int16:
    return IntegerType::get(context, 16);
  case DataType::Int32:
    return IntegerType::get(context, 32);
  case DataType::Int64:
    return IntegerType::get(context, 64);
  case DataType::UInt8:
    return unsignedInt(8);
  case DataType::UInt16:
    return unsignedInt(16);
  case DataType::UInt32:
    return unsignedInt(32);
  case DataType::UInt64:
    return unsignedInt(64);
  case DataType::Bool:
    return IntegerType::get(context, 1);
  case DataType::String:
    return StringType::get(context);
  case DataType::Complex64:
    return ComplexType::get(Float32Type::get(context));
  case DataType::Complex128:
    return ComplexType::get(Float64Type::get(context));
  case DataType::Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case DataType::Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case DataType::Float8E5M2:
    return Float8E5M2Type::get(context);
  case DataType::Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case DataType::Float8E8M0:
    return Float8E8M0FNUType::get(context);
  case DataType::Float4E2M1:
    return Float4E2M1FNType::get(context);
  case DataType::Float6E2M3:
    return Float6E2M3FNType::get(context);
  case DataType::Float6E3M2:
    return Float6E3M2FNType::get(context);
  case DataType::Int4:
    return IntegerType::get(context, 4);
  case DataType::UInt4:
    return unsignedInt(4);
  case DataType::Int2:
    return IntegerType::get(context, 2);
  case DataType::UInt2:
    return unsignedInt(2);
  case DataType::Undefined:
    break;
  }
  return {};
}

namespace {

/// Elements of fewer than eight bits lie packed in a file, and a byte each in
/// an elements attribute.
std::string unpack(std::string_view packed, unsigned bits, int64_t count) {
  std::string bytes(count, '\0');
  unsigned perByte = 8 / bits;
  for (int64_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>(
        (static_cast<uint8_t>(packed[i / perByte]) >> (i % perByte * bits)) & ((1u << bits) - 1));
  return bytes;
}

DenseElementsAttr dense(RankedTensorType type, std::string_view data) {
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> values(data.size());
    for (size_t i = 0; i < data.size(); ++i)
      values[i] = data[i] != 0;
    return DenseElementsAttr::get(type, values);
  }
  unsigned bits = type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 64;
  std::string unpacked;
  if (bits == 2 || bits == 4) {
    unpacked = unpack(data, bits, type.getNumElements());
    data = unpacked;
  }
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(data.data(), data.size()));
}

} // namespace

Value GraphImporter::constant(const Tensor &tensor, OpBuilder &b, Location loc, const Node *node) {
  auto fail = [&](Problem problem) {
    sink.report(diagnose(file, node, std::move(problem)));
    return Value();
  };
  Type element = elementType(context(), tensor.type);
  if (!element || tensor.type == DataType::Float6E2M3 || tensor.type == DataType::Float6E3M2)
    return fail({352, "found a constant of type " + std::string(dataTypeName(tensor.type)) +
                          ", which weir does not have"});
  if (!frontend::canBe(tensor.dims))
    return fail({352, "found a constant of more than 2^48 elements"});
  auto type = RankedTensorType::get(tensor.dims, element);
  if (tensor.type == DataType::String) {
    std::vector<std::string_view> views;
    if (MaybeProblem problem = readStrings(tensor, views))
      return fail(*problem);
    SmallVector<StringRef> strings(views.begin(), views.end());
    return ConstantOp::create(b, loc, DenseElementsAttr::get(type, strings));
  }
  std::string_view data = tensor.raw, source = bytes;
  std::string_view path = file;
  std::string decoded;
  if (tensor.isExternal) {
    ExternalFiles::Place place;
    if (MaybeProblem problem = externals.find(tensor, place))
      return fail(*problem);
    data = place.bytes;
    source = place.file->bytes();
    path = place.file->path();
  } else if (tensor.decode) {
    if (MaybeProblem problem = decodeTensor(tensor, decoded))
      return fail(*problem);
    data = decoded;
  }
  bool packed =
      element.isIntOrFloat() && element.getIntOrFloatBitWidth() < 8 && !element.isInteger(1);
  if (tensor.decode || packed || data.size() < blobBytes)
    return ConstantOp::create(b, loc, dense(type, data));
  auto blob = BlobAttr::get(type, StringRef(path.data(), path.size()), data.data() - source.data(),
                            static_cast<int64_t>(data.size()), hashes.of(data));
  return ConstantOp::create(b, loc, cast<TypedAttr>(blob));
}

Value GraphImporter::sparseConstant(const SparseTensor &tensor, OpBuilder &b, Location loc,
                                    const Node *node) {
  // Zeros with the values written at their places.
  TensorBuilder t(b, loc);
  Value values = constant(tensor.values, b, loc, node);
  Value indices = constant(tensor.indices, b, loc, node);
  if (!values || !indices)
    return {};
  bool linear = tensor.indices.dims.size() == 1;
  SmallVector<int64_t> flat = {tensor.count};
  Value zeros =
      t.expandTo(t.scalar(t.element(values), 0), t.ints(linear ? Ints(flat) : Ints(tensor.dims)));
  if (linear)
    indices = t.unsqueeze(indices, {1});
  Value written = t.op<ScatterNdOp>(zeros, indices, values, b.getStringAttr("none"),
                                    b.getBoolAttr(false), b.getBoolAttr(false));
  return linear ? t.reshape(written, tensor.dims) : written;
}
