//===- AwaitSwaps.cpp - work that waits for copies to the host ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/memory/PlanChecker.h"
#include "passes/plan/ArenaRanges.h"
#include "passes/plan/Passes.h"
#include "passes/plan/StepTimes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRAWAITSWAPSPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Inserts the wait for a copy that `begin` begins.
void await(Operation *begin, Value copy, const ArenaRange &range, bool writesOnly) {
  Operation *before = begin->getNextNode();
  while (before && !before->hasTrait<OpTrait::IsTerminator>() &&
         !touches(*before, [&](Value buffer) { return rangeOf(buffer).meets(range); }, writesOnly))
    before = before->getNextNode();
  // The end of the step waits for all copies out.
  bool isEnd = !before || before->hasTrait<OpTrait::IsTerminator>();
  if (isEnd && writesOnly && isa<func::FuncOp>(begin->getParentOp()))
    return;
  OpBuilder b(before);
  AwaitSwapOp::create(b, begin->getLoc(), copy);
}

/// What a step does, in order; loops run twice, so that a turn meets what the one
/// before it left.
void collect(Region &region, llvm::DenseMap<Value, int64_t> &copies,
             std::vector<memory::TransferEvent> &events, SmallVectorImpl<Operation *> &operations) {
  using memory::TransferEvent;
  auto add = [&](Operation &op, TransferEvent::Kind kind, int64_t copy, ArenaRange range) {
    events.push_back({kind, copy, range.begin, range.end - range.begin});
    operations.push_back(&op);
  };
  auto numberOf = [&](Value copy) {
    return copies.try_emplace(copy, int64_t(copies.size())).first->second;
  };
  for (Operation &op : region.getOps()) {
    bool isLoop = isa<scf::WhileOp, scf::ForOp>(op);
    for (int turn = 0; turn < (isLoop ? 2 : 1); ++turn)
      for (Region &inner : op.getRegions())
        collect(inner, copies, events, operations);
    if (auto swap = dyn_cast<SwapOutOp>(op)) {
      add(op, TransferEvent::CopyOut, numberOf(swap.getSaved()), rangeOf(swap.getValue()));
    } else if (auto swap = dyn_cast<SwapInOp>(op)) {
      add(op, TransferEvent::CopyIn, numberOf(swap.getCopied()), rangeOf(swap.getTarget()));
    } else if (auto wait = dyn_cast<AwaitSwapOp>(op)) {
      add(op, TransferEvent::Await, numberOf(wait.getCopy()), {});
    } else if (!isa<ViewOp, memref::DimOp>(op)) {
      for (OpOperand &operand : op.getOpOperands())
        if (isa<MemRefType>(operand.get().getType()))
          add(op, isWritten(operand) ? TransferEvent::Write : TransferEvent::Read, -1,
              rangeOf(operand.get()));
    }
  }
}

struct AwaitSwapsPass : weir::impl::WeirAwaitSwapsPassBase<AwaitSwapsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Operation *> swaps;
      function.walk([&](Operation *op) {
        if (isa<SwapOutOp, SwapInOp>(op))
          swaps.push_back(op);
      });
      if (swaps.empty())
        continue;
      for (Operation *op : swaps)
        if (auto out = dyn_cast<SwapOutOp>(op))
          await(op, out.getSaved(), rangeOf(out.getValue()), /*writesOnly=*/true);
        else if (auto in = cast<SwapInOp>(op); in.getTarget())
          await(op, in.getCopied(), rangeOf(in.getTarget()), /*writesOnly=*/false);
      llvm::DenseMap<Value, int64_t> copies;
      std::vector<memory::TransferEvent> events;
      SmallVector<Operation *> operations;
      collect(function.getBody(), copies, events, operations);
      if (auto error = memory::checkTransfers(events)) {
        operations[error->first]->emitError("memory plan: ") << error->message;
        return signalPassFailure();
      }
    }
  }
};

} // namespace
