//===- WireMutator.cpp - changes of protocol buffers ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/WireMutator.h"

#include <algorithm>
#include <optional>
#include <vector>

using namespace weir::fuzz;

namespace {

/// A field: its tag, and a number, bytes, or a message of its own.
struct Field {
  uint64_t tag = 0;
  uint64_t number = 0;
  std::string bytes;
  std::vector<Field> fields;
  bool isMessage = false;
  unsigned kind() const { return tag & 7; }
};
using Fields = std::vector<Field>;

std::optional<uint64_t> readVarint(std::string_view bytes, size_t &at) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    uint8_t byte = bytes[at++];
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  return std::nullopt;
}

void writeVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

bool isText(std::string_view bytes) {
  return bytes.size() >= 3 &&
         std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// Parses as deep as bytes are messages. Text that happens to be one is left
/// text.
std::optional<Fields> parse(std::string_view bytes, unsigned depth = 0) {
  Fields fields;
  size_t at = 0;
  while (at < bytes.size()) {
    std::optional<uint64_t> tag = readVarint(bytes, at);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 10000)
      return std::nullopt;
    Field field;
    field.tag = *tag;
    size_t size = 0;
    switch (field.kind()) {
    case 0:
      if (std::optional<uint64_t> number = readVarint(bytes, at))
        field.number = *number;
      else
        return std::nullopt;
      break;
    case 1:
    case 5:
      size = field.kind() == 1 ? 8 : 4;
      break;
    case 2:
      if (std::optional<uint64_t> length = readVarint(bytes, at))
        size = *length;
      else
        return std::nullopt;
      break;
    default:
      return std::nullopt;
    }
    if (size > bytes.size() - at)
      return std::nullopt;
    field.bytes = bytes.substr(at, size);
    at += size;
    if (field.kind() == 2 && depth < 16 && size && !isText(field.bytes))
      if (std::optional<Fields> inner = parse(field.bytes, depth + 1)) {
        field.fields = std::move(*inner);
        field.isMessage = true;
        field.bytes.clear();
      }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string serialize(const Fields &fields) {
  std::string out;
  for (const Field &field : fields) {
    writeVarint(out, field.tag);
    std::string inner;
    if (field.isMessage)
      inner = serialize(field.fields);
    const std::string &bytes = field.isMessage ? inner : field.bytes;
    if (field.kind() == 0)
      writeVarint(out, field.number);
    else if (field.kind() == 2)
      writeVarint(out, bytes.size());
    out += bytes;
  }
  return out;
}

/// A field's place: the message, and the index in it.
using Place = std::pair<Fields *, size_t>;

void collect(Fields &fields, std::vector<Place> &places) {
  for (size_t i = 0; i < fields.size(); ++i) {
    places.emplace_back(&fields, i);
    collect(fields[i].fields, places);
  }
}

} // namespace

std::string weir::fuzz::mutateMessage(std::string_view bytes, std::string_view donor,
                                      std::minstd_rand &random,
                                      size_t (*mutateBytes)(uint8_t *, size_t, size_t)) {
  // Borders of types, and sizes whose products overflow.
  static const int64_t numbers[] = {
      0,         1,          -1,        2,         3,         5,         7,         8,
      64,        127,        128,       255,       65536,     27,        -2,        INT32_MAX,
      INT32_MIN, UINT32_MAX, 1ll << 32, 1ll << 40, 1ll << 60, 1ll << 62, INT64_MAX, INT64_MIN};
  std::optional<Fields> root = parse(bytes), other = parse(donor);
  std::vector<Place> places, gifts;
  if (root)
    collect(*root, places);
  if (other)
    collect(*other, gifts);
  if (places.empty())
    return std::string(bytes);
  auto below = [&](size_t bound) { return random() % bound; };
  auto [message, index] = places[below(places.size())];
  Field &field = (*message)[index];
  switch (below(8)) {
  case 0:
    message->erase(message->begin() + index);
    break;
  case 1: {
    Field copy = field;
    message->insert(message->begin() + below(message->size() + 1), copy);
    break;
  }
  case 2:
  case 3: {
    // A field of the same number: a name of another node, another's attributes.
    std::vector<const Field *> fitting;
    for (auto [from, i] : gifts)
      if ((*from)[i].tag == field.tag && (*from)[i].isMessage == field.isMessage)
        fitting.push_back(&(*from)[i]);
    if (fitting.empty())
      break;
    Field gift = *fitting[below(fitting.size())];
    if (below(3))
      field = std::move(gift);
    else
      message->insert(message->begin() + index, std::move(gift));
    break;
  }
  case 4:
    field.tag = (field.tag & 7) | (1 + below(24)) << 3;
    break;
  case 5:
    std::swap(field, (*message)[below(message->size())]);
    break;
  default:
    if (field.kind() == 0) {
      uint64_t step = below(4);
      field.number = step == 0   ? field.number + 1
                     : step == 1 ? field.number - 1
                                 : uint64_t(numbers[below(std::size(numbers))]);
    } else if (!field.isMessage) {
      size_t size = field.bytes.size();
      size_t room = field.kind() == 2 ? size + 16 : size;
      field.bytes.resize(room);
      size = mutateBytes(reinterpret_cast<uint8_t *>(field.bytes.data()), size, room);
      field.bytes.resize(field.kind() == 2 ? size : room);
    }
  }
  return serialize(*root);
}
