//===- tensor_message.cpp - elements in messages --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/slices_file.h"
#include "support/wire_format.h"

namespace weir::rt {

// TensorProto: 4: tensor_content; 5: float_val…, 6: double_val…, 7: int_val…, 8: string_val…,
// 9: scomplex_val…, 10: int64_val…, 11: bool_val…, 12: dcomplex_val…, 13: half_val…, all
// but strings packed, integers as varints.

static constexpr int32_t contentField = 4;

/// How numbers of a type are written: as they are, in pieces of 4 or 8 bytes; or as
/// varints (0).
static int64_t fixedBytes(const StoredType &type) {
  switch (type.field) {
  case 5:
  case 9:
    return 4;
  case 6:
  case 12:
    return 8;
  default:
    return 0;
  }
}

static bool isSigned(int32_t dtype) {
  return dtype == WEIR_I8 || dtype == WEIR_I16 || dtype == WEIR_I32 || dtype == WEIR_I64;
}

/// An element of `bytes` bytes as a varint has it: negative ones with all 64 bits.
static uint64_t loadInteger(const char *at, int64_t bytes, bool hasSign) {
  uint64_t value = 0;
  memcpy(&value, at, size_t(bytes));
  auto unused = int(64 - 8 * bytes);
  return hasSign && unused ? uint64_t(int64_t(value << unused) >> unused) : value;
}

void writeValues(HeapText &out, int32_t number, int64_t count, const void *data) {
  const StoredType &type = storedType(number);
  auto *at = static_cast<const char *>(data);
  if (number == storedString) {
    for (int64_t i = 0; i < count; ++i)
      writeBytes(out, uint32_t(type.field), static_cast<const weir_string *>(data)[i]);
    return;
  }
  if (count == 0)
    return;
  if (fixedBytes(type)) {
    writeBytes(out, uint32_t(type.field), {at, count * type.bytes});
    return;
  }
  HeapText packed;
  for (int64_t i = 0; i < count; ++i, at += type.bytes)
    writeVarint(packed, loadInteger(at, type.bytes, isSigned(type.dtype)));
  if (packed.failed())
    out.fail();
  writeBytes(out, uint32_t(type.field), packed.view());
}

namespace {
/// Where elements of a message go.
struct Target {
  const StoredType &type;
  char *at;
  int64_t left; ///< of elements, or of pieces of them

  bool put(uint64_t value, int64_t bytes) {
    if (left-- <= 0)
      return false;
    memcpy(at, &value, size_t(bytes));
    at += bytes;
    return true;
  }
};
} // namespace

static bool putPacked(Target &target, const weir_string &packed, int64_t fixed) {
  const char *at = packed.data, *end = at + packed.size;
  if (fixed) {
    if (packed.size % fixed || packed.size / fixed > target.left)
      return false;
    if (packed.size > 0)
      memcpy(target.at, at, size_t(packed.size));
    target.at += packed.size;
    target.left -= packed.size / fixed;
    return true;
  }
  uint64_t value;
  while (at != end)
    if (!MessageReader::readVarint(at, end, value) || !target.put(value, target.type.bytes))
      return false;
  return true;
}

const char *readValues(const weir_string &message, int32_t number, int64_t count, void *to,
                       const StringMemory &memory) {
  const StoredType &type = storedType(number);
  int64_t fixed = fixedBytes(type);
  Target target{type, static_cast<char *>(to), fixed ? count * (type.bytes / fixed) : count};
  auto *strings = static_cast<weir_string *>(to);
  MessageReader fields(message);
  bool isGood = type.field != 0;
  while (isGood && fields.next()) {
    if (fields.is(contentField, MessageReader::bytes) && type.bytes && fields.contents.size > 0) {
      isGood = fields.contents.size == count * type.bytes;
      if (isGood)
        memcpy(to, fields.contents.data, size_t(fields.contents.size));
      target.left = isGood ? 0 : target.left;
    } else if (fields.number != uint32_t(type.field)) {
      continue;
    } else if (number == storedString) {
      weir_string text = fields.contents;
      isGood = fields.type == MessageReader::bytes && target.left-- > 0;
      char *copy = isGood ? memory.make(memory.self, text.size) : nullptr;
      if (isGood && !copy)
        return "there is no memory for its strings";
      if (isGood && text.size > 0)
        memcpy(copy, text.data, size_t(text.size));
      if (isGood)
        *strings++ = {copy, text.size};
    } else if (fields.type == MessageReader::bytes) {
      isGood = putPacked(target, fields.contents, fixed);
    } else {
      isGood = target.put(fields.value, fixed ? fixed : type.bytes);
    }
  }
  return isGood && !fields.failed() && target.left == 0
             ? nullptr
             : "its values do not fit its type and shape";
}

} // namespace weir::rt
