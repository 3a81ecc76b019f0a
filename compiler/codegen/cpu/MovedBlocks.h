//===- MovedBlocks.h - blocks that movement leaves whole --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behind the last dimension that a slice, a reversal or a border has to do with, elements lie as
// they lay: they are copied at once, whatever sizes lines have.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_MOVEDBLOCKS_H
#define WEIR_COMPILER_CODEGEN_CPU_MOVEDBLOCKS_H

#include "compiler/codegen/cpu/KernelEmitter.h"

namespace weir {

/// A result of an operand of the kernel, each of whose blocks over the dimensions from `first` on
/// is one there, between what a border adds.
struct MovedBlocks {
  mlir::Operation *op;
  int64_t first;
  mlir::Value elements; ///< of a block
  mlir::Value holds;    ///< i1: that blocks are worth it; null: they are
};

/// The blocks of `tensor`, a slice with constant steps, a reversal or a constant border of known
/// amounts of an operand of the kernel; nothing where its types say that they are single lines, or
/// too short to be copied by a call.
std::optional<MovedBlocks> movedBlocksOf(KernelBuilder &r, mlir::Value tensor);

/// Writes elements [begin, end) of the result, which lie in `target` one behind the other.
void emitMovedBlocks(KernelBuilder &r, const MovedBlocks &blocks,
                     const KernelBuilder::Buffer &target, mlir::Value begin, mlir::Value end);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_MOVEDBLOCKS_H
