//===- DivideRows.h - large values part by part -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_DIVIDEROWS_H
#define WEIR_PASSES_KERNELIZE_DIVIDEROWS_H

#include "llvm/ADT/StringRef.h"

namespace weir {

/// On a function, i64: in how many parts weir-divide-rows computes what lies around its large
/// values.
inline constexpr llvm::StringLiteral rowPartsAttr = "weir.row_parts";
/// On the same, i64: the bytes from which on a value is large.
inline constexpr llvm::StringLiteral largeRowsAttr = "weir.large_rows";
/// On a module with such functions, i64: the operations that are there once a part now.
inline constexpr llvm::StringLiteral dividedAttr = "weir.divided";

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_DIVIDEROWS_H
