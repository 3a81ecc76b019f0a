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

/// Diagonals `low` to `high` of matrices of `rows` by `columns`, scalars of i64 that the run may
/// compute, packed as rows [high - low + 1, longest], the highest first; one diagonal is a row
/// without that dimension. Which way shorter ones are pushed is `align`'s business.
struct Diagonals {
  Value rows, columns, low, high;
  /// Whether there is one: known, or that k has one number.
  bool isOne = true;
  /// Whether only the run knows if there is one, or a band.
  bool isOneOrBand = false;
  bool superLeft = true, subLeft = true;
};

/// The places of packed elements in matrices, or of matrices' elements among packed ones, and which
/// of them are there.
struct DiagonalPlaces {
  Value places, mask;
};

/// Reads input `k` (one diagonal or two bounds; none: the main diagonal) and the attribute `align`.
std::optional<Diagonals> readDiagonals(NodeImport &n, size_t k);

/// Fails, or ends the run, unless the matrices have all of the diagonals; 0 each has.
LogicalResult requireInside(NodeImport &n, Diagonals &diagonals);

/// How many elements the longest has, a scalar.
Value longestOf(NodeImport &n, const Diagonals &diagonals);

/// Of each packed element, [count, longest] or [longest], the place in a matrix, row by row.
DiagonalPlaces placesInMatrix(NodeImport &n, const Diagonals &diagonals);
/// Of each element of a matrix, [rows, columns], the place among packed ones.
DiagonalPlaces placesAmongPacked(NodeImport &n, const Diagonals &diagonals);

/// Elements of the last dimension of `x` at places; `otherwise` (a scalar, or as large as the
/// result) where there is none.
Value pickPlaces(NodeImport &n, Value x, const DiagonalPlaces &at, Value otherwise);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_DIAGONALS_H
