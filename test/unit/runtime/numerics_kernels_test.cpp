//===- numerics_kernels_test.cpp - transforms, series, samples ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"

#include "weir/numerics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>

using namespace weir::rt::test;

namespace {

using Number = std::complex<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Number> randomNumbers(size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<Number> all(count);
  for (Number &x : all)
    x = {normal(random), normal(random)};
  return all;
}

Call transform(std::vector<Number> &x, int64_t length, bool isInverse) {
  std::vector<int64_t> axes = {-1}, none = {0};
  weir_tensor lengths = dense(none, WEIR_I64, {0});
  return Call(weir_kernel_fft, {dense(x, WEIR_C128, {length}), dense(axes, WEIR_I64, {1}), lengths},
              {WEIR_C128}, {0, isInverse});
}

/// Radices of each kind, and primes that become a convolution.
TEST(Fourier, IsTheSumOverRootsOfUnity) {
  for (int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 30, 49, 64, 97, 100, 211, 509}) {
    std::vector<Number> x = randomNumbers(size_t(n));
    Call call = transform(x, n, false);
    ASSERT_EQ(call.code, WEIR_OK) << call.message;
    auto found = call.results[0].as<Number>();
    for (int64_t k = 0; k < n; ++k) {
      Number sum;
      for (int64_t j = 0; j < n; ++j)
        sum += x[size_t(j)] * std::polar(1.0, -2 * M_PI * double(j * k % n) / double(n));
      EXPECT_LT(std::abs(found[size_t(k)] - sum), 1e-11) << n << " " << k;
    }
    Call back = transform(found, n, true);
    auto again = back.results[0].as<Number>();
    for (size_t k = 0; k < again.size(); ++k)
      EXPECT_LT(std::abs(again[k] - x[k]), 1e-12) << n << " " << k;
  }
}

/// What an infinity has no share in stays a number.
TEST(Fourier, KeepsInfinitiesApart) {
  std::vector<Number> x = {{kInfinity, 0}, 0, 0, 0};
  auto found = transform(x, 4, false).results[0].as<Number>();
  for (Number y : found) {
    EXPECT_EQ(y.real(), kInfinity);
    EXPECT_EQ(y.imag(), 0);
  }
}

TEST(Fourier, RefusesAxesThatAreNone) {
  std::vector<Number> x(4);
  std::vector<int64_t> axes = {1}, none = {0};
  Call call(weir_kernel_fft,
            {dense(x, WEIR_C128, {4}), dense(axes, WEIR_I64, {1}), dense(none, WEIR_I64, {0})},
            {WEIR_C128}, {0, 0});
  EXPECT_EQ(call.code, WEIR_INVALID_ARGUMENT);
}

TEST(Zeta, IsAPowerSeriesAndHasPoles) {
  std::vector<double> s = {2, 4, 2, 3, 1, 0.5}, q = {1, 1, -3, -3, 2, 1};
  Call call(weir_kernel_zeta, {dense(s, WEIR_F64, {6}), dense(q, WEIR_F64, {6})}, {WEIR_F64}, {});
  auto found = call.results[0].as<double>();
  EXPECT_NEAR(found[0], M_PI * M_PI / 6, 1e-14);
  EXPECT_NEAR(found[1], M_PI * M_PI * M_PI * M_PI / 90, 1e-14);
  EXPECT_EQ(found[2], kInfinity);
  EXPECT_TRUE(std::isnan(found[3]));
  EXPECT_EQ(found[4], kInfinity);
  EXPECT_TRUE(std::isnan(found[5]));
}

TEST(CumulativeLogsumexp, GoesOnFromWhatIsNoNumber) {
  std::vector<double> x = {1, kNan, 1, kInfinity, 2};
  int64_t axis = 0;
  Call call(weir_kernel_cumulative_logsumexp, {dense(x, WEIR_F64, {5}), integer(axis)}, {WEIR_F64},
            {0, 0});
  auto found = call.results[0].as<double>();
  EXPECT_EQ(found[0], 1);
  EXPECT_NEAR(found[1], 1 + std::log(2.0), 1e-15);
  EXPECT_NEAR(found[2], 1 + std::log(3.0), 1e-15);
  EXPECT_EQ(found[3], kInfinity);
  EXPECT_EQ(found[4], kInfinity);
}

