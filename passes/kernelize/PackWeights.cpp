//===- PackWeights.cpp - constant right operands in panels ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/PackWeights.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

/// The operand of the kernel's hero that its tiles read by columns.
static OpOperand *columnsOperand(plan::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto dot = dyn_cast<DotGeneralOp>(op))
      return &dot.getRhsMutable();
    if (auto conv = dyn_cast<ConvOp>(op))
      return &conv.getFilterMutable();
  }
  return nullptr;
}

void weir::packWeights(OpBuilder &b, plan::KernelOp kernel,
                       SmallVectorImpl<Value> &operands) {
  if (kernel.getStrategy() != "product" && kernel.getStrategy() != "convolution")
    return;
  OpOperand *weights = columnsOperand(kernel);
  auto argument = dyn_cast<BlockArgument>(weights->get());
  if (!argument || !argument.hasOneUse())
    return;
  auto constant = operands[argument.getArgNumber()].getDefiningOp<ConstantOp>();
  auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef();
  int64_t width = tile[1] * tile[2];
  int64_t columns = cast<RankedTensorType>(argument.getType()).getShape().back();
  // One panel without a rest lies as it is wanted.
  if (!constant || columns == width)
    return;
  TypedAttr packed = packedConstant(cast<TypedAttr>(constant.getValue()), width);
  if (!packed)
    return;
  auto replaced = ConstantOp::create(b, constant.getLoc(), packed);
  if (Attribute device = constant->getAttr("weir.device"))
    replaced->setAttr("weir.device", device);
  operands[argument.getArgNumber()] = replaced;
  Operation *hero = weights->getOwner();
  Type whole = argument.getType();
  argument.setType(packed.getType());
  OpBuilder inside(hero);
  auto unpack = UnpackPanelsOp::create(inside, hero->getLoc(), whole, argument,
                                       inside.getI64IntegerAttr(columns));
  weights->set(unpack);
}
