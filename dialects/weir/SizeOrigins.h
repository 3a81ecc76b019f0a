//===- SizeOrigins.h - which open sizes are the same ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equality of sizes that stay open, carried through operations: each size is
// traced to a number, to the dimension of the tensor that it first was a size
// of, or to a product of such. Passes walk a function once, forwards (`take`);
// importers ask for one value at a time while they write it (`refined`).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_SIZEORIGINS_H
#define WEIR_DIALECTS_WEIR_SIZEORIGINS_H

#include "dialects/weir/KnownIntegers.h"
#include "dialects/weir/Weir.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weir {

/// Which sizes are the same whatever is fed.
class SizeOrigins {
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

  /// The type of `tensor` with the sizes that follow from what it is made of;
  /// operations that it comes from, and that were not taken yet, are taken. Its
  /// cost over all values of a function is linear in the function.
  mlir::Type refined(mlir::Value tensor);

  /// Whether two sizes are equal whatever is fed; likewise.
  bool areEqual(mlir::Value a, int64_t i, mlir::Value b, int64_t j);

  /// Drops all that was found, but for feeds: operations have been erased, and
  /// others may take their places in memory.
  void forget();

private:
  using Symbol = std::pair<mlir::Value, int64_t>;
  /// `factor` times the sizes in `symbols`, which are roots.
  struct Product {
    int64_t factor = 1;
    Sizes symbols;
  };
  llvm::DenseMap<mlir::Value, Sizes> known;
  llvm::DenseMap<Symbol, KnownInteger> parents;
  llvm::DenseMap<Symbol, KnownInteger> feeds; ///< the parents that feeds' names give
  /// A size that is `by` more than another.
  struct Shift {
    KnownInteger base;
    int64_t by;
  };
  llvm::DenseMap<Symbol, Shift> shifts;
  /// Of what a slice leaves from 0 up to a size, of more than one element: that size. It is as
  /// long, or shorter and neither 1 nor 0, so that both do not broadcast.
  llvm::DenseMap<Symbol, KnownInteger> prefixes;
  /// The first size met that counts windows: of a size, moved by a number, at a stride, which is
  /// negative where counts are rounded up.
  llvm::DenseMap<std::tuple<mlir::Value, int64_t, int64_t, int64_t>, KnownInteger> windows;
  /// Sizes that are products of others; and those of them whose first factor is a size of a tensor.
  llvm::DenseMap<Symbol, Product> products;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Symbol>> productsOf;
  llvm::DenseSet<mlir::Value> followed;

  KnownInteger root(KnownInteger size);
  void same(KnownInteger a, KnownInteger b);
  /// A run that comes behind `op` has found these equal.
  void merge(mlir::Operation *op);
  /// Takes in, in their order, the operations that `tensor`'s sizes come from.
  void follow(mlir::Value tensor);
  Sizes all(mlir::Value tensor);
  /// Sizes of the first result, those null that are new; empty: all are.
  Sizes sizesOf(mlir::Operation *op, int64_t rank);
  Sizes trace(mlir::Operation *op, int64_t rank);
  /// Sizes that a shape operand says; not those that it leaves to the run.
  Sizes wanted(mlir::Value shape);
  /// The same, with the one size left that the element count decides.
  Sizes reshaped(ReshapeOp op);
  /// Multiplies by a size; false where the number does not fit.
  bool multiply(Product &product, KnownInteger size);
  /// The size that is a product, which becomes `self` unless it is simpler or was met before.
  KnownInteger product(Product size, Symbol self);
  static std::optional<Product> quotient(Product dividend, const Product &divisor);
  /// How many windows fit, `(size + by - 1) / stride + 1`, which becomes the size `self`: one that
  /// was met before where it is the same function of the same size.
  KnownInteger windowsIn(KnownInteger size, int64_t by, int64_t stride, Symbol self);
  /// Of a window that slides over an image; `kernel`: its sizes.
  template <typename Op>
  Sizes slide(Op op, mlir::Value image, llvm::ArrayRef<int64_t> kernel, bool roundsUp);
  /// A size is an operand's where all others have it, too, or have 1.
  Sizes broadcast(mlir::Operation *op, int64_t rank);
  /// Takes in which sizes of a slice of what has sizes `from` are prefixes.
  void notePrefixes(SliceOp slice, const Sizes &from);
  bool isPrefix(KnownInteger part, KnownInteger whole);
};

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_SIZEORIGINS_H
