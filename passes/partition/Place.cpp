//===- Place.cpp - gives every operation a device ----------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/partition/Passes.h"
#include "passes/partition/StaticOrder.h"
#include "passes/partition/StepEstimate.h"

#include <numeric>

namespace weir {
#define GEN_PASS_DEF_WEIRPLACEPASS
#include "passes/partition/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// The search's budget by the node, within bounds: half a second at most.
static constexpr int64_t stepsPerNode = 20'000, mostSteps = 50'000'000;
/// The same for one of several ways to train that are tried.
static constexpr int64_t mostTrialSteps = 4'000'000;

namespace {

struct PlacePass : weir::impl::WeirPlacePassBase<PlacePass> {
  using WeirPlacePassBase::WeirPlacePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Constraints constraints(module, /*soft=*/!hard);
    if (failed(constraints.gather()))
      return signalPassFailure();
    const DeviceSet &cluster = constraints.cluster();
    Builder b(module.getContext());
    SmallVector<Attribute> names;
    for (const ClusterDevice &device : cluster.devices)
      names.push_back(b.getStringAttr(device.name.str()));
    module->setAttr("weir_plan.devices", b.getArrayAttr(names));
    warnAboutLocks(module);

    // Operations that will share a kernel go together, where they may.
    DenseMap<Operation *, Operation *> kernelOf;
    if (cluster.devices.size() > 1)
      kernelOf = uniteKernels(module, constraints);
    CostModel model = buildCostModel(module, constraints, kernelOf);
    bool keepsOrder = llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
      return function->hasAttr(keepsOrderAttr);
    });
    // Of what a stage holds at once more is known than what its nodes hold together.
    if (keepsOrder || module->hasAttr(wantsEstimateAttr) || module->hasAttr(memoryCheckedAttr))
      model.problem.memoryLimits.assign(model.problem.memoryLimits.size(), placement::never);
    // Most has a device already where an order is kept, and where a way to train is tried it is not
    // worth a long search.
    int64_t budget = std::min(mostSteps, stepsPerNode * int64_t(model.problem.nodes.size()));
    if (module->hasAttr(wantsEstimateAttr))
      budget = std::min(budget, mostTrialSteps);
    std::optional<placement::Plan> plan = keepsOrder && placer == "search"
                                              ? placeInOrder(model.problem)
                                              : choose(constraints, model, budget);
    if (!plan) {
      emitError(UnknownLoc::get(module.getContext()))
          << "W0603: found no placement within the memory of the devices; "
             "possible: more memory, or nodes that are not tied to a device";
      return signalPassFailure();
    }
    for (auto [op, device] : llvm::zip(model.operations, plan->device))
      op->setAttr("weir.device_index", b.getI64IntegerAttr(device));
    leaveToHost(module);
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isControl(op))
        op->setAttr("weir.homes", homesOf(op));
    });
    // In the order that is there, unless the plan's is better.
    if (keepsOrder)
      keepOrder(model.problem, *plan);
    if (!keepsOrder && llvm::any_of(plan->device, [&](int32_t device) {
          return device != plan->device.front();
        })) {
      orderByPlan(module, model, *plan);
      if (receives != "early")
        writeTimes(model, *plan);
    }
    if (module->hasAttr(wantsEstimateAttr))
      noteEstimate(module, model, *plan);
    describe(module, constraints, model, *plan);
  }

  std::optional<placement::Plan> choose(const Constraints &constraints, const CostModel &model,
                                        int64_t budget) {
    StringRef placer = this->placer;
    if (placer == "greedy")
      return placement::placeGreedily(model.problem);
    if (placer.consume_front("random:"))
      return placeRandomly(placer, constraints, model);
    if (placer.consume_front("on:"))
      return placeOn(placer, constraints, model);
    placement::Options options;
    options.steps = budget;
    return placement::search(model.problem, options);
  }

  static void keepOrder(const placement::Problem &problem, placement::Plan &plan) {
    std::iota(plan.order.begin(), plan.order.end(), 0);
    plan.makespan = placement::timelineOf(problem, plan.device, plan.order).makespan;
  }

  /// Nodes stay in their order: the better of a greedy placement and of one device.
  static std::optional<placement::Plan> placeInOrder(const placement::Problem &problem) {
    std::optional<placement::Plan> greedy = placement::placeGreedily(problem),
                                   alone = placement::placeOnOneDevice(problem);
    for (auto *plan : {&greedy, &alone})
      if (*plan)
        keepOrder(problem, **plan);
    return alone && (!greedy || alone->makespan <= greedy->makespan) ? alone : greedy;
  }

  /// Any device that constraints allow: what tests of the partition need.
  static std::optional<placement::Plan>
  placeRandomly(StringRef seed, const Constraints &constraints, const CostModel &model) {
    uint64_t state = 0;
    (void)seed.getAsInteger(10, state);
    DenseMap<int32_t, int32_t> chosen;
    std::vector<int32_t> device;
    for (const placement::Node &node : model.problem.nodes) {
      auto [it, isNew] = chosen.try_emplace(node.group, 0);
      if (isNew) {
        // Multiplication by the golden ratio, the high bits folded in.
        state += 0x9e3779b97f4a7c15;
        uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        ArrayRef<int32_t> candidates = constraints.candidates(node.group);
        it->second = candidates[(z ^ (z >> 31)) % candidates.size()];
      }
      device.push_back(it->second);
    }
    return placement::scheduleFor(model.problem, device);
  }

  /// Everything that may be there on the device of that name, the rest where it
  /// may be first.
  static std::optional<placement::Plan> placeOn(StringRef text, const Constraints &constraints,
                                                const CostModel &model) {
    std::optional<DeviceName> wanted = DeviceName::parse(text);
    const DeviceSet &cluster = constraints.cluster();
    std::vector<int32_t> device;
    for (const placement::Node &node : model.problem.nodes) {
      ArrayRef<int32_t> candidates = constraints.candidates(node.group);
      int32_t chosen = candidates.front();
      for (int32_t candidate : candidates)
        if (wanted && wanted->matches(cluster.devices[candidate].name)) {
          chosen = candidate;
          break;
        }
      device.push_back(chosen);
    }
    return placement::scheduleFor(model.problem, device);
  }

  void warnAboutLocks(ModuleOp module) {
    auto locks = module->getAttrOfType<DictionaryAttr>("weir.locks");
    if (!locks)
      return;
    llvm::StringSet<> names;
    module.walk([&](Operation *op) {
      llvm::SetVector<StringRef> nodes;
      collectNodeNames(op->getLoc(), nodes);
      for (StringRef name : nodes)
        names.insert(name);
    });
    for (NamedAttribute lock : locks)
      if (!names.contains(lock.getName().getValue()))
        emitWarning(UnknownLoc::get(module.getContext()))
            << "W0605: found node \"" << lock.getName().getValue()
            << "\" in the placement file; the program has no part of it";
  }

  /// Where a value is made; -1: anywhere.
  static int64_t naturalDevice(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<WhileOp>(argument.getOwner()->getParentOp());
      return loop ? naturalDevice(loop.getInits()[argument.getArgNumber()]) : -1;
    }
    Operation *def = value.getDefiningOp();
    unsigned index = cast<OpResult>(value).getResultNumber();
    if (auto branch = dyn_cast<IfOp>(def)) {
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (int64_t device = naturalDevice(region->front().getTerminator()->getOperand(index));
            device >= 0)
          return device;
      return -1;
    }
    if (auto loop = dyn_cast<WhileOp>(def)) {
      int64_t device = naturalDevice(loop.getBody().front().getTerminator()->getOperand(index));
      return device >= 0 ? device : naturalDevice(loop.getInits()[index]);
    }
    auto placed = def->getAttrOfType<IntegerAttr>("weir.device_index");
    return placed ? placed.getInt() : -1;
  }

  /// A device that was free to decide a loop or conditional, and is the host now, has its
  /// integers in registers.
  static void leaveToHost(ModuleOp module) {
    module.walk([&](Operation *op) {
      if (!op->hasAttr(decidedOnDeviceAttr))
        return;
      bool isOffloaded = false;
      op->walk([&](Operation *inner) {
        if (auto placed = inner->getAttrOfType<IntegerAttr>("weir.device_index"))
          isOffloaded |= isOffloadDevice(module, placed.getInt());
      });
      if (!isOffloaded)
        op->removeAttr(decidedOnDeviceAttr);
    });
  }

  /// The device on which each result of a loop or conditional lives, inside as
  /// outside of it. A result that is made nowhere lives with the others.
  static Attribute homesOf(Operation *control) {
    SmallVector<int64_t> homes;
    int64_t usual = -1;
    bool isDecided = isDecidedOnDevice(control); // one device has all of it
    for (Value result : control->getResults()) {
      homes.push_back(isDecided ? -1 : naturalDevice(result));
      if (usual < 0)
        usual = homes.back();
    }
    if (usual < 0)
      control->walk([&](Operation *op) {
        if (auto placed = op->getAttrOfType<IntegerAttr>("weir.device_index"); placed && usual < 0)
          usual = placed.getInt();
      });
    for (int64_t &home : homes)
      if (home < 0)
        home = std::max<int64_t>(usual, 0);
    return DenseI64ArrayAttr::get(control->getContext(), homes);
  }

  /// For reports and `weirc explain`: which node is where, what it takes, and
  /// why.
  void describe(ModuleOp module, const Constraints &constraints, const CostModel &model,
                const placement::Plan &plan);
};

