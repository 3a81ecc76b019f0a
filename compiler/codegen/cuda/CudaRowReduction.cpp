//===- CudaRowReduction.cpp - lines in one kernel ---------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A softmax, a normalisation: several reductions of the last dimension, and what
// is before, between and behind them. The threads of a warp (of a block, for long
// lines) share a line, each has the same few elements of it in all passes, and
// what one pass computes of them stays in registers for the next. The line is
// read once; what it has one of, each thread computes for itself. Of lines that lie
// across a thread has a whole one.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernel.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "passes/analysis/RowReduction.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

/// Elements that a thread has of a line: all passes are written out for each, and what
/// many operations have of them would not fit into registers.
static int64_t mostElements(size_t operations) {
  return operations > 48 ? 8 : operations > 24 ? 16 : 32;
}
/// Registers of 32 bits for what is read before anything is computed.
static constexpr int64_t mostAhead = 96;

namespace {

class LineEmitter {
public:
  explicit LineEmitter(const CudaKernel &k)
      : k(k), r(k.reader), first(k.first()), axis(lineAxis(k.kernel)),
        length(lineType(k.kernel).getDimSize(axis)) {}

  void run() {
    place();
    readAhead();
    for (Operation *op : k.operations) {
      auto reduce = dyn_cast<ReduceOp>(op);
      if (!reduce)
        continue;
      settle();
      r.setOfLine(reduce.getResult(), combined(reduce));
    }
    settle();
    write();
  }

private:
  /// Which elements of which line are this thread's.
  void place() {
    if (liesAcross(k.kernel)) {
      // Neighbouring threads have neighbouring lines.
      own = placeLines(k, 1, first.type.getRank());
      for (int64_t i = 0; i < length; ++i)
        elements.push_back({indicesOf(r.constant(i)), Value()});
      return;
    }
    // As many warps as it takes.
    int64_t lineThreads = warpThreads;
    // More threads than these would have too few registers each.
    const int64_t mostThreads = k.shape.mostThreads;
    while (lineThreads * mostElements(k.operations.size()) < length && lineThreads < mostThreads)
      lineThreads = std::min(lineThreads * (lineThreads == warpThreads ? 8 : 2), mostThreads);
    byBlock = lineThreads > warpThreads;
    own = placeLines(k, lineThreads, first.type.getRank() - 1);

    // Neighbours in one thread, where lines are made of whole vectors.
    lanes = vectorLanes(k);
    while (lanes > 1 && (length % lanes || length < lineThreads * lanes))
      lanes /= 2;
    int64_t round = lineThreads * lanes;
    for (int64_t begin = 0; begin < length; begin += round) {
      Value at = r.add(r.mul(own.lane, r.constant(lanes)), r.constant(begin)), inside;
      if (begin + round > length) { // neighbours are all inside, or none
        inside = r.less(at, r.constant(length));
        at = r.minimum(at, r.constant(length - lanes));
      }
      for (int64_t i = 0; i < lanes; ++i)
        elements.push_back({indicesOf(r.add(at, r.constant(i))), inside});
    }
  }

  /// Reads all that the thread needs of lines, and of what all lines have in common, in
  /// vectors, before the first of them is waited for.
  void readAhead() {
    if (lanes == 1)
      return;
    int64_t left = mostAhead;
    for (bool ofAll : {false, true})
      for (Value leaf : k.leaves) {
        auto type = cast<RankedTensorType>(leaf.getType());
        if ((type.getShape() != lineType(k.kernel).getShape()) != ofAll)
          continue;
        int64_t words = int64_t(elements.size()) * elementBytes(type.getElementType()) / 4;
        if (words > left || !neighboursIn(r, leaf, lineType(k.kernel), elements[0].indices))
          continue;
        left -= words;
        for (size_t i = 0; i < elements.size(); i += size_t(lanes)) {
          Value begin = neighboursIn(r, leaf, lineType(k.kernel), elements[i].indices);
          for (auto [lane, stored] : llvm::enumerate(r.neighbours(r.bufferOf(leaf), begin, lanes)))
            r.setAhead(leaf, elements[i + lane].indices.back(), stored);
        }
      }
  }

  SmallVector<Value> indicesOf(Value at) const {
    SmallVector<Value> indices(own.indices);
    indices.resize(first.type.getRank());
    indices[axis] = at;
    return indices;
  }

