//===- DirectEdges.h - feeds and fetches in a GPU's memory -------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_DIRECTEDGES_H
#define WEIR_COMPILER_CODEGEN_CUDA_DIRECTEDGES_H

#include "compiler/emit/Program.h"
#include "mlir/IR/BuiltinOps.h"

namespace weir {

/// Of a buffer of a GPU's step: the edge of the fetch that it holds. It lies
/// where the caller wants that, if in the GPU's memory.
inline constexpr char fetchEdgeAttribute[] = "weir.fetch_edge";

/// Of such a buffer, too: the edge of a feed that it may lie over, since nothing reads the feed
/// from the buffer's one write on.
inline constexpr char fetchOverAttribute[] = "weir.fetch_over";

/// Lists, for each of `accelerators`, the feeds and fetches that it alone takes
/// or makes, by edges of their own; the host's steps let them pass without
/// looking at them.
void listDirectEdges(mlir::ModuleOp module, llvm::MutableArrayRef<AcceleratorInfo> accelerators);

/// Marks buffers that hold such a fetch from its last write to the end of the
/// step, and which of them are a feed with updates in it.
void placeDirectFetches(mlir::ModuleOp module, llvm::ArrayRef<AcceleratorInfo> accelerators);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_DIRECTEDGES_H
