//===- text.h - writing text into a bounded buffer --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Stands where printf would: independent of the locale, small when linked
// statically, and counting on past the end so that a caller learns what size
// would have done.

#ifndef WEIR_RUNTIME_SUPPORT_TEXT_H
#define WEIR_RUNTIME_SUPPORT_TEXT_H

#include <stdint.h>
#include <string.h>

namespace weir::rt {

class Text {
public:
  /// Writes into [buffer, buffer + capacity), always zero-terminated when
  /// capacity > 0. `buffer` may be null when capacity is 0.
  Text(char *buffer, int64_t capacity) : buffer(buffer), capacity(capacity) {
    if (capacity > 0)
      buffer[0] = 0;
  }

  Text &append(const char *data, int64_t size);
  Text &operator<<(const char *string) { return append(string, int64_t(strlen(string))); }
  Text &operator<<(char character) { return append(&character, 1); }
  Text &operator<<(int64_t value);
  Text &operator<<(int32_t value) { return *this << int64_t(value); }
  Text &hex(uint64_t value);
  /// With one digit after the point, rounded; |value| < 2^53.
  Text &fixed(double value);
  /// "512 B", "1.5 KiB", "2.0 MiB", …
  Text &bytes(int64_t value);
  /// In quotes, at most 200 bytes of it.
  Text &quoted(const char *data, int64_t size) {
    return append("\"", 1).append(data, size < 200 ? size : 200).append("\"", 1);
  }
  /// Pads with blanks to `column` counted from the last line's beginning.
  Text &column(int64_t column);

  /// Without the final zero; may be larger than what the buffer holds.
  int64_t size() const { return length; }

private:
  char *buffer;
  int64_t capacity;
  int64_t length = 0;
  int64_t lineBegin = 0;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_SUPPORT_TEXT_H
