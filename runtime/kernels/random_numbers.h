//===- random_numbers.h - a block's numbers in each floating-point type ---===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types that templates of samplers take. Narrow ones compute in f32 and round each step, as
// Eigen does in TensorFlow's kernels.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_RANDOM_NUMBERS_H
#define WEIR_RUNTIME_KERNELS_RANDOM_NUMBERS_H

#include "kernels/philox.h"

namespace weir::rt {

// A type's numbers in memory; `round`, what each step of arithmetic in `Number` is rounded by;
// `unit`, one of the `numbers` in [0, 1) of a block.
struct Half {
  static void store(void *data, int64_t i, float x) {
    static_cast<uint16_t *>(data)[i] = halfOfFloat(x);
  }
  static float load(const void *data, int64_t i) {
    return floatOfHalf(static_cast<const uint16_t *>(data)[i]);
  }
  static float round(float x) { return floatOfHalf(halfOfFloat(x)); }
  static float unit(const Philox::Block &b, int i) {
    return floatOfHalf(uint16_t((b.word[i] & 0x3ff) | 0x3c00)) - 1;
  }
  using Number = float;
  static constexpr int numbers = 4;
};
struct Bfloat {
  static float load(const void *data, int64_t i) {
    return floatOfBfloat(static_cast<const uint16_t *>(data)[i]);
  }
  static float round(float x) { return floatOfBfloat(bfloatOfFloat(x)); }
  static float unit(const Philox::Block &b, int i) {
    return floatOfBfloat(uint16_t((b.word[i] & 0x7f) | 0x3f80)) - 1;
  }
  using Number = float;
  static constexpr int numbers = 4;
};
struct Single {
  static void store(void *data, int64_t i, float x) { static_cast<float *>(data)[i] = x; }
  static float load(const void *data, int64_t i) { return static_cast<const float *>(data)[i]; }
  static float round(float x) { return x; }
  static float unit(const Philox::Block &b, int i) { return uniformFloat(b.word[i]); }
  using Number = float;
  static constexpr int numbers = 4;
};
struct Double {
  static void store(void *data, int64_t i, double x) { static_cast<double *>(data)[i] = x; }
  static double load(const void *data, int64_t i) { return static_cast<const double *>(data)[i]; }
  static double round(double x) { return x; }
  static double unit(const Philox::Block &b, int i) {
    return uniformDouble(b.word[2 * i], b.word[2 * i + 1]);
  }
  using Number = double;
  static constexpr int numbers = 2;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_RANDOM_NUMBERS_H
