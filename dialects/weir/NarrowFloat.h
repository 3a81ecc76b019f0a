//===- NarrowFloat.h - floats of 8 bits and less ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_NARROWFLOAT_H
#define WEIR_DIALECTS_WEIR_NARROWFLOAT_H

#include "dialects/weir/ScalarBuilder.h"

namespace weir {

/// Whether a type is one that the functions below convert.
bool isNarrowFloat(mlir::Type type);

/// A scalar (or vector) of the narrow float `from` as f32, exactly.
mlir::Value narrowToF32(ScalarBuilder &s, mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                        mlir::Type from);

/// An f32 rounded to the narrow float `to`, halves to even. What is too large,
/// infinities included, becomes the largest number when `saturate`, and else
/// infinity, or NaN in formats without one. f8E8M0FNU rounds up.
mlir::Value narrowFromF32(ScalarBuilder &s, mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                          mlir::Type to, bool saturate);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_NARROWFLOAT_H
