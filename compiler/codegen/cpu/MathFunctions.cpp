//===- MathFunctions.cpp - functions as polynomials --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MathFunctions.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace weir;

namespace {

/// log(1 + x) by the logarithm of u, the rounded 1 + x: the error that rounding
/// made is that of x / (u - 1) from 1 (Higham, "Accuracy and Stability of
/// Numerical Algorithms", 1.14.1).
struct PreciseLog1p : OpRewritePattern<math::Log1pOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Log1pOp op,
                                PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value x = op.getOperand();
    Value one = arith::ConstantOp::create(b, loc, b.getOneAttr(x.getType()));
    Value u = arith::AddFOp::create(b, loc, x, one);
    Value moved = arith::SubFOp::create(b, loc, u, one);
    Value ratio = arith::DivFOp::create(b, loc, x, moved);
    Value value = arith::MulFOp::create(
        b, loc, math::LogOp::create(b, loc, u), ratio);
    // Too small to move the 1, or infinite.
    auto same = [&](Value v, Value w) {
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v, w);
    };
    Value infinite = arith::AndIOp::create(
        b, loc, same(u, arith::AddFOp::create(b, loc, u, u)),
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, u, one));
    Value is = arith::OrIOp::create(b, loc, same(u, one), infinite);
    b.replaceOpWithNewOp<arith::SelectOp>(op, is, x, value);
    return success();
  }
};

/// exp(x) - 1 without the difference: x = k ln 2 + r with |r| <= ln 2 / 2, and
/// 2^k (expm1(r) + (1 - 2^-k)), with expm1(r) by its Taylor series, whose rest is
/// below a quarter of an ULP (Tang, "Table-driven implementation of the expm1
/// function", 1992, without the table). Within 2 ULP in f32 and f64.
struct PreciseExpm1 : OpRewritePattern<math::ExpM1Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpM1Op op,
                                PatternRewriter &b) const override {
    Type full = op.getType(), element = getElementTypeOrSelf(full);
    bool isDouble = element.isF64();
    if (!isDouble && !element.isF32())
      return failure();
    Location loc = op.getLoc();
    Type integer = b.getIntegerType(isDouble ? 64 : 32);
    if (auto vector = dyn_cast<VectorType>(full))
      integer = vector.clone(integer);
    auto constant = [&](Type type, TypedAttr scalar) -> Value {
      TypedAttr value = scalar;
      if (auto vector = dyn_cast<VectorType>(type))
        value = SplatElementsAttr::get(vector, Attribute(scalar));
      return arith::ConstantOp::create(b, loc, value);
    };
    auto real = [&](double value) {
      return constant(full, FloatAttr::get(element, value));
    };
    auto number = [&](int64_t value) {
      return constant(integer, IntegerAttr::get(getElementTypeOrSelf(integer), value));
    };
    auto fma = [&](Value x, Value y, Value z) -> Value {
      return math::FmaOp::create(b, loc, x, y, z);
    };
    unsigned mantissa = isDouble ? 52 : 23;
    int64_t bias = isDouble ? 1023 : 127;
    auto powerOfTwo = [&](Value exponent) -> Value {
      Value biased = arith::AddIOp::create(b, loc, exponent, number(bias));
      Value bits = arith::ShLIOp::create(b, loc, biased, number(mantissa));
      return arith::BitcastOp::create(b, loc, full, bits);
    };

    // What lies outside gives -1 and infinity all the same; NaN fails both tests
    // and is put back at the end.
    Value x = op.getOperand();
    Value inside = arith::MaxNumFOp::create(b, loc, x, real(isDouble ? -40 : -20));
    inside = arith::MinNumFOp::create(b, loc, inside, real(isDouble ? 709.9 : 88.8));
    Value k = math::RoundEvenOp::create(
        b, loc, arith::MulFOp::create(b, loc, inside, real(1.4426950408889634074)));
    Value minusK = arith::NegFOp::create(b, loc, k);
    // ln 2 in two parts, the first with so few bits that k times it is exact.
    double high = isDouble ? 0x1.62e42fee00000p-1 : 0x1.62e4p-1;
    Value r = fma(minusK, real(high), inside);
    double low = isDouble ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cf79abcap-20;
    r = fma(minusK, real(low), r);
    int terms = isDouble ? 15 : 9;
    double factorial = 1;
    for (int i = 2; i <= terms; ++i)
      factorial *= i;
    Value series = real(1 / factorial);
    for (int i = terms; i > 2; --i) {
      factorial /= i;
      series = fma(series, r, real(1 / factorial));
    }
    Value small = fma(arith::MulFOp::create(b, loc, r, r), series, r);

    Value exponent = arith::FPToSIOp::create(b, loc, integer, k);
    // Beyond that 2^-k is lost in the 1 anyway.
    Value back = arith::SubIOp::create(
        b, loc, number(0),
        arith::MinSIOp::create(b, loc, exponent, number(bias - 1)));
    Value rest = arith::SubFOp::create(b, loc, real(1), powerOfTwo(back));
    Value half = arith::ShRSIOp::create(b, loc, exponent, number(1));
    Value other = arith::SubIOp::create(b, loc, exponent, half);
    Value value = arith::AddFOp::create(b, loc, small, rest);
    value = arith::MulFOp::create(b, loc, value, powerOfTwo(half));
    value = arith::MulFOp::create(b, loc, value, powerOfTwo(other));
    // Zeros keep their sign.
    Value itself = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UEQ, x, real(0));
    b.replaceOpWithNewOp<arith::SelectOp>(op, itself, x, value);
    return success();
  }
};

struct ApproximateMath
    : PassWrapper<ApproximateMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == "exp" || name == "math.exp" || name == "tanh" ||
             name == "math.tanh" || name == "erf" || name == "math.erf";
    });
    patterns.add<PreciseLog1p, PreciseExpm1>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> weir::createApproximateMath() {
  return std::make_unique<ApproximateMath>();
}
