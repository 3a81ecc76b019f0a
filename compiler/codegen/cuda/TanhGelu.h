//===- TanhGelu.h - an activation that libraries know ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_TANHGELU_H
#define WEIR_COMPILER_CODEGEN_CUDA_TANHGELU_H

#include "mlir/IR/Operation.h"

namespace weir {

/// The operation of a kernel's body that computes x (1 + tanh(sqrt(2/pi) (x +
/// 0.044715 x^3))) / 2 of `x` (Hendrycks and Gimpel, arXiv:1606.08415), in
/// whatever sums, products and powers a model writes it, where nothing but that
/// reads `x` or what lies between. Null: there is none.
///
/// What the operations compute is compared at places from -9 to 9: it may be
/// off by as much as the constants' and the result's type round.
mlir::Operation *tanhGeluOf(mlir::Value x);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_TANHGELU_H
