//===- Congruence.cpp - which values of a function are equal --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/redundancy/Congruence.h"
#include "dialects/weir/Pch.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace weir;
using namespace weir::redundancy;

/// A loop that has not come to rest after so many rounds is numbered without
/// any presumption: keeps the time near-linear.
static constexpr unsigned mostRounds = 64;
/// Loops that begin alike and do different work: each is compared with so many.
static constexpr uint64_t mostCompared = 8;

Congruence::Congruence(func::FuncOp function) : table(function.getContext()) {
  for (BlockArgument argument : function.getArguments())
    setFresh(argument);
  for (Block &block : function.getBody())
    visitBlock(block);
}

SmallVector<Class> Congruence::classesOf(ValueRange values) const {
  SmallVector<Class> result;
  for (Value value : values)
    result.push_back(classes.lookup(value));
  return result;
}

void Congruence::visitBlock(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

void Congruence::visit(Operation *op) {
  if (auto conditional = dyn_cast<IfOp>(op))
    return visitIf(conditional);
  if (auto loop = dyn_cast<WhileOp>(op))
    return visitWhile(loop);
  if (auto read = dyn_cast<VariableReadOp>(op))
    return visitRead(read);
  if (op->getNumRegions() == 0 && isMemoryEffectFree(op)) {
    SmallVector<Class> operands = classesOf(op->getOperands());
    for (OpResult result : op->getResults())
      classes[result] = table.number(op, operands, result.getResultNumber());
    return;
  }
  recordWrites(writesOf(op));
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        setFresh(argument);
      visitBlock(block);
    }
  for (Value result : op->getResults())
    setFresh(result);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

Attribute Congruence::variableOf(Value resource) {
  for (;;) {
    if (auto variable = resource.getDefiningOp<VariableOp>())
      return ArrayAttr::get(variable.getContext(),
                            {variable.getContainerAttr(), variable.getNameAttr()});
    // A loop hands resources on as they are.
    WhileOp loop;
    unsigned index;
    if (auto argument = dyn_cast<BlockArgument>(resource)) {
      loop = dyn_cast<WhileOp>(argument.getOwner()->getParentOp());
      index = argument.getArgNumber();
    } else {
      loop = resource.getDefiningOp<WhileOp>();
      index = cast<OpResult>(resource).getResultNumber();
    }
    if (!loop || loop.getBody().front().getTerminator()->getOperand(index) !=
                     loop.getBody().getArgument(index))
      return {};
    resource = loop.getInits()[index];
  }
}

Congruence::Writes Congruence::writesOf(Operation *op) {
  if (auto it = knownWrites.find(op); it != knownWrites.end())
    return it->second;
  Writes writes;
  if (auto assign = dyn_cast<VariableAssignOp>(op))
    writes.resources.insert(assign.getResource());
  else if (!op->hasTrait<traits::WritesNoVariable>() && op->getNumRegions() == 0)
    writes.any = !isMemoryEffectFree(op);
  if (op->getNumRegions() == 0)
    return writes;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps()) {
      Writes nested = writesOf(&inner);
      writes.any |= nested.any;
      writes.resources.insert(nested.resources.begin(), nested.resources.end());
    }
  return knownWrites[op] = std::move(writes);
}

void Congruence::recordWrites(const Writes &writes) {
  if (writes.any)
    memory.all = ++lastWrite;
  for (Value resource : writes.resources) {
    if (Attribute variable = variableOf(resource))
      memory.writes[variable] = ++lastWrite;
    else
      memory.all = ++lastWrite;
  }
}

void Congruence::visitRead(VariableReadOp op) {
  Attribute variable = variableOf(op.getResource());
  if (!variable)
    return setFresh(op.getResult());
  Term term;
  term.head = readHead;
  term.type = op.getType();
  term.extra = {reinterpret_cast<uint64_t>(variable.getAsOpaquePointer()),
                std::max(memory.all, memory.writes.lookup(variable))};
  classes[op.getResult()] = table.intern(std::move(term));
}

//===----------------------------------------------------------------------===//
// Conditionals
//===----------------------------------------------------------------------===//

