//===- TensorDecoder.cpp - the values of a TensorProto --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/TensorDecoder.h"

#include "compiler/frontend/WireReader.h"

#include <algorithm>
#include <cstring>

using namespace weir;
using namespace weir::tf;
using frontend::WireReader;
using frontend::WireType;

int64_t weir::tf::elementCount(const std::vector<int64_t> &dims) {
  constexpr int64_t limit = int64_t(1) << 62;
  int64_t count = 1;
  bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  for (int64_t dim : dims) {
    if (dim < 0)
      return -1;
    if (empty)
      continue;
    if (count > limit / dim)
      return -1;
    count *= dim;
  }
  return empty ? 0 : count;
}

int64_t TensorValues::integer(DataType type, int64_t i) const {
  unsigned size = elementBytes(type);
  if (kind == Kind::Splat)
    i = 0;
  if (size == 0 || size > 8 || i < 0 || uint64_t(i + 1) * size > bytes().size())
    return 0;
  uint64_t raw = 0;
  std::memcpy(&raw, bytes().data() + i * size, size);
  bool isSigned = type == DataType::Int8 || type == DataType::Int16 || type == DataType::Int32 ||
                  type == DataType::QInt8 || type == DataType::QInt16 || type == DataType::QInt32;
  if (!isSigned || size == 8)
    return static_cast<int64_t>(raw);
  unsigned shift = 64 - size * 8;
  return static_cast<int64_t>(raw << shift) >> shift;
}

double TensorValues::number(DataType type, int64_t i) const {
  unsigned size = elementBytes(type);
  if (kind == Kind::Splat)
    i = 0;
  if (i < 0 || uint64_t(i + 1) * size > bytes().size())
    return 0;
  if (type == DataType::Float) {
    float value;
    std::memcpy(&value, bytes().data() + i * size, size);
    return value;
  }
  if (type == DataType::Double) {
    double value;
    std::memcpy(&value, bytes().data() + i * size, size);
    return value;
  }
  return static_cast<double>(integer(type, i));
}

namespace {

/// How a type's values lie in the message: the field, the encoding, and how
/// many numbers of it make an element.
struct TypedField {
  uint32_t field = 0;
  enum { Varint, Fixed32, Fixed64 } encoding = Varint;
  unsigned perElement = 1;
};

} // namespace

static TypedField typedField(DataType type) {
  using enum DataType;
  switch (type) {
  case Float:
    return {5, TypedField::Fixed32, 1};
  case Double:
    return {6, TypedField::Fixed64, 1};
  case Complex64:
    return {9, TypedField::Fixed32, 2};
  case Int64:
    return {10, TypedField::Varint, 1};
  case Bool:
    return {11, TypedField::Varint, 1};
  case Complex128:
    return {12, TypedField::Fixed64, 2};
  case Half:
  case BFloat16:
    return {13, TypedField::Varint, 1};
  case UInt32:
    return {16, TypedField::Varint, 1};
  case UInt64:
    return {17, TypedField::Varint, 1};
  case Int32:
  case UInt8:
  case Int16:
  case Int8:
  case QInt8:
  case QUInt8:
  case QInt32:
  case QInt16:
  case QUInt16:
  case UInt16:
  case Int4:
  case UInt4:
  case Int2:
  case UInt2:
    return {7, TypedField::Varint, 1};
  default:
    return {}; // float8 has bytes of its own
  }
}

/// Appends the numbers of one typed field to `out`, each as `bytes` bytes; not
/// more than `limit` bytes in all.
static bool readNumbers(std::string_view message, TypedField typed, unsigned bytes, size_t limit,
                        std::string &out) {
  WireReader reader(message);
  auto append = [&](const char *data, size_t size) {
    if (out.size() < limit)
      out.append(data, std::min(size, limit - out.size()));
  };
  while (reader.next()) {
    if (reader.field() != typed.field)
      continue;
    if (typed.encoding == TypedField::Varint) {
      if (!forEachInteger(reader, [&](int64_t value) {
            append(reinterpret_cast<const char *>(&value), bytes);
          }))
        return false;
      continue;
    }
    size_t size = typed.encoding == TypedField::Fixed32 ? 4 : 8;
    if (reader.type() == WireType::Bytes) {
      std::string_view packed = reader.bytes();
      if (packed.size() % size)
        return false;
      append(packed.data(), packed.size());
    } else if (size == 4) {
      float value = reader.number32();
      append(reinterpret_cast<const char *>(&value), 4);
    } else {
      double value = reader.number64();
      append(reinterpret_cast<const char *>(&value), 8);
    }
  }
  return !reader.malformed();
}

