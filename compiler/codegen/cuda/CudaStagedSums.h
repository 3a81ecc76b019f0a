//===- CudaStagedSums.h - sums on their way through memory - -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Tensor cores leave sums in lanes' registers, two neighbours of each of two rows a lane.
// They go through shared memory, so that what follows is computed on more neighbours.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDASTAGEDSUMS_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDASTAGEDSUMS_H

#include "compiler/codegen/cuda/CudaKernel.h"

namespace weir {

/// Where the sum of a row and a column lies: a pointer into shared memory.
using StagedPlace = llvm::function_ref<mlir::Value(mlir::Value row, mlir::Value column)>;

/// Stores a lane's four sums for each eight columns, of rows `row` and eight behind, from
/// `column` on.
void stageSums(CudaReader &r, llvm::ArrayRef<mlir::Value> sums, mlir::Value row, mlir::Value column,
               StagedPlace at);

/// Loads `lanes` neighbours, of type `wide`.
llvm::SmallVector<mlir::Value> stagedSums(CudaReader &r, mlir::Type wide, mlir::Value row,
                                          mlir::Value column, int64_t lanes, StagedPlace at);

/// Sums that are staged, which `threads` share: this one has number `thread` of them.
struct StagedTile {
  mlir::Value thread;
  int64_t threads = 1, rows = 1, columns = 1;
  int64_t lanes = 1; ///< neighbours that are computed and stored together
  StagedPlace at;
};
/// A value of a row and a column of such a tile.
using OfStaged = llvm::function_ref<mlir::Value(mlir::Value row, mlir::Value column)>;
using IndicesOfStaged =
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value row, mlir::Value column)>;

/// Computes what follows `op` on a tile of its sums, of type `wide`, and stores the results,
/// at `indices`, where the place `exists`. `element`: what op leaves.
void storeStagedSums(const CudaKernel &k, mlir::Operation *op, mlir::Type wide, mlir::Type element,
                     const StagedTile &tile, OfStaged exists, IndicesOfStaged indices);

/// The result of a product, as a matrix for each batch.
struct MatrixResult {
  mlir::Operation *op = nullptr;
  mlir::Type wide, element; ///< of the sums; of what op leaves
  llvm::ArrayRef<int64_t> batchDims, rowDims, columnDims;
  llvm::SmallVector<mlir::Value> batch, rowSizes, columnSizes;
  mlir::Value rows, columns; ///< how many there are; null: no tile goes beyond
};
/// The same for a tile whose columns begin at `firstColumn`.
void storeStagedSums(const CudaKernel &k, const MatrixResult &result, StagedTile tile,
                     llvm::function_ref<mlir::Value(mlir::Value row)> globalRow,
                     mlir::Value firstColumn);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDASTAGEDSUMS_H
