//===- random_kernels_test.cpp - distributions, permutations --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"
#include "kernels/philox.h"

#include "weir/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

/// The test vectors of all zeros and all ones that the authors publish.
TEST(Philox, GivesTheReferenceValues) {
  Philox::Block zeros = Philox::at(0, 0, 0);
  EXPECT_EQ(zeros.word[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.word[1], 0xe169c58du);
  EXPECT_EQ(zeros.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.word[3], 0x9b00dbd8u);
  Philox::Block ones = Philox::at(UINT64_MAX, UINT64_MAX, UINT64_MAX);
  EXPECT_EQ(ones.word[0], 0x408f276du);
  EXPECT_EQ(ones.word[1], 0x41c83b0eu);
  EXPECT_EQ(ones.word[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.word[3], 0x6d5451fdu);
}

TEST(Philox, SkipsAsManyBlocksAsItIsTold) {
  Philox walked(7, UINT64_MAX - 1, 5), jumped = walked;
  for (int i = 0; i < 3; ++i)
    walked.next();
  jumped.skip(3); // carries into the high half
  EXPECT_EQ(walked.next().word[2], jumped.next().word[2]);
}

struct Moments {
  double mean = 0, variance = 0;
};

Moments momentsOf(const std::vector<double> &values) {
  Moments m;
  for (double v : values)
    m.mean += v / double(values.size());
  for (double v : values)
    m.variance += (v - m.mean) * (v - m.mean) / double(values.size());
  return m;
}

TEST(RandomKernels, TruncatedNormalStaysWithinTwoDeviations) {
  std::vector<int64_t> seed = {3, 4}, shape = {100, 101};
  Call call(weir_kernel_random_truncated_normal,
            {dense(seed, WEIR_I64, {2}), dense(shape, WEIR_I64, {2})}, {WEIR_F64}, {});
  ASSERT_EQ(call.code, 0) << call.message;
  auto values = call.results[0].as<double>();
  ASSERT_EQ(values.size(), 10100u);
  for (double v : values)
    ASSERT_LT(std::fabs(v), 2);
  Moments m = momentsOf(values);
  EXPECT_NEAR(m.mean, 0, 0.04);
  EXPECT_NEAR(m.variance, 0.7737, 0.04);
}

TEST(RandomKernels, GammaHasItsMoments) {
  std::vector<int64_t> state = {11, 0, 2}, shape = {5000, 3};
  std::vector<double> alpha = {0.5, 1, 6};
  Call call(weir_kernel_random_gamma,
            {dense(state, WEIR_I64, {3}), dense(shape, WEIR_I64, {2}), dense(alpha, WEIR_F64, {3})},
            {WEIR_F64}, {});
  ASSERT_EQ(call.code, 0) << call.message;
  auto values = call.results[0].as<double>();
  for (size_t a = 0; a < 3; ++a) {
    std::vector<double> own;
    for (size_t i = a; i < values.size(); i += 3)
      own.push_back(values[i]);
    Moments m = momentsOf(own);
    EXPECT_NEAR(m.mean, alpha[a], 0.1 * alpha[a]);
    EXPECT_NEAR(m.variance, alpha[a], 0.2 * alpha[a]);
  }
}

/// Few expected successes and many, below a half and above.
TEST(RandomKernels, BinomialHasItsMoments) {
  std::vector<int64_t> seed = {1, 9}, shape = {4000, 4};
  std::vector<double> counts = {10, 12, 100, 200}, p = {0.2, 0.9, 0.4, 0.8};
  Call call(weir_kernel_random_binomial,
            {dense(seed, WEIR_I64, {2}), dense(shape, WEIR_I64, {2}), dense(counts, WEIR_F64, {4}),
             dense(p, WEIR_F64, {4})},
            {WEIR_F64}, {});
  ASSERT_EQ(call.code, 0) << call.message;
  auto values = call.results[0].as<double>();
  for (size_t b = 0; b < 4; ++b) {
    std::vector<double> own;
    for (size_t i = b; i < values.size(); i += 4)
      own.push_back(values[i]);
    Moments m = momentsOf(own);
    double mean = counts[b] * p[b];
    EXPECT_NEAR(m.mean, mean, 0.02 * counts[b]);
    EXPECT_NEAR(m.variance, mean * (1 - p[b]), 0.15 * mean * (1 - p[b]));
  }
}

TEST(RandomKernels, MultinomialNeverDrawsImpossibleClasses) {
  std::vector<int64_t> seed = {1, 2};
  std::vector<double> logits = {0, -INFINITY, std::log(3.0)};
  int64_t samples = 4000;
  Call call(weir_kernel_random_multinomial,
            {dense(seed, WEIR_I64, {2}), dense(logits, WEIR_F64, {1, 3}), integer(samples)},
            {WEIR_I64}, {});
  ASSERT_EQ(call.code, 0) << call.message;
  auto values = call.results[0].as<int64_t>();
  EXPECT_EQ(std::count(values.begin(), values.end(), 1), 0);
  EXPECT_NEAR(double(std::count(values.begin(), values.end(), 2)), 3000, 150);
}

TEST(RandomKernels, PermutationsHaveEachIndexOnce) {
  std::vector<int64_t> seed = {5, 6};
  for (int64_t count : {0, 1, 2, 1000}) {
    Call call(weir_kernel_random_permutation, {dense(seed, WEIR_I64, {2}), integer(count)},
              {WEIR_I64}, {});
    ASSERT_EQ(call.code, 0) << call.message;
    auto values = call.results[0].as<int64_t>();
    std::sort(values.begin(), values.end());
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(values[size_t(i)], i);
  }
}

TEST(RandomKernels, IndexShuffleIsAPermutationOfAnySize) {
  std::vector<uint32_t> key = {1, 2, 3};
  for (int64_t most : {0, 1, 2, 9, 1000, 70000}) {
    std::vector<int64_t> all(static_cast<size_t>(most) + 1);
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = int64_t(i);
    Call call(weir_kernel_index_shuffle,
              {dense(all, WEIR_I64, {most + 1}), dense(key, WEIR_U32, {3}), integer(most)},
              {WEIR_I64}, {4});
    ASSERT_EQ(call.code, 0) << call.message;
    auto values = call.results[0].as<int64_t>();
    std::sort(values.begin(), values.end());
    ASSERT_EQ(values, all);
  }
  // An index outside would walk for ever.
  std::vector<int64_t> outside = {10};
  int64_t nine = 9;
  Call call(weir_kernel_index_shuffle,
            {dense(outside, WEIR_I64, {1}), dense(key, WEIR_U32, {3}), integer(nine)}, {WEIR_I64},
            {4});
  EXPECT_EQ(call.code, WEIR_INVALID_ARGUMENT);
}

/// What NumPy's RandomState gives for the same seeds.
TEST(RandomKernels, MersenneDrawsAsRandomStateDoes) {
  std::vector<int64_t> three = {3};
  Call uniform(weir_kernel_random_mersenne, {dense(three, WEIR_I64, {1})}, {WEIR_F64}, {42, 0});
  ASSERT_EQ(uniform.code, 0) << uniform.message;
  auto values = uniform.results[0].as<double>();
  EXPECT_NEAR(values[0], 0.3745401188473625, 1e-15);
  EXPECT_NEAR(values[1], 0.9507143064099162, 1e-15);
  EXPECT_NEAR(values[2], 0.7319939418114051, 1e-15);
  Call normal(weir_kernel_random_mersenne, {dense(three, WEIR_I64, {1})}, {WEIR_F64}, {42, 1});
  ASSERT_EQ(normal.code, 0) << normal.message;
  values = normal.results[0].as<double>();
  EXPECT_NEAR(values[0], 0.4967141530112327, 1e-15);
  EXPECT_NEAR(values[1], -0.13826430117118466, 1e-15);
  EXPECT_NEAR(values[2], 0.6476885381006925, 1e-15);
  std::vector<double> chances = {.1, .5, .9, .7, .2, 0, 1, .6};
  Call bernoulli(weir_kernel_random_bernoulli, {dense(chances, WEIR_F64, {8})}, {WEIR_F64}, {3});
  ASSERT_EQ(bernoulli.code, 0) << bernoulli.message;
  EXPECT_EQ(bernoulli.results[0].as<double>(), (std::vector<double>{0, 1, 1, 1, 1, 0, 1, 1}));
  chances[0] = 1.5;
  Call outside(weir_kernel_random_bernoulli, {dense(chances, WEIR_F64, {8})}, {WEIR_F64}, {3});
  EXPECT_EQ(outside.code, WEIR_INVALID_ARGUMENT);
}

TEST(RandomKernels, RefuseWhatIsNoState) {
  std::vector<int64_t> state = {1, 2, 3, 4}, shape = {2}, negative = {-1};
  Call wrong(weir_kernel_random_truncated_normal,
             {dense(state, WEIR_I64, {4}), dense(shape, WEIR_I64, {1})}, {WEIR_F32}, {});
  EXPECT_EQ(wrong.code, WEIR_INVALID_ARGUMENT);
  std::vector<int64_t> seed = {1, 2};
  Call size(weir_kernel_random_truncated_normal,
            {dense(seed, WEIR_I64, {2}), dense(negative, WEIR_I64, {1})}, {WEIR_F32}, {});
  EXPECT_EQ(size.code, WEIR_INVALID_ARGUMENT);
}

} // namespace
