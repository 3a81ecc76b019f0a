//===- TensorBuilder.h - short ways to write weir operations ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What importers of operators are written in. Every function that builds an
// operation infers its result types; where the operands do not fit, it returns
// null and the reason reaches the context's diagnostics, and every function
// that is given a null value returns null. An importer can so be written as one
// expression and be checked at its end.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORBUILDER_H
#define WEIR_COMPILER_FRONTEND_TENSORBUILDER_H

#include "dialects/weir/Weir.h"

namespace weir::frontend {

using mlir::Type;
using mlir::Value;
using Ints = llvm::ArrayRef<int64_t>;

class TensorBuilder {
public:
  TensorBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  /// Builds an operation of one result: op<AddOp>(lhs, rhs). Arguments are
  /// those of the operation's declaration, in order.
  template <typename OpT, typename... Args> Value op(Args... args) {
    mlir::Operation *made = multi<OpT, 1>(args...);
    return made ? made->getResult(0) : Value();
  }
  /// The same with `results` results; null on failure.
  template <typename OpT, unsigned results, typename... Args> mlir::Operation *multi(Args... args) {
    if ((isNull(args) || ...))
      return nullptr;
    mlir::OperationState state(loc, OpT::getOperationName());
    llvm::SmallVector<Type> types(results, b.getI1Type());
    OpT::build(b, state, mlir::TypeRange(types), args...);
    types.clear();
    if (mlir::failed(OpT::inferReturnTypes(b.getContext(), loc, state.operands,
                                           state.attributes.getDictionary(b.getContext()),
                                           state.getRawProperties(), state.regions, types)) ||
        !arePossible(types))
      return nullptr;
    state.types.assign(types.begin(), types.end());
    return b.create(state);
  }

  // Types. Of a null value, and of one whose rank depends on what is computed:
  // a null type, rank -1, no sizes.
  static mlir::RankedTensorType type(Value v) {
    return v ? llvm::dyn_cast<mlir::RankedTensorType>(v.getType()) : mlir::RankedTensorType();
  }
  static Type element(Value v) { return v ? mlir::getElementTypeOrSelf(v.getType()) : Type(); }
  static int64_t rank(Value v) { return type(v) ? type(v).getRank() : -1; }
  static Ints sizes(Value v) { return type(v) ? type(v).getShape() : Ints(); }
  static bool isStatic(Value v) { return type(v) && type(v).hasStaticShape(); }
  /// The size of a dimension; kDynamic where it is open, or where there is no
  /// such dimension: files may hold any rank.
  static int64_t dim(Value v, int64_t axis) {
    return axis >= 0 && axis < rank(v) ? type(v).getDimSize(axis) : mlir::ShapedType::kDynamic;
  }
  /// Whether a stride, a dilation or the size of a window is one that arithmetic
  /// on sizes bears: products of two fit in 64 bits.
  static bool isStep(int64_t value) { return value >= 1 && value < int64_t(1) << 31; }
  static bool isFloat(Value v) { return llvm::isa_and_nonnull<mlir::FloatType>(element(v)); }
  static bool isBool(Value v) { return v && element(v).isInteger(1); }
  static bool isUnsigned(Value v) { return v && element(v).isUnsignedInteger(); }
  static bool isString(Value v);

  // Constants.
  Value constant(mlir::TypedAttr value);
  Value ints(Ints values);        ///< tensor<nxi64>
  Value intScalar(int64_t value); ///< tensor<i64>
  /// Of any numeric type; of strings the zero is the empty one; null for no type.
  Value scalar(Type element, double value);
  Value splat(Type element, Ints shape, double value);
  Value like(Value v, double value); ///< scalar of v's element type
  Value floats(llvm::ArrayRef<double> values, Type element);
  Value strings(llvm::ArrayRef<llvm::StringRef> values); ///< a vector
  Value stringScalar(llvm::StringRef value);

  // Shapes. Sizes are i64; those known at compile time become constants.
  Value shapeOf(Value v);             ///< tensor<rank x i64>
  Value sizeOf(Value v, int64_t dim); ///< tensor<1xi64>
  Value reshape(Value v, Ints shape); ///< one entry may be -1
  Value reshapeTo(Value v, Value shape) { return op<ReshapeOp>(v, shape); }
  Value toScalar(Value v) { return reshape(v, {}); }
  Value unsqueeze(Value v, Ints axes); ///< axes of the result, sorted
  Value squeeze(Value v, Ints axes);
  Value expandTo(Value v, Value shape); ///< broadcast_to
  Value concat(llvm::ArrayRef<Value> values, int64_t axis);
  Value transpose(Value v, Ints permutation);
  /// v[…, start:end:1, …] along one axis; negative bounds count from the end.
  Value slice(Value v, int64_t axis, int64_t start, int64_t end);
  /// One index of an axis, which is dropped.
  Value pick(Value v, int64_t axis, int64_t index);
  Value gather(Value v, Value indices, int64_t axis);
  /// Shape entries `begin` to `end` of a tensor, tensor<n x i64>.
  Value shapeSlice(Value v, int64_t begin, int64_t end);
  /// The operand `indices` of a scatter of `updates` into `to`, with the length of its tuples as
  /// the ranks say it where its type does not; null where they contradict each other.
  Value tuplesOfKnownLength(Value to, Value indices, Value updates);
  /// The product of the sizes of dimensions [begin, end), tensor<1xi64>.
  Value sizeProduct(Value v, int64_t begin, int64_t end);

