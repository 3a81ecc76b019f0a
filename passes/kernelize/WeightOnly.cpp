//===- WeightOnly.cpp - products by weights of a few bits --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/WeightOnly.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/kernelize/PackWeights.h"
#include "passes/kernelize/Tiling.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Bits of a lane's word, and rows of bytes side by side.
static constexpr int64_t wordBits = 32, quad = 4;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether numbers, before they are packed or behind what undoes it, are what words are read of.
static bool hasWords(DequantizeBlocksOp weights) {
  int64_t bits = weights.getBits(), block = weights.getBlock();
  auto numbers = typeOf(weights.getNumbers());
  return numbers.hasStaticShape() && numbers.getElementType().isUnsignedInteger(8) &&
         numbers.getDimSize(0) % quad == 0 && block * bits % wordBits == 0 &&
         numbers.getDimSize(0) * 8 / bits >= llvm::alignTo(weights.getRows(), block);
}

bool weir::isWeightOnlyProduct(DotGeneralOp dot) {
  auto weights = dot.getRhs().getDefiningOp<DequantizeBlocksOp>();
  if (!weights || !hasWords(weights) || isOnAccelerator(dot) || !dot.getLhsBatch().empty() ||
      !dot.getAccumulator().isF32() || dot.getRhsContract() != ArrayRef<int64_t>{0})
    return false;
  auto left = typeOf(dot.getLhs()), scales = typeOf(weights.getScales()),
       zeros = typeOf(weights.getZeros());
  return left.getElementType().isF32() && left.getRank() >= 2 &&
         dot.getLhsContract() == ArrayRef<int64_t>{left.getRank() - 1} &&
         left.getShape().back() == weights.getRows() && weights.getRows() > 0 &&
         scales.hasStaticShape() && scales.getElementType().isF32() && zeros.hasStaticShape() &&
         (zeros.getRank() == 0
              ? weightOnlyZero(weights).has_value()
              : zeros.getElementType().isF32() || zeros.getElementType().isUnsignedInteger(8));
}

bool weir::isWeightOnly(Operation *op) {
  auto weights = dyn_cast<DequantizeBlocksOp>(op);
  // What is not constant would be packed in every run.
  auto numbers = weights ? weights.getNumbers().getDefiningOp<ConstantOp>() : ConstantOp();
  return numbers && hasWords(weights) && quadConstant(cast<TypedAttr>(numbers.getValue())) &&
         llvm::all_of(op->getUses(), [](OpOperand &use) {
           auto dot = dyn_cast<DotGeneralOp>(use.getOwner());
           return dot && use.getOperandNumber() == 1 && isWeightOnlyProduct(dot);
         });
}

std::optional<float> weir::weightOnlyZero(DequantizeBlocksOp weights) {
  auto constant = weights.getZeros().getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (elements.getElementType().isF32())
    return elements.getSplatValue<float>();
  if (elements.getElementType().isUnsignedInteger(8))
    return static_cast<float>(elements.getSplatValue<APInt>().getZExtValue());
  return std::nullopt;
}

int64_t weir::weightOnlyDepth(DequantizeBlocksOp weights) {
  // Floats of a panel that stay in the second-level cache beside rows.
  constexpr int64_t mostRows = 2048;
  int64_t block = weights.getBlock(), whole = llvm::alignTo(weights.getRows(), block);
  int64_t count = llvm::divideCeil(whole, std::max(mostRows, block));
  return llvm::alignTo(llvm::divideCeil(whole, count), block);
}

int64_t weir::weightOnlyDirectRows(int64_t lanes) { return lanes >= 16 ? 8 : 2; }

int64_t weir::weightOnlyFewRows(int64_t lanes, int64_t partRows) {
  return std::min(partRows, lanes >= 16 ? int64_t(8) : int64_t(4));
}

SmallVector<int64_t> weir::weightOnlyTiles(ScheduleBuilder &s, DotGeneralOp dot,
                                           const VectorUnit &unit) {
  // Rows that lie pages apart share a set of the first-level cache.
  constexpr int64_t vectors = 2, page = 4096, ways = 8, others = 4;
  int64_t lanes = unit.bytes / 4, pitch = 4 * typeOf(dot.getLhs()).getShape().back();
  int64_t height = (unit.registers - others) / vectors;
  if (pitch % page == 0)
    height = std::min(height, ways);
  s.set(schedule::tile, {height, vectors, lanes});
  auto type = typeOf(dot.getResult());
  if (type.getRank() > 2)
    s.set(schedule::merged, {0, type.getRank() - 1});
  int64_t rows = partShape(s[schedule::merged], type.getShape())[0],
          most = llvm::alignTo(partRows, height);
  return {ShapedType::isDynamic(rows) ? most : std::clamp<int64_t>(rows, 1, most), weightOnlyPanel};
}

void weir::packWeightOnly(OpBuilder &b, KernelOp kernel, SmallVectorImpl<Value> &operands) {
  auto all = kernel.getBody().front().getOps<DequantizeBlocksOp>();
  DequantizeBlocksOp weights = *all.begin();
  auto numbers = cast<BlockArgument>(weights.getNumbers());
  packRows(b, &weights.getNumbersMutable(), numbers, operands[numbers.getArgNumber()]);
  for (OpOperand *shared : {&weights.getScalesMutable(), &weights.getZerosMutable()}) {
    auto argument = dyn_cast<BlockArgument>(shared->get());
    if (!argument || !argument.hasOneUse())
      continue;
    Value &operand = operands[argument.getArgNumber()];
    auto constant = operand.getDefiningOp<ConstantOp>();
    TypedAttr packed = constant
                           ? packedConstant(cast<TypedAttr>(constant.getValue()), weightOnlyPanel)
                           : TypedAttr();
    if (!packed)
      continue;
    readPanels(shared, argument, packed.getType());
    replaceConstant(b, packed, argument, operand);
  }
}
