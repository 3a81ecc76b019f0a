//===- CudaPadding.cpp - convolutions that pad as they read ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaStep.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/ImplicitPadding.h"

using namespace mlir;
using namespace weir;

/// The pads with which the kernel's convolution reads the last argument.
static DenseI64ArrayAttr unpaddedOf(plan::KernelOp kernel) {
  return kernel->getAttrOfType<DenseI64ArrayAttr>(implicitPaddingAttribute);
}

OwningOpRef<plan::KernelOp> weir::withoutPadding(plan::KernelOp kernel) {
  DenseI64ArrayAttr pads = unpaddedOf(kernel);
  if (!pads)
    return {};
  OwningOpRef<plan::KernelOp> own = cast<plan::KernelOp>(kernel->clone());
  ConvOp conv = convolutionOf(*own);
  conv.getInputMutable().assign(own->getBody().front().getArguments().back());
  conv.setPads(pads.asArrayRef());
  return own;
}

void weir::dropPaddings(func::FuncOp step) {
  auto kernelOf = [&](plan::RunOp run) {
    return SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(step, run.getKernelAttr());
  };
  SmallVector<plan::RunOp> dead;
  step.walk([&](plan::RunOp padding) {
    plan::KernelOp kernel = kernelOf(padding);
    Value padded = padding.getOutputs()[0];
    // Memory that other values share has other users.
    if (!isa_and_nonnull<plan::BufferOp, plan::AllocOp>(padded.getDefiningOp()) ||
        !zeroPadding(kernel))
      return;
    for (OpOperand &use : padded.getUses()) {
      if (use.getOwner() == padding || isa<plan::FreeOp>(use.getOwner()))
        continue;
      auto reader = dyn_cast<plan::RunOp>(use.getOwner());
      plan::KernelOp other = reader ? kernelOf(reader) : plan::KernelOp();
      if (!other || !unpaddedOf(other))
        return;
      auto input = cast<BlockArgument>(convolutionOf(other).getInput());
      if (use.getOperandNumber() !=
          reader.getInputs().getBeginOperandIndex() + input.getArgNumber())
        return;
    }
    dead.push_back(padding);
  });
  for (plan::RunOp padding : dead)
    padding.erase();
}
