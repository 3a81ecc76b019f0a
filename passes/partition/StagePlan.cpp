//===- StagePlan.cpp - a training step in stages --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/partition/StagePlan.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "passes/analysis/ShardMembers.h"
#include "passes/analysis/Variables.h"

#include "llvm/ADT/EquivalenceClasses.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace weir;

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

SmallVector<Operation *> StepPhases::makersFor(Operation *op) {
  llvm::SmallSetVector<Operation *, 8> makers;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == op->getBlock())
        makers.insert(def);
  });
  return makers.takeVector();
}

static bool isMicroSum(Operation *op) { return isa<GateOp>(op) && op->hasAttr(microSumAttr); }

StepPhases::StepPhases(Block &body, ArrayRef<BlockArgument> feeds) {
  auto readsRows = [&](Operation *op) {
    bool reads = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        reads |=
            isa<BlockArgument>(operand) && llvm::is_contained(feeds, cast<BlockArgument>(operand));
    });
    return reads;
  };
  for (Operation &op : body.without_terminator()) {
    bool isEach = !isFree(&op) && !isMicroSum(&op) &&
                  (op.hasAttr(microIndexAttr) || readsRows(&op) ||
                   llvm::any_of(makersFor(&op), [&](Operation *maker) {
                     return phases.lookup(maker) != StepPhase::Once;
                   }));
    phases[&op] = isEach ? StepPhase::Backward : StepPhase::Once;
  }
  SmallVector<Operation *> work = makersFor(body.getTerminator());
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    if (phases[op] == StepPhase::Backward)
      phases[op] = StepPhase::Forward;
    work.append(makersFor(op));
  }
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

std::string StagePlan::orderOf(int64_t stage) const {
  std::string text;
  for (const StageTurn &turn : turns)
    if (turn.stage == stage)
      text += (text.empty() ? "" : " ") + std::string(turn.isForward ? "F" : "B") +
              std::to_string(turn.micro);
  return text;
}

void weir::simulateTurns(StagePlan &plan, int64_t microBatches, ArrayRef<double> transfer) {
  auto stages = int64_t(plan.stages.size());
  std::vector<std::vector<StageTurn>> orders;
  for (int64_t s = 0; s < stages; ++s) {
    std::vector<StageTurn> &order = orders.emplace_back();
    int64_t ahead = std::min(stages - 1 - s, microBatches);
    for (int64_t m = 0; m < ahead; ++m)
      order.push_back({s, m, true});
    for (int64_t m = 0; m < microBatches; ++m) {
      if (m + ahead < microBatches)
        order.push_back({s, m + ahead, true});
      order.push_back({s, m, false});
    }
  }
  constexpr double notYet = -1;
  std::vector<std::vector<double>> forward(size_t(stages),
                                           std::vector<double>(size_t(microBatches), notYet)),
      backward = forward;
  std::vector<double> now(size_t(stages), 0.0);
  std::vector<size_t> done(size_t(stages), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t s = 0; s < stages; ++s)
      while (done[s] < orders[s].size()) {
        StageTurn &turn = orders[s][done[s]];
        auto m = size_t(turn.micro);
        double needs = 0;
        if (turn.isForward && s > 0)
          needs = forward[s - 1][m] == notYet ? notYet : forward[s - 1][m] + transfer[s - 1];
        if (!turn.isForward && s + 1 < stages)
          needs = backward[s + 1][m] == notYet ? notYet : backward[s + 1][m] + transfer[s];
        if (needs < 0)
          break;
        turn.start = std::max(now[s], needs);
        const StageCost &cost = plan.stages[s];
        turn.end = now[s] = turn.start + (turn.isForward ? cost.forward : cost.backward);
        (turn.isForward ? forward : backward)[s][m] = turn.end;
        ++done[s];
        moved = true;
      }
  }
  double busy = 0;
  plan.seconds = 0;
  plan.turns.clear();
  for (int64_t s = 0; s < stages; ++s) {
    busy += double(microBatches) * (plan.stages[s].forward + plan.stages[s].backward);
    plan.seconds = std::max(plan.seconds, now[s]);
    plan.turns.insert(plan.turns.end(), orders[s].begin(), orders[s].end());
  }
  plan.bubble = plan.seconds > 0 ? 1 - busy / (double(stages) * plan.seconds) : 0;
  llvm::stable_sort(plan.turns,
                    [](const StageTurn &a, const StageTurn &b) { return a.start < b.start; });
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

