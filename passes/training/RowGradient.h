//===- RowGradient.h - gradients of few rows of a weight -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step reads few rows of an embedding, and the gradient of all others is zero. Where an
// optimizer leaves a row without a gradient as it is, these rows are all that its step reads
// and writes, and no tensor of the table's size is made.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_TRAINING_ROWGRADIENT_H
#define WEIR_PASSES_TRAINING_ROWGRADIENT_H

#include "passes/gradient/GradientRules.h"

#include <optional>

namespace weir::training {

/// A gradient of [R, …] as N rows. Rows that a step reads more than once are summed where they
/// come first; those that come later are zeros, and have their place past the end.
struct RowGradient {
  mlir::Value sums;   ///< [N, …]
  mlir::Value rows;   ///< i64 [N], within [0, R): of which row of the weight
  mlir::Value places; ///< i64 [N, 1]: where to write what becomes of it; R: nowhere
};

/// `gradient` in that form, written at the builder; none where it is more than rows that were
/// added to zeros, or where these are too many to be worth it. Sums are added up in the order
/// that they have in `gradient`.
std::optional<RowGradient> rowGradient(mlir::Value gradient, gradient::Adjoint &a);

/// What the rows are of `whole`, [R, …]; and `whole` with `part` in their place.
mlir::Value rowsOf(const RowGradient &gradient, mlir::Value whole, gradient::Adjoint &a);
mlir::Value withRows(const RowGradient &gradient, mlir::Value whole, mlir::Value part,
                     gradient::Adjoint &a);

} // namespace weir::training

#endif // WEIR_PASSES_TRAINING_ROWGRADIENT_H
