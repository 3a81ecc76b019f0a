//===- Resampling.cpp - weights of image resizing -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Resampling.h"

#include <algorithm>
#include <cmath>

using namespace weir::tf;

/// Keys, "Cubic convolution interpolation", at distance x.
static float keys(float x, float a) {
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1
                : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

std::vector<float> weir::tf::cubicWeights(const Resampling &how) {
  constexpr int kSteps = 1024;
  std::vector<float> weights(how.from * how.to, 0.0f);
  float a = how.halfPixelCenters ? -0.5f : -0.75f;
  float scale = how.scale();
  for (int64_t i = 0; i < how.to; ++i) {
    float position = how.halfPixelCenters
                         ? (static_cast<float>(i) + 0.5f) * scale - 0.5f
                         : static_cast<float>(i) * scale;
    int64_t base = static_cast<int64_t>(std::floor(position));
    float fraction = position - static_cast<float>(base);
    int64_t step = std::lrint(fraction * kSteps);
    float t = static_cast<float>(step) / kSteps;
    float taps[4] = {keys(t + 1, a), keys(t, a), keys(1 - t, a),
                     keys(2 - t, a)};
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      int64_t at = base - 1 + k;
      int64_t inside = std::clamp<int64_t>(at, 0, how.from - 1);
      if (how.halfPixelCenters && at != inside)
        continue;
      weights[i * how.from + inside] += taps[k];
      sum += taps[k];
    }
    if (how.halfPixelCenters && std::fabs(sum) >= 1000.0f * 1.1754944e-38f)
      for (int64_t k = 0; k < how.from; ++k)
        weights[i * how.from + k] /= sum;
  }
  return weights;
}

std::vector<float> weir::tf::areaWeights(const Resampling &how) {
  std::vector<float> weights(how.from * how.to, 0.0f);
  float scale = how.scale();
  for (int64_t i = 0; i < how.to; ++i) {
    float low = static_cast<float>(i) * scale;
    float high = static_cast<float>(i + 1) * scale;
    int64_t first = static_cast<int64_t>(std::floor(low));
    int64_t end = static_cast<int64_t>(std::ceil(high));
    for (int64_t k = first; k < end; ++k) {
      float from = std::max(low, static_cast<float>(k));
      float to = std::min(high, static_cast<float>(k + 1));
      int64_t inside = std::clamp<int64_t>(k, 0, how.from - 1);
      weights[i * how.from + inside] += (to - from) / scale;
    }
  }
  return weights;
}
