//===- WinogradForm.cpp - convolutions with fewer multiplications ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/WinogradForm.h"

#include <algorithm>
#include <cmath>

using namespace weir;

static constexpr int64_t mostSquare = WinogradForm::mostSquare;

namespace {

/// A matrix whose rows are a square's, or a tile's.
using Rows = double[mostSquare][mostSquare];

constexpr double p = WinogradForm::near, q = WinogradForm::far;
constexpr double pp = p * p, qq = q * q;

/// Rows of G: of the point 0 and of infinity, which have one number each, 1 at infinity, and
/// between them of pairs of points that differ by the sign: the even numbers of both, and the odd
/// one, whose sign differs.
struct FilterRows {
  double zero;
  struct {
    double first, odd, last;
  } pairs[2];
  int64_t count; ///< of the pairs
};
constexpr double byNear = 1 / (2 * pp * (pp - qq)), byFar = 1 / (2 * qq * (qq - pp));
constexpr FilterRows filterOf2 = {1, {{0.5, 0.5, 0.5}, {}}, 1};
constexpr FilterRows filterOf4 = {
    1 / (pp * qq), {{byNear, p * byNear, pp * byNear}, {byFar, q * byFar, qq * byFar}}, 2};

using Lanes = double[WinogradForm::lanes];

/// G g of lines g of three, `to` lines of as many as a square has, each `pitch` behind the other.
void transformLine(const FilterRows &rows, const Lanes &x, const Lanes &y, const Lanes &z,
                   Lanes *to, int64_t pitch) {
  for (int64_t l = 0; l < WinogradForm::lanes; ++l)
    to[0][l] = rows.zero * x[l];
  for (int64_t i = 0; i < rows.count; ++i) {
    Lanes &plus = to[(2 * i + 1) * pitch], &minus = to[(2 * i + 2) * pitch];
    for (int64_t l = 0; l < WinogradForm::lanes; ++l) {
      double even = rows.pairs[i].first * x[l] + rows.pairs[i].last * z[l];
      double odd = rows.pairs[i].odd * y[l];
      plus[l] = even + odd;
      minus[l] = even - odd;
    }
  }
  std::copy(z, z + WinogradForm::lanes, to[(2 * rows.count + 1) * pitch]);
}

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

void WinogradForm::transformFilters(const Taps &filters, Transformed &to) const {
  const FilterRows &rows = results == 2 ? filterOf2 : filterOf4;
  Lanes half[mostSquare][3];
  for (int64_t x = 0; x < 3; ++x)
    transformLine(rows, filters[0][x], filters[1][x], filters[2][x], &half[0][x], 3);
  for (int64_t i = 0; i < square(); ++i)
    transformLine(rows, half[i][0], half[i][1], half[i][2], to[i], 1);
}

double WinogradForm::amplification(TapReader filter, int64_t channels, int64_t columns) const {
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
  double most = 0;
  for (int64_t first = 0; first < columns; first += lanes) {
    Transformed made = {};
    Lanes plain = {};
    for (int64_t c = 0; c < channels; ++c) {
      Taps taps;
      Transformed transformed;
      filter(c, first, taps);
      for (auto &line : taps)
        for (auto &tap : line)
          for (int64_t l = 0; l < lanes; ++l)
            plain[l] += std::abs(tap[l]);
      transformFilters(taps, transformed);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          for (int64_t l = 0; l < lanes; ++l)
            made[i][j][l] += std::abs(transformed[i][j][l]);
    }
    for (int64_t l = 0; l < std::min(lanes, columns - first); ++l)
      for (int64_t y = 0; y < results; ++y)
        for (int64_t x = 0; x < results; ++x) {
          double sum = 0;
          for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j)
              sum += std::abs(result[y][i] * result[x][j]) * made[i][j][l] * inputs[i] * inputs[j];
          if (plain[l] > 0)
            most = std::max(most, sum / plain[l]);
          else if (sum != 0 || std::isnan(plain[l]))
            most = HUGE_VAL; // numbers that are none have no bound
        }
  }
  return most;
}
