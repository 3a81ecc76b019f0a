//===- Homes.cpp - where values of a placed module are --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/partition/Homes.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "passes/partition/Constraints.h"

using namespace mlir;
using namespace weir;

int64_t weir::deviceOf(Operation *op) {
  auto index = op->getAttrOfType<IntegerAttr>("weir.device_index");
  return index ? index.getInt() : 0;
}

void weir::setDevice(Operation *op, int64_t device) {
  op->setAttr("weir.device_index", Builder(op->getContext()).getI64IntegerAttr(device));
}

int64_t weir::homeOf(Operation *control, unsigned result) {
  auto homes = control->getAttrOfType<DenseI64ArrayAttr>("weir.homes");
  return homes ? homes[result] : 0;
}

int64_t weir::deviceOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    return isControl(parent) ? homeOf(parent, argument.getArgNumber()) : -1;
  }
  Operation *def = value.getDefiningOp();
  if (isFree(def))
    return -1;
  if (isControl(def))
    return homeOf(def, cast<OpResult>(value).getResultNumber());
  return deviceOf(def);
}

int64_t weir::deviceOfUse(OpOperand &use) {
  Operation *op = use.getOwner(), *parent = op->getParentOp();
  unsigned number = use.getOperandNumber();
  if (isa<WhileOp>(op))
    return homeOf(op, number);
  if (op->hasTrait<OpTrait::IsTerminator>() && isControl(parent)) {
    bool isCondition = isa<WhileOp>(parent) && op->getParentRegion()->getRegionNumber() == 0;
    return isCondition ? -1 : homeOf(parent, number);
  }
  // Regions that are no control flow run whole.
  for (; parent && !isControl(parent) && !isa<func::FuncOp>(parent); parent = op->getParentOp())
    op = parent;
  return isPlaced(op) ? deviceOf(op) : -1;
}
