//===- Origins.h - which open sizes are the same -----------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_SIMPLIFY_ORIGINS_H
#define WEIR_PASSES_SIMPLIFY_ORIGINS_H

#include "dialects/weir/KnownIntegers.h"
#include "dialects/weir/Weir.h"
#include "llvm/ADT/DenseMap.h"

namespace weir {

/// Which sizes are the same whatever is fed: each is traced to a number, or to
/// the dimension of the tensor that it first was a size of. One walk, forwards.
class Origins {
public:
  using Sizes = llvm::SmallVector<KnownInteger>;

  /// Dimension `i` of `tensor`, whose operation was taken before.
  KnownInteger of(mlir::Value tensor, int64_t i);

  /// What is known of the elements of a small tensor of integers.
  std::optional<Sizes> integers(mlir::Value tensor);

  /// Whether all `sizes` are known to be those of `tensor`.
  bool areSizesOf(llvm::ArrayRef<KnownInteger> sizes, mlir::Value tensor);

  /// Feeds' dimensions of one name are equal: the runtime refuses others.
  void takeFeeds(mlir::func::FuncOp function);

  /// Takes in the results of `op`, and what it makes sure of where it always
  /// runs.
  void take(mlir::Operation *op, bool alwaysRuns);

private:
  using Symbol = std::pair<mlir::Value, int64_t>;
  llvm::DenseMap<mlir::Value, Sizes> known;
  llvm::DenseMap<Symbol, KnownInteger> parents;

  KnownInteger root(KnownInteger size);
  void same(KnownInteger a, KnownInteger b);
  /// A run that comes behind `op` has found these equal.
  void merge(mlir::Operation *op);
  Sizes all(mlir::Value tensor);
  /// Sizes of the first result, those null that are new; empty: all are.
  Sizes sizesOf(mlir::Operation *op, int64_t rank);
  Sizes trace(mlir::Operation *op, int64_t rank);
  /// Sizes that a shape operand says; not those that it leaves to the run.
  Sizes wanted(mlir::Value shape);
  /// A size is an operand's where all others have it, too, or have 1.
  Sizes broadcast(mlir::Operation *op, int64_t rank);
};

} // namespace weir

#endif // WEIR_PASSES_SIMPLIFY_ORIGINS_H