  // Arithmetic.
  Value add(Value x, Value y) { return op<AddOp>(x, y); }
  Value sub(Value x, Value y) { return op<SubOp>(x, y); }
  Value mul(Value x, Value y) { return op<MulOp>(x, y); }
  Value div(Value x, Value y) { return op<DivOp>(x, y); }
  Value maximum(Value x, Value y) { return op<MaximumOp>(x, y); }
  Value minimum(Value x, Value y) { return op<MinimumOp>(x, y); }
  Value sqrt(Value x) { return op<SqrtOp>(x); }
  Value exp(Value x) { return op<ExpOp>(x); }
  Value add(Value x, double y) { return x ? add(x, like(x, y)) : x; }
  Value sub(Value x, double y) { return x ? sub(x, like(x, y)) : x; }
  Value mul(Value x, double y) { return x ? mul(x, like(x, y)) : x; }
  Value div(Value x, double y) { return x ? div(x, like(x, y)) : x; }
  Value maximum(Value x, double y) { return x ? maximum(x, like(x, y)) : x; }
  Value minimum(Value x, double y) { return x ? minimum(x, like(x, y)) : x; }
  Value compare(llvm::StringRef predicate, Value x, Value y) {
    return op<CompareOp>(x, y, b.getStringAttr(predicate));
  }
  Value compare(llvm::StringRef predicate, Value x, double y) {
    return x ? compare(predicate, x, like(x, y)) : x;
  }
  Value select(Value c, Value x, Value y) { return op<SelectOp>(c, x, y); }
  Value logicalNot(Value x) { return op<NotOp>(x); }
  Value reduce(Value v, llvm::StringRef kind, Ints axes, bool keepDims);
  Value softmax(Value v, int64_t axis, bool log = false);
  /// Converts elements; a value of that type already is returned as it is.
  Value cast(Value v, Type element, bool saturate = true);
  /// The matrix product of NumPy: batch dimensions broadcast, vectors allowed.
  Value matmul(Value x, Value y, Type accumulator = {});

  /// Whether two string tensors are equal, element by element, broadcasting.
  Value equalStrings(Value x, Value y);

  /// A call of one of the runtime's kernels (weir/kernels.h); null where an
  /// operand is. What is not pure happens in order, used or not.
  mlir::Operation *kernelCall(llvm::StringRef kernel, mlir::TypeRange results,
                              mlir::ValueRange operands, Ints parameters = {}, bool isPure = true);

  /// A value that is reached in every case but has no known origin: converts
  /// narrow floats to f32, and leaves other types. For exact intermediate work.
  Value widen(Value v);
  /// `v` where a real number is compared with it that its type would round: halves as f32, integers
  /// as f64.
  Value besideReals(Value v);

  mlir::BoolAttr flag(bool value) { return b.getBoolAttr(value); }
  mlir::IntegerAttr number(int64_t value) { return b.getI64IntegerAttr(value); }
  mlir::FloatAttr real(double value) { return b.getF64FloatAttr(value); }
  mlir::StringAttr text(llvm::StringRef value) { return b.getStringAttr(value); }
  mlir::DenseI64ArrayAttr list(Ints values) { return b.getDenseI64ArrayAttr(values); }
  mlir::TypeAttr typeAttr(Type type) { return type ? mlir::TypeAttr::get(type) : mlir::TypeAttr(); }

private:
  /// Whether tensors of these types can be; reports the first that cannot.
  bool arePossible(mlir::TypeRange types);

  template <typename T> static bool isNull(const T &arg) {
    if constexpr (std::is_same_v<T, Value> || std::is_same_v<T, mlir::TypeAttr>)
      return !arg;
    else if constexpr (std::is_same_v<T, mlir::ValueRange>) {
      for (Value value : arg)
        if (!value)
          return true;
    }
    return false;
  }
};

/// 0, 1, …, n - 1 from `first` on.
llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t end);

/// Whether there can be a tensor of these sizes: known ones, and the product of
/// those that are not zero, are at most 2^48, so that sums of a few of them, and
/// their bytes, fit 64 bits. Files may claim any.
bool canBe(llvm::ArrayRef<int64_t> sizes);

/// The product of sizes; none: it does not fit.
std::optional<int64_t> productOf(llvm::ArrayRef<int64_t> sizes);

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_TENSORBUILDER_H
