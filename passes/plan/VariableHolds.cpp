//===- VariableHolds.cpp - updates that others wait for -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between a read and the assignment of what was made of it, another run may assign the variable,
// and that is lost. Where nothing but one launch, or arithmetic of the host, lies between the two,
// other runs' updates wait. Only what takes no longer is held, and nothing that waits itself for
// what another run may have, but for variables in the order of their slots: no two runs wait for
// each other then.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/plan/VariableUpdates.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

bool isUpdate(Operation *op) { return op->hasAttr(takenAttribute) || op->hasAttr(heldAttribute); }

/// The reads of the updates that are in progress at `op`, the first of them first.
SmallVector<plan::VariableReadOp> updatesAround(Operation *op) {
  SmallVector<plan::VariableReadOp> open;
  for (Operation &before : *op->getBlock()) {
    if (&before == op)
      break;
    if (!isUpdate(&before))
      continue;
    if (auto read = dyn_cast<plan::VariableReadOp>(before))
      open.push_back(read);
    else if (auto assign = dyn_cast<plan::VariableAssignOp>(before))
      llvm::erase_if(open, [&](auto read) { return read.getSlot() == assign.getSlot(); });
  }
  return open;
}

class Holder {
public:
  explicit Holder(Block &block) : block(block) {}

  void run() {
    for (auto assign : llvm::make_early_inc_range(block.getOps<plan::VariableAssignOp>()))
      if (!isUpdate(assign))
        hold(assign);
  }

private:
  /// What the assigned value is made of, as far as it lies in the block.
  void collect(Value value, plan::VariableAssignOp assign) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != &block || !made.insert(def))
      return;
    for (Value operand : def->getOperands())
      collect(operand, assign);
    if (isa<MemRefType>(value.getType()) && !isa<plan::VariableReadOp>(def))
      collectWriters(value, assign);
  }

  void collectWriters(Value buffer, plan::VariableAssignOp assign) {
    for (Operation *user : buffer.getUsers()) {
      Operation *at = block.findAncestorOpInBlock(*user);
      if (isa<memref::DimOp, plan::VariableAssignOp, LoadOp>(user) || !at ||
          !at->isBeforeInBlock(assign) || !made.insert(at))
        continue;
      for (Value operand : at->getOperands())
        collect(operand, assign);
      if (isa<ViewOp>(at))
        collectWriters(at->getResult(0), assign);
    }
  }

  /// The one read of the variable that the value is made of; null: none, or not in one update.
  plan::VariableReadOp readOf(plan::VariableAssignOp assign) {
    made.clear();
    collect(assign.getValue(), assign);
    plan::VariableReadOp found;
    for (Operation *op : made) {
      auto read = dyn_cast<plan::VariableReadOp>(op);
      if (!read || read.getSlot() != assign.getSlot())
        continue;
      if (found || isUpdate(read) || !read->isBeforeInBlock(assign))
        return {};
      found = read;
    }
    return found;
  }

  /// What is to come behind the read: the first of its users that the assigned value is made of.
  /// Sizes that the step knows from it are those of what it reads.
  Operation *firstUser(plan::VariableReadOp read) {
    bool isFixed = cast<MemRefType>(read.getType()).hasStaticShape();
    Operation *first = nullptr;
    for (Operation *user : read->getUsers()) {
      Operation *at = block.findAncestorOpInBlock(*user);
      bool counts = at && (!isFixed || made.contains(at));
      if (counts && (!first || at->isBeforeInBlock(first)))
        first = at;
    }
    return first;
  }

  /// Whether the step goes through `op` without waiting for anything.
  static bool goesOn(Operation &op) {
    return isa<RunOp, BufferOp, AllocOp, FreeOp, FetchOp, ViewOp, LoadOp, StoreOp, CopyOp,
               RequireOp, memref::DimOp>(op) ||
           (op.getNumRegions() == 0 && isMemoryEffectFree(&op));
  }

  /// Whether an update from `begin` on keeps the order of slots. Reads of variables with lower
  /// numbers, which may be written over, are added to `earlier`.
  bool mayHold(Operation *begin, plan::VariableAssignOp assign,
               SmallVectorImpl<Operation *> &earlier) {
    uint64_t slot = assign.getSlot();
    int64_t launches = 0;
    for (Operation *op = begin; op != assign; op = op->getNextNode()) {
      if (auto other = dyn_cast<plan::VariableAssignOp>(op)) {
        if (other.getSlot() == slot || (!isUpdate(other) && other.getSlot() < slot))
          return false;
      } else if (auto other = dyn_cast<plan::VariableReadOp>(op)) {
        if (isUpdate(other) ? other.getSlot() <= slot : false)
          return false;
        if (other.getSlot() < slot)
          earlier.push_back(other);
      } else if (!goesOn(*op))
        return false;
      launches += isa<RunOp>(op);
    }
    return launches <= 1;
  }

  void hold(plan::VariableAssignOp assign) {
    plan::VariableReadOp read = readOf(assign);
    Operation *begin = read ? firstUser(read) : nullptr;
    if (!begin || !begin->isBeforeInBlock(assign))
      return;
    // Between the two nobody else assigns it.
    for (Operation *op = read; op != assign; op = op->getNextNode())
      if (op->getNumRegions() && hasAssignment(op, assign.getSlot()))
        return;
      else if (auto other = dyn_cast<plan::VariableAssignOp>(op);
               other && other.getSlot() == assign.getSlot())
        return;
    // In front of those with higher numbers.
    SmallVector<plan::VariableReadOp> around = updatesAround(begin);
    for (plan::VariableReadOp other : around)
      if (other.getSlot() > assign.getSlot()) {
        begin = other;
        break;
      }
    around = updatesAround(begin);
    SmallVector<Operation *> earlier;
    if (llvm::any_of(around, [&](auto other) { return other.getSlot() >= assign.getSlot(); }) ||
        !mayHold(begin, assign, earlier) || (!earlier.empty() && !around.empty()))
      return;
    for (Operation *op : earlier) {
      uint64_t slot = cast<plan::VariableReadOp>(op).getSlot();
      for (Operation *at = begin; at != op; at = at->getNextNode())
        if (auto other = dyn_cast<plan::VariableAssignOp>(at); other && other.getSlot() == slot)
          return;
    }
    for (Operation *op : earlier)
      op->moveBefore(begin);
    if (cast<MemRefType>(read.getType()).hasStaticShape()) {
      OpBuilder b(begin);
      auto held = plan::VariableReadOp::create(b, assign.getLoc(), read.getType(), read.getSlot(),
                                               assign.getNode());
      read.getResult().replaceUsesWithIf(held.getResult(), [&](OpOperand &use) {
        return made.contains(block.findAncestorOpInBlock(*use.getOwner()));
      });
      if (read->use_empty())
        read->erase();
      read = held;
    } else
      read->moveBefore(begin);
    read->setAttr(heldAttribute, UnitAttr::get(read->getContext()));
    assign->setAttr(heldAttribute, UnitAttr::get(read->getContext()));
  }

  static bool hasAssignment(Operation *op, uint64_t slot) {
    return op
        ->walk([&](plan::VariableAssignOp assign) {
          return assign.getSlot() == slot ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  Block &block;
  llvm::SetVector<Operation *> made; ///< what the assigned value is made of
};

} // namespace

void plan::holdVariables(func::FuncOp function) {
  const DeviceKind *kind = kindAround(function);
  if (kind && kind->keepsVariables())
    return;
  function.walk([](Block *block) { Holder(*block).run(); });
}

Operation *plan::beforeUpdates(Operation *op) {
  SmallVector<plan::VariableReadOp> around = updatesAround(op);
  return around.empty() ? op : around.front().getOperation();
}
