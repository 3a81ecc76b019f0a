//===- DepthFirst.cpp - several convolutions, a few lines at a time -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/DepthFirst.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/plan/LaunchWork.h"

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

/// Images that a second-level cache does not keep beside weights and results.
static constexpr int64_t largeImage = 3 << 19;
/// Of a thread's stack.
static constexpr int64_t mostStack = 1 << 19;
/// Result lines of a strip: with more, windows leave the cache; borders between parts
/// are computed twice.
static constexpr int64_t mostLines = 4;

static RankedTensorType resultOf(KernelOp kernel) {
  return cast<RankedTensorType>(kernel.getBody().front().getTerminator()->getOperand(0).getType());
}

/// The lines of all stages but the last that are in use at once.
static int64_t stackBytes(ArrayRef<KernelOp> stages, int64_t lines) {
  int64_t bytes = 0;
  for (auto [stage, count] : llvm::zip(stages.drop_back(), linesInUse(stages, lines)))
    bytes += count * lineBytes(stage);
  return bytes;
}

std::optional<ChainSchedule> weir::chainSchedule(ArrayRef<KernelOp> stages) {
  auto isLarge = [](KernelOp stage) {
    // Of an open number of images there is one at least.
    RankedTensorType image = resultOf(stage);
    int64_t bytes = image.getElementTypeBitWidth() / 8;
    for (int64_t size : image.getShape())
      bytes *= ShapedType::isDynamic(size) ? 1 : size;
    return bytes >= largeImage;
  };
  if (llvm::none_of(stages.drop_back(), isLarge))
    return std::nullopt;
  int64_t lines = mostLines;
  while (lines > 1 && stackBytes(stages, lines) > mostStack)
    lines /= 2;
  if (stackBytes(stages, lines) > mostStack)
    return std::nullopt;
  ChainSchedule chain;
  int64_t flops = 0;
  for (KernelOp stage : stages) {
    SmallVector<int64_t> parts(stage.getSchedule()[schedule::parts]);
    parts[1] = 1;
    chain.stages.push_back(ScheduleBuilder(stage.getSchedule()).set(schedule::parts, parts).get());
    stage.getBody().walk([&](CostOpInterface op) { flops += std::max<int64_t>(op.getFlops(), 0); });
  }
  RankedTensorType type = resultOf(stages.back());
  int64_t images = type.isDynamicDim(0) ? 1 : type.getDimSize(0);
  int64_t strips = images * llvm::divideCeil(type.getDimSize(1), lines);
  int64_t each = std::max<int64_t>(1, flops / strips);
  chain.whole = ScheduleBuilder(stages.front()->getContext(), ScheduleKind::DepthFirst)
                    .set(schedule::parts, {1, lines, type.getDimSize(2), type.getDimSize(3)})
                    .set(schedule::grain, std::max<int64_t>(1, workOfThread / each))
                    .get();
  return chain;
}

namespace {
class DepthFirst final : public KernelStrategy {
public:
  /// Made by weir-depth-first-fusion (passes/kernelize/DepthFirst.h).
  ScheduleKind kind() const override { return ScheduleKind::DepthFirst; }
  StringRef summary() const override {
    return "several kernels in turn, a few lines at a time, so that caches keep what is between "
           "them";
  }

  bool takesPart(KernelOp chain, unsigned index, ArrayRef<int64_t> extents) const override {
    return allStages(chain, index, [&](KernelOp stage, unsigned buffer) {
      return strategyOf(stage).takesPart(stage, buffer, extents);
    });
  }

  /// Only the last stage may read it, as it does so. The stages before are ahead of the lines
  /// that are written, and compute some of theirs again.
  bool readsInPlace(KernelOp chain, unsigned argument, unsigned result) const override {
    Block &body = chain.getBody().front();
    BlockArgument value = body.getArgument(argument);
    auto last = body.getTerminator()->getOperand(0).getDefiningOp<LaunchOp>();
    return last && value.hasOneUse() && *value.getUsers().begin() == last &&
           allStages(chain, argument, [&](KernelOp stage, unsigned buffer) {
             return strategyOf(stage).readsInPlace(stage, buffer, result);
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
