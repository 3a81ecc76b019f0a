//===- EpilogueForms.cpp - what a product lets follow in its kernel -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/analysis/Clusters.h"

using namespace mlir;
using namespace weir;

static bool isVectorElement(Type type) {
  return type.isF32() || type.isBF16() || type.isF16() || type.isInteger(32) || type.isInteger(8) ||
         type.isUnsignedInteger(8);
}

bool weir::isF32EpilogueElementwise(Operation *op) {
  // The gamma function is a call of the C library's, of one number.
  if (!isa<ElementwiseOpInterface>(op) || isa<PowOp, SelectOp, LgammaOp>(op) ||
      op->getNumResults() != 1)
    return false;
  auto elementOf = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? tensor.getElementType() : Type();
  };
  auto all = [&](function_ref<bool(Type)> holds) {
    Type made = elementOf(op->getResult(0).getType());
    return made && holds(made) && llvm::all_of(op->getOperandTypes(), [&](Type type) {
             return elementOf(type) && holds(elementOf(type));
           });
  };
  // Conversions of bytes, words and floats of 16 and 32 bits, and what else belongs to
  // a quantized sum: words without the checks that a division has.
  if (isa<CastOp>(op))
    return all(isVectorElement);
  return all([](Type type) { return type.isF32(); }) ||
         (isa<AddOp, SubOp, MulOp>(op) && all([](Type type) { return type.isInteger(32); }));
}

bool weir::isGemmElement(Type element) {
  return element.isF32() || element.isF64() || element.isInteger(32) || element.isInteger(64);
}

bool weir::isGemmOfOneType(DotGeneralOp dot) {
  Type element = getElementTypeOrSelf(dot.getType()), sums = dot.getAccumulator();
  // Sums of integers that wrap are the same, however wide they are before.
  bool isExact = element.isIntOrFloat() && isa<IntegerType>(element) && isa<IntegerType>(sums) &&
                 sums.getIntOrFloatBitWidth() >= element.getIntOrFloatBitWidth();
  return isGemmElement(element) && (isExact || sums == element) &&
         getElementTypeOrSelf(dot.getLhs().getType()) == element &&
         getElementTypeOrSelf(dot.getRhs().getType()) == element;
}

bool weir::isEpilogueElementwise(Operation *op) {
  if (isF32EpilogueElementwise(op))
    return true;
  if (!isa<AddOp, SubOp, MulOp>(op) &&
      !((op->hasTrait<traits::OneInstruction>() || op->hasTrait<traits::SlowInstruction>()) &&
        getElementTypeOrSelf(op->getResult(0).getType()).isF64()))
    return false;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return isGemmElement(element) && llvm::all_of(op->getOperandTypes(), [&](Type type) {
           return isa<RankedTensorType>(type) && getElementTypeOrSelf(type) == element;
         });
}
