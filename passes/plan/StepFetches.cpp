//===- StepFetches.cpp - results of a step --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/plan/StepBuilder.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Whether `op` may be computed earlier: it has no effect, and no operands make it fail.
static bool isSafeEarlier(Operation *op) {
  if (!isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp>(op))
    return isPure(op) && !op->getNumRegions();
  auto least = op->getOperand(1).getDefiningOp<arith::MaxSIOp>();
  APInt one;
  return least && matchPattern(least.getRhs(), m_ConstantInt(&one)) && one.isStrictlyPositive();
}

/// Has `value` computed before `op`, by moving what computes it. False where that cannot be.
static bool computeBefore(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op->getBlock())
    return true;
  if (def->isBeforeInBlock(op))
    return true;
  if (def == op || !isSafeEarlier(def) ||
      !llvm::all_of(def->getOperands(), [&](Value operand) { return computeBefore(operand, op); }))
    return false;
  def->moveBefore(op);
  return true;
}

/// The elements of a buffer of `type` whose open sizes are `sizes`.
Value StepBuilder::elementsOf(MemRefType type, ValueRange sizes) {
  Value count = constant(1);
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      count = mul(count, constant(size));
  for (Value size : sizes)
    count = mul(count, size);
  return count;
}

/// Where the run finds that `sizes` of `type` are not those of what is written, which a check
/// reports that may come later, has as much room as that needs.
void StepBuilder::makeRoomFor(MemRefType written, ValueRange writtenSizes, MemRefType type,
                              MutableArrayRef<Value> sizes) {
  if (sizes.empty())
    return;
  Value needed = elementsOf(written, writtenSizes);
  Value fits = equal(elementsOf(type, sizes), needed);
  for (auto [i, size] : llvm::enumerate(sizes))
    size = select(fits, size, i == 0 ? needed : constant(1));
}

/// Makes a buffer that is the step's alone, maybe seen in another shape as `result`, the caller's
/// memory for fetch `index`. False where it cannot be.
bool StepBuilder::computeInFetch(Value result, IntegerAttr index) {
  Value root = result;
  while (auto view = root.getDefiningOp<ViewOp>())
    root = view.getSource();
  Operation *def = root.getDefiningOp();
  if (!isa_and_nonnull<BufferOp, AllocOp>(def) || def->getBlock() != b.getBlock())
    return false;
  auto view = result.getDefiningOp<ViewOp>();
  // What a loop or branch carries is handed on from one buffer to the next, which no fetch is.
  auto isCarried = [&](Operation *user) {
    return user->getBlock() != b.getBlock() || isa<CopyOp>(user);
  };
  if (view && llvm::any_of(root.getUsers(), isCarried))
    return false;
  auto sizes = llvm::to_vector(view ? view.getSizes() : ValueRange(def->getOperands()));
  if (llvm::is_contained(cast<MemRefType>(result.getType()).getShape(), 0) ||
      !llvm::all_of(sizes, [&](Value size) { return computeBefore(size, def); }))
    return false;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(def);
  if (view)
    makeRoomFor(cast<MemRefType>(root.getType()), def->getOperands(),
                cast<MemRefType>(result.getType()), sizes);
  Value place = FetchOp::create(b, loc, result.getType(), index, sizes);
  if (view)
    place = ViewOp::create(b, loc, root.getType(), place, def->getOperands());
  def->replaceAllUsesWith(ValueRange(place));
  for (auto &entry : states)
    if (entry.second.buffer == root)
      entry.second.buffer = place;
  def->erase();
  return true;
}

LogicalResult StepBuilder::visitReturn(func::ReturnOp op) {
  auto source = op->getParentOfType<func::FuncOp>();
  for (OpOperand &operand : op->getOpOperands()) {
    Value tensor = operand.get();
    auto attr =
        source.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), "weir.fetch_index");
    auto index = b.getI64IntegerAttr(attr ? attr.getInt() : operand.getOperandNumber());
    Value buffer = bufferOf(tensor);
    loc = tensor.getLoc();
    // Written in place where its buffer is made for it alone; otherwise copied.
    if (computeInFetch(buffer, index))
      continue;
    SmallVector<Value> dims;
    auto type = cast<MemRefType>(buffer.getType());
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        dims.push_back(memref::DimOp::create(b, loc, buffer, i));
    auto fetch = FetchOp::create(b, loc, type, index, dims);
    CopyOp::create(b, loc, buffer, fetch);
  }
  func::ReturnOp::create(b, op.getLoc());
  return success();
}
