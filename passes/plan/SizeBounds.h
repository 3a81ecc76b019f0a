//===- SizeBounds.h - how large the sizes of a step can be -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Feeds may have dimensions with bounds (--dim=N=1..64), which the runtime checks
// before a run. What a step computes from them has bounds, too.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_SIZEBOUNDS_H
#define WEIR_PASSES_PLAN_SIZEBOUNDS_H

#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace weir::plan {

/// Bounds of integers in a step, by interval arithmetic.
class SizeBounds {
public:
  explicit SizeBounds(mlir::func::FuncOp function) : function(function) {}

  /// The largest value; nothing where there is no bound but what a number that is
  /// not known may be by its type's width, or where it may be negative.
  std::optional<int64_t> upper(mlir::Value value);

  /// What is known of the value. Remembered: its operation must stay as it is.
  mlir::ConstantIntRanges rangeOf(mlir::Value value) { return rangeOf(value, 0, Unknown::Any); }

private:
  /// What a number of 32 bits and more may be that nothing is known of: any of its type,
  /// or only the half next to 0. A bound that differs between them is none.
  enum class Unknown { Any, Half };
  mlir::ConstantIntRanges rangeOf(mlir::Value value, int depth, Unknown unknown);
  mlir::ConstantIntRanges rangeOfDim(mlir::Value memref, int64_t dim, int depth, Unknown unknown);

  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> known[2]; ///< by Unknown
};

/// A dimension of a feed.
using FeedDim = std::pair<int64_t, int64_t>;
/// Bounds of a feed's dimension, -1 behind: none.
std::pair<int64_t, int64_t> feedBounds(mlir::func::FuncOp function, FeedDim dim);

/// Values that bounded dimensions take together.
class SizeRange {
public:
  explicit SizeRange(mlir::func::FuncOp function);
  bool empty() const { return symbols.empty(); }
  /// All of them where there are few; else each dimension over its range (in a few
  /// hundred steps at most) while the others are at an end of theirs. Dimensions of one
  /// name are equal.
  std::vector<std::map<FeedDim, int64_t>> assignments() const;

private:
  struct Symbol {
    std::vector<FeedDim> dims;
    int64_t lower, upper;
  };
  std::vector<Symbol> symbols;
};

/// Integers of a step for given sizes of its feeds, by folding.
class SizeValues {
public:
  SizeValues(mlir::func::FuncOp function, const std::map<FeedDim, int64_t> &sizes) : sizes(sizes) {}
  std::optional<int64_t> of(mlir::Value value, int depth = 0);

private:
  std::optional<int64_t> compute(mlir::Value value, int depth);

  const std::map<FeedDim, int64_t> &sizes;
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> known;
};

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_SIZEBOUNDS_H
