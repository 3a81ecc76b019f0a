//===- Trees.cpp - walks through decision trees -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of a walk waits for the node, then for the feature that the node names, then for
// the comparison: some 16 cycles, of which the processor computes in two. So several walks go
// side by side. Of a block of rows as many rows as there are lanes go through one tree, tree
// by tree, whose nodes stay in the first-level cache meanwhile; each of the rows that are left
// over goes through as many trees at once. Branches are none but for the end of the walk: walks
// that are at leaves stay there, until all are or the farthest leaf is reached.
//
// Sums wait on the stack, and are made in the order of the trees, whichever way a row goes.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/TreeEnsemble.h"
#include <functional>

using namespace mlir;
using namespace weir;
using namespace weir::shape;

namespace {

class TreesEmitter {
public:
  TreesEmitter(KernelBuilder &r, plan::KernelOp kernel, TreeEnsembleOp op)
      : r(r), op(op), walker(r, op), element(elementOf(op.getWeights())), s(r, op, element),
        result(kernel.getBody().front().getTerminator()->getOperand(0)), target(r.bufferOf(result)),
        targets(op.getTargets()), width(ranked(op.getWeights()).getDimSize(1)) {}

  /// Rows [begin, end).
  void rows(Value begin, Value end);

private:
  /// Walks that go on at once.
  static constexpr int64_t lanes = 8;
  using Lanes = SmallVector<Value>;
  /// Gives a feature's value for a lane.
  using Reader = std::function<Value(size_t lane, Value feature)>;

  int64_t blockRows();
  bool wantsPairs();
  void block(Value count);
  void copyPairs(Value count);
  void rowsAtOnce(Value tree, Value whole);
  void treesAtOnce(Value row);
  Value treesOfRow(Value tree, int64_t count, Value row, Value place, Value sum);
  Reader readerOf(Value row);
  Value apart(Value number);
  Lanes step(ValueRange at, const Reader &reader);
  Lanes walk(Lanes at, Value nearest, Value farthest, const Reader &reader);
  Value added(Value sum, Value weight);
  void addTo(Value place, Value weight);
  void addLeaf(Value place, Value leaf);
  bool hasOneTarget() const { return targets == 1 && width == 1; }
  int64_t pairPitch() { return 2 * ranked(op.getSamples()).getDimSize(1); }

  KernelBuilder &r;
  TreeEnsembleOp op;
  trees::Walker walker;
  Type element;
  ScalarBuilder s;
  Value result;
  KernelBuilder::Buffer target;
  int64_t targets, width;
  Value blockBegin; ///< from which rows below are counted
  Value sums, pairs;
  bool arePairs = false;
};

} // namespace

/// As many as leave a share of the second-level cache: trees that are larger than caches are read
/// again for each block.
int64_t TreesEmitter::blockRows() {
  constexpr int64_t mostRows = 4096, mostSums = 8192, mostNumbers = 1 << 16, openFeatures = 64;
  int64_t features = ranked(op.getSamples()).getDimSize(1);
  if (ShapedType::isDynamic(features))
    features = openFeatures;
  if (arePairs) // on the stack, in twice as much room
    features *= 4;
  int64_t rows =
      std::min({mostRows, mostSums / targets, mostNumbers / std::max<int64_t>(features, 1)});
  return std::max<int64_t>(rows / lanes * lanes, lanes);
}

/// Whether rows are copied with each feature twice, so that a step need not ask for the flag of its
/// node: where they are not many times longer than the walks, and fit the stack.
bool TreesEmitter::wantsPairs() {
  constexpr int64_t mostFeatures = 1024, featuresOfStep = 8;
  auto type = ranked(op.getSamples());
  return op.getMissing() && isa<FloatType>(type.getElementType()) && !type.isDynamicDim(1) &&
         type.getDimSize(1) <= std::min(mostFeatures, featuresOfStep * int64_t(op.getSteps()));
}

void TreesEmitter::rows(Value begin, Value end) {
  arePairs = wantsPairs();
  int64_t rows = blockRows();
  sums = stackElements(r, element, rows * targets);
  if (arePairs) {
    pairs = stackElements(r, element, rows * pairPitch());
    walker.readPairs();
  }
  emitStepLoop(r, begin, end, rows, [&](Value row) {
    blockBegin = row;
    block(r.minimum(r.constant(rows), r.sub(end, row)));
  });
}

/// A row of the block by its pairs of features.
void TreesEmitter::copyPairs(Value count) {
  Value samples = op.getSamples(), features = r.dim(samples, 1);
  Value lowest = reductionStart(r, element, ReduceKind::Max);
  emitStepLoop(r, r.constant(0), count, 1, [&](Value row) {
    emitStepLoop(r, r.constant(0), features, 1, [&](Value feature) {
      Value value = s.cast(r.element(samples, {r.add(blockBegin, row), feature}),
                           elementOf(samples), element, false);
      Value place = r.add(r.mul(row, r.constant(pairPitch())), r.mul(feature, r.constant(2)));
      BufferAccess::store(r, value, pairs, element, place);
      BufferAccess::store(r, s.select(s.isNan(value), lowest, value), pairs, element,
                          r.add(place, r.constant(1)));
    });
  });
}

