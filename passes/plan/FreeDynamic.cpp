//===- FreeDynamic.cpp - ends the life of dynamic buffers --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/plan/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFREEDYNAMICPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
struct FreeDynamicPass : weir::impl::WeirFreeDynamicPassBase<FreeDynamicPass> {
  void runOnOperation() override {
    SmallVector<Value> owned;
    getOperation().walk([&](Operation *op) {
      if (op->hasTrait<plan::traits::OwnsResults>() || isa<scf::IfOp, scf::WhileOp>(op))
        for (Value result : op->getResults())
          if (isa<MemRefType>(result.getType()))
            owned.push_back(result);
    });
    // What a loop carries and does not hand on.
    getOperation().walk([&](scf::WhileOp loop) {
      for (BlockArgument argument : loop.getAfterArguments())
        if (isa<MemRefType>(argument.getType()))
          owned.push_back(argument);
    });
    for (Value buffer : owned)
      free(buffer);
  }

  static void free(Value buffer) {
    Block *block = buffer.getParentBlock();
    Operation *last = buffer.getDefiningOp() ? buffer.getDefiningOp() : &block->front();
    SmallVector<Value> aliases{buffer};
    while (!aliases.empty()) {
      Value alias = aliases.pop_back_val();
      for (OpOperand &use : alias.getUses()) {
        Operation *user = use.getOwner();
        if (isa<FreeOp>(user))
          return; // its region ends it
        // Yielded or carried: the owner is whoever receives it.
        if (user->hasTrait<OpTrait::IsTerminator>() || isa<scf::WhileOp>(user))
          return;
        if (isa<ViewOp, PieceOp>(user))
          aliases.push_back(user->getResult(0));
        Operation *ancestor = block->findAncestorOpInBlock(*user);
        if (last->isBeforeInBlock(ancestor))
          last = ancestor;
      }
    }
    OpBuilder b(last->getContext());
    b.setInsertionPointAfter(last);
    // What several nodes' values lie in is none's.
    bool isPool = llvm::any_of(buffer.getUsers(), llvm::IsaPred<PieceOp>);
    FreeOp::create(b, isPool ? UnknownLoc::get(b.getContext()) : buffer.getLoc(), buffer);
  }
};
} // namespace
