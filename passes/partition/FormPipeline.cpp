//===- FormPipeline.cpp - micro-batches that go through stages ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function has all micro-batches, each operation in the stage and the turn that
// StagePlan.h gives it; the partition makes a program for each stage of it, in the same order:
//
//   stage 0   F0 F1 B0 F2 B1 F3 B2 B3        g = g0        g += g1 …
//   stage 1      F0 B0 F1 B1 F2 B2 F3 B3
//
// Sums over micro-batches grow as these come, from the first to the last, however many stages
// there are: the same bits.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Training.h"
#include "passes/analysis/StepParts.h"
#include "passes/analysis/Variables.h"
#include "passes/partition/Passes.h"
#include "passes/partition/StagePlan.h"

#include "mlir/IR/IRMapping.h"

#include <map>
#include <queue>

namespace weir {
#define GEN_PASS_DEF_WEIRFORMPIPELINEPASS
#include "passes/partition/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// Operations of a block, some of them once for each micro-batch, in an order that keeps what they
/// need of each other.
class TurnOrder {
public:
  /// An operation of a micro-batch; `micro` is -1 for one that is there once.
  struct Item {
    Operation *op;
    int64_t micro;
  };

  TurnOrder(Block &body, const StepPhases &phases, const StagePlan &plan, int64_t microBatches);

  std::vector<Item> items() const;

private:
  /// When an item's turn comes: the turn, the micro-batch, the place in the block.
  using Rank = std::tuple<int64_t, int64_t, int64_t>;

  size_t number(Operation *op, int64_t micro) const {
    return first.lookup(op) + size_t(std::max<int64_t>(micro, 0));
  }
  size_t lastOf(Operation *op) const {
    return number(op, phases.isEach(op) ? microBatches - 1 : 0);
  }
  void add(Operation *op);
  void need(size_t user, size_t maker) {
    needs[user].push_back(maker);
    users[maker].push_back(user);
  }
  void linkOperands(Operation *op);
  void linkEffects(Operation *op);
  void follow(Operation *before, Operation *op);
  Rank rankOf(Operation *op, int64_t micro, int64_t place) const;

  const StepPhases &phases;
  const StagePlan &plan;
  int64_t microBatches;
  std::map<std::tuple<int64_t, int64_t, bool>, int64_t> turns; ///< by stage, micro-batch, pass
  DenseMap<Operation *, size_t> first;
  std::vector<Item> all;
  std::vector<Rank> ranks;
  std::vector<std::vector<size_t>> needs, users;
  // What effects follow on.
  using Key = std::pair<StringRef, StringRef>; ///< a variable
  DenseMap<Key, SmallVector<Operation *>> reads;
  DenseMap<Key, Operation *> written;
  Operation *lastEffect = nullptr;
};

} // namespace

TurnOrder::TurnOrder(Block &body, const StepPhases &phases, const StagePlan &plan,
                     int64_t microBatches)
    : phases(phases), plan(plan), microBatches(microBatches) {
  for (auto [i, turn] : llvm::enumerate(plan.turns))
    turns[{turn.stage, turn.micro, turn.isForward}] = int64_t(i);
  for (Operation &op : body.without_terminator())
    add(&op);
  needs.resize(all.size());
  users.resize(all.size());
  for (Operation &op : body.without_terminator()) {
    linkOperands(&op);
    linkEffects(&op);
  }
  // What an earlier turn needs comes before it.
  for (size_t i = all.size(); i-- > 0;)
    for (size_t maker : needs[i])
      ranks[maker] = std::min(ranks[maker], ranks[i]);
}

void TurnOrder::add(Operation *op) {
  auto place = int64_t(first.size());
  first[op] = all.size();
  bool isEach = phases.isEach(op);
  for (int64_t m = 0; m < (isEach ? microBatches : 1); ++m) {
    ranks.push_back(rankOf(op, m, place));
    all.push_back({op, isEach ? m : -1});
  }
}