  /// Computes what a line has one of and nothing but what is known goes into, so that
  /// it is not computed for each element.
  void settle() {
    for (Operation *op : k.operations) {
      auto elemental = dyn_cast<ElementwiseOpInterface>(op);
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      if (!elemental || type.getDimSize(axis) != 1 || r.isOfLine(op->getResult(0)))
        continue;
      bool isReady = llvm::all_of(op->getOperands(), [&](Value operand) {
        Operation *def = operand.getDefiningOp();
        return !def || isa<ConstantOp>(def) || r.isOfLine(operand);
      });
      if (isReady)
        r.setOfLine(op->getResult(0), r.element(op->getResult(0), indicesOf(r.constant(0))));
    }
  }

  /// The reduction of all threads' elements.
  Value combined(ReduceOp reduce) {
    r.loc = reduce.getLoc();
    Type element = getElementTypeOrSelf(reduce.getOperand().getType()),
         wide = accumulatorType(element);
    ScalarBuilder s(r, reduce, wide);
    ReduceKind kind = reduce.getKind();
    Value start = reductionStart(r, wide, kind), sum;
    for (const Element &one : elements) {
      Value value = s.cast(r.element(reduce.getOperand(), one.indices), element, wide, false);
      if (one.inside)
        value = arith::SelectOp::create(r.b, r.loc, one.inside, value, start);
      sum = sum ? reductionStep(r, s, kind, sum, value, false) : value;
    }
    if (!liesAcross(k.kernel))
      sum = combineLine(k, s, kind, sum, byBlock);
    if (kind == ReduceKind::Mean)
      sum = s.div(sum, indexTo(r, reduce, r.constant(length), wide));
    return s.cast(sum, wide, element, false);
  }

  void write() {
    // All are computed before any is written: the result may lie where it was read.
    Value result = k.results().front();
    bool hasLine = first.type.getDimSize(axis) == length;
    ValueRange others = k.results().drop_front(hasLine);
    SmallVector<Value> values, ofLine, begin = indicesOf(r.constant(0));
    if (hasLine)
      for (const Element &one : elements)
        values.push_back(r.element(result, one.indices));
    for (Value other : others)
      ofLine.push_back(r.element(other, begin));
    // Those under one condition together.
    for (size_t i = 0; i < values.size();) {
      Value inside = elements[i].inside;
      r.onlyIf(inside ? r.logicalAnd(own.exists, inside) : own.exists, [&] {
        for (; i < elements.size() && elements[i].inside == inside; i += size_t(lanes))
          writeVector(ArrayRef(values).slice(i, size_t(lanes)), i);
      });
    }
    if (!others.empty())
      r.onlyIf(r.logicalAnd(r.equal(own.lane, r.constant(0)), own.exists), [&] {
        for (auto [other, value] : llvm::zip(others, ofLine))
          r.store(value, r.bufferOf(other), begin);
      });
  }

  /// Values of neighbours, of which element `at` is the first.
  void writeVector(ArrayRef<Value> values, size_t at) {
    if (lanes == 1)
      return r.store(values[0], first, elements[at].indices);
    for (auto [lane, value] : llvm::enumerate(values)) {
      r.setLane(int64_t(lane));
      r.store(value, first, elements[at + lane].indices);
    }
    r.setLane(-1);
    r.writeTogether(r.linearIndex(first, elements[at].indices));
  }

  struct Element {
    SmallVector<Value> indices;
    Value inside; ///< null: always
  };
  const CudaKernel &k;
  CudaReader &r;
  const KernelBuilder::Buffer first;
  int64_t axis, length;
  int64_t lanes = 1; ///< neighbours among a thread's elements
  bool byBlock = false;
  ThreadLine own;
  SmallVector<Element> elements;
};

} // namespace

bool weir::emitRowReduction(const CudaKernel &k) {
  if (k.kernel.getSchedule().getKind() != plan::ScheduleKind::RowReduction ||
      !hasRowReduction(k.kernel))
    return false;
  // One reduction and nothing of the line behind it needs no elements in registers.
  auto reductions = k.body().getOps<ReduceOp>();
  if (++reductions.begin() == reductions.end() &&
      k.first().type.getShape() != lineType(k.kernel).getShape())
    return false;
  LineEmitter(k).run();
  return true;
}
