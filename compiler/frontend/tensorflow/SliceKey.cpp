//===- SliceKey.cpp - keys of slices in bundles ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers: a byte with the count of bytes, then those, big-endian. Names: 00
// becomes 00 FF, FF becomes FF 00, 00 01 ends. Signed numbers of n bytes: the
// two's complement, big-endian, with n leading ones laid over it by exclusive
// or (for negative numbers, which have ones there, n zeros come out).
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Bundle.h"

#include <bit>

using namespace weir::tf;

static void appendNumber(std::string &key, uint64_t value) {
  unsigned bytes = (static_cast<unsigned>(std::bit_width(value)) + 7) / 8;
  key += static_cast<char>(bytes);
  for (unsigned i = bytes; i-- > 0;)
    key += static_cast<char>(value >> (8 * i));
}

static void appendString(std::string &key, std::string_view text) {
  for (char c : text) {
    key += c;
    if (c == '\0')
      key += '\xff';
    else if (c == '\xff')
      key += '\0';
  }
  key += '\0';
  key += '\x01';
}

static void appendSigned(std::string &key, int64_t value) {
  uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  // n bytes hold 7n - 1 bits and a sign.
  unsigned bytes = static_cast<unsigned>(std::bit_width(magnitude)) / 7 + 1;
  for (unsigned i = bytes; i-- > 0;) {
    uint8_t byte = i >= 8 ? (value < 0 ? 0xff : 0)
                          : static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
    unsigned position = bytes - 1 - i;
    unsigned ones = bytes > 8 * position ? bytes - 8 * position : 0;
    if (ones)
      byte ^= ones >= 8 ? 0xff : static_cast<uint8_t>(0xff << (8 - ones));
    key += static_cast<char>(byte);
  }
}

std::string weir::tf::sliceKey(std::string_view name,
                               const std::vector<std::pair<int64_t, int64_t>> &extents) {
  std::string key;
  appendNumber(key, 0);
  appendString(key, name);
  appendNumber(key, extents.size());
  for (auto [start, length] : extents) {
    appendSigned(key, start);
    appendSigned(key, length);
  }
  return key;
}
