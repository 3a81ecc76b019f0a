//===- index_shuffle.cpp - where a permutation takes an index -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A permutation of [0, max] without a table: a block cipher of as many bits as
// max has is applied until the result is inside (Black and Rogaway, "Ciphers
// with arbitrary finite domains", 2002). The cipher is Simon (Beaulieu et al.,
// "The Simon and Speck families of lightweight block ciphers", 2013) with three
// key words and few rounds, as TensorFlow has it.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

#include <math.h>

using namespace weir::rt;

namespace {

constexpr int kMostRounds = 64;

/// Words of `width` bits, 8 to 32.
struct Cipher {
  int width;
  uint64_t mask;
  int rounds;
  uint64_t keys[kMostRounds];

  uint64_t rotateLeft(uint64_t x, int by) const { return (x << by | x >> (width - by)) & mask; }
  uint64_t rotateRight(uint64_t x, int by) const { return (x >> by | x << (width - by)) & mask; }
  uint64_t mix(uint64_t x) const {
    return (rotateLeft(x, 1) & rotateLeft(x, 8)) ^ rotateLeft(x, 2);
  }

  void schedule(const uint32_t *key) {
    uint64_t z = 0x7369f885192c0ef5u & mask;
    for (int i = 0; i < rounds; ++i) {
      if (i < 3) {
        keys[i] = key[i] & mask;
        continue;
      }
      keys[i] = (0xfffffffcu & mask) ^ (z & 1) ^ keys[i - 3] ^ rotateRight(keys[i - 1], 3) ^
                rotateRight(keys[i - 1], 4);
      z >>= 1;
    }
  }

  uint64_t encrypt(uint64_t value) const {
    uint64_t left = value >> width & mask, right = value & mask;
    for (int i = 0; i + 1 < rounds; i += 2) {
      left ^= mix(right) ^ keys[i];
      right ^= mix(left) ^ keys[i + 1];
    }
    return left << width | right;
  }
};

uint64_t shuffled(Cipher &cipher, uint64_t index, const uint32_t *key, uint64_t most) {
  if (most == 0)
    return 0;
  // As many bits as indices have, even, 16 at least.
  int bits = int(ceil(log2(double(most))));
  bits += bits & 1;
  cipher.width = (bits < 16 ? 16 : bits) / 2;
  cipher.mask = (uint64_t(1) << cipher.width) - 1;
  cipher.schedule(key);
  do
    index = cipher.encrypt(index);
  while (index > most);
  return index;
}

} // namespace

int32_t weir_kernel_index_shuffle(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  const weir_tensor &index = operands[0], &seed = operands[1], &most = operands[2];
  Cipher cipher;
  if (operand_count != 3 || result_count != 1 || index.dtype != WEIR_I64 ||
      seed.dtype != WEIR_U32 || most.dtype != WEIR_I64 || results[0].dtype != WEIR_I64)
    return failMessage(ctx, WEIR_INTERNAL, "index shuffle takes i64 indices");
  if (attributes[0] < 4 || attributes[0] > kMostRounds || attributes[0] % 2)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "rounds must be even, 4 at least and 64 at most");
  cipher.rounds = int(attributes[0]);
  int64_t count = elementCountOf(index), seeds = elementCountOf(seed) / 3,
          limits = elementCountOf(most);
  if ((seeds != 1 && seeds != count) || (limits != 1 && limits != count) ||
      elementCountOf(seed) != seeds * 3)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "there must be one seed of 3 numbers and one max_index, "
                       "or one for each index");
  if (!shapeResult(ctx, results[0], index.rank, index.dims))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t at = static_cast<const uint64_t *>(index.data)[i];
    uint64_t limit = static_cast<const uint64_t *>(most.data)[limits > 1 ? i : 0];
    // An index outside would walk among indices outside for ever.
    if (at > limit)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "index must not be above max_index");
    const uint32_t *key = static_cast<const uint32_t *>(seed.data) + (seeds > 1 ? 3 * i : 0);
    static_cast<uint64_t *>(results[0].data)[i] = shuffled(cipher, at, key, limit);
  }
  return WEIR_OK;
}
