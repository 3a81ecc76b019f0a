//===- PlanMemory.cpp - buffers get offsets in the arena ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/memory/OffsetPlanner.h"
#include "passes/memory/PlanChecker.h"

namespace weir {
#define GEN_PASS_DEF_WEIRPLANMEMORYPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Buffers begin on cache lines, which are also the widest vectors.
static constexpr int64_t alignment = 64;

namespace {
struct PlanMemoryPass : weir::impl::WeirPlanMemoryPassBase<PlanMemoryPass> {
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
      bound = std::max(bound, plan->second);
    }
    OpBuilder b(module.getContext());
    SmallVector<Attribute> described;
    for (auto &[device, sizes] : arenas)
      described.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("bound", b.getI64IntegerAttr(sizes.second)),
           b.getNamedAttr("bytes", b.getI64IntegerAttr(sizes.first)),
           b.getNamedAttr("device", b.getI64IntegerAttr(device))}));
    module->setAttr("weir_plan.arenas", b.getArrayAttr(described));
  }

  /// (peak, lower bound) in bytes.
  std::optional<std::pair<int64_t, int64_t>> planFunction(func::FuncOp function) {
    // Linear time: operations in program order, a structured one spans its
    // regions.
    DenseMap<Operation *, std::pair<int64_t, int64_t>> time;
    int64_t now = 0;
    number(function.getBody(), time, now);

    SmallVector<BufferOp> operations;
    std::vector<memory::Buffer> buffers;
    function.walk([&](BufferOp op) {
      auto type = cast<MemRefType>(op.getType());
      memory::Buffer buffer;
      buffer.size = std::max<int64_t>(type.getNumElements(), 0) *
                    elementSize(type.getElementType());
      buffer.size = llvm::alignTo(std::max<int64_t>(buffer.size, 1), alignment);
      buffer.alignment = alignment;
      std::tie(buffer.lower, buffer.upper) = lifetime(op, time);
      operations.push_back(op);
      buffers.push_back(buffer);
    });
    memory::Plan plan = memory::planOffsets(buffers);
    std::vector<memory::PlacedBuffer> placed;
    for (auto [buffer, offset] : llvm::zip(buffers, plan.offsets))
      placed.push_back({buffer.lower, buffer.upper, buffer.size,
                        buffer.alignment, offset});
    if (auto error = memory::checkPlan(placed, plan.peak)) {
      operations[error->first].emitError("memory plan: ") << error->message;
      return std::nullopt;
    }
    OpBuilder b(function.getContext());
    for (auto [op, offset] : llvm::zip(operations, plan.offsets))
      op.setOffsetAttr(b.getI64IntegerAttr(offset));
    return std::make_pair(plan.peak, plan.lowerBound);
  }

  static int64_t elementSize(Type type) {
    if (auto complexType = dyn_cast<ComplexType>(type))
      return 2 * elementSize(complexType.getElementType());
    if (isa<StringType>(type))
      return 16; // weir_string
    return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  }

  static void number(Region &region,
                     DenseMap<Operation *, std::pair<int64_t, int64_t>> &time,
                     int64_t &now) {
    for (Block &block : region)
      for (Operation &op : block) {
        int64_t begin = now++;
        for (Region &inner : op.getRegions())
          number(inner, time, now);
        time[&op] = {begin, now++};
      }
  }

  static std::pair<int64_t, int64_t>
  lifetime(BufferOp op, DenseMap<Operation *, std::pair<int64_t, int64_t>> &time) {
    int64_t first = INT64_MAX, last = time[op].first;
    Region *home = op->getParentRegion();
    SmallVector<Value> aliases{op.getResult()};
    while (!aliases.empty()) {
      Value alias = aliases.pop_back_val();
      for (Operation *user : alias.getUsers()) {
        if (isa<ViewOp>(user))
          aliases.push_back(user->getResult(0));
        // From inside of a loop the value is read in every iteration: the
        // outermost loop between counts as one use.
        Operation *use = user;
        for (Operation *parent = user->getParentOp();
             parent && parent->getParentRegion() &&
             home->isProperAncestor(user->getParentRegion()) &&
             (home == parent->getParentRegion() ||
              home->isProperAncestor(parent->getParentRegion()));
             parent = parent->getParentOp())
          if (isa<scf::WhileOp, scf::ForOp>(parent))
            use = parent;
        first = std::min(first, time[use].first);
        last = std::max(last, time[use].second);
      }
    }
    if (first == INT64_MAX)
      first = time[op].first;
    return {first, last + 1};
  }
};
} // namespace
