//===- ArrayWalk.h - lines of strided arrays --------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the dialect: how the evaluators of large constants go over them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_ARRAYWALK_H
#define WEIR_DIALECTS_WEIR_ARRAYWALK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace weir::arrays {

using Sizes = llvm::ArrayRef<int64_t>;
using Strides = llvm::SmallVector<int64_t>;

/// Of a row-major array of `shape`, in elements.
Strides rowMajor(Sizes shape);

/// Of an operand of `shape` in a result of `resultShape` by NumPy's rules: 0 where it is spread.
Strides spread(Sizes shape, Sizes resultShape);

/// Several arrays that are walked together: dimensions that all of them cross with one stride
/// are one, so that lines are as long as they can be.
class Walk {
public:
  /// `strides` has one entry for each array, of as many dimensions as `shape`.
  Walk(Sizes shape, llvm::ArrayRef<Strides> strides);

  /// Calls `visit` with the places where the arrays' next lines begin, for all lines in order.
  /// Nothing is called where there are no elements.
  template <typename Visit> void forEachLine(Visit visit) const {
    if (isEmpty)
      return;
    Strides at(sizes.size()), places(steps.size());
    while (true) {
      visit(Sizes(places));
      int64_t i = static_cast<int64_t>(sizes.size()) - 2;
      for (; i >= 0; --i) {
        for (auto [place, step] : llvm::zip_equal(places, steps))
          place += step[i];
        if (++at[i] < sizes[i])
          break;
        for (auto [place, step] : llvm::zip_equal(places, steps))
          place -= step[i] * sizes[i];
        at[i] = 0;
      }
      if (i < 0)
        return;
    }
  }

  int64_t lineLength() const { return sizes.back(); }
  /// Of array `i` within a line.
  int64_t lineStride(int64_t i) const { return steps[i].back(); }

private:
  Strides sizes;
  llvm::SmallVector<Strides> steps; ///< for each array
  bool isEmpty = false;
};

} // namespace weir::arrays

#endif // WEIR_DIALECTS_WEIR_ARRAYWALK_H
