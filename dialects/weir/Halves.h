//===- Halves.h - bits of f16 and bf16 ---------------------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions of many elements of constants at compile time. The compiler's own
// types for halves call library functions that not every host has.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_HALVES_H
#define WEIR_DIALECTS_WEIR_HALVES_H

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace weir {

/// The bits of an f32 rounded to bf16, to nearest, ties to even; NaN stays one,
/// and quiet.
inline uint16_t brainFromFloat(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// The bits of an f32 rounded to f16, to nearest, ties to even; NaN stays one,
/// and quiet.
inline uint16_t halfFromFloat(uint32_t bits) {
  uint16_t sign = bits >> 16 & 0x8000;
  uint32_t size = bits & 0x7fffffff;
  if (size > 0x7f800000)
    return sign | 0x7e00 | (size >> 13 & 0x1ff);
  if (size >= 0x47800000) // 65536
    return sign | 0x7c00;
  if (size < 0x38800000) { // 2^-14: the sum's last place is 2^-24, and it
                           // rounds as wanted
    float sum = llvm::bit_cast<float>(size) + 0.5f;
    return sign | uint16_t(llvm::bit_cast<uint32_t>(sum) - 0x3f000000);
  }
  size -= 112u << 23;
  return sign | uint16_t((size + 0xfff + (size >> 13 & 1)) >> 13);
}

/// The bits of an f32 that `bits` of bf16, or of f16, stand for.
inline uint32_t floatFromBrain(uint16_t bits) { return uint32_t(bits) << 16; }
inline uint32_t floatFromHalf(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) // infinity, NaN
    return sign | 0x7f800000 | fraction << 13;
  if (exponent)
    return sign | (exponent + 112) << 23 | fraction << 13;
  if (!fraction)
    return sign;
  uint32_t top = llvm::Log2_32(fraction);
  return sign | (top + 103) << 23 | (fraction << (23 - top) & 0x7fffff);
}

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_HALVES_H
