//===- SubviewPlaces.h - where parts lie in a whole ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_SUBVIEWPLACES_H
#define WEIR_PASSES_PLAN_SUBVIEWPLACES_H

#include "passes/plan/SizeBounds.h"
#include "passes/plan/SubviewKernels.h"

namespace weir::plan {

/// Rows shorter than this are not worth a loop of their own.
inline constexpr int64_t shortestRow = 8;

/// Where a part lies in a whole.
struct Place {
  int64_t offset = 0; ///< elements
  Extents extents;    ///< none: the part is contiguous
};

/// The part [start, start + count) of `whole` along `axis`, if it is one that views
/// can show.
std::optional<Place> placeOf(mlir::MemRefType whole, mlir::MemRefType part, int64_t axis,
                             int64_t start);

/// What `pads` leave of `whole` inside, but for the first `skipped` elements along `axis`.
std::optional<Place> placeInside(mlir::MemRefType whole, mlir::MemRefType part,
                                 llvm::ArrayRef<int64_t> pads, int64_t axis = 0,
                                 int64_t skipped = 0);

/// Memory of an open size that the step asks for and that is its own, not a variable's.
bool isOpenBuffer(mlir::Value value);

/// Whether the sizes of `buffer` are known before `op`, or can be computed there.
bool areSizesKnownAt(mlir::Value buffer, mlir::Operation *op);
/// Brings `buffer`, and what its sizes are computed by, in front of `op`.
void bringInFront(mlir::Value buffer, mlir::Operation *op);

/// Bytes of buffers, open ones for one image or sequence of usual sizes.
class UsualBytes {
public:
  explicit UsualBytes(mlir::func::FuncOp function);
  /// None where a size does not follow from the feeds'.
  std::optional<int64_t> of(mlir::Value buffer);

private:
  std::map<FeedDim, int64_t> sizes;
  SizeValues values;
};

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_SUBVIEWPLACES_H
