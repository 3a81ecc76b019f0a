//===- FloatRemainder.cpp - remainders of floats --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C library's fmod takes off the quotient bit by bit, one element at a time. A remainder of
// f64 by b, r - q b, is exact wherever it has as few bits as that. Of f32, b has 24: with q the 53
// leading bits of r / b what is left is a multiple of q's last bit times b's, and less than four
// of q's last bits times b. So each step takes 51 bits off the quotient, of which f32 has 277 at
// most, f16 40; the last one leaves a rest that is off by b at most. Of f64 one such step is exact
// where the quotient has no more than 53 bits, which it nearly always has.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MathFunctions.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace {

constexpr int stepsOfHalves = 1, stepsOfFloats = 6;

/// Remainders of magnitudes, in f64.
class Doubles {
public:
  Doubles(PatternRewriter &b, Location loc, Type type) : b(b), loc(loc), type(type) {}

  Value number(double value) {
    TypedAttr one = b.getFloatAttr(b.getF64Type(), value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      one = DenseElementsAttr::get(shaped, Attribute(one));
    return arith::ConstantOp::create(b, loc, one);
  }
  Value below(Value x, Value y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  /// `rest` without the whole part of `quotient` times `divisor`.
  Value without(Value rest, Value quotient, Value divisor) {
    Value whole = math::TruncOp::create(b, loc, quotient);
    return math::FmaOp::create(b, loc, whole, arith::NegFOp::create(b, loc, divisor), rest);
  }
  /// What is off by `divisor` at most, with the sign of `left`.
  Value inRange(Value rest, Value divisor, Value left) {
    Value more = arith::AddFOp::create(b, loc, rest, divisor);
    rest = select(below(rest, number(0)), more, rest);
    Value less = arith::SubFOp::create(b, loc, rest, divisor);
    rest = select(below(rest, divisor), rest, less);
    return math::CopySignOp::create(b, loc, rest, left);
  }

private:
  PatternRewriter &b;
  Location loc;
  Type type;
};

bool isOfHalf(Value value) {
  auto widened = value.getDefiningOp<arith::ExtFOp>();
  return widened && getElementTypeOrSelf(widened.getIn()).isF16();
}

struct RemainderOfFloats : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::RemFOp op, PatternRewriter &b) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    Location loc = op.getLoc();
    Type wide = b.getF64Type();
    if (auto shaped = dyn_cast<ShapedType>(type))
      wide = shaped.clone(wide);
    Doubles d(b, loc, wide);
    Value left = arith::ExtFOp::create(b, loc, wide, op.getLhs());
    Value right = arith::ExtFOp::create(b, loc, wide, op.getRhs());
    Value rest = math::AbsFOp::create(b, loc, left);
    Value divisor = math::AbsFOp::create(b, loc, right);
    // Beyond all of f32, so that nothing is taken off; infinity would make NaN.
    Value most = d.number(0x1p200);
    divisor = d.select(d.below(most, divisor), most, divisor);
    Value inverse = d.div(d.number(1), divisor);
    int steps = isOfHalf(op.getLhs()) && isOfHalf(op.getRhs()) ? stepsOfHalves : stepsOfFloats;
    for (int i = 0; i < steps; ++i)
      rest = d.without(rest, d.mul(rest, inverse), divisor);
    b.replaceOpWithNewOp<arith::TruncFOp>(op, type, d.inRange(rest, divisor, left));
    return success();
  }
};

struct RemainderOfDoubles : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::RemFOp op, PatternRewriter &b) const override {
    if (!op.getType().isF64())
      return failure();
    Location loc = op.getLoc();
    Doubles d(b, loc, op.getType());
    Value rest = math::AbsFOp::create(b, loc, op.getLhs());
    Value divisor = math::AbsFOp::create(b, loc, op.getRhs());
    Value quotient = d.div(rest, divisor);
    // Of infinities and NaN neither holds, nor of a divisor of 0.
    Value isShort =
        arith::AndIOp::create(b, loc, d.below(quotient, d.number(0x1p53)),
                              d.below(divisor, d.number(std::numeric_limits<double>::infinity())));
    auto either = scf::IfOp::create(b, loc, op.getType(), isShort, /*withElseRegion=*/true);
    b.setInsertionPointToStart(&either.getThenRegion().front());
    rest = d.inRange(d.without(rest, quotient, divisor), divisor, op.getLhs());
    scf::YieldOp::create(b, loc, rest);
    b.setInsertionPointToStart(&either.getElseRegion().front());
    // As a call, not as LLVM's instruction, which would be computed of all elements.
    auto called = LLVM::CallOp::create(b, loc, fmodIn(op->getParentOfType<ModuleOp>(), b),
                                       ValueRange{op.getLhs(), op.getRhs()});
    scf::YieldOp::create(b, loc, called.getResult());
    b.replaceOp(op, either);
    return success();
  }

private:
  static LLVM::LLVMFuncOp fmodIn(ModuleOp module, PatternRewriter &b) {
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>("fmod"))
      return known;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Type f64 = b.getF64Type();
    return LLVM::LLVMFuncOp::create(b, module.getLoc(), "fmod",
                                    LLVM::LLVMFunctionType::get(f64, {f64, f64}));
  }
};

} // namespace

void weir::populateFloatRemainderPatterns(RewritePatternSet &patterns) {
  patterns.add<RemainderOfFloats, RemainderOfDoubles>(patterns.getContext());
}
