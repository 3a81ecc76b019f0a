//===- Snappy.cpp - decompression of Snappy blocks ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Snappy.h"

#include <algorithm>
#include <cstdint>

using namespace weir::tf;

bool weir::tf::snappyDecompress(std::string_view block, size_t limit, std::string &out) {
  size_t at = 0;
  auto byte = [&](size_t i) { return static_cast<uint8_t>(block[i]); };
  // A little-endian number of `width` bytes; false where they are not there.
  auto number = [&](size_t width, size_t &value) {
    if (block.size() - at < width)
      return false;
    value = 0;
    for (size_t i = 0; i < width; ++i)
      value |= static_cast<size_t>(byte(at + i)) << (8 * i);
    at += width;
    return true;
  };

  uint64_t size = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at == block.size() || shift > 28)
      return false;
    uint8_t next = byte(at++);
    size |= static_cast<uint64_t>(next & 0x7f) << shift;
    if (!(next & 0x80))
      break;
  }
  if (size > limit)
    return false;
  out.clear();
  // A block expands to at most 64 bytes for every 3.
  out.reserve(std::min<size_t>(size, block.size() * 22));

  while (at < block.size()) {
    uint8_t tag = byte(at++);
    size_t length, offset = 0;
    switch (tag & 3) {
    case 0: { // literal
      length = tag >> 2;
      if (length >= 60 && !number(length - 59, length))
        return false;
      ++length;
      if (length > block.size() - at || length > size - out.size())
        return false;
      out.append(block.substr(at, length));
      at += length;
      continue;
    }
    case 1: // copy, eleven bits of offset
      length = 4 + ((tag >> 2) & 7);
      if (!number(1, offset))
        return false;
      offset |= static_cast<size_t>(tag >> 5) << 8;
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
    for (size_t from = out.size() - offset; length; --length, ++from)
      out.push_back(out[from]);
  }
  return out.size() == size;
}
