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

#ifndef WEIR_PASSES_ANALYSIS_WEIGHTONLY_H
#define WEIR_PASSES_ANALYSIS_WEIGHTONLY_H

#include "dialects/weir/BlockQuantized.h"

namespace weir {

/// Whether `op` is a dequantize_blocks that all who read it multiply with, in kernels of
/// this kind: each computes it for itself.
bool isWeightOnly(mlir::Operation *op);
/// Whether `dot`, in a kernel or not, is such a product.
bool isWeightOnlyProduct(DotGeneralOp dot);

/// The zero point of all numbers, where they have one.
std::optional<float> weightOnlyZero(DequantizeBlocksOp weights);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_WEIGHTONLY_H
