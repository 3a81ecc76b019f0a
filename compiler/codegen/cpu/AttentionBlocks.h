//===- AttentionBlocks.h - what attention and its gradient share -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_ATTENTIONBLOCKS_H
#define WEIR_COMPILER_CODEGEN_CPU_ATTENTIONBLOCKS_H

#include "compiler/codegen/cpu/Tiles.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace weir {

/// Vectors and blocks on the stack of a kernel whose parts have the first indices `at`: all but
/// the last two dimensions of tensors of `rank`.
class AttentionBlocks {
public:
  AttentionBlocks(KernelBuilder &r, plan::KernelOp kernel, TileShape scoresTile, int64_t rank);

protected:
  mlir::Value splat(double value);
  mlir::Value loadVector(mlir::Value pointer, mlir::Value linear) {
    return VectorReader(r, lanes).load(pointer, f32, linear);
  }
  void storeVector(mlir::Value vector, mlir::Value pointer, mlir::Value linear) {
    VectorReader(r, lanes).store(vector, pointer, f32, linear);
  }
  mlir::Value load(mlir::Value pointer, mlir::Value index) {
    return BufferAccess::load(r, pointer, f32, index);
  }
  void store(mlir::Value pointer, mlir::Value index, mlir::Value value) {
    BufferAccess::store(r, value, pointer, f32, index);
  }
  mlir::Value maskOf(mlir::Value left);
  mlir::Value indexAt(mlir::Value row, int64_t pitch, mlir::Value column) {
    return r.add(r.mul(row, r.constant(pitch)), column);
  }
  /// exp(x), x at most 0; 0 where that is no normal number: beside the 1 of the row's
  /// largest it is nothing, and products with it take x86 a hundred cycles.
  mlir::Value exponential(mlir::Value x);
  /// `body(first, mask)` for the vectors that `count` elements fill; the last one, where
  /// it is not full, with a mask.
  void forVectors(int64_t count,
                  llvm::function_ref<void(mlir::Value first, mlir::Value mask)> body);
  /// Tiles of `height` rows over `count`; beyond the last row they compute what nothing reads.
  void forRows(mlir::Value count, int64_t height,
               llvm::function_ref<void(int64_t height, mlir::Value first)> body);
  /// A vector of `tensor`, an operand of one of the products, along the index `lane`.
  mlir::Value operandVector(mlir::Value tensor, mlir::ValueRange indices, mlir::Value lane,
                            mlir::Value mask);
  /// Indices at the part's batch.
  llvm::SmallVector<mlir::Value> place(mlir::Value row, mlir::Value last) const;
  /// A tile of the product: sums that end on the stack.
  void tile(DotGeneralOp dot, TileShape shape, mlir::Value depth, const TileOperands &operands);

  KernelBuilder &r;
  mlir::OpBuilder &b;
  plan::KernelOp kernel;
  TileShape scoresTile;
  mlir::Type f32;
  mlir::VectorType vectorType;
  int64_t lanes = 1, rank = 0;
  llvm::SmallVector<mlir::Value> at; ///< the part's indices
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_ATTENTIONBLOCKS_H
