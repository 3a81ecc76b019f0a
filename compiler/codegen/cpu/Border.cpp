//===- Border.cpp - the border of a padded tensor ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is padded lies in the padded tensor's buffer already (PlaceParts): only the
// border is written. The range counts the dimensions before the last one that is
// padded, whose elements are contiguous runs: all of them are border, or those
// before and behind what lies inside.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

LogicalResult weir::emitBorder(KernelReader &r, plan::KernelOp kernel, Value begin, Value end) {
  Block &body = kernel.getBody().front();
  auto pad = body.getTerminator()->getOperand(0).getDefiningOp<PadOp>();
  if (!pad)
    return kernel.emitError("a border is that of a padding");
  const KernelReader::Buffer target = r.bufferOf(pad.getResult());
  SmallVector<int64_t> pads = *constantIntegers(pad.getPads());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(pad.getOperand().getType()).getShape();
  int64_t rank = shape.size();
  int64_t last = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").size();
  int64_t behind = 1;
  for (int64_t i = last + 1; i < rank; ++i)
    behind *= shape[i];
  Value value = r.element(pad.getValue(), {});
  Type element = target.type.getElementType();
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, ArrayRef(target.dims).take_front(last));
    Value inside = arith::ConstantOp::create(r.b, r.loc, r.b.getBoolAttr(true));
    for (int64_t i = 0; i < last; ++i) {
      if (pads[i] == 0 && pads[rank + i] == 0)
        continue;
      Value own = r.sub(at[i], r.constant(pads[i]));
      inside = r.logicalAnd(inside, r.b.createOrFold<arith::CmpIOp>(
                                        r.loc, arith::CmpIPredicate::ult, own, r.constant(shape[i])));
    }
    SmallVector<Value> first(at);
    first.resize(rank, r.constant(0));
    Value from = r.linearIndex(target, first);
    auto fill = [&](int64_t begin, int64_t end) {
      emitStepLoop(r, r.constant(begin * behind), r.constant(end * behind), 1, [&](Value i) {
        BufferAccess::store(r, value, target.pointer, element, r.add(from, i));
      });
    };
    int64_t whole = pads[last] + shape[last] + pads[rank + last];
    OpBuilder::InsertionGuard guard(r.b);
    auto branch = scf::IfOp::create(r.b, r.loc, inside, /*withElseRegion=*/true);
    r.b.setInsertionPointToStart(&branch.getThenRegion().front());
    fill(0, pads[last]);
    fill(pads[last] + shape[last], whole);
    r.b.setInsertionPointToStart(&branch.getElseRegion().front());
    fill(0, whole);
  });
  return success();
}
