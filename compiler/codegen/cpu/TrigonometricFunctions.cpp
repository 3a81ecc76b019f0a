//===- TrigonometricFunctions.cpp - circles as polynomials -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MathFunctions.h"
#include "compiler/codegen/cpu/MathNumbers.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr double halfPi = 0x1.921fb54442d18p+0, halfPiRest = 0x1.1a62633145c07p-54;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// |x| = (quadrant + 4 i) pi / 2 + r with |r| <= pi / 4, for x in f32, without branches: the
/// bits of 2 / pi that matter for the exponent of x, times its 24 bits, modulo 4 (Payne and
/// Hanek, "Radian reduction for trigonometric functions", 1983). Where x is infinite or NaN
/// they are any numbers.
struct Quarters {
  Value r;        ///< f64; 2^-52 of it is wrong at most
  Value quadrant; ///< i32, the lowest two bits
};

Quarters quartersOf(const Numbers &n, Value x) {
  PatternRewriter &b = n.b;
  Location loc = n.loc;
  Numbers wide = n.doubles();
  auto shl = [&](Value v, Value by) -> Value { return arith::ShLIOp::create(b, loc, v, by); };
  auto shr = [&](Value v, Value by) -> Value { return arith::ShRUIOp::create(b, loc, v, by); };
  auto add = [&](Value v, Value w) -> Value { return arith::AddIOp::create(b, loc, v, w); };
  auto masked = [&](Value v, Value w) -> Value { return arith::AndIOp::create(b, loc, v, w); };
  auto isSet = [&](Value v, int64_t bits) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked(v, n.number(bits)),
                                 n.number(0));
  };
  auto widened = [&](Value v) -> Value { return arith::ExtUIOp::create(b, loc, wide.integer, v); };

  // |x| = m 2^(exponent - 150). From 1/2 on: what is smaller is its own rest.
  Value magnitude = n.abs(x), bits = arith::BitcastOp::create(b, loc, n.integer, magnitude);
  Value exponent = shr(bits, n.number(23));
  Value m = arith::OrIOp::create(b, loc, masked(bits, n.number(0x7fffff)), n.number(0x800000));
  Value offset = arith::SubIOp::create(
      b, loc, arith::MaxSIOp::create(b, loc, exponent, n.number(126)), n.number(126));
  // The 129th exponent is the 128th of twice the number.
  m = shl(m, shr(offset, n.number(7)));
  offset = arith::MinSIOp::create(b, loc, offset, n.number(127));

  // 2 / pi behind 26 zeros, so that bit `offset` is that of weight 2 in 2^(exponent - 150) 2 / pi:
  // bits before it give multiples of 4, as m is an integer.
  static constexpr uint32_t digits[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                        0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  auto word = [&](int64_t i) { return n.number(int32_t(digits[i] << 6 | digits[i + 1] >> 26)); };
  Value second = isSet(offset, 32), third = isSet(offset, 64);
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(n.select(third, n.select(second, word(i + 3), word(i + 2)),
                             n.select(second, word(i + 1), word(i))));
  Value shift = masked(offset, n.number(31));
  auto window = [&](int64_t i) {
    return widened(LLVM::FshlOp::create(b, loc, words[i], words[i + 1], shift));
  };
  // The product modulo 4, the point behind two bits of 64.
  Value wideM = widened(m), w32 = wide.number(32);
  auto times = [&](Value v) -> Value { return arith::MulIOp::create(b, loc, wideM, v); };
  Value product =
      add(add(shl(times(window(0)), w32), times(window(1))), shr(times(window(2)), w32));
  Value rounded = shr(add(product, wide.number(int64_t(1) << 61)), wide.number(62));
  Value rest = arith::SIToFPOp::create(b, loc, wide.full, shl(product, wide.number(2)));
  Value r = wide.mul(rest, wide.real(halfPi * 0x1p-64));

  Value isSmall = n.less(magnitude, 0.5);
  Value quadrant = arith::TruncIOp::create(b, loc, n.integer, rounded);
  return {n.select(isSmall, arith::ExtFOp::create(b, loc, wide.full, magnitude), r),
          n.select(isSmall, n.number(0), quadrant)};
}

/// sin(r) and cos(r) for |r| <= pi / 4, within 2^-37 of themselves (Remez).
struct SineAndCosine {
  Value sine, cosine;
};
SineAndCosine ofQuarter(const Numbers &n, Value r) {
  Value z = n.mul(r, r);
  Value sine = n.polynomial(z, {-0x1.5555554c68a6bp-3, 0x1.11110863b4c2cp-7, -0x1.a00f79c4766bap-13,
                                0x1.6cd0a84f0b880p-19});
  Value cosine = n.polynomial(z, {1, -0.5, 0x1.5555554f48bdap-5, -0x1.6c16b892ba18dp-10,
                                  0x1.a0111c16b7401p-16, -0x1.2429fc2c9d0ecp-22});
  return {n.fma(n.mul(z, r), sine, r), cosine};
}

