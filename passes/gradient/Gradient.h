//===- Gradient.h - reverse-mode differentiation ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse accumulation over weir operations (Griewank and Walther, "Evaluating
// Derivatives", chapter 3): from results back to operands, in an order in which
// a value comes after all of its uses; what flows back to a value from several
// uses is summed. How it flows through one operation is a row of a table, by
// the operation's name (GradientRules.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_GRADIENT_GRADIENT_H
#define WEIR_PASSES_GRADIENT_GRADIENT_H

#include "dialects/weir/Weir.h"

namespace weir {

/// On an operation whose gradient is not that of what it computes: a way of
/// gradients through it is an error.
inline constexpr llvm::StringLiteral noGradientAttr = "weir.no_gradient";
/// On a weir.while that never runs: its first results, as many as this number
/// says, have the gradients that its body gives. The loop carries the values of
/// the results and then the operands that these are differentiated by; the body
/// takes the gradients of the results in the place of their values, and yields
/// those of the operands in theirs. For operations whose model has another
/// gradient than the derivative of what they are made of; whoever writes one
/// replaces it by what it carries afterwards.
inline constexpr llvm::StringLiteral givenGradientAttr = "weir.given_gradient";
/// On a gate: no gradient flows through it.
inline constexpr llvm::StringLiteral stopGradientAttr = "weir.stop_gradient";

/// On a module: loops keep what every n-th trip begins with for their gradient, and compute
/// again what lies between (passes/gradient/LoopSegments.h).
inline constexpr llvm::StringLiteral checkpointLoopsAttr = "weir.checkpoint_loops";

/// Builds, at `b`, the gradients of the sum over all `ys` of `ys[i]` times
/// `seeds[i]` (each of its y's type) with respect to `xs`: one value for each x,
/// of its shape; null where no path of floating-point operations leads there.
/// What lies between must stand in one block, that of `b`, before it.
///
/// Fails, with an error at its location, where an operation on the way has no
/// gradient. Composites without a rule of their own are expanded in place.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
differentiate(mlir::ValueRange ys, mlir::ValueRange seeds, mlir::ValueRange xs, mlir::OpBuilder &b);

/// Replaces every loop with `givenGradientAttr` in `block` by what it carries.
void dropGivenGradients(mlir::Block &block);

} // namespace weir

#endif // WEIR_PASSES_GRADIENT_GRADIENT_H
