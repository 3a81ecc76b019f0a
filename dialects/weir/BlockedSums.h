//===- BlockedSums.h - long sums by blocks ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of n floats, added one after the other, has an error that grows with n (with its root
// where roundings are independent). Summed by blocks, then over the blocks' sums, and so on,
// no chain of additions is longer than a block, and the error grows with the number of levels
// (Higham, "The accuracy of floating point summation", 1993). Where the blocks end follows from
// sizes alone, so that bits depend on nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_BLOCKEDSUMS_H
#define WEIR_DIALECTS_WEIR_BLOCKEDSUMS_H

#include "dialects/weir/Elemental.h"
#include "dialects/weir/Kinds.h"

namespace weir {

/// How sums are cut.
struct SumBlocks {
  /// So many are added one after the other at most.
  int64_t most = 256;
  /// Whether an axis of open size is cut, in three levels whatever its size turns out to be.
  bool cutsOpen = true;
};

/// A loop of a nest over several axes. An axis that is cut has several: over blocks, and over
/// what a block has.
struct BlockedLoop {
  size_t axis;
  int64_t step; ///< elements of the axis that a trip has
  bool begins;  ///< sums begin anew before this loop, and are added to those outside behind it
};

/// The nest over `sizes` (ShapedType::kDynamic: open), outermost loop first. Axes keep their
/// order.
llvm::SmallVector<BlockedLoop> blockedLoops(llvm::ArrayRef<int64_t> sizes, const SumBlocks &blocks);
/// Of sizes that may be constants.
llvm::SmallVector<BlockedLoop> blockedLoops(llvm::ArrayRef<mlir::Value> sizes,
                                            const SumBlocks &blocks);

/// What a loop of the nest goes through along its axis, and what one trip of it has.
struct AxisRange {
  mlir::Value first, count;
  /// The range of the trip at `place` of a loop with `step`: shorter at the end.
  AxisRange trip(ElementReader &reader, mlir::Value place, int64_t step) const;
};

/// What of a nest is otherwise than loops over all there is.
struct NestForm {
  /// What of the first axis is gone through; none: all. The rest adds nothing to the sums (zeros),
  /// of which blocks follow from sizes alone.
  std::optional<AxisRange> outermost = std::nullopt;
  /// An axis of known size of which each trip is written out, with a constant for its index.
  std::optional<size_t> writtenOut = std::nullopt;
};

/// Emits such a nest over [0, sizes) that carries sums of floats, scalars or vectors, which
/// begin with `start`, and those of a block with `zeros`. `body` gets the indices and the carried
/// sums and returns the next.
llvm::SmallVector<mlir::Value> emitBlockedSums(
    ElementReader &reader, llvm::ArrayRef<mlir::Value> sizes, mlir::ValueRange start,
    mlir::ValueRange zeros, const SumBlocks &blocks,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange, mlir::ValueRange)> body,
    const NestForm &form = {});
/// The same where all begin with `zeros`.
llvm::SmallVector<mlir::Value> emitBlockedSums(
    ElementReader &reader, llvm::ArrayRef<mlir::Value> sizes, mlir::ValueRange zeros,
    const SumBlocks &blocks,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange, mlir::ValueRange)> body);

/// A reduction that carries one scalar, by blocks or (`isBlocked` false: an extreme, integers,
/// a few elements) one element after the other.
mlir::Value emitSums(ElementReader &reader, llvm::ArrayRef<mlir::Value> sizes, mlir::Value start,
                     bool isBlocked,
                     llvm::function_ref<mlir::Value(mlir::ValueRange, mlir::Value)> body);

/// Whether `kind` of a reduction adds floats.
inline bool isFloatSum(mlir::Type type, ReduceKind kind) {
  return llvm::isa<mlir::FloatType>(type) && (kind == ReduceKind::Sum || kind == ReduceKind::Mean);
}

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_BLOCKEDSUMS_H
