//===- TiledRows.h - tiles along several dimensions ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_TILEDROWS_H
#define WEIR_COMPILER_CODEGEN_CPU_TILEDROWS_H

#include "compiler/codegen/cpu/KernelEmitter.h"

namespace weir {

/// `tensor` as a tile of an operand of the kernel along several dimensions, a number of times that
/// is known; or null.
TileOp tileOfRows(KernelBuilder &r, mlir::Value tensor);

/// Writes lines [begin, end) of the result, which lie in `target` one behind the other.
void emitTiledRows(KernelBuilder &r, TileOp tile, const KernelBuilder::Buffer &target,
                   mlir::Value begin, mlir::Value end);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_TILEDROWS_H