TurnOrder::Rank TurnOrder::rankOf(Operation *op, int64_t micro, int64_t place) const {
  auto behind = int64_t(plan.turns.size());
  if (phases.isEach(op)) {
    auto turn = turns.find({plan.stageOf.lookup(op), micro, phases.of(op) == StepPhase::Forward});
    return {turn == turns.end() ? behind : turn->second, micro, place};
  }
  // A sum is there with its last part.
  if (auto gate = dyn_cast<GateOp>(op); gate && isReplicaMark(gate))
    if (Operation *maker = gate.getValue().getDefiningOp(); maker && first.contains(maker))
      return ranks[lastOf(maker)];
  return {behind, 0, place};
}

void TurnOrder::linkOperands(Operation *op) {
  bool isEach = phases.isEach(op);
  for (Operation *maker : StepPhases::makersFor(op)) {
    if (!phases.isEach(maker)) {
      for (int64_t m = 0; m < (isEach ? microBatches : 1); ++m)
        need(number(op, m), number(maker, 0));
      continue;
    }
    for (int64_t m = 0; m < microBatches; ++m)
      need(number(op, isEach ? m : 0), number(maker, m));
  }
  // Sums grow in the order of micro-batches.
  bool isSummed = isEach && llvm::any_of(op->getUsers(), [](Operation *user) {
                    return user->hasAttr(microSumAttr);
                  });
  for (int64_t m = 1; isSummed && m < microBatches; ++m)
    need(number(op, m), number(op, m - 1));
}

void TurnOrder::follow(Operation *before, Operation *op) {
  if (!before || before == op)
    return;
  for (int64_t m = 0; m < (phases.isEach(op) ? microBatches : 1); ++m)
    for (size_t maker = number(before, 0); maker <= lastOf(before); ++maker)
      need(number(op, m), maker);
}

/// Variables' reads stay between the assignments that they stand between; all other effects but
/// assertions keep their order.
void TurnOrder::linkEffects(Operation *op) {
  op->walk([&](Operation *inner) {
    Value resource;
    if (auto read = dyn_cast<VariableReadOp>(inner))
      resource = read.getResource();
    else if (auto assign = dyn_cast<VariableAssignOp>(inner))
      resource = assign.getResource();
    VariableOp variable = resource ? variableOf(resource) : VariableOp();
    if (variable) {
      Key key(variable.getContainer(), variable.getName());
      follow(written.lookup(key), op);
      if (isa<VariableReadOp>(inner)) {
        reads[key].push_back(op);
        return;
      }
      for (Operation *read : reads[key])
        follow(read, op);
      reads[key].clear();
      written[key] = op;
      return;
    }
    if (isa<AssertOp>(inner) || inner->getNumRegions() > 0 || isMemoryEffectFree(inner))
      return;
    follow(lastEffect, op);
    lastEffect = op;
  });
}

std::vector<TurnOrder::Item> TurnOrder::items() const {
  std::vector<size_t> waiting(all.size());
  using Entry = std::pair<Rank, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t i = 0; i < all.size(); ++i) {
    waiting[i] = needs[i].size();
    if (!waiting[i])
      ready.push({ranks[i], i});
  }
  std::vector<Item> order;
  while (!ready.empty()) {
    size_t i = ready.top().second;
    ready.pop();
    order.push_back(all[i]);
    for (size_t user : users[i])
      if (--waiting[user] == 0)
        ready.push({ranks[user], user});
  }
  return order;
}

namespace {

/// Writes a step's micro-batches out.
class Former {
public:
  Former(func::FuncOp step, int64_t stages, int64_t microBatches)
      : step(step), stages(stages), microBatches(microBatches), b(step.getContext()),
        maps(size_t(microBatches)), hasDevices(stages > 1 || step->hasAttr(replicasAttr)) {}

