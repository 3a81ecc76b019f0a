//===- MathNumbers.h - arithmetic of elementary functions --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the patterns that write functions as polynomials share: they emit straight
// code, scalar or of vectors, which LLVM can make vectors of.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_MATHNUMBERS_H
#define WEIR_COMPILER_CODEGEN_CPU_MATHNUMBERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

namespace weir {

/// Values and constants of the type of an operation on f32 or f64, or vectors of them.
struct Numbers {
  mlir::PatternRewriter &b;
  mlir::Location loc;
  mlir::Type full;
  bool isDouble;
  mlir::Type integer;

  Numbers(mlir::PatternRewriter &b, mlir::Operation *op)
      : Numbers(b, op->getLoc(), op->getResult(0).getType()) {}
  Numbers(mlir::PatternRewriter &b, mlir::Location loc, mlir::Type type)
      : b(b), loc(loc), full(type), isDouble(mlir::getElementTypeOrSelf(full).isF64()),
        integer(withElement(b.getIntegerType(isDouble ? 64 : 32))) {}
  /// The same number of values of another type.
  mlir::Type withElement(mlir::Type element) const {
    auto vector = llvm::dyn_cast<mlir::VectorType>(full);
    return vector ? mlir::Type(vector.clone(element)) : element;
  }
  /// The same number of f64.
  Numbers doubles() const { return Numbers(b, loc, withElement(b.getF64Type())); }
  static bool serve(mlir::Operation *op) {
    mlir::Type element = mlir::getElementTypeOrSelf(op->getResult(0).getType());
    return element.isF32() || element.isF64();
  }