void PlacePass::describe(ModuleOp module, const Constraints &constraints, const CostModel &model,
                         const placement::Plan &plan) {
  if (!describes)
    return;
  Builder b(module.getContext());
  const DeviceSet &cluster = constraints.cluster();
  const placement::Problem &problem = model.problem;
  // When nodes start and what their last input is.
  size_t count = problem.nodes.size();
  std::vector<double> start = placement::timelineOf(problem, plan.device, plan.order).earliest;
  auto endOf = [&](int32_t node) {
    return start[node] + problem.nodes[node].times[plan.device[node]];
  };
  std::vector<int32_t> last(count, -1);
  std::vector<double> arrival(count, 0);
  for (const placement::Edge &edge : problem.edges) {
    int32_t from = plan.device[edge.source], to = plan.device[edge.dest];
    const placement::Link &link = problem.links[size_t(from) * cluster.devices.size() + to];
    double time =
        endOf(edge.source) + (from == to ? 0 : link.latency + edge.size * link.timePerSize);
    if (last[edge.dest] < 0 || time > arrival[edge.dest]) {
      arrival[edge.dest] = time;
      last[edge.dest] = edge.source;
    }
  }
  struct Row {
    double seconds = 0, start = 1e30, end = 0;
    int32_t group = -1, node = -1;
    bool measured = false;
    std::vector<double> byDevice;
  };
  std::map<std::string, Row> rows;
  for (size_t i = 0; i < count; ++i) {
    StringRef name = nodeName(model.operations[i]->getLoc());
    if (name == "?")
      continue;
    Row &row = rows[name.str()];
    row.group = problem.nodes[i].group;
    row.seconds += problem.nodes[i].times[plan.device[i]];
    row.byDevice.resize(cluster.devices.size(), 0);
    for (size_t d = 0; d < cluster.devices.size(); ++d)
      row.byDevice[d] += problem.nodes[i].times[d];
    if (start[i] < row.start) {
      row.start = start[i];
      row.node = int32_t(i);
    }
    row.end = std::max(row.end, endOf(int32_t(i)));
    row.measured |= bool(model.measured[i]);
  }
  SmallVector<Attribute> described;
  for (auto &[name, row] : rows) {
    NamedAttrList entry;
    int32_t device = plan.device[row.node];
    entry.set("node", b.getStringAttr(name));
    entry.set("device", b.getStringAttr(cluster.devices[device].name.str()));
    entry.set("seconds", b.getF64FloatAttr(row.seconds));
    entry.set("start", b.getF64FloatAttr(row.start));
    entry.set("end", b.getF64FloatAttr(row.end));
    entry.set("measured", b.getBoolAttr(row.measured));
    SmallVector<Attribute> others, reasons;
    for (int32_t other : constraints.candidates(row.group))
      if (other != device)
        others.push_back(b.getDictionaryAttr(
            {b.getNamedAttr("device", b.getStringAttr(cluster.devices[other].name.str())),
             b.getNamedAttr("seconds", b.getF64FloatAttr(row.byDevice[other]))}));
    entry.set("others", b.getArrayAttr(others));
    for (const std::string &line : constraints.describe(row.group))
      reasons.push_back(b.getStringAttr(line));
    entry.set("reasons", b.getArrayAttr(reasons));
    if (int32_t input = last[row.node]; input >= 0) {
      entry.set("waits_for", b.getStringAttr(nodeName(model.operations[input]->getLoc())));
      entry.set("waits_for_device",
                b.getStringAttr(cluster.devices[plan.device[input]].name.str()));
    }
    described.push_back(entry.getDictionary(module.getContext()));
  }
  module->setAttr("weir_plan.placement", b.getArrayAttr(described));
  std::optional<placement::Plan> single = placement::placeOnOneDevice(problem);
  module->setAttr("weir_plan.makespan", b.getF64FloatAttr(plan.makespan));
  if (single)
    module->setAttr("weir_plan.one_device_makespan", b.getF64FloatAttr(single->makespan));
}
} // namespace
