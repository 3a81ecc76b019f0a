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

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDASTAGEDSUMS_H
