//===- TensorReader.cpp - ONNX tensors in a file --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/TensorReader.h"
#include "compiler/frontend/WireReader.h"

#include <charconv>
#include <cstring>

using namespace weir::onnx;
using weir::frontend::WireReader;
using weir::frontend::WireType;

namespace {

/// Ranks beyond this are refused: no operator has a use for them, and a file
/// of a few megabytes could claim a million dimensions of size one.
constexpr size_t maxRank = 64;

Problem malformed(const char *what) {
  return {301, std::string("found a malformed ") + what + "; the file is damaged or was cut short"};
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string inTensor(const Tensor &tensor) {
  return tensor.name.empty() ? std::string("in a tensor") : "in tensor " + quoted(tensor.name);
}

/// Field number in TensorProto of a typed field.
uint32_t fieldNumber(ValueField field) {
  switch (field) {
  case ValueField::Float:
    return 4;
  case ValueField::Int32:
    return 5;
  case ValueField::String:
    return 6;
  case ValueField::Int64:
    return 7;
  case ValueField::Double:
    return 10;
  case ValueField::UInt64:
    return 11;
  case ValueField::None:
    break;
  }
  return 0;
}

/// How often a typed field occurs in a message, in values.
struct FieldCount {
  int64_t values = 0;
  int64_t pieces = 0; ///< packed runs, or values written one by one
  std::string_view packed;
};

void countField(WireReader &reader, FieldCount &count) {
  ++count.pieces;
  if (reader.type() != WireType::Bytes) {
    ++count.values;
    count.packed = {};
    return;
  }
  count.packed = reader.bytes();
}

/// The number of elements that `values` entries of a typed field make up.
int64_t elementsOf(DataType type, int64_t values) {
  switch (type) {
  case DataType::Complex64:
  case DataType::Complex128:
    return values / 2;
  default:
    return values;
  }
}

/// Entries of the typed field that `count` elements need: complex numbers take
/// two, and each entry of int32_data holds a byte of packed sub-byte elements.
int64_t entriesFor(DataType type, int64_t count) {
  switch (type) {
  case DataType::Complex64:
  case DataType::Complex128:
    return 2 * count;
  case DataType::UInt4:
  case DataType::Int4:
  case DataType::Float4E2M1:
    return (count + 1) / 2;
  case DataType::UInt2:
  case DataType::Int2:
    return (count + 3) / 4;
  default:
    return count;
  }
}

bool parseInteger(std::string_view text, int64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

MaybeProblem readExternalEntry(std::string_view message, ExternalData &data) {
  WireReader reader(message);
  std::string_view key, value;
  while (reader.next()) {
    if (reader.field() == 1)
      key = reader.bytes();
    else if (reader.field() == 2)
      value = reader.bytes();
  }
  if (reader.malformed())
    return malformed("external_data entry");
  if (key == "location")
    data.location = value;
  int64_t *number = key == "offset" ? &data.offset : key == "length" ? &data.length : nullptr;
  if (number && (!parseInteger(value, *number) || *number < 0))
    return Problem{307, "expected a number of bytes, got " + quoted(value) +
                            " as the external data's " + std::string(key)};
  return std::nullopt;
}

/// Values of a typed field, counted without decoding them.
MaybeProblem countTyped(const Tensor &tensor, ValueField field, FieldCount &count) {
  WireReader reader(tensor.message);
  uint32_t wanted = fieldNumber(field);
  while (reader.next()) {
    if (reader.field() != wanted)
      continue;
    countField(reader, count);
    if (reader.type() != WireType::Bytes)
      continue;
    if (field == ValueField::String) {
      ++count.values;
      continue;
    }
    size_t size = field == ValueField::Float ? 4 : field == ValueField::Double ? 8 : 0;
    if (size) {
      if (count.packed.size() % size)
        return malformed("packed field of numbers");
      count.values += count.packed.size() / size;
      continue;
    }
    // Each varint ends in the one byte whose top bit is clear.
    for (char byte : count.packed)
      count.values += (byte & 0x80) == 0;
  }
  return std::nullopt;
}

MaybeProblem checkValues(Tensor &tensor, bool hasRaw) {
  const DataTypeInfo *info = dataTypeInfo(tensor.type);
  if (!info)
    return Problem{306, inTensor(tensor) + " expected one of ONNX's element types 1 to 28, got " +
                            std::to_string(static_cast<int>(tensor.type))};
  if (MaybeProblem problem = countElements(tensor.dims, tensor.count)) {
    problem->text = inTensor(tensor) + " " + problem->text;
    return problem;
  }
  if (tensor.isExternal)
    return std::nullopt;
  if (hasRaw) {
    int64_t size;
    if (tensor.type == DataType::String || !rawByteSize(tensor.type, tensor.count, size) ||
        static_cast<uint64_t>(size) != tensor.raw.size())
      return Problem{305,
                     inTensor(tensor) + " expected exactly the bytes that the shape needs, got " +
                         std::to_string(tensor.raw.size()) + " bytes of raw_data for " +
                         std::to_string(tensor.count) + " elements of " + std::string(info->name)};
    return std::nullopt;
  }
  FieldCount count;
  if (MaybeProblem problem = countTyped(tensor, info->field, count))
    return problem;
  if (count.values != entriesFor(tensor.type, tensor.count))
    return Problem{305,
                   inTensor(tensor) + " expected exactly the values that the shape needs, got " +
                       std::to_string(elementsOf(tensor.type, count.values)) + " values for " +
                       std::to_string(tensor.count) + " elements of " + std::string(info->name)};
  bool inPlace = (info->field == ValueField::Float || info->field == ValueField::Double) &&
                 count.pieces == 1 && count.packed.data();
  if (inPlace)
    tensor.raw = count.packed;
  else
    tensor.decode = tensor.count != 0;
  return std::nullopt;
}

void append(std::string &out, uint64_t value, size_t size) {
  char bytes[8];
  std::memcpy(bytes, &value, 8);
  out.append(bytes, size);
}

} // namespace

MaybeProblem weir::onnx::countElements(const std::vector<int64_t> &dims, int64_t &count) {
  if (dims.size() > maxRank)
    return Problem{304, "expected " + std::to_string(maxRank) + " dimensions, got " +
                            std::to_string(dims.size())};
  bool zero = false;
  count = 1;
  for (int64_t dim : dims) {
    if (dim < 0)
      return Problem{304, "expected a size from 0 on, got a dimension of " + std::to_string(dim)};
    zero |= dim == 0;
    if (dim && (__builtin_mul_overflow(count, dim, &count) || count >= (int64_t(1) << 62)))
      return Problem{304, "found a shape of 2^62 elements or more"};
  }
  if (zero)
    count = 0;
  return std::nullopt;
}

MaybeProblem weir::onnx::readTensor(std::string_view message, Tensor &tensor) {
  tensor = Tensor();
  tensor.message = message;
  WireReader reader(message);
  bool hasRaw = false;
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      if (!forEachInteger(reader, [&](int64_t dim) {
            // countElements refuses what is too long; do not store it all.
            if (tensor.dims.size() <= maxRank)
              tensor.dims.push_back(dim);
          }))
        return malformed("list of dimensions");
      break;
    case 2:
      tensor.type = static_cast<DataType>(reader.integer());
      break;
    case 3:
      return Problem{
          305,
          "expected a tensor in one piece, got a tensor in segments, which no ONNX release writes"};
    case 8:
      tensor.name = reader.bytes();
      break;
    case 9:
      tensor.raw = reader.bytes();
      hasRaw = true;
      break;
    case 13:
      if (MaybeProblem problem = readExternalEntry(reader.bytes(), tensor.external))
        return problem;
      break;
    case 14:
      tensor.isExternal = reader.integer() == 1;
      break;
    default:
      break;
    }
  }
  if (reader.malformed())
    return malformed("tensor");
  return checkValues(tensor, hasRaw);
}

