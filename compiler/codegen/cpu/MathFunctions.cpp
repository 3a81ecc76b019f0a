//===- MathFunctions.cpp - functions as polynomials --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MathFunctions.h"
#include "compiler/codegen/cpu/MathNumbers.h"
#include "dialects/weir/Exponentials.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace weir;

namespace {

/// log(1 + x) by the logarithm of u, the rounded 1 + x, and by what rounding lost: its first
/// order, (x - (u - 1)) / u, is enough.
struct PreciseLog1p : OpRewritePattern<math::Log1pOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Log1pOp op, PatternRewriter &b) const override {
    Numbers n(b, op);
    Value x = op.getOperand(), one = n.real(1);
    Value u = n.add(x, one);
    Value lost = n.div(n.sub(x, n.sub(u, one)), u);
    // Of 0 the logarithm says all.
    lost = n.select(n.greater(u, 0), lost, n.real(0));
    Value value = n.add(math::LogOp::create(b, op.getLoc(), u), lost);
    // Too small to move the 1, or infinite.
    Value infinite = n.equal(u, std::numeric_limits<double>::infinity());
    Value is = arith::OrIOp::create(b, op.getLoc(), n.equal(u, 1), infinite);
    b.replaceOp(op, n.select(is, x, value));
    return success();
  }
};

/// exp(x) = 2^k exp(r), with exp(r) in f64 by its Taylor series, whose rest is below a
/// third of an ULP. Within 1 ULP in f32 and f64.
struct PreciseExp : OpRewritePattern<math::ExpOp> {
  PreciseExp(MLIRContext *context, bool scalesVectors)
      : OpRewritePattern(context), scalesVectors(scalesVectors) {}
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &b) const override {
    if (!Numbers::serve(op))
      return failure();
    Numbers n(b, op);
    std::string instruction = scaling(op.getType());
    Value x = op.getOperand();
    b.replaceOp(op, op->hasAttr(ofSoftmaxAttribute) ? n.expOfSoftmax(x, instruction)
                    : instruction.empty()           ? n.exp(x)
                                                    : n.exp(x, instruction));
    return success();
  }

private:
  /// The instruction that scales vectors of `type`, or nothing.
  std::string scaling(Type type) const {
    auto vector = dyn_cast<VectorType>(type);
    if (!scalesVectors || !vector || vector.getRank() != 1 || vector.isScalable())
      return {};
    bool isDouble = vector.getElementType().isF64();
    int64_t bits = vector.getNumElements() * (isDouble ? 64 : 32);
    if (bits != 512 && bits != 256 && bits != 128)
      return {};
    return ("llvm.x86.avx512.mask.scalef." + Twine(isDouble ? "pd." : "ps.") + Twine(bits)).str();
  }

  bool scalesVectors;
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
  explicit ApproximateMath(bool scalesVectors) : scalesVectors(scalesVectors) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<vector::VectorDialect, LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(
        patterns, [](StringRef name) { return name == "tanh" || name == "math.tanh"; });
    patterns.add<PreciseLog, PreciseLog1p, PreciseExpm1>(&getContext());
    patterns.add<PreciseExp>(&getContext(), scalesVectors);
    populateTrigonometricPatterns(patterns);
    populateHyperbolicPatterns(patterns);
    populateBoundedPatterns(patterns);
    populateIntegerDivisionPatterns(patterns);
    populateFloatRemainderPatterns(patterns);
    // What makes no function is left alone: a look at all of a module's code costs more
    // than what is done here.
    SmallVector<Operation *> functions;
    getOperation().walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) ||
          isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::RemFOp>(op))
        functions.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(functions, std::move(patterns), config)))
      signalPassFailure();
  }

  bool scalesVectors;
};

} // namespace

std::unique_ptr<Pass> weir::createApproximateMath(bool scalesVectors) {
  return std::make_unique<ApproximateMath>(scalesVectors);
}