namespace {

/// The forward pass as a line that is cut.
class Cutter {
public:
  Cutter(func::FuncOp step, const StepPhases &phases, int64_t stages, int64_t microBatches)
      : step(step), phases(phases), stages(stages), microBatches(microBatches), members(step),
        units(step->getParentOfType<ModuleOp>(), /*soft=*/true),
        costs(step->getParentOfType<ModuleOp>(), /*soft=*/true) {}

  std::optional<StagePlan> run(std::string &why);

private:
  using Unit = int64_t;
  bool gather();
  void uniteOperations();
  void measure();
  void measureMemory();
  void findBorders();
  bool cut(std::string &why);
  void settle();

  Unit unitOf(Operation *op) const { return unitOfOp.lookup(op); }
  double time(Operation *op, int64_t stage) const {
    const std::vector<double> &own = times.at(op);
    double seconds = own[std::min(size_t(stage), own.size() - 1)];
    return std::isfinite(seconds) ? seconds : 0;
  }
  placement::Link link(int64_t stage) const {
    const DeviceSet &cluster = costs.cluster();
    return cluster.between(stage * members.count(), (stage + 1) * members.count());
  }
  /// Of those that `forward` and `backward` have.
  size_t deviceOf(int64_t stage) const {
    return std::min(size_t(stage * members.count()), forward.size() - 1);
  }
  /// Of what crosses before position `at` of the line, from the stage before `stage`, and back.
  double transfer(int64_t stage, size_t at) const {
    placement::Link way = link(stage - 1);
    return way.latency + crossing[at] * way.timePerSize;
  }
  /// Of an operation's results, on a stage's first device.
  double heldBytes(Operation *op) const {
    if (members.of(op) > 0)
      return 0;
    double bytes = 0;
    for (Type type : op->getResultTypes())
      bytes += bytesOf(type);
    return bytes;
  }
  double memoryOf(int64_t stage, size_t begin, size_t end) const {
    double kept = double(std::min(stages - stage, microBatches));
    return held[end] - held[begin] + kept * (stash[end] - stash[begin]);
  }
  double limitOf(int64_t stage) const {
    // Of one stage the devices are not known yet; who tries several ways looks then.
    auto module = step->getParentOfType<ModuleOp>();
    if (stages == 1 && (module->hasAttr(wantsEstimateAttr) || module->hasAttr(memoryCheckedAttr)))
      return placement::never;
    const DeviceSet &cluster = costs.cluster();
    auto device = size_t(stage * members.count());
    return device < cluster.devices.size() ? cluster.devices[device].memory : placement::never;
  }

  func::FuncOp step;
  const StepPhases &phases;
  int64_t stages, microBatches;
  ShardMembers members; ///< the cost of a product that devices share is its first part's
  Constraints units, costs;
  DenseMap<Operation *, Operation *> kernelOf;
  DenseMap<Operation *, std::vector<double>> times; ///< of the block's operations, by device
  DenseMap<Operation *, Unit> unitOfOp;
  std::vector<Operation *> line;                      ///< the forward pass
  DenseMap<Operation *, size_t> places;               ///< in it
  DenseMap<Unit, size_t> firstOf;                     ///< the first place of a unit in it
  std::vector<std::vector<double>> forward, backward; ///< by device: sums up to a place
  std::vector<double> crossing;                       ///< bytes before a place
  std::vector<double> held, stash; ///< bytes up to a place: always, and of a micro-batch
  std::vector<size_t> borders;     ///< places before which the line may be cut, 0 and its end too
  std::vector<size_t> begins;      ///< of stages
  StagePlan plan;
};

} // namespace

bool Cutter::gather() {
  if (failed(units.gather()) || failed(costs.gather()))
    return false;
  auto module = step->getParentOfType<ModuleOp>();
  kernelOf = uniteKernels(module, costs);
  CostModel model = buildCostModel(module, costs, kernelOf);
  Block &body = step.front();
  for (auto [i, op] : llvm::enumerate(model.operations))
    if (Operation *at = body.findAncestorOpInBlock(*op)) {
      std::vector<double> &own = times[at];
      own.resize(model.problem.nodes[i].times.size(), 0);
      for (auto [sum, each] : llvm::zip(own, model.problem.nodes[i].times))
        sum += each;
    }
  return true;
}

