//===- wire_format.h - messages of protocol buffers -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SUPPORT_WIRE_FORMAT_H
#define WEIR_RUNTIME_SUPPORT_WIRE_FORMAT_H

#include "support/list.h"

namespace weir::rt {

/// Reads the fields of a message, one after the other:
/// `while (reader.next()) …; if (reader.failed()) …`. Groups, which no format of ours
/// has, are passed over.
class MessageReader {
public:
  explicit MessageReader(const weir_string &message)
      : at(message.data), end(message.data + message.size) {}

  /// Moves to the next field; false at the end, and where the message is damaged.
  bool next() {
    while (at != end && !isFailed) {
      if (!readField())
        return false;
      if (type == endGroup)
        return fail();
      if (type != group)
        return true;
      if (!skipGroup(number))
        return false;
    }
    return false;
  }
  bool failed() const { return isFailed; }
  /// Whether it failed at a field that claims more bytes than there are: `contents` are
  /// those that there are.
  bool hasOverrun() const { return isOverrun; }
  bool is(uint32_t field, uint32_t wireType) const { return number == field && type == wireType; }

  static constexpr uint32_t varint = 0, fixed64 = 1, bytes = 2, group = 3, endGroup = 4,
                            fixed32 = 5;
  uint32_t number = 0, type = 0;
  uint64_t value = 0;               ///< of all types but bytes
  weir_string contents{nullptr, 0}; ///< of bytes

  static bool readVarint(const char *&at, const char *end, uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; at != end && shift < 70; shift += 7) {
      auto byte = static_cast<unsigned char>(*at++);
      if (shift < 64)
        value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }

private:
  bool readField() {
    uint64_t tag;
    if (!readVarint(at, end, tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
      return fail();
    number = uint32_t(tag >> 3);
    type = uint32_t(tag & 7);
    contents = {nullptr, 0};
    switch (type) {
    case varint:
      return readVarint(at, end, value) || fail();
    case fixed64:
      return fixed(8);
    case fixed32:
      return fixed(4);
    case bytes: {
      uint64_t size;
      if (!readVarint(at, end, size))
        return fail();
      isOverrun = size > uint64_t(end - at);
      contents = {at, isOverrun ? end - at : int64_t(size)};
      at += contents.size;
      return !isOverrun || fail();
    }
    case group:
    case endGroup:
      return true;
    default:
      return fail();
    }
  }
  bool skipGroup(uint32_t outer) {
    uint32_t open[64] = {outer};
    int32_t depth = 1;
    while (depth > 0) {
      if (!readField())
        return false;
      if (type == group && depth == 64)
        return fail();
      if (type == group)
        open[depth++] = number;
      else if (type == endGroup && open[--depth] != number)
        return fail();
    }
    return true;
  }
  bool fail() {
    isFailed = true;
    return false;
  }
  bool fixed(int size) {
    if (end - at < size)
      return fail();
    value = 0;
    memcpy(&value, at, size_t(size)); // little-endian, as the host
    at += size;
    return true;
  }

  const char *at, *end;
  bool isFailed = false, isOverrun = false;
};

/// Reads the numbers of a packed field, one after the other.
class PackedReader {
public:
  explicit PackedReader(const weir_string &contents)
      : at(contents.data), end(contents.data + contents.size) {}
  bool atEnd() const { return at == end; }
  weir_string rest() const { return {at, end - at}; }
  bool varint(uint64_t *value) { return MessageReader::readVarint(at, end, *value); }
  /// Of `size` bytes, little-endian, as the host.
  bool fixed(void *value, int64_t size) {
    if (end - at < size)
      return false;
    memcpy(value, at, size_t(size));
    at += size;
    return true;
  }

private:
  const char *at, *end;
};

/// Writers append to any GrowingText.
template <typename Text> void writeVarint(Text &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out << char(value | 0x80);
  out << char(value);
}
/// A number's field; none for 0, its default.
template <typename Text> void writeNumber(Text &out, uint32_t field, uint64_t value) {
  if (!value)
    return;
  writeVarint(out, field << 3);
  writeVarint(out, value);
}
template <typename Text> void writeBytes(Text &out, uint32_t field, const weir_string &bytes) {
  writeVarint(out, field << 3 | 2);
  writeVarint(out, uint64_t(bytes.size));
  out << bytes;
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_WIRE_FORMAT_H
