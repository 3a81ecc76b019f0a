//===- Chain.h - kernels that go through an image together -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_CHAIN_H
#define WEIR_COMPILER_CODEGEN_CPU_CHAIN_H

#include "dialects/plan/Plan.h"

namespace weir {

/// A launch in the body of a chain, the kernel that it names, and its function.
struct ChainStage {
  plan::LaunchOp launch;
  plan::KernelOp kernel;
  std::string symbol;
};

/// Emits the function of a kernel with the strategy "chain" as `symbol`.
void emitChain(plan::KernelOp kernel, llvm::StringRef symbol, llvm::ArrayRef<ChainStage> stages);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_CHAIN_H
