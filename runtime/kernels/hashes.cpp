//===- hashes.cpp - hash functions that models rely on ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/hashes.h"

#include <string.h>

namespace weir::rt {
namespace {

uint64_t load64(const uint8_t *at) {
  uint64_t value;
  memcpy(&value, at, sizeof(value));
  return value;
}
uint64_t load32(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof(value));
  return value;
}
uint64_t rotateRight(uint64_t value, int by) { return value >> by | value << (64 - by); }
uint64_t rotateLeft(uint64_t value, int by) { return rotateRight(value, 64 - by); }

//===----------------------------------------------------------------------===//
// FarmHash
//===----------------------------------------------------------------------===//

// Primes between 2^63 and 2^64.
constexpr uint64_t p0 = 0xc3a5c85c97cb3127, p1 = 0xb492b66fbe98f273, p2 = 0x9ae16a3b2f90404f;

uint64_t shiftMix(uint64_t value) { return value ^ value >> 47; }

uint64_t mix(uint64_t low, uint64_t high, uint64_t factor) {
  uint64_t a = shiftMix((low ^ high) * factor);
  return shiftMix((high ^ a) * factor) * factor;
}

uint64_t hashUpTo16(const uint8_t *s, uint64_t size) {
  uint64_t factor = p2 + size * 2;
  if (size >= 8) {
    uint64_t a = load64(s) + p2, b = load64(s + size - 8);
    return mix(rotateRight(b, 37) * factor + a, (rotateRight(a, 25) + b) * factor, factor);
  }
  if (size >= 4)
    return mix(size + (load32(s) << 3), load32(s + size - 4), factor);
  if (size == 0)
    return p2;
  uint64_t y = s[0] + (uint64_t(s[size >> 1]) << 8);
  uint64_t z = size + (uint64_t(s[size - 1]) << 2);
  return shiftMix(y * p2 ^ z * p0) * p2;
}

uint64_t hashUpTo32(const uint8_t *s, uint64_t size) {
  uint64_t factor = p2 + size * 2;
  uint64_t a = load64(s) * p1, b = load64(s + 8);
  uint64_t c = load64(s + size - 8) * factor, d = load64(s + size - 16) * p2;
  return mix(rotateRight(a + b, 43) + rotateRight(c, 30) + d, a + rotateRight(b + p2, 18) + c,
             factor);
}

uint64_t hashUpTo64(const uint8_t *s, uint64_t size) {
  uint64_t factor = p2 + size * 2;
  uint64_t a = load64(s) * p2, b = load64(s + 8);
  uint64_t c = load64(s + size - 8) * factor, d = load64(s + size - 16) * p2;
  uint64_t y = rotateRight(a + b, 43) + rotateRight(c, 30) + d;
  uint64_t z = mix(y, a + rotateRight(b + p2, 18) + c, factor);
  uint64_t e = load64(s + 16) * factor, f = load64(s + 24);
  uint64_t g = (y + load64(s + size - 32)) * factor;
  uint64_t h = (z + load64(s + size - 24)) * factor;
  return mix(rotateRight(e + f, 43) + rotateRight(g, 30) + h, e + rotateRight(f + a, 18) + g,
             factor);
}

struct Pair {
  uint64_t first = 0, second = 0;
};

/// Takes 32 bytes into two words.
Pair absorb(const uint8_t *s, uint64_t a, uint64_t b) {
  uint64_t w = load64(s), x = load64(s + 8), y = load64(s + 16), z = load64(s + 24);
  a += w;
  b = rotateRight(b + a + z, 21);
  uint64_t c = a;
  a += x + y;
  b += rotateRight(a, 44);
  return {a + z, b + c};
}

} // namespace

