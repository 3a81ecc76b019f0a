//===- ValueNumbering.cpp - equal values are computed once ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/ConstantEvaluator.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/redundancy/Congruence.h"
#include "passes/redundancy/Hoisting.h"
#include "passes/redundancy/Passes.h"
#include "llvm/ADT/ScopedHashTable.h"
#include <map>

namespace weir {
#define GEN_PASS_DEF_WEIRVALUENUMBERINGPASS
#include "passes/redundancy/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::redundancy;

/// Names that one location takes over from operations it replaces: reports name
/// them, and thousands would make each copy of it slow.
static constexpr size_t mostNames = 8;
/// Moving out of a loop lets its surroundings be numbered better; a few rounds
/// are all that nesting asks for.
static constexpr int mostRounds = 4;

namespace {

/// What became of operations, by name of operation: names of nodes.
using Statistics = std::map<std::string, std::vector<std::string>>;

void count(Statistics &statistics, Operation *op) {
  if (!isa<ConstantOp>(op))
    statistics[op->getName().stripDialect().str()].push_back(nodeName(op->getLoc()).str());
}

/// Uses the first of equal values everywhere that it reaches.
class Replacer {
public:
  Replacer(const Congruence &congruence, Statistics &removed)
      : congruence(congruence), removed(removed) {}

  void visit(Block &block) {
    Leaders::ScopeTy scope(leaders);
    for (BlockArgument argument : block.getArguments())
      if (!replace(argument, nullptr))
        lead(argument);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      SmallVector<bool> replaced;
      for (OpResult result : op.getResults())
        replaced.push_back(replace(result, &op));
      if (llvm::is_contained(replaced, true) && isOpTriviallyDead(&op)) {
        count(removed, &op);
        op.erase();
        continue;
      }
      // The regions come before the results, which are not there inside; results
      // may be equal among themselves.
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
      for (auto [result, gone] : llvm::zip(op.getResults(), replaced))
        if (!gone && !replace(result, &op))
          lead(result);
    }
  }

  void nameLeaders() {
    for (auto &[leader, locations] : merged) {
      Location loc = leader->getLoc();
      llvm::SetVector<StringRef> names;
      collectNodeNames(loc, names);
      SmallVector<Location> parts{loc};
      for (Location other : locations) {
        size_t before = names.size();
        collectNodeNames(other, names);
        if (names.size() > before && parts.size() < mostNames)
          parts.push_back(other);
      }
      if (parts.size() > 1)
        leader->setLoc(FusedLoc::get(leader->getContext(), parts));
    }
  }

private:
  using Key = std::pair<Class, Attribute>;
  using Leaders = llvm::ScopedHashTable<Key, Value>;

  /// Devices keep copies of their own: a value from elsewhere would have to be
  /// sent. What is fed comes from outside in any case.
  Value leaderOf(Class c, Attribute device) {
    if (Value leader = leaders.lookup({c, device}))
      return leader;
    Value leader = device ? leaders.lookup({c, Attribute()}) : Value();
    return isa_and_present<BlockArgument>(leader) ? leader : Value();
  }

  static Attribute deviceOf(Value value) {
    // What a loop carries is where the loop is.
    Operation *home =
        value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
    return home->getAttr("weir.device");
  }

  void lead(Value value) {
    if (Class c = congruence.classOf(value))
      leaders.insert({c, deviceOf(value)}, value);
  }

  /// `op` is null for block arguments. Whether the value was replaced.
  bool replace(Value value, Operation *op) {
    Class c = congruence.classOf(value);
    if (!c)
      return false;
    Value leader = leaderOf(c, deviceOf(value));
    if (!leader && op)
      leader = materialize(c, op, value.getType());
    if (!leader || leader == value || leader.getType() != value.getType())
      return false;
    if (value.use_empty())
      return op != nullptr;
    value.replaceAllUsesWith(leader);
    Operation *def = leader.getDefiningOp();
    if (def && op && def != op && !isa<ConstantOp>(def) && def->getName() == op->getName())
      merged[def].push_back(op->getLoc());
    return true;
  }

  /// A constant for what turned out to be one.
  Value materialize(Class c, Operation *op, Type type) {
    auto value = dyn_cast_or_null<DenseElementsAttr>(congruence.constantOf(c));
    if (!value || isa<ConstantOp>(op) || value.getType() != type ||
        value.getNumElements() > maxEvaluatedElements)
      return {};
    OpBuilder b(op);
    auto constant = ConstantOp::create(b, op->getLoc(), cast<TypedAttr>(value));
    Attribute device = op->getAttr("weir.device");
    if (device)
      constant->setAttr("weir.device", device);
    leaders.insert({c, device}, constant);
    return constant;
  }

  const Congruence &congruence;
  Statistics &removed;
  Leaders leaders;
  llvm::MapVector<Operation *, SmallVector<Location>> merged;
};

/// {operation = ["node", …]}, together with what earlier passes wrote.
Attribute describe(MLIRContext *context, const Statistics &statistics, Attribute earlier) {
  NamedAttrList list;
  if (auto dictionary = dyn_cast_or_null<DictionaryAttr>(earlier))
    list = NamedAttrList(dictionary);
  for (auto &[operation, nodes] : statistics) {
    SmallVector<Attribute> names;
    if (auto known = dyn_cast_or_null<ArrayAttr>(list.get(operation)))
      names.append(known.begin(), known.end());
    for (const std::string &node : nodes)
      names.push_back(StringAttr::get(context, node));
    list.set(operation, ArrayAttr::get(context, names));
  }
  return list.getDictionary(context);
}

struct ValueNumberingPass : weir::impl::WeirValueNumberingPassBase<ValueNumberingPass> {
  using WeirValueNumberingPassBase::WeirValueNumberingPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Statistics removed, hoisted;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        runOn(function, removed, hoisted);
    for (auto &[name, statistics] : {std::pair<const char *, Statistics &>{"weir.removed", removed},
                                     {"weir.hoisted", hoisted}})
      if (!statistics.empty())
        module->setAttr(name, describe(&getContext(), statistics, module->getAttr(name)));
  }

  void runOn(func::FuncOp function, Statistics &removed, Statistics &hoisted) {
    size_t before = ~size_t(0);
    for (int round = 0; round < mostRounds; ++round) {
      {
        Congruence congruence(function);
        Replacer replacer(congruence, removed);
        for (Block &block : function.getBody())
          replacer.visit(block);
        replacer.nameLeaders();
      }
      eraseDead(function);
      // Folding under a presumption may have parted what is alike without it.
      bool hasLoops =
          function.walk([](WhileOp) { return WalkResult::interrupt(); }).wasInterrupted();
      size_t now = llvm::accumulate(removed, size_t(0), [](size_t sum, const auto &entry) {
        return sum + entry.second.size();
      });
      bool changed = dropUnusedCarried(function) || (hasLoops && now != before);
      before = now;
      if (hoist)
        redundancy::hoist(function, [&](Operation *op) {
          count(hoisted, op);
          changed = true;
        });
      if (!changed)
        return;
    }
  }

  static void eraseDead(func::FuncOp function) {
    function.walk<WalkOrder::PostOrder>([](Block *block) {
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
        if (isOpTriviallyDead(&op))
          op.erase();
    });
  }
};

} // namespace
