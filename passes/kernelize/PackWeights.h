//===- PackWeights.h - constant right operands in panels --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_PACKWEIGHTS_H
#define WEIR_PASSES_KERNELIZE_PACKWEIGHTS_H

#include "dialects/plan/Plan.h"

namespace weir {

/// Gives a kernel with register tiles its constant right operand (a product's
/// matrix, a convolution's filter) in panels as wide as a tile: the columns that
/// a step of the sum reads then lie next to each other, and the next step's
/// behind them. Replaces the constant among `operands`, those of the launch, and
/// makes the kernel read it through `unpack_panels`. A kernel that multiplies by what
/// the program computes gets `copies_panels` where it shall copy panels to its stack
/// itself, and larger parts. Leaves other kernels alone.
/// New constants are built at `b`'s insertion point.
void packWeights(mlir::OpBuilder &b, plan::KernelOp kernel,
                 llvm::SmallVectorImpl<mlir::Value> &operands);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_PACKWEIGHTS_H
