//===- StaticOrder.cpp - operations in the order of the plan --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/partition/StaticOrder.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "dialects/weir/Weir.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/partition/Homes.h"

#include <numeric>
#include <queue>

using namespace mlir;
using namespace weir;

/// SimulatedTimes; bytes may be missing.
static constexpr StringLiteral timesAttribute = "weir.times";

/// Of the step's time, what latest starts keep in reserve: real times are not
/// those of the model, and a message may find its receiver asleep.
static constexpr double reserve = 1.0 / 16;

namespace {

class Orderer {
public:
  Orderer(const CostModel &model, const placement::Plan &plan) : place(plan.order.size()) {
    for (auto [i, op] : llvm::enumerate(model.operations))
      numbers[op] = int32_t(i);
    for (auto [i, node] : llvm::enumerate(plan.order))
      place[node] = int32_t(i);
  }

  /// Orders a block and those inside, unless it is to stay as it is; appends its nodes to `nodes`.
  void visit(Block &block, bool sorts = true) {
    SmallVector<Operation *> order =
        sorts ? sort(block) : to_vector(make_pointer_range(block.without_terminator()));
    for (Operation *op : order) {
      if (auto it = numbers.find(op); it != numbers.end())
        nodes.push_back(it->second);
      if (isControl(op))
        for (Region &region : op->getRegions())
          visit(region.front(), sorts);
    }
    orders.emplace_back(&block, std::move(order));
  }

  void apply() {
    for (auto &[block, order] : orders)
      for (Operation *op : order)
        op->moveBefore(block->getTerminator());
  }

  std::vector<int32_t> nodes;

private:
  /// The plan's place of an operation, of the first that is inside; -1: none,
  /// it is data.
  int32_t placeOf(Operation *op) const {
    int32_t first = -1;
    op->walk([&](Operation *inner) {
      auto it = numbers.find(inner);
      if (it != numbers.end() && (first < 0 || place[it->second] < first))
        first = place[it->second];
    });
    return first;
  }

  /// By place, among those whose inputs, and whose effects before, are there.
  SmallVector<Operation *> sort(Block &block) {
    SmallVector<Operation *> operations;
    DenseMap<Operation *, int32_t> indices;
    for (Operation &op : block.without_terminator()) {
      indices[&op] = int32_t(operations.size());
      operations.push_back(&op);
    }
    std::vector<SmallVector<int32_t, 4>> users(operations.size());
    std::vector<int32_t> waiting(operations.size(), 0);
    int32_t lastEffect = -1;
    for (auto [i, op] : llvm::enumerate(operations)) {
      llvm::SmallSetVector<int32_t, 8> inputs;
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *def = operand.getDefiningOp())
            if (Operation *at = block.findAncestorOpInBlock(*def); at && at != operations[i])
              inputs.insert(indices.lookup(at));
      });
      if (!isMemoryEffectFree(op)) {
        if (lastEffect >= 0)
          inputs.insert(lastEffect);
        lastEffect = int32_t(i);
      }
      waiting[i] = int32_t(inputs.size());
      for (int32_t input : inputs)
        users[input].push_back(int32_t(i));
    }
    using Entry = std::pair<int32_t, int32_t>; // place, index
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (auto [i, op] : llvm::enumerate(operations))
      if (!waiting[i])
        ready.push({placeOf(op), int32_t(i)});
    SmallVector<Operation *> order;
    while (!ready.empty()) {
      int32_t index = ready.top().second;
      ready.pop();
      order.push_back(operations[index]);
      for (int32_t user : users[index])
        if (!--waiting[user])
          ready.push({placeOf(operations[user]), user});
    }
    return order;
  }

  DenseMap<Operation *, int32_t> numbers;
  std::vector<int32_t> place;
  std::vector<std::pair<Block *, SmallVector<Operation *>>> orders;
};

} // namespace

/// Devices that do the same, each on a part of a batch, and meet in collectives. Those go beside
/// what is computed, from where their values are there on, which is early in the order of the
/// passes; the plan takes them for work of a device, and would put them off.
static bool areReplicas(func::FuncOp function) {
  llvm::SmallDenseSet<int64_t> devices;
  size_t least = SIZE_MAX;
  function.walk([&](Operation *op) {
    if (int64_t device = deviceOf(op); device >= 0)
      devices.insert(device);
    if (op->hasAttr(collectiveAttr))
      least = std::min<size_t>(least, op->getNumOperands());
  });
  return least == devices.size();
}

void weir::orderByPlan(ModuleOp module, const CostModel &model, placement::Plan &plan) {
  Orderer orderer(model, plan);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      orderer.visit(function.getBody().front(), !areReplicas(function));
  std::vector<int32_t> given(plan.order.size());
  std::iota(given.begin(), given.end(), 0);
  double asGiven = placement::timelineOf(model.problem, plan.device, given).makespan;
  plan.makespan = placement::timelineOf(model.problem, plan.device, orderer.nodes).makespan;
  if (plan.makespan < asGiven * (1 - 1e-9)) {
    orderer.apply();
    plan.order = std::move(orderer.nodes);
    return;
  }
  plan.makespan = asGiven;
  plan.order = std::move(given);
}

void weir::writeTimes(const CostModel &model, const placement::Plan &plan) {
  placement::Timeline timeline = placement::timelineOf(model.problem, plan.device, plan.order);
  for (auto [i, op] : llvm::enumerate(model.operations)) {
    // The later of two runs' starts, node by node, is a run, too.
    double latest =
        std::max(timeline.earliest[i], timeline.latest[i] - reserve * timeline.makespan);
    op->setAttr(timesAttribute, DenseF64ArrayAttr::get(
                                    op->getContext(), {timeline.earliest[i], latest,
                                                       model.problem.nodes[i].times[plan.device[i]],
                                                       model.stored[i]}));
  }
}

std::optional<SimulatedTimes> weir::timesOf(Operation *op) {
  std::optional<SimulatedTimes> all;
  op->walk([&](Operation *inner) {
    auto times = inner->getAttrOfType<DenseF64ArrayAttr>(timesAttribute);
    if (!times || times.size() < 3)
      return;
    SimulatedTimes one{times[0], times[1], times[2],
                       times.size() > 3 && inner == op ? times[3] : 0};
    if (!all) {
      all = one;
      return;
    }
    double end = std::max(all->latestEnd(), one.latestEnd());
    all->earliest = std::min(all->earliest, one.earliest);
    all->latest = std::min(all->latest, one.latest);
    all->duration = end - all->latest;
  });
  return all;
}

void weir::removeTimes(ModuleOp module) {
  module.walk([](Operation *op) { op->removeAttr(timesAttribute); });
}
