//===- PadBlocks.cpp - borders, block by block -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies before and behind an operand along a dimension is one block of memory, over
// all dimensions behind that: a constant fills it at once, and no element asks where it is.
// Of a border that the operand itself gives each line is copied whole, and only the elements
// before and behind it are looked up one by one.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/PadBlocks.h"
#include "compiler/codegen/cpu/PiecewiseRows.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"

using namespace mlir;
using namespace weir;

namespace {

class PadBlocks {
public:
  PadBlocks(KernelBuilder &r, PadOp pad)
      : r(r), pad(pad), known(constantIntegers(pad.getPads())),
        rank(cast<RankedTensorType>(pad.getType()).getRank()),
        isConstant(pad.getMode() == PadMode::Constant), target(r.bufferOf(pad.getResult())),
        value(isConstant ? r.element(pad.getValue(), {}) : Value()),
        concat(concatenationOfRows(pad.getOperand(), pad)) {
    for (int64_t i = 0; i < 2 * rank; ++i)
      pads.push_back(shape::entry(r, pad.getPads(), i));
  }

  /// All elements whose first indices into the result are `at`.
  void emit(ArrayRef<Value> at) {
    SmallVector<Value> inside;
    if (!isConstant) {
      for (auto [i, index] : llvm::enumerate(at))
        inside.push_back(source(i, index));
      return block(at, inside);
    }
    Value isInside = insidePadding(r, at, pad, inside);
    if (!isInside)
      return block(at, inside);
    emitEither(
        r, isInside, [&] { block(at, inside); },
        [&] { fill(linear(at, r.constant(0)), volume(at.size())); });
  }

private:
  /// Elements of the result behind each index into its first `count` dimensions.
  Value volume(size_t count) {
    Value elements = r.constant(1);
    for (Value size : ArrayRef(target.dims).drop_front(count))
      elements = r.mul(elements, size);
    return elements;
  }
  /// The position of the first element at the indices `at` and then `next`.
  Value linear(ArrayRef<Value> at, Value next) {
    SmallVector<Value> all(at);
    if (int64_t(at.size()) < rank)
      all.push_back(next);
    all.resize(rank, r.constant(0));
    return r.linearIndex(target, all);
  }
  void fill(Value from, Value count) {
    emitStepLoop(r, r.constant(0), count, 1, [&](Value i) {
      BufferAccess::store(r, value, target.pointer, target.type.getElementType(), r.add(from, i));
    });
  }

  bool isPadded(int64_t i) const { return !known || (*known)[i] != 0 || (*known)[rank + i] != 0; }
  /// Where dimension `i` of the operand has what belongs to `index` of the result. A division
  /// finds it, which what is inside does without.
  Value source(int64_t i, Value index) {
    if (!isPadded(i))
      return index;
    Value size = r.dim(pad.getOperand(), i), own = r.sub(index, pads[i]);
    Value isWithin = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::ult, own, size);
    return emitIf(
        r, isWithin, [&] { return own; },
        [&] { return shape::mirroredIndex(r, pad.getMode(), own, size); });
  }
  /// Elements `from` to `end` of the result's line at `at`, one by one.
  void mirror(ArrayRef<Value> at, ArrayRef<Value> inside, Value from, Value end) {
    emitStepLoop(r, from, end, 1, [&](Value k) {
      SmallVector<Value> to(at), there(inside);
      to.push_back(k);
      there.push_back(source(rank - 1, k));
      r.store(r.element(pad.getOperand(), there), target, to);
    });
  }
  /// All of what lies at the indices `at` of the result, where the operand gives the border.
  void mirrored(ArrayRef<Value> at, ArrayRef<Value> inside) {
    emitStepLoop(r, r.constant(0), target.dims[at.size()], 1, [&](Value k) {
      SmallVector<Value> here(at), there(inside);
      here.push_back(k);
      there.push_back(source(at.size(), k));
      block(here, there);
    });
  }

