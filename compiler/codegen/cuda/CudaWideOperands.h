//===- CudaWideOperands.h - what groups of warps multiply - -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEOPERANDS_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEOPERANDS_H

#include "dialects/plan/Plan.h"
#include "weir/cuda.h"
#include <optional>

namespace weir {

/// A product of matrices, or of windows and a filter.
struct WideOperands {
  weir_cuda_wide_kernel desc = {};
  mlir::Operation *op = nullptr;
  mlir::Type left, right;
  llvm::SmallVector<int64_t> batchDims, rowDims, columnDims; ///< of the result
};

/// Those of the kernel's one product, or convolution in two dimensions with channels last.
/// Nothing: it has none, or others than the copy engine reads.
std::optional<WideOperands> wideOperandsOf(plan::KernelOp kernel);

/// What wgmma calls an element; "": it has none of these.
llvm::StringRef tensorCoreName(mlir::Type element);
bool isByteElement(mlir::Type element);
/// What tensor cores take together, with sums of that type.
bool tensorCoresTake(mlir::Type left, mlir::Type right, mlir::Type sum);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEOPERANDS_H
