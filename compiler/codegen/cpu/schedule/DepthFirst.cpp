//===- DepthFirst.cpp - several convolutions, a few lines at a time -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/DepthFirst.h"
#include "compiler/codegen/cpu/DepthFirst.h"
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
/// Result lines of a strip: with more, windows leave the cache; borders between parts
/// are computed twice.
static constexpr int64_t mostLines = 4;

/// The lines of all stages but the last that are in use at once.
static int64_t stackBytes(ArrayRef<KernelOp> stages, ArrayRef<RankedTensorType> images,
                          int64_t lines) {
  int64_t bytes = 0;
  for (auto [image, count] : llvm::zip(images.drop_back(), linesInUse(stages, images, lines)))
    bytes += count * lineBytes(image);
  return bytes;
}

std::optional<ChainSchedule> weir::chainSchedule(ArrayRef<KernelOp> stages,
                                                 ArrayRef<RankedTensorType> images) {
  auto isLarge = [](RankedTensorType image) {
    return image.getNumElements() * image.getElementTypeBitWidth() / 8 >= largeImage;
  };
  if (llvm::none_of(images.drop_back(), isLarge))
    return std::nullopt;
  int64_t lines = mostLines;
  while (lines > 1 && stackBytes(stages, images, lines) > mostWindowBytes)
    lines /= 2;
  if (stackBytes(stages, images, lines) > mostWindowBytes)
    return std::nullopt;
  ChainSchedule chain;
  int64_t flops = 0;
  for (KernelOp stage : stages) {
    ScheduleBuilder own(stage.getSchedule());
    SmallVector<int64_t> parts(stage.getSchedule()[schedule::parts]);
    if (stage.getSchedule().getKind() == ScheduleKind::Gemm) {
      own.set(schedule::lines, 1);
    } else {
      parts[1] = 1;
      own.set(schedule::parts, parts);
      if (own.find(schedule::blockTiles) && stage.getSchedule().getKind() != ScheduleKind::Winograd)
        own.set(schedule::blockTiles, 1); // by lines, not by panels of an image
    }
    chain.stages.push_back(own.get());
    stage.getBody().walk([&](CostOpInterface op) { flops += std::max<int64_t>(op.getFlops(), 0); });
  }
  // What an open line is cut to is no part of it, so that none is said.
  RankedTensorType type = resultOf(stages.back());
  SmallVector<int64_t> parts{1, lines};
  if (!type.isDynamicDim(2))
    parts.append({type.getDimSize(2), type.getDimSize(3)});
  int64_t strips =
      images.back().getDimSize(0) * llvm::divideCeil(images.back().getDimSize(1), lines);
  int64_t each = std::max<int64_t>(1, flops / std::max<int64_t>(strips, 1));
  chain.whole = ScheduleBuilder(stages.front()->getContext(), ScheduleKind::DepthFirst)
                    .set(schedule::parts, parts)
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
