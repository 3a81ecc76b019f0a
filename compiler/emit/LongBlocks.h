//===- LongBlocks.h - blocks that selection takes too long for ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_LONGBLOCKS_H
#define WEIR_COMPILER_EMIT_LONGBLOCKS_H

#include "llvm/IR/Module.h"

namespace weir {

/// Cuts long blocks of steps on the host: one that computes the sizes and places of hundreds of
/// buffers has blocks of thousands of instructions. LLVM's selection orders a block in a time that
/// grows with the square of its length, since flags of the processor allow for few orders. What has
/// floats or vectors stays as it is. To be done behind all passes that join blocks.
void divideLongBlocks(llvm::Module &module);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_LONGBLOCKS_H
