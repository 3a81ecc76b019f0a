//===- LoopSegments.cpp - loops that keep less for their gradient --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/gradient/LoopSegments.h"
#include "passes/gradient/Gradient.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::gradient;

/// Of a loop over segments how many these are, and of a segment how many trips it has, at most;
/// for as long as gradients are made.
static constexpr StringLiteral segmentsAttr = "weir.segments", tripsAttr = "weir.segment_trips";

/// Trips from which on a loop is divided.
static constexpr int64_t fewestTrips = 9;

std::optional<int64_t> gradient::tripsOfSegments(WhileOp loop) {
  for (StringRef name : {segmentsAttr, tripsAttr})
    if (auto trips = loop->getAttrOfType<IntegerAttr>(name))
      return trips.getInt();
  return std::nullopt;
}

bool gradient::goesOverSegments(WhileOp loop) { return loop->hasAttr(segmentsAttr); }

/// Whether a loop may be nested in one of the same values: each has one type throughout.
static bool isDivisible(WhileOp loop) {
  Operation *end = loop.getBody().front().getTerminator();
  for (size_t i = 0; i < loop->getNumResults(); ++i)
    for (Type type : {loop->getResult(i).getType(), loop.getBody().getArgument(i).getType(),
                      loop.getCondition().getArgument(i).getType(), end->getOperand(i).getType()})
      if (type != loop.getInits()[i].getType())
        return false;
  return !loop->walk([](AssertOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// A copy of `loop` that begins with `inits` and ends at the latest behind `length` trips.
static WhileOp makeSegment(WhileOp loop, ValueRange inits, int64_t length, Adjoint &a) {
  SmallVector<Value> begin(inits);
  begin.push_back(a.reshape(a.ints({0}), a.ints({})));
  Type counterType = begin.back().getType();
  OperationState state(a.loc, WhileOp::getOperationName());
  state.addOperands(begin);
  state.addTypes(ValueRange(begin).getTypes());
  state.addAttribute(tripsAttr, a.b.getI64IntegerAttr(length));
  auto copy = [&](Region &region) -> std::pair<BlockArgument, Operation *> {
    Region *made = state.addRegion();
    IRMapping mapping;
    region.cloneInto(made, mapping);
    return {made->front().addArgument(counterType, a.loc), made->front().getTerminator()};
  };
  {
    OpBuilder::InsertionGuard guard(a.b);
    auto [asked, condition] = copy(loop.getCondition());
    a.b.setInsertionPoint(condition);
    Value isLeft = a.compare("lt", asked, a.number(asked, double(length)));
    condition->setOperand(0, a.op<AndOp>(condition->getOperand(0), isLeft));
    auto [counted, end] = copy(loop.getBody());
    a.b.setInsertionPoint(end);
    SmallVector<Value> next(end->getOperands());
    next.push_back(a.plus(counted, a.number(counted, 1)));
    end->setOperands(next);
  }
  return cast<WhileOp>(a.b.create(state));
}

WhileOp gradient::inSegments(WhileOp loop, std::optional<int64_t> trips, Adjoint &a) {
  auto module = loop->getParentOfType<ModuleOp>();
  if (!trips || *trips < fewestTrips || !module || !module->hasAttr(checkpointLoopsAttr) ||
      tripsOfSegments(loop) || !isDivisible(loop))
    return {};
  auto length = int64_t(std::ceil(std::sqrt(double(*trips))));
  OpBuilder::InsertionGuard guard(a.b);
  a.b.setInsertionPoint(loop);
  OperationState state(a.loc, WhileOp::getOperationName());
  state.addOperands(loop.getInits());
  state.addTypes(loop.getInits().getTypes());
  state.addAttribute(segmentsAttr, a.b.getI64IntegerAttr((*trips + length - 1) / length));
  IRMapping mapping;
  loop.getCondition().cloneInto(state.addRegion(), mapping);
  SmallVector<Location> locations(loop.getInits().size(), a.loc);
  Block *body = a.b.createBlock(state.addRegion(), {}, loop.getInits().getTypes(), locations);
  WhileOp segment = makeSegment(loop, body->getArguments(), length, a);
  // What no trip changes no segment does.
  SmallVector<Value> next;
  Operation *end = loop.getBody().front().getTerminator();
  for (auto [i, argument] : llvm::enumerate(body->getArguments())) {
    bool isInvariant = end->getOperand(unsigned(i)) == loop.getBody().getArgument(unsigned(i));
    next.push_back(isInvariant ? Value(argument) : segment->getResult(unsigned(i)));
  }
  YieldOp::create(a.b, a.loc, ValueRange(next));
  a.b.setInsertionPoint(loop);
  auto made = cast<WhileOp>(a.b.create(state));
  loop->replaceAllUsesWith(made);
  return made;
}

/// Whether trips do nothing but add to what `loop` carries at `i`.
static bool isSum(WhileOp loop, unsigned i) {
  BlockArgument sum = loop.getBody().getArgument(i);
  Value next = loop.getBody().front().getTerminator()->getOperand(i);
  if (!loop.getCondition().getArgument(i).use_empty() || !sum.hasOneUse())
    return false;
  if (next == sum)
    return true;
  OpOperand &use = *sum.use_begin();
  if (!next.hasOneUse() || next.getDefiningOp() != use.getOwner())
    return false;
  if (auto inner = dyn_cast<WhileOp>(use.getOwner()))
    return inner->getResult(use.getOperandNumber()) == next && isSum(inner, use.getOperandNumber());
  if (auto scatter = dyn_cast<ScatterNdOp>(use.getOwner()))
    return scatter.getReduction() == "add" && use.getOperandNumber() == 0;
  return isa<AddOp>(use.getOwner());
}

Value gradient::accumulateThroughLoops(Value sum, Value gradient, Adjoint &a) {
  auto loop = gradient.getDefiningOp<WhileOp>();
  if (!loop || !gradient.use_empty() || sum.getType() != gradient.getType())
    return a.accumulate(sum, gradient);
  unsigned i = cast<OpResult>(gradient).getResultNumber();
  if (!isZeros(loop.getInits()[i]) || !isSum(loop, i))
    return a.accumulate(sum, gradient);
  loop->setOperand(i, sum);
  return gradient;
}
