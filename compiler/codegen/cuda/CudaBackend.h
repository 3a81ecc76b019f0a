//===- CudaBackend.h - NVIDIA GPUs as a kind of device ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDABACKEND_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDABACKEND_H

#include "compiler/codegen/device/DeviceBackend.h"

namespace weir {

/// Devices of type GPU, for registerDeviceBackend.
const DeviceBackend &cudaBackend();

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDABACKEND_H
