//===- Narrow.h - floats of 16 bits --------------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_NARROW_H
#define WEIR_TEST_CUDA_RECORDER_NARROW_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

inline float halfToFloat(uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, 2);
  return float(value);
}
inline uint16_t floatToHalf(float value) {
  auto half = _Float16(value);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}
inline float brainToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
inline uint16_t floatToBrain(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return 0x7fff;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

#endif // WEIR_TEST_CUDA_RECORDER_NARROW_H
