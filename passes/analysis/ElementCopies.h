//===- ElementCopies.h - how often a kernel computes an element -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel's code holds an operation once for each place at which its element is
// asked for: x + x reads one place, x + shifted x two, and a chain of k such sums
// 2^k. Places that part in branches (the operands of a concatenation) or loops
// share nothing. What would be held often is computed before, by another kernel.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_ELEMENTCOPIES_H
#define WEIR_PASSES_ANALYSIS_ELEMENTCOPIES_H

#include "dialects/weir/Weir.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weir {

/// The places at which one kernel's code computes its operations; never fewer than it does.
/// Operations are added users first, the root as the first of all.
class ElementCopies {
public:
  /// Copies of `op` that the code would hold, for the users that were added.
  unsigned of(mlir::Operation *op) { return placesOf(op).size(); }
  void add(mlir::Operation *op);
  /// Whether code with `op` in it stays small.
  bool fits(mlir::Operation *op) { return sum + of(op) <= mostOfKernel; }
  /// Whether few enough copies of `op` itself are in it, too.
  bool fitsOften(mlir::Operation *op) {
    unsigned own = of(op);
    return own <= mostOfOperation && sum + own <= mostOfKernel;
  }

private:
  /// What a colour's conversion has of its channels, and more: to read a stored element
  /// costs less than to compute it so many times.
  static constexpr unsigned mostOfOperation = 16;
  /// Eight for each of the operations that a kernel has at most.
  static constexpr unsigned mostOfKernel = 512;

  /// Places are numbers: equal ones are the same index, computed in the same region.
  using Place = uint64_t;
  using Places = llvm::SmallDenseSet<Place, 2>;
  struct Permuted {
    Place from;
    llvm::ArrayRef<int64_t> permutation;
  };

  Places placesOf(mlir::Operation *op);
  Place read(mlir::OpOperand &use, Place at);

  llvm::DenseMap<mlir::Operation *, Places> places;
  llvm::DenseMap<Place, Permuted> permuted; ///< what transpositions have made
  unsigned sum = 0;
};

/// Whether many slices of one tensor differ in nothing but where they begin and end: one kernel
/// that reads the two from memory serves all, where each would have code of its own.
bool isOneOfMany(SliceOp slice);

/// Operands of a concatenation up to which a loop over a row of each is worth its code.
constexpr size_t mostJoinedInRow = 8;

/// Whether finding the operand that an element lies in costs more than a copy: of 50 joined and
/// added, in kernels of their own, the elements take a thirtieth of the time. Rows of a few
/// operands are computed operand by operand.
bool joinsMany(mlir::Operation *op);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_ELEMENTCOPIES_H
