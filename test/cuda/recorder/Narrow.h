//===- Narrow.h - floats of 16 and 8 bits --------------------- -*- C++ -*-===//
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
/// e4m3 has no infinities, and a NaN for each sign; e5m2 is the upper half of f16.
inline float byteToFloat(uint32_t bits, bool isE5M2) {
  if (isE5M2)
    return halfToFloat(uint16_t(bits << 8));
  uint32_t exponent = bits >> 3 & 15, mantissa = bits & 7;
  double value = exponent == 15 && mantissa == 7 ? double(NAN)
                 : exponent ? std::ldexp(1.0 + mantissa / 8.0, int(exponent) - 7)
                            : std::ldexp(mantissa / 8.0, -6);
  return float(bits & 0x80 ? -value : value);
}

#endif // WEIR_TEST_CUDA_RECORDER_NARROW_H
