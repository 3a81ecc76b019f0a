//===- RepeatedBlocks.h - copies of blocks again and again ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor that is repeated along a dimension, or stretched along neighbouring ones, is made of
// blocks of its operand, each several times in a row: nothing asks for an element's place.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_REPEATEDBLOCKS_H
#define WEIR_COMPILER_CODEGEN_CPU_REPEATEDBLOCKS_H

#include "compiler/codegen/cpu/KernelEmitter.h"

namespace weir {

/// A result that is its operand, of `lines` lines at a time, each block `times` in a row.
struct RepeatedBlocks {
  mlir::Value source;
  mlir::Value times, lines;
  bool isOfLine = false; ///< along the last dimension: `lines` are the operand's, one at a time
  mlir::Value holds;     ///< i1: that sizes are as said and blocks are worth it; null: they are
};

/// Whether `tensor` is an operand of the kernel that is stretched along dimensions before the last.
bool isStretchedByBlocks(mlir::Value tensor);

/// How `tensor`, a tile or broadcast of an operand of the kernel, is made of blocks; nothing where
/// its types say that it is not.
std::optional<RepeatedBlocks> repeatedBlocksOf(KernelBuilder &r, mlir::Value tensor);

/// Writes lines [begin, end) of the result, which lie in `target` one behind the other.
void emitRepeatedBlocks(KernelBuilder &r, const RepeatedBlocks &blocks,
                        const KernelBuilder::Buffer &target, mlir::Value begin, mlir::Value end);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_REPEATEDBLOCKS_H
