//===- Resampling.h - weights of image resizing -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_RESAMPLING_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_RESAMPLING_H

#include <cstdint>
#include <vector>

namespace weir::tf {

/// One dimension of an image brought from `from` samples to `to`.
struct Resampling {
  int64_t from, to;
  bool alignCorners = false, halfPixelCenters = false;

  /// Samples of the input to one of the output.
  float scale() const {
    return alignCorners && to > 1
               ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
               : static_cast<float>(from) / static_cast<float>(to);
  }
};

/// [to, from] weights of bicubic interpolation as TensorFlow does it: Keys'
/// kernel (a = -0.5 with half-pixel centres, else -0.75), its argument rounded
/// to 1/1024; outside, the edge repeats, or with half-pixel centres the rest is
/// normalised.
std::vector<float> cubicWeights(const Resampling &how);

/// [to, from] weights of averaging the area that a sample covers.
std::vector<float> areaWeights(const Resampling &how);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_RESAMPLING_H
