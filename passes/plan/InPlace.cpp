//===- InPlace.cpp - which operands a kernel may write over ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/InPlace.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

bool plan::isReadInPlace(KernelOp kernel, unsigned argument) {
  Block &body = kernel.getBody().front();
  Operation *terminator = body.getTerminator();
  if (terminator->getNumOperands() != 1 || kernel.getStrategy() == "scatter")
    return false;
  Type type = terminator->getOperand(0).getType();
  if (body.getArgument(argument).getType() != type ||
      !cast<RankedTensorType>(type).hasStaticShape())
    return false;
  auto shape = cast<RankedTensorType>(type).getShape();
  SmallVector<Value> work{body.getArgument(argument)};
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (user == terminator)
        continue;
      auto result = user->getNumResults() == 1
                        ? dyn_cast<RankedTensorType>(user->getResult(0).getType())
                        : RankedTensorType();
      if (!isa<ElementwiseOpInterface>(user) || !result || result.getShape() != shape)
        return false;
      work.push_back(user->getResult(0));
    }
  return true;
}
