//===- PlanMemory.cpp - buffers get offsets in the arena ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/memory/OffsetPlanner.h"
#include "passes/memory/PlanChecker.h"
#include "passes/plan/Guards.h"
#include "passes/plan/Passes.h"
#include "passes/plan/StepTimes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRPLANMEMORYPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
struct PlanMemoryPass : weir::impl::WeirPlanMemoryPassBase<PlanMemoryPass> {
  using WeirPlanMemoryPassBase::WeirPlanMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Entries of one device take turns in its arena: it is as large as the
    // largest needs.
    std::map<int64_t, std::pair<int64_t, int64_t>> arenas;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      auto index = function->getAttrOfType<IntegerAttr>("weir.device_index");
      auto &[peak, bound] = arenas[index ? index.getInt() : 0];
      auto plan = planFunction(function);
      if (!plan)
        return signalPassFailure();
      peak = std::max(peak, plan->first);
      function->setAttr(entryArenaAttribute,
                        Builder(module.getContext()).getI64IntegerAttr(plan->first));
      bound = std::max(bound, plan->second);
    }
    OpBuilder b(module.getContext());
    SmallVector<Attribute> described;
    for (auto &[device, sizes] : arenas)
      described.push_back(
          b.getDictionaryAttr({b.getNamedAttr("bound", b.getI64IntegerAttr(sizes.second)),
                               b.getNamedAttr("bytes", b.getI64IntegerAttr(sizes.first)),
                               b.getNamedAttr("device", b.getI64IntegerAttr(device))}));
    module->setAttr("weir_plan.arenas", b.getArrayAttr(described));
  }

  /// (peak, lower bound) in bytes.
  std::optional<std::pair<int64_t, int64_t>> planFunction(func::FuncOp function) {
    StepTimes times(function);
    SmallVector<BufferOp> operations;
    std::vector<memory::Buffer> buffers;
    function.walk([&](BufferOp op) {
      memory::Buffer buffer;
      buffer.size = arenaBytes(cast<MemRefType>(op.getType()));
      buffer.alignment = arenaAlignment;
      std::tie(buffer.lower, buffer.upper) = times.lifetime(op);
      if (guards) {
        buffer.size += 2 * guardBytes;
        std::tie(buffer.lower, buffer.upper) = guardedLifetime(op, times);
      }
      operations.push_back(op);
      buffers.push_back(buffer);
    });
    memory::Plan plan = memory::planOffsets(buffers);
    std::vector<memory::PlacedBuffer> placed;
    for (auto [buffer, offset] : llvm::zip(buffers, plan.offsets))
      placed.push_back({buffer.lower, buffer.upper, buffer.size, buffer.alignment, offset});
    if (auto error = memory::checkPlan(placed, plan.peak)) {
      operations[error->first].emitError("memory plan: ") << error->message;
      return std::nullopt;
    }
    OpBuilder b(function.getContext());
    for (auto [op, buffer, offset] : llvm::zip(operations, buffers, plan.offsets)) {
      op.setOffsetAttr(b.getI64IntegerAttr(offset + (guards ? guardBytes : 0)));
      op->setAttr("lives", b.getDenseI64ArrayAttr({buffer.lower, buffer.upper}));
    }
    std::vector<memory::Access> accesses;
    SmallVector<Operation *> accessors;
    collectAccesses(function.getBody(), accesses, accessors);
    if (auto error = memory::checkAccesses(accesses)) {
      accessors[error->first]->emitError("memory plan: ") << error->message;
      return std::nullopt;
    }
    removeTraces(function);
    if (guards)
      for (BufferOp op : operations)
        guard(op);
    return std::make_pair(plan.peak, plan.lowerBound);
  }

  /// What the step reads and writes, in order, by the numbers that
  /// weir-reuse-buffers gave the buffers before it put any together. Loops run
  /// twice, so that an iteration meets what the one before it left.
  static void collectAccesses(Region &region, std::vector<memory::Access> &accesses,
                              SmallVectorImpl<Operation *> &accessors) {
    for (Operation &op : region.getOps()) {
      bool isLoop = isa<scf::WhileOp, scf::ForOp>(op);
      for (int turn = 0; turn < (isLoop ? 2 : 1); ++turn)
        for (Region &inner : op.getRegions())
          collectAccesses(inner, accesses, accessors);
      auto locations = op.getAttrOfType<DenseI64ArrayAttr>("weir_plan.locations");
      if (!locations)
        continue;
      unsigned next = 0;
      auto run = dyn_cast<RunOp>(op);
      auto reduce = dyn_cast<plan::AllReduceOp>(op);
      unsigned outputs = run      ? run.getOutputs().size()
                         : reduce ? bool(reduce.getTarget())
                                  : isa<CopyOp, StoreOp, SwapInOp>(op);
      for (Value operand : op.getOperands()) {
        if (!isa<MemRefType>(operand.getType()))
          continue;
        int64_t location = locations[next++];
        auto buffer = rootOf(operand).getDefiningOp<BufferOp>();
        // Nobody writes a tensor without elements, and nobody reads any of its place.
        if (location < 0 || !buffer || cast<MemRefType>(buffer.getType()).getNumElements() == 0)
          continue;
        accesses.push_back({location, (int64_t)buffer.getOffset().value(),
                            arenaBytes(cast<MemRefType>(buffer.getType())),
                            next + outputs > locations.size()});
        accessors.push_back(&op);
      }
    }
  }

  /// Copies of a buffer to itself, and what only the check reads.
  static void removeTraces(func::FuncOp function) {
    function.walk([](Operation *op) {
      op->removeAttr("weir_plan.locations");
      auto copy = dyn_cast<CopyOp>(op);
      if (copy && rootOf(copy.getSource()) == rootOf(copy.getTarget()))
        copy.erase();
    });
  }
};
} // namespace
