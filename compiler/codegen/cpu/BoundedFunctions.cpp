//===- BoundedFunctions.cpp - tanh of f64, erf, erfc of f32 ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tanh and erf are odd, near a line around 0 and near 1 soon. Coefficients interpolate at
// Chebyshev's nodes, computed with 60 digits; what they leave out is below 2^-57 of
// the results. Those of erfc of f32 are fitted to be off by less than 2^-25 of the result, those of
// erf of f32 by less than 2^-26, and rounded so that results of f32 arithmetic are nearest.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MathFunctions.h"
#include "compiler/codegen/cpu/MathNumbers.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

/// (tanh(x) / x - 1) / z with z = x^2, up to 1.
constexpr double tanhSeries[] = {
    -0x1.5555555555555p-2,  0x1.11111111110b9p-3,  -0x1.ba1ba1ba1453ep-5,  0x1.664f4880d2a47p-6,
    -0x1.226e3519865dfp-7,  0x1.d6d3c538d0bbep-9,  -0x1.7da2bdc3daa27p-10, 0x1.3551ae34bdfffp-11,
    -0x1.f5211730ee038p-13, 0x1.94981e5bdbe6fp-14, -0x1.42090e21d3d28p-15, 0x1.ea19b73b128d8p-17,
    -0x1.4eb911dcd9788p-18, 0x1.7238a0a7e22b6p-20, -0x1.1ab979c0ab58cp-22, 0x1.b028f6cb72ebfp-26};
/// erf(x) / x - 1 by z = x^2, up to 1.
constexpr double erfSeries[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e6p-2,  0x1.ce2f21a042b30p-4,  -0x1.b82ce31284e00p-6,
    0x1.565bcd0dbaa38p-8,  -0x1.c02db3dac435fp-11, 0x1.f9a321d5b8e1ep-14, -0x1.f4d1e3183f7aep-17,
    0x1.b9df224ca4b97p-20, -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27, -0x1.389d4f2641625p-30,
    0x1.05ffd737fb32ep-34};
/// erf(x) / x by x - 2, up to 4, of f32.
constexpr double erfOfFloats[] = {0x1.fd9ae2p-2,   -0x1.e87128p-3,  0x1.93c9f4p-4,  -0x1.9c889ap-6,
                                  -0x1.2f7dd4p-8,  0x1.224f90p-7,   -0x1.13a378p-8, 0x1.b27d9ep-12,
                                  0x1.38c772p-11,  -0x1.5425d8p-12, 0x1.91e4eap-16, 0x1.55e9eap-15,
                                  -0x1.df1096p-17, -0x1.8adca6p-20, 0x1.ac3510p-20, -0x1.0bde10p-23,
                                  -0x1.2290ecp-24, 0x1.7a1670p-27};
/// exp(x^2) (1 - erf(x)) by (x - 2.5) / (x + 2.5), from 1 to 6.
constexpr double tailSeries[] = {
    0x1.afbb3f3b7343ap-3,  -0x1.7ca88dec217a4p-2,  0x1.01c11a735ce12p-2,   -0x1.001154371704cp-3,
    0x1.470ba1f66220cp-5,  -0x1.05bb2fe3d797cp-8,  -0x1.5a57167cd25c8p-9,  0x1.cb3b600ad87b6p-11,
    0x1.def25794251e9p-13, -0x1.0e460ac2287b2p-13, -0x1.1ea84db776574p-15, 0x1.38381b1459556p-16,
    0x1.f64be7b5a367bp-18, -0x1.32951befcce73p-19, -0x1.a36ff5774dd16p-20, 0x1.5d5e7634f4ca6p-24};

/// (1 + 2 x) exp(x^2) erfc(x) by (x - 2) / (x + 2), from 0 to 10.1.
constexpr double complementSeries[] = {
    0x1.46e80ep+0,  -0x1.7bf61ap-4, -0x1.54081cp-3, 0x1.4ffc66p-3,   -0x1.bc1170p-5,
    -0x1.082ccep-7, 0x1.1b2da2p-7,  0x1.5a361cp-10, -0x1.451dfcp-10, -0x1.acc032p-12};

/// Up to 1 a polynomial, beyond 1 - 2 / (exp(2 |x|) + 1). Within 2 ULP.
struct TanhOfDoubles : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand(), a = n.abs(x), z = n.mul(a, a);
    Value small = n.fma(n.mul(a, z), n.polynomial(z, tanhSeries), a);
    // Where it is 1 already.
    Value twice = n.atMost(n.add(a, a), 40);
    Value power = math::ExpOp::create(b, op.getLoc(), twice);
    Value large = n.sub(n.real(1), n.div(n.real(2), n.add(power, n.real(1))));
    b.replaceOp(op, n.signOf(x, n.select(n.less(a, 1), small, large)));
    return success();
  }
};

/// x times one polynomial, without a division or a case but its end: from 4 on it is 1, as the
/// polynomial says, too. Within 3 ULP.
struct ErfOfFloats : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ErfOp op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand(), a = n.atMost(n.abs(x), 4);
    Value ratio = n.polynomial(n.sub(a, n.real(2)), erfOfFloats);
    b.replaceOp(op, n.signOf(x, n.atMost(n.mul(a, ratio), 1)));
    return success();
  }
};

/// Up to 1 a polynomial, beyond 1 - exp(-x^2) by another. Within 2 ULP.
struct ErfOfDoubles : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ErfOp op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    Numbers n(b, op);
    // From 6 on it is 1.
    Value x = op.getOperand(), a = n.atMost(n.abs(x), 6), z = n.mul(a, a);
    Value small = n.fma(a, n.polynomial(z, erfSeries), a);
    Value middle = n.real(2.5), place = n.div(n.sub(a, middle), n.add(a, middle));
    Value power = math::ExpOp::create(b, op.getLoc(), n.neg(z));
    Value large = n.sub(n.real(1), n.mul(power, n.polynomial(place, tailSeries)));
    b.replaceOp(op, n.signOf(x, n.select(n.less(a, 1), small, large)));
    return success();
  }
};

/// exp(-x^2) by a polynomial over 1 + 2 |x|, from 2 where x is negative. Within 5 ULP.
struct ErfcOfFloats : OpRewritePattern<math::ErfcOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ErfcOp op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Numbers n(b, op);
    // From there on it is 0.
    Value x = op.getOperand(), a = n.atMost(n.abs(x), 10.1), two = n.real(2);
    Value place = n.div(n.sub(a, two), n.add(a, two));
    Value ratio = n.div(n.polynomial(place, complementSeries), n.fma(a, two, n.real(1)));
    // What rounding takes off x^2 counts where that is large. The power is multiplied by 2^24
    // until the end, so that a result below the smallest normal number is rounded once.
    Value square = n.mul(a, a), lost = n.fma(a, a, n.neg(square));
    Value power = n.exp(n.neg(square), 24);
    power = n.fma(power, n.neg(lost), power);
    Value value = n.mul(n.mul(power, ratio), n.real(0x1p-24));
    b.replaceOp(op, n.select(n.less(x, 0), n.sub(two, value), value));
    return success();
  }
};

} // namespace

void weir::populateBoundedPatterns(RewritePatternSet &patterns) {
  patterns.add<TanhOfDoubles, ErfOfFloats, ErfOfDoubles, ErfcOfFloats>(patterns.getContext());
}