  /// What lies at the indices `at` of the result, which are `inside` of the operand.
  void block(ArrayRef<Value> at, ArrayRef<Value> inside) {
    int64_t i = at.size();
    if (i == rank)
      return copy(at, inside, {}, {}, r.constant(1));
    if (!isConstant && i + 1 < rank)
      return mirrored(at, inside);
    Value zero = r.constant(0), size = r.dim(pad.getOperand(), i), behind = volume(i + 1);
    Value before = pads[i], after = pads[rank + i];
    Value from = r.maximum(r.sub(zero, before), zero), end = r.add(size, r.minimum(after, zero));
    Value first = r.maximum(before, zero), count = r.maximum(r.sub(end, from), zero);
    // Where one side adds and the other crops, the result may end within what is added.
    auto isKnown = [&](int64_t i, auto is) { return known && is((*known)[i]); };
    auto isNothing = [](int64_t pad) { return pad <= 0; };
    auto isSomething = [](int64_t pad) { return pad >= 0; };
    const bool addsBefore = !isKnown(i, isNothing), addsAfter = !isKnown(rank + i, isNothing);
    const bool isWhole = isKnown(i, isSomething) && isKnown(rank + i, isSomething);
    if (!isWhole && addsBefore)
      first = r.minimum(first, target.dims[i]);
    // Whatever the amounts are, nothing is written beyond the result.
    if (!known)
      count = r.minimum(count, r.sub(target.dims[i], first));
    Value last = r.add(first, count);
    if (addsBefore && !isConstant)
      mirror(at, inside, zero, first);
    else if (addsBefore)
      fill(linear(at, zero), r.mul(first, behind));
    const bool isLast = i + 1 == rank;
    if (isLast && isWhole && isPiecewise(pad.getOperand())) {
      emitPiecewiseRow(r, pad.getOperand(), SmallVector<Value>(inside),
                       {target, SmallVector<Value>(at), first});
    } else if (isLast && isWhole && concat) {
      emitRowByOperands(r, concat, inside, [&](ArrayRef<Value> from) {
        SmallVector<Value> to(at);
        to.push_back(r.add(first, from.back()));
        r.store(r.element(pad.getOperand(), from), target, to);
      });
    } else if (isLast) {
      copy(at, inside, first, from, count);
    } else {
      emitStepLoop(r, zero, count, 1, [&](Value k) {
        SmallVector<Value> here(at), there(inside);
        here.push_back(r.add(k, first));
        there.push_back(r.add(k, from));
        block(here, there);
      });
    }
    if (addsAfter && !isConstant)
      mirror(at, inside, last, target.dims[i]);
    else if (addsAfter)
      fill(linear(at, last), r.mul(isWhole ? after : r.sub(target.dims[i], last), behind));
  }

  /// `count` elements of a line, from `from` of the operand to `first` of the result.
  void copy(ArrayRef<Value> at, ArrayRef<Value> inside, Value first, Value from, Value count) {
    auto indices = [&](ArrayRef<Value> outer, Value start, Value i) {
      SmallVector<Value> all(outer);
      if (start)
        all.push_back(r.add(start, i));
      return all;
    };
    emitStepLoop(r, r.constant(0), count, 1, [&](Value i) {
      r.store(r.element(pad.getOperand(), indices(inside, from, i)), target, indices(at, first, i));
    });
  }

  KernelBuilder &r;
  PadOp pad;
  std::optional<SmallVector<int64_t>> known; ///< the pads, where compiling knows them
  const int64_t rank;
  const bool isConstant;
  const KernelBuilder::Buffer target;
  Value value;             ///< of a constant border
  SmallVector<Value> pads; ///< before all dimensions, then behind
  /// Whose operands' rows are the operand's rows, or null.
  ConcatOp concat;
};

} // namespace

bool weir::isPadBlocks(Operation *op) { return isa_and_nonnull<PadOp>(op); }

void weir::emitPadBlocks(KernelBuilder &r, PadOp pad, ArrayRef<Value> at) {
  PadBlocks(r, pad).emit(at);
}
