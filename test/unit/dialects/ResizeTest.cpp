//===- ResizeTest.cpp - elements of resampled tensors ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialects/ElementMachine.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>

using namespace weir::test;

namespace {

/// One axis resampled as ONNX's operator documentation says, in doubles.
struct Reference {
  std::string mode, coordinates, nearest;
  double cubic = -0.75;
  bool excludeOutside = false, antialias = false;
  double extrapolation = -7, roiStart = 0.2, roiEnd = 0.7;

  double weight(double distance) const {
    double d = std::fabs(distance);
    if (mode == "linear")
      return std::max(0.0, 1 - d);
    if (d <= 1)
      return (cubic + 2) * d * d * d - (cubic + 3) * d * d + 1;
    return d < 2 ? cubic * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
  }

  double at(const std::vector<double> &x, double scale, int64_t count, int64_t i) const {
    double size = x.size(), length = scale * size, place;
    if (coordinates == "half_pixel")
      place = (i + 0.5) / scale - 0.5;
    else if (coordinates == "half_pixel_symmetric")
      place = size / 2 * (1 - count / length) + (i + 0.5) / scale - 0.5;
    else if (coordinates == "pytorch_half_pixel")
      place = count > 1 ? (i + 0.5) / scale - 0.5 : 0;
    else if (coordinates == "align_corners")
      place = length == 1 ? 0 : i * (size - 1) / (length - 1);
    else if (coordinates == "asymmetric")
      place = i / scale;
    else if (coordinates == "tf_half_pixel_for_nn")
      place = (i + 0.5) / scale;
    else {
      place = length == 1
                  ? (roiStart + roiEnd) * (size - 1) / 2
                  : roiStart * (size - 1) + i * (roiEnd - roiStart) * (size - 1) / (length - 1);
      if (place < 0 || place > size - 1)
        return extrapolation;
    }
    auto clamped = [&](double index) {
      return x[std::clamp<int64_t>((int64_t)index, 0, x.size() - 1)];
    };
    if (mode == "nearest") {
      if (nearest == "floor")
        return clamped(std::floor(place));
      if (nearest == "ceil")
        return clamped(std::ceil(place));
      return clamped(nearest == "round_prefer_floor" ? std::ceil(place - 0.5)
                                                     : std::floor(place + 0.5));
    }
    double stretch = antialias ? std::min(scale, 1.0) : 1, total = 0, sum = 0;
    int64_t reach = mode == "linear" ? 1 : 2, base = (int64_t)std::floor(place);
    int64_t first = (int64_t)std::floor(-reach / stretch) + 1;
    for (int64_t k = first; k < 2 - first; ++k) {
      double w = weight((k - (place - base)) * stretch);
      if (excludeOutside && (base + k < 0 || base + k >= (int64_t)x.size()))
        w = 0;
      total += w;
      sum += w * clamped(base + k);
    }
    return sum / total;
  }

  std::string text() const {
    return "resize %0, %1, %2, %3 {axes = array<i64: 0>, mode = \"" + mode +
           "\", coordinates = \"" + coordinates + "\", nearest = \"" + nearest +
           "\", cubic_coefficient = " + std::to_string(cubic) +
           " : f64, exclude_outside = " + (excludeOutside ? "true" : "false") +
           ", extrapolation_value = " + std::to_string(extrapolation) +
           " : f64, antialias = " + (antialias ? "true" : "false") + "}";
  }
};

void check(const Reference &reference) {
  std::vector<double> x = {3, -1, 4, 1, -5, 9, 2};
  // Scales that f32 holds, so that both sides sample the same places.
  for (double scale : {0.5, 0.625, 1.0, 1.5, 2.0, 0.25}) {
    int64_t count = (int64_t)std::floor(scale * x.size());
    std::vector<Array> operands = {f32({(int64_t)x.size()}, x), i64({1}, {(double)count}),
                                   f32({1}, {scale}),
                                   f32({2}, {reference.roiStart, reference.roiEnd})};
    for (Typing typing : {Typing::Static, Typing::Dynamic, Typing::Constant}) {
      Machine machine;
      Outcome outcome = machine.run(reference.text(), operands, typing);
      ASSERT_EQ(outcome.errors, std::vector<std::string>());
      ASSERT_EQ((int64_t)outcome.results[0].values.size(), count);
      for (int64_t i = 0; i < count; ++i)
        EXPECT_NEAR(outcome.results[0].values[i], reference.at(x, scale, count, i), 2e-4)
            << reference.text() << " at " << i << " of " << count << ", scale " << scale;
    }
  }
}

const char *allCoordinates[] = {"half_pixel",        "half_pixel_symmetric", "pytorch_half_pixel",
                                "align_corners",     "asymmetric",           "tf_half_pixel_for_nn",
                                "tf_crop_and_resize"};

TEST(Resize, Nearest) {
  // align_corners and half_pixel_symmetric divide: halves are not exact there.
  for (const char *coordinates :
       {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn"})
    for (const char *nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      check({"nearest", coordinates, nearest});
}
TEST(Resize, Linear) {
  for (const char *coordinates : allCoordinates)
    check({"linear", coordinates, "floor"});
}
TEST(Resize, Cubic) {
  for (const char *coordinates : allCoordinates)
    for (bool exclude : {false, true})
      check({"cubic", coordinates, "floor", -0.5, exclude});
}
TEST(Resize, Antialias) {
  for (const char *mode : {"linear", "cubic"})
    for (bool exclude : {false, true})
      check({mode, "half_pixel", "floor", -0.75, exclude, true});
}

TEST(Resize, ScaleMadeFromSizes) {
  // 7 / 3 in f32, times 3, is not 7: corners are aligned nevertheless.
  Reference reference{"nearest", "align_corners", "floor"};
  Machine machine;
  Outcome outcome = machine.run(
      reference.text(), {f32({3}, {1, 2, 3}), i64({1}, {7}), f32({1}, {7.0f / 3}), f32({0}, {})},
      Typing::Static);
  EXPECT_EQ(outcome.results[0], f32({7}, {1, 1, 1, 2, 2, 2, 3}));
}

TEST(Resize, TwoAxes) {
  Machine machine;
  Outcome outcome = machine.run(
      "resize %0, %1, %2, %3 {axes = array<i64: 1, 2>, mode = "
      "\"linear\", coordinates = \"half_pixel\", nearest = "
      "\"\", cubic_coefficient = 0.0 : f64, exclude_outside = "
      "false, extrapolation_value = 0.0 : f64, antialias = "
      "false}",
      {f32({1, 2, 2, 1}, {1, 2, 3, 4}), i64({2}, {4, 4}), f32({2}, {2, 2}), f32({0}, {})},
      Typing::Static);
  ASSERT_EQ(outcome.errors, std::vector<std::string>());
  EXPECT_EQ(outcome.results[0], f32({1, 4, 4, 1}, {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5,
                                                   2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}));
}

} // namespace
