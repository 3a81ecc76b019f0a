//===- StepSizes.cpp - what a step computes of sizes -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every layer of a model asks anew whether sizes fit that it has from the layer before.
// One walk along a block, in which operations fold and equal ones are one at the same
// time, sees through all of that; patterns would need a round for each layer.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/host/StepLowering.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace weir;

namespace {

struct SameOperation : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *x, const Operation *y) {
    if (x == y || x == getEmptyKey() || x == getTombstoneKey() || y == getEmptyKey() ||
        y == getTombstoneKey())
      return x == y;
    return OperationEquivalence::isEquivalentTo(const_cast<Operation *>(x),
                                                const_cast<Operation *>(y),
                                                OperationEquivalence::IgnoreLocations);
  }
};

class SizeFolder {
public:
  explicit SizeFolder(Block &block) : block(block) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto require = dyn_cast<plan::RequireOp>(op)) {
        Value condition = require.getCondition();
        if (matchPattern(condition, m_One()) || !required.insert(condition).second)
          op.erase();
        continue;
      }
      bool isSize = isa<memref::DimOp, plan::PaddedBytesOp>(op) ||
                    isa_and_nonnull<arith::ArithDialect>(op.getDialect());
      if (isSize && op.getNumResults() == 1 && isPure(&op))
        fold(&op);
    }
  }

private:
  void fold(Operation *op) {
    Value result = op->getResult(0);
    if (op->use_empty())
      return op->erase();
    if (!isa<arith::ConstantOp>(op)) {
      SmallVector<OpFoldResult> folded;
      Value known;
      if (std::optional<bool> truth = comparedToNegative(op))
        known = constant(op, OpBuilder(op).getBoolAttr(*truth));
      else if (succeeded(op->fold(folded)) && folded.size() == 1)
        known = isa<Value>(folded[0]) ? cast<Value>(folded[0])
                                      : constant(op, cast<TypedAttr>(cast<Attribute>(folded[0])));
      if (known && known != result) {
        result.replaceAllUsesWith(known);
        return op->erase();
      }
    }
    auto [same, isNew] = seen.insert(op);
    if (isNew)
      return;
    result.replaceAllUsesWith((*same)->getResult(0));
    op->erase();
  }

  Value constant(Operation *at, TypedAttr value) {
    OpBuilder b(at);
    auto made = arith::ConstantOp::create(b, at->getLoc(), value);
    auto [same, isNew] = seen.insert(made);
    if (isNew)
      return made;
    made.erase();
    return (*same)->getResult(0);
  }

  /// Of a comparison of a size with a number below it in any case: its result.
  static std::optional<bool> comparedToNegative(Operation *op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    APInt bound;
    if (!compare || !matchPattern(compare.getRhs(), m_ConstantInt(&bound)) ||
        !isSizeOrMore(compare.getLhs(), 0))
      return std::nullopt;
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::slt:
      return bound.isNonPositive() ? std::optional(false) : std::nullopt;
    case arith::CmpIPredicate::sge:
      return bound.isNonPositive() ? std::optional(true) : std::nullopt;
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::ne:
      return bound.isNegative() ? std::optional(true) : std::nullopt;
    case arith::CmpIPredicate::sle:
    case arith::CmpIPredicate::eq:
      return bound.isNegative() ? std::optional(false) : std::nullopt;
    default:
      return std::nullopt;
    }
  }

  /// Whether the value is a size of a buffer, or made of such so that none is negative.
  static bool isSizeOrMore(Value value, int depth) {
    constexpr int deepest = 8;
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return number.isNonNegative();
    Operation *def = value.getDefiningOp();
    if (!def || depth == deepest)
      return false;
    if (isa<memref::DimOp>(def))
      return true;
    auto isOperand = [&](Value operand) { return isSizeOrMore(operand, depth + 1); };
    if (isa<arith::MinSIOp>(def))
      return llvm::all_of(def->getOperands(), isOperand);
    if (isa<arith::MaxSIOp>(def))
      return llvm::any_of(def->getOperands(), isOperand);
    if (isa<arith::SelectOp>(def))
      return llvm::all_of(def->getOperands().drop_front(), isOperand);
    return isa<arith::IndexCastOp>(def) && value.getType().isInteger(64) &&
           isOperand(def->getOperand(0));
  }

  Block &block;
  llvm::DenseSet<Operation *, SameOperation> seen;
  llvm::DenseSet<Value> required;
};

} // namespace

void weir::foldSizes(func::FuncOp step) {
  for (Block &block : step.getBody())
    SizeFolder(block).run();
}