/// What has to be on one device: operations of one node, those of one variable, and what is inside
/// of one operation.
void Cutter::uniteOperations() {
  llvm::EquivalenceClasses<int32_t> together;
  DenseMap<Operation *, int32_t> groups;
  for (Operation &op : step.front().without_terminator())
    op.walk<WalkOrder::PreOrder>([&](Operation *inner) {
      if (!isPlaced(inner))
        return WalkResult::advance();
      int32_t group = units.groupOf(inner);
      auto [it, isFirst] = groups.try_emplace(&op, group);
      together.insert(group);
      if (!isFirst)
        together.unionSets(it->second, group);
      return inner->getNumRegions() ? WalkResult::skip() : WalkResult::advance();
    });
  int64_t alone = -1;
  for (Operation &op : step.front().without_terminator()) {
    auto it = groups.find(&op);
    unitOfOp[&op] = it == groups.end() ? alone-- : Unit(together.getLeaderValue(it->second));
  }
}

void Cutter::measure() {
  for (Operation &op : step.front().without_terminator())
    if (phases.of(&op) == StepPhase::Forward) {
      places[&op] = line.size();
      firstOf.try_emplace(unitOf(&op), line.size());
      line.push_back(&op);
    }
  size_t count = line.size(), devices = std::max<size_t>(costs.cluster().devices.size(), 1);
  forward.assign(devices, std::vector<double>(count + 1, 0));
  backward = forward;
  crossing.assign(count + 2, 0);
  for (Operation &op : step.front().without_terminator()) {
    if (!phases.isEach(&op))
      continue;
    auto own = firstOf.find(unitOf(&op));
    bool isForward = phases.of(&op) == StepPhase::Forward;
    size_t place = isForward ? places[&op] : own != firstOf.end() ? own->second : 0;
    // A node of the backward pass alone goes with what it reads of the forward pass.
    if (!isForward && own == firstOf.end())
      for (Operation *maker : StepPhases::makersFor(&op))
        if (auto at = places.find(maker); at != places.end())
          place = std::max(place, at->second);
    for (size_t d = 0; d < devices && times.count(&op) && members.of(&op) == 0; ++d)
      (isForward ? forward : backward)[d][place + 1] += time(&op, int64_t(d));
  }
  for (auto *sums : {&forward, &backward})
    for (std::vector<double> &of : *sums)
      std::partial_sum(of.begin(), of.end(), of.begin());
  for (auto [i, op] : llvm::enumerate(line)) {
    size_t last = i;
    for (Operation *user : op->getUsers())
      if (auto at = places.find(step.front().findAncestorOpInBlock(*user)); at != places.end())
        last = std::max(last, at->second);
    double bytes = heldBytes(op);
    // Before each place behind the maker, up to the last reader.
    crossing[i + 1] += bytes;
    crossing[last + 1] -= bytes;
  }
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
}

/// Weights, optimizers' variables and sums are held all the time; what the backward pass reads of
/// the forward pass for each micro-batch that is between the two.
void Cutter::measureMemory() {
  held.assign(line.size() + 1, 0);
  stash = held;
  // The first place that a value of the whole step serves.
  DenseMap<Operation *, size_t> serves;
  for (Operation &op : llvm::reverse(step.front().without_terminator())) {
    size_t place = line.size();
    for (Operation *user : op.getUsers()) {
      Operation *at = step.front().findAncestorOpInBlock(*user);
      if (auto own = places.find(at); own != places.end())
        place = std::min(place, own->second);
      else if (auto far = serves.find(at); far != serves.end() && !phases.isEach(at))
        place = std::min(place, far->second);
    }
    if (!phases.isEach(&op) && place < line.size())
      serves[&op] = place;
  }
  DenseMap<Unit, size_t> placeOfUnit = firstOf;
  for (auto &[op, place] : serves) {
    auto [it, isNew] = placeOfUnit.try_emplace(unitOf(op), place);
    it->second = std::min(it->second, place);
  }
  llvm::DenseSet<std::pair<StringRef, StringRef>> known;
  for (Operation &op : step.front().without_terminator()) {
    auto unit = placeOfUnit.find(unitOf(&op));
    size_t place = unit == placeOfUnit.end() ? 0 : unit->second;
    if (line.empty())
      return;
    place = std::min(place, line.size() - 1);
    if (auto read = dyn_cast<VariableReadOp>(op)) {
      VariableOp variable = variableOf(read.getResource());
      if (variable && known.insert({variable.getContainer(), variable.getName()}).second)
        held[place + 1] += heldBytes(&op);
    }
    if (isMicroSum(&op)) {
      Operation *maker = op.getOperand(0).getDefiningOp();
      auto own = maker ? firstOf.find(unitOf(maker)) : firstOf.end();
      held[(own == firstOf.end() ? place : own->second) + 1] += heldBytes(&op);
    }
  }
  for (auto [i, op] : llvm::enumerate(line)) {
    bool isKept = llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *at = step.front().findAncestorOpInBlock(*user);
      return phases.of(at) == StepPhase::Backward;
    });
    stash[i + 1] += isKept ? heldBytes(op) : 0;
  }
  std::partial_sum(held.begin(), held.end(), held.begin());
  std::partial_sum(stash.begin(), stash.end(), stash.begin());
}

