//===- CudaPhases.h - launches that are phases of one ------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAPHASES_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAPHASES_H

#include "compiler/codegen/cuda/CudaHorizontalFusion.h"

namespace weir {

/// Adds to `image` a kernel that does the work of small launches of `steps` that follow each other,
/// one after the other, and to `fused` and `names` that it is there; nothing where too few do.
/// Its parameters: a weir_cuda_error, a word for barriers, the number of words in use, and a table
/// of phases (see weir_cuda_phased). `tf32`: as of forecast().
void formPhases(llvm::ArrayRef<mlir::func::FuncOp> steps, mlir::ModuleOp module,
                const llvm::StringMap<LaunchShape> &launches, mlir::gpu::GPUModuleOp image,
                SiteTable &sites, bool tf32, std::vector<std::string> &names, FusedKernels &fused);

/// In a module of the LLVM dialect: tables are parameters by value.
void passTablesByValue(mlir::gpu::GPUModuleOp module);

/// The weir_cuda_phased records. `names`: of all kernels of the image.
std::vector<AcceleratorInfo::Record> listPhased(const FusedKernels &fused,
                                                llvm::ArrayRef<std::string> names);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAPHASES_H
