//===- Scaled.h - constants times factors -----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A filter that a normalisation scales stays where the model has it: a `#weir.scaled` says by what
// its elements are multiplied, and what reads it multiplies. All functions here are pure and
// thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_SCALED_H
#define WEIR_DIALECTS_WEIR_SCALED_H

#include "dialects/weir/Weir.h"
#include "llvm/Support/Error.h"

namespace weir {

/// `value` with a factor for each entry of dimension `axis`; null where it is no blob of f32 with
/// elements, or a factor is not finite.
mlir::TypedAttr scaledConstant(mlir::TypedAttr value, llvm::ArrayRef<float> factors, int64_t axis);

/// How far apart elements of `value` lie whose factors follow each other.
int64_t elementsPerFactor(ScaledAttr value);

/// Hands the bytes of `value` in order to `sink`, at most 64 KiB at a time; `source` are those of
/// its source, of as many elements. Ends with the first error of the sink.
llvm::Error scaleBytes(ScaledAttr value, llvm::ArrayRef<char> source,
                       llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)> sink);

/// The bytes that `value`, a blob, a scaled constant or dense elements, has in row-major order.
/// `source` are those of its blob, otherwise its own; what is scaled lies in `room` then.
llvm::Expected<llvm::ArrayRef<char>> scaledBytes(mlir::TypedAttr value, llvm::ArrayRef<char> source,
                                                 llvm::SmallVectorImpl<char> &room);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_SCALED_H
