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

  /// Of one whose bytes were read from somewhere.
  bool isValid() const { return used >= 0 && used <= 4; }

private:
  Philox generator;
  Philox::Block block = {};
  int used = 4;
};

/// The generator of `state`: [2] is a seed, which is scrambled first; [3] a key
/// and the two halves of a counter (i64 both).
inline bool readState(const weir_tensor &state, Philox *generator) {
  if (state.dtype != WEIR_I64 || state.rank != 1)
    return false;
  auto *words = static_cast<const uint64_t *>(state.data);
  if (state.dims[0] == 3) {
    *generator = Philox(words[0], words[1], words[2]);
    return true;
  }
  if (state.dims[0] != 2)
    return false;
  Philox::Block mixed = Philox::at(words[0], words[1], 0x02461e293ec8f720u);
  *generator = Philox(uint64_t(mixed.word[1]) << 32 | mixed.word[0], 0,
                      uint64_t(mixed.word[3]) << 32 | mixed.word[2]);
  return true;
}

inline int32_t failState(weir_context *ctx) {
  return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                     "the generator's state is not a seed of 2, or a key and "
                     "a counter, 3 numbers in all");
}

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

/// Numbers that are drawn one after the other, each word once.
class PhiloxNumbers {
public:
  explicit PhiloxNumbers(const Philox &start) : words(start) {}

  uint32_t word() { return words.next(); }
  uint64_t wide() {
    uint64_t low = words.next();
    return low | uint64_t(words.next()) << 32;
  }
  /// In [0, 1).
  float unit() { return uniformFloat(words.next()); }
  double wideUnit() {
    uint32_t first = words.next();
    return uniformDouble(first, words.next());
  }
  /// In [0, n), each as often as the others: words below the remainder of all of them
  /// are drawn anew.
  uint32_t below(uint32_t n) {
    return drawBelow(n, [&] { return word(); });
  }
  uint64_t below(uint64_t n) {
    return drawBelow(n, [&] { return wide(); });
  }

private:
  template <typename T, typename Draw> T drawBelow(T n, Draw draw) {
    if ((n & (n - 1)) == 0) // 0, too, takes a word
      return n ? draw() & (n - 1) : draw() * 0;
    T rest = ~T(0) % n + 1, drawn;
    do
      drawn = draw();
    while (drawn < rest);
    return drawn % n;
  }

  PhiloxWords words;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_PHILOX_H
