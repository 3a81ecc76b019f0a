//===- ControlOps.cpp - control flow, order, effects ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"

using namespace mlir;
using namespace weir;

/// Checks a scalar i1 tensor.
static bool isScalarBool(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && tensor.getElementType().isInteger(1) &&
         (!tensor.hasRank() || tensor.getRank() == 0);
}

/// Checks what a region yields against `types`; `what` names both in the error.
static LogicalResult verifyYield(Operation *op, Region &region, TypeRange types, StringRef what) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield)
    return op->emitOpError(what) << " must end with weir.yield";
  TypeRange yielded = yield.getResults().getTypes();
  if (yielded.size() != types.size())
    return op->emitOpError(what) << " yields " << yielded.size() << " values, wanted are "
                                 << types.size();
  for (auto [i, have, want] : llvm::enumerate(yielded, types))
    if (have != want && (!isa<TensorType>(have) || !isa<TensorType>(want) ||
                         !weir::detail::areCompatibleTypes(have, want)))
      return op->emitOpError(what)
             << " yields " << have << " as value " << i << ", wanted is " << want;
  return success();
}

LogicalResult IfOp::verify() {
  if (!isScalarBool(getCondition().getType()))
    return emitOpError("condition must be a scalar of i1, found ") << getCondition().getType();
  if (failed(verifyYield(*this, getThenRegion(), getResultTypes(), "first region")))
    return failure();
  return verifyYield(*this, getElseRegion(), getResultTypes(), "second region");
}

LogicalResult WhileOp::verify() {
  TypeRange types = getInits().getTypes();
  if (types.size() != getResultTypes().size())
    return emitOpError("carries ")
           << types.size() << " values and has " << getResultTypes().size() << " results";
  // The carried values have one type each, which initial values may refine.
  for (auto [i, have, want] : llvm::enumerate(types, getResultTypes()))
    if (have != want && (!isa<TensorType>(have) || !isa<TensorType>(want) ||
                         !weir::detail::areCompatibleTypes(have, want)))
      return emitOpError("value ") << i << " begins as " << have << " and ends as " << want;
  for (Region *region : {&getCondition(), &getBody()}) {
    StringRef what = region == &getCondition() ? "condition" : "body";
    if (TypeRange(region->getArgumentTypes()) != TypeRange(getResultTypes()))
      return emitOpError(what) << " must take the carried values, in their types";
  }
  auto yield = dyn_cast<YieldOp>(getCondition().front().getTerminator());
  if (!yield || yield.getResults().size() != 1 || !isScalarBool(yield.getResults()[0].getType()))
    return emitOpError("condition must yield one scalar of i1");
  return verifyYield(*this, getBody(), getResultTypes(), "body");
}

namespace {
/// A condition that is known: the region stands in the place of the operation.
struct KnownCondition : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    auto known = constantIntegers(op.getCondition());
    if (!known || known->size() != 1)
      return failure();
    Region &region = known->front() ? op.getThenRegion() : op.getElseRegion();
    auto yield = cast<YieldOp>(region.front().getTerminator());
    if (TypeRange(yield.getResults().getTypes()) != TypeRange(op.getResultTypes()))
      return failure(); // a refined type, which users would see
    SmallVector<Value> results(yield.getResults());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&region.front(), op);
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void IfOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<KnownCondition>(context);
}

void CustomCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!getPure()) {
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
}
