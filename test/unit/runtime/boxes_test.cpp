//===- boxes_test.cpp - suppression of many boxes -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many chosen boxes are found by a grid; these compare what is kept with the plain definition,
// which compares each box with each.
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"
#include "kernels/boxes.h"

#include "weir/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

struct Scene {
  std::vector<float> boxes, scores;
  int64_t count() const { return int64_t(scores.size()); }
};

/// Boxes of very different sizes in `classes` places far from each other, as detectors shift each
/// class, with some that are not numbers, of no area, or too large to have one.
Scene makeScene(unsigned seed, int64_t count, int64_t classes, bool odd) {
  std::mt19937 random(seed);
  auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  Scene scene;
  for (int64_t i = 0; i < count; ++i) {
    float shift = float(i % classes) * 321;
    float height = std::exp(uniform(0, 5)), width = height * uniform(0.5f, 2);
    float y = uniform(0, 300) + shift, x = uniform(0, 300) + shift;
    float corners[] = {y, x, y + height, x + width};
    if (odd && i % 23 == 0)
      corners[i % 4] = i % 3 ? NAN : INFINITY;
    if (odd && i % 29 == 0)
      corners[2] = corners[0];
    if (odd && i % 31 == 0)
      for (float &c : corners)
        c *= i % 2 ? 1e25f : 1e-25f;
    scene.boxes.insert(scene.boxes.end(), corners, corners + 4);
    // Some of the same score.
    scene.scores.push_back(std::floor(uniform(0, 1) * 5000) / 5000);
  }
  return scene;
}

/// Of equal scores the earlier box comes first.
std::vector<int64_t> keptByDefinition(const Scene &scene, float iou) {
  std::vector<int64_t> order(scene.scores.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scene.scores[a] != scene.scores[b] ? scene.scores[a] > scene.scores[b] : a < b;
  });
  for (int64_t i : order) {
    Box box = boxOfCorners(&scene.boxes[4 * i]);
    if (std::none_of(kept.begin(), kept.end(), [&](int64_t k) {
          return overlap(box, boxOfCorners(&scene.boxes[4 * k])) > iou;
        }))
      kept.push_back(i);
  }
  return kept;
}

std::vector<int64_t> keptByOnnx(Scene scene, float iou) {
  int64_t most = INT64_MAX, count = scene.count();
  std::vector<float> limit = {iou};
  Call call(weir_kernel_non_max_suppression,
            {dense(scene.boxes, WEIR_F32, {1, count, 4}),
             dense(scene.scores, WEIR_F32, {1, 1, count}), integer(most),
             dense(limit, WEIR_F32, {1})},
            {WEIR_I64}, {0});
  EXPECT_EQ(call.code, 0) << call.message;
  std::vector<int64_t> all = call.results[0].as<int64_t>(), kept;
  for (size_t i = 2; i < all.size(); i += 3)
    kept.push_back(all[i]);
  return kept;
}

std::vector<int64_t> keptByTensorFlow(Scene scene, float iou) {
  int64_t count = scene.count(), most = count;
  std::vector<float> limit = {iou}, least = {-INFINITY}, sigma = {0};
  Call call(weir_kernel_non_max_suppression_tf,
            {dense(scene.boxes, WEIR_F32, {count, 4}), dense(scene.scores, WEIR_F32, {count}),
             integer(most), dense(limit, WEIR_F32, {}), dense(least, WEIR_F32, {}),
             dense(sigma, WEIR_F32, {})},
            {WEIR_I64}, {0});
  EXPECT_EQ(call.code, 0) << call.message;
  return call.results[0].as<int64_t>();
}

/// How many are valid, and how many there should be: equal scores come in an order of their own.
int64_t countOfCombined(Scene scene, float iou) {
  int64_t count = scene.count(), most = count, inAll = count;
  std::vector<float> limit = {iou}, least = {-INFINITY};
  Call call(weir_kernel_combined_non_max_suppression,
            {dense(scene.boxes, WEIR_F32, {1, count, 1, 4}),
             dense(scene.scores, WEIR_F32, {1, count, 1}), integer(most), integer(inAll),
             dense(limit, WEIR_F32, {}), dense(least, WEIR_F32, {})},
            {WEIR_F32, WEIR_F32, WEIR_F32, WEIR_I32}, {0, 0});
  EXPECT_EQ(call.code, 0) << call.message;
  return call.results[3].as<int32_t>()[0];
}

TEST(ManyBoxes, AreSuppressedAsOneByOne) {
  unsigned seed = 1;
  for (float iou : {0.0f, 0.04f, 0.1f, 0.3f, 0.5f, 0.75f, 0.99f, 1.0f})
    for (int64_t classes : {1, 20})
      for (bool odd : {false, true}) {
        Scene scene = makeScene(++seed, 1500, classes, odd);
        auto kept = keptByDefinition(scene, iou);
        EXPECT_GT(kept.size(), 40u);
        EXPECT_EQ(keptByOnnx(scene, iou), kept) << iou << " " << classes << " " << odd;
        EXPECT_EQ(keptByTensorFlow(scene, iou), kept) << iou << " " << classes << " " << odd;
      }
}

TEST(ManyBoxes, OfDifferentScoresAreTheSameInCombinedSuppression) {
  for (float iou : {0.1f, 0.5f, 0.9f}) {
    Scene scene = makeScene(77, 1200, 5, true);
    for (size_t i = 0; i < scene.scores.size(); ++i)
      scene.scores[i] = float((i * 7919) % 1200) / 1200;
    EXPECT_EQ(countOfCombined(scene, iou), int64_t(keptByDefinition(scene, iou).size()));
  }
}

/// Pairs whose overlap is the threshold's neighbour: a box that was moved, and one of the same
/// height at an edge of a wider one, as far from its centre as a box can be that is suppressed.
TEST(ManyBoxes, AtTheThreshold) {
  for (float iou : {0.25f, 0.5f, 2.0f / 3, 0.8f})
    for (bool inside : {false, true}) {
      Scene scene;
      for (int64_t i = 0; i < 1200; ++i) {
        float size = 10 + float(i / 2 % 7), x = float(i / 2) * 100.3f + float(i / 2 % 5) / 3;
        float narrow = size * iou * (i / 2 % 3 == 0 ? 0.999f : 1.001f);
        if (inside && i % 2)
          x += i / 4 % 2 ? size - narrow : 0;
        else if (i % 2)
          x += size * (1 - iou) / (1 + iou);
        for (float c : {0.0f, x, 10.0f, x + (inside && i % 2 ? narrow : size)})
          scene.boxes.push_back(c);
        scene.scores.push_back(1 - float(i) / 2000);
      }
      auto kept = keptByDefinition(scene, iou);
      EXPECT_LT(kept.size(), 1200u);
      EXPECT_EQ(keptByOnnx(scene, iou), kept);
    }
}

} // namespace
