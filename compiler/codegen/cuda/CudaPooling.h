//===- CudaPooling.h - poolings by a library --------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel that is one pooling can be cuDNN's. Poolings are as fast as memory is, and
// a kernel of our own computes what stands around one without going there: so one
// that does anything else is not the library's.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAPOOLING_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAPOOLING_H

#include "dialects/plan/Plan.h"
#include "weir/cuda.h"
#include <optional>

namespace weir {

/// What a library may compute in place of all of `kernel`, but for `kernel`, which is
/// left open. Nothing: it is another kernel, or its sizes are not known.
std::optional<weir_cuda_pooling> matchPooling(plan::KernelOp kernel);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAPOOLING_H