  LogicalResult run();

private:
  void shareFeeds(ArrayRef<BlockArgument> feeds, const StagePlan &plan);
  Value valueOf(Value value, int64_t micro);
  void copy(Operation *op, int64_t micro, const StagePlan &plan);
  void sum(GateOp gate, Value part, int64_t micro);
  void describe(const StagePlan &plan);
  std::string prefixOf(int64_t micro) const { return "micro_" + std::to_string(micro) + "/"; }
  void settle(Operation *op, int64_t stage) { op->setAttr(stageAttr, b.getI64IntegerAttr(stage)); }

  func::FuncOp step;
  int64_t stages, microBatches;
  OpBuilder b;
  std::vector<IRMapping> maps;                  ///< by micro-batch
  DenseMap<BlockArgument, int64_t> stageOfFeed; ///< of those that are divided
  bool hasDevices; ///< weir-replicate gives them; else what the model asks for by name
  struct Sum {
    Value value;
    int64_t parts = 0;
  };
  DenseMap<Operation *, Sum> sums; ///< by mark
};

} // namespace

/// Feeds have the rows of all micro-batches; each one's are in the stage that reads them first.
void Former::shareFeeds(ArrayRef<BlockArgument> feeds, const StagePlan &plan) {
  for (BlockArgument feed : feeds) {
    int64_t stage = stages - 1;
    for (Operation *user : feed.getUsers())
      stage = std::min(stage, plan.stageOf.lookup(step.front().findAncestorOpInBlock(*user)));
    stageOfFeed[feed] = stage;
  }
  multiplyRows(step, feeds, microBatches);
}

/// A micro-batch's value for one of the step; its rows of a feed are taken when their turn comes.
Value Former::valueOf(Value value, int64_t micro) {
  IRMapping &map = maps[size_t(micro)];
  auto feed = dyn_cast<BlockArgument>(value);
  auto stage = feed ? stageOfFeed.find(feed) : stageOfFeed.end();
  if (stage == stageOfFeed.end() || map.contains(value))
    return map.lookupOrDefault(value);
  Value rows = rowsOf(b, NameLoc::get(b.getStringAttr(prefixOf(micro) + feedName(feed))), feed,
                      {micro, microBatches, "micro-batches"},
                      [&](Operation *made) { settle(made, stage->second); });
  map.map(value, rows);
  return rows;
}

/// Adds a micro-batch's part to a sum. What is added up is stored each time, else the parts of all
/// micro-batches would wait for the last.
void Former::sum(GateOp gate, Value part, int64_t micro) {
  Sum &so = sums[gate];
  so.parts = micro + 1;
  Operation *maker = part.getDefiningOp();
  if (micro == 0) {
    so.value = part;
    if (maker && microBatches > 1)
      maker->setAttr(storedAttribute, b.getUnitAttr());
    return;
  }
  auto added =
      AddOp::create(b, maker ? maker->getLoc() : gate.getLoc(), part.getType(), so.value, part);
  if (auto stage = maker ? maker->getAttrOfType<IntegerAttr>(stageAttr) : IntegerAttr())
    added->setAttr(stageAttr, stage);
  added->setAttr(storedAttribute, b.getUnitAttr());
  so.value = added;
}

void Former::copy(Operation *op, int64_t micro, const StagePlan &plan) {
  IRMapping &map = maps[size_t(micro)];
  if (auto gate = dyn_cast<GateOp>(op); gate && gate->hasAttr(microIndexAttr)) {
    auto type = cast<RankedTensorType>(gate.getType());
    auto value = DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), micro));
    map.map(gate.getResult(), ConstantOp::create(b, gate.getLoc(), value).getResult());
    return;
  }
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      valueOf(operand, micro);
  });
  Operation *made = b.clone(*op, map);
  settle(made, plan.stageOf.lookup(op));
  // The first keeps the names, which evaluation has, too, and all where requests go by them.
  if (micro > 0 && hasDevices)
    made->walk(
        [&](Operation *inner) { inner->setLoc(prefixed(inner->getLoc(), prefixOf(micro))); });
  for (auto [result, value] : llvm::zip(op->getResults(), made->getResults()))
    for (Operation *user : result.getUsers())
      if (auto gate = dyn_cast<GateOp>(user); gate && gate->hasAttr(microSumAttr))
        sum(gate, value, micro);
}

