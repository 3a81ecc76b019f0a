//===- AwaitSends.cpp - buffers that other tasks read in place ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/plan/Passes.h"
#include "passes/plan/StepTimes.h"
#include "passes/plan/VariableUpdates.h"

namespace weir {
#define GEN_PASS_DEF_WEIRAWAITSENDSPASS
#include "passes/plan/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Less is copied sooner than it would be waited for.
constexpr int64_t fewBytes = 1 << 14;
/// Tensors of a block on their way at once: the next one's transfer begins when
/// the last one's ends, and so many buffers live longer than computing needs.
constexpr size_t mostUnderWay = 2;

/// Marks the sends of one step, a block at a time.
class Awaiter {
public:
  Awaiter(llvm::function_ref<bool(plan::SendOp)> leaves) : leaves(leaves) {}

  void visit(Block &block) {
    SmallVector<Value> underWay;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!underWay.empty() && ends(op, underWay))
        await(&op, underWay);
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
      auto send = dyn_cast<plan::SendOp>(op);
      if (!send || !isLarge(send) || !leaves(send))
        continue;
      send.setKept(true);
      Value root = rootOf(send.getValue()[0]);
      if (staysToTheEnd(root))
        continue;
      if (underWay.size() == mostUnderWay)
        await(&op, underWay);
      underWay.push_back(root);
    }
  }

private:
  static bool isLarge(plan::SendOp send) {
    if (send.getValue().empty())
      return false;
    auto type = cast<MemRefType>(send.getValue()[0].getType());
    return !type.hasStaticShape() || arenaBytes(type) >= fewBytes;
  }

  /// Nobody writes or frees these before the run ends.
  static bool staysToTheEnd(Value root) {
    Operation *def = root.getDefiningOp();
    return def && def->hasTrait<plan::traits::LivesToTheEnd>();
  }

  /// Whether `op`, or what is in it, ends what one of the buffers holds.
  static bool ends(Operation &op, ArrayRef<Value> buffers) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      return true;
    auto isOne = [&](Value buffer) { return llvm::is_contained(buffers, rootOf(buffer)); };
    WalkResult found = op.walk([&](Operation *inner) {
      bool does = false;
      if (auto run = dyn_cast<RunOp>(inner))
        does = llvm::any_of(run.getOutputs(), isOne);
      else if (auto copy = dyn_cast<CopyOp>(inner))
        does = isOne(copy.getTarget());
      else if (auto reduce = dyn_cast<plan::AllReduceOp>(inner))
        does = reduce.getTarget() && isOne(reduce.getTarget());
      else if (auto store = dyn_cast<StoreOp>(inner))
        does = isOne(store.getBuffer());
      else if (auto free = dyn_cast<FreeOp>(inner))
        does = isOne(free.getBuffer());
      return does ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found.wasInterrupted();
  }

  static void await(Operation *before, SmallVectorImpl<Value> &underWay) {
    OpBuilder b(beforeUpdates(before));
    AwaitSentOp::create(b, before->getLoc(), underWay);
    underWay.clear();
  }

  llvm::function_ref<bool(plan::SendOp)> leaves;
};

struct AwaitSendsPass : weir::impl::WeirAwaitSendsPassBase<AwaitSendsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto edges = module->getAttrOfType<ArrayAttr>("weir_plan.edges");
    auto devices = module->getAttrOfType<ArrayAttr>("weir_plan.devices");
    if (!edges || !devices)
      return;
    auto taskOf = [&](DictionaryAttr edge, StringRef end) {
      int64_t device = edge.getAs<IntegerAttr>(end).getInt();
      DeviceName name =
          DeviceName::parse(cast<StringAttr>(devices[device]).getValue()).value_or(DeviceName());
      return std::make_tuple(name.job, name.replica, name.task);
    };
    // Within a task a tensor goes to the receiver's memory at once.
    auto leaves = [&](plan::SendOp send) {
      auto edge = cast<DictionaryAttr>(edges[send.getEdge()]);
      return taskOf(edge, "source") != taskOf(edge, "destination");
    };
    Awaiter awaiter(leaves);
    for (auto function : module.getOps<func::FuncOp>()) {
      // An offload device's tensors are copied to the host, whose copy is handed over.
      if (function.isExternal() || isOffloaded(function))
        continue;
      for (Block &block : function.getBody())
        awaiter.visit(block);
    }
  }
};

} // namespace
