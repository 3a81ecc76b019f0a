//===- CudaWideCopies.cpp - kernels that move elements, by words ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel that only moves elements, and keeps neighbours along the last dimension
// together, may as well move several at a time: it is the same kernel of tensors whose
// last dimension is shorter, and whose elements are words of eight bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernel.h"
#include "dialects/weir/Pch.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace weir;

static RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

/// Collects what `op` moves. False: neighbours part, or it is no movement.
static bool collectMoved(Operation *op, llvm::SetVector<Value> &moved) {
  auto isLast = [](Value value, int64_t axis) { return axis + 1 == typeOf(value).getRank(); };
  if (op->getNumResults() != 1 || !typeOf(op->getResult(0)))
    return false;
  Value result = op->getResult(0);
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    if (isLast(result, concat.getAxis()))
      return false;
    moved.insert(concat.getInputs().begin(), concat.getInputs().end());
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    if (llvm::is_contained(slice.getAxes(), typeOf(result).getRank() - 1))
      return false;
    moved.insert(slice.getOperand());
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    ArrayRef<int64_t> order = transpose.getPermutation();
    if (order.empty() || order.back() + 1 != int64_t(order.size()))
      return false;
    moved.insert(transpose.getOperand());
  } else if (auto gather = dyn_cast<GatherOp>(op)) {
    if (isLast(gather.getOperand(), gather.getAxis()))
      return false;
    moved.insert(gather.getOperand());
  } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
    if (isLast(result, repeat.getAxis()))
      return false;
    moved.insert(repeat.getOperand());
  } else {
    return false;
  }
  moved.insert(result);
  return true;
}

OwningOpRef<plan::KernelOp> weir::asWords(plan::KernelOp kernel, int64_t &elements) {
  constexpr int64_t wordBytes = 8;
  Block &body = kernel.getBody().front();
  llvm::SetVector<Value> moved;
  for (Operation &op : body.without_terminator())
    if (!isa<ConstantOp>(op) && !collectMoved(&op, moved))
      return {};
  if (moved.empty())
    return {};
  Type element = getElementTypeOrSelf(moved.front().getType());
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return {};
  elements = wordBytes / (element.getIntOrFloatBitWidth() / 8);
  if (elements <= 1)
    return {};
  for (Value value : moved) {
    auto type = typeOf(value);
    if (!type || type.getRank() == 0 || type.getElementType() != element ||
        isa_and_nonnull<ConstantOp>(value.getDefiningOp()) ||
        type.isDynamicDim(type.getRank() - 1) || type.getShape().back() % elements)
      return {};
    // Numbers that say where things are must stay as they are.
    for (Operation *user : value.getUsers()) {
      if (user == body.getTerminator())
        continue;
      llvm::SetVector<Value> own;
      collectMoved(user, own);
      if (llvm::any_of(user->getOperands(),
                       [&](Value operand) { return operand == value && !own.contains(operand); }))
        return {};
    }
  }
  IRMapping copies;
  OwningOpRef<plan::KernelOp> words = cast<plan::KernelOp>(kernel->clone(copies));
  for (Value value : moved) {
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape.back() /= elements;
    copies.lookup(value).setType(
        RankedTensorType::get(shape, IntegerType::get(kernel.getContext(), 64)));
  }
  return words;
}
