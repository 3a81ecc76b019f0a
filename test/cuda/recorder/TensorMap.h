//===- TensorMap.h - what the copy engine is told of a tensor ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_TENSORMAP_H
#define WEIR_TEST_CUDA_RECORDER_TENSORMAP_H

#include <cstdint>

namespace ptx {

/// The recorder's own form of a CUtensorMap, innermost dimension first.
struct TensorMap {
  static constexpr uint32_t mark = 0x77656972;
  static constexpr uint32_t most = 5;
  uint32_t magic, elementBytes, rank;
  uint64_t base, strides[most - 1]; ///< in bytes, from the second dimension on
  uint32_t sizes[most];
  uint16_t box[most];
  uint8_t steps[most];
  /// Positions of images (im2col): where windows begin along each dimension between the
  /// first and the last, from there to so far from its end; a box has so many.
  uint8_t isWindow;
  int8_t low[most - 2], high[most - 2];
  uint16_t pixels;
};
static_assert(sizeof(TensorMap) <= 128);

/// Where a byte of a line of 128 bytes lies: bits 4 to 6 of its address are turned by bits
/// 7 to 9.
inline uint64_t turned128(uint64_t address) { return address ^ ((address >> 7 & 7) << 4); }

} // namespace ptx

#endif // WEIR_TEST_CUDA_RECORDER_TENSORMAP_H
