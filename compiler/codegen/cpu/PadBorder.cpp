//===- PadBorder.cpp - the border of a padded tensor ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is padded lies in the padded tensor's buffer already (SubviewForwarding): only the
// border is written. The range counts the dimensions before the last one that is
// padded, whose elements are contiguous runs: all of them are border, or those
// before and behind what lies inside. Of operands joined inside it copies those that
// are named (`copied`).
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "passes/plan/SubviewForwarding.h"

using namespace mlir;
using namespace weir;

/// Copies the rows of an operand that begins `channel` elements into the joined ones',
/// for indices `at` into its first dimensions.
static void copyOperand(KernelBuilder &r, Value operand, int64_t channel,
                        const KernelBuilder::Buffer &target, ArrayRef<int64_t> pads,
                        SmallVector<Value> at) {
  const KernelBuilder::Buffer &source = r.bufferOf(operand);
  size_t rank = source.dims.size();
  if (at.size() + 1 < rank) {
    emitStepLoop(r, r.constant(0), source.dims[at.size()], 1, [&](Value i) {
      SmallVector<Value> inner(at);
      inner.push_back(i);
      copyOperand(r, operand, channel, target, pads, inner);
    });
    return;
  }
  SmallVector<Value> to;
  for (auto [index, pad] : llvm::zip(at, pads))
    to.push_back(r.add(index, r.constant(pad)));
  at.push_back(r.constant(0));
  to.push_back(r.constant(pads[rank - 1] + channel));
  copyRow(r, source, at, target, to);
}

LogicalResult weir::emitPadBorder(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  Block &body = kernel.getBody().front();
  auto pad = body.getTerminator()->getOperand(0).getDefiningOp<PadOp>();
  if (!pad)
    return kernel.emitError("a border is that of a padding");
  const KernelBuilder::Buffer target = r.bufferOf(pad.getResult());
  SmallVector<int64_t> pads = *constantIntegers(pad.getPads());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(pad.getOperand().getType()).getShape();
  int64_t rank = shape.size();
  int64_t last = kernel.getSchedule()[plan::schedule::parts].size();
  // Elements behind an index into the last padded dimension, and how many of these are inside.
  Value behind = r.constant(1), within = r.dim(pad.getOperand(), last);
  for (int64_t i = last + 1; i < rank; ++i)
    behind = r.mul(behind, target.dims[i]);
  Value value = r.element(pad.getValue(), {});
  Type element = target.type.getElementType();
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, ArrayRef(target.dims).take_front(last));
    SmallVector<Value> inside;
    Value isInside = insidePadding(r, at, pad, inside);
    SmallVector<Value> first(at);
    first.resize(rank, r.constant(0));
    Value from = r.linearIndex(target, first);
    auto fill = [&](Value begin, Value end) {
      emitStepLoop(r, r.mul(begin, behind), r.mul(end, behind), 1, [&](Value i) {
        BufferAccess::store(r, value, target.pointer, element, r.add(from, i));
      });
    };
    Value zero = r.constant(0), before = r.constant(pads[last]), end = r.add(before, within);
    Value whole = r.add(end, r.constant(pads[rank + last]));
    auto emitInside = [&] {
      fill(zero, before);
      fill(end, whole);
      ArrayRef<int64_t> copied = kernel.getSchedule()[plan::schedule::copied];
      auto concat = !copied.empty() ? pad.getOperand().getDefiningOp<ConcatOp>() : ConcatOp();
      int64_t channel = 0;
      for (auto [i, operand] : llvm::enumerate(concat ? concat.getInputs() : ValueRange())) {
        if (llvm::is_contained(copied, (int64_t)i))
          copyOperand(r, operand, channel, target, pads, inside);
        channel += cast<RankedTensorType>(operand.getType()).getShape().back();
      }
    };
    if (isInside)
      emitEither(r, isInside, emitInside, [&] { fill(zero, whole); });
    else
      emitInside();
  });
  return success();
}
