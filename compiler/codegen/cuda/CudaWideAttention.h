//===- CudaWideAttention.h - attention by groups of warps -- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEATTENTION_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEATTENTION_H

#include "compiler/codegen/cuda/CudaWideGemm.h"

namespace weir {

/// Emits the second form of an attention's kernel, the function `symbol`_wide, into `module`.
/// Nothing: it has none, and nothing is emitted.
std::optional<WideKernel> emitWideAttention(plan::KernelOp kernel, llvm::StringRef symbol,
                                            mlir::gpu::GPUModuleOp module, SiteTable &sites);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEATTENTION_H