MaybeProblem weir::onnx::readSparseTensor(std::string_view message, SparseTensor &tensor) {
  WireReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
    case 1:
      if (MaybeProblem problem = readTensor(reader.bytes(), tensor.values))
        return problem;
      break;
    case 2:
      if (MaybeProblem problem = readTensor(reader.bytes(), tensor.indices))
        return problem;
      break;
    case 3:
      if (!forEachInteger(reader, [&](int64_t dim) {
            if (tensor.dims.size() <= maxRank)
              tensor.dims.push_back(dim);
          }))
        return malformed("list of dimensions");
      break;
    default:
      break;
    }
  }
  if (reader.malformed())
    return malformed("sparse tensor");
  if (MaybeProblem problem = countElements(tensor.dims, tensor.count))
    return problem;
  const std::vector<int64_t> &shape = tensor.indices.dims;
  bool linear = shape.size() == 1;
  bool rows = shape.size() == 2 && shape[1] == static_cast<int64_t>(tensor.dims.size());
  if (tensor.values.dims.size() != 1 || (!linear && !rows) || shape[0] != tensor.values.count ||
      tensor.indices.type != DataType::Int64)
    return Problem{305, inTensor(tensor.values) +
                            " expected n values with n linear indices or n rows of coordinates of "
                            "i64, got indices that do not match the values of a sparse tensor"};
  return std::nullopt;
}

MaybeProblem weir::onnx::decodeTensor(const Tensor &tensor, std::string &out) {
  if (!tensor.decode) {
    out.append(tensor.raw);
    return std::nullopt;
  }
  const DataTypeInfo *info = dataTypeInfo(tensor.type);
  int64_t size;
  if (!info || !rawByteSize(tensor.type, tensor.count, size))
    return malformed("tensor");
  // checkValues has found that many values in the message.
  out.reserve(out.size() + size);
  uint32_t wanted = fieldNumber(info->field);
  size_t width = info->bits >= 128 ? 8 : (info->bits + 7) / 8;
  WireReader reader(tensor.message);
  while (reader.next()) {
    if (reader.field() != wanted)
      continue;
    switch (info->field) {
    case ValueField::Float:
    case ValueField::Double:
      if (reader.type() == WireType::Bytes) {
        out.append(reader.bytes());
      } else if (info->field == ValueField::Float) {
        float value = reader.number32();
        out.append(reinterpret_cast<char *>(&value), sizeof value);
      } else {
        double value = reader.number64();
        out.append(reinterpret_cast<char *>(&value), sizeof value);
      }
      break;
    default:
      if (!forEachInteger(reader, [&](int64_t value) { append(out, value, width); }))
        return malformed("packed field of numbers");
      break;
    }
  }
  return reader.malformed() ? MaybeProblem(malformed("tensor")) : std::nullopt;
}

MaybeProblem weir::onnx::readStrings(const Tensor &tensor, std::vector<std::string_view> &out) {
  WireReader reader(tensor.message);
  while (reader.next())
    if (reader.field() == fieldNumber(ValueField::String))
      out.push_back(reader.bytes());
  return reader.malformed() ? MaybeProblem(malformed("tensor")) : std::nullopt;
}
