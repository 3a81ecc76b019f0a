//===- VerifyKernels.cpp - what holds of kernels and launches ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/Clusters.h"
#include "passes/verify/Passes.h"

namespace weir {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "passes/verify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
struct VerifyKernelsPass : weir::impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  bool isGood = true;

  InFlightDiagnostic refuse(Operation *op) {
    isGood = false;
    return op->emitError("verify-kernels: ");
  }

  void runOnOperation() override {
    isGood = true;
    ModuleOp module = getOperation();
    llvm::DenseSet<StringRef> launched;
    module.walk([&](plan::LaunchOp launch) { launched.insert(launch.getKernel()); });
    for (auto kernel : module.getOps<plan::KernelOp>())
      checkKernel(kernel, launched.contains(kernel.getSymName()));
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        if (roleOf(op) == OperationRole::Kernel && !op->use_empty())
          refuse(op) << "a kernel's work is left in a step: " << op->getName().getStringRef();
      });
    if (!isGood)
      signalPassFailure();
  }

  void checkKernel(plan::KernelOp kernel, bool isLaunched) {
    if (!isLaunched)
      refuse(kernel) << "a kernel that nothing launches: " << kernel.getSymName();
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      // A cast stands for weights in Winograd's form, whose bytes no tensor type describes.
      if (isa<plan::LaunchOp, ConstantOp, UnrealizedConversionCastOp>(op))
        continue;
      Dialect *dialect = op.getDialect();
      if (!dialect || dialect->getNamespace() != "weir")
        refuse(&op) << "in a kernel: " << op.getName().getStringRef();
      else if (op.getNumRegions() || !isMemoryEffectFree(&op))
        refuse(&op) << "control flow or an effect in a kernel: " << op.getName().getStringRef();
      else if (llvm::any_of(op.getOperandTypes(), [](Type type) { return isa<TokenType>(type); }))
        refuse(&op) << "a token in a kernel: " << op.getName().getStringRef();
      else if (auto scatter = dyn_cast<ScatterNdOp>(op);
               scatter && scatter.getIndices().getType().isDynamicDim(
                              scatter.getIndices().getType().getRank() - 1))
        refuse(&op) << "index tuples of a length that only a run knows";
    }
  }
};
} // namespace
