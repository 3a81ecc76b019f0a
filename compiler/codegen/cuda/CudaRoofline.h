//===- CudaRoofline.h - what kernels should take ---------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAROOFLINE_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAROOFLINE_H

#include "compiler/emit/Forecast.h"
#include "dialects/plan/Plan.h"
#include <optional>

namespace weir {

/// What a launch of `kernels`, as one, does by itself, operands read once and results written once,
/// and the time that it takes on each of cuda::knownDevices. With `tf32` tensor cores may multiply
/// f32. `launches`: that share the work equally. Nothing: sizes are open.
std::optional<KernelForecast> forecast(llvm::ArrayRef<plan::KernelOp> kernels, bool tf32,
                                       int64_t launches = 1);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAROOFLINE_H
