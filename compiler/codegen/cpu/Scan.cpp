//===- Scan.cpp - running sums and their kin ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part holds whole lines of the axis. Along the last dimension a line is one
// running value in a register. Along another, neighbouring lines run side by side:
// their running values are a row on the stack, of the sums' own type, which the
// first-level cache holds and which no buffer can alias.
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
    scf::YieldOp::create(r.b, r.loc, advance(carried, place(at, loop.getInductionVar())));
  }

  /// The lines of `count` columns from at.back() on; `running` has room for as many.
  void columns(ArrayRef<Value> at, Value count, Value running) {
    Value zero = r.constant(0);
    emitStepLoop(r, zero, count, 1,
                 [&](Value column) { BufferAccess::store(r, start(), running, wide, column); });
    emitStepLoop(r, zero, size, 1, [&](Value i) {
      emitStepLoop(r, zero, count, 1, [&](Value column) {
        SmallVector<Value> here = place(at, i);
        here.back() = r.add(here.back(), column);
        Value carried = BufferAccess::load(r, running, wide, column);
        BufferAccess::store(r, advance(carried, here), running, wide, column);
      });
    });
  }

private:
  Value start() { return reductionStart(r, wide, op.getKind()); }
  Value read(ArrayRef<Value> here) {
    return s.cast(r.element(op.getOperand(), here), element, wide, false);
  }
  /// Writes the result at `here`, before which a line came to `carried`. Returns what it comes to.
  Value advance(Value carried, ArrayRef<Value> here) {
    // In the order of the elements, always: the same bits whichever way it is made.
    Value next = reductionStep(r, s, op.getKind(), carried, read(here), /*reassociate=*/false);
    Value own = s.cast(op.getExclusive() ? carried : next, wide, element, false);
    r.setAnchor(op.getResult(), own);
    r.store(r.element(result, here), target, here);
    r.setAnchor({}, {});
    return next;
  }
  /// The index that the line visits as number `i`.
  Value visited(Value i) { return op.getReverse() ? r.sub(r.sub(size, r.constant(1)), i) : i; }
  SmallVector<Value> place(ArrayRef<Value> at, Value i) {
    SmallVector<Value> here(at);
    here[axis] = visited(i);
    return here;
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
  bool byColumns = bool(kernel.getSchedule()[plan::schedule::columns]);
  Value running = byColumns ? stackElements(r, accumulatorType(getElementTypeOrSelf(op.getType())),
                                            blocks.back())
                            : Value();
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, dims, blocks);
    if (!byColumns)
      return scan.line(at);
    at.back() = r.mul(at.back(), r.constant(blocks.back()));
    scan.columns(at, r.minimum(r.constant(blocks.back()), r.sub(dims.back(), at.back())), running);
  });
  return success();
}
