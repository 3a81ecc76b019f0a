//===- Loops.h - building weir.if and weir.while ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_LOOPS_H
#define WEIR_COMPILER_FRONTEND_LOOPS_H

#include "compiler/frontend/TensorBuilder.h"

namespace weir::frontend {

using Values = llvm::SmallVector<Value>;

/// A body of a loop: gets the iteration's number (tensor<i64>) and the carried
/// values, and returns the next ones; one more at the end, tensor<i1>, where
/// the loop may end early. Failure: nothing is built.
using LoopBody = llvm::function_ref<mlir::FailureOr<Values>(Value, Values)>;

/// Repeats `body` `count` times (tensor<i64>; null: without end), and while
/// `condition` (tensor<i1>; null: always) holds. Returns the carried values
/// after the last iteration. A carried value whose shape changes between
/// iterations gets a type that leaves the changing dimensions open: the body is
/// built anew for it. Null on failure.
mlir::FailureOr<Values> buildLoop(TensorBuilder &t, Value count, Value condition, Values inits,
                                  LoopBody body);

/// Builds both branches; each returns the same number of values, whose shapes
/// may differ in sizes but not in rank.
mlir::FailureOr<Values> buildIf(TensorBuilder &t, Value condition,
                                llvm::function_ref<mlir::FailureOr<Values>()> onTrue,
                                llvm::function_ref<mlir::FailureOr<Values>()> onFalse);

/// The type both of `x` and `y` are instances of: differing sizes are left
/// open. Null where ranks or element types differ.
mlir::RankedTensorType joinTypes(Type x, Type y);

/// Whether values of both types have one element, of one type, whatever their ranks.
bool haveOneElement(mlir::RankedTensorType x, mlir::RankedTensorType y);

/// `v` as a value of `type`, which may only leave open what v's type fixes.
Value relax(TensorBuilder &t, Value v, Type type);

/// A tensor of zeros with `count` (tensor<1xi64>) entries shaped as `type`,
/// which is static, to be filled by writeEntry.
Value makeEntries(TensorBuilder &t, Value count, mlir::RankedTensorType type);
/// `entries` with entry `index` (tensor<i64>) replaced by `v`.
Value writeEntry(TensorBuilder &t, Value entries, Value index, Value v);

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_LOOPS_H
