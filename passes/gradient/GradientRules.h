//===- GradientRules.h - how gradients flow through operations --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_GRADIENT_GRADIENTRULES_H
#define WEIR_PASSES_GRADIENT_GRADIENTRULES_H

#include "dialects/weir/Weir.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weir::gradient {

using mlir::Value;
using Ints = llvm::ArrayRef<int64_t>;
using IntVector = llvm::SmallVector<int64_t>;

/// What a rule works with: the gradients so far, and short ways to write
/// operations at the location of the one that is differentiated.
class Adjoint {
public:
  Adjoint(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  /// The values that depend on an x through floats.
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> gradients;

  bool wants(Value v) const { return active.contains(v); }
  /// Adds to the gradient of `v`, if that is wanted; `gradient` may have the
  /// shape that `v` was broadcast to.
  void add(Value v, Value gradient);

  template <typename OpT, typename... Args> Value op(Args &&...args) {
    return b.createOrFold<OpT>(loc, std::forward<Args>(args)...);
  }
  static mlir::RankedTensorType type(Value v) {
    return llvm::cast<mlir::RankedTensorType>(v.getType());
  }
  static int64_t rank(Value v) { return type(v).getRank(); }
  Value ints(Ints values);
  Value number(Value like, double value); ///< a scalar of its element type
  Value plus(Value x, Value y) { return op<AddOp>(x, y); }
  Value minus(Value x, Value y) { return op<SubOp>(x, y); }
  Value times(Value x, Value y) { return op<MulOp>(x, y); }
  Value over(Value x, Value y) { return op<DivOp>(x, y); }
  Value times(Value x, double y) { return times(x, number(x, y)); }
  Value plus(Value x, double y) { return plus(x, number(x, y)); }
  Value square(Value x) { return times(x, x); }
  /// Of a complex number that becomes a real one, the real part.
  Value cast(Value v, mlir::Type element);
  /// The conjugate; of real numbers they themselves. Gradients by complex numbers
  /// are those of TensorFlow: the conjugate of the derivative.
  Value conj(Value v);
  Value compare(llvm::StringRef predicate, Value x, Value y);
  /// `x` where the condition holds, else 0.
  Value where(Value condition, Value x);
  Value unless(Value condition, Value x) { return where(op<NotOp>(condition), x); }
  Value reduce(Value v, ReduceKind kind, Ints axes, bool keepDims);
  Value shapeOf(Value v); ///< tensor<rank x i64>
  Value sizes(Value v, int64_t begin, int64_t end);
  Value reshape(Value v, Value shape) { return op<ReshapeOp>(v, shape); }
  Value reshapeLike(Value v, Value like);
  Value zeros(Value like);
  Value transpose(Value v, Ints permutation);
  Value concat(llvm::ArrayRef<Value> parts, int64_t axis);
  /// `sum` + `gradient`. Rows that were added to zeros go into the sum, which touches no others.
  Value accumulate(Value sum, Value gradient);
  /// `v` summed over the dimensions that `like` was broadcast along.
  Value sumTo(Value v, Value like);
  /// The number of elements of dimensions `axes`, in `like`'s element type.
  Value count(Value v, Ints axes, Value like);
};

/// Whether every element of `v` is known to be zero.
bool isZeros(Value v);

/// `updates` added up at flat `indices` of zeros in the shape of `like`.
Value scatterFlat(Adjoint &a, Value indices, Value updates, Value like);

/// Hands the gradients of an operation's results (null: none) on to its
/// operands. Fails where it has no rule for this form; the caller reports.
using Rule = llvm::LogicalResult (*)(mlir::Operation *op, llvm::ArrayRef<Value> gradients,
                                     Adjoint &a);
struct Row {
  llvm::StringRef operation;
  Rule rule;
};

/// The families, each in a file of its name.
llvm::ArrayRef<Row> controlRules();
llvm::ArrayRef<Row> elementwiseRules();
llvm::ArrayRef<Row> movementRules();
llvm::ArrayRef<Row> reductionRules();
llvm::ArrayRef<Row> windowRules();

} // namespace weir::gradient

#endif // WEIR_PASSES_GRADIENT_GRADIENTRULES_H
