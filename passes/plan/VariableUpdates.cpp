//===- VariableUpdates.cpp - new values over old ones ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/VariableUpdates.h"
#include "dialects/weir/OperationFacts.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/PlaceValues.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// The values that a step has read of one variable, all in the same memory as far as is known,
/// and what was written over it.
using Reads = SmallVector<plan::VariableReadOp>;

class Updater {
public:
  Updater(func::FuncOp function, SymbolTable &symbols, InPlaceRuns &inPlace)
      : block(function.getBody().front()), symbols(symbols), inPlace(inPlace) {
    function.walk([&](plan::VariableReadOp read) { reads[read.getSlot()].push_back(read); });
  }

  int64_t run() {
    int64_t copies = 0;
    // In loops and branches assignments stay as they are: what is read before a loop may be
    // read in its next trip.
    for (auto assign : llvm::make_early_inc_range(block.getOps<plan::VariableAssignOp>()))
      copies += update(assign);
    return copies;
  }

private:
  static bool isReadOf(Value buffer, uint64_t slot) {
    while (auto view = buffer.getDefiningOp<ViewOp>())
      buffer = view.getSource();
    auto read = buffer.getDefiningOp<plan::VariableReadOp>();
    return read && read.getSlot() == slot;
  }

  /// Whether nobody reads `value` behind `end`, but `end` itself may; nobody may keep it.
  bool isReadBefore(Value value, Operation *end) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (isa<ViewOp>(user))
        return isReadBefore(user->getResult(0), end);
      Operation *at = block.findAncestorOpInBlock(*user);
      bool isDone = isa<memref::DimOp>(user) || user->hasTrait<plan::traits::UsesAtOnce>();
      return isDone && at && (at == end || at->isBeforeInBlock(end));
    });
  }

  /// Whether one kernel's time is all that lies between the launch and the assignment: no check
  /// on which it hangs, and no other use of the variable.
  bool isFollowedBy(RunOp writer, plan::VariableAssignOp assign) {
    for (Operation *op = writer->getNextNode(); op != assign; op = op->getNextNode()) {
      if (op->getNumRegions() || isa<RequireOp>(op))
        return false;
      auto other = dyn_cast<plan::VariableAssignOp>(op);
      if (other && other.getSlot() == assign.getSlot())
        return false;
    }
    return true;
  }

  /// Whether the kernel cannot end with an error half way; scatters may, as TensorFlow's do.
  static bool mayFail(KernelOp kernel) {
    return llvm::any_of(kernel.getBody().front(), [](Operation &op) {
      return checksElements(&op) && !isa<ScatterNdOp, ScatterElementsOp>(op);
    });
  }

  bool update(plan::VariableAssignOp assign) {
    auto buffer = assign.getValue().getDefiningOp<BufferOp>();
    // A variable of strings has their bytes, too, which an assignment copies.
    if (buffer && isa<StringType>(getElementTypeOrSelf(buffer.getType())))
      return false;
    RunOp writer = buffer && buffer->getBlock() == &block ? writerOf(buffer) : RunOp();
    if (!writer || !writer->isBeforeInBlock(assign) || !isFollowedBy(writer, assign))
      return false;
    auto result =
        unsigned(llvm::find(writer.getOutputs(), buffer.getResult()) - writer.getOutputs().begin());
    if (result == writer.getOutputs().size())
      return false;
    auto kernel = symbols.lookup<KernelOp>(writer.getKernel());
    std::optional<unsigned> over;
    for (auto [i, input] : llvm::enumerate(writer.getInputs()))
      if (isReadOf(input, assign.getSlot())) {
        if (over)
          return false;
        over = i;
      }
    if (!over || !kernel || mayFail(kernel) || !mayWriteOver(writer, kernel, *over, result) ||
        writer.getInputs()[*over].getType() != buffer.getType())
      return false;
    Reads &own = reads[assign.getSlot()];
    for (plan::VariableReadOp read : own) {
      Operation *at = block.findAncestorOpInBlock(*read);
      bool isLater = at && assign->isBeforeInBlock(at);
      if (!isLater && !isReadBefore(read.getResult(), writer))
        return false;
    }
    plan::VariableReadOp read = take(writer, assign, buffer.getType());
    writer->replaceUsesOfWith(writer.getInputs()[*over], read.getResult());
    buffer.getResult().replaceAllUsesWith(read.getResult());
    buffer.erase();
    addInPlace(inPlace, writer, result, *over);
    llvm::erase_if(own, [](plan::VariableReadOp read) {
      bool isDead = read.getResult().use_empty();
      if (isDead)
        read.erase();
      return isDead;
    });
    own.push_back(read);
    return true;
  }

  /// The variable's memory, in front of `writer`, with the assignment behind it. Those of one
  /// launch are asked for in the order of their slots, so that no two runs wait for each other.
  plan::VariableReadOp take(RunOp writer, plan::VariableAssignOp assign, Type type) {
    Taken &all = taken[writer];
    auto *later =
        llvm::find_if(all, [&](auto &pair) { return pair.first.getSlot() > assign.getSlot(); });
    OpBuilder b(later == all.end() ? writer.getOperation() : later->first.getOperation());
    auto read =
        plan::VariableReadOp::create(b, assign.getLoc(), type, assign.getSlot(), assign.getNode());
    read->setAttr(takenAttribute, b.getUnitAttr());
    assign->setAttr(takenAttribute, b.getUnitAttr());
    assign->moveAfter(later == all.begin() ? writer.getOperation()
                                           : std::prev(later)->second.getOperation());
    all.insert(later, {read, assign});
    return read;
  }

  Block &block;
  SymbolTable &symbols;
  InPlaceRuns &inPlace;
  DenseMap<uint64_t, Reads> reads; ///< by slot
  /// What launches write over, and the assignments of it.
  using Taken = SmallVector<std::pair<plan::VariableReadOp, plan::VariableAssignOp>>;
  DenseMap<Operation *, Taken> taken;
};

} // namespace

int64_t plan::updateVariables(func::FuncOp function, SymbolTable &symbols, InPlaceRuns &inPlace) {
  const DeviceKind *kind = kindAround(function);
  if (kind && kind->keepsVariables())
    return 0;
  return Updater(function, symbols, inPlace).run();
}
