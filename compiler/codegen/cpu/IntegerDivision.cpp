//===- IntegerDivision.cpp - quotients of integers by vectors -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processors divide integers one at a time, but floats by vectors. A quotient of
// integers that is no integer lies at least 1 / |y| below the next one, a share of
// 1 / |x| of it: a float whose mantissa has one bit more than x and y keeps that
// distance, so that the rounded quotient is cut to the exact one.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MathFunctions.h"
#include "dialects/weir/Pch.h"

using namespace mlir;

namespace {

/// Division, or with `isRest` its remainder: x - y * (x / y).
template <typename Op, bool isSigned, bool isRest> struct DivideAsFloats : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    // By a constant it is a multiplication.
    if (!element.isSignlessInteger() || element.getIntOrFloatBitWidth() > 32 ||
        element.getIntOrFloatBitWidth() < 8 || matchPattern(op.getRhs(), m_Constant()))
      return failure();
    Location loc = op.getLoc();
    Type real = element.getIntOrFloatBitWidth() > 16 ? Type(b.getF64Type()) : b.getF32Type();
    if (auto shaped = dyn_cast<ShapedType>(type))
      real = shaped.clone(real);
    auto toReal = [&](Value value) -> Value {
      if (isSigned)
        return arith::SIToFPOp::create(b, loc, real, value);
      return arith::UIToFPOp::create(b, loc, real, value);
    };
    Value quotient = arith::DivFOp::create(b, loc, toReal(op.getLhs()), toReal(op.getRhs()));
    quotient = isSigned ? arith::FPToSIOp::create(b, loc, type, quotient).getResult()
                        : arith::FPToUIOp::create(b, loc, type, quotient).getResult();
    if (isRest)
      quotient = arith::SubIOp::create(b, loc, op.getLhs(),
                                       arith::MulIOp::create(b, loc, quotient, op.getRhs()));
    b.replaceOp(op, quotient);
    return success();
  }
};

} // namespace

void weir::populateIntegerDivisionPatterns(RewritePatternSet &patterns) {
  patterns
      .add<DivideAsFloats<arith::DivSIOp, true, false>,
           DivideAsFloats<arith::DivUIOp, false, false>, DivideAsFloats<arith::RemSIOp, true, true>,
           DivideAsFloats<arith::RemUIOp, false, true>>(patterns.getContext());
}
