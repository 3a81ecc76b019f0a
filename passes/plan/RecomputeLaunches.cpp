//===- RecomputeLaunches.cpp - launches run again to save memory ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/plan/BlockWork.h"
#include "passes/plan/Passes.h"

#include <map>
#include <numeric>

namespace weir {
#define GEN_PASS_DEF_WEIRRECOMPUTELAUNCHESPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// An offload device, and the way to its host and back.
struct Offload {
  ClusterDevice device;
  placement::Link out, in;
  bool canSwap;
};

/// That of a step; nothing for the host's.
std::optional<Offload> offloadOf(func::FuncOp function, const DeviceSet &cluster) {
  const DeviceKind *kind = kindAround(function);
  if (!kind)
    return std::nullopt;
  auto module = function->getParentOfType<ModuleOp>();
  int64_t index = function->getAttrOfType<IntegerAttr>("weir.device_index").getInt();
  int64_t host = hostOf(module, index);
  Offload found{{}, cluster.between(index, host), cluster.between(host, index), kind->canSwap()};
  if (index < int64_t(cluster.devices.size()))
    found.device = cluster.devices[index];
  return found;
}

/// Keeps the blocks of a function within a limit.
class BlockLimits {
public:
  BlockLimits(SymbolTable &symbols, const std::optional<Offload> &offload)
      : symbols(symbols), offload(offload) {}

  /// Computes the peaks of `function`'s blocks as they are, and what running each
  /// launch in them once takes.
  void measure(func::FuncOp function);
  /// Brings what is alive in `block` below `limit` where that can be done; returns the
  /// most that is.
  int64_t fit(Block &block, int64_t limit);

  DenseMap<Block *, int64_t> peaks; ///< most bytes alive in a block
  int64_t launches = 0;             ///< that run again
  double cost = 0, whole = 0;       ///< of those, and of all; a loop's body counts once
  int64_t saved = 0, returned = 0;  ///< values copied to the host, and copies back
  int64_t movedBytes = 0;           ///< of all these copies
  /// What is done about the values of a node, by its name: computed again, or (true) copied
  /// to the host and back.
  struct Choice {
    int64_t times = 0, bytes = 0; ///< bytes that are not kept meanwhile, of all times
    double cost = 0;              ///< of computing again
  };
  std::map<std::pair<std::string, bool>, Choice> choices;
  /// What repeating launches alone reached in the outermost block.
  memory::Recomputation alone;

private:
  const ClusterDevice *device() const { return offload ? &offload->device : nullptr; }
  memory::Recomputation solve(const BlockWork &work, int64_t limit, bool isOutermost);
  int64_t peakOf(const BlockWork &work) const;
  void noteChoices(const BlockWork &work, const memory::Recomputation &made);
  void fitRegions(Block &block, int64_t limit);

  SymbolTable &symbols;
  const std::optional<Offload> &offload;
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
    for (double each : work.costs(device()))
      whole += std::max(each, 0.0);
  });
}

/// Launches that run again; on an offload device also copies to the host and back, step by
/// step whichever costs less for what it saves, or copies alone, which reach lower. Of
/// what fits the one that costs least, transfers counted in full.
memory::Recomputation BlockLimits::solve(const BlockWork &work, int64_t limit, bool isOutermost) {
  memory::RecomputeOptions options;
  options.limit = limit;
  std::vector<double> costs = work.costs(device());
  memory::Recomputation best = memory::recomputeValues(work.nodes, work.values, costs, options);
  if (isOutermost)
    alone = best;
  if (!offload || !offload->canSwap || best.givenPeak <= limit)
    return best;
  memory::Transfers transfers = work.transfers(offload->device, offload->out, offload->in);
  options.transfers = &transfers;
  auto rank = [&](const memory::Recomputation &made) {
    return std::pair(std::max(made.peak, limit), made.cost + made.moveCost);
  };
  for (bool copiesOnly : {false, true}) {
    if (copiesOnly)
      costs.assign(costs.size(), -1);
    memory::Recomputation made = memory::recomputeValues(work.nodes, work.values, costs, options);
    if (rank(made) < rank(best))
      best = std::move(made);
  }
  return best;
}

