//===- Pack.cpp - weights in a few bytes -------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LZ77 (Ziv and Lempel 1977) with a window of all the file: a line of a matrix may
// be 100 KB, and what it resembles is the line before. A packed file is
//
//   magic, bytes of the result, their FNV-1a hash by words (64 bits each)
//   { literals: count, bytes; copy: bytes, distance }   numbers in base 128
//
//===----------------------------------------------------------------------===//

#include "Pack.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace weir::gpucheck {

namespace {

using Bytes = std::vector<uint8_t>;

struct Header {
  char magic[8];
  uint64_t bytes, hash;
};
constexpr char magic[9] = "WEIRPAK2";
constexpr size_t shortest = 16; ///< of a copy; elements have 2 bytes

uint64_t hashOf(const Bytes &bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[at], std::min(sizeof(word), bytes.size() - at));
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 32; // else the upper half of a word never meets the lower half of the hash
  }
  return hash;
}

std::string readFile(const std::string &path, Bytes &bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return "cannot read " + path;
  bytes.resize(size_t(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(bytes.data()), std::streamsize(bytes.size()));
  return file ? "" : "cannot read " + path;
}

std::string writeFile(const std::string &path, const Bytes &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  file.close();
  if (file)
    return "";
  std::remove(path.c_str());
  return "cannot write " + path;
}

void putNumber(Bytes &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(uint8_t(value | 0x80));
  out.push_back(uint8_t(value));
}

/// Where places with equal beginnings were seen last.
class Places {
public:
  explicit Places(const Bytes &bytes) : bytes(bytes), last(size_t(1) << bits, 0) {}

  /// The last one that begins as `at` does, and now `at` itself; else `at`.
  size_t exchange(size_t at) {
    uint64_t words[2];
    std::memcpy(words, &bytes[at], sizeof(words));
    uint64_t mixed = (words[0] * 0x9e3779b97f4a7c15) ^ (words[1] * 0xc2b2ae3d27d4eb4f);
    size_t &place = last[(mixed * 0xd6e8feb86659fd93) >> (64 - bits)];
    size_t before = place;
    place = at + 1;
    bool equal = before && std::memcmp(&bytes[before - 1], &bytes[at], shortest) == 0;
    return equal ? before - 1 : at;
  }

private:
  static constexpr int bits = 22;
  const Bytes &bytes;
  std::vector<size_t> last; ///< plus 1; 0: none
};

class Reader {
public:
  explicit Reader(const Bytes &bytes) : at(bytes.data()), end(at + bytes.size()) {}

  bool number(uint64_t &value) {
    value = 0;
    for (int shift = 0; at != end && shift < 64; shift += 7) {
      value |= uint64_t(*at & 0x7f) << shift;
      if (*at++ < 0x80)
        return true;
    }
    return false;
  }
  bool literals(uint64_t count, Bytes &out) {
    if (count > uint64_t(end - at))
      return false;
    out.insert(out.end(), at, at + count);
    at += count;
    return true;
  }
  void skip(size_t count) { at += count; }

private:
  const uint8_t *at, *end;
};

bool expand(Reader &reader, uint64_t size, Bytes &out) {
  uint64_t count, distance;
  out.reserve(std::min<uint64_t>(size, uint64_t(1) << 33)); // a damaged one may be anything
  while (out.size() < size) {
    if (!reader.number(count) || count > size - out.size() || !reader.literals(count, out))
      return false;
    if (out.size() == size)
      break;
    if (!reader.number(count) || !reader.number(distance) || count == 0 ||
        count > size - out.size() || distance == 0 || distance > out.size())
      return false;
    // A copy may reach into itself: then what is there repeats.
    while (count) {
      size_t from = out.size() - distance, piece = std::min(count, distance);
      out.resize(out.size() + piece);
      std::memcpy(&out[out.size() - piece], &out[from], piece);
      count -= piece;
    }
  }
  return true;
}

} // namespace

std::string pack(const std::string &from, const std::string &to) {
  Bytes bytes, out;
  if (std::string problem = readFile(from, bytes); !problem.empty())
    return problem;
  Header header = {{}, bytes.size(), hashOf(bytes)};
  std::memcpy(header.magic, magic, sizeof(header.magic));
  out.resize(sizeof(header));
  std::memcpy(out.data(), &header, sizeof(header));
  Places places(bytes);
  size_t written = 0; // what lies before is in `out`
  for (size_t at = 0; at + shortest <= bytes.size(); at += 2) {
    size_t source = places.exchange(at), length = 0;
    if (source == at)
      continue;
    while (at + length < bytes.size() && bytes[source + length] == bytes[at + length])
      ++length;
    length &= ~size_t(1);
    putNumber(out, at - written);
    out.insert(out.end(), bytes.begin() + ptrdiff_t(written), bytes.begin() + ptrdiff_t(at));
    putNumber(out, length);
    putNumber(out, at - source);
    written = at + length;
    for (size_t inside = at + 2; inside < written && inside + shortest <= bytes.size(); inside += 2)
      places.exchange(inside);
    at = written - 2;
  }
  if (written < bytes.size()) {
    putNumber(out, bytes.size() - written);
    out.insert(out.end(), bytes.begin() + ptrdiff_t(written), bytes.end());
  }
  return writeFile(to, out);
}

std::string unpack(const std::string &from, const std::string &to) {
  Bytes bytes, out;
  if (std::string problem = readFile(from, bytes); !problem.empty())
    return problem;
  Header header = {};
  if (bytes.size() >= sizeof(header))
    std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, magic, sizeof(header.magic)) != 0)
    return from + " is no packed file";
  Reader reader(bytes);
  reader.skip(sizeof(header));
  if (!expand(reader, header.bytes, out) || hashOf(out) != header.hash)
    return from + " is damaged";
  return writeFile(to, out);
}

} // namespace weir::gpucheck
