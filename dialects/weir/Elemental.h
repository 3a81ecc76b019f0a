//===- Elemental.h - how operations compute single elements -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The seam between operations and code generators. An operation says how one
// element of its result follows from elements of its operands; a generator
// decides which loops run around that, and whether an operand's element is
// loaded from a buffer or computed in place by the operation that was fused.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_ELEMENTAL_H
#define WEIR_DIALECTS_WEIR_ELEMENTAL_H

#include "dialects/weir/EmittedValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace weir {

/// What an operation may ask a generator for while it emits code. Elements are
/// scalars in compute form: integers signless, booleans i1, floats as they are
/// stored, complex as complex.
class ElementReader {
public:
  ElementReader(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}
  virtual ~ElementReader();

  /// The element of `tensor` (an operand of the operation, never a result) at
  /// `indices`, which must be inside its shape.
  virtual mlir::Value element(mlir::Value tensor, mlir::ValueRange indices) = 0;

  /// Size of dimension `i` of `tensor` (an operand or a result), type index.
  virtual mlir::Value dim(mlir::Value tensor, unsigned i) = 0;

  /// Records a run-time error of `op` unless `ok` holds (i1). `message` may
  /// hold {0} and {1} for the two values, integers or null. Code after it is
  /// reached in any case and must stay within bounds.
  virtual void require(mlir::Operation *op, mlir::Value ok, llvm::StringRef message, int code,
                       mlir::Value value0 = {}, mlir::Value value1 = {}) = 0;

  /// `index` when it lies in [0, size); otherwise an error of `op`, and 0.
  mlir::Value safeIndex(mlir::Operation *op, mlir::Value index, mlir::Value size);

  // Arithmetic on values of type index, folded where operands are constants, and
  // emitted once where it dominates its second use.
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  /// Operands are known to be non-negative, divisors positive.
  mlir::Value divide(mlir::Value lhs, mlir::Value rhs);
  mlir::Value remainder(mlir::Value lhs, mlir::Value rhs);
  mlir::Value minimum(mlir::Value lhs, mlir::Value rhs);
  mlir::Value maximum(mlir::Value lhs, mlir::Value rhs);
  mlir::Value less(mlir::Value lhs, mlir::Value rhs); ///< signed, i1
  mlir::Value equal(mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value logicalAnd(mlir::Value lhs, mlir::Value rhs);
  /// An element of an integer tensor as index (sign- or zero-extended).
  mlir::Value elementAsIndex(mlir::Value tensor, mlir::ValueRange indices);
  /// All dimensions of a ranked tensor.
  llvm::SmallVector<mlir::Value> dims(mlir::Value tensor);

  mlir::OpBuilder &b;
  mlir::Location loc;

protected:
  EmittedValues emitted;

private:
  template <typename Op> mlir::Value arithmetic(mlir::ValueRange operands);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value lhs, mlir::Value rhs);
};

/// Emits a loop nest over [0, sizes) that carries `init`, and returns its final
/// value. `body` gets the indices and the carried value and returns the next.
mlir::Value emitReductionLoops(ElementReader &reader, llvm::ArrayRef<mlir::Value> sizes,
                               mlir::Value init,
                               llvm::function_ref<mlir::Value(mlir::ValueRange, mlir::Value)> body);
/// The same for several carried values.
llvm::SmallVector<mlir::Value> emitReductionLoops(
    ElementReader &reader, llvm::ArrayRef<mlir::Value> sizes, mlir::ValueRange inits,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange, mlir::ValueRange)> body);

/// scf.if with one result, for elements that must not be read otherwise.
mlir::Value emitIf(ElementReader &reader, mlir::Value condition,
                   llvm::function_ref<mlir::Value()> onTrue,
                   llvm::function_ref<mlir::Value()> onFalse);

/// A tensor's element type in compute form.
mlir::Type computeType(mlir::Type elementType);
/// The type that sums of `elementType` are made in: f32 for narrower floats.
mlir::Type accumulatorType(mlir::Type elementType);

/// The values of a small integer tensor as far as they are known at compile
/// time; nothing when not even their number is. Looks through shape
/// computations.
std::optional<llvm::SmallVector<std::optional<int64_t>>> knownIntegers(mlir::Value tensor);
/// All of them, or nothing.
std::optional<llvm::SmallVector<int64_t>> constantIntegers(mlir::Value tensor);

/// On elementwise operations: whatever is fed, no operand's open size is 1 where the result's is
/// another.
inline constexpr char equalSizesAttribute[] = "weir.equal_sizes";
/// Whether no open size of an operand of `op`, an elementwise operation, is stretched.
bool keepsOpenSizes(mlir::Operation *op);
/// Whether elementwise operations lead from `origin` to `value`, which has the same sizes
/// whatever is fed.
bool hasSizesOf(mlir::Value value, mlir::Value origin);

namespace detail {
int64_t elementCountOfResults(mlir::Operation *op);
bool areCompatibleTypes(mlir::TypeRange lhs, mlir::TypeRange rhs);
/// NumPy broadcasting of the operands; `element` null: as the first operand.
llvm::LogicalResult inferBroadcast(std::optional<mlir::Location> loc, mlir::ValueRange operands,
                                   mlir::Type element, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::Type realType(mlir::Type type);
/// The element of `operand` that the last of `indices` reach under NumPy's
/// broadcasting; `keepsSizes`: its open sizes are not stretched.
mlir::Value broadcastElement(ElementReader &reader, mlir::Value operand, mlir::ValueRange indices,
                             bool keepsSizes = false);
mlir::Value emitElementwise(mlir::Operation *op, ElementReader &reader, mlir::ValueRange indices);
llvm::LogicalResult reifyBroadcast(mlir::Operation *op, ElementReader &reader,
                                   llvm::SmallVectorImpl<mlir::Value> &dims);
} // namespace detail
} // namespace weir

#endif // WEIR_DIALECTS_WEIR_ELEMENTAL_H
