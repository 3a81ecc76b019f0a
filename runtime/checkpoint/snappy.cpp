//===- snappy.cpp - decompression of Snappy blocks ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/snappy.h"

namespace weir::rt {

bool snappyDecompress(const char *block, int64_t bytes, int64_t limit, HeapList<char> &out) {
  int64_t at = 0;
  auto byte = [&](int64_t i) { return static_cast<unsigned char>(block[i]); };
  // A little-endian number of `width` bytes; false where they are not there.
  auto number = [&](int64_t width, int64_t &value) {
    if (bytes - at < width)
      return false;
    value = 0;
    for (int64_t i = 0; i < width; ++i)
      value |= int64_t(byte(at + i)) << (8 * i);
    at += width;
    return true;
  };

  int64_t size = 0;
  for (int shift = 0;; shift += 7) {
    if (at == bytes || shift > 28)
      return false;
    unsigned char next = byte(at++);
    size |= int64_t(next & 0x7f) << shift;
    if (!(next & 0x80))
      break;
  }
  // A block expands to at most 64 bytes for every 3.
  out.clear();
  if (size > limit || size > bytes * 22 || !out.reserve(size))
    return false;

  while (at < bytes) {
    unsigned char tag = byte(at++);
    int64_t length, offset = 0;
    switch (tag & 3) {
    case 0: { // literal
      length = tag >> 2;
      if (length >= 60 && !number(length - 59, length))
        return false;
      ++length;
      if (length > bytes - at || length > size - out.size())
        return false;
      out.append(block + at, length);
      at += length;
      continue;
    }
    case 1: // copy, eleven bits of offset
      length = 4 + ((tag >> 2) & 7);
      if (!number(1, offset))
        return false;
      offset |= int64_t(tag >> 5) << 8;
      break;
    case 2:
      length = 1 + (tag >> 2);
      if (!number(2, offset))
        return false;
      break;
    default:
      length = 1 + (tag >> 2);
      if (!number(4, offset))
        return false;
      break;
    }
    if (offset == 0 || offset > out.size() || length > size - out.size())
      return false;
    // Byte by byte: source and destination may overlap, by intent.
    for (int64_t from = out.size() - offset; length; --length, ++from)
      out.push(out[from]);
  }
  return out.size() == size;
}

} // namespace weir::rt
