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
  LogicalResult matchAndRewrite(math::Log1pOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value x = op.getOperand();
    Value one = arith::ConstantOp::create(b, loc, b.getOneAttr(x.getType()));
    Value u = arith::AddFOp::create(b, loc, x, one);
    Value moved = arith::SubFOp::create(b, loc, u, one);
    Value ratio = arith::DivFOp::create(b, loc, x, moved);
    Value value = arith::MulFOp::create(b, loc, math::LogOp::create(b, loc, u), ratio);
    // Too small to move the 1, or infinite.
    auto same = [&](Value v, Value w) {
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v, w);
    };
    Value infinite =
        arith::AndIOp::create(b, loc, same(u, arith::AddFOp::create(b, loc, u, u)),
                              arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, u, one));
    Value is = arith::OrIOp::create(b, loc, same(u, one), infinite);
    b.replaceOpWithNewOp<arith::SelectOp>(op, is, x, value);
    return success();
  }
};

/// Values and constants of the type of an operation on f32 or f64, or vectors of them.
struct Numbers {
  PatternRewriter &b;
  Location loc;
  Type full;
  bool isDouble;
  Type integer;

  Numbers(PatternRewriter &b, Operation *op)
      : b(b), loc(op->getLoc()), full(op->getResult(0).getType()),
        isDouble(getElementTypeOrSelf(full).isF64()),
        integer(b.getIntegerType(isDouble ? 64 : 32)) {
    if (auto vector = dyn_cast<VectorType>(full))
      integer = vector.clone(integer);
  }
  static bool serve(Operation *op) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    return element.isF32() || element.isF64();
  }

  Value real(double value) const {
    return constantOf(full, b.getFloatAttr(getElementTypeOrSelf(full), value));
  }
  Value number(int64_t value) const {
    auto attribute = b.getIntegerAttr(getElementTypeOrSelf(integer), value);
    return constantOf(integer, attribute);
  }
  Value fma(Value x, Value y, Value z) const { return math::FmaOp::create(b, loc, x, y, z); }
  Value powerOfTwo(Value exponent) const {
    Value biased = arith::AddIOp::create(b, loc, exponent, number(bias()));
    Value bits = arith::ShLIOp::create(b, loc, biased, number(isDouble ? 52 : 23));
    return arith::BitcastOp::create(b, loc, full, bits);
  }
  int64_t bias() const { return isDouble ? 1023 : 127; }
  /// x, or the bound that it is beyond; NaN stays. One instruction each on x86.
  Value atMost(Value x, double high) const { return bounded(x, arith::CmpFPredicate::OLT, high); }
  Value atLeast(Value x, double low) const { return bounded(x, arith::CmpFPredicate::OGT, low); }
  Value bounded(Value x, arith::CmpFPredicate isBeyond, double bound) const {
    Value limit = real(bound);
    Value beyond = arith::CmpFOp::create(b, loc, isBeyond, limit, x);
    return arith::SelectOp::create(b, loc, beyond, limit, x);
  }

  /// x = k ln 2 + r with |r| <= ln 2 / 2; k as an integer, which is any where x is NaN.
  struct Reduced {
    Value r, exponent;
  };
  /// |x| is far below 2^22. Added to a number whose last bit is 1, a float is rounded to
  /// an integer, which then stands in its last bits.
  Reduced reduce(Value x) const {
    double magic = isDouble ? 0x1.8p52 : 0x1.8p23;
    Value shifted = fma(x, real(1.4426950408889634074), real(magic));
    Value k = arith::SubFOp::create(b, loc, shifted, real(magic));
    Value bits = arith::BitcastOp::create(b, loc, integer, shifted);
    Value exponent = arith::SubIOp::create(
        b, loc, bits,
        number(isDouble ? llvm::bit_cast<int64_t>(magic) : llvm::bit_cast<int32_t>(float(magic))));
    Value minusK = arith::NegFOp::create(b, loc, k);
    return {fma(minusK, real(lowLn2()), fma(minusK, real(highLn2()), x)), exponent};
  }
  /// ln 2 in two parts, the first with so few bits that k times it is exact.
  double highLn2() const { return isDouble ? 0x1.62e42fee00000p-1 : 0x1.62e4p-1; }
  double lowLn2() const { return isDouble ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cf79abcap-20; }
  /// x 2^k in two steps, as 2^k alone may not be a number: what is below the smallest
  /// normal one is rounded once. (AVX-512 has an instruction for both steps, but it takes
  /// a hundred cycles where a result is no normal number.)
  Value scale(Value x, Value exponent) const {
    int64_t position = isDouble ? 52 : 23;
    Value one = number(bias() << position);
    auto left = [&](int64_t by) -> Value {
      return arith::ShLIOp::create(b, loc, exponent, number(by));
    };
    auto powerOf = [&](Value shifted) -> Value {
      return arith::BitcastOp::create(b, loc, full, arith::AddIOp::create(b, loc, shifted, one));
    };
    Value half =
        arith::AndIOp::create(b, loc, left(position - 1), number(-(int64_t(1) << position)));
    Value other = arith::SubIOp::create(b, loc, left(position), half);
    return arith::MulFOp::create(b, loc, arith::MulFOp::create(b, loc, x, powerOf(half)),
                                 powerOf(other));
  }
  /// exp(r) in f32 by the polynomial of degree 6 whose largest relative error for
  /// |r| <= ln 2 / 2 is smallest (Remez's exchange; 2^-28.1), the first two coefficients 1.
  Value smallExp(Value r) const {
    Value series = real(0x1.6a23dp-10);
    for (double next : {0x1.123a2p-7, 0x1.5558f2p-5, 0x1.555492p-3, 0x1.fffffcp-2, 1.0, 1.0})
      series = fma(series, r, real(next));
    return series;
  }
  /// sum of x^(i - first) / i! for i from `first` to `last`.
  Value factorials(Value x, int first, int last) const {
    double factorial = 1;
    for (int i = 2; i <= last; ++i)
      factorial *= i;
    Value series = real(1 / factorial);
    for (int i = last; i > first; --i) {
      factorial /= i;
      series = fma(series, x, real(1 / factorial));
    }
    return series;
  }

