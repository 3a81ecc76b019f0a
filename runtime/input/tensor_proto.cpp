//===- tensor_proto.cpp - serialized tensors ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/tensor_proto.h"

namespace weir::rt {

const char *tensorTypeName(int64_t type) {
  static const char *const names[] = {
      "INVALID",   "float",  "double",     "int32", "uint8",    "int16",   "int8",     "string",
      "complex64", "int64",  "bool",       "qint8", "quint8",   "qint32",  "bfloat16", "qint16",
      "quint16",   "uint16", "complex128", "half",  "resource", "variant", "uint32",   "uint64"};
  return type >= 0 && type < int64_t(sizeof(names) / sizeof(*names)) ? names[type] : "unknown";
}

weir_dtype elementOfTensorType(int64_t type) {
  static constexpr weir_dtype elements[] = {
      WEIR_INVALID, WEIR_F32,    WEIR_F64,     WEIR_I32,     WEIR_U8,   WEIR_I16,
      WEIR_I8,      WEIR_STRING, WEIR_C64,     WEIR_I64,     WEIR_BOOL, WEIR_I8,
      WEIR_U8,      WEIR_I32,    WEIR_BF16,    WEIR_I16,     WEIR_U16,  WEIR_U16,
      WEIR_C128,    WEIR_F16,    WEIR_INVALID, WEIR_INVALID, WEIR_U32,  WEIR_U64};
  return type >= 0 && type < int64_t(sizeof(elements) / sizeof(*elements)) ? elements[type]
                                                                           : WEIR_INVALID;
}

/// Sizes of a shape; false: it is broken or cannot be.
static TensorMessage::Problem readShape(const weir_string &message, TensorMessage &tensor) {
  using Problem = TensorMessage::Problem;
  MessageReader fields(message);
  while (fields.next()) {
    if (!fields.is(2, MessageReader::bytes))
      continue;
    int64_t size = 0;
    MessageReader dim(fields.contents);
    while (dim.next())
      if (dim.is(1, MessageReader::varint))
        size = int64_t(dim.value);
    if (dim.failed())
      return Problem::Broken;
    if (size < 0)
      return Problem::Invalid;
    if (tensor.rank == WEIR_MAX_RANK)
      return Problem::Rank;
    tensor.dims[tensor.rank++] = size;
  }
  return fields.failed() ? Problem::Broken : Problem::None;
}

int64_t TensorMessage::count() const {
  int64_t result = 1;
  for (int32_t d = 0; d < rank; ++d)
    result *= dims[d];
  return result;
}

/// Whether a packed list of numbers consists of whole ones, or the field is none.
static bool isPacked(uint32_t field, const weir_string &bytes) {
  switch (field) {
  case 5:
  case 9:
    return bytes.size % 4 == 0;
  case 6:
  case 12:
    return bytes.size % 8 == 0;
  case 7:
  case 10:
  case 11:
  case 13:
  case 16:
  case 17:
    return bytes.size == 0 || uint8_t(bytes.data[bytes.size - 1]) < 128;
  default:
    return true;
  }
}

TensorMessage::Problem TensorMessage::open(const weir_string &bytes) {
  *this = {};
  message = bytes;
  MessageReader fields(message);
  while (fields.next()) {
    if (fields.is(1, MessageReader::varint))
      type = uint32_t(fields.value);
    if (fields.is(2, MessageReader::bytes)) {
      rank = 0;
      if (Problem problem = readShape(fields.contents, *this); problem != Problem::None)
        return problem;
    }
    if (fields.type == MessageReader::bytes && !isPacked(fields.number, fields.contents))
      return Problem::Broken;
    if (fields.is(4, MessageReader::bytes)) {
      content = fields.contents;
      hasContent = content.size > 0;
    }
  }
  if (fields.failed())
    return Problem::Broken;
  if (type == 0)
    return Problem::Invalid;
  int64_t product = 1;
  for (int32_t d = 0; d < rank; ++d)
    if (__builtin_mul_overflow(product, dims[d] ? dims[d] : 1, &product) ||
        product > INT64_MAX / 64)
      return Problem::Invalid;
  return Problem::None;
}

namespace {

/// Where a type's elements stand, beside tensor_content.
uint32_t fieldOf(weir_dtype element) {
  switch (element) {
  case WEIR_F32:
    return 5;
  case WEIR_F64:
    return 6;
  case WEIR_STRING:
    return 8;
  case WEIR_C64:
    return 9;
  case WEIR_I64:
    return 10;
  case WEIR_BOOL:
    return 11;
  case WEIR_C128:
    return 12;
  case WEIR_F16:
  case WEIR_BF16:
    return 13;
  case WEIR_U32:
    return 16;
  case WEIR_U64:
    return 17;
  default:
    return 7;
  }
}

/// Elements come as numbers of fixed 32 or 64 bits, or as varints.
uint32_t wireOf(uint32_t field) {
  return field == 5 || field == 9    ? MessageReader::fixed32
         : field == 6 || field == 12 ? MessageReader::fixed64
         : field == 8                ? MessageReader::bytes
                                     : MessageReader::varint;
}

/// Numbers one after the other, as many as there is room for.
class Numbers {
public:
  Numbers(void *to, int64_t size, int64_t bytes)
      : to(static_cast<uint8_t *>(to)), end(this->to + bytes), size(size) {}
  void add(const void *number) {
    if (to == end)
      return;
    memcpy(to, number, size_t(size));
    to += size;
  }
  uint8_t *to, *const end;
  const int64_t size;
};

} // namespace

/// Splits `content` into `count` strings. False: it is none of so many.
static bool readStrings(const weir_string &content, int64_t count, weir_string *to) {
  PackedReader lengths(content);
  int64_t left = content.size;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t length = 0;
    if (!lengths.varint(&length) || length > uint64_t(left))
      return false;
    to[i].size = int64_t(length);
    left -= to[i].size;
  }
  if (lengths.rest().size != content.size - left)
    return false;
  const char *at = lengths.rest().data;
  for (int64_t i = 0; i < count; ++i) {
    to[i].data = at;
    at += to[i].size;
  }
  return true;
}

