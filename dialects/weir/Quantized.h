//===- Quantized.h - what stands for reals in bytes --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantized tensors are plain integers, and what they stand for is arithmetic:
// x = (q - zero point) * scale. These find the bytes behind it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_QUANTIZED_H
#define WEIR_DIALECTS_WEIR_QUANTIZED_H

#include "dialects/weir/Weir.h"
#include <optional>

namespace weir {

/// A byte less a zero point: `zero` is of i32, null for none.
struct CentredByte {
  mlir::Value byte, zero;
  explicit operator bool() const { return static_cast<bool>(byte); }
};

/// What `value`, of i32, is made of where it is a byte less a zero point.
CentredByte byteBehindWord(mlir::Value value);
/// The same of `value`, of f32.
CentredByte byteBehind(mlir::Value value);

bool isByte(mlir::Type type);
/// The value of a constant, or null.
mlir::TypedAttr constantOf(mlir::Value value);
/// The number that all elements of a constant are.
std::optional<double> numberOf(mlir::Value value);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_QUANTIZED_H
