//===- PadBlocks.cpp - constant borders, block by block --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies before and behind an operand along a dimension is one block of memory, over
// all dimensions behind that: it is filled at once, and no element asks where it is.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/PadBlocks.h"
#include "compiler/codegen/cpu/PiecewiseRows.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

class PadBlocks {
public:
  PadBlocks(KernelBuilder &r, PadOp pad)
      : r(r), pad(pad), pads(*constantIntegers(pad.getPads())), rank(pads.size() / 2),
        target(r.bufferOf(pad.getResult())), value(r.element(pad.getValue(), {})),
        concat(concatenationOfRows(pad.getOperand(), pad)) {}

  /// All elements whose first indices into the result are `at`.
  void emit(ArrayRef<Value> at) {
    SmallVector<Value> inside;
    Value isInside = insidePadding(r, at, pads, pad.getOperand(), inside);
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

  /// What lies at the indices `at` of the result, which are `inside` of the operand.
  void block(ArrayRef<Value> at, ArrayRef<Value> inside) {
    int64_t i = at.size();
    if (i == rank)
      return copy(at, inside, {}, {}, r.constant(1));
    Value zero = r.constant(0), size = r.dim(pad.getOperand(), i), behind = volume(i + 1);
    int64_t before = pads[i], after = pads[rank + i];
    Value from = r.constant(std::max<int64_t>(-before, 0));
    Value end = after < 0 ? r.add(size, r.constant(after)) : size;
    Value first = r.constant(std::max<int64_t>(before, 0));
    Value count = r.maximum(r.sub(end, from), zero);
    if (before > 0)
      fill(linear(at, zero), r.mul(r.constant(before), behind));
    const bool isLast = i + 1 == rank, isWhole = before >= 0 && after >= 0;
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
    if (after > 0)
      fill(linear(at, r.add(first, count)), r.mul(r.constant(after), behind));
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
  SmallVector<int64_t> pads;
  int64_t rank;
  const KernelBuilder::Buffer target;
  Value value;
  /// Whose operands' rows are the operand's rows, or null.
  ConcatOp concat;
};

} // namespace

bool weir::isPadBlocks(Operation *op) {
  auto pad = dyn_cast_or_null<PadOp>(op);
  return pad && pad.getMode() == PadMode::Constant && constantIntegers(pad.getPads());
}

void weir::emitPadBlocks(KernelBuilder &r, PadOp pad, ArrayRef<Value> at) {
  PadBlocks(r, pad).emit(at);
}
