//===- Plan.cpp - the weir_plan dialect --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

#include "dialects/plan/PlanDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.cpp.inc"

void WeirPlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/PlanOps.cpp.inc"
      >();
}

LogicalResult KernelOp::verify() {
  if (!getBody().hasOneBlock() || !isa<ReturnOp>(getBody().front().back()))
    return emitOpError("body must be one block that ends in weir_plan.return");
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("names no kernel: ") << getKernel();
  Block &body = kernel.getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("operand types differ from the kernel's");
  if (body.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("result types differ from the kernel's");
  return success();
}

LogicalResult RunOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("names no kernel: ") << getKernel();
  if (kernel.getBody().front().getNumArguments() != getInputs().size() ||
      kernel.getBody().front().getTerminator()->getNumOperands() !=
          getOutputs().size())
    return emitOpError("reads or writes another number of buffers than the kernel");
  return success();
}
