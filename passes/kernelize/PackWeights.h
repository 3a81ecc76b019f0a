//===- PackWeights.h - constant right operands in panels --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_PACKWEIGHTS_H
#define WEIR_PASSES_KERNELIZE_PACKWEIGHTS_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/Weir.h"

namespace weir {

/// Gives a kernel with register tiles its constant right operand (a product's
/// matrix, a convolution's filter) in panels as wide as a tile: the columns that
/// a step of the sum reads then lie next to each other, and the next step's
/// behind them. Replaces the constant among `operands`, those of the launch, and
/// makes the kernel read it through `unpack_panels`. A right operand that the
/// program computes is replaced by a transposition into panels, which is returned
/// and needs a kernel of its own, or the kernel gets `copies_panels` (it copies
/// panels to its stack) and larger parts, where either pays. Leaves other kernels
/// alone. New operations are built at `b`'s insertion point.
TransposeOp packWeights(mlir::OpBuilder &b, plan::KernelOp kernel,
                        llvm::SmallVectorImpl<mlir::Value> &operands);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_PACKWEIGHTS_H
