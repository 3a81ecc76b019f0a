//===- PiecewiseRows.h - rows whose elements lie in several places -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_PIECEWISEROWS_H
#define WEIR_COMPILER_CODEGEN_CPU_PIECEWISEROWS_H

#include "compiler/codegen/kernel/KernelBuilder.h"

namespace weir {

/// Whether the elements of `tensor` come from several places by their indices, as those of a
/// concatenation do: a loop for each place is worth its code, and a choice for each element would
/// become gathers.
bool isPiecewise(mlir::Value tensor);

/// Where a row of elements goes: behind `before` elements of the last dimension, at the
/// indices `outer` of the dimensions before.
struct RowTarget {
  const KernelBuilder::Buffer &buffer;
  const llvm::SmallVector<mlir::Value> &outer;
  mlir::Value before;
};

/// Writes the elements of `tensor` along its last dimension, in loops that each read
/// one place, or copies of bytes where that is a buffer. `outer` are the indices before.
void emitPiecewiseRow(KernelBuilder &r, mlir::Value tensor,
                      const llvm::SmallVector<mlir::Value> &outer, const RowTarget &target);

/// Whether `tensor` is a concatenation, along a dimension before the last, of buffers as they lie:
/// of each the lines of the dimensions from that one on are one block.
bool isOfBlocks(KernelBuilder &r, mlir::Value tensor);

/// Copies the lines [begin, end) of such a concatenation, which lie in `target` one behind the
/// other.
void emitBlocks(KernelBuilder &r, ConcatOp concat, const KernelBuilder::Buffer &target,
                mlir::Value begin, mlir::Value end);

/// The concatenation along the last dimension that `values`, operands of `end`, read at their own
/// indices, through elementwise operations alone, and nothing else reads; or null. Its operands
/// are then rows of their own: between two borders no element asks which operand is its.
ConcatOp concatenationOfRows(mlir::ValueRange values, mlir::Operation *end);

/// A loop over the row of each operand of `concat`, whose element is the builder's anchor there.
/// `body` gets the indices of that element in the concatenation: `outer`, and the last.
void emitRowByOperands(KernelBuilder &r, ConcatOp concat, mlir::ValueRange outer,
                       llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_PIECEWISEROWS_H
