//===- CudaSort.h - lines in order ------------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDASORT_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDASORT_H

#include "compiler/codegen/cuda/CudaKernel.h"

namespace weir {

/// Sorts lines, each in the shared memory of a block. False where the kernel does not
/// sort; nothing is emitted then.
bool emitSort(const CudaKernel &k);

/// Why no kernel sorts so, as DeviceKind::whyNot says; empty: one does. From any thread.
std::string whyNotSort(TopKOp sort);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDASORT_H
