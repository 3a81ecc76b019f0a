//===- RowForms.h - how operations go along rows ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of a value are its slices along one dimension. An operation goes along rows where a part
// of its result's rows is made of the same part of its operands' rows, and of whole others; or
// where its result is a sum over rows, so that the sums over parts add up to it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_ROWFORMS_H
#define WEIR_PASSES_KERNELIZE_ROWFORMS_H

#include "dialects/weir/Weir.h"

#include <optional>

namespace weir {

/// In the place of a dimension: the value is taken whole; the result is a sum over rows.
inline constexpr int64_t wholeValue = -1, sumOverRows = -2;

/// Along which dimension the rows of each operand lie, and those of the one result.
struct RowForm {
  llvm::SmallVector<int64_t, 3> operands;
  int64_t result = wholeValue;
};

/// The form of an operation whose result has rows along `dim`; none: parts of them need more than
/// parts of the operands'.
std::optional<RowForm> rowsOfResult(mlir::Operation *op, int64_t dim);

/// The form of an operation whose operand `index` has rows along `dim`.
std::optional<RowForm> rowsOfOperand(mlir::Operation *op, unsigned index, int64_t dim);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_ROWFORMS_H
