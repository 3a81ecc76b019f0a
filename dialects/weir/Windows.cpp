//===- Windows.cpp - sliding windows over spatial dimensions --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Windows.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

LogicalResult weir::shape::checkWindows(OptionalLocation loc, int64_t spatial,
                                        ArrayRef<int64_t> strides, ArrayRef<int64_t> pads,
                                        ArrayRef<int64_t> dilations) {
  if ((int64_t)strides.size() != spatial || (int64_t)dilations.size() != spatial ||
      (int64_t)pads.size() != 2 * spatial)
    return emitOptionalError(loc, spatial, " spatial dimensions with ", strides.size(),
                             " strides, ", dilations.size(), " dilations and ", pads.size(),
                             " pads");
  for (int64_t value : llvm::concat<const int64_t>(strides, dilations))
    if (value < 1)
      return emitOptionalError(loc, "strides and dilations must be positive, found ", value);
  // Sums of a few of them, times sizes in memory, are numbers of 64 bits.
  constexpr int64_t most = int64_t(1) << 31;
  for (int64_t value : llvm::concat<const int64_t>(strides, dilations, pads))
    if (value > most || value < -most)
      return emitOptionalError(loc, "strides, dilations and pads are at most ", most, ", found ",
                               value);
  return success();
}

int64_t weir::shape::windowCount(const Window &w, int64_t size, int64_t kernel, bool ceilMode) {
  if (!isKnown(size) || !isKnown(kernel))
    return unknown;
  // What a file claims of sizes may be anything.
  constexpr int64_t most = int64_t(1) << 62;
  if (size > most || kernel > most / w.dilation)
    return unknown;
  int64_t room = size + w.padBefore + w.padAfter - (kernel - 1) * w.dilation - 1;
  int64_t count = room < 0 ? 0 : room / w.stride + 1;
  // Rounded up, a window counts that reaches beyond the end, be it the only one; one that would
  // begin in the end padding is dropped.
  if (ceilMode && room > -w.stride && room % w.stride && count * w.stride < size + w.padBefore)
    ++count;
  return count;
}

Value weir::shape::windowCount(ElementReader &r, const Window &w, Value size, Value kernel,
                               bool ceilMode) {
  Value zero = r.constant(0), one = r.constant(1), stride = r.constant(w.stride);
  Value extent = r.add(r.mul(r.sub(kernel, one), r.constant(w.dilation)), one);
  Value room = r.sub(r.add(size, r.constant(w.padBefore + w.padAfter)), extent);
  // A window that begins at 0 fits where the room is not negative. So that sizes which are the
  // same are the same arithmetic, none is chosen between.
  if (!ceilMode || w.stride == 1)
    return r.divide(r.maximum(r.add(room, stride), zero), stride);
  Value up = r.divide(r.maximum(r.add(room, r.constant(2 * w.stride - 1)), zero), stride);
  Value count = r.divide(r.maximum(r.add(room, stride), zero), stride);
  Value begin = r.mul(r.sub(up, one), stride);
  return r.select(r.less(begin, r.add(size, r.constant(w.padBefore))), up, count);
}

WindowRange weir::shape::windowRange(ElementReader &r, const Window &w, Value place, Value size,
                                     Value kernel, bool ceilMode) {
  Value zero = r.constant(0), dilation = r.constant(w.dilation);
  Value origin = r.sub(r.mul(place, r.constant(w.stride)), r.constant(w.padBefore));
  Value low = zero, high = kernel;
  // Steps of one never leave a part of a window over.
  ceilMode &= w.stride > 1;
  if (w.padBefore > 0)
    low = r.maximum(zero, ceilDivide(r, r.sub(zero, origin), dilation));
  if (w.padAfter > 0 || ceilMode)
    high = r.minimum(kernel, ceilDivide(r, r.sub(size, origin), dilation));
  // A window wholly outside: loops of no step.
  Value count = r.sub(high, low);
  if (w.padBefore > 0 || w.padAfter > 0 || ceilMode)
    count = r.maximum(count, zero);
  return {low, count, origin};
}