LogicalResult Former::run() {
  FailureOr<SmallVector<BlockArgument>> feeds = dividedFeeds(step);
  if (failed(feeds))
    return failure();
  Block &body = step.front();
  StepPhases phases(body, *feeds);
  std::string why;
  std::optional<StagePlan> plan = cutIntoStages(step, phases, stages, microBatches, why);
  if (!plan) {
    if (!why.empty())
      emitError(UnknownLoc::get(step.getContext())) << "W0420: " << why;
    return failure();
  }
  SmallVector<Operation *> each;
  for (Operation &op : body.without_terminator())
    if (phases.isEach(&op))
      each.push_back(&op);
  std::vector<TurnOrder::Item> order = TurnOrder(body, phases, *plan, microBatches).items();
  shareFeeds(*feeds, *plan);
  Operation *end = body.getTerminator();
  b.setInsertionPoint(end);
  for (const TurnOrder::Item &item : order) {
    if (item.micro >= 0) {
      copy(item.op, item.micro, *plan);
      continue;
    }
    item.op->moveBefore(end);
    settle(item.op, plan->stageOf.lookup(item.op));
    auto gate = dyn_cast<GateOp>(item.op);
    if (!gate || !gate->hasAttr(microSumAttr))
      continue;
    // A value without an operation of each micro-batch: a feed, or the same for all.
    for (int64_t m = sums[gate].parts; m < microBatches; ++m)
      sum(gate, valueOf(gate.getValue(), m), m);
    gate.getResult().replaceAllUsesWith(sums[gate].value);
    gate.erase();
  }
  for (Operation *op : llvm::reverse(each))
    op->erase();
  describe(*plan);
  step->removeAttr(microBatchesAttr);
  if (!hasDevices)
    step->removeAttr(stagesAttr);
  if (!step->hasAttr(replicasAttr))
    step->removeAttr(shardedAttr);
  step->setAttr(keepsOrderAttr, b.getUnitAttr());
  return success();
}

/// For reports.
void Former::describe(const StagePlan &plan) {
  SmallVector<Attribute> rows;
  for (auto [s, cost] : llvm::enumerate(plan.stages))
    rows.push_back(
        b.getDictionaryAttr({b.getNamedAttr("backward", b.getF64FloatAttr(cost.backward)),
                             b.getNamedAttr("bytes", b.getI64IntegerAttr(int64_t(cost.memory))),
                             b.getNamedAttr("first", b.getStringAttr(cost.first)),
                             b.getNamedAttr("forward", b.getF64FloatAttr(cost.forward)),
                             b.getNamedAttr("last", b.getStringAttr(cost.last)),
                             b.getNamedAttr("order", b.getStringAttr(plan.orderOf(int64_t(s)))),
                             b.getNamedAttr("sends", b.getI64IntegerAttr(int64_t(cost.sends)))}));
  step->getParentOfType<ModuleOp>()->setAttr(
      "weir_plan.pipeline",
      b.getDictionaryAttr({b.getNamedAttr("bubble", b.getF64FloatAttr(plan.bubble)),
                           b.getNamedAttr("micro_batches", b.getI64IntegerAttr(microBatches)),
                           b.getNamedAttr("seconds", b.getF64FloatAttr(plan.seconds)),
                           b.getNamedAttr("stages", b.getArrayAttr(rows))}));
}

namespace {

struct FormPipelinePass : weir::impl::WeirFormPipelinePassBase<FormPipelinePass> {
  void runOnOperation() override {
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      auto micro = function->getAttrOfType<IntegerAttr>(microBatchesAttr);
      auto stages = function->getAttrOfType<IntegerAttr>(stagesAttr);
      if (!micro)
        continue;
      if (failed(Former(function, stages ? stages.getInt() : 1, micro.getInt()).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
