//===- WinogradForm.h - convolutions with fewer multiplications --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(m x m, 3x3): m x m results of a window of 3x3 by (m + 2)^2 multiplications (Lavin and Gray
// 2015, arXiv:1509.09308), as polynomials that are multiplied by their values at m + 1 points
// and at infinity (Toom and Cook).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_WINOGRADFORM_H
#define WEIR_DIALECTS_WEIR_WINOGRADFORM_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace weir {

struct WinogradForm {
  int64_t results; ///< m: 2 or 4

  static constexpr int64_t mostSquare = 6;
  int64_t square() const { return results + 2; }
  int64_t matrices() const { return square() * square(); }

  /// The points of m = 4 are 0, these and their negatives; of m = 2 they are 0, 1 and -1. All that
  /// is multiplied by in the transforms is exact in f32. With random operands the error is half of
  /// that of the points 1 and 2: 0.8 roundings of the sum of the products' magnitudes in the mean
  /// of squares, where the direct form has 0.5, and these have 1.8.
  static constexpr double near = 0.625, far = 1.5;

  /// Columns of a filter that are transformed at once, side by side.
  static constexpr int64_t lanes = 16;
  using Taps = double[3][3][lanes];
  using Transformed = double[mostSquare][mostSquare][lanes];

  /// G g G^T of the filters g, [3][3], of some columns, to [square][square] numbers of each.
  void transformFilters(const Taps &filters, Transformed &to) const;
  /// Gives the taps of channel `c` and of up to `lanes` columns from `first` on; zeros behind the
  /// last column.
  using TapReader = llvm::function_ref<void(int64_t c, int64_t first, Taps &taps)>;

  /// How many roundings of the sum of the products' magnitudes a result is off by, at most, if all
  /// transformed products are off by one rounding, and operands of equal magnitude: the largest
  /// over the columns of a filter [3, 3, channels, columns]. 1 of the direct form.
  double amplification(TapReader filter, int64_t channels, int64_t columns) const;
};

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_WINOGRADFORM_H
