//===- text.cpp - writing text into a bounded buffer ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "support/text.h"

namespace weir::rt {

Text &Text::append(const char *data, int64_t size) {
  if (length < capacity - 1) {
    int64_t room = capacity - 1 - length;
    int64_t count = size < room ? size : room;
    memcpy(buffer + length, data, size_t(count));
    buffer[length + count] = 0;
  }
  for (int64_t i = size; i > 0; --i)
    if (data[i - 1] == '\n') {
      lineBegin = length + i;
      break;
    }
  length += size;
  return *this;
}

Text &Text::operator<<(int64_t value) {
  char digits[24];
  int position = sizeof(digits);
  // Negated as unsigned, so that INT64_MIN has its magnitude, too.
  uint64_t rest = value < 0 ? -uint64_t(value) : uint64_t(value);
  do {
    digits[--position] = char('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (value < 0)
    digits[--position] = '-';
  return append(digits + position, int64_t(sizeof(digits)) - position);
}

Text &Text::hex(uint64_t value) {
  char digits[18];
  int position = sizeof(digits);
  do {
    digits[--position] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value);
  digits[--position] = 'x';
  digits[--position] = '0';
  return append(digits + position, int64_t(sizeof(digits)) - position);
}

Text &Text::fixed(double value) {
  if (value < 0) {
    *this << '-';
    value = -value;
  }
  auto tenths = int64_t(value * 10 + 0.5);
  return *this << tenths / 10 << '.' << char('0' + tenths % 10);
}

Text &Text::bytes(int64_t value) {
  static const char units[][4] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (value < 1024)
    return *this << value << " B";
  double scaled = double(value) / 1024;
  int unit = 0;
  // 1023.95 would be printed as 1024.0 of the smaller unit.
  while (scaled >= 1023.95 && unit < 5) {
    scaled /= 1024;
    ++unit;
  }
  return fixed(scaled) << ' ' << units[unit];
}

Text &Text::column(int64_t column) {
  while (length - lineBegin < column)
    *this << ' ';
  return *this;
}

} // namespace weir::rt
