//===- WinogradForm.cpp - convolutions with fewer multiplications ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/WinogradForm.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace weir;

static constexpr int64_t mostSquare = WinogradForm::mostSquare;

namespace {

/// A matrix whose rows are a square's, or a tile's.
using Rows = double[mostSquare][mostSquare];

constexpr double p = WinogradForm::near, q = WinogradForm::far;
constexpr double pp = p * p, qq = q * q;

/// Rows of G.
constexpr double filterOf2[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
constexpr double byNear = 1 / (2 * pp * (pp - qq)), byFar = 1 / (2 * qq * (qq - pp));
constexpr double filterOf4[6][3] = {{1 / (pp * qq), 0, 0},
                                    {byNear, p * byNear, pp * byNear},
                                    {byNear, -p * byNear, pp * byNear},
                                    {byFar, q * byFar, qq * byFar},
                                    {byFar, -q * byFar, qq * byFar},
                                    {0, 0, 1}};

/// B^T and A^T, of which magnitudes are asked.
constexpr Rows inputOf2 = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
constexpr Rows inputOf4 = {{pp * qq, 0, -(pp + qq), 0, 1, 0}, {0, -p * qq, -qq, p, 1, 0},
                           {0, p * qq, -qq, -p, 1, 0},        {0, -q * pp, -pp, q, 1, 0},
                           {0, q * pp, -pp, -q, 1, 0},        {0, pp * qq, 0, -(pp + qq), 0, 1}};
constexpr Rows resultOf2 = {{1, 1, 1, 0}, {0, 1, -1, -1}};
constexpr Rows resultOf4 = {{1, 1, 1, 1, 1, 0},
                            {0, p, -p, q, -q, 0},
                            {0, pp, pp, qq, qq, 0},
                            {0, pp * p, -pp * p, qq * q, -qq * q, 1}};

} // namespace

void WinogradForm::transformFilter(const double (&filter)[3][3], double *to) const {
  const auto *matrix = results == 2 ? filterOf2 : filterOf4;
  const int64_t n = square();
  double half[mostSquare][3];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t x = 0; x < 3; ++x) {
      half[i][x] = 0;
      for (int64_t y = 0; y < 3; ++y)
        half[i][x] += matrix[i][y] * filter[y][x];
    }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      to[i * n + j] =
          half[i][0] * matrix[j][0] + half[i][1] * matrix[j][1] + half[i][2] * matrix[j][2];
}

double WinogradForm::amplification(llvm::ArrayRef<float> filter, int64_t channels,
                                   int64_t columns) const {
  const Rows &input = results == 2 ? inputOf2 : inputOf4;
  const Rows &result = results == 2 ? resultOf2 : resultOf4;
  const int64_t n = square();
  double inputs[mostSquare];
  for (int64_t i = 0; i < n; ++i) {
    inputs[i] = 0;
    for (int64_t j = 0; j < n; ++j)
      inputs[i] += std::abs(input[i][j]);
  }
  // Magnitudes of a column's transformed filter, and of the filter, summed over channels.
  std::vector<double> made(columns * matrices(), 0.0), plain(columns, 0.0);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t k = 0; k < columns; ++k) {
      double taps[3][3], transformed[mostSquare * mostSquare];
      for (int64_t y = 0; y < 3; ++y)
        for (int64_t x = 0; x < 3; ++x) {
          taps[y][x] = filter[((y * 3 + x) * channels + c) * columns + k];
          plain[k] += std::abs(taps[y][x]);
        }
      transformFilter(taps, transformed);
      for (int64_t i = 0; i < matrices(); ++i)
        made[k * matrices() + i] += std::abs(transformed[i]);
    }
  double most = 0;
  for (int64_t k = 0; k < columns; ++k)
    for (int64_t y = 0; y < results; ++y)
      for (int64_t x = 0; x < results; ++x) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j)
            sum += std::abs(result[y][i] * result[x][j]) * made[k * matrices() + i * n + j] *
                   inputs[i] * inputs[j];
        if (plain[k] > 0)
          most = std::max(most, sum / plain[k]);
        else if (sum != 0 || std::isnan(plain[k]))
          most = HUGE_VAL; // numbers that are none have no bound
      }
  return most;
}
