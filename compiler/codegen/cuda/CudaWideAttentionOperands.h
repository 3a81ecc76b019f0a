//===- CudaWideAttentionOperands.h - heads as the copy engine reads them -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEATTENTIONOPERANDS_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEATTENTIONOPERANDS_H

#include "compiler/codegen/cuda/CudaLibrary.h"

namespace weir {

/// Describes queries, keys and values of an attention as the copy engine reads them.
class AttentionDescriber {
public:
  AttentionDescriber(plan::KernelOp kernel, int64_t rank) : sizes(kernel), rank(rank) {}

  /// The operand, of which `rowDim` is along queries or keys and `columnDim` along a head;
  /// `heads` of it share tiles, else 0: it has no dimension for them. `lines`: of a box.
  /// False: the engine does not read what lies so.
  bool describe(mlir::Value value, int64_t rowDim, int64_t columnDim, int64_t heads, int64_t lines,
                weir_cuda_engine_tensor &out) const;

  LaunchSizes sizes;
  int64_t rank; ///< of the operands
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAWIDEATTENTIONOPERANDS_H
