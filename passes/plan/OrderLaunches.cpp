//===- OrderLaunches.cpp - launches in an order that needs little memory --===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "passes/plan/BlockWork.h"
#include "passes/plan/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRORDERLAUNCHESPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

struct OrderLaunchesPass : weir::impl::WeirOrderLaunchesPassBase<OrderLaunchesPass> {
  using WeirOrderLaunchesPassBase::WeirOrderLaunchesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto wanted = llvm::StringSwitch<memory::Schedule>(schedule)
                      .Case("latency", memory::Schedule::Latency)
                      .Case("memory", memory::Schedule::Memory)
                      .Default(memory::Schedule::Balanced);
    SymbolTable symbols(module);
    int64_t before = 0, after = 0;
    bool proved = true;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr("weir_plan.feeds"))
        continue;
      // Blocks inside come first: what is alive in them counts outside.
      DenseMap<Block *, int64_t> peaks;
      function.walk([&](Block *block) {
        if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
          return;
        BlockWork work(*block, symbols, peaks);
        memory::OrderOptions options;
        options.schedule = function->hasAttr(keepsOrderAttr) ? memory::Schedule::Latency : wanted;
        memory::Order order = memory::orderNodes(work.nodes, work.values, options);
        // A limit goes before time.
        if (limit && order.peak > limit - work.resultBytes() - receivedBytes(function) &&
            wanted != memory::Schedule::Memory) {
          options.schedule = memory::Schedule::Memory;
          order = memory::orderNodes(work.nodes, work.values, options);
        }
        work.reorder(order.nodes);
        peaks[block] = order.peak;
        proved &= order.provedOptimal || work.nodes.size() < 2;
        before = std::max(before, order.numberedPeak);
        after = std::max(after, order.peak);
      });
    }
    OpBuilder b(module.getContext());
    module->setAttr("weir_plan.order",
                    b.getDictionaryAttr({b.getNamedAttr("as_given", b.getI64IntegerAttr(before)),
                                         b.getNamedAttr("chosen", b.getI64IntegerAttr(after)),
                                         b.getNamedAttr("proved", b.getBoolAttr(proved))}));
  }
};

} // namespace
