//===- utf8.cpp - the encoding of all text here -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/unicode.h"

namespace weir::rt {

int32_t decodeUtf8(const char *at, const char *end, uint32_t *code) {
  auto *bytes = reinterpret_cast<const uint8_t *>(at);
  int64_t left = end - at;
  uint32_t lead = bytes[0];
  *code = badCodePoint;
  if (lead < 0x80) {
    *code = lead;
    return 1;
  }
  // What the second byte may be, so that nothing is overlong, a surrogate or
  // beyond the last code point (Unicode Standard, table 3-7).
  uint32_t low = 0x80, high = 0xbf;
  int32_t size;
  if (lead >= 0xc2 && lead <= 0xdf) {
    size = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    size = 3;
    low = lead == 0xe0 ? 0xa0 : 0x80;
    high = lead == 0xed ? 0x9f : 0xbf;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    size = 4;
    low = lead == 0xf0 ? 0x90 : 0x80;
    high = lead == 0xf4 ? 0x8f : 0xbf;
  } else {
    return 1;
  }
  uint32_t value = lead & (0xff >> (size + 1));
  for (int32_t i = 1; i < size; ++i) {
    if (i >= left || bytes[i] < low || bytes[i] > high)
      return i;
    value = value << 6 | (bytes[i] & 0x3f);
    low = 0x80;
    high = 0xbf;
  }
  *code = value;
  return size;
}

int32_t encodeUtf8(uint32_t code, char *to) {
  if (code < 0x80) {
    to[0] = char(code);
    return 1;
  }
  int32_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int32_t i = size; i-- > 1; code >>= 6)
    to[i] = char(0x80 | (code & 0x3f));
  to[0] = char(uint32_t(0xf00 >> size) | code);
  return size;
}

int64_t countUtf8(const weir_string &string) {
  int64_t count = 0;
  for (int64_t i = 0; i < string.size; ++i)
    count += !isContinuation(string.data[i]);
  return count;
}

} // namespace weir::rt
