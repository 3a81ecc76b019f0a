//===- SliceBounds.h - NumPy's clamping of slice bounds ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_SLICEBOUNDS_H
#define WEIR_DIALECTS_WEIR_SLICEBOUNDS_H

#include <algorithm>
#include <cstdint>

namespace weir {

struct SliceBounds {
  int64_t start;
  int64_t count;
};

/// Where start:end:step begins and how many elements it takes out of `size`.
/// `step` is not 0. Bounds may be any numbers, INT64_MIN and INT64_MAX
/// included.
inline SliceBounds clampSlice(int64_t start, int64_t end, int64_t step, int64_t size) {
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto clamp = [&](int64_t bound) {
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  int64_t first = clamp(start), last = clamp(end);
  int64_t span = step > 0 ? last - first : first - last;
  if (span <= 0)
    return {first, 0};
  // In unsigned numbers, as the lowest step has no positive counterpart.
  uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  return {first, (int64_t)(((uint64_t)span - 1) / stride + 1)};
}

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_SLICEBOUNDS_H
