//===- ResamplingTest.cpp - weights of image resizing -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Resampling.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace weir::tf;

TEST(Resampling, EveryRowSumsToOne) {
  for (bool half : {false, true})
    for (auto [from, to] : {std::pair<int64_t, int64_t>{7, 3}, {3, 7}, {5, 5}}) {
      Resampling how{from, to, false, half};
      for (const auto &weights : {cubicWeights(how), areaWeights(how)})
        for (int64_t i = 0; i < to; ++i)
          EXPECT_NEAR(std::accumulate(weights.begin() + i * from,
                                      weights.begin() + (i + 1) * from, 0.0f),
                      1.0f, 1e-5f);
    }
}

TEST(Resampling, TheSameSizeChangesNothing) {
  std::vector<float> weights = cubicWeights({4, 4, false, true});
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 4; ++k)
      EXPECT_NEAR(weights[i * 4 + k], i == k ? 1.0f : 0.0f, 1e-6f);
}

TEST(Resampling, AreaHalves) {
  EXPECT_EQ(areaWeights({4, 2}),
            (std::vector<float>{0.5f, 0.5f, 0, 0, 0, 0, 0.5f, 0.5f}));
}
