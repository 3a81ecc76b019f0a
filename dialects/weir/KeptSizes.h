//===- KeptSizes.h - operands that give a result its sizes ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_KEPTSIZES_H
#define WEIR_DIALECTS_WEIR_KEPTSIZES_H

#include "mlir/IR/Operation.h"

namespace weir {

/// Whether `operand` of `op`, an elementwise operation, has the result's type and sizes whatever is
/// fed: no other operand stretches it. Types with equal open sizes do not say so.
bool keepsSizesOf(mlir::Operation *op, mlir::Value operand);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_KEPTSIZES_H