void BlockLimits::noteChoices(const BlockWork &work, const memory::Recomputation &made) {
  std::vector<double> costs = work.costs(device());
  std::vector<int> maker(work.values.size(), -1);
  for (auto [number, node] : llvm::enumerate(work.nodes))
    for (int value : node.writes)
      maker[value] = int(number);
  std::vector<bool> ran(work.nodes.size());
  for (const memory::Execution &execution : made.executions) {
    bool isCopy = execution.node < 0;
    int number = isCopy ? maker[execution.value] : execution.node;
    if (!isCopy && !ran[number]) {
      ran[number] = true;
      continue;
    }
    if (number < 0)
      continue;
    Choice &choice = choices[{nodeName(work.launched()[number]->getLoc()).str(), isCopy}];
    ++choice.times;
    if (isCopy) {
      choice.bytes += work.values[execution.value].size;
      continue;
    }
    choice.cost += std::max(costs[number], 0.0);
    for (int value : work.nodes[number].writes)
      choice.bytes += work.values[value].size;
  }
}

int64_t BlockLimits::fit(Block &block, int64_t limit) {
  {
    BlockWork work(block, symbols, peaks);
    memory::Recomputation made = solve(work, limit, isa<func::FuncOp>(block.getParentOp()));
    if (made.peak < made.givenPeak) {
      launches += made.repeated;
      cost += made.cost;
      saved += made.saved;
      returned += made.returned;
      movedBytes += made.movedBytes;
      noteChoices(work, made);
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

struct RecomputeLaunchesPass : weir::impl::WeirRecomputeLaunchesPassBase<RecomputeLaunchesPass> {
  using WeirRecomputeLaunchesPassBase::WeirRecomputeLaunchesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!limit)
      return;
    SymbolTable symbols(module);
    bool fits = true;
    int64_t launches = 0, ordered = 0, peak = 0;
    int64_t saved = 0, returned = 0, moved = 0;
    memory::Recomputation alone;
    bool canSwap = false;
    DeviceSet cluster = DeviceSet::of(module, {});
    int64_t floor = 0;
    std::string floorNode;
    double cost = 0, whole = 0;
    std::map<std::pair<std::string, bool>, BlockLimits::Choice> choices;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr("weir_plan.feeds"))
        continue;
      std::optional<Offload> offload = offloadOf(function, cluster);
      BlockLimits limits(symbols, offload);
      limits.measure(function);
      Block &entry = function.getBody().front();
      ordered = std::max(ordered, limits.peaks[&entry]);
      int64_t allowed =
          limit - BlockWork(entry, symbols, limits.peaks).resultBytes() - receivedBytes(function);
      int64_t reached = limits.fit(entry, allowed);
      if (offload && offload->canSwap) {
        canSwap = true;
        saved += limits.saved;
        returned += limits.returned;
        moved += limits.movedBytes;
        if (limits.alone.peak > alone.peak)
          alone = std::move(limits.alone);
      }
      peak = std::max(peak, reached);
      fits &= reached <= allowed;
      launches += limits.launches;
      cost += limits.cost;
      whole += limits.whole;
      for (auto &[key, own] : limits.choices) {
        BlockLimits::Choice &all = choices[key];
        all.times += own.times;
        all.bytes += own.bytes;
        all.cost += own.cost;
      }
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
    auto perMille = [&](double part) {
      return number("per_mille", whole > 0 ? int64_t(1000 * part / whole + 0.5) : 0);
    };
    SmallVector<Attribute> chosen;
    for (auto &[key, own] : choices)
      chosen.push_back(b.getDictionaryAttr({number("bytes", own.bytes),
                                            b.getNamedAttr("copied", b.getBoolAttr(key.second)),
                                            b.getNamedAttr("node", b.getStringAttr(key.first)),
                                            perMille(own.cost), number("times", own.times)}));
    module->setAttr("weir_plan.recompute",
                    b.getDictionaryAttr({b.getNamedAttr("choices", b.getArrayAttr(chosen)),
                                         b.getNamedAttr("fits", b.getBoolAttr(fits)),
                                         number("launches", launches), number("before", ordered),
                                         number("floor", floor),
                                         b.getNamedAttr("floor_node", b.getStringAttr(floorNode)),
                                         number("peak", peak), perMille(cost)}));
    if (canSwap)
      module->setAttr(
          "weir_plan.swap",
          b.getDictionaryAttr({number("bytes", moved), number("repeating_launches", alone.repeated),
                               number("repeating_peak", alone.peak), number("returned", returned),
                               number("saved", saved)}));
  }
};

} // namespace
