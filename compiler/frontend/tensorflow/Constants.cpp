//===- Constants.cpp - TensorFlow's tensors as attributes -----------------===//
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

#include "compiler/frontend/tensorflow/Constants.h"
#include "compiler/frontend/TensorBuilder.h"
#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/TensorDecoder.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// From this many bytes on a tensor stays in the file. Shapes, axes and scales,
/// which the importer and passes look into, are far below.
static constexpr size_t kBlobBytes = 1024;

Type weir::tf::elementType(MLIRContext *context, DataType type) {
  auto unsignedInt = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  using enum DataType;
  switch (type) {
  case Float:
    return Float32Type::get(context);
  case Double:
    return Float64Type::get(context);
  case Half:
    return Float16Type::get(context);
  case BFloat16:
    return BFloat16Type::get(context);
  case Int8:
  case QInt8:
    return IntegerType::get(context, 8);
  case Int16:
  case QInt16:
    return IntegerType::get(context, 16);
  case Int32:
  case QInt32:
    return IntegerType::get(context, 32);
  case Int64:
    return IntegerType::get(context, 64);
  case UInt8:
  case QUInt8:
    return unsignedInt(8);
  case UInt16:
  case QUInt16:
    return unsignedInt(16);
  case UInt32:
    return unsignedInt(32);
  case UInt64:
    return unsignedInt(64);
  case Bool:
    return IntegerType::get(context, 1);
  case String:
    return StringType::get(context);
  case Complex64:
    return ComplexType::get(Float32Type::get(context));
  case Complex128:
    return ComplexType::get(Float64Type::get(context));
  case Float8E5M2:
    return Float8E5M2Type::get(context);
  case Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case Float8E4M3B11FNUZ:
    return Float8E4M3B11FNUZType::get(context);
  case Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  default: // resources and variants are no tensors; sub-byte integers not yet
    return {};
  }
}

RankedTensorType weir::tf::tensorType(MLIRContext *context, DataType type, const Shape &shape) {
  Type element = elementType(context, type);
  if (!element || shape.unknownRank)
    return {};
  IntVector dims;
  for (int64_t dim : shape.dims)
    dims.push_back(dim < 0 ? ShapedType::kDynamic : dim);
  return frontend::canBe(dims) ? RankedTensorType::get(dims, element) : RankedTensorType();
}

TypedAttr weir::tf::denseAttr(RankedTensorType type, std::string_view data) {
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> values(data.size());
    for (size_t i = 0; i < data.size(); ++i)
      values[i] = data[i] != 0;
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(data.data(), data.size()));
}

TypedAttr weir::tf::blobAttr(RankedTensorType type, const std::string &path, int64_t offset,
                             std::string_view bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format_hex_no_prefix(hash.high64, 16)
                                 << llvm::format_hex_no_prefix(hash.low64, 16);
  return cast<TypedAttr>(
      BlobAttr::get(type, path, offset, static_cast<int64_t>(bytes.size()), text));
}

TypedAttr weir::tf::storedAttr(RankedTensorType type, const BundleTensor &tensor) {
  if (tensor.type == DataType::String)
    return stringsAttr(type, tensor.strings);
  if (!tensor.storage.empty())
    return denseAttr(type, tensor.storage);
  if (tensor.bytes.size() >= kBlobBytes && tensor.type != DataType::Bool)
    return blobAttr(type, tensor.file, tensor.offset, tensor.bytes);
  return denseAttr(type, tensor.bytes);
}

TypedAttr weir::tf::stringsAttr(RankedTensorType type, ArrayRef<std::string_view> strings) {
  SmallVector<StringRef> refs;
  for (std::string_view text : strings)
    refs.emplace_back(text.data(), text.size());
  return DenseElementsAttr::get(type, ArrayRef<StringRef>(refs));
}

TypedAttr GraphImporter::tensorAttr(const Tensor &tensor, const Node &node) {
  TensorValues values;
  std::string error;
  if (!decodeTensor(tensor, values, error)) {
    (void)report(node, "W0209", error);
    return {};
  }
  RankedTensorType type = tensorType(context, tensor.type, tensor.shape);
  if (!type) {
    (void)report(node, "W0251",
                 "found a constant of type " + std::string(typeName(tensor.type)) +
                     ", which weir does not have");
    return {};
  }
  if (values.kind == TensorValues::Kind::Strings)
    return stringsAttr(type, values.strings);
  std::string_view bytes = values.bytes();
  bool isLarge = bytes.size() >= kBlobBytes && !type.getElementType().isInteger(1);
  if (values.kind == TensorValues::Kind::View && isLarge)
    if (int64_t offset = source.fileOffset(bytes); offset >= 0)
      return blobAttr(type, source.path(), offset, bytes);
  if (values.kind == TensorValues::Kind::Splat) {
    // getFromRawBuffer takes one element as a splat.
    return denseAttr(type, bytes);
  }
  return denseAttr(type, bytes);
}
