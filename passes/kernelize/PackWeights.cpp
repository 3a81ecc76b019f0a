//===- PackWeights.cpp - constant right operands in panels ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/PackWeights.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "passes/kernelize/Tiling.h"
#include "passes/layout/Rearrange.h"

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

/// [A…, C, N] as [N / 32, A…, C / 2, 32, 2]: panels of 32 columns in which two rows
/// that follow each other lie side by side, as tiles of bf16 are multiplied (Intel
/// 64 and IA-32 manual, TDPBF16PS). The kernel undoes it by a transposition and a
/// reshape, which its emitter looks through.
static void packPairs(OpBuilder &b, OpOperand *weights, BlockArgument argument, Value &operand) {
  auto constant = operand.getDefiningOp<ConstantOp>();
  auto type = cast<RankedTensorType>(argument.getType());
  ArrayRef<int64_t> shape = type.getShape();
  TypedAttr packed = constant ? pairedConstant(cast<TypedAttr>(constant.getValue())) : TypedAttr();
  assert(packed && "what marks the operation has asked before");
  auto replaced = ConstantOp::create(b, constant.getLoc(), packed);
  if (Attribute device = constant->getAttr("weir.device"))
    replaced->setAttr("weir.device", device);
  operand = replaced;
  argument.setType(packed.getType());
  OpBuilder inside(weights->getOwner());
  Location loc = weights->getOwner()->getLoc();
  int64_t inner = type.getRank() - 1; // dimensions but the columns
  SmallVector<int64_t> order;
  for (int64_t i = 1; i <= inner; ++i)
    order.push_back(i);
  order.append({inner + 2, 0, inner + 1});
  auto plain = TransposeOp::create(inside, loc, argument, inside.getDenseI64ArrayAttr(order));
  weights->set(ReshapeOp::create(inside, loc, plain, integers(inside, loc, shape)));
}

/// Where each panel of a right operand that the program computes serves many tiles,
/// and the first-level cache does not hold the operand anyway, the kernel copies it to
/// its stack first. Its parts then have more rows, for which a copy serves.
static void copyPanels(OpBuilder &b, plan::KernelOp kernel, DotGeneralOp dot) {
  // Bytes: rows of a part share the second-level cache with panels.
  constexpr int64_t leftShare = 1 << 20, smallOperand = 1 << 17;
  constexpr int64_t mostRows = 280, fewTiles = 4;
  auto left = cast<RankedTensorType>(dot.getLhs().getType());
  auto right = cast<RankedTensorType>(dot.getRhs().getType());
  int64_t depth = left.getShape().back(), columns = right.getShape().back();
  auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef();
  int64_t batch = dot.getLhsBatch().size();
  int64_t rows = partShape(kernel, cast<RankedTensorType>(dot.getType()).getShape())[batch];
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(depth) ||
      ShapedType::isDynamic(columns) || columns <= tile[1] * tile[2] ||
      rows < fewTiles * tile[0] || depth * columns * 4 <= smallOperand)
    return;
  kernel->setAttr("copies_panels", b.getUnitAttr());
  SmallVector<int64_t> tiles(kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef());
  int64_t most = std::min(leftShare / (4 * std::max<int64_t>(depth, 1)), mostRows);
  tiles[batch] = std::max(tiles[batch], std::min<int64_t>(rows, llvm::alignTo(most, tile[0])));
  kernel->setAttr("tiles", b.getDenseI64ArrayAttr(tiles));
}

void weir::packWeights(OpBuilder &b, plan::KernelOp kernel,
                       SmallVectorImpl<Value> &operands) {
  bool isMatrix = kernel.getStrategy() == "matrix";
  if (!isMatrix && kernel.getStrategy() != "product" && kernel.getStrategy() != "convolution")
    return;
  OpOperand *weights = columnsOperand(kernel);
  auto argument = dyn_cast<BlockArgument>(weights->get());
  if (isMatrix)
    return packPairs(b, weights, argument, operands[argument.getArgNumber()]);
  if (!argument || !argument.hasOneUse())
    return;
  auto constant = operands[argument.getArgNumber()].getDefiningOp<ConstantOp>();
  if (auto dot = dyn_cast<DotGeneralOp>(weights->getOwner()); dot && !constant)
    return copyPanels(b, kernel, dot);
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
