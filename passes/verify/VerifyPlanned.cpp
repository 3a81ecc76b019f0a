//===- VerifyPlanned.cpp - what holds of buffers and offsets ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Buffers.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "passes/verify/Passes.h"

namespace weir {
#define GEN_PASS_DEF_VERIFYPLANNEDPASS
#include "passes/verify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
struct VerifyPlannedPass : weir::impl::VerifyPlannedPassBase<VerifyPlannedPass> {
  bool isGood = true;

  InFlightDiagnostic refuse(Operation *op) {
    isGood = false;
    return op->emitError("verify-planned: ");
  }

  void runOnOperation() override {
    isGood = true;
    ModuleOp module = getOperation();
    llvm::DenseMap<int64_t, int64_t> arenas;
    if (auto list = module->getAttrOfType<ArrayAttr>("weir_plan.arenas"))
      for (auto arena : list.getAsRange<DictionaryAttr>())
        arenas[arena.getAs<IntegerAttr>("device").getInt()] =
            arena.getAs<IntegerAttr>("bytes").getInt();
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      auto index = function->getAttrOfType<IntegerAttr>("weir.device_index");
      auto arena = arenas.find(index ? index.getInt() : 0);
      if (arena == arenas.end()) {
        refuse(function) << "its device has no arena in weir_plan.arenas";
        continue;
      }
      function.walk([&](Operation *op) {
        if (auto buffer = dyn_cast<plan::BufferOp>(op))
          checkBuffer(buffer, arena->second);
        else if (auto run = dyn_cast<plan::RunOp>(op))
          checkRun(run, symbols);
        else if (auto swap = dyn_cast<plan::SwapOutOp>(op); swap && swap.getSaved().use_empty())
          refuse(op) << "a copy to the host that nothing waits for";
        for (Type type : op->getResultTypes())
          if (isa<TensorType>(type))
            refuse(op) << "a tensor is left in a step: " << op->getName().getStringRef();
      });
    }
    if (!isGood)
      signalPassFailure();
  }

  void checkBuffer(plan::BufferOp buffer, int64_t arenaSize) {
    auto type = cast<MemRefType>(buffer.getType());
    if (!type.hasStaticShape()) {
      refuse(buffer) << "a buffer of the arena without a fixed size";
      return;
    }
    if (!buffer.getOffset()) {
      refuse(buffer) << "a buffer without an offset";
      return;
    }
    int64_t offset = *buffer.getOffset();
    if (offset < 0 || offset % plan::arenaAlignment != 0)
      refuse(buffer) << "offset " << offset << " is no multiple of " << plan::arenaAlignment;
    if (offset + plan::arenaBytes(type) > arenaSize)
      refuse(buffer) << "ends at byte " << offset + plan::arenaBytes(type) << " of an arena of "
                     << arenaSize;
  }

  void checkRun(plan::RunOp run, SymbolTable &symbols) {
    auto kernel = symbols.lookup<plan::KernelOp>(run.getKernel());
    if (!kernel)
      return; // the operation's own verifier says so
    Block &body = kernel.getBody().front();
    auto compare = [&](Value buffer, Type wanted, StringRef what) {
      Type found = cast<MemRefType>(buffer.getType()).getElementType();
      auto tensor = dyn_cast<TensorType>(wanted);
      if (tensor && !isa<BoxType>(tensor.getElementType()) && found != tensor.getElementType())
        refuse(run) << what << " elements of " << found << " where its kernel has "
                    << tensor.getElementType();
    };
    for (auto [buffer, argument] : llvm::zip(run.getInputs(), body.getArguments()))
      compare(buffer, argument.getType(), "reads");
    for (auto [buffer, result] : llvm::zip(run.getOutputs(), body.getTerminator()->getOperands()))
      compare(buffer, result.getType(), "writes");
  }
};
} // namespace
