//===- CudaBlasGemm.h - products that a library may compute --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel around one product can be cuBLASLt's where operands lie as matrices
// do: one dimension dense, all others of a group one after the other. So can a
// convolution whose window is one position. What follows the product goes along
// as far as the library knows it; a kernel of its own computes the rest. Which of
// the two ways is taken is known on the target alone, so that the object has both.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDABLASGEMM_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDABLASGEMM_H

#include "compiler/emit/Program.h"
#include "dialects/plan/Plan.h"
#include "weir/cuda.h"
#include <optional>

namespace weir {

struct LibraryProduct {
  weir_cuda_product desc = {};
  /// The last value that the library computes; the kernel's own result where
  /// `hasRest` is false.
  mlir::Value end;
  bool hasRest = false;
};

/// What of `kernel` a library may compute. Nothing: all of it is a generated
/// kernel's. `desc.kernel` and how the rest is launched are left open.
std::optional<LibraryProduct> matchGemm(plan::KernelOp kernel, bool tf32);

/// A kernel's one product, whose operands lie as matrices do.
struct MatrixProduct {
  weir_cuda_product desc = {}; ///< sizes and operands alone
  mlir::Operation *op = nullptr;
  mlir::Type left, right;                                    ///< elements of the operands
  llvm::SmallVector<int64_t> batchDims, rowDims, columnDims; ///< of the result
};

/// Nothing: the kernel has no such product.
std::optional<MatrixProduct> matrixProductOf(plan::KernelOp kernel);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDABLASGEMM_H
