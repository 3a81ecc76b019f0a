//===- RecomputeLaunches.cpp - launches run again to save memory ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/plan/BlockWork.h"

#include <numeric>

namespace weir {
#define GEN_PASS_DEF_WEIRRECOMPUTELAUNCHESPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Keeps the blocks of a function within a limit.
class BlockLimits {
public:
  explicit BlockLimits(SymbolTable &symbols) : symbols(symbols) {}

  /// Computes the peaks of `function`'s blocks as they are, and what running each
  /// launch in them once takes.
  void measure(func::FuncOp function);
  /// Brings what is alive in `block` below `limit` where that can be done; returns the
  /// most that is.
  int64_t fit(Block &block, int64_t limit);

  DenseMap<Block *, int64_t> peaks; ///< most bytes alive in a block
  int64_t launches = 0;             ///< that run again
  double cost = 0, whole = 0;       ///< of those, and of all; a loop's body counts once

private:
  int64_t peakOf(const BlockWork &work) const;
  void fitRegions(Block &block, int64_t limit);

  SymbolTable &symbols;
};

int64_t BlockLimits::peakOf(const BlockWork &work) const {
  std::vector<int> order(work.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return memory::peakOf(work.nodes, work.values, order);
}

void BlockLimits::measure(func::FuncOp function) {
  // Blocks inside come before those around them.
  function.walk([&](Block *block) {
    if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
      return;
    BlockWork work(*block, symbols, peaks);
    peaks[block] = peakOf(work);
    for (double each : work.costs())
      whole += std::max(each, 0.0);
  });
}

int64_t BlockLimits::fit(Block &block, int64_t limit) {
  {
    BlockWork work(block, symbols, peaks);
    memory::RecomputeOptions options;
    options.limit = limit;
    memory::Recomputation made =
        memory::recomputeValues(work.nodes, work.values, work.costs(), options);
    if (made.peak < made.givenPeak) {
      launches += made.repeated;
      cost += made.cost;
      work.rewrite(made);
    }
    if (made.peak <= limit)
      return peaks[&block] = made.peak;
  }
  // What runs again in a loop does so in each turn: only where nothing around it helps.
  fitRegions(block, limit);
  BlockWork work(block, symbols, peaks);
  return peaks[&block] = peakOf(work);
}

void BlockLimits::fitRegions(Block &block, int64_t limit) {
  BlockWork work(block, symbols, peaks);
  // More than all of the rest together: the moment of the node that has it is the
  // fullest, and what is alive around it is the remainder.
  int64_t much = 1;
  for (const memory::OrderValue &value : work.values)
    much += value.size;
  for (auto [number, op] : llvm::enumerate(work.launched())) {
    if (!llvm::any_of(op->getRegions(), [](Region &region) { return !region.empty(); }))
      continue;
    for (auto [n, node] : llvm::enumerate(work.nodes))
      node.scratch = n == number ? much : 0;
    int64_t room = limit - (peakOf(work) - much);
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        if (auto known = peaks.find(&inner); known != peaks.end() && known->second > room)
          fit(inner, std::max<int64_t>(room, 0));
  }
}

struct RecomputeLaunchesPass
    : weir::impl::WeirRecomputeLaunchesPassBase<RecomputeLaunchesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto limit = module->getAttrOfType<IntegerAttr>(memoryLimitAttribute);
    if (!limit)
      return;
    SymbolTable symbols(module);
    bool fits = true;
    int64_t launches = 0, ordered = 0, peak = 0;
    int64_t floor = 0;
    std::string floorNode;
    double cost = 0, whole = 0;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr("weir_plan.feeds"))
        continue;
      BlockLimits limits(symbols);
      limits.measure(function);
      Block &entry = function.getBody().front();
      ordered = std::max(ordered, limits.peaks[&entry]);
      int64_t allowed =
          limit.getInt() - BlockWork(entry, symbols, limits.peaks).resultBytes();
      int64_t reached = limits.fit(entry, allowed);
      peak = std::max(peak, reached);
      fits &= reached <= allowed;
      launches += limits.launches;
      cost += limits.cost;
      whole += limits.whole;
      auto [largest, bytes] = BlockWork(entry, symbols, limits.peaks).largest();
      if (bytes > floor) {
        floor = bytes;
        floorNode = nodeName(largest->getLoc());
      }
    }
    OpBuilder b(module.getContext());
    auto number = [&](const char *name, int64_t value) {
      return b.getNamedAttr(name, b.getI64IntegerAttr(value));
    };
    module->setAttr(
        "weir_plan.recompute",
        b.getDictionaryAttr(
            {b.getNamedAttr("fits", b.getBoolAttr(fits)), number("launches", launches),
             number("before", ordered), number("floor", floor),
             b.getNamedAttr("floor_node", b.getStringAttr(floorNode)), number("peak", peak),
             number("per_mille", whole > 0 ? int64_t(1000 * cost / whole + 0.5) : 0)}));
  }
};

} // namespace
