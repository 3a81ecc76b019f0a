//===- EqualSizes.cpp - drops broadcasts to equal sizes ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/SizeOrigins.h"
#include "passes/simplify/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIREQUALSIZESPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

struct EqualSizesPass : weir::impl::WeirEqualSizesPassBase<EqualSizesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      SizeOrigins origins;
      origins.takeFeeds(function);
      takeBlock(function.getBody().front(), origins, /*alwaysRuns=*/true);
    }
  }

  static void takeBlock(Block &block, SizeOrigins &origins, bool alwaysRuns) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          takeBlock(inner, origins, /*alwaysRuns=*/false);
      if (auto broadcast = dyn_cast<BroadcastToOp>(op);
          broadcast && broadcast.getType() == broadcast.getOperand().getType())
        if (auto sizes = origins.integers(broadcast.getShape());
            sizes && origins.areSizesOf(*sizes, broadcast.getOperand())) {
          broadcast.replaceAllUsesWith(broadcast.getOperand());
          broadcast.erase();
          continue;
        }
      origins.take(&op, alwaysRuns);
    }
  }
};

} // namespace
