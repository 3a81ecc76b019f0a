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

/// Whether lines do not fit into a block's shared memory, or may not.
bool isLongSort(TopKOp sort);

/// Emits a kernel around such a sort under the name `symbol`: the last of a sequence of
/// launches, and the others (LaunchShape::sort).
LaunchShape emitLongSort(plan::KernelOp kernel, llvm::StringRef symbol,
                         mlir::gpu::GPUModuleOp module, SiteTable &sites);

/// Why no kernel sorts so, as DeviceKind::whyNot says; empty: one does. From any thread.
std::string whyNotSort(TopKOp sort);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDASORT_H