/// The single packed occurrence of a fixed-width field that holds exactly
/// `size` bytes: values that can stay in the file.
static std::string_view packedInFile(std::string_view message, uint32_t field, size_t size) {
  std::string_view found;
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() != field)
      continue;
    if (reader.type() != WireType::Bytes || !found.empty())
      return {};
    found = reader.bytes();
  }
  return found.size() == size ? found : std::string_view();
}

/// Strings in tensor_content: the length of each as a varint, then all their bytes.
static bool splitContent(std::string_view content, int64_t count,
                         std::vector<std::string_view> &strings) {
  const char *at = content.data(), *end = at + content.size();
  std::vector<size_t> lengths;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t length = 0;
    if (!WireReader::readVarint(at, end, length) || length > static_cast<uint64_t>(end - at))
      return false;
    lengths.push_back(length);
  }
  for (size_t length : lengths) {
    if (length > static_cast<size_t>(end - at))
      return false;
    strings.emplace_back(at, length);
    at += length;
  }
  return at == end;
}

static bool decodeStrings(const Tensor &tensor, TensorValues &values, std::string &error) {
  values.kind = TensorValues::Kind::Strings;
  if (!tensor.content.empty()) {
    if (splitContent(tensor.content, values.count, values.strings))
      return true;
    error = "its contents are not " + std::to_string(values.count) + " strings";
    return false;
  }
  WireReader reader(tensor.message);
  while (reader.next())
    if (reader.field() == 8 && static_cast<int64_t>(values.strings.size()) < values.count)
      values.strings.push_back(reader.bytes());
  if (reader.malformed()) {
    error = "its string values are malformed";
    return false;
  }
  if (values.count == 0)
    return true;
  if (values.strings.empty())
    values.strings.emplace_back();
  if (values.strings.size() == 1)
    return true;
  if (values.count > kMaxExpandedBytes / 16) {
    error = "found a claim of " + std::to_string(values.count) +
            " strings in a tensor that holds " + std::to_string(values.strings.size());
    return false;
  }
  values.strings.resize(values.count, values.strings.back());
  return true;
}

bool weir::tf::decodeTensor(const Tensor &tensor, TensorValues &values, std::string &error) {
  values = TensorValues();
  if (tensor.type == DataType::Invalid) {
    error = "expected a constant of a type in TensorFlow's types.proto, got an unknown type";
    return false;
  }
  if (tensor.type == DataType::Resource || tensor.type == DataType::Variant) {
    error = "expected a constant of numbers or strings, got one of type " +
            std::string(typeName(tensor.type));
    return false;
  }
  values.count = tensor.shape.unknownRank ? -1 : elementCount(tensor.shape.dims);
  int64_t size = elementBytes(tensor.type);
  if (values.count < 0 || (size && values.count > kMaxSplatBytes / size)) {
    error = "found a constant whose shape is unknown or claims more than "
            "2^40 bytes";
    return false;
  }
  if (tensor.type == DataType::String)
    return decodeStrings(tensor, values, error);

  int64_t total = values.count * size;
  if (!tensor.content.empty()) {
    if (static_cast<int64_t>(tensor.content.size()) != total) {
      error = "found " + std::to_string(tensor.content.size()) +
              " bytes of values; its shape and type ask for " + std::to_string(total);
      return false;
    }
    values.kind = TensorValues::Kind::View;
    values.view = tensor.content;
    return true;
  }
  TypedField typed = typedField(tensor.type);
  if (typed.encoding != TypedField::Varint && total > 0) {
    std::string_view inFile = packedInFile(tensor.message, typed.field, static_cast<size_t>(total));
    if (!inFile.empty()) {
      values.kind = TensorValues::Kind::View;
      values.view = inFile;
      return true;
    }
  }
  bool good = true;
  if (typed.field) {
    good = readNumbers(tensor.message, typed, size / typed.perElement, static_cast<size_t>(total),
                       values.storage);
  } else { // float8_val
    WireReader reader(tensor.message);
    while (reader.next())
      if (reader.field() == 18)
        values.storage.append(reader.bytes().substr(0, total - values.storage.size()));
    good = !reader.malformed();
  }
  if (!good || values.storage.size() % size) {
    error = "its values are malformed";
    return false;
  }
  if (values.storage.empty() && total)
    values.storage.assign(size, '\0');
  if (static_cast<int64_t>(values.storage.size()) == size && values.count > 1) {
    values.kind = TensorValues::Kind::Splat;
    return true;
  }
  if (static_cast<int64_t>(values.storage.size()) < total) {
    if (total > kMaxExpandedBytes) {
      error = "found a claim of " + std::to_string(total) + " bytes in a tensor that holds " +
              std::to_string(values.storage.size());
      return false;
    }
    std::string last = values.storage.substr(values.storage.size() - size);
    values.storage.reserve(total);
    while (static_cast<int64_t>(values.storage.size()) < total)
      values.storage += last;
  }
  values.kind = TensorValues::Kind::Owned;
  return true;
}
