//===- MathFunctions.h - functions as polynomials ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_MATHFUNCTIONS_H
#define WEIR_COMPILER_CODEGEN_CPU_MATHFUNCTIONS_H

#include <memory>

namespace mlir {
class Pass;
}

namespace weir {

/// exp, tanh, erf and expm1 as polynomials, which vectorise, and log1p by a
/// logarithm; the rest is left to the C library.
std::unique_ptr<mlir::Pass> createApproximateMath();

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_MATHFUNCTIONS_H
