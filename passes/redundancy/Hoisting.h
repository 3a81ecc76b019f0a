//===- Hoisting.h - what need not be inside of a region ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_REDUNDANCY_HOISTING_H
#define WEIR_PASSES_REDUNDANCY_HOISTING_H

#include "dialects/weir/Weir.h"

namespace weir::redundancy {

/// Moves pure operations in front of the loops that they do not change in, and
/// in front of conditionals that compute them on both ways; calls `moved` for
/// each. An operation that might not have run before, or not before an effect,
/// is moved only if it can record no error. What is cheap to repeat stays where
/// it fuses. Innermost regions first, so that one call moves as far as possible.
void hoist(mlir::func::FuncOp function, llvm::function_ref<void(mlir::Operation *)> moved);

/// Drops carried values of loops that nothing uses but their own handing on;
/// returns whether there were any.
bool dropUnusedCarried(mlir::func::FuncOp function);

} // namespace weir::redundancy

#endif // WEIR_PASSES_REDUNDANCY_HOISTING_H
