//===- Numbers.h - elements of tensors, for stand-ins of libraries -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_RECORDER_NUMBERS_H
#define WEIR_TEST_CUDA_RECORDER_NUMBERS_H

#include "test/cuda/recorder/Narrow.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace recorder {

enum class Form { F64, F32, F16, Bf16 };

inline int64_t bytesOf(Form form) { return form == Form::F64 ? 8 : form == Form::F32 ? 4 : 2; }

inline double load(Form form, uint64_t address, int64_t element) {
  auto *at = reinterpret_cast<const uint8_t *>(address) + element * bytesOf(form);
  double wide;
  float single;
  uint16_t half;
  switch (form) {
  case Form::F64:
    std::memcpy(&wide, at, 8);
    return wide;
  case Form::F32:
    std::memcpy(&single, at, 4);
    return single;
  default:
    std::memcpy(&half, at, 2);
    return form == Form::F16 ? halfToFloat(half) : brainToFloat(half);
  }
}

inline void store(Form form, uint64_t address, int64_t element, double value) {
  auto *at = reinterpret_cast<uint8_t *>(address) + element * bytesOf(form);
  auto single = float(value);
  uint16_t half;
  switch (form) {
  case Form::F64:
    std::memcpy(at, &value, 8);
    break;
  case Form::F32:
    std::memcpy(at, &single, 4);
    break;
  default:
    half = form == Form::F16 ? floatToHalf(single) : floatToBrain(single);
    std::memcpy(at, &half, 2);
  }
}

/// Ten bits of fraction.
inline double toTf32(double value) {
  auto bits = std::bit_cast<uint32_t>(float(value));
  return std::bit_cast<float>((bits + 0xfff + ((bits >> 13) & 1)) & ~uint32_t(0x1fff));
}

} // namespace recorder

#endif // WEIR_TEST_CUDA_RECORDER_NUMBERS_H