void TreesEmitter::block(Value count) {
  Value zero = r.constant(0);
  Value groups = r.divide(count, r.constant(lanes)), whole = r.mul(groups, r.constant(lanes));
  Value start = reductionStart(r, element, op.getKind());
  emitStepLoop(r, zero, r.mul(count, r.constant(targets)), 1,
               [&](Value i) { BufferAccess::store(r, start, sums, element, i); });
  if (arePairs)
    copyPairs(count);
  auto branch = scf::IfOp::create(r.b, r.loc, r.less(zero, whole), /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(&branch.getThenRegion().front());
    emitStepLoop(r, zero, r.dim(op.getTrees(), 0), 1, [&](Value tree) { rowsAtOnce(tree, whole); });
  }
  emitStepLoop(r, whole, count, 1, [&](Value i) { treesAtOnce(i); });
  emitStepLoop(r, zero, count, 1, [&](Value i) {
    emitStepLoop(r, zero, r.constant(targets), 1, [&](Value k) {
      Value place = r.add(r.mul(i, r.constant(targets)), k);
      SmallVector<Value> at{r.add(blockBegin, i), k};
      r.setAnchor(op.getResult(), BufferAccess::load(r, sums, element, place));
      r.store(r.element(result, at), target, at);
      r.setAnchor({}, {});
    });
  });
}

/// Gives features of the block's rows from `row` on, lane by lane. Rows lie at a distance that is
/// mostly known: one address serves all.
TreesEmitter::Reader TreesEmitter::readerOf(Value row) {
  Value samples = op.getSamples();
  if (!arePairs && !isa<BlockArgument>(samples))
    return [=, this](size_t lane, Value feature) {
      Value own = r.add(r.add(blockBegin, row), r.constant(int64_t(lane)));
      return r.element(samples, {own, feature});
    };
  Type own = arePairs ? element : elementOf(samples);
  Value pointer = pairs, pitch, first = row;
  if (arePairs) {
    pitch = r.constant(pairPitch());
  } else {
    const KernelBuilder::Buffer buffer = r.bufferOf(samples);
    pointer = buffer.pointer;
    pitch = buffer.dims[1];
    first = r.add(blockBegin, row);
  }
  Value begin = BufferAccess::address(r, pointer, own, r.mul(first, pitch));
  return [=, this](size_t lane, Value feature) {
    Value place = r.add(feature, r.mul(r.constant(int64_t(lane)), pitch));
    return BufferAccess::load(r, begin, own, place);
  };
}

/// One tree for all groups of rows.
void TreesEmitter::rowsAtOnce(Value tree, Value whole) {
  Value root = walker.column(tree, trees::root), nearest = walker.column(tree, trees::nearest),
        farthest = walker.column(tree, trees::farthest),
        said = walker.column(tree, trees::firstTarget);
  emitStepLoop(r, r.constant(0), whole, lanes, [&](Value group) {
    Lanes at = walk(Lanes(lanes, root), nearest, farthest, readerOf(group));
    for (auto [lane, node] : llvm::enumerate(at)) {
      Value place = r.mul(r.add(group, r.constant(int64_t(lane))), r.constant(targets));
      addLeaf(hasOneTarget() ? place : r.add(place, said), walker.leafAt(node));
    }
  });
}

/// All trees for one row.
void TreesEmitter::treesAtOnce(Value row) {
  int64_t count = ranked(op.getTrees()).getDimSize(0), whole = count / lanes * lanes;
  Value zero = r.constant(0), sum = reductionStart(r, element, op.getKind());
  Value place = r.mul(row, r.constant(targets));
  if (whole > 0) {
    auto loop = scf::ForOp::create(r.b, r.loc, zero, r.constant(whole), r.constant(lanes),
                                   hasOneTarget() ? ValueRange(sum) : ValueRange());
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(loop.getBody());
    if (hasOneTarget()) {
      sum = treesOfRow(loop.getInductionVar(), lanes, row, place, loop.getRegionIterArg(0));
      scf::YieldOp::create(r.b, r.loc, sum);
      sum = loop.getResult(0);
    } else {
      treesOfRow(loop.getInductionVar(), lanes, row, place, {});
    }
  }
  if (whole < count)
    sum = treesOfRow(r.constant(whole), count - whole, row, place, hasOneTarget() ? sum : Value());
  if (hasOneTarget())
    BufferAccess::store(r, sum, sums, element, place);
}