private:
  Value constantOf(Type type, TypedAttr attribute) const {
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = SplatElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(b, loc, attribute);
  }
};

/// exp(x) = 2^k exp(r), with exp(r) in f64 by its Taylor series, whose rest is below a
/// third of an ULP. Within 1 ULP in f32 and f64.
struct PreciseExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand();
    // What lies above gives infinity all the same. What lies below gives 0, and is not
    // computed: a result that is too small for a normal number takes x86 a hundred
    // cycles, and masks make many.
    Value isNothing = arith::CmpFOp::create(b, op.getLoc(), arith::CmpFPredicate::OLT, x,
                                            n.real(n.isDouble ? -746 : -104));
    Value some = arith::SelectOp::create(b, op.getLoc(), isNothing, n.real(0), x);
    auto by = n.reduce(n.atMost(some, n.isDouble ? 710 : 89));
    Value value = n.scale(n.isDouble ? n.factorials(by.r, 0, 13) : n.smallExp(by.r), by.exponent);
    b.replaceOpWithNewOp<arith::SelectOp>(op, isNothing, n.real(0), value);
    return success();
  }
};

/// log(x) = k ln 2 + log(1 + f) with 1 + f between the roots of 1/2 and 2, and
/// log(1 + f) = 2 artanh(f / (2 + f)) by its Taylor series, summed so that f, which is
/// exact, comes last (as in Ng's logarithm of FDLIBM). Within 1 ULP in f32 and f64.
struct PreciseLog : OpRewritePattern<math::LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::LogOp op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    Location loc = op.getLoc();
    auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, loc, x, y); };
    auto sub = [&](Value x, Value y) -> Value { return arith::SubFOp::create(b, loc, x, y); };
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, loc, x, y); };
    auto select = [&](arith::CmpFPredicate is, double bound, Value yes, Value no) -> Value {
      Value holds = arith::CmpFOp::create(b, loc, is, op.getOperand(), n.real(bound));
      return arith::SelectOp::create(b, loc, holds, yes, no);
    };
    using Is = arith::CmpFPredicate;
    Value x = op.getOperand();
    // What is below the smallest normal number has no leading bit of its own.
    double smallest = n.isDouble ? 0x1p-1022 : 0x1p-126;
    int up = n.isDouble ? 54 : 25, mantissa = n.isDouble ? 52 : 23;
    Value normal = select(Is::OLT, smallest, mul(x, n.real(std::ldexp(1.0, up))), x);
    int64_t root = n.isDouble ? 0x3fe6a09e667f3bcd : 0x3f3504f3; // bits of the root of 1/2
    Value bits = arith::BitcastOp::create(b, loc, n.integer, normal);
    Value beyond = arith::SubIOp::create(b, loc, bits, n.number(root));
    Value exponent = arith::ShRSIOp::create(b, loc, beyond, n.number(mantissa));
    Value fraction = arith::AndIOp::create(b, loc, beyond, n.number((int64_t(1) << mantissa) - 1));
    fraction = arith::AddIOp::create(b, loc, fraction, n.number(root));
    Value f = sub(arith::BitcastOp::create(b, loc, n.full, fraction), n.real(1));
    Value k = arith::SIToFPOp::create(b, loc, n.full, exponent);
    k = sub(k, select(Is::OLT, smallest, n.real(up), n.real(0)));

    Value s = arith::DivFOp::create(b, loc, f, add(f, n.real(2)));
    Value z = mul(s, s);
    int terms = n.isDouble ? 11 : 4;
    Value series = n.real(2.0 / (2 * terms + 1));
    for (int i = terms - 1; i > 0; --i)
      series = n.fma(series, z, n.real(2.0 / (2 * i + 1)));
    Value half = mul(mul(f, n.real(0.5)), f);
    Value rest = n.fma(s, n.fma(z, series, half), mul(k, n.real(n.lowLn2())));
    Value value = sub(mul(k, n.real(n.highLn2())), sub(sub(half, rest), f));
    double infinity = std::numeric_limits<double>::infinity();
    Value none =
        select(Is::OEQ, 0, n.real(-infinity), n.real(std::numeric_limits<double>::quiet_NaN()));
    value = select(Is::OGT, 0, value, none);
    b.replaceOp(op, select(Is::OEQ, infinity, x, value));
    return success();
  }
};

