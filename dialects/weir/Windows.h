//===- Windows.h - sliding windows over spatial dimensions ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the dialect: what convolutions and pools share.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_WINDOWS_H
#define WEIR_DIALECTS_WEIR_WINDOWS_H

#include "dialects/weir/ShapeSupport.h"

namespace weir::shape {

/// Where batch, channels and the spatial dimensions of an image lie.
struct ImageLayout {
  int64_t rank;
  bool channelsLast;

  int64_t spatial() const { return rank - 2; }
  int64_t channel() const { return channelsLast ? rank - 1 : 1; }
  int64_t spatialDim(int64_t i) const { return i + (channelsLast ? 1 : 2); }
};

/// The parameters of one spatial dimension.
struct Window {
  int64_t stride, padBefore, padAfter, dilation;
};

/// The windows of an operation, one a spatial dimension; an error where the
/// lists do not fit their number or hold what makes no sense.
llvm::LogicalResult checkWindows(OptionalLocation loc, int64_t spatial,
                                 llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> pads,
                                 llvm::ArrayRef<int64_t> dilations);
inline Window windowAt(llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> pads,
                       llvm::ArrayRef<int64_t> dilations, int64_t i) {
  return {strides[i], pads[2 * i], pads[2 * i + 1], dilations[i]};
}

/// Number of places of a window of `kernel` elements; unknown when one size is.
int64_t windowCount(const Window &window, int64_t size, int64_t kernel, bool ceilMode);
mlir::Value windowCount(ElementReader &reader, const Window &window, mlir::Value size,
                        mlir::Value kernel, bool ceilMode);

/// The elements of the window at `place` that lie inside of the input: window
/// elements low to low + count, the first of them over input element `first`.
struct WindowRange {
  mlir::Value low, count, origin;
};
WindowRange windowRange(ElementReader &reader, const Window &window, mlir::Value place,
                        mlir::Value size, mlir::Value kernel, bool ceilMode);

} // namespace weir::shape

#endif // WEIR_DIALECTS_WEIR_WINDOWS_H
