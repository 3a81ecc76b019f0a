//===- Resampling.h - how one side of an image is resized -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resizing works one dimension at a time: a sample of the result is a mix of
// some samples of the operand. Which ones, and how much of each, are tensors
// that the program computes, so sizes may be known at compile time or not.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_RESAMPLING_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_RESAMPLING_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// One dimension of an image brought from `from` samples to `to`, tensor<1xi64>.
struct Side {
  Value from, to;
  bool alignCorners = false, halfPixelCenters = false;
};

/// TensorFlow has either rule for corners, or centres of pixels, not both.
LogicalResult checkCorners(NodeImport &n);

/// The side of dimension `dim` of `x` for the sizes in `sizes` (height, width),
/// with the node's attributes; `dim` is 1 or 2.
Side sideOf(NodeImport &n, Value x, Value sizes, int64_t dim);

/// Samples of the operand to one of the result, computed as TensorFlow does it in
/// f32: tensor<1xf32>, or the number itself where both sizes are known.
Value stepOf(NodeImport &n, const Side &side);
double stepOf(int64_t from, int64_t to, bool alignCorners);

/// One operand's sample and its share, for each sample of the result.
struct Tap {
  Value index;  ///< tensor<toxi64>, within the operand
  Value weight; ///< tensor<toxf32>
};
using Taps = llvm::SmallVector<Tap, 4>;

/// The two neighbours of each sample and how far the second is, in 0 to 1.
struct Between {
  Value lower, upper; ///< tensor<toxi64>
  Value share;        ///< tensor<toxf32>
};
Between neighbours(NodeImport &n, const Side &side);

/// The one sample nearest to each.
Value nearestIndex(NodeImport &n, const Side &side);

/// Bicubic interpolation as TensorFlow does it: Keys' kernel (a = -0.5 with
/// half-pixel centres, else -0.75), its argument rounded to 1/1024; outside, the
/// edge repeats, or with half-pixel centres the rest is normalised.
Taps cubicTaps(NodeImport &n, const Side &side);

/// Dimension `dim` of `x` brought to the side's size: each sample of the result is the mean of
/// those that it covers, an end as far as it covers it.
Value meanOfAreas(NodeImport &n, Value x, const Side &side, int64_t dim);

/// A vector along dimension `dim` of a tensor of that rank.
Value alongDim(NodeImport &n, Value v, int64_t dim, int64_t rank);

/// Dimension `dim` of `x` as the taps say: a sum of gathers.
Value applyTaps(NodeImport &n, Value x, const Taps &taps, int64_t dim);

/// The slices of `v` along dimension `dim` added up at `index` of a dimension of
/// `size` (tensor<1xi64>): the opposite of a gather.
Value scatterAlong(NodeImport &n, Value v, Value index, int64_t dim, Value size);

/// `x` times a matrix [result, operand] along dimension `dim`; with `transposed`
/// times [operand, result].
Value applyMatrix(NodeImport &n, Value x, Value matrix, int64_t dim, bool transposed = false);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_RESAMPLING_H
