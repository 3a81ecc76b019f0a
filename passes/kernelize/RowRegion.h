//===- RowRegion.h - operations that may go part by part --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A set of operations of one block around a large value, all of which go along its rows, and
// through which every way leads that leaves the set and comes back: the set can be computed for
// some rows, and then for the others.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_ROWREGION_H
#define WEIR_PASSES_KERNELIZE_ROWREGION_H

#include "passes/kernelize/RowForms.h"

namespace weir {

class RowRegion {
public:
  /// `smallest`: bytes from which on a value takes those in that make it and read it.
  RowRegion(mlir::Block &block, int64_t parts, int64_t smallest)
      : block(block), parts(parts), smallest(smallest) {}

  /// Grows around `seed`, whose rows lie along `dim`. False: there is no such set, or the seed is
  /// whole in front of it or behind it.
  bool grow(mlir::Value seed, int64_t dim);

  /// In the block's order.
  llvm::SmallVector<mlir::Operation *> operations() const;
  bool contains(mlir::Operation *op) const { return forms.contains(op); }
  const RowForm &formOf(mlir::Operation *op) const { return forms.find(op)->second; }

private:
  bool divide(mlir::Value value, int64_t dim);
  bool take(mlir::Operation *op, const RowForm &form);
  void spread();
  bool close();
  bool isInside(mlir::Value value) const;

  mlir::Block &block;
  int64_t parts, smallest;
  llvm::DenseMap<mlir::Operation *, RowForm> forms;
  /// The dimension of rows, or wholeValue, of every operand and result.
  llvm::DenseMap<mlir::Value, int64_t> dims;
  llvm::SmallVector<mlir::Value> large; ///< divided, and not yet followed
};

/// Bytes of a tensor of static shape.
int64_t bytesOf(mlir::Value value);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_ROWREGION_H
