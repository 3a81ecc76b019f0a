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
  Updater(func::FuncOp function, SymbolTable &symbols,
          llvm::MapVector<Operation *, unsigned> &inPlace)
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
    if (!writer || writer.getOutputs().size() != 1 || writer.getOutputs()[0] != buffer ||
        !writer->isBeforeInBlock(assign) || !isFollowedBy(writer, assign) || inPlace.count(writer))
      return false;
    auto kernel = symbols.lookup<KernelOp>(writer.getKernel());
    std::optional<unsigned> over;
    for (auto [i, input] : llvm::enumerate(writer.getInputs()))
      if (isReadOf(input, assign.getSlot())) {
        if (over)
          return false;
        over = i;
      }
    if (!over || !kernel || mayFail(kernel) || !mayWriteOver(writer, kernel, *over) ||
        writer.getInputs()[*over].getType() != buffer.getType())
      return false;
    Reads &own = reads[assign.getSlot()];
    for (plan::VariableReadOp read : own) {
      Operation *at = block.findAncestorOpInBlock(*read);
      bool isLater = at && assign->isBeforeInBlock(at);
      if (!isLater && !isReadBefore(read.getResult(), writer))
        return false;
    }
    OpBuilder b(writer);
    auto taken = plan::VariableReadOp::create(b, assign.getLoc(), buffer.getType(),
                                              assign.getSlot(), assign.getNode());
    taken->setAttr(takenAttribute, b.getUnitAttr());
    writer->replaceUsesOfWith(writer.getInputs()[*over], taken.getResult());
    buffer.getResult().replaceAllUsesWith(taken.getResult());
    buffer.erase();
    assign->moveAfter(writer);
    assign->setAttr(takenAttribute, b.getUnitAttr());
    inPlace[writer] = *over;
    llvm::erase_if(own, [](plan::VariableReadOp read) {
      bool isDead = read.getResult().use_empty();
      if (isDead)
        read.erase();
      return isDead;
    });
    own.push_back(taken);
    return true;
  }

  Block &block;
  SymbolTable &symbols;
  llvm::MapVector<Operation *, unsigned> &inPlace;
  DenseMap<uint64_t, Reads> reads; ///< by slot
};

} // namespace

int64_t plan::updateVariables(func::FuncOp function, SymbolTable &symbols,
                              llvm::MapVector<Operation *, unsigned> &inPlace) {
  const DeviceKind *kind = kindAround(function);
  if (kind && kind->keepsVariables())
    return 0;
  return Updater(function, symbols, inPlace).run();
}
