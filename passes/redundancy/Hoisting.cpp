//===- Hoisting.cpp - what need not be inside of a region -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/redundancy/Hoisting.h"
#include "dialects/weir/Pch.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weir;
using namespace weir::redundancy;

static std::optional<int64_t> elementCount(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return std::nullopt;
  return tensor.getNumElements();
}

/// Whether running `op` can record no error, whatever its operands hold.
static bool cannotFail(Operation *op) {
  auto isStatic = [](Type type) { return elementCount(type).has_value(); };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic) && !canFail(op);
}

/// Whether computing `op` once is worth a buffer that lives through the loop.
static bool isWorthMoving(Operation *op) {
  if (op->hasTrait<traits::CheapToRepeat>())
    return false;
  auto elemental = dyn_cast<ElementalOpInterface>(op);
  if (!elemental || elemental.isElementExpensive())
    return true;
  // What blows its operands up is cheaper to compute where it is used.
  std::optional<int64_t> largest = 0;
  for (Type type : op->getOperandTypes()) {
    auto count = elementCount(type);
    largest = count && largest ? std::optional(std::max(*largest, *count)) : std::nullopt;
  }
  for (Type type : op->getResultTypes()) {
    auto count = elementCount(type);
    if (count && largest && *count > *largest)
      return false;
  }
  return true;
}

/// What takes or makes tokens and resources is order and state, and stays.
static bool isMovable(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  return op->getNumRegions() == 0 && op->getNumResults() > 0 && isMemoryEffectFree(op) &&
         !isa<ConstantOp, GateOp>(op) && llvm::all_of(op->getOperandTypes(), isTensor) &&
         llvm::all_of(op->getResultTypes(), isTensor);
}

namespace {
class Hoister {
public:
  explicit Hoister(function_ref<void(Operation *)> moved) : moved(moved) {}

  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
      if (auto loop = dyn_cast<WhileOp>(op)) {
        // The condition is always asked, the body perhaps never run.
        moveInvariants(loop, loop.getCondition().front(), /*alwaysRuns=*/true);
        moveInvariants(loop, loop.getBody().front(), /*alwaysRuns=*/false);
      } else if (auto conditional = dyn_cast<IfOp>(op)) {
        moveCommon(conditional);
      }
    }
  }

private:
  static bool isOutside(Operation *op, Value value) {
    return !op->isAncestor(value.getParentBlock()->getParentOp());
  }

  void moveInvariants(WhileOp loop, Block &block, bool alwaysRuns) {
    llvm::SetVector<Operation *> invariant;
    for (Operation &op : block) {
      if (isa<ConstantOp>(op)) {
        invariant.insert(&op);
        continue;
      }
      bool pure = isMovable(&op);
      if (pure && (alwaysRuns || cannotFail(&op)) &&
          llvm::all_of(op.getOperands(), [&](Value operand) {
            return isOutside(loop, operand) || invariant.contains(operand.getDefiningOp());
          }))
        invariant.insert(&op);
      // Behind an effect an error would come too early.
      alwaysRuns &= isMemoryEffectFree(&op);
    }
    // With what is worth it goes all that it is made of.
    llvm::SetVector<Operation *> wanted;
    for (Operation *op : llvm::reverse(invariant)) {
      if (!wanted.contains(op) && !isWorthMoving(op))
        continue;
      wanted.insert(op);
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp(); invariant.contains(def))
          wanted.insert(def);
    }
    for (Operation *op : invariant)
      if (wanted.contains(op)) {
        op->moveBefore(loop);
        if (!isa<ConstantOp>(op))
          moved(op);
      }
  }

  void moveCommon(IfOp conditional) {
    using Equivalence = OperationEquivalence;
    auto movable = [&](Operation &op) {
      return isMovable(&op) && cannotFail(&op) &&
             llvm::all_of(op.getOperands(), [&](Value v) { return isOutside(conditional, v); });
    };
    for (bool again = true; again;) {
      again = false;
      llvm::MapVector<size_t, SmallVector<Operation *>> others;
      for (Operation &op : conditional.getElseRegion().front())
        if (movable(op))
          others[Equivalence::computeHash(&op, Equivalence::directHashValue,
                                          Equivalence::ignoreHashValue,
                                          Equivalence::IgnoreLocations)]
              .push_back(&op);
      for (Operation &op : llvm::make_early_inc_range(conditional.getThenRegion().front())) {
        if (!movable(op))
          continue;
        auto it = others.find(Equivalence::computeHash(&op, Equivalence::directHashValue,
                                                       Equivalence::ignoreHashValue,
                                                       Equivalence::IgnoreLocations));
        if (it == others.end())
          continue;
        auto other = llvm::find_if(it->second, [&](Operation *candidate) {
          return Equivalence::isEquivalentTo(&op, candidate, Equivalence::IgnoreLocations);
        });
        if (other == it->second.end())
          continue;
        op.moveBefore(conditional);
        (*other)->replaceAllUsesWith(&op);
        (*other)->erase();
        it->second.erase(other);
        moved(&op);
        again = true;
      }
    }
  }

  function_ref<void(Operation *)> moved;
};
} // namespace

