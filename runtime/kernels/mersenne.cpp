//===- mersenne.cpp - random numbers by the Mersenne Twister --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MT19937 (Matsumoto and Nishimura, "Mersenne Twister", 1998), with the numbers
// that NumPy's RandomState makes of its words: ONNX leaves the generator open,
// and its reference implementation uses this one.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

#include <math.h>

using namespace weir::rt;

namespace {

class Mersenne {
public:
  explicit Mersenne(uint32_t seed) {
    word[0] = seed;
    for (uint32_t i = 1; i < kWords; ++i)
      word[i] = 1812433253u * (word[i - 1] ^ word[i - 1] >> 30) + i;
  }

  uint32_t next() {
    if (at == kWords)
      refill();
    return tempered[at++];
  }

  /// In [0, 1), with 53 bits.
  double uniform() {
    uint32_t high = next() >> 5, low = next() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  /// Of the standard normal distribution: Marsaglia's polar method, whose
  /// second number is kept for the next call.
  double normal() {
    if (hasKept) {
      hasKept = false;
      return kept;
    }
    for (;;) {
      double x = 2 * uniform() - 1, y = 2 * uniform() - 1;
      double square = x * x + y * y;
      if (square >= 1 || square == 0)
        continue;
      double factor = sqrt(-2 * log(square) / square);
      kept = factor * x;
      hasKept = true;
      return factor * y;
    }
  }

private:
  static constexpr uint32_t kWords = 624, kShift = 397;

  static uint32_t twisted(uint32_t own, uint32_t next, uint32_t far) {
    uint32_t y = (own & 0x80000000u) | (next & 0x7fffffffu);
    return far ^ y >> 1 ^ (0x9908b0dfu & -(y & 1));
  }

  /// All words at once, in loops without branches, which compilers make vectors of.
  void refill() {
    constexpr uint32_t kRest = kWords - kShift;
    for (uint32_t i = 0; i < kRest; ++i)
      word[i] = twisted(word[i], word[i + 1], word[i + kShift]);
    for (uint32_t i = kRest; i + 1 < kWords; ++i)
      word[i] = twisted(word[i], word[i + 1], word[i - kRest]);
    word[kWords - 1] = twisted(word[kWords - 1], word[0], word[kShift - 1]);
    for (uint32_t i = 0; i < kWords; ++i) {
      uint32_t y = word[i];
      y ^= y >> 11;
      y ^= y << 7 & 0x9d2c5680u;
      y ^= y << 15 & 0xefc60000u;
      tempered[i] = y ^ y >> 18;
    }
    at = 0;
  }

  uint32_t word[kWords], tempered[kWords];
  uint32_t at = kWords;
  double kept = 0;
  bool hasKept = false;
};

/// 1 with the chance p, else 0: the inversion of a binomial distribution of one
/// trial, which counts failures where they are rarer. No chance takes no number.
double bernoulli(Mersenne &generator, double p) {
  if (!(p > 0))
    return 0;
  bool turned = p > 0.5;
  double rare = turned ? 1 - p : p;
  bool hit = generator.uniform() > exp(log(1 - rare));
  return hit != turned ? 1 : 0;
}

} // namespace

int32_t weir_kernel_random_mersenne(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *attributes) {
  if (operand_count != 1 || result_count != 1 || results[0].dtype != WEIR_F64 ||
      operands[0].dtype != WEIR_I64 || operands[0].rank != 1 || operands[0].dims[0] > WEIR_MAX_RANK)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the shape is no list of sizes");
  auto *sizes = static_cast<const int64_t *>(operands[0].data);
  for (int64_t i = 0; i < operands[0].dims[0]; ++i)
    if (sizes[i] < 0)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a size is negative");
  if (!shapeResult(ctx, results[0], int32_t(operands[0].dims[0]), sizes))
    return WEIR_RESOURCE_EXHAUSTED;
  Mersenne generator{static_cast<uint32_t>(attributes[0])};
  bool isNormal = attributes[1] != 0;
  auto *values = static_cast<double *>(results[0].data);
  for (int64_t i = 0, count = elementCountOf(results[0]); i < count; ++i)
    values[i] = isNormal ? generator.normal() : generator.uniform();
  return WEIR_OK;
}

int32_t weir_kernel_random_bernoulli(weir_context *ctx, const weir_tensor *operands,
                                     int32_t operand_count, weir_tensor *results,
                                     int32_t result_count, const int64_t *attributes) {
  if (operand_count != 1 || result_count != 1 || results[0].dtype != WEIR_F64 ||
      operands[0].dtype != WEIR_F64)
    return failDtype(ctx, "probabilities", operands[0].dtype);
  if (!shapeResult(ctx, results[0], operands[0].rank, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  Mersenne generator{static_cast<uint32_t>(attributes[0])};
  auto *chances = static_cast<const double *>(operands[0].data);
  auto *values = static_cast<double *>(results[0].data);
  for (int64_t i = 0, count = elementCountOf(results[0]); i < count; ++i) {
    if (!(chances[i] >= 0 && chances[i] <= 1))
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a probability is not in [0, 1]");
    values[i] = bernoulli(generator, chances[i]);
  }
  return WEIR_OK;
}
