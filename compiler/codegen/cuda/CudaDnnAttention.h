//===- CudaDnnAttention.h - attention by a library --------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel of an attention in f16 or bf16 can be cuDNN's where what lies between the
// products is what the library knows there: a scale, an added mask, and queries that
// do not look behind their own number.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDADNNATTENTION_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDADNNATTENTION_H

#include "dialects/plan/Plan.h"
#include "weir/cuda.h"
#include <optional>

namespace weir {

/// What a library may compute in place of all of `kernel`, but for `kernel`, which is
/// left open. Nothing: it is another kernel, or its sizes are not known.
std::optional<weir_cuda_attention> matchDnnAttention(plan::KernelOp kernel);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDADNNATTENTION_H
