//===- OperationRole.cpp - who performs an operation ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceTraits.h"

using namespace mlir;
using namespace weir;

/// Elements up to which integers live in registers of the step.
static constexpr int64_t maxScalarElements = 16;

std::optional<int64_t> weir::staticCount(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return std::nullopt;
  return tensor.getNumElements();
}

static bool isSmallInteger(Type type) {
  auto count = staticCount(type);
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  return count && *count <= maxScalarElements && integer && integer.getWidth() <= 64;
}

OperationRole weir::roleOf(Operation *op) {
  if (isa<ConstantOp>(op))
    return OperationRole::Constant;
  if (isa<ReshapeOp>(op))
    return isSmallInteger(op->getResult(0).getType()) && !isDecidedOnDevice(op)
               ? OperationRole::Scalar
               : OperationRole::Step;
  if (isa<TopKOp>(op)) {
    const DeviceKind *kind = kindAround(op);
    return kind && kind->takesSorts() ? OperationRole::Kernel : OperationRole::Step;
  }
  bool elemental = isa<ElementalOpInterface>(op);
  if (!elemental)
    return isa<ScatterNdOp, ScatterElementsOp>(op) ? OperationRole::Kernel : OperationRole::Step;
  // Shape arithmetic: few integers made from few integers. Sums over larger
  // operands are a kernel's work.
  if (llvm::all_of(op->getResultTypes(), isSmallInteger)) {
    bool small = llvm::all_of(op->getOperandTypes(), [](Type type) {
      auto count = staticCount(type);
      return count && *count <= maxScalarElements;
    });
    if (isa<ShapeOfOp>(op) || (small && !isDecidedOnDevice(op)))
      return OperationRole::Scalar;
  }
  return OperationRole::Kernel;
}
