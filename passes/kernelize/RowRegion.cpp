//===- RowRegion.cpp - operations that may go part by part ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/RowRegion.h"

#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

int64_t weir::bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return 0;
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Notes along which dimension `value` is divided, or that it is whole; false where it is
/// otherwise elsewhere, or in rows that are no multiple of the parts.
bool RowRegion::divide(Value value, int64_t dim) {
  auto [place, isNew] = dims.try_emplace(value, dim);
  if (!isNew)
    return place->second == dim;
  if (dim < 0)
    return true;
  if (cast<RankedTensorType>(value.getType()).getDimSize(dim) % parts != 0)
    return false;
  if (bytesOf(value) >= smallest)
    large.push_back(value);
  return true;
}

/// Takes an operation in, unless its values are divided otherwise.
bool RowRegion::take(Operation *op, const RowForm &form) {
  auto fits = [&](Value value, int64_t dim) {
    auto known = dims.find(value);
    int64_t size = dim < 0 ? parts : cast<RankedTensorType>(value.getType()).getDimSize(dim);
    return size % parts == 0 && (known == dims.end() || known->second == dim);
  };
  bool isAny = false;
  for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), form.operands)) {
    isAny |= dim >= 0;
    // An operand twice, in two ways.
    for (auto [other, otherDim] : llvm::zip_equal(op->getOperands(), form.operands))
      if (other == operand && otherDim != dim)
        return false;
    if (!fits(operand, dim))
      return false;
  }
  if (!fits(op->getResult(0), form.result) || (!isAny && form.result < 0))
    return false;
  for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), form.operands))
    divide(operand, dim);
  divide(op->getResult(0), form.result);
  forms[op] = form;
  return true;
}

/// Takes in what makes and what reads large values.
void RowRegion::spread() {
  while (!large.empty()) {
    Value value = large.pop_back_val();
    int64_t dim = dims.lookup(value);
    Operation *producer = value.getDefiningOp();
    if (producer && producer->getBlock() == &block && !contains(producer))
      if (auto form = rowsOfResult(producer, dim))
        take(producer, *form);
    for (OpOperand &use : value.getUses())
      if (Operation *user = use.getOwner(); user->getBlock() == &block && !contains(user))
        if (auto form = rowsOfOperand(user, use.getOperandNumber(), dim))
          take(user, *form);
  }
}

/// Takes in what lies on ways out of the set and back; false where something there does not go
/// along rows.
bool RowRegion::close() {
  for (bool isDone = false; !isDone;) {
    isDone = true;
    llvm::DenseSet<Operation *> behind, before;
    for (Operation &op : block) {
      bool isBehind = contains(&op);
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          isBehind |= operand.getDefiningOp() && behind.contains(operand.getDefiningOp());
      });
      if (isBehind)
        behind.insert(&op);
    }
    for (Operation &op : llvm::reverse(block)) {
      bool isBefore = contains(&op);
      for (Operation *user : op.getUsers())
        if (Operation *own = block.findAncestorOpInBlock(*user))
          isBefore |= before.contains(own);
      if (isBefore)
        before.insert(&op);
    }
    for (Operation &op : block) {
      if (contains(&op) || !behind.contains(&op) || !before.contains(&op))
        continue;
      bool isTaken = false;
      for (OpOperand &operand : op.getOpOperands()) {
        auto dim = dims.find(operand.get());
        if (isTaken || dim == dims.end() || dim->second < 0)
          continue;
        auto form = rowsOfOperand(&op, operand.getOperandNumber(), dim->second);
        isTaken = form && form->result != sumOverRows && take(&op, *form);
      }
      if (!isTaken)
        return false;
      isDone = false;
    }
    spread();
  }
  return true;
}

bool RowRegion::isInside(Value value) const {
  Operation *producer = value.getDefiningOp();
  return producer && contains(producer) &&
         llvm::all_of(value.getUsers(), [&](Operation *user) { return contains(user); });
}

bool RowRegion::grow(Value seed, int64_t dim) {
  if (!divide(seed, dim))
    return false;
  spread();
  if (!isInside(seed) || !close())
    return false;
  // A sum is one only behind all parts.
  for (auto &[op, form] : forms)
    if (form.result == sumOverRows &&
        llvm::any_of(op->getUsers(), [&](Operation *user) { return contains(user); }))
      return false;
  return true;
}

SmallVector<Operation *> RowRegion::operations() const {
  SmallVector<Operation *> order;
  for (auto &[op, form] : forms)
    order.push_back(op);
  llvm::sort(order, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  return order;
}
