//===- KernelForms.cpp - operands as kernels want them --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/KernelForms.h"
#include "dialects/weir/Pch.h"

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
