//===- FoldSizes.cpp - one value for sizes that are the same --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"
#include "passes/plan/Passes.h"
#include "passes/plan/SizeBounds.h"
#include <map>

namespace weir {
#define GEN_PASS_DEF_WEIRFOLDSIZESPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Goes through a step once, forwards: operands are final where their user is looked at.
class SizeFolder {
public:
  explicit SizeFolder(func::FuncOp function) : bounds(function) {}

  void visit(Region &region) {
    for (Block &block : region) {
      size_t known = inScope.size();
      for (Operation &op : llvm::make_early_inc_range(block)) {
        for (Region &inner : op.getRegions())
          visit(inner);
        if (auto require = dyn_cast<RequireOp>(op)) {
          if (matchPattern(require.getCondition(), m_One()))
            require.erase();
        } else if (isArithmetic(&op)) {
          fold(&op);
        }
      }
      // What a region computes is not there behind it.
      for (; inScope.size() > known; inScope.pop_back())
        values.erase(inScope.back());
    }
  }

private:
  using Key = std::pair<const void *, SmallVector<const void *, 4>>;

  /// Not of more than 64 bits, as hashes have: no size is.
  static bool isWord(Type type) {
    return type.isIndex() || (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() <= 64);
  }

  static bool isArithmetic(Operation *op) {
    return isa<arith::ArithDialect>(op->getDialect()) && op->getNumResults() == 1 &&
           op->getNumOperands() > 0 && isMemoryEffectFree(op) &&
           llvm::all_of(op->getOperandTypes(), isWord) && isWord(op->getResult(0).getType());
  }

  void fold(Operation *op) {
    if (arith::AddIOp sum = asSum(op)) {
      joinConstants(sum);
      op = sum;
    }
    Value other = simpler(op);
    if (!other) {
      auto [it, isNew] = values.try_emplace(keyOf(op), op->getResult(0));
      if (isNew)
        inScope.push_back(it->first);
      else
        other = it->second;
    }
    if (!other)
      return;
    op->getResult(0).replaceAllUsesWith(other);
    // Bounds may have been asked of it: it goes with what is not used.
  }

  static Key keyOf(Operation *op) {
    Key key{op->getName().getAsOpaquePointer(), {}};
    for (Value operand : op->getOperands())
      key.second.push_back(operandKey(operand));
    key.second.push_back(op->getDiscardableAttrDictionary().getAsOpaquePointer());
    if (Attribute properties = op->getPropertiesAsAttribute())
      key.second.push_back(properties.getAsOpaquePointer());
    key.second.push_back(op->getResult(0).getType().getAsOpaquePointer());
    return key;
  }

  /// Constants of one value are one.
  static const void *operandKey(Value value) {
    Attribute constant;
    return matchPattern(value, m_Constant(&constant)) ? constant.getAsOpaquePointer()
                                                      : value.getAsOpaquePointer();
  }

  /// `op`, or the sum that takes its place: x - a is x + -a.
  static arith::AddIOp asSum(Operation *op) {
    auto difference = dyn_cast<arith::SubIOp>(op);
    if (!difference)
      return dyn_cast<arith::AddIOp>(op);
    std::optional<int64_t> less = getConstantIntValue(difference.getRhs());
    if (!less || *less == INT64_MIN || !difference.getType().isIndex())
      return {};
    OpBuilder b(op);
    Value more = arith::ConstantIndexOp::create(b, op->getLoc(), -*less);
    auto sum = arith::AddIOp::create(b, op->getLoc(), difference.getLhs(), more);
    difference.replaceAllUsesWith(sum.getResult());
    return sum;
  }

  /// (x + a) + b is x + (a + b).
  static void joinConstants(arith::AddIOp sum) {
    auto inner = sum.getLhs().getDefiningOp<arith::AddIOp>();
    std::optional<int64_t> a = inner ? getConstantIntValue(inner.getRhs()) : std::nullopt,
                           b = getConstantIntValue(sum.getRhs());
    int64_t both;
    if (!a || !b || !sum.getType().isIndex() || __builtin_add_overflow(*a, *b, &both))
      return;
    OpBuilder builder(sum);
    sum.getRhsMutable().assign(
        arith::ConstantIndexOp::create(builder, sum.getLoc(), both).getResult());
    sum.getLhsMutable().assign(inner.getLhs());
  }

  /// What `op` computes anyway, if there is such a value; or null.
  Value simpler(Operation *op) {
    OpBuilder b(op);
    if (auto greater = dyn_cast<arith::MaxSIOp>(op)) {
      if (isAtLeast(greater.getLhs(), greater.getRhs()))
        return greater.getLhs();
      if (isAtLeast(greater.getRhs(), greater.getLhs()))
        return greater.getRhs();
    }
    if (auto less = dyn_cast<arith::MinSIOp>(op)) {
      if (isAtLeast(less.getLhs(), less.getRhs()))
        return less.getRhs();
      if (isAtLeast(less.getRhs(), less.getLhs()))
        return less.getLhs();
    }
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      auto predicate = static_cast<intrange::CmpPredicate>(compare.getPredicate());
      if (std::optional<bool> always = intrange::evaluatePred(
              predicate, bounds.rangeOf(compare.getLhs()), bounds.rangeOf(compare.getRhs())))
        return arith::ConstantIntOp::create(b, op->getLoc(), b.getI1Type(), *always);
    }
    // Operands that change places say that there was something to do, and no value.
    SmallVector<OpFoldResult> folded;
    for (int turn = 0; turn < 2 && folded.empty(); ++turn)
      if (failed(op->fold(constantsOf(op), folded)))
        return {};
    if (folded.size() != 1)
      return {};
    if (auto value = dyn_cast<Value>(folded[0]))
      return value;
    auto constant = cast<TypedAttr>(cast<Attribute>(folded[0]));
    return arith::ConstantOp::create(b, op->getLoc(), constant);
  }

  static SmallVector<Attribute> constantsOf(Operation *op) {
    SmallVector<Attribute> constants(op->getNumOperands());
    for (auto [operand, constant] : llvm::zip(op->getOperands(), constants))
      matchPattern(operand, m_Constant(&constant));
    return constants;
  }

  bool isAtLeast(Value a, Value b) {
    return bounds.rangeOf(a).smin().sge(bounds.rangeOf(b).smax());
  }

  SizeBounds bounds;
  std::map<Key, Value> values;
  SmallVector<Key> inScope;
};

struct FoldSizesPass : weir::impl::WeirFoldSizesPassBase<FoldSizesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function->hasAttr("weir_plan.feeds"))
        SizeFolder(function).visit(function.getBody());
  }
};

} // namespace
