//===- inflate.cpp - decompression of zlib and gzip streams ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "input/inflate.h"

#include <string.h>

namespace weir::rt {

static constexpr uint32_t windowMask = (1 << 15) - 1;
static constexpr int32_t fastBits = 9;

//===----------------------------------------------------------------------===//
// Checksums
//===----------------------------------------------------------------------===//

namespace {

/// CRC-32 of gzip, four bits at a time: a table of 64 bytes.
constexpr uint32_t crcNibbles[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

uint32_t crc32(uint32_t crc, const uint8_t *bytes, int64_t size) {
  crc = ~crc;
  for (int64_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    crc = crc >> 4 ^ crcNibbles[crc & 15];
    crc = crc >> 4 ^ crcNibbles[crc & 15];
  }
  return ~crc;
}

uint32_t adler32(uint32_t adler, const uint8_t *bytes, int64_t size) {
  uint32_t a = adler & 0xffff, b = adler >> 16;
  while (size > 0) {
    // The most after which b still fits 32 bits.
    int64_t part = size < 5552 ? size : 5552;
    size -= part;
    for (; part > 0; --part) {
      a += *bytes++;
      b += a;
    }
    a %= 65521;
    b %= 65521;
  }
  return b << 16 | a;
}

} // namespace

//===----------------------------------------------------------------------===//
// Bits and codes
//===----------------------------------------------------------------------===//

/// Makes `count` bits available, at most 32. False: the supply has ended.
bool Inflater::fill(int32_t count) {
  while (bitCount < count) {
    if (supply->next == supply->end && (!supply->refill || !supply->refill(supply)))
      return false;
    bits |= uint64_t(*supply->next++) << bitCount;
    bitCount += 8;
  }
  return true;
}

bool Inflater::take(int32_t count, uint32_t *value) {
  if (!fill(count)) {
    isCut = true;
    return false;
  }
  *value = uint32_t(bits & ((uint64_t(1) << count) - 1));
  bits >>= count;
  bitCount -= count;
  return true;
}

bool Inflater::fail(const char *what) {
  problem = what;
  return false;
}

/// A canonical code from the lengths of its symbols (0: not used). False: there
/// is none of such lengths, or one with gaps, which a single symbol may have.
bool Inflater::Code::build(const uint8_t *lengths, int32_t count) {
  memset(counts, 0, sizeof(counts));
  for (int32_t i = 0; i < count; ++i)
    ++counts[lengths[i]];
  int32_t used = count - counts[0];
  counts[0] = 0;
  int32_t left = 1;
  for (int32_t length = 1; length < 16; ++length) {
    left = left * 2 - counts[length];
    if (left < 0)
      return false;
  }
  if (left > 0 && (used > 1 || (used == 1 && counts[1] != 1)))
    return false;
  uint16_t offsets[16];
  offsets[1] = 0;
  for (int32_t length = 1; length < 15; ++length)
    offsets[length + 1] = uint16_t(offsets[length] + counts[length]);
  for (int32_t i = 0; i < count; ++i)
    if (lengths[i])
      symbols[offsets[lengths[i]]++] = uint16_t(i);
  memset(fast, 0, sizeof(fast));
  uint32_t code = 0;
  int32_t at = 0;
  for (int32_t length = 1; length <= fastBits; ++length, code <<= 1)
    for (int32_t i = 0; i < counts[length]; ++i, ++code) {
      uint32_t reversed = 0;
      for (int32_t bit = 0; bit < length; ++bit)
        reversed |= (code >> bit & 1) << (length - 1 - bit);
      for (uint32_t index = reversed; index < 1u << fastBits; index += 1u << length)
        fast[index] = uint16_t(symbols[at] << 4 | length);
      ++at;
    }
  return true;
}

/// The next symbol; -1: the stream is cut, or holds no symbol here.
int32_t Inflater::decode(const Code &code) {
  (void)fill(15); // fewer may be left, and enough
  if (uint32_t entry = code.fast[bits & ((1 << fastBits) - 1)]) {
    int32_t length = int32_t(entry & 15);
    if (length <= bitCount) {
      bits >>= length;
      bitCount -= length;
      return int32_t(entry >> 4);
    }
    isCut = true;
    return -1;
  }
  int32_t value = 0, first = 0, index = 0;
  for (int32_t length = 1; length < 16; ++length) {
    if (length > bitCount) {
      isCut = true;
      return -1;
    }
    value |= int32_t(bits >> (length - 1) & 1);
    int32_t count = code.counts[length];
    if (value - first < count) {
      bits >>= length;
      bitCount -= length;
      return code.symbols[index + value - first];
    }
    index += count;
    first = (first + count) << 1;
    value <<= 1;
  }
  fail("invalid code");
  return -1;
}

//===----------------------------------------------------------------------===//
// Frames and blocks
//===----------------------------------------------------------------------===//

void Inflater::init(Format givenFormat, ByteSupply *givenSupply) {
  format = givenFormat;
  supply = givenSupply;
  problem = nullptr;
  state = State::Header;
  isLast = isCut = isFollower = false;
  bitCount = 0;
  bits = 0;
  stored = 0;
  matchSize = matchDistance = position = 0;
  total = 0;
}

bool Inflater::readHeader() {
  uint32_t value;
  // The end of a file where a member could begin is the end.
  if (isFollower && !fill(8)) {
    state = State::End;
    return false;
  }
  total = 0;
  memberSize = 0;
  if (format == Format::Zlib) {
    if (!take(16, &value))
      return false;
    uint32_t first = value & 255, second = value >> 8;
    if ((first * 256 + second) % 31 != 0)
      return fail("incorrect header check");
    if ((first & 15) != 8)
      return fail("unknown compression method");
    if (first >> 4 > 7)
      return fail("invalid window size");
    if (second & 32)
      return fail("a preset dictionary is needed");
    checksum = 1;
    state = State::Block;
    return true;
  }
  uint32_t flags, size;
  if (!take(16, &value))
    return false;
  if (value != 0x8b1f)
    return fail("incorrect header check");
  if (!take(8, &value))
    return false;
  if (value != 8)
    return fail("unknown compression method");
  if (!take(8, &flags))
    return false;
  if (flags & 0xe0)
    return fail("unknown header flags set");
  for (int32_t i = 0; i < 6; ++i) // time, extra flags, system
    if (!take(8, &value))
      return false;
  if (flags & 4) {
    if (!take(16, &size))
      return false;
    for (; size > 0; --size)
      if (!take(8, &value))
        return false;
  }
  for (uint32_t flag = 8; flag <= 16; flag *= 2) // name, comment: up to a zero
    if (flags & flag)
      do {
        if (!take(8, &value))
          return false;
      } while (value != 0);
  if ((flags & 2) && !take(16, &value))
    return false;
  checksum = 0;
  state = State::Block;
  return true;
}

/// The codes of a block that brings its own.
bool Inflater::readCodes() {
  static constexpr uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                        11, 4,  12, 3, 13, 2, 14, 1, 15};
  uint32_t value;
  if (!take(14, &value))
    return false;
  int32_t literalCount = int32_t(value & 31) + 257, distanceCount = int32_t(value >> 5 & 31) + 1;
  int32_t lengthCount = int32_t(value >> 10) + 4;
  if (literalCount > 286 || distanceCount > 30)
    return fail("too many length or distance symbols");
  uint8_t lengths[320] = {};
  for (int32_t i = 0; i < lengthCount; ++i) {
    if (!take(3, &value))
      return false;
    lengths[order[i]] = uint8_t(value);
  }
  if (!literals.build(lengths, 19))
    return fail("invalid code lengths set");
  memset(lengths, 0, sizeof(lengths));
  for (int32_t i = 0; i < literalCount + distanceCount;) {
    int32_t symbol = decode(literals);
    if (symbol < 0)
      return false;
    if (symbol < 16) {
      lengths[i++] = uint8_t(symbol);
      continue;
    }
    if (symbol == 16 && i == 0)
      return fail("invalid bit length repeat");
    uint8_t repeated = symbol == 16 ? lengths[i - 1] : 0;
    if (!take(symbol == 16 ? 2 : symbol == 17 ? 3 : 7, &value))
      return false;
    int32_t times = int32_t(value) + (symbol == 18 ? 11 : 3);
    if (i + times > literalCount + distanceCount)
      return fail("invalid bit length repeat");
    while (times-- > 0)
      lengths[i++] = repeated;
  }
  if (lengths[256] == 0)
    return fail("invalid code -- missing end-of-block");
  if (!literals.build(lengths, literalCount))
    return fail("invalid literal/lengths set");
  if (!distances.build(lengths + literalCount, distanceCount))
    return fail("invalid distances set");
  return true;
}

bool Inflater::readBlock() {
  if (isLast) {
    state = State::Trailer;
    return true;
  }
  uint32_t value;
  if (!take(3, &value))
    return false;
  isLast = value & 1;
  switch (value >> 1) {
  case 0: {
    bits >>= bitCount & 7;
    bitCount &= ~7;
    if (!take(32, &value))
      return false;
    if ((value & 0xffff) != (~value >> 16))
      return fail("invalid stored block lengths");
    stored = value & 0xffff;
    state = State::Stored;
    return true;
  }
  case 1: {
    uint8_t lengths[320];
    for (int32_t i = 0; i < 288; ++i)
      lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(lengths + 288, 5, 32);
    (void)literals.build(lengths, 288);
    (void)distances.build(lengths + 288, 32);
    break;
  }
  case 2:
    if (!readCodes())
      return false;
    break;
  default:
    return fail("invalid block type");
  }
  state = State::Coded;
  return true;
}

bool Inflater::readTrailer() {
  bits >>= bitCount & 7;
  bitCount &= ~7;
  uint32_t value;
  if (!take(32, &value))
    return false;
  if (format == Format::Zlib) {
    if (__builtin_bswap32(value) != checksum)
      return fail("incorrect data check");
    state = State::End;
    return false;
  }
  if (value != checksum)
    return fail("incorrect data check");
  if (!take(32, &value))
    return false;
  if (value != memberSize)
    return fail("incorrect length check");
  isFollower = true;
  isLast = false;
  state = State::Header;
  return true;
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

void Inflater::put(uint8_t byte) {
  window[position] = byte;
  position = (position + 1) & windowMask;
  ++total;
  *out++ = byte;
  --room;
}

void Inflater::copyMatch() {
  while (matchSize > 0 && room > 0) {
    put(window[(position - matchDistance) & windowMask]);
    --matchSize;
  }
}

bool Inflater::readStored() {
  while (stored > 0 && room > 0) {
    uint32_t value;
    if (bitCount > 0) { // whole bytes that were taken ahead
      (void)take(8, &value);
      put(uint8_t(value));
      --stored;
      continue;
    }
    if (supply->next == supply->end && (!supply->refill || !supply->refill(supply))) {
      isCut = true;
      return false;
    }
    put(*supply->next++);
    --stored;
  }
  if (stored == 0)
    state = State::Block;
  return true;
}

bool Inflater::readCoded() {
  static constexpr uint16_t sizes[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                         15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                         67, 83, 99, 115, 131, 163, 195, 227, 258};
  static constexpr uint8_t sizeBits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  static constexpr uint16_t starts[30] = {
      1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
      193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  copyMatch();
  while (room > 0) {
    int32_t symbol = decode(literals);
    if (symbol < 0)
      return false;
    if (symbol < 256) {
      put(uint8_t(symbol));
      continue;
    }
    if (symbol == 256) {
      state = State::Block;
      return true;
    }
    if (symbol > 285)
      return fail("invalid literal/length code");
    uint32_t more;
    if (!take(sizeBits[symbol - 257], &more))
      return false;
    uint32_t size = sizes[symbol - 257] + more;
    symbol = decode(distances);
    if (symbol < 0)
      return false;
    if (symbol > 29)
      return fail("invalid distance code");
    if (!take(symbol < 4 ? 0 : symbol / 2 - 1, &more))
      return false;
    uint32_t distance = starts[symbol] + more;
    if (distance > total)
      return fail("invalid distance too far back");
    matchSize = size;
    matchDistance = distance;
    copyMatch();
  }
  return true;
}

int64_t Inflater::read(uint8_t *to, int64_t size) {
  out = to;
  room = size;
  const uint8_t *counted = to;
  bool goesOn = !problem && !isCut;
  while (goesOn && state != State::End && (room > 0 || state == State::Trailer)) {
    const uint8_t *before = out;
    switch (state) {
    case State::Header:
      goesOn = readHeader();
      break;
    case State::Block:
      goesOn = readBlock();
      break;
    case State::Stored:
      goesOn = readStored();
      break;
    case State::Coded:
      goesOn = readCoded();
      break;
    case State::Trailer:
      goesOn = readTrailer();
      break;
    case State::End:
      break;
    }
    if (out != before) {
      checksum = format == Format::Zlib ? adler32(checksum, counted, out - counted)
                                        : crc32(checksum, counted, out - counted);
      memberSize += uint32_t(out - counted);
      counted = out;
    }
  }
  return out - to;
}

} // namespace weir::rt
