//===- PadBlocks.h - borders, block by block ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_PADBLOCKS_H
#define WEIR_COMPILER_CODEGEN_CPU_PADBLOCKS_H

#include "compiler/codegen/kernel/KernelBuilder.h"

namespace weir {

/// Whether a kernel of `op` alone is a border that is written block by block.
bool isPadBlocks(mlir::Operation *op);
/// The elements of the border's result whose first indices are `at`.
void emitPadBlocks(KernelBuilder &reader, PadOp pad, llvm::ArrayRef<mlir::Value> at);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_PADBLOCKS_H