/// sin, cos and tan of f32, by f64: rounded once, so to say.
template <typename Op> struct Circular : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Numbers n(b, op), wide = n.doubles();
    Location loc = op.getLoc();
    Value x = op.getOperand();
    auto [r, quadrant] = quartersOf(n, x);
    auto [sine, cosine] = ofQuarter(wide, r);
    auto masked = [&](Value v, int64_t bits) -> Value {
      return arith::AndIOp::create(b, loc, v, n.number(bits));
    };
    auto toggled = [&](Value v, Value bits) -> Value {
      return arith::XOrIOp::create(b, loc, v, bits);
    };
    constexpr int64_t signBit = std::numeric_limits<int32_t>::min();
    Value flips = masked(arith::BitcastOp::create(b, loc, n.integer, x), signBit);
    if (std::is_same_v<Op, math::CosOp>) {
      quadrant = arith::AddIOp::create(b, loc, quadrant, n.number(1));
      flips = n.number(0);
    }
    Value isOdd =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked(quadrant, 1), n.number(0));
    Value value;
    if (std::is_same_v<Op, math::TanOp>) {
      value = wide.div(n.select(isOdd, cosine, sine), n.select(isOdd, sine, cosine));
      flips = toggled(flips, arith::ShLIOp::create(b, loc, quadrant, n.number(31)));
    } else {
      value = n.select(isOdd, cosine, sine);
      Value second = arith::ShLIOp::create(b, loc, quadrant, n.number(30));
      flips = toggled(flips, masked(second, signBit));
    }
    Value narrow = arith::TruncFOp::create(b, loc, n.full, value);
    Value bits = toggled(arith::BitcastOp::create(b, loc, n.integer, narrow), flips);
    Value isFinite = n.less(n.abs(x), infinity);
    b.replaceOp(
        op, n.select(isFinite, arith::BitcastOp::create(b, loc, n.full, bits), n.real(notANumber)));
    return success();
  }
};

/// (asin(s) / s - 1) / z for z = s^2 up to 1/4 (Remez; 2^-27 and 2^-55 of the arc).
Value arcSineSeries(const Numbers &n, Value z) {
  if (!n.isDouble)
    return n.polynomial(
        z, {0x1.5555c8p-3, 0x1.3301e4p-4, 0x1.747e4ap-5, 0x1.8c283cp-6, 0x1.596d28p-5});
  return n.polynomial(z, {0x1.5555555555390p-3, 0x1.333333336e801p-4, 0x1.6db6db427a570p-5,
                          0x1.f1c72c3913980p-6, 0x1.6e89f43c2666fp-6, 0x1.1c6be1f3868c5p-6,
                          0x1.c6fdbac2c3755p-7, 0x1.8ec32e9f6a7e1p-7, 0x1.abcd8edfbe86ap-8,
                          0x1.3ff5f4c7a05fep-6, -0x1.09d541a8d86a7p-6, 0x1.056e293085dcbp-5});
}

/// pi / 2 in two parts of the type.
std::pair<double, double> halfPiOf(const Numbers &n) {
  return n.isDouble ? std::pair(halfPi, halfPiRest)
                    : std::pair(double(float(halfPi)), halfPi - float(halfPi));
}

/// asin and acos: up to 1/2 as they are, beyond by asin(x) = pi / 2 - 2 asin(((1 - x) / 2)^0.5).
/// Beyond 1 the root is of a negative number, and NaN.
template <typename Op> struct ArcSine : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand(), a = n.abs(x);
    Value isLarge = n.greater(a, 0.5);
    Value half = n.mul(n.sub(n.real(1), a), n.real(0.5));
    Value z = n.select(isLarge, half, n.mul(x, x));
    Value s = n.select(isLarge, n.sqrt(half), a);
    Value more = n.mul(n.mul(s, z), arcSineSeries(n, z)), arc = n.add(s, more);
    auto [high, low] = halfPiOf(n);
    if (std::is_same_v<Op, math::AsinOp>) {
      // The large parts first: their difference is nearly exact.
      Value fromTop =
          n.sub(n.sub(n.real(high), n.add(s, s)), n.sub(n.add(more, more), n.real(low)));
      b.replaceOp(op, n.signOf(x, n.select(isLarge, fromTop, arc)));
      return success();
    }
    Value isNegative = n.less(x, 0), twice = n.add(arc, arc);
    Value fromMiddle = n.sub(n.real(high), n.sub(n.signOf(x, arc), n.real(low)));
    Value fromLeft = n.sub(n.real(2 * high), n.sub(twice, n.real(2 * low)));
    b.replaceOp(op, n.select(isLarge, n.select(isNegative, fromLeft, twice), fromMiddle));
    return success();
  }
};