/// exp(x) - 1 without the difference: 2^k (expm1(r) + (1 - 2^-k)), with expm1(r) by
/// its Taylor series, whose rest is below a quarter of an ULP (Tang, "Table-driven
/// implementation of the expm1 function", 1992, without the table). Within 2 ULP in
/// f32 and f64.
struct PreciseExpm1 : OpRewritePattern<math::ExpM1Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpM1Op op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    Location loc = op.getLoc();
    // What lies outside gives -1 and infinity all the same.
    Value x = op.getOperand();
    auto by = n.reduce(n.atMost(n.atLeast(x, n.isDouble ? -40 : -20), n.isDouble ? 709.9 : 88.8));
    Value r = by.r, exponent = by.exponent;
    Value series = n.factorials(r, 2, n.isDouble ? 15 : 9);
    Value small = n.fma(arith::MulFOp::create(b, loc, r, r), series, r);
    // Beyond that 2^-k is lost in the 1 anyway.
    Value back = arith::SubIOp::create(
        b, loc, n.number(0), arith::MinSIOp::create(b, loc, exponent, n.number(n.bias() - 1)));
    Value rest = arith::SubFOp::create(b, loc, n.real(1), n.powerOfTwo(back));
    Value value = n.scale(arith::AddFOp::create(b, loc, small, rest), exponent);
    // Zeros keep their sign.
    Value itself = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, n.real(0));
    b.replaceOpWithNewOp<arith::SelectOp>(op, itself, x, value);
    return success();
  }
};

struct ApproximateMath : PassWrapper<ApproximateMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMath)
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == "tanh" || name == "math.tanh" || name == "erf" || name == "math.erf";
    });
    patterns.add<PreciseLog, PreciseLog1p, PreciseExp, PreciseExpm1>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> weir::createApproximateMath() { return std::make_unique<ApproximateMath>(); }