/// Not through a unit, nor through what one kernel computes.
void Cutter::findBorders() {
  std::vector<int> closed(line.size() + 2, 0);
  auto close = [&](size_t first, size_t last) {
    // Before each place behind the first, up to the last.
    closed[first + 1] += 1;
    closed[last + 1] -= 1;
  };
  DenseMap<Unit, size_t> lastOf;
  for (auto [i, op] : llvm::enumerate(line))
    lastOf[unitOf(op)] = i;
  for (auto [i, op] : llvm::enumerate(line))
    if (firstOf[unitOf(op)] == i && lastOf[unitOf(op)] > i)
      close(i, lastOf[unitOf(op)]);
  // The parts of a shared product are all in one stage.
  llvm::StringMap<std::pair<size_t, size_t>> shared;
  for (auto [i, op] : llvm::enumerate(line))
    if (StringRef node = members.nodeOf(op); isa<DotGeneralOp>(op) && !node.empty())
      shared.try_emplace(node, i, i).first->second.second = i;
  for (auto &node : shared)
    if (node.second.first < node.second.second)
      close(node.second.first, node.second.second);
  constexpr size_t near = 64; // a kernel that gathers from afar is worth less than a cut
  for (auto [i, op] : llvm::enumerate(line))
    if (auto root = kernelOf.find(op); root != kernelOf.end())
      if (auto at = places.find(root->second);
          at != places.end() && at->second > i && at->second - i <= near)
        close(i, at->second);
  std::partial_sum(closed.begin(), closed.end(), closed.begin());
  borders = {0};
  for (size_t i = 1; i < line.size(); ++i)
    if (closed[i] == 0)
      borders.push_back(i);
  borders.push_back(line.size());
}

/// By dynamic programming: the best last piece behind each best cut of what is before it.
bool Cutter::cut(std::string &why) {
  if (int64_t(borders.size()) - 1 < stages) {
    why = "found " + std::to_string(borders.size() - 1) +
          " pieces of the forward pass that --pipeline=" + std::to_string(stages) +
          " could make stages of; possible: fewer stages";
    return false;
  }
  struct State {
    double longest = placement::never, moved = 0;
    size_t from = 0;
    bool operator<(const State &other) const {
      return longest != other.longest ? longest < other.longest : moved < other.moved;
    }
  };
  size_t count = borders.size();
  std::vector<std::vector<State>> best(size_t(stages) + 1, std::vector<State>(count));
  best[0][0].longest = 0;
  for (int64_t s = 0; s < stages; ++s) {
    size_t device = deviceOf(s);
    for (size_t j = 1; j < count; ++j)
      for (size_t i = 0; i < j; ++i) {
        const State &before = best[s][i];
        size_t begin = borders[i], end = borders[j];
        if (before.longest == placement::never || memoryOf(s, begin, end) > limitOf(s))
          continue;
        double way = s > 0 ? 2 * transfer(s, begin) : 0;
        double work = forward[device][end] - forward[device][begin] + backward[device][end] -
                      backward[device][begin] + way;
        State next{std::max(before.longest, work), before.moved + way, i};
        if (next < best[s + 1][j])
          best[s + 1][j] = next;
      }
  }
  if (best[stages][count - 1].longest == placement::never) {
    why = "found no cut into " + std::to_string(stages) +
          " stages within the memory of their devices; possible: more stages, more micro-batches, "
          "more memory";
    return false;
  }
  begins.assign(size_t(stages), 0);
  size_t at = count - 1;
  for (int64_t s = stages; s > 0; --s) {
    at = best[s][at].from;
    begins[s - 1] = borders[at];
  }
  return true;
}