void Congruence::visitIf(IfOp op) {
  Class condition = classes.lookup(op.getCondition());
  Memory before = memory;
  visitBlock(op.getThenRegion().front());
  memory = before;
  visitBlock(op.getElseRegion().front());
  memory = std::move(before);
  recordWrites(writesOf(op));
  auto known = dyn_cast_or_null<DenseElementsAttr>(table.constantOf(condition));
  for (auto [result, yes, no] :
       llvm::zip(op.getResults(), op.getThenRegion().front().getTerminator()->getOperands(),
                 op.getElseRegion().front().getTerminator()->getOperands())) {
    Class a = classes.lookup(yes), b = classes.lookup(no);
    if (known)
      a = b = *known.getValues<bool>().begin() ? a : b;
    // A token stands for having passed the conditional.
    if (a == b && table.typeOf(a) == result.getType() && isa<TensorType>(result.getType())) {
      classes[result] = a;
      continue;
    }
    if (!isa<TensorType>(result.getType())) {
      setFresh(result);
      continue;
    }
    Term term;
    term.head = choiceHead;
    term.type = result.getType();
    term.operands = {condition, a, b};
    classes[result] = table.intern(std::move(term));
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Term Congruence::loopTerm(WhileOp op, uint64_t number) {
  Term term;
  term.head = loopHead;
  term.operands = classesOf(op.getInits());
  term.extra.push_back(number);
  for (Type type : op.getResultTypes())
    term.extra.push_back(reinterpret_cast<uint64_t>(type.getAsOpaquePointer()));
  return term;
}

void Congruence::bindArguments(WhileOp op, const Loop &loop, Class identity,
                               Block::BlockArgListType arguments) {
  for (BlockArgument argument : arguments) {
    unsigned i = argument.getArgNumber();
    if (loop.groups[i] == Loop::invariant) {
      classes[argument] = classes.lookup(op.getInits()[i]);
      continue;
    }
    Term term;
    term.head = argumentHead;
    term.type = argument.getType();
    term.operands = {identity};
    term.extra = {uint64_t(loop.groups[i])};
    classes[argument] = table.intern(std::move(term));
  }
}

bool Congruence::refine(WhileOp op, Loop &loop) {
  auto yields = op.getBody().front().getTerminator()->getOperands();
  bool changed = false;
  auto groups = loop.groups;
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    if (groups[i] == Loop::invariant && classes.lookup(yields[i]) != classes.lookup(init)) {
      groups[i] = i;
      changed = true;
    }
  if (changed) {
    // What changes is presumed to change alike where it begins alike.
    std::map<std::pair<Class, const void *>, int> first;
    for (auto [i, init] : llvm::enumerate(op.getInits()))
      if (groups[i] != Loop::invariant)
        groups[i] =
            first
                .try_emplace({classes.lookup(init), op.getResult(i).getType().getAsOpaquePointer()},
                             i)
                .first->second;
  } else {
    // A loop around this one may have shown since that they do not begin alike.
    std::map<std::tuple<int, Class, Class>, int> first;
    for (auto [i, yield] : llvm::enumerate(yields)) {
      if (groups[i] == Loop::invariant)
        continue;
      Class init = classes.lookup(op.getInits()[i]);
      int group = first.try_emplace({groups[i], init, classes.lookup(yield)}, i).first->second;
      changed |= group != groups[i];
      groups[i] = group;
    }
  }
  if (changed && ++loop.rounds > mostRounds)
    for (auto [i, group] : llvm::enumerate(groups))
      group = i;
  loop.groups = groups;
  return changed;
}

void Congruence::visitWhile(WhileOp op) {
  {
    Loop &loop = loops[op];
    if (loop.groups.empty())
      for (auto [i, init] : llvm::enumerate(op.getInits())) {
        // A token behind the loop is more than the one before it; a type that
        // the loop widens is another type.
        bool may = isa<TensorType>(init.getType()) && init.getType() == op.getResult(i).getType();
        loop.groups.push_back(may ? Loop::invariant : int(i));
      }
  }
  // Reads inside see what any iteration wrote.
  recordWrites(writesOf(op));
  Memory atEntry = memory;
  unsigned writesAtEntry = lastWrite;
  Block &condition = op.getCondition().front(), &body = op.getBody().front();
  for (;;) {
    size_t mark = table.mark();
    // Nested loops grow the map: no reference is kept across a visit.
    uint64_t compared = loops[op].compared;
    bool isOwn = compared == mostCompared;
    Class identity = isOwn ? table.fresh({}) : table.intern(loopTerm(op, compared));
    WhileOp &first = firstLoops[identity];
    if (identity >= mark)
      first = op;
    WhileOp twin = first;
    // A carried value's class stands for its value in the iteration at hand:
    // inside of a loop, one that is like it has iterations of its own.
    if (llvm::is_contained(active, identity)) {
      ++loops[op].compared;
      continue;
    }
    Loop presumed = loops[twin];
    bindArguments(op, presumed, identity, condition.getArguments());
    bindArguments(op, presumed, identity, body.getArguments());
    active.push_back(identity);
    visitBlock(condition);
    visitBlock(body);
    active.pop_back();
    bool again;
    if (twin == op) {
      again = refine(op, loops[op]);
    } else {
      auto same = [&](Block &a, Block &b) {
        return classesOf(a.getTerminator()->getOperands()) ==
               classesOf(b.getTerminator()->getOperands());
      };
      again = !same(condition, twin.getCondition().front()) || !same(body, twin.getBody().front());
      loops[op].compared += again;
    }
    if (!again) {
      recordWrites(writesOf(op));
      for (auto [i, result] : llvm::enumerate(op.getResults())) {
        if (presumed.groups[i] == Loop::invariant) {
          classes[result] = classes.lookup(op.getInits()[i]);
          continue;
        }
        if (!isa<TensorType>(result.getType())) {
          setFresh(result);
          continue;
        }
        Term term;
        term.head = resultHead;
        term.type = result.getType();
        term.operands = {identity};
        term.extra = {uint64_t(presumed.groups[i])};
        classes[result] = table.intern(std::move(term));
      }
      return;
    }
    table.rollBack(mark);
    memory = atEntry;
    lastWrite = writesAtEntry;
  }
}
