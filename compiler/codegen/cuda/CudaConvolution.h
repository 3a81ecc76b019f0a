//===- CudaConvolution.h - convolutions by a library ------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel around one convolution can be cuDNN's, as CudaProduct.h says of
// products. Channels lie last in plans, and filters as S… I O; the library wants
// O S… I, so that a small kernel brings them there, constants once a session.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDACONVOLUTION_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDACONVOLUTION_H

#include "compiler/emit/Program.h"
#include "dialects/plan/Plan.h"
#include "weir/cuda.h"
#include <optional>

namespace weir {

struct LibraryConvolution {
  weir_cuda_convolution desc = {};
  /// The last value that the library computes; the kernel's own result where
  /// `hasRest` is false.
  mlir::Value end;
  bool hasRest = false;
  /// Of the filter, where it must be arranged; null: it lies right.
  mlir::RankedTensorType filter;
};

/// What of `kernel` a library may compute. Nothing: all of it is a generated
/// kernel's. `desc.kernel` and how other kernels are launched are left open.
std::optional<LibraryConvolution> matchConvolution(plan::KernelOp kernel, bool tf32);

/// A kernel that brings a filter of this type, S… I O, to O S… I. Not in any
/// module.
mlir::OwningOpRef<plan::KernelOp> arrangeKernel(mlir::RankedTensorType filter, mlir::Location loc);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDACONVOLUTION_H
