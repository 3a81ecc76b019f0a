//===- KernelPasses.h - LLVM passes for kernels -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Register tiles, windows and attention leave their emitters as loops over whole vectors: nothing
// is left for LLVM to vectorise, to turn around or to distribute. What such functions need is that
// constants fold, that what loops repeat leaves them, and that short loops are written out. Others
// leave theirs as loops over elements, which LLVM vectorises; but they call nothing.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_KERNELPASSES_H
#define WEIR_COMPILER_EMIT_KERNELPASSES_H

#include "llvm/ADT/Any.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/PassManager.h"

namespace weir {

/// Whether a function is a kernel that its emitter wrote in vectors, and long enough that a short
/// list of passes is worth it: what is short costs little, and its loops may be worth unrolling.
bool isVectorKernel(const llvm::Function &function);

/// Whether a function computes on integers and addresses alone, as one does that calls kernels line
/// by line.
bool hasNoFloats(const llvm::Function &function);

/// The passes for a vector kernel. Loops over elements that it may have beside those over vectors
/// are still vectorised.
llvm::FunctionPassManager vectorKernelPasses();

/// The passes for a kernel that its emitter wrote in loops over elements: those of LLVM's pipeline
/// that find something to do in a function of loops that calls nothing. They take half the time of
/// all, and what they leave is not slower.
llvm::FunctionPassManager loopKernelPasses();

/// The passes for any kernel at -O1: what the emitter wrote is made straight, and no loop is
/// changed but that what it repeats leaves it.
llvm::FunctionPassManager quickKernelPasses();

/// The function that a pass of LLVM's is about to run on, or a loop or component of it; null:
/// none, or several.
const llvm::Function *functionOf(llvm::Any unit);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_KERNELPASSES_H