uint64_t farmFingerprint64(const void *data, int64_t count) {
  auto *s = static_cast<const uint8_t *>(data);
  auto size = uint64_t(count);
  if (size <= 16)
    return hashUpTo16(s, size);
  if (size <= 32)
    return hashUpTo32(s, size);
  if (size <= 64)
    return hashUpTo64(s, size);
  // 56 bytes of state take 64 bytes a round; the last round takes the last 64,
  // which overlap those before.
  constexpr uint64_t seed = 81;
  uint64_t x = seed * p2 + load64(s), y = seed * p1 + 113;
  uint64_t z = shiftMix(y * p2 + 113) * p2;
  Pair v, w;
  auto swap = [&] {
    uint64_t kept = z;
    z = x;
    x = kept;
  };
  const uint8_t *end = s + (size - 1) / 64 * 64;
  const uint8_t *last = s + size - 64;
  do {
    x = rotateRight(x + y + v.first + load64(s + 8), 37) * p1;
    y = rotateRight(y + v.second + load64(s + 48), 42) * p1;
    x ^= w.second;
    y += v.first + load64(s + 40);
    z = rotateRight(z + w.first, 33) * p1;
    v = absorb(s, v.second * p1, x + w.first);
    w = absorb(s + 32, z + w.second, y + load64(s + 16));
    swap();
    s += 64;
  } while (s != end);
  uint64_t factor = p1 + ((z & 0xff) << 1);
  s = last;
  w.first += (size - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = rotateRight(x + y + v.first + load64(s + 8), 37) * factor;
  y = rotateRight(y + v.second + load64(s + 48), 42) * factor;
  x ^= w.second * 9;
  y += v.first * 9 + load64(s + 40);
  z = rotateRight(z + w.first, 33) * factor;
  v = absorb(s, v.second * factor, x + w.first);
  w = absorb(s + 32, z + w.second, y + load64(s + 16));
  swap();
  return mix(mix(v.first, w.first, factor) + shiftMix(y) * p0 + z,
             mix(v.second, w.second, factor) + x, factor);
}

uint64_t murmur64(const void *data, int64_t count, uint64_t seed) {
  constexpr uint64_t m = 0xc6a4a7935bd1e995;
  constexpr int r = 47;
  auto *s = static_cast<const uint8_t *>(data);
  uint64_t h = seed ^ uint64_t(count) * m;
  for (; count >= 8; s += 8, count -= 8) {
    uint64_t k = load64(s) * m;
    h = (h ^ (k ^ k >> r) * m) * m;
  }
  if (count > 0) {
    uint64_t rest = 0;
    for (int64_t i = count; i-- > 0;)
      rest = rest << 8 | s[i];
    h = (h ^ rest) * m;
  }
  h = (h ^ h >> r) * m;
  return h ^ h >> r;
}

uint32_t murmur3(const void *data, int64_t count, uint32_t seed) {
  auto *s = static_cast<const uint8_t *>(data);
  auto turn = [](uint32_t v, int by) { return v << by | v >> (32 - by); };
  auto mixed = [&](uint32_t k) { return turn(k * 0xcc9e2d51, 15) * 0x1b873593; };
  uint32_t h = seed;
  int64_t left = count;
  for (; left >= 4; s += 4, left -= 4) {
    uint32_t k;
    memcpy(&k, s, sizeof k);
    h = turn(h ^ mixed(k), 13) * 5 + 0xe6546b64;
  }
  uint32_t rest = 0;
  for (int64_t i = left; i-- > 0;)
    rest = rest << 8 | s[i];
  if (left > 0)
    h ^= mixed(rest);
  h ^= uint32_t(count);
  h = (h ^ h >> 16) * 0x85ebca6b;
  h = (h ^ h >> 13) * 0xc2b2ae35;
  return h ^ h >> 16;
}

uint64_t sipHash24(const void *data, int64_t count, uint64_t key0, uint64_t key1) {
  uint64_t v0 = key0 ^ 0x736f6d6570736575, v1 = key1 ^ 0x646f72616e646f6d;
  uint64_t v2 = key0 ^ 0x6c7967656e657261, v3 = key1 ^ 0x7465646279746573;
  auto rounds = [&](int times) {
    for (int i = 0; i < times; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = rotateLeft(v1, 13) ^ v0;
      v3 = rotateLeft(v3, 16) ^ v2;
      v0 = rotateLeft(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = rotateLeft(v1, 17) ^ v2;
      v3 = rotateLeft(v3, 21) ^ v0;
      v2 = rotateLeft(v2, 32);
    }
  };
  auto take = [&](uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  auto *s = static_cast<const uint8_t *>(data);
  int64_t left = count;
  for (; left >= 8; s += 8, left -= 8)
    take(load64(s));
  uint64_t last = uint64_t(count) << 56;
  for (int64_t i = 0; i < left; ++i)
    last |= uint64_t(s[i]) << (8 * i);
  take(last);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

} // namespace weir::rt