/// atan(y / x) in the first octants, for y and x that are not negative, not both 0, not both
/// infinite: of y / x, or of what a turn by pi / 4 or pi / 2 makes of it, so that the tangent
/// is at most that of pi / 8. One division serves all.
Value arcTangent(const Numbers &n, Value y, Value x) {
  constexpr double eighth = 0.41421356237309503, threeEighths = 2.414213562373095;
  Value isSteep = n.compare(arith::CmpFPredicate::OGT, y, n.mul(x, n.real(threeEighths)));
  Value isSlanted = n.compare(arith::CmpFPredicate::OGT, y, n.mul(x, n.real(eighth)));
  Value above = n.select(isSteep, n.neg(x), n.select(isSlanted, n.sub(y, x), y));
  Value below = n.select(isSteep, y, n.select(isSlanted, n.add(y, x), x));
  Value t = n.div(above, below), z = n.mul(t, t);
  Value series =
      n.isDouble
          ? n.polynomial(z, {-0x1.5555555555318p-2, 0x1.999999994975cp-3, -0x1.249249057da0fp-3,
                             0x1.c71c65cfd121fp-4, -0x1.745bc3368d2ecp-4, 0x1.3afc35c58a2aap-4,
                             -0x1.100532c29f913p-4, 0x1.d2552586a5494p-5, -0x1.6518b685dc699p-5,
                             0x1.5c51e8983e0d2p-6})
          : n.polynomial(
                z, {-0x1.55554ap-2, 0x1.999196p-3, -0x1.23b522p-3, 0x1.b1ec30p-4, -0x1.f1ed8cp-5});
  auto [high, low] = halfPiOf(n);
  auto turned = [&](double steep, double slanted) {
    return n.select(isSteep, n.real(steep), n.select(isSlanted, n.real(slanted), n.real(0)));
  };
  // The small parts first.
  Value rest = n.fma(n.mul(t, z), series, turned(low, low / 2));
  return n.add(turned(high, high / 2), n.add(t, rest));
}

struct ArcTangent : OpRewritePattern<math::AtanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::AtanOp op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    Value x = op.getOperand();
    b.replaceOp(op, n.signOf(x, arcTangent(n, n.abs(x), n.real(1))));
    return success();
  }
};

/// atan2(y, x): on the right half plane, mirrored where x is negative. Of two infinities or
/// two zeros the angle is that of ones or of (0, 1). Large and small operands are scaled
/// alike, so that none of their sums is infinite and no quotient is lost.
struct ArcTangent2 : OpRewritePattern<math::Atan2Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Atan2Op op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    Location loc = op.getLoc();
    Value y = n.abs(op.getLhs()), x = n.abs(op.getRhs());
    auto both = [&](double value, Value one) {
      Value are = arith::AndIOp::create(b, loc, n.equal(y, value), n.equal(x, value));
      return n.select(are, n.real(1), one);
    };
    Value plainX = both(0, both(infinity, x)), plainY = y;
    Value infinite = arith::AndIOp::create(b, loc, n.equal(y, infinity), n.equal(x, infinity));
    plainY = n.select(infinite, n.real(1), y);
    double large = n.isDouble ? 0x1p1000 : 0x1p120, down = 0x1p-8;
    Value isLarge =
        arith::OrIOp::create(b, loc, n.greater(plainY, large), n.greater(plainX, large));
    double small = n.isDouble ? 0x1p-900 : 0x1p-90, up = n.isDouble ? 0x1p100 : 0x1p30;
    Value isSmall = arith::AndIOp::create(b, loc, n.less(plainY, small), n.less(plainX, small));
    Value by = n.select(isLarge, n.real(down), n.select(isSmall, n.real(up), n.real(1)));
    Value angle = arcTangent(n, n.mul(plainY, by), n.mul(plainX, by));
    auto [high, low] = halfPiOf(n);
    Value mirrored = n.sub(n.real(2 * high), n.sub(angle, n.real(2 * low)));
    // -0 is on the left, too.
    Value isLeft = n.less(n.signOf(op.getRhs(), n.real(1)), 0);
    Value whole = n.select(isLeft, mirrored, angle);
    // A NaN of either operand is one of the quotient already.
    b.replaceOp(op, n.signOf(op.getLhs(), whole));
    return success();
  }
};

} // namespace

void weir::populateTrigonometricPatterns(RewritePatternSet &patterns) {
  patterns.add<Circular<math::SinOp>, Circular<math::CosOp>, Circular<math::TanOp>,
               ArcSine<math::AsinOp>, ArcSine<math::AcosOp>, ArcTangent, ArcTangent2>(
      patterns.getContext());
}
