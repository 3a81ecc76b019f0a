//===- SharedBodies.h - one body for kernels that differ in numbers -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A network's layers often differ in the depth of a product, or in a factor,
// alone. What a kernel reads (weights among it) comes through its arguments;
// numbers are written in its code. Kernels that are equal but for a few of them
// get one body, which reads its numbers from a table, and each keeps its name
// for a jump to the body with a table of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_SHAREDBODIES_H
#define WEIR_COMPILER_EMIT_SHAREDBODIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace weir {

/// A function that kernels jump to.
struct SharedBody {
  std::string symbol;               ///< the first kernel's, with `.shared` behind
  std::vector<std::string> kernels; ///< which hold nothing but the jump
};

/// Gives those of the functions `kernels` one body that are in vectors and equal but for numbers
/// that cost nothing as variables: at most a few, which are no strides of a tile, bound no short
/// loop, and divide nothing in a loop within a loop. Kernels without a difference are left alone.
/// Bodies are functions that nothing outside of the module sees.
std::vector<SharedBody> shareBodies(llvm::Module &module, llvm::ArrayRef<std::string> kernels);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_SHAREDBODIES_H
