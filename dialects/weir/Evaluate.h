//===- Evaluate.h - parts of the constant evaluator -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the dialect. Operands that are not constant, or too large, are absent.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_EVALUATE_H
#define WEIR_DIALECTS_WEIR_EVALUATE_H

#include "dialects/weir/HostTensor.h"
#include "mlir/IR/Operation.h"

namespace weir::evaluate {

using Operands = llvm::ArrayRef<std::optional<HostTensor>>;
using Index = llvm::ArrayRef<int64_t>;

/// The place of `index` in a row-major tensor of `shape`.
int64_t linear(Index shape, Index index);
/// Calls `visit` with every index of `shape`, in row-major order, until it
/// returns false; whether it never did.
bool forEachIndex(Index shape, llvm::function_ref<bool(Index)> visit);

/// The result of an operation of the family, or nothing.
std::optional<HostTensor> elementwise(mlir::Operation *op, Operands operands,
                                      mlir::RankedTensorType type);
std::optional<HostTensor> movement(mlir::Operation *op, Operands operands,
                                   mlir::RankedTensorType type);
std::optional<HostTensor> reduction(mlir::Operation *op, Operands operands,
                                    mlir::RankedTensorType type);

/// `kind` of two numbers of `type`, as the code computes it: add sub mul div
/// floor_div rem floor_mod maximum minimum and or xor shl shr pow.
std::optional<Number> binary(llvm::StringRef kind, Number a, Number b, mlir::Type type);

} // namespace weir::evaluate

#endif // WEIR_DIALECTS_WEIR_EVALUATE_H
