//===- Rearrange.h - building transpositions and reshapes --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_REARRANGE_H
#define WEIR_DIALECTS_WEIR_REARRANGE_H

#include "dialects/weir/Weir.h"

namespace weir {

/// A one-dimensional constant of i64.
mlir::Value integers(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> values);
/// `value` transposed, itself where the permutation is the identity; a reshape
/// where only dimensions of size 1 move.
mlir::Value transposed(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                       llvm::ArrayRef<int64_t> permutation);
/// Whether transposing by `permutation` leaves the bytes as they are: only
/// dimensions of size 1, known as that, move.
bool isNoMove(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> permutation);
/// `value` in a static shape.
mlir::Value reshaped(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                     llvm::ArrayRef<int64_t> shape);
/// A size of a shape that is made from another: `factor` times the size of
/// dimension `from` of the value, or just `factor`.
struct MadeSize {
  int64_t factor = 1, from = -1;
};
/// `value` under a shape made from its own; known sizes are constants.
mlir::Value reshaped(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                     llvm::ArrayRef<MadeSize> shape);
/// The order of dimensions that brings channels (dimension 1) last, and back.
llvm::SmallVector<int64_t> channelsToLast(int64_t rank);
llvm::SmallVector<int64_t> channelsToFirst(int64_t rank);

/// Gives the operation behind `to` the device of `from`.
void copyDevice(mlir::Operation *from, mlir::Value to);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_REARRANGE_H
