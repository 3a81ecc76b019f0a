//===- KnownIntegers.h - shape computations at compile time -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What models compute about shapes, followed at compile time: an element of a
// small integer tensor is a number, or the size of a dimension that stays open,
// or unknown. Pure functions of the IR.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_KNOWNINTEGERS_H
#define WEIR_DIALECTS_WEIR_KNOWNINTEGERS_H

#include "dialects/weir/Elemental.h"
#include <optional>

namespace weir {

/// One element of an integer tensor, as far as it is known.
struct KnownInteger {
  std::optional<int64_t> value;
  /// Otherwise, when not null: the size of dimension `dimension` of `tensor`.
  mlir::Value tensor;
  int64_t dimension = 0;

  bool isSymbol() const { return !value && tensor; }
  bool operator==(const KnownInteger &other) const {
    return value == other.value && tensor == other.tensor && dimension == other.dimension;
  }
};

/// What is known of an open dimension's size: a number, or a symbol that stands for
/// all sizes equal to it.
using SizeOfDimension = llvm::function_ref<KnownInteger(mlir::Value tensor, int64_t dimension)>;

/// Whether a size is another, or shorter than it and neither 1 nor 0, whatever is fed.
using SizeIsPrefix = llvm::function_ref<bool(const KnownInteger &part, const KnownInteger &whole)>;

/// The elements of `tensor` in row-major order; nothing when not even their
/// number is known, or when there are more than `maxKnownIntegers`. Without `sizeOf`
/// every open dimension is a symbol of its own, without `isPrefix` no size is a prefix.
std::optional<llvm::SmallVector<KnownInteger>> followIntegers(mlir::Value tensor,
                                                              SizeOfDimension sizeOf = nullptr,
                                                              SizeIsPrefix isPrefix = nullptr);

/// The tensor as a constant, when all of its elements are numbers; else null.
mlir::Attribute knownConstant(mlir::Value tensor);

constexpr int64_t maxKnownIntegers = 1024;

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_KNOWNINTEGERS_H
