//===- OperationFacts.cpp - what passes ask of an operation ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/OperationFacts.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"

using namespace mlir;
using namespace weir;

bool weir::checksElements(Operation *op) {
  return op->hasTrait<traits::ChecksIndices>() ||
         (op->hasTrait<traits::DividesIntegers>() &&
          isa<IntegerType>(getElementTypeOrSelf(op->getResult(0).getType())));
}

bool weir::canFail(Operation *op) {
  if (isa<ElementwiseOpInterface>(op))
    return op->hasTrait<traits::DividesIntegers>() &&
           !isa<FloatType, ComplexType>(getElementTypeOrSelf(op->getResult(0)));
  if (!op->hasTrait<traits::CannotFail>())
    return true;
  // Of an empty axis no element is the extreme.
  if (auto extreme = dyn_cast<ArgReduceOp>(op);
      extreme &&
      cast<RankedTensorType>(extreme.getOperand().getType()).getDimSize(extreme.getAxis()) == 0)
    return true;
  auto parameters = dyn_cast<ParametersOpInterface>(op);
  return parameters && !llvm::all_of(parameters.getParameters(), [](Value value) {
           return value.getDefiningOp<ConstantOp>() != nullptr;
         });
}