/// `count` trees from `tree` on; returns the row's sum, where it is one.
Value TreesEmitter::treesOfRow(Value tree, int64_t count, Value row, Value place, Value sum) {
  Lanes own, at;
  Value farthest;
  for (int64_t lane = 0; lane < count; ++lane) {
    own.push_back(r.add(tree, r.constant(lane)));
    at.push_back(walker.column(own.back(), trees::root));
    Value steps = walker.column(own.back(), trees::farthest);
    farthest = farthest ? r.maximum(farthest, steps) : steps;
  }
  Reader reader = readerOf(row);
  at = walk(at, {}, farthest, [&](size_t, Value feature) { return reader(0, feature); });
  for (int64_t lane = 0; lane < count; ++lane) {
    Value leaf = walker.leafAt(at[lane]);
    if (sum)
      sum = added(sum, r.element(op.getWeights(), {leaf, r.constant(0)}));
    else
      addLeaf(r.add(place, walker.column(own[lane], trees::firstTarget)), leaf);
  }
  return sum;
}

/// The number, of which LLVM is to know nothing: it would make vectors of lanes, and gathers of
/// their loads, which all wait for each other.
Value TreesEmitter::apart(Value number) {
  Type i64 = r.b.getI64Type();
  Value word = r.b.createOrFold<arith::IndexCastOp>(r.loc, i64, number);
  auto same = LLVM::InlineAsmOp::create(
      r.b, r.loc, i64, word, "", "=r,0", /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return r.b.createOrFold<arith::IndexCastOp>(r.loc, r.b.getIndexType(), same.getResult(0));
}

TreesEmitter::Lanes TreesEmitter::step(ValueRange at, const Reader &reader) {
  Lanes next;
  for (auto [lane, node] : llvm::enumerate(at))
    next.push_back(apart(walker.step(node, [&](Value feature) { return reader(lane, feature); })));
  return next;
}

/// Nodes at which walks from `at` on end. Before `nearest` steps none does, behind `farthest`
/// all have.
TreesEmitter::Lanes TreesEmitter::walk(Lanes at, Value nearest, Value farthest,
                                       const Reader &reader) {
  OpBuilder::InsertionGuard guard(r.b);
  Value left = farthest, zero = r.constant(0);
  if (nearest) {
    auto loop = scf::ForOp::create(r.b, r.loc, zero, nearest, r.constant(1), at);
    left = r.sub(farthest, nearest);
    OpBuilder::InsertionGuard inside(r.b);
    r.b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(r.b, r.loc, step(loop.getRegionIterArgs(), reader));
    at.assign(loop.getResults().begin(), loop.getResults().end());
  }
  // Two steps a turn: to ask costs as much as a quarter of a step.
  Lanes carried(at);
  carried.push_back(left);
  carried.push_back(r.less(zero, left));
  SmallVector<Type> types(ValueRange(carried).getTypes());
  auto loop = scf::WhileOp::create(r.b, r.loc, types, carried);
  auto into = [&](Region &region) {
    Block *block = r.b.createBlock(&region, {}, types, SmallVector<Location>(types.size(), r.loc));
    return ValueRange(block->getArguments());
  };
  ValueRange asked = into(loop.getBefore());
  scf::ConditionOp::create(r.b, r.loc, asked.back(), asked);
  ValueRange now = into(loop.getAfter());
  Lanes once = step(now.drop_back(2), reader), twice = step(once, reader);
  Value moved;
  for (auto [before, after] : llvm::zip(once, twice)) {
    Value change = arith::XOrIOp::create(r.b, r.loc, before, after);
    moved = moved ? arith::OrIOp::create(r.b, r.loc, moved, change).getResult() : change;
  }
  Value rest = r.sub(now.drop_back().back(), r.constant(2));
  Value isOnWay = arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::ne, moved, zero);
  twice.push_back(rest);
  twice.push_back(r.logicalAnd(r.less(zero, rest), isOnWay));
  scf::YieldOp::create(r.b, r.loc, twice);
  auto ends = loop.getResults().drop_back(2);
  return Lanes(ends.begin(), ends.end());
}

Value TreesEmitter::added(Value sum, Value weight) {
  return reductionStep(r, s, op.getKind(), sum, weight, /*reassociate=*/false);
}

void TreesEmitter::addTo(Value place, Value weight) {
  Value sum = BufferAccess::load(r, sums, element, place);
  BufferAccess::store(r, added(sum, weight), sums, element, place);
}

/// Adds what a leaf says to the sums from `place` on.
void TreesEmitter::addLeaf(Value place, Value leaf) {
  emitStepLoop(r, r.constant(0), r.constant(width), 1,
               [&](Value k) { addTo(r.add(place, k), r.element(op.getWeights(), {leaf, k})); });
}

LogicalResult weir::emitTrees(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  auto op = *kernel.getBody().front().getOps<TreeEnsembleOp>().begin();
  r.loc = op.getLoc();
  Value part = r.constant(kernel.getSchedule()[plan::schedule::parts].front());
  Value first = r.mul(begin, part), behind = r.minimum(r.mul(end, part), r.dim(op.getSamples(), 0));
  if (Value hasAll = op.requireFeatures(r))
    behind = r.select(hasAll, behind, first);
  TreesEmitter(r, kernel, op).rows(first, behind);
  return success();
}
