//===- KernelRows.h - kernels that several nodes share ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_HOST_KERNELROWS_H
#define WEIR_COMPILER_CODEGEN_HOST_KERNELROWS_H

#include "compiler/codegen/host/StepLowering.h"

namespace weir {

/// Row of a kernel among the program's, for a launch at `launch`: of a kernel that launches for
/// several nodes share there is a row for each of these, so that traces tell them apart, in
/// programs of the host alone. Rows are added, and found again, by "KERNEL;NODES" in
/// tables.kernelIndex.
int kernelRow(StepTables &tables, llvm::StringRef kernel, mlir::Location launch);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_HOST_KERNELROWS_H
