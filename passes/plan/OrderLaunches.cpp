//===- OrderLaunches.cpp - launches in an order that needs little memory --===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/memory/Order.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/StepBuilder.h"
#include "passes/plan/StepTimes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRORDERLAUNCHESPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// The operations of a block as work for the order.
class BlockOrder {
public:
  BlockOrder(Block &block, SymbolTable &symbols) : symbols(symbols) {
    for (Operation &op : block.without_terminator())
      add(&op);
    Operation *end = block.getTerminator();
    for (Value value : end->getOperands()) {
      auto it = values.find(value);
      if (it == values.end())
        continue;
      // A result that is a launch's own is written where the caller wants it.
      if (isa<func::ReturnOp>(end) && value.getDefiningOp<LaunchOp>())
        sizes[it->second].size = 0;
      sizes[it->second].outlives = true;
    }
  }

  memory::Order choose(memory::Schedule schedule) {
    memory::OrderOptions options;
    options.schedule = schedule;
    memory::Order order = memory::orderNodes(nodes, sizes, options);
    for (int i : order.nodes)
      operations[i]->moveBefore(operations[i]->getBlock()->getTerminator());
    return order;
  }

private:
  void add(Operation *op) {
    memory::OrderNode node;
    // What regions inside use is used by the operation.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (auto it = values.find(operand); it != values.end())
          if (!llvm::is_contained(node.reads, it->second))
            node.reads.push_back(it->second);
    });
    if (!isMemoryEffectFree(op)) {
      if (lastEffect >= 0)
        node.after.push_back(lastEffect);
      lastEffect = nodes.size();
    }
    bool isView = isa<GateOp>(op) ||
                  (isa<ReshapeOp>(op) && !isScalarForm(op->getResult(0).getType()));
    for (Value result : op->getResults()) {
      auto source = isView ? values.find(op->getOperand(0)) : values.end();
      if (source != values.end() && isa<RankedTensorType>(result.getType())) {
        values[result] = source->second;
        // Whoever reads the view needs it to be made.
        views[result] = nodes.size();
        continue;
      }
      values[result] = sizes.size();
      node.writes.push_back(sizes.size());
      sizes.push_back({sizeOf(result), false});
    }
    for (Value operand : op->getOperands())
      if (auto view = views.find(operand); view != views.end())
        node.after.push_back(view->second);
    op->walk([&](Operation *inner) {
      if (inner != op)
        for (Value operand : inner->getOperands())
          if (auto view = views.find(operand); view != views.end() && view->second < int(nodes.size()))
            node.after.push_back(view->second);
    });
    if (auto launch = dyn_cast<LaunchOp>(op))
      if (auto kernel = symbols.lookup<KernelOp>(launch.getKernel()))
        for (auto [i, input] : llvm::enumerate(launch.getInputs())) {
          auto it = values.find(input);
          if (it != values.end() && node.inPlace < 0 && node.writes.size() == 1 &&
              sizes[it->second].size == sizes[node.writes[0]].size &&
              isReadInPlace(kernel, i))
            node.inPlace = it->second;
        }
    operations.push_back(op);
    nodes.push_back(std::move(node));
  }

  static int64_t sizeOf(Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor || !tensor.hasStaticShape() || isScalarForm(tensor) ||
        value.getDefiningOp<ConstantOp>())
      return 0;
    return arenaBytes(bufferType(tensor));
  }

  SymbolTable &symbols;
  SmallVector<Operation *> operations;
  std::vector<memory::OrderNode> nodes;
  std::vector<memory::OrderValue> sizes;
  DenseMap<Value, int> values; ///< of results, by what they look at
  DenseMap<Value, int> views;  ///< the node that makes the view
  int lastEffect = -1;
};

struct OrderLaunchesPass : weir::impl::WeirOrderLaunchesPassBase<OrderLaunchesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto asked = module->getAttrOfType<StringAttr>("weir.schedule");
    auto schedule = llvm::StringSwitch<memory::Schedule>(asked ? asked.getValue() : "balanced")
                        .Case("latency", memory::Schedule::Latency)
                        .Case("memory", memory::Schedule::Memory)
                        .Default(memory::Schedule::Balanced);
    SymbolTable symbols(module);
    int64_t before = 0, after = 0;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr("weir_plan.feeds"))
        continue;
      SmallVector<Block *> blocks;
      function.walk([&](Block *block) { blocks.push_back(block); });
      for (Block *block : blocks) {
        if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
          continue;
        memory::Order order = BlockOrder(*block, symbols).choose(schedule);
        before = std::max(before, order.numberedPeak);
        after = std::max(after, order.peak);
      }
    }
    OpBuilder b(module.getContext());
    module->setAttr("weir_plan.order",
                    b.getDictionaryAttr({b.getNamedAttr("as_given", b.getI64IntegerAttr(before)),
                                         b.getNamedAttr("chosen", b.getI64IntegerAttr(after))}));
  }
};

} // namespace
