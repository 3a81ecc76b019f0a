//===- Scan.cpp - running sums and their kin ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part holds whole lines of the axis. Along the last dimension a line is one
// running value in a register. Along another, and where nothing follows and
// elements are as wide as sums, neighbouring lines run side by side: each row is
// made of the one before it, which was just written.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

namespace {

class ScanEmitter {
public:
  ScanEmitter(KernelBuilder &r, plan::KernelOp kernel, CumulativeOp op)
      : r(r), op(op), element(getElementTypeOrSelf(op.getType())), wide(accumulatorType(element)),
        s(r, op, wide), axis(op.getAxis()),
        result(kernel.getBody().front().getTerminator()->getOperand(0)), target(r.bufferOf(result)),
        size(r.dim(op.getOperand(), axis)) {}

  /// One line, at the indices `at` (that of the axis counts nothing).
  void line(ArrayRef<Value> at) {
    OpBuilder::InsertionGuard guard(r.b);
    auto loop =
        scf::ForOp::create(r.b, r.loc, r.constant(0), size, r.constant(1), ValueRange{start()});
    r.b.setInsertionPointToStart(loop.getBody());
    Value carried = loop.getRegionIterArg(0);
    SmallVector<Value> here = place(at, loop.getInductionVar());
    Value next = step(carried, read(here));
    Value own = s.cast(op.getExclusive() ? carried : next, wide, element, false);
    r.setAnchor(op.getResult(), own);
    r.store(r.element(result, here), target, here);
    scf::YieldOp::create(r.b, r.loc, next);
    r.setAnchor({}, {});
  }

  /// The lines of `count` columns from at.back() on.
  void columns(ArrayRef<Value> at, Value count) {
    Value one = r.constant(1), first = r.minimum(size, one);
    rows(at, r.constant(0), first, count, [&](ArrayRef<Value> here, Value) {
      return op.getExclusive() ? start() : step(start(), read(here));
    });
    rows(at, first, size, count, [&](ArrayRef<Value> here, Value before) {
      SmallVector<Value> last(here);
      last[axis] = before;
      Value old = BufferAccess::load(r, target.pointer, element, r.linearIndex(target, last));
      return step(old, read(op.getExclusive() ? ArrayRef<Value>(last) : here));
    });
  }

private:
  Value start() { return reductionStart(r, wide, op.getKind()); }
  Value read(ArrayRef<Value> here) {
    return s.cast(r.element(op.getOperand(), here), element, wide, false);
  }
  // In the order of the elements, always: the same bits whichever way it is made.
  Value step(Value carried, Value next) {
    return reductionStep(r, s, op.getKind(), carried, next, /*reassociate=*/false);
  }
  /// The index that the line visits as number `i`.
  Value visited(Value i) { return op.getReverse() ? r.sub(r.sub(size, r.constant(1)), i) : i; }
  SmallVector<Value> place(ArrayRef<Value> at, Value i) {
    SmallVector<Value> here(at);
    here[axis] = visited(i);
    return here;
  }
  void rows(ArrayRef<Value> at, Value begin, Value end, Value count,
            function_ref<Value(ArrayRef<Value>, Value)> value) {
    emitStepLoop(r, begin, end, 1, [&](Value i) {
      emitStepLoop(r, r.constant(0), count, 1, [&](Value column) {
        SmallVector<Value> here = place(at, i);
        here.back() = r.add(here.back(), column);
        r.store(value(here, visited(r.sub(i, r.constant(1)))), target, here);
      });
    });
  }

  KernelBuilder &r;
  CumulativeOp op;
  Type element, wide;
  ScalarBuilder s;
  int64_t axis;
  Value result;
  KernelBuilder::Buffer target;
  Value size;
};

} // namespace

LogicalResult weir::emitScan(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  auto op = *kernel.getBody().front().getOps<CumulativeOp>().begin();
  r.loc = op.getLoc();
  ScanEmitter scan(r, kernel, op);
  auto blocks = kernel.getSchedule()[plan::schedule::parts];
  SmallVector<Value> dims = r.dims(op.getOperand());
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, dims, blocks);
    if (!kernel.getSchedule()[plan::schedule::columns])
      return scan.line(at);
    at.back() = r.mul(at.back(), r.constant(blocks.back()));
    scan.columns(at, r.minimum(r.constant(blocks.back()), r.sub(dims.back(), at.back())));
  });
  return success();
}
