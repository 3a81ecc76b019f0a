//===- CudaGemm.h - products and convolutions ----------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAGEMM_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAGEMM_H

#include "compiler/codegen/cuda/CudaKernel.h"
#include <functional>

namespace weir {

/// Neighbours of an operand of halves or bytes that fill 16 bytes, aligned to these.
struct MatrixChunk {
  mlir::Value pointer;
  mlir::Value exists; ///< null: always; where it does not hold they are zeros
};

/// How an operand of halves or bytes lies in memory, where chunks of it can be copied.
struct ChunkedOperand {
  bool alongDepth; ///< else a chunk is of eight rows, or columns, of halves
  /// The chunk that begins at row (column) `free` and `place` of the depth, for a batch.
  std::function<MatrixChunk(mlir::ValueRange batch, mlir::Value free, mlir::Value place)> at;
};

/// [batches, rows, depth] by [batches, depth, columns], of elements that
/// functions give.
struct GemmProblem {
  mlir::Operation *op = nullptr;
  mlir::Type result; ///< element type of what op leaves
  mlir::Type wide;   ///< of the sums
  /// What left and right give: wide, or for tensor cores f16, bf16 or bytes.
  mlir::Type operand;
  mlir::Type leftType, rightType; ///< of the elements in memory
  bool onTensorCores() const { return operand != wide; }
  /// What an element of `type` is multiplied as.
  mlir::Type coreType(mlir::Type type) const {
    return llvm::isa<mlir::FloatType>(operand) ? operand : type;
  }
  /// For tensor cores: elements in a word.
  int64_t ofWord() const { return 32 / operand.getIntOrFloatBitWidth(); }
  llvm::SmallVector<int64_t> batchDims, rowDims, columnDims; ///< of the result
  llvm::SmallVector<mlir::Value> depthSizes;
  int64_t knownDepth = 1; ///< -1: open
  /// Of batch, row and place; of batch, place and column.
  llvm::function_ref<mlir::Value(mlir::ValueRange, mlir::ValueRange, mlir::ValueRange)> left, right;
  /// Where tensor cores multiply, and both operands lie so.
  std::optional<ChunkedOperand> leftChunks, rightChunks;
  /// Zero as an operand: sums' own type, or a float as it lies in memory.
  mlir::Value zero(CudaReader &r) const;
};

/// The kernel's one product or convolution; null: it has none, or several.
mlir::Operation *onlyProduct(plan::KernelOp kernel);
/// Whether all results have the product's shape: what follows reads its sums at the result's own
/// index.
bool resultsLieAs(plan::KernelOp kernel, mlir::Operation *product);

/// Emits the problem: copied as it is multiplied where that can be, else tile by tile.
void emitTiles(const CudaKernel &k, const GemmProblem &p);

/// Emits a product of halves by tensor cores, whose slices are copied into shared memory
/// while earlier ones are multiplied. Returns false, and emits nothing, unless both
/// operands have chunks.
bool emitPipelined(const CudaKernel &k, const GemmProblem &p);

/// Emits `dot`, the kernel's one product, as one of a matrix by few vectors. Returns
/// false, and emits nothing, where it is none.
bool emitSkinnyGemm(const CudaKernel &k, DotGeneralOp dot);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAGEMM_H
