//===- PoolRows.h - rows of pools along the last dimension --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window that lies inside of its operand has as many elements as all others that do, and the loop
// over these is one of vectors. So a row of a pool that ends with a spatial dimension is three
// loops: over the windows that the border cuts at either end, and over those between.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_POOLROWS_H
#define WEIR_COMPILER_CODEGEN_CPU_POOLROWS_H

#include "compiler/codegen/cpu/KernelEmitter.h"

namespace weir {

/// `op` as a pool of maxima over a few elements that ends with a spatial dimension; or null.
PoolOp poolOfRows(mlir::Operation *op);

/// The row of `pool` at the indices `outer`, the last one left out. `cut` emits what the kernel has
/// at indices in general; `whole` gets the pool's element there, whose window no border cuts.
void emitPoolRow(KernelBuilder &r, PoolOp pool, mlir::ValueRange outer,
                 llvm::function_ref<void(mlir::ValueRange)> cut,
                 llvm::function_ref<void(mlir::ValueRange, mlir::Value)> whole);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_POOLROWS_H