void redundancy::hoist(func::FuncOp function, function_ref<void(Operation *)> moved) {
  Hoister hoister(moved);
  for (Block &block : function.getBody())
    hoister.visit(block);
}

/// The carried values that the loop's results, its condition, or effects of its body depend on.
static llvm::BitVector neededCarried(WhileOp loop) {
  Block &condition = loop.getCondition().front(), &body = loop.getBody().front();
  Operation *yield = body.getTerminator();
  llvm::BitVector needed(loop.getNumResults());
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> work;
  std::function<void(Value)> need = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &body) {
      unsigned i = argument.getArgNumber();
      if (needed[i])
        return;
      needed.set(i);
      return need(yield->getOperand(i));
    }
    Operation *op = value.getDefiningOp();
    op = op ? body.findAncestorOpInBlock(*op) : nullptr;
    if (op && seen.insert(op).second)
      work.push_back(op);
  };
  for (Operation &op : body.without_terminator())
    if (!isMemoryEffectFree(&op) && seen.insert(&op).second)
      work.push_back(&op);
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (!loop.getResult(i).use_empty() || !condition.getArgument(i).use_empty() ||
        !isa<TensorType>(loop.getResult(i).getType()))
      need(body.getArgument(i));
  while (!work.empty())
    work.pop_back_val()->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        need(operand);
    });
  return needed;
}

bool redundancy::dropUnusedCarried(func::FuncOp function) {
  SmallVector<WhileOp> loops;
  function.walk([&](WhileOp loop) { loops.push_back(loop); });
  bool changed = false;
  for (WhileOp loop : loops) {
    Block &condition = loop.getCondition().front(), &body = loop.getBody().front();
    Operation *yield = body.getTerminator();
    llvm::BitVector unused = neededCarried(loop).flip();
    if (unused.none())
      continue;
    changed = true;
    // What only they are made of goes with them.
    for (unsigned i : unused.set_bits())
      yield->setOperand(i, body.getArgument(i));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    SmallVector<Value> inits, results;
    SmallVector<Type> types;
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (!unused[i]) {
        inits.push_back(loop.getInits()[i]);
        types.push_back(loop.getResult(i).getType());
        results.push_back(loop.getResult(i));
      }
    yield->eraseOperands(unused);
    condition.eraseArguments(unused);
    body.eraseArguments(unused);
    OpBuilder b(loop);
    auto smaller = WhileOp::create(b, loop.getLoc(), types, inits);
    smaller->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    smaller.getCondition().takeBody(loop.getCondition());
    smaller.getBody().takeBody(loop.getBody());
    for (auto [from, to] : llvm::zip(results, smaller.getResults()))
      from.replaceAllUsesWith(to);
    loop.erase();
  }
  return changed;
}
