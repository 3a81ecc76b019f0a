//===- HostTensor.h - small tensors as numbers ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the dialect: how the constant evaluator holds tensors.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_HOSTTENSOR_H
#define WEIR_DIALECTS_WEIR_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>
#include <vector>

namespace weir {

/// One element: an integer in `integer` (sign-extended, or zero-extended for
/// unsigned types and i1), a float in `real`, which holds every value of the
/// floats up to 64 bits exactly.
struct Number {
  int64_t integer = 0;
  double real = 0;
};

/// A tensor of integers or floats with static shape, row-major.
struct HostTensor {
  mlir::RankedTensorType type;
  std::vector<Number> elements;

  HostTensor() = default;
  explicit HostTensor(mlir::RankedTensorType type) : type(type), elements(type.getNumElements()) {}

  mlir::Type elementType() const { return type.getElementType(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(type.getElementType()); }
  bool isUnsigned() const {
    return type.getElementType().isUnsignedInteger() || type.getElementType().isInteger(1);
  }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }

  /// Nothing for other element types, and beyond `maxElements`.
  static std::optional<HostTensor> read(mlir::Attribute attribute, int64_t maxElements);
  mlir::DenseElementsAttr attribute() const;
};

/// The bytes of `value` (elements that are not all equal, a blob, a scaled or arranged one), row-major:
/// where they are, or in `room`. Nothing where they cannot be read. Thread-safe.
std::optional<llvm::ArrayRef<char>> bytesInOrder(mlir::TypedAttr value,
                                                 llvm::SmallVector<char, 0> &room);

/// Whether tensors of these elements can be held.
bool isEvaluatedType(mlir::Type element);
/// `number` brought into the range of `type`: integers wrap, floats round.
Number inType(Number number, mlir::Type type);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_HOSTTENSOR_H
