//===- WireReader.h - a cursor over protobuf's wire format ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX files are read on the wire, not through protobuf objects: protobuf
// copies every bytes field, and the weights of a model are bytes fields of
// gigabytes. A WireReader walks the fields of one message inside a buffer that
// it does not own (the mapped file) and hands out views into it. It never
// allocates and never reads outside the buffer; whatever a file claims is
// compared with the bytes that are left.
//
// Format: https://protobuf.dev/programming-guides/encoding/
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_WIREREADER_H
#define WEIR_COMPILER_FRONTEND_WIREREADER_H

#include <cstdint>
#include <string_view>

namespace weir::frontend {

/// The encodings of a field's value that protobuf has. Groups (3 and 4) were
/// withdrawn before ONNX existed and are malformed here.
enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// Walks the fields of one message. Usage:
///   WireReader reader(bytes);
///   while (reader.next())
///     switch (reader.field()) { case 1: name = reader.bytes(); … }
///   if (reader.malformed()) …
/// A field whose wire type is not the one an accessor wants makes the reader
/// malformed and yields zero or an empty view. Not thread-safe; several readers
/// over one buffer are.
class WireReader {
public:
  explicit WireReader(std::string_view message)
      : cur(message.data()), end(message.data() + message.size()) {}

  /// Steps to the next field. False at the end and in a malformed message.
  bool next();

  bool malformed() const { return bad; }
  uint32_t field() const { return number; }
  WireType type() const { return wire; }

  /// The whole field, tag and value, a view into the buffer.
  std::string_view raw() const { return {start, static_cast<size_t>(cur - start)}; }
  /// The value of a Bytes field, a view into the buffer.
  std::string_view bytes();
  /// The value of a Varint field, sign-extended as protobuf writes int32/int64.
  int64_t integer();
  /// The value of a Fixed32 field, as a float.
  float number32();
  /// The value of a Fixed64 field, as a double.
  double number64();

  /// Reads one varint at `pos`, which it moves; false where it is truncated or
  /// longer than ten bytes.
  static bool readVarint(const char *&pos, const char *end, uint64_t &value);

private:
  const char *cur;
  const char *end;
  const char *start = cur; ///< of the current field
  uint32_t number = 0;
  WireType wire = WireType::Varint;
  uint64_t scalar = 0;
  std::string_view view;
  bool bad = false;
};

/// Calls `each(int64_t)` for the integers of the current field, which may be
/// packed or single. False where the packed bytes are malformed.
template <typename Each> bool forEachInteger(WireReader &reader, Each each) {
  if (reader.type() == WireType::Varint) {
    each(reader.integer());
    return true;
  }
  std::string_view packed = reader.bytes();
  const char *pos = packed.data(), *end = pos + packed.size();
  while (pos != end) {
    uint64_t value;
    if (!WireReader::readVarint(pos, end, value))
      return false;
    each(static_cast<int64_t>(value));
  }
  return !reader.malformed();
}

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_WIREREADER_H
