//===- AwaitCollectives.cpp - work that waits for what devices reduce -----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/plan/ArenaRanges.h"
#include "passes/plan/Passes.h"
#include "passes/plan/VariableUpdates.h"

namespace weir {
#define GEN_PASS_DEF_WEIRAWAITCOLLECTIVESPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

struct AwaitCollectivesPass : weir::impl::WeirAwaitCollectivesPassBase<AwaitCollectivesPass> {
  void runOnOperation() override {
    SmallVector<plan::AllReduceOp> reductions;
    getOperation().walk([&](plan::AllReduceOp op) { reductions.push_back(op); });
    for (plan::AllReduceOp op : reductions)
      await(op);
  }

private:
  /// Whether `op` cannot go on beside the reduction.
  static bool meets(Operation &op, plan::AllReduceOp reduce) {
    auto lies = [](Value at) {
      return [at](Value buffer) {
        return rootOf(buffer) == rootOf(at) || rangeOf(buffer).meets(rangeOf(at));
      };
    };
    return touches(op, lies(reduce.getValue()), /*writesOnly=*/true) ||
           (reduce.getTarget() && touches(op, lies(reduce.getTarget()), /*writesOnly=*/false));
  }

  static void await(plan::AllReduceOp reduce) {
    Operation *at = reduce;
    for (;;) {
      Operation *next = at->getNextNode();
      while (!next->hasTrait<OpTrait::IsTerminator>() && !meets(*next, reduce))
        next = next->getNextNode();
      // A value that a conditional hands on has another name behind it.
      bool goesOn = next->hasTrait<OpTrait::IsTerminator>() && !meets(*next, reduce) &&
                    isa<scf::IfOp>(at->getParentOp());
      if (!goesOn) {
        OpBuilder b(beforeUpdates(next));
        AwaitReduceOp::create(b, reduce.getLoc(), reduce.getCollectiveAttr());
        return;
      }
      at = at->getParentOp();
    }
  }
};

} // namespace
