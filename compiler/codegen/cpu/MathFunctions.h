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
class RewritePatternSet;
} // namespace mlir

namespace weir {

/// Elementary functions of f32, and most of f64, as polynomials, quotients of integers as
/// floats, and remainders of f32, which vectorise; the rest is left to the C library
/// (docs/kernels.md has the table). `scalesVectors`: the machine has AVX-512, with its instruction
/// for products by powers of two.
std::unique_ptr<mlir::Pass> createApproximateMath(bool scalesVectors);

/// Of f32: sin, cos, tan. Of f32 and f64: asin, acos, atan, atan2.
void populateTrigonometricPatterns(mlir::RewritePatternSet &patterns);
/// Of f32 and f64: sinh, cosh, asinh, acosh, atanh. Of f32: pow.
void populateHyperbolicPatterns(mlir::RewritePatternSet &patterns);
/// Of f64: tanh. Of f32 and f64: erf. Of f32: erfc.
void populateBoundedPatterns(mlir::RewritePatternSet &patterns);
/// Quotients and remainders of integers of up to 32 bits, by floats.
void populateIntegerDivisionPatterns(mlir::RewritePatternSet &patterns);
/// Remainders of f32 and f64, by quotients of f64.
void populateFloatRemainderPatterns(mlir::RewritePatternSet &patterns);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_MATHFUNCTIONS_H
