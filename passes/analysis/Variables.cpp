//===- Variables.cpp - which variable a resource is -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/Variables.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

VariableOp weir::variableOf(Value resource) {
  for (int depth = 0; resource && depth < 64; ++depth) {
    if (auto argument = dyn_cast<BlockArgument>(resource)) {
      auto loop = dyn_cast<WhileOp>(argument.getOwner()->getParentOp());
      resource = loop ? loop.getInits()[argument.getArgNumber()] : Value();
    } else if (auto variable = resource.getDefiningOp<VariableOp>()) {
      return variable;
    } else if (auto loop = resource.getDefiningOp<WhileOp>()) {
      resource = loop.getInits()[cast<OpResult>(resource).getResultNumber()];
    } else if (auto branch = resource.getDefiningOp<IfOp>()) {
      resource = branch.getThenRegion().front().getTerminator()->getOperand(
          cast<OpResult>(resource).getResultNumber());
    } else {
      return {};
    }
  }
  return {};
}

VariableName weir::variableName(Value resource) {
  VariableOp variable = variableOf(resource);
  return variable ? VariableName(variable.getNameAttr(), variable.getContainerAttr())
                  : VariableName();
}