/// All else follows the forward pass.
void Cutter::settle() {
  DenseMap<Unit, int64_t> known;
  auto note = [&](Operation *op, int64_t stage) {
    plan.stageOf[op] = known.try_emplace(unitOf(op), stage).first->second;
  };
  auto stageAt = [&](Operation *op) {
    auto it = plan.stageOf.find(op);
    return it == plan.stageOf.end() ? int64_t(-1) : it->second;
  };
  for (int64_t s = 0; s < stages; ++s)
    for (size_t i = begins[s]; i < (s + 1 < stages ? begins[s + 1] : line.size()); ++i)
      note(line[i], s);
  Block &body = step.front();
  // Gradients come from later stages.
  for (Operation &op : body.without_terminator()) {
    if (phases.of(&op) != StepPhase::Backward)
      continue;
    int64_t before = -1, ahead = -1;
    for (Operation *maker : StepPhases::makersFor(&op)) {
      int64_t stage = stageAt(maker);
      if (stage < 0 || !phases.isEach(maker))
        continue;
      if (phases.of(maker) == StepPhase::Backward)
        before = before < 0 ? stage : std::min(before, stage);
      else
        ahead = std::max(ahead, stage);
    }
    note(&op, std::max<int64_t>(before >= 0 ? before : ahead, 0));
  }
  // What is computed once for micro-batches: where the first of them needs it.
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (phases.isEach(&op))
      continue;
    int64_t first = -1;
    for (Operation *user : op.getUsers())
      if (Operation *at = body.findAncestorOpInBlock(*user); at && !isMicroSum(at))
        if (int64_t stage = stageAt(at); stage >= 0 && (first < 0 || stage < first))
          first = stage;
    if (first >= 0)
      note(&op, first);
  }
  // Sums are where the gradients are, and what follows is there, too.
  for (Operation &op : body.without_terminator()) {
    if (stageAt(&op) >= 0)
      continue;
    int64_t own = -1;
    for (Operation *maker : StepPhases::makersFor(&op))
      if (own < 0 && !isFree(maker))
        own = stageAt(maker);
    if (!isFree(&op) || own >= 0)
      note(&op, std::max<int64_t>(own, 0));
  }
  // A handle is where its readers are.
  for (Operation &op : body.without_terminator())
    if (isa<VariableOp>(op))
      for (Operation *user : op.getUsers())
        if (int64_t stage = stageAt(body.findAncestorOpInBlock(*user)); stage >= 0)
          plan.stageOf[&op] = stage;
}

std::optional<StagePlan> Cutter::run(std::string &why) {
  if (!gather()) {
    why = "";
    return std::nullopt;
  }
  uniteOperations();
  measure();
  measureMemory();
  findBorders();
  if (!cut(why))
    return std::nullopt;
  settle();
  std::vector<double> ways;
  for (int64_t s = 0; s < stages; ++s) {
    size_t begin = begins[s], end = s + 1 < stages ? begins[s + 1] : line.size();
    size_t device = deviceOf(s);
    StageCost cost;
    cost.forward = forward[device][end] - forward[device][begin];
    cost.backward = backward[device][end] - backward[device][begin];
    cost.memory = memoryOf(s, begin, end);
    cost.first = nodeName(line[begin]->getLoc()).str();
    cost.last = nodeName(line[end - 1]->getLoc()).str();
    if (s + 1 < stages) {
      cost.sends = crossing[end];
      ways.push_back(transfer(s + 1, end));
    }
    plan.stages.push_back(std::move(cost));
  }
  simulateTurns(plan, microBatches, ways);
  return std::move(plan);
}

std::optional<StagePlan> weir::cutIntoStages(func::FuncOp step, const StepPhases &phases,
                                             int64_t stages, int64_t microBatches,
                                             std::string &why) {
  return Cutter(step, phases, stages, microBatches).run(why);
}
