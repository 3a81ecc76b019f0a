//===- DepthFirst.cpp - several convolutions, a few lines at a time -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Calls `visit` with the kernel of each stage that has buffer `index` of the chain, and what
/// that is among the stage's own; false where one says so.
static bool allStages(KernelOp chain, unsigned index,
                      function_ref<bool(KernelOp, unsigned)> visit) {
  Block &body = chain.getBody().front();
  auto kernelOf = [&](LaunchOp stage) {
    return SymbolTable::lookupNearestSymbolFrom<KernelOp>(chain, stage.getKernelAttr());
  };
  if (index < body.getNumArguments())
    return llvm::all_of(body.getArgument(index).getUses(), [&](OpOperand &use) {
      return visit(kernelOf(cast<LaunchOp>(use.getOwner())), use.getOperandNumber());
    });
  auto last = body.getTerminator()->getOperand(0).getDefiningOp<LaunchOp>();
  return visit(kernelOf(last), last.getInputs().size());
}

namespace {
class DepthFirst final : public KernelStrategy {
public:
  /// Made by weir-depth-first-fusion (passes/kernelize/DepthFirst.h).
  ScheduleKind kind() const override { return ScheduleKind::DepthFirst; }

  bool takesPart(KernelOp chain, unsigned index, ArrayRef<int64_t> extents) const override {
    return allStages(chain, index, [&](KernelOp stage, unsigned buffer) {
      return strategyOf(stage).takesPart(stage, buffer, extents);
    });
  }

  /// Only the last stage may read it, as it does so. The stages before are ahead of the lines
  /// that are written, and compute some of theirs again.
  bool readsInPlace(KernelOp chain, unsigned argument) const override {
    Block &body = chain.getBody().front();
    BlockArgument value = body.getArgument(argument);
    auto last = body.getTerminator()->getOperand(0).getDefiningOp<LaunchOp>();
    return last && value.hasOneUse() && *value.getUsers().begin() == last &&
           allStages(chain, argument, [&](KernelOp stage, unsigned buffer) {
             return strategyOf(stage).readsInPlace(stage, buffer);
           });
  }

  LogicalResult emit(KernelBuilder &, KernelOp kernel, Value, Value) const override {
    return kernel.emitError("stages go by lines, not by parts of this kernel");
  }
};
} // namespace

namespace weir {
const KernelStrategy &depthFirstStrategy() {
  static const DepthFirst made;
  return made;
}
} // namespace weir
