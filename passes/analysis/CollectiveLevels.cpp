//===- CollectiveLevels.cpp - what waits for which collectives ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/CollectiveLevels.h"

#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"

using namespace mlir;
using namespace weir;

namespace {

/// The numbers of a block's operations, in its order.
class Levels {
public:
  explicit Levels(llvm::function_ref<bool(Operation *)> isCollective)
      : isCollective(isCollective) {}

  int64_t add(Operation *op) {
    int64_t level = 0;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        level = std::max(level, behind.lookup(operand));
      level = std::max(level, levelOfEffects(inner));
    });
    int64_t then = level + isCollective(op);
    for (Value result : op->getResults())
      if (!isa<ResourceType>(result.getType()))
        behind[result] = then;
    op->walk([&](Operation *inner) { noteEffects(inner, then); });
    return level;
  }

private:
  static VariableOp variableAt(Value value) { return value.getDefiningOp<VariableOp>(); }
  static std::pair<StringRef, StringRef> keyOf(VariableOp variable) {
    return {variable.getContainer(), variable.getName()};
  }
  /// The variable that a read or an assignment is about; null: another effect, or none.
  static VariableOp variableOf(Operation *op) {
    if (auto read = dyn_cast<VariableReadOp>(op))
      return variableAt(read.getResource());
    if (auto assign = dyn_cast<VariableAssignOp>(op))
      return variableAt(assign.getResource());
    return {};
  }
  static bool hasOtherEffect(Operation *op) {
    // An assertion orders nothing.
    return !isa<AssertOp, VariableReadOp>(op) && !isMemoryEffectFree(op) && !variableOf(op) &&
           op->getNumRegions() == 0;
  }

  int64_t levelOfEffects(Operation *op) {
    if (VariableOp variable = variableOf(op)) {
      int64_t level = written.lookup(keyOf(variable));
      return isa<VariableAssignOp>(op) ? std::max(level, read.lookup(keyOf(variable))) : level;
    }
    return hasOtherEffect(op) ? others : 0;
  }
  void noteEffects(Operation *op, int64_t level) {
    auto raise = [&](int64_t &to) { to = std::max(to, level); };
    if (VariableOp variable = variableOf(op))
      raise((isa<VariableAssignOp>(op) ? written : read)[keyOf(variable)]);
    else if (hasOtherEffect(op))
      raise(others);
  }

  llvm::function_ref<bool(Operation *)> isCollective;
  DenseMap<Value, int64_t> behind;
  DenseMap<std::pair<StringRef, StringRef>, int64_t> read, written;
  int64_t others = 0;
};

} // namespace

void weir::sortByCollectives(Block &block, llvm::function_ref<bool(Operation *)> isCollective) {
  Levels levels(isCollective);
  SmallVector<std::pair<int64_t, Operation *>> order;
  for (Operation &op : block.without_terminator())
    order.emplace_back(levels.add(&op), &op);
  llvm::stable_sort(order, llvm::less_first());
  Operation *end = block.getTerminator();
  for (auto &[level, op] : order)
    op->moveBefore(end);
}
