//===- ConstantArray.h - large constants as numbers -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What networks compute of their weights before anything is fed: weights standardised
// or scaled to a length, low-rank updates added, filters put together. HostTensor evaluates
// every operation on a few elements; this evaluates the operations that weights meet, at
// the speed of memory.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_CONSTANTARRAY_H
#define WEIR_DIALECTS_WEIR_CONSTANTARRAY_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <mutex>
#include <optional>
#include <vector>

namespace weir {

/// Memory of arrays that are gone, for the next ones: pages that are new take longer to get than
/// to fill. Thread-safe.
class ArrayPool {
public:
  /// `count` numbers, whichever.
  std::vector<double> take(size_t count);
  void give(std::vector<double> elements);

private:
  std::mutex mutex;
  std::vector<std::vector<double>> free;
};

/// A tensor of static shape, row-major. Doubles hold what is in it exactly: floats of up to
/// 64 bits, and integers of at most 53. Its memory is of a pool that outlives it.
struct ConstantArray {
  mlir::RankedTensorType type;
  ArrayPool *pool;
  std::vector<double> elements;

  /// Of any elements.
  ConstantArray(mlir::RankedTensorType type, ArrayPool &pool)
      : type(type), pool(&pool), elements(pool.take(type.getNumElements())) {}
  ConstantArray(ConstantArray &&) = default;
  ConstantArray &operator=(ConstantArray &&) = delete;
  ~ConstantArray() {
    if (elements.capacity())
      pool->give(std::move(elements));
  }

  mlir::Type elementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }

  /// Nothing for elements of other types, for integers beyond 53 bits, and where the bytes
  /// cannot be read.
  static std::optional<ConstantArray> read(mlir::Attribute attribute, ArrayPool &pool);
  /// Null where an integer type does not hold an element.
  mlir::DenseElementsAttr attribute() const;
};

/// Whether arrays hold elements of the type.
bool isArrayType(mlir::Type element);

/// The numbers of an integer type that arrays hold: from `lowest` to below `end`.
struct IntegerRange {
  double lowest, end;
  explicit IntegerRange(mlir::Type type);
  bool holds(double number) const { return number >= lowest && number < end; } // NaN is none
};

/// Whether evaluateArrays knows the operation, with result and operands of these types: one
/// result of static shape, parameters (sizes, bounds, indices) that are constants.
bool isEvaluatedOnArrays(mlir::Operation *op);

/// Whether `op`, for which isEvaluatedOnArrays may hold, only moves elements.
bool isMovementOfArrays(mlir::Operation *op);

/// Which of `op`'s operands are data; the others are parameters.
llvm::SmallVector<mlir::Value> dataOperands(mlir::Operation *op);

/// Products that `op` adds up, or elements that it computes or reads: whichever is more.
int64_t stepsOnArrays(mlir::Operation *op);

/// The result of `op`, for which isEvaluatedOnArrays holds, of its data operands; nothing where
/// a number is one that only a run decides about (out of range of an integer type, an index
/// that is outside). Elements are rounded after every operation as a run rounds them; sums are
/// in f64 and rounded once. No function of the C library but roots and rounding, which are
/// exact, so that objects do not depend on the host. Thread-safe.
std::optional<ConstantArray> evaluateArrays(mlir::Operation *op,
                                            llvm::ArrayRef<const ConstantArray *> operands);

/// `source` reduced over `axes`; `type` is the result's. For reductions of evaluateArrays and
/// those that passes make.
ConstantArray reducedArray(const ConstantArray &source, llvm::StringRef kind,
                           llvm::ArrayRef<int64_t> axes, mlir::RankedTensorType type);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_CONSTANTARRAY_H
