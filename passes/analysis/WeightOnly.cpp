//===- WeightOnly.cpp - products by weights of a few bits --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/WeightOnly.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"

using namespace mlir;
using namespace weir;

/// Bits of a lane's word, and rows of bytes side by side.
static constexpr int64_t wordBits = 32, quad = 4;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether numbers, before they are packed or behind what undoes it, are what words are read of.
static bool hasWords(DequantizeBlocksOp weights) {
  int64_t bits = weights.getBits(), block = weights.getBlock();
  auto numbers = typeOf(weights.getNumbers());
  return numbers.hasStaticShape() && numbers.getElementType().isUnsignedInteger(8) &&
         numbers.getDimSize(0) % quad == 0 && block * bits % wordBits == 0 &&
         numbers.getDimSize(0) * 8 / bits >= int64_t(llvm::alignTo(weights.getRows(), block));
}

bool weir::isWeightOnlyProduct(DotGeneralOp dot) {
  auto weights = dot.getRhs().getDefiningOp<DequantizeBlocksOp>();
  if (!weights || !hasWords(weights) || isOffloaded(dot) || !dot.getLhsBatch().empty() ||
      !dot.getAccumulator().isF32() || dot.getRhsContract() != ArrayRef<int64_t>{0})
    return false;
  auto left = typeOf(dot.getLhs()), scales = typeOf(weights.getScales()),
       zeros = typeOf(weights.getZeros());
  return left.getElementType().isF32() && left.getRank() >= 2 &&
         dot.getLhsContract() == ArrayRef<int64_t>{left.getRank() - 1} &&
         left.getShape().back() == int64_t(weights.getRows()) && weights.getRows() > 0 &&
         scales.hasStaticShape() && scales.getElementType().isF32() && zeros.hasStaticShape() &&
         (zeros.getRank() == 0
              ? weightOnlyZero(weights).has_value()
              : zeros.getElementType().isF32() || zeros.getElementType().isUnsignedInteger(8));
}

bool weir::isWeightOnly(Operation *op) {
  auto weights = dyn_cast<DequantizeBlocksOp>(op);
  // What is not constant would be packed in every run.
  auto numbers = weights ? weights.getNumbers().getDefiningOp<ConstantOp>() : ConstantOp();
  return numbers && hasWords(weights) &&
         interleavedConstant(cast<TypedAttr>(numbers.getValue()), 4, matrixPanel) &&
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
