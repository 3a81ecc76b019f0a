//===- KernelForms.h - operands as kernels want them -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether operations have a form that decides which others share their kernel.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_KERNELFORMS_H
#define WEIR_PASSES_ANALYSIS_KERNELFORMS_H

#include "dialects/weir/Weir.h"

namespace weir {

/// Whether a transposition of such elements goes by blocks that are turned in registers.
bool isTurnedInBlocks(mlir::Type element);

/// Whether the product is [batch…, M…, K] by [batch…, K, N].
bool isInPlainOrder(DotGeneralOp dot);
/// The same, of f32.
bool isPlainForm(DotGeneralOp dot);

/// Whether kernels get their own copy of the constant, as immediates.
bool isInlineConstant(mlir::Operation *op);
/// A constant of several values.
bool isTable(mlir::Operation *op);
/// A padding along the last dimension is asked for at each element whether that is border; once
/// written, its slices are plain reads.
bool padsLines(mlir::Operation *op);

/// Whether `op` computes elements of integers of others by few instructions each: no division or
/// power.
bool isIntegerArithmetic(mlir::Operation *op);

/// Whether `op` is a product or convolution whose sums stay in registers until what follows has
/// read them.
bool isTiledGemm(mlir::Operation *op);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_KERNELFORMS_H
