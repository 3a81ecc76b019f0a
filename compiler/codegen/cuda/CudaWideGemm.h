//===- CudaWideGemm.h - products by groups of warps ------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A second form of kernels around one product, for GPUs of architecture sm_90a: a
// function of its own in the image, which the runtime launches in place of the
// kernel's where its operands and sizes fit (weir_cuda_wide_kernel).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEGEMM_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEGEMM_H

#include "compiler/codegen/cuda/CudaKernel.h"
#include "weir/cuda.h"

namespace weir {

/// A kernel's second form.
struct WideKernel {
  weir_cuda_wide_kernel desc = {}; ///< without `kernel`, names, and how filters are arranged
  std::string name;                ///< of the function
  mlir::RankedTensorType filter;   ///< that is to be arranged before; null: none
};

/// Emits the second form of `kernel`, the function `symbol`_wide, into `module`. Nothing: it
/// has none, and nothing is emitted.
std::optional<WideKernel> emitWideProduct(plan::KernelOp kernel, llvm::StringRef symbol,
                                          mlir::gpu::GPUModuleOp module, SiteTable &sites);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEGEMM_H
