//===- HyperbolicFunctions.cpp - functions of exp and log --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MathFunctions.h"
#include "compiler/codegen/cpu/MathNumbers.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// `Op` of f32 by way of f64, where errors of a few units of the last place do not show.
template <typename Op> struct ByDouble : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Numbers n(b, op), wide = n.doubles();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(arith::ExtFOp::create(b, op.getLoc(), wide.full, operand));
    Value value = Op::create(b, op.getLoc(), TypeRange{wide.full}, operands);
    b.replaceOpWithNewOp<arith::TruncFOp>(op, n.full, value);
    return success();
  }
};

/// cosh(x) = h + 1 / (4 h) with h = exp(|x|) / 2, which is finite as long as cosh is. Within
/// 2 ULP in f32 and f64.
struct Cosh : OpRewritePattern<math::CoshOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::CoshOp op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    Value h = n.exp(n.abs(op.getOperand()), -1);
    b.replaceOp(op, n.add(h, n.div(n.real(0.25), h)));
    return success();
  }
};

/// sinh(x): up to 1 its Taylor series, beyond h - 1 / (4 h) as above. Within 2 ULP in f32 and
/// f64.
struct Sinh : OpRewritePattern<math::SinhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SinhOp op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand(), a = n.abs(x), z = n.mul(x, x);
    SmallVector<double> series;
    double factorial = 1;
    for (int i = 3; i <= (n.isDouble ? 19 : 11); i += 2) {
      factorial *= i * (i - 1);
      series.push_back(1 / factorial);
    }
    Value isSmall = n.less(a, 1);
    Value small = n.fma(n.mul(a, z), n.polynomial(z, series), a);
    Value h = n.exp(a, -1);
    Value large = n.sub(h, n.div(n.real(0.25), h));
    b.replaceOp(op, n.signOf(x, n.select(isSmall, small, large)));
    return success();
  }
};

/// From here on asinh(x) and acosh(x) are log(x) + log(2).
constexpr double asymptotic = 0x1p28;
constexpr double log2 = 0.69314718055994530942;

/// asinh(x) = log1p(a + a^2 / (1 + (1 + a^2)^0.5)) with a = |x| (f64).
struct Asinh : OpRewritePattern<math::AsinhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::AsinhOp op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand(), a = n.abs(x), z = n.mul(a, a), one = n.real(1);
    Value isLarge = n.greater(a, asymptotic);
    Value moved = n.add(a, n.div(z, n.add(one, n.sqrt(n.add(one, z)))));
    Value value = math::Log1pOp::create(b, op.getLoc(), n.select(isLarge, n.sub(a, one), moved));
    value = n.add(value, n.select(isLarge, n.real(log2), n.real(0)));
    b.replaceOp(op, n.signOf(x, value));
    return success();
  }
};

/// acosh(x) = log1p(t + (2 t + t^2)^0.5) with t = x - 1 (f64). Below 1 it is NaN.
struct Acosh : OpRewritePattern<math::AcoshOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::AcoshOp op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand(), t = n.sub(x, n.real(1));
    Value isLarge = n.greater(x, asymptotic);
    Value moved = n.add(t, n.sqrt(n.mul(t, n.add(t, n.real(2)))));
    Value value = math::Log1pOp::create(b, op.getLoc(), n.select(isLarge, t, moved));
    value = n.add(value, n.select(isLarge, n.real(log2), n.real(0)));
    b.replaceOp(op, n.select(n.less(x, 1), n.real(notANumber), value));
    return success();
  }
};

/// atanh(x) = log1p(2 a / (1 - a)) / 2 with a = |x| (f64).
struct Atanh : OpRewritePattern<math::AtanhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::AtanhOp op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand(), a = n.abs(x);
    Value ratio = n.div(n.add(a, a), n.sub(n.real(1), a));
    Value value = n.mul(math::Log1pOp::create(b, op.getLoc(), ratio), n.real(0.5));
    b.replaceOp(op, n.signOf(x, value));
    return success();
  }
};

/// x^y of f32 as exp(y log |x|) in f64, whose error is far below the last place of f32. Where
/// x is negative y must be an integer, and an odd one makes the power negative, as it does
/// of -0.
struct Power : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Numbers n(b, op), wide = n.doubles();
    Location loc = op.getLoc();
    auto both = [&](Value v, Value w) -> Value { return arith::AndIOp::create(b, loc, v, w); };
    Value x = op.getLhs(), y = op.getRhs();
    Value wideY = arith::ExtFOp::create(b, loc, wide.full, y);
    Value log = math::LogOp::create(b, loc, arith::ExtFOp::create(b, loc, wide.full, n.abs(x)));
    // 1 to any power, and any to the power 0, also where the other is infinite or NaN.
    Value isOne = arith::OrIOp::create(b, loc, wide.equal(log, 0), n.equal(y, 0));
    Value exponent = n.select(isOne, wide.real(0), wide.mul(wideY, log));
    Value magnitude = arith::TruncFOp::create(b, loc, n.full, wide.exp(exponent));

    using Is = arith::CmpFPredicate;
    Value half = n.mul(y, n.real(0.5));
    Value isFraction = n.compare(Is::UNE, math::FloorOp::create(b, loc, y), y);
    Value isOdd = n.compare(Is::ONE, math::FloorOp::create(b, loc, half), half);
    Value isLeft = n.less(n.signOf(x, n.real(1)), 0);
    Value isNegative =
        both(both(isLeft, isOdd), n.compare(Is::OEQ, math::FloorOp::create(b, loc, y), y));
    Value isNone = both(both(n.less(x, 0), n.greater(x, -infinity)), isFraction);
    Value value = n.select(isNegative, n.neg(magnitude), magnitude);
    b.replaceOp(op, n.select(isNone, n.real(notANumber), value));
    return success();
  }
};

} // namespace

void weir::populateHyperbolicPatterns(RewritePatternSet &patterns) {
  patterns.add<Cosh, Sinh, Asinh, Acosh, Atanh, Power, ByDouble<math::AsinhOp>,
               ByDouble<math::AcoshOp>, ByDouble<math::AtanhOp>>(patterns.getContext());
}