bool TensorMessage::read(weir_dtype element, void *to) const {
  int64_t size = weir_dtype_size(element), bytes = count() * size;
  if (bytes == 0)
    return true;
  if (hasContent && element == WEIR_STRING)
    return readStrings(content, count(), static_cast<weir_string *>(to));
  if (hasContent) {
    if (content.size != bytes)
      return false;
    for (int64_t i = 0; element == WEIR_BOOL && i < bytes; ++i)
      if (uint8_t(content.data[i]) > 1)
        return false;
    memcpy(to, content.data, size_t(bytes));
    return true;
  }
  uint32_t field = fieldOf(element);
  uint32_t wire = wireOf(field);
  // A complex number is two.
  Numbers numbers(to, field == 9 || field == 12 ? size / 2 : size, bytes);
  MessageReader fields(message);
  while (fields.next()) {
    if (fields.number != field)
      continue;
    if (wire == MessageReader::bytes) {
      if (fields.type == wire)
        numbers.add(&fields.contents);
      continue;
    }
    if (fields.type == wire) {
      numbers.add(&fields.value);
      continue;
    }
    if (fields.type != MessageReader::bytes)
      return false;
    PackedReader packed(fields.contents);
    while (!packed.atEnd()) {
      uint64_t number = 0;
      uint32_t half = 0;
      bool good = wire == MessageReader::varint    ? packed.varint(&number)
                  : wire == MessageReader::fixed64 ? packed.fixed(&number, 8)
                                                   : packed.fixed(&half, 4);
      if (!good)
        return false;
      numbers.add(wire == MessageReader::fixed32 ? static_cast<void *>(&half) : &number);
    }
  }
  auto *begin = static_cast<uint8_t *>(to);
  int64_t whole = (numbers.to - begin) / size * size;
  if (whole == 0) {
    memset(to, 0, size_t(bytes));
    return true;
  }
  for (uint8_t *at = begin + whole; at != numbers.end; at += size)
    memcpy(at, begin + whole - size, size_t(size));
  return true;
}

bool writeTensor(weir_context *ctx, Growing &out, int64_t type, const weir_tensor &tensor,
                 Strings strings) {
  Growing shape(ctx), dim(ctx);
  for (int32_t d = 0; d < tensor.rank; ++d) {
    dim.clear();
    writeNumber(dim, 1, tensor.dims[d]);
    writeBytes(shape, 2, {dim.data(), dim.size()});
  }
  writeNumber(out, 1, type);
  writeBytes(out, 2, {shape.data(), shape.size()});
  int64_t count = elementCountOf(tensor);
  if (tensor.dtype == WEIR_STRING && strings == Strings::InContent) {
    Growing content(ctx);
    for (int64_t i = 0; i < count; ++i)
      writeVarint(content, uint64_t(stringsOf(tensor)[i].size));
    for (int64_t i = 0; i < count; ++i)
      content << stringsOf(tensor)[i];
    if (content.failed())
      return false;
    if (count > 0)
      writeBytes(out, 4, {content.data(), content.size()});
  } else if (tensor.dtype == WEIR_STRING) {
    for (int64_t i = 0; i < count; ++i)
      writeBytes(out, 8, stringsOf(tensor)[i]);
  } else if (count > 0) {
    writeBytes(out, 4,
               {static_cast<const char *>(tensor.data), count * weir_dtype_size(tensor.dtype)});
  }
  return !shape.failed() && !dim.failed() && !out.failed();
}

} // namespace weir::rt
