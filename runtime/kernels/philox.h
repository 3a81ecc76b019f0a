//===- philox.h - the counter-based generator of random numbers -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3", 2011), with the counters and conversions that TensorFlow uses.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_PHILOX_H
#define WEIR_RUNTIME_KERNELS_PHILOX_H

#include "kernels/kernel_support.h"

#include <math.h>

namespace weir::rt {

class Philox {
public:
  struct Block {
    uint32_t word[4];
  };

  /// `low` and `high` are the counter's halves.
  Philox(uint64_t key, uint64_t low, uint64_t high) : key(key), low(low), high(high) {}

  /// The block at the counter; steps on.
  Block next() {
    Block block = at(low, high, key);
    skip(1);
    return block;
  }
  void skip(uint64_t blocks) {
    low += blocks;
    high += low < blocks;
  }

  static Block at(uint64_t low, uint64_t high, uint64_t key) {
    Block c = {{uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)}};
    uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
    for (int round = 0; round < 10; ++round) {
      uint64_t p = uint64_t(c.word[0]) * 0xD2511F53u, q = uint64_t(c.word[2]) * 0xCD9E8D57u;
      c = {{uint32_t(q >> 32) ^ c.word[1] ^ key0, uint32_t(q), uint32_t(p >> 32) ^ c.word[3] ^ key1,
            uint32_t(p)}};
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    return c;
  }

private:
  uint64_t key, low, high;
};

/// The words of a generator, one after the other.
class PhiloxWords {
public:
  explicit PhiloxWords(const Philox &start) : generator(start) {}
  uint32_t next() {
    if (used == 4) {
      block = generator.next();
      used = 0;
    }
    return block.word[used++];
  }

private:
  Philox generator;
  Philox::Block block;
  int used = 4;
};

/// A number in [0, 1) of the low 23 bits.
inline float uniformFloat(uint32_t word) {
  uint32_t bits = (word & 0x7fffff) | 0x3f800000;
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value - 1.0f;
}

/// A number in [0, 1) of the low 20 bits of `first` and all of `second`.
inline double uniformDouble(uint32_t first, uint32_t second) {
  uint64_t bits = uint64_t((first & 0xfffff) | 0x3ff00000) << 32 | second;
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value - 1.0;
}

/// Two normal numbers of two uniform ones (Box and Muller, 1958).
inline void normalPair(float u, float v, float *first, float *second) {
  float radius = sqrtf(-2.0f * logf(u < 1e-7f ? 1e-7f : u));
  float angle = float(2 * M_PI * double(v));
  *first = sinf(angle) * radius;
  *second = cosf(angle) * radius;
}
inline void normalPair(double u, double v, double *first, double *second) {
  double radius = sqrt(-2.0 * log(u < 1e-7 ? 1e-7 : u));
  double angle = 2 * M_PI * v;
  *first = sin(angle) * radius;
  *second = cos(angle) * radius;
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_PHILOX_H