TEST(SearchSorted, FindsBothEnds) {
  std::vector<double> row = {1, 2, 2, 5}, values = {0, 2, 5, 9, kNan};
  for (int64_t isUpper : {0, 1}) {
    Call call(weir_kernel_search_sorted,
              {dense(row, WEIR_F64, {1, 4}), dense(values, WEIR_F64, {1, 5})}, {WEIR_I64},
              {isUpper});
    std::vector<int64_t> lower = {0, 1, 3, 4, 0}, upper = {0, 3, 4, 4, 4};
    EXPECT_EQ(call.results[0].as<int64_t>(), isUpper ? upper : lower);
  }
}

/// In every dimension the first 2^k points (with the one at 0 that is left out) lie one
/// in each of 2^k parts.
TEST(Sobol, SpreadsPoints) {
  int64_t dimensions = 1111, count = 63, skip = 0;
  Call call(weir_kernel_sobol, {integer(dimensions), integer(count), integer(skip)}, {WEIR_F64},
            {});
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  auto points = call.results[0].as<double>();
  for (int64_t d = 0; d < dimensions; ++d) {
    uint64_t parts = 1;
    for (int64_t i = 0; i < count; ++i)
      parts |= uint64_t(1) << int64_t(points[size_t(i * dimensions + d)] * 64);
    EXPECT_EQ(parts, ~uint64_t(0)) << d;
  }
  dimensions = 1112;
  Call many(weir_kernel_sobol, {integer(dimensions), integer(count), integer(skip)}, {WEIR_F64},
            {});
  EXPECT_EQ(many.code, WEIR_UNIMPLEMENTED);
}

TEST(Candidates, AreDrawnOnceWhereAsked) {
  std::vector<int64_t> seed = {3, 4}, truth = {1, 2};
  std::vector<float> weights = {0, 1, 1, 2};
  Call call(
      weir_kernel_sample_candidates,
      {dense(seed, WEIR_I64, {2}), dense(truth, WEIR_I64, {1, 2}), dense(weights, WEIR_F32, {4})},
      {WEIR_I64, WEIR_F32, WEIR_F32}, {3, 3, 1, 4});
  ASSERT_EQ(call.code, WEIR_OK) << call.message;
  auto drawn = call.results[0].as<int64_t>();
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(drawn, (std::vector<int64_t>{1, 2, 3}));
  Call many(
      weir_kernel_sample_candidates,
      {dense(seed, WEIR_I64, {2}), dense(truth, WEIR_I64, {1, 2}), dense(weights, WEIR_F32, {4})},
      {WEIR_I64, WEIR_F32, WEIR_F32}, {3, 4, 1, 4});
  EXPECT_EQ(many.code, WEIR_INVALID_ARGUMENT);
}

TEST(FractionalPool, TakesWindowsThatCoverTheImage) {
  std::vector<float> x(7 * 7), ratios = {1.5f, 1.5f};
  std::vector<int64_t> seed = {1, 2};
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  for (int64_t isPseudo : {0, 1}) {
    Call call(weir_kernel_fractional_pool,
              {dense(x, WEIR_F32, {1, 7, 7, 1}), dense(seed, WEIR_I64, {2}),
               dense(ratios, WEIR_F32, {2})},
              {WEIR_F32, WEIR_I64, WEIR_I64}, {1, 0, isPseudo});
    ASSERT_EQ(call.code, WEIR_OK) << call.message;
    auto rows = call.results[1].as<int64_t>();
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_EQ(rows.front(), 0);
    EXPECT_EQ(rows.back(), 7);
    for (size_t i = 1; i < rows.size(); ++i)
      EXPECT_TRUE(rows[i] - rows[i - 1] == 1 || rows[i] - rows[i - 1] == 2);
    EXPECT_EQ(call.results[0].as<float>().back(), 48);
  }
}

} // namespace
