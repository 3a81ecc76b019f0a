//===- DepthFirst.h - kernels that go through an image together -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_DEPTHFIRST_H
#define WEIR_COMPILER_CODEGEN_CPU_DEPTHFIRST_H

#include "compiler/codegen/kernel/KernelBuilder.h"
#include "dialects/plan/Plan.h"

namespace weir {

/// Lines between stages that lie on a thread's stack; more, as lines of open length may be, are
/// memory of the run.
inline constexpr int64_t mostWindowBytes = 1 << 19;

/// A launch in the body of a chain, the kernel that it names, and its function.
struct DepthFirstStage {
  plan::LaunchOp launch;
  plan::KernelOp kernel;
  std::string symbol;
};

/// Emits the function of a kernel of kind depth-first as `symbol`.
void emitDepthFirst(plan::KernelOp kernel, llvm::StringRef symbol,
                    llvm::ArrayRef<DepthFirstStage> stages, SiteTable &sites);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_DEPTHFIRST_H
