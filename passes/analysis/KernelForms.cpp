//===- KernelForms.cpp - operands as kernels want them --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/KernelForms.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Elemental.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceTraits.h"

using namespace mlir;
using namespace weir;

static bool isRange(ArrayRef<int64_t> values, int64_t first) {
  for (auto [i, value] : llvm::enumerate(values))
    if (value != first + (int64_t)i)
      return false;
  return true;
}

bool weir::isInPlainOrder(DotGeneralOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
  int64_t batch = dot.getLhsBatch().size();
  return dot.getLhsContract().size() == 1 && lhs.getRank() >= batch + 2 &&
         rhs.getRank() == batch + 2 && isRange(dot.getLhsBatch(), 0) &&
         isRange(dot.getRhsBatch(), 0) && isRange(dot.getLhsContract(), lhs.getRank() - 1) &&
         isRange(dot.getRhsContract(), batch);
}

bool weir::isPlainForm(DotGeneralOp dot) {
  return isInPlainOrder(dot) && getElementTypeOrSelf(dot.getLhs().getType()).isF32() &&
         getElementTypeOrSelf(dot.getRhs().getType()).isF32() && dot.getAccumulator().isF32();
}

bool weir::isTurnedInBlocks(Type element) {
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

bool weir::isBlockTransposition(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose || transpose.getPermutation().empty() ||
      transpose.getPermutation().back() + 1 == (int64_t)transpose.getPermutation().size())
    return false;
  constexpr int64_t many = 1 << 14;
  auto type = cast<RankedTensorType>(transpose.getType());
  Type element = type.getElementType();
  // Offload devices read others than words where they are asked for.
  bool isWord = element.isIntOrFloat() && element.getIntOrFloatBitWidth() == 32;
  return isTurnedInBlocks(element) && (isWord || !isOffloaded(op)) &&
         (!type.hasStaticShape() || type.getNumElements() >= many);
}

bool weir::isInlineConstant(Operation *op) {
  auto constant = dyn_cast<ConstantOp>(op);
  if (!constant)
    return false;
  constexpr int64_t most = 64;
  auto elements = dyn_cast<ElementsAttr>(constant.getValue());
  return elements && !isa<StringType>(elements.getElementType()) &&
         (elements.isSplat() ||
          (elements.getNumElements() <= most && isa<IntegerType>(elements.getElementType())));
}

bool weir::isTable(Operation *op) {
  auto elements = dyn_cast<ElementsAttr>(cast<ConstantOp>(op).getValue());
  return !elements || !elements.isSplat();
}

bool weir::padsLines(Operation *op) {
  auto pad = dyn_cast<PadOp>(op);
  auto pads = pad ? constantIntegers(pad.getPads()) : std::nullopt;
  size_t rank = pads ? pads->size() / 2 : 0;
  return rank && ((*pads)[rank - 1] || pads->back());
}

bool weir::isIntegerArithmetic(Operation *op) {
  auto isInteger = [](Value value) {
    return getElementTypeOrSelf(value.getType()).isSignlessInteger();
  };
  return isa<AddOp, SubOp, MulOp, AndOp, OrOp, XorOp, NotOp, ShlOp, ShrOp, CompareOp, SelectOp,
             CastOp>(op) &&
         llvm::all_of(op->getOperands(), isInteger) && isInteger(op->getResult(0));
}

bool weir::isTiledGemm(Operation *op) {
  if (auto dot = dyn_cast<DotGeneralOp>(op); dot && !isOffloaded(op))
    return op->hasAttr(tileUnitAttribute) || isGemmOfOneType(dot);
  return isa<DotGeneralOp, ConvOp>(op) &&
         (op->hasAttr(tileUnitAttribute) ||
          getElementTypeOrSelf(op->getResult(0).getType()).isF32() ||
          (!isOffloaded(op) && getElementTypeOrSelf(op->getResult(0).getType()).isF64()));
}
