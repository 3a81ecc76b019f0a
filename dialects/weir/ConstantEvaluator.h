//===- ConstantEvaluator.h - small tensors at compile time ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_CONSTANTEVALUATOR_H
#define WEIR_DIALECTS_WEIR_CONSTANTEVALUATOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace weir {

/// Operands and results beyond this many elements are left to the run.
constexpr int64_t maxEvaluatedElements = 4096;

/// The results of a pure operation whose operands are `operands` (elements
/// attributes or blobs; null where one is not constant), one a result. Nothing
/// where it cannot be told: an operation without exact evaluation, an operand
/// that is needed but not constant, an error that belongs to the run. Only
/// what is exact is evaluated: no function of the C library, so that objects
/// do not depend on the host. Thread-safe.
std::optional<llvm::SmallVector<mlir::Attribute>>
evaluateConstants(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands);

/// The integers of an elements attribute or a blob, when there are at most
/// `maxElements`; signed unless the element type is unsigned or i1.
std::optional<llvm::SmallVector<int64_t>> integersOf(mlir::Attribute attribute,
                                                     int64_t maxElements);

/// Whether `attribute` (may be null) is a splat of `value`, in every bit: -0 is
/// not 0. Never for booleans.
bool isSplatOf(mlir::Attribute attribute, double value);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_CONSTANTEVALUATOR_H
