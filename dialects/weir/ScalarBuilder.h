//===- ScalarBuilder.h - scalar computations of the table -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rows of Elementwise.td are written in. Every function takes and
// returns scalars, or vectors of them; floats are f32 or f64, integers
// signless: `type`, the element type of the row's first operand, tells their
// sign.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_SCALARBUILDER_H
#define WEIR_DIALECTS_WEIR_SCALARBUILDER_H

#include "dialects/weir/Elemental.h"
#include "dialects/weir/Kinds.h"
#include "mlir/IR/TypeUtilities.h"

namespace weir {

class ScalarBuilder {
public:
  ScalarBuilder(ElementReader &reader, mlir::Operation *forOp, mlir::Type type)
      : reader(reader), b(reader.b), loc(reader.loc), forOp(forOp), type(type) {}

  bool isFloat(mlir::Value v) const {
    return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(v.getType()));
  }
  bool isComplex(mlir::Value v) const {
    return llvm::isa<mlir::ComplexType>(mlir::getElementTypeOrSelf(v.getType()));
  }
  bool isUnsigned() const;

  template <typename OpT, typename... Args> mlir::Value op(Args... args) {
    return b.createOrFold<OpT>(loc, args...);
  }
  /// A function of floats, with its complex form where there is one.
  template <typename FloatOp, typename ComplexOp = void, typename... Args>
  mlir::Value math(mlir::Value a, Args... rest) {
    if constexpr (!std::is_void_v<ComplexOp>)
      if (isComplex(a))
        return op<ComplexOp>(a, rest...);
    return op<FloatOp>(a, rest...);
  }
  /// A function of the C library, by its double-precision name.
  mlir::Value libm(llvm::StringRef name, mlir::Value a);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value floorDiv(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value floorMod(mlir::Value a, mlir::Value b);
  mlir::Value pow(mlir::Value a, mlir::Value b);
  mlir::Value atan2(mlir::Value y, mlir::Value x);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  /// One step of a reduction whose kind `combines`.
  mlir::Value combine(ReduceKind kind, mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value abs(mlir::Value a);
  mlir::Value sign(mlir::Value a);
  mlir::Value rsqrt(mlir::Value a);
  mlir::Value logistic(mlir::Value a);
  mlir::Value gelu(mlir::Value a, bool approximate);
  mlir::Value bitNot(mlir::Value a);
  mlir::Value shiftLeft(mlir::Value a, mlir::Value b);
  mlir::Value shiftRight(mlir::Value a, mlir::Value b);
  mlir::Value isNan(mlir::Value a);
  mlir::Value isInf(mlir::Value a);
  mlir::Value isFinite(mlir::Value a);
  // Functions of complex numbers, principal values, by logarithms and square
  // roots (Abramowitz and Stegun, 4.4.26 to 4.4.28, 4.6.20 to 4.6.22).
  mlir::Value complexAsin(mlir::Value a);
  mlir::Value complexAcos(mlir::Value a);
  mlir::Value complexAtan(mlir::Value a);
  mlir::Value complexSinh(mlir::Value a);
  mlir::Value complexCosh(mlir::Value a);
  mlir::Value complexAsinh(mlir::Value a);
  mlir::Value complexAcosh(mlir::Value a);
  mlir::Value complexAtanh(mlir::Value a);
  mlir::Value makeComplex(mlir::Value re, mlir::Value im);
  mlir::Value compare(llvm::StringRef predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// A constant of the type of `like`.
  mlir::Value constant(mlir::Value like, double value);
  mlir::Value zero(mlir::Value like) { return constant(like, 0); }
  mlir::Value one(mlir::Value like) { return constant(like, 1); }
  /// Converts between compute forms. Signs are those of the weir types.
  mlir::Value cast(mlir::Value a, mlir::Type from, mlir::Type to, bool saturate);

private:
  mlir::Value roundToOdd(mlir::Value a);
  mlir::Value floatToInteger(mlir::Value x, mlir::IntegerType to, bool saturate);
  mlir::Value clampInteger(mlir::Value x, mlir::Type from, mlir::IntegerType to);
  mlir::Value nonZeroDivisor(mlir::Value divisor);
  ElementReader &reader;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Operation *forOp;
  mlir::Type type;
};

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_SCALARBUILDER_H