  mlir::Value real(double value) const {
    return constantOf(full, b.getFloatAttr(mlir::getElementTypeOrSelf(full), value));
  }
  mlir::Value number(int64_t value) const {
    auto attribute = b.getIntegerAttr(mlir::getElementTypeOrSelf(integer), value);
    return constantOf(integer, attribute);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) const {
    return mlir::arith::AddFOp::create(b, loc, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) const {
    return mlir::arith::SubFOp::create(b, loc, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) const {
    return mlir::arith::MulFOp::create(b, loc, x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) const {
    return mlir::arith::DivFOp::create(b, loc, x, y);
  }
  mlir::Value neg(mlir::Value x) const { return mlir::arith::NegFOp::create(b, loc, x); }
  mlir::Value abs(mlir::Value x) const { return mlir::math::AbsFOp::create(b, loc, x); }
  mlir::Value sqrt(mlir::Value x) const { return mlir::math::SqrtOp::create(b, loc, x); }
  /// The magnitude of x with the sign of y.
  mlir::Value signOf(mlir::Value y, mlir::Value x) const {
    return mlir::math::CopySignOp::create(b, loc, x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate is, mlir::Value x, mlir::Value y) const {
    return mlir::arith::CmpFOp::create(b, loc, is, x, y);
  }
  mlir::Value less(mlir::Value x, double bound) const {
    return compare(mlir::arith::CmpFPredicate::OLT, x, real(bound));
  }
  mlir::Value greater(mlir::Value x, double bound) const {
    return compare(mlir::arith::CmpFPredicate::OGT, x, real(bound));
  }
  mlir::Value equal(mlir::Value x, double value) const {
    return compare(mlir::arith::CmpFPredicate::OEQ, x, real(value));
  }
  /// coefficients[0] + x coefficients[1] + ..., by Horner's rule.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) const {
    mlir::Value series = real(coefficients.back());
    for (double next : llvm::reverse(coefficients.drop_back()))
      series = fma(series, x, real(next));
    return series;
  }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) const {
    return mlir::math::FmaOp::create(b, loc, x, y, z);
  }
  mlir::Value powerOfTwo(mlir::Value exponent) const {
    mlir::Value biased = mlir::arith::AddIOp::create(b, loc, exponent, number(bias()));
    mlir::Value bits = mlir::arith::ShLIOp::create(b, loc, biased, number(isDouble ? 52 : 23));
    return mlir::arith::BitcastOp::create(b, loc, full, bits);
  }
  int64_t bias() const { return isDouble ? 1023 : 127; }
  /// x, or the bound that it is beyond; NaN stays. One instruction each on x86.
  mlir::Value atMost(mlir::Value x, double high) const {
    return bounded(x, mlir::arith::CmpFPredicate::OLT, high);
  }
  mlir::Value atLeast(mlir::Value x, double low) const {
    return bounded(x, mlir::arith::CmpFPredicate::OGT, low);
  }
  mlir::Value bounded(mlir::Value x, mlir::arith::CmpFPredicate isBeyond, double bound) const {
    mlir::Value limit = real(bound);
    mlir::Value beyond = mlir::arith::CmpFOp::create(b, loc, isBeyond, limit, x);
    return mlir::arith::SelectOp::create(b, loc, beyond, limit, x);
  }

  /// x = k ln 2 + r with |r| <= ln 2 / 2; `exponent` is k as an integer, which is any where x is
  /// NaN.
  struct Reduced {
    mlir::Value r, k, exponent;
  };
  /// |x| is far below 2^22. Added to a number whose last bit is 1, a float is rounded to
  /// an integer, which then stands in its last bits.
  Reduced reduce(mlir::Value x) const {
    double magic = isDouble ? 0x1.8p52 : 0x1.8p23;
    mlir::Value shifted = fma(x, real(1.4426950408889634074), real(magic));
    mlir::Value k = mlir::arith::SubFOp::create(b, loc, shifted, real(magic));
    mlir::Value bits = mlir::arith::BitcastOp::create(b, loc, integer, shifted);
    mlir::Value exponent = mlir::arith::SubIOp::create(
        b, loc, bits,
        number(isDouble ? llvm::bit_cast<int64_t>(magic) : llvm::bit_cast<int32_t>(float(magic))));
    mlir::Value minusK = mlir::arith::NegFOp::create(b, loc, k);
    return {fma(minusK, real(lowLn2()), fma(minusK, real(highLn2()), x)), k, exponent};
  }
  /// ln 2 in two parts, the first with so few bits that k times it is exact.
  double highLn2() const { return isDouble ? 0x1.62e42fee00000p-1 : 0x1.62e4p-1; }
  double lowLn2() const { return isDouble ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cf79abcap-20; }
  /// x 2^k in two steps, as 2^k alone may not be a number: what is below the smallest
  /// normal one is rounded once. (AVX-512 has an instruction for both steps, but it takes
  /// a hundred cycles where a result is no normal number.)
  mlir::Value scale(mlir::Value x, mlir::Value exponent) const {
    int64_t position = isDouble ? 52 : 23;
    mlir::Value one = number(bias() << position);
    auto left = [&](int64_t by) -> mlir::Value {
      return mlir::arith::ShLIOp::create(b, loc, exponent, number(by));
    };
    auto powerOf = [&](mlir::Value shifted) -> mlir::Value {
      return mlir::arith::BitcastOp::create(b, loc, full,
                                            mlir::arith::AddIOp::create(b, loc, shifted, one));
    };
    mlir::Value half =
        mlir::arith::AndIOp::create(b, loc, left(position - 1), number(-(int64_t(1) << position)));
    mlir::Value other = mlir::arith::SubIOp::create(b, loc, left(position), half);
    return mlir::arith::MulFOp::create(
        b, loc, mlir::arith::MulFOp::create(b, loc, x, powerOf(half)), powerOf(other));
  }
  /// 2^by exp(x), within 1 ULP also where exp(x) alone is no number. Where x is below
  /// what gives a number beside 0 it gives 0.
  mlir::Value exp(mlir::Value x, int64_t by = 0) const {
    // What lies above gives infinity all the same. What lies below gives 0, and is not
    // computed: a result that is too small for a normal number takes x86 a hundred
    // cycles, and masks make many.
    mlir::Value isNothing = less(x, isDouble ? -746 : -104);
    mlir::Value some = select(isNothing, real(0), x);
    auto reduced = reduce(atMost(some, isDouble ? 711 : 91));
    mlir::Value exponent = reduced.exponent;
    if (by)
      exponent = mlir::arith::AddIOp::create(b, loc, exponent, number(by));
    mlir::Value value = scale(series(reduced.r), exponent);
    return select(isNothing, real(0), value);
  }
  /// The same bits by `instruction`, which multiplies vectors by 2^k, given as k, in one step, and
  /// leaves alone what a mask takes out, with the hundred cycles.
  mlir::Value exp(mlir::Value x, llvm::StringRef instruction) const {
    return scaledExp(x, atMost(x, isDouble ? 711 : 91), isDouble ? -746 : -104, instruction);
  }
  /// exp(x) of what is 0 at most, or NaN: within 1 ULP, and 0 below the smallest normal number.
  /// `instruction`: as above, empty where there is none.
  mlir::Value expOfSoftmax(mlir::Value x, llvm::StringRef instruction) const {
    double logOfSmallest = isDouble ? -708.39 : -87.33;
    if (!instruction.empty())
      return scaledExp(x, x, logOfSmallest, instruction);
    mlir::Value isNothing = less(x, logOfSmallest);
    auto reduced = reduce(select(isNothing, real(0), x));
    mlir::Value value = mul(series(reduced.r), powerOfTwo(reduced.exponent));
    return select(isNothing, real(0), value);
  }
  /// exp(r) in f32 by the polynomial of degree 6 whose largest relative error for
  /// |r| <= ln 2 / 2 is smallest (Remez's exchange; 2^-28.1), the first two coefficients 1.
  mlir::Value smallExp(mlir::Value r) const {
    mlir::Value series = real(0x1.6a23dp-10);
    for (double next : {0x1.123a2p-7, 0x1.5558f2p-5, 0x1.555492p-3, 0x1.fffffcp-2, 1.0, 1.0})
      series = fma(series, r, real(next));
    return series;
  }
  /// sum of x^(i - first) / i! for i from `first` to `last`.
  mlir::Value factorials(mlir::Value x, int first, int last) const {
    double factorial = 1;
    for (int i = 2; i <= last; ++i)
      factorial *= i;
    mlir::Value series = real(1 / factorial);
    for (int i = last; i > first; --i) {
      factorial /= i;
      series = fma(series, x, real(1 / factorial));
    }
    return series;
  }

private:
  /// exp(r) for |r| <= ln 2 / 2.
  mlir::Value series(mlir::Value r) const { return isDouble ? factorials(r, 0, 13) : smallExp(r); }
  /// exp(bounded) by `instruction`, of a vector; 0 where x is below `least`.
  mlir::Value scaledExp(mlir::Value x, mlir::Value bounded, double least,
                        llvm::StringRef instruction) const {
    mlir::Value isSome = compare(mlir::arith::CmpFPredicate::UGE, x, real(least));
    Reduced reduced = reduce(bounded);
    // Masks of fewer elements are bytes, too.
    int64_t lanes = llvm::cast<mlir::VectorType>(full).getNumElements();
    int64_t bits = std::max<int64_t>(lanes, 8);
    if (lanes < bits) {
      mlir::Value none = mlir::arith::ConstantOp::create(
          b, loc, b.getZeroAttr(mlir::VectorType::get({bits}, b.getI1Type())));
      isSome = mlir::vector::InsertStridedSliceOp::create(
          b, loc, isSome, none, llvm::ArrayRef<int64_t>{0}, llvm::ArrayRef<int64_t>{1});
    }
    mlir::Type word = mlir::VectorType::get({1}, b.getIntegerType(bits));
    mlir::Value mask = mlir::vector::ExtractOp::create(
        b, loc, mlir::vector::BitCastOp::create(b, loc, word, isSome), llvm::ArrayRef<int64_t>{0});
    llvm::SmallVector<mlir::Value> operands{series(reduced.r), reduced.k, real(0), mask};
    constexpr int32_t ownRounding = 4; // the thread's; narrower vectors have no other
    if (lanes * (isDouble ? 64 : 32) == 512)
      operands.push_back(mlir::arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(ownRounding)));
    return mlir::LLVM::CallIntrinsicOp::create(b, loc, full, b.getStringAttr(instruction), operands)
        ->getResult(0);
  }
  mlir::Value constantOf(mlir::Type type, mlir::TypedAttr attribute) const {
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      attribute = mlir::SplatElementsAttr::get(vector, attribute);
    return mlir::arith::ConstantOp::create(b, loc, attribute);
  }
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_MATHNUMBERS_H
