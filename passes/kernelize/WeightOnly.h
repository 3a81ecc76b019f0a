//===- WeightOnly.h - products by weights of a few bits ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Language models keep weights in 2, 4 or 8 bits and compute in floats. A product whose
// right operand is what a `dequantize_blocks` makes of constants is a kernel with it: the
// numbers are read as they are, and are floats in registers or, a panel at a time, on
// the stack (compiler/codegen/cpu/WeightOnly.cpp). They lie in panels of 32 columns, four
// bytes of each side by side; scales and zero points in panels of as many.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_WEIGHTONLY_H
#define WEIR_PASSES_KERNELIZE_WEIGHTONLY_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/BlockQuantized.h"

namespace weir {

struct VectorUnit;

/// Columns of a panel.
inline constexpr int64_t weightOnlyPanel = 32;

/// Whether `op` is a dequantize_blocks that all who read it multiply with, in kernels of
/// this kind: each computes it for itself.
bool isWeightOnly(mlir::Operation *op);
/// Whether `dot`, in a kernel or not, is such a product.
bool isWeightOnlyProduct(DotGeneralOp dot);

/// Sets the tile of such a kernel, and returns how its range is cut: rows, columns.
llvm::SmallVector<int64_t> weightOnlyTiles(plan::ScheduleBuilder &s, DotGeneralOp dot,
                                           const VectorUnit &unit);
/// Rows of the weights whose floats are on the stack at a time: whole blocks.
int64_t weightOnlyDepth(DequantizeBlocksOp weights);
/// Up to so many rows of a part are computed without the stack.
int64_t weightOnlyFewRows(int64_t lanes, int64_t partRows);
/// So many of them at a time.
int64_t weightOnlyDirectRows(int64_t lanes);
/// The zero point of all numbers, where they have one.
std::optional<float> weightOnlyZero(DequantizeBlocksOp weights);

/// Brings the constants that the kernel's dequantize_blocks reads into panels.
void packWeightOnly(mlir::OpBuilder &b, plan::KernelOp kernel,
                    llvm::SmallVectorImpl<mlir::Value> &operands);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_WEIGHTONLY_H
