//===- CudaLines.cpp - lines in one kernel ---------------- -*- C++ -*-===//
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
#include "passes/kernelize/Lines.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

/// Elements that a thread has of a line: all passes are written out for each.
static constexpr int64_t mostElements = 32;

namespace {

class LineEmitter {
public:
  explicit LineEmitter(const CudaKernel &k)
      : k(k), r(k.reader), first(k.first()), axis(lineAxis(k.kernel)),
        length(lineType(k.kernel).getDimSize(axis)) {}

  void run() {
    place();
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
    while (lineThreads * mostElements < length)
      lineThreads *= lineThreads == warpThreads ? 8 : 2;
    byBlock = lineThreads > warpThreads;
    own = placeLines(k, lineThreads, first.type.getRank() - 1);

    // Neighbours in one thread, where lines are made of whole vectors.
    int64_t lanes = length % 4 ? 1 : 4;
    while (lanes > 1 && length < lineThreads * lanes)
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
        r.setOfLine(op->getResult(0),
                    r.element(op->getResult(0), indicesOf(r.constant(0))));
    }
  }

  /// The reduction of all threads' elements.
  Value combined(ReduceOp reduce) {
    r.loc = reduce.getLoc();
    Type element = getElementTypeOrSelf(reduce.getOperand().getType()),
         wide = accumulatorType(element);
    ScalarBuilder s(r, reduce, wide);
    StringRef kind = reduce.getKind();
    Value start = reductionStart(r, wide, kind), sum;
    for (const Element &one : elements) {
      Value value = s.cast(r.element(reduce.getOperand(), one.indices), element, wide, false);
      if (one.inside)
        value = arith::SelectOp::create(r.b, r.loc, one.inside, value, start);
      sum = sum ? reductionStep(r, s, kind, sum, value, false) : value;
    }
    if (!liesAcross(k.kernel))
      sum = combineLine(k, s, kind, sum, byBlock);
    if (kind == "mean")
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
        for (; i < elements.size() && elements[i].inside == inside; ++i)
          r.store(values[i], first, elements[i].indices);
      });
    }
    if (!others.empty())
      r.onlyIf(r.logicalAnd(r.equal(own.lane, r.constant(0)), own.exists), [&] {
        for (auto [other, value] : llvm::zip(others, ofLine))
          r.store(value, r.bufferOf(other), begin);
      });
  }

  struct Element {
    SmallVector<Value> indices;
    Value inside; ///< null: always
  };
  const CudaKernel &k;
  CudaReader &r;
  const KernelReader::Buffer first;
  int64_t axis, length;
  bool byBlock = false;
  ThreadLine own;
  SmallVector<Element> elements;
};

} // namespace

bool weir::emitLines(const CudaKernel &k) {
  if (k.kernel.getStrategy() != "lines" || !hasLines(k.kernel))
    return false;
  // One reduction and nothing of the line behind it needs no elements in registers.
  auto reductions = k.body().getOps<ReduceOp>();
  if (++reductions.begin() == reductions.end() &&
      k.first().type.getShape() != lineType(k.kernel).getShape())
    return false;
  LineEmitter(k).run();
  return true;
}
