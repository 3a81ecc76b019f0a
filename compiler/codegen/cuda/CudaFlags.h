//===- CudaFlags.h - what users say of NVIDIA GPUs --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAFLAGS_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAFLAGS_H

#include "compiler/codegen/device/DeviceFlag.h"

namespace weir {

const DeviceFlag &cudaFlags();

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAFLAGS_H
