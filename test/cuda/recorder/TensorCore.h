//===- TensorCore.h - products that a warp computes together ------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_TENSORCORE_H
#define WEIR_TEST_CUDA_RECORDER_TENSORCORE_H

#include "test/cuda/recorder/Narrow.h"

#include <bit>

namespace ptx {

/// What each lane of a warp has of the operands of mma.m16n8k16 over f16 or bf16, or of
/// mma.m16n8k32 over bytes.
struct MmaLane {
  uint32_t a[4], b[2]; ///< two numbers each, or four
  uint32_t c[4];       ///< added to, and the result: f32, or i32
};

/// Which number of which lane is which element is NVIDIA's PTX ISA's: with g =
/// lane / 4 and t = lane % 4, a has rows g and g + 8, b column g, c columns 2 t and
/// 2 t + 1. Sums in f32, in the order of the depth.
inline void mma16x8x16(MmaLane (&lanes)[32], bool isBrain) {
  float left[16][16], right[16][8], sums[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane / 4, t = lane % 4;
    auto half = [&](uint32_t word, int which) {
      auto bits = uint16_t(word >> (16 * which));
      return isBrain ? brainToFloat(bits) : halfToFloat(bits);
    };
    for (int which = 0; which < 2; ++which) {
      for (int i = 0; i < 4; ++i)
        left[g + (i % 2) * 8][t * 2 + which + (i / 2) * 8] = half(lanes[lane].a[i], which);
      for (int i = 0; i < 2; ++i)
        right[t * 2 + which + i * 8][g] = half(lanes[lane].b[i], which);
    }
    for (int i = 0; i < 4; ++i)
      sums[g + (i / 2) * 8][t * 2 + i % 2] = std::bit_cast<float>(lanes[lane].c[i]);
  }
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column)
      for (int k = 0; k < 16; ++k)
        sums[row][column] += left[row][k] * right[k][column];
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      lanes[lane].c[i] =
          std::bit_cast<uint32_t>(sums[lane / 4 + (i / 2) * 8][lane % 4 * 2 + i % 2]);
}

/// The same of bytes over a depth of 32, four neighbours of it in a word. Functions say what a
/// byte of each operand is; `Sum` is what a number of c stands for.
template <typename Sum, typename Left, typename Right>
void mmaOfBytes(MmaLane (&lanes)[32], Left leftOf, Right rightOf) {
  decltype(leftOf(uint8_t())) left[16][32], right[32][8];
  Sum sums[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane / 4, t = lane % 4;
    for (int which = 0; which < 4; ++which) {
      for (int i = 0; i < 4; ++i)
        left[g + (i % 2) * 8][t * 4 + which + (i / 2) * 16] =
            leftOf(uint8_t(lanes[lane].a[i] >> (8 * which)));
      for (int i = 0; i < 2; ++i)
        right[t * 4 + which + i * 16][g] = rightOf(uint8_t(lanes[lane].b[i] >> (8 * which)));
    }
    for (int i = 0; i < 4; ++i)
      sums[g + (i / 2) * 8][t * 2 + i % 2] = std::bit_cast<Sum>(lanes[lane].c[i]);
  }
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column)
      for (int k = 0; k < 32; ++k)
        sums[row][column] += Sum(left[row][k] * right[k][column]);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      lanes[lane].c[i] =
          std::bit_cast<uint32_t>(sums[lane / 4 + (i / 2) * 8][lane % 4 * 2 + i % 2]);
}

/// Of integers; sums wrap.
inline void mma16x8x32(MmaLane (&lanes)[32], bool leftIsSigned, bool rightIsSigned) {
  auto as = [](bool isSigned) {
    return [=](uint8_t bits) { return isSigned ? int32_t(int8_t(bits)) : int32_t(bits); };
  };
  mmaOfBytes<uint32_t>(lanes, as(leftIsSigned), as(rightIsSigned));
}

/// Of 8-bit floats, e5m2 or e4m3.
inline void mmaOfNarrow(MmaLane (&lanes)[32], bool leftIsE5M2, bool rightIsE5M2) {
  auto as = [](bool isE5M2) { return [=](uint8_t bits) { return byteToFloat(bits, isE5M2); }; };
  mmaOfBytes<float>(lanes, as(leftIsE5M2), as(rightIsE5M2));
}

} // namespace ptx

#endif // WEIR_TEST_CUDA_RECORDER_TENSORCORE_H
