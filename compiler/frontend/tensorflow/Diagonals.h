//===- Diagonals.h - several diagonals at once ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_DIAGONALS_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_DIAGONALS_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// Diagonals `low` to `high` of matrices of a known size, packed as rows
/// [high - low + 1, longest], the highest first. Which way shorter ones are
/// pushed is `align`'s business.
struct Diagonals {
  int64_t rows, columns, low, high;
  bool superLeft = true, subLeft = true;

  int64_t length(int64_t d) const;
  int64_t longest() const;
  int64_t count() const { return high - low + 1; }
  /// For each element of a matrix, row by row, its place among the packed
  /// diagonals, or -1.
  IntVector packedOfMatrix() const;
  /// For each packed element its place in the matrix, or -1: filling.
  IntVector matrixOfPacked() const;
};

/// Reads `k` (one diagonal or two bounds) and the attribute `align`.
std::optional<Diagonals> readDiagonals(NodeImport &n, Ints k, int64_t rows, int64_t columns);

/// Fails unless the matrices of `x` have diagonal `k`; 0 each has.
LogicalResult requireDiagonal(NodeImport &n, Value x, int64_t k);

/// Elements of the flattened last dimension of `x` at constant `places`;
/// `otherwise` (a scalar, or as large as the result) where a place is -1.
Value pickPlaces(NodeImport &n, Value x, Ints places, Value otherwise);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_DIAGONALS_H
