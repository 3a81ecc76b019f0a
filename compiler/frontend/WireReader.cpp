//===- WireReader.cpp - a cursor over protobuf's wire format --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/WireReader.h"

#include <cstring>

using namespace weir::frontend;

bool WireReader::readVarint(const char *&pos, const char *end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (pos == end)
      return false;
    uint8_t byte = static_cast<uint8_t>(*pos++);
    // The tenth byte carries one bit; more would be lost.
    if (shift == 63 && byte > 1)
      return false;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

bool WireReader::next() {
  if (bad || cur == end)
    return false;
  bad = true; // until the whole field is read
  start = cur;
  uint64_t tag;
  if (!readVarint(cur, end, tag))
    return false;
  uint64_t fieldNumber = tag >> 3;
  if (fieldNumber == 0 || fieldNumber >= (1u << 29))
    return false;
  number = static_cast<uint32_t>(fieldNumber);
  view = {};
  scalar = 0;
  uint64_t left;
  switch (tag & 7) {
  case 0:
    wire = WireType::Varint;
    if (!readVarint(cur, end, scalar))
      return false;
    break;
  case 1:
  case 5: {
    wire = (tag & 7) == 1 ? WireType::Fixed64 : WireType::Fixed32;
    size_t size = wire == WireType::Fixed64 ? 8 : 4;
    if (static_cast<size_t>(end - cur) < size)
      return false;
    // Protobuf is little-endian, and so are the hosts that weirc runs on.
    std::memcpy(&scalar, cur, size);
    cur += size;
    break;
  }
  case 2:
    wire = WireType::Bytes;
    if (!readVarint(cur, end, left) || left > static_cast<uint64_t>(end - cur))
      return false;
    view = std::string_view(cur, left);
    cur += left;
    break;
  default:
    return false;
  }
  bad = false;
  return true;
}

std::string_view WireReader::bytes() {
  if (wire != WireType::Bytes)
    bad = true;
  return view;
}

int64_t WireReader::integer() {
  if (wire == WireType::Varint)
    return static_cast<int64_t>(scalar);
  bad = true;
  return 0;
}

float WireReader::number32() {
  float value = 0;
  if (wire == WireType::Fixed32)
    std::memcpy(&value, &scalar, sizeof value);
  else
    bad = true;
  return value;
}

double WireReader::number64() {
  double value = 0;
  if (wire == WireType::Fixed64)
    std::memcpy(&value, &scalar, sizeof value);
  else
    bad = true;
  return value;
}
