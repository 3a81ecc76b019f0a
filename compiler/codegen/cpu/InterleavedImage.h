//===- InterleavedImage.h - images of few channels, channels last -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An image of bytes of two to four channels that a convolution reads with channels last: planes
// become lines in which channels take turns, in one kernel with the quantization that makes the
// bytes and with the border around them.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_INTERLEAVEDIMAGE_H
#define WEIR_COMPILER_CODEGEN_CPU_INTERLEAVEDIMAGE_H

#include "compiler/codegen/kernel/KernelBuilder.h"

namespace weir {

/// A transposition [N, C, …, W] to [N, …, W, C] of bytes of known sizes, C from 2 to 4.
struct InterleavedImage {
  TransposeOp turn;
  PadOp pad;         ///< of which it is; or null: there is no border
  mlir::Value bytes; ///< what is inside of the border: an argument, or rounded reals
  int64_t lanes = 0; ///< bytes of a plane that are read at once: 16, 32 or 64
};

/// None, where it is no such transposition, bytes are made in another way, or the processor that
/// code is for is none whose vectors multiply bytes. Operations may be in a kernel already.
std::optional<InterleavedImage> interleavedImageOf(TransposeOp turn);

/// Lines `begin` to `end` of the result, in all images: parts of a kernel whose last operation is
/// the transposition.
void emitInterleavedImage(KernelBuilder &r, InterleavedImage image, llvm::ArrayRef<int64_t> parts,
                          mlir::Value begin, mlir::Value end);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_INTERLEAVEDIMAGE_H
