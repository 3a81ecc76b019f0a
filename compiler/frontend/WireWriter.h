//===- WireWriter.h - messages in protobuf's wire format --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other direction of WireReader: appends fields to a message. What is copied
// from a file goes through raw(), so fields that weir does not know stay.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_WIREWRITER_H
#define WEIR_COMPILER_FRONTEND_WIREWRITER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir::frontend {

class WireWriter {
public:
  /// A field as WireReader::raw() gives it.
  void raw(std::string_view field) { message += field; }
  void bytes(uint32_t field, std::string_view value) {
    varint(uint64_t(field) << 3 | 2);
    varint(value.size());
    message += value;
  }
  void integer(uint32_t field, int64_t value) {
    varint(uint64_t(field) << 3);
    varint(static_cast<uint64_t>(value));
  }
  void fixed32(uint32_t field, float value) {
    varint(uint64_t(field) << 3 | 5);
    char bits[sizeof(value)]; // of a little-endian machine
    std::memcpy(bits, &value, sizeof(bits));
    message.append(bits, sizeof(bits));
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      message += static_cast<char>((value & 0x7f) | 0x80);
    message += static_cast<char>(value);
  }

  /// What was written; the writer is empty afterwards.
  std::string take() { return std::move(message); }
  bool empty() const { return message.empty(); }

private:
  std::string message;
};

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_WIREWRITER_H
