//===- DepthFirstFusion.cpp - kernels that go through an image together -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks of mobile networks (Sandler et al. 2018, "MobileNetV2: Inverted Residuals
// and Linear Bottlenecks") make an image wide, go over it with windows, and make it
// narrow again. Where the wide image does not stay in the second-level cache, one kernel
// does all of that for a few lines at a time. Its stages are kernels as before, for ranges
// of lines; what is between them is a window of lines on a thread's stack.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Passes.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/kernelize/DepthFirst.h"
#include "passes/plan/LaunchWork.h"
#include "llvm/ADT/MapVector.h"

namespace weir {
#define GEN_PASS_DEF_WEIRDEPTHFIRSTFUSIONPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

/// Images that a second-level cache does not keep beside weights and results.
constexpr int64_t largeImage = 3 << 19;
/// Of a thread's stack.
constexpr int64_t mostStack = 1 << 19;
/// Result lines of a strip: with more, windows leave the cache; borders between parts
/// are computed twice.
constexpr int64_t mostLines = 4;

struct DepthFirstFusionPass : weir::impl::WeirDepthFirstFusionPassBase<DepthFirstFusionPass> {
  void runOnOperation() override {
    SymbolTable known(getOperation());
    symbols = &known;
    SmallVector<LaunchOp> last;
    getOperation().walk([&](LaunchOp launch) { last.push_back(launch); });
    // From the end, so that a chain is as long as it can be.
    for (LaunchOp launch : llvm::reverse(last))
      if (!chained.contains(launch) && launch->getParentOfType<func::FuncOp>())
        tryDepthFirst(launch);
    for (auto [whole, made] : linewise)
      if (SymbolTable::symbolKnownUseEmpty(whole, getOperation()))
        known.erase(whole);
  }

  KernelOp kernelOf(LaunchOp launch) { return symbols->lookup<KernelOp>(launch.getKernel()); }

  /// The launch that makes the image that `launch` goes over, where nothing else reads it.
  LaunchOp producerOf(LaunchOp launch) {
    Value image = launch.getInputs()[imageOf(kernelOf(launch))];
    auto producer = image.getDefiningOp<LaunchOp>();
    if (!producer || producer->getNumResults() != 1 || !image.hasOneUse() ||
        producer->getBlock() != launch->getBlock() || !isStage(kernelOf(producer)))
      return {};
    return producer;
  }

  void tryDepthFirst(LaunchOp launch) {
    if (isOnAccelerator(launch) || !isStage(kernelOf(launch)) || !isPointwise(kernelOf(launch)))
      return;
    SmallVector<LaunchOp> stages{launch};
    LaunchOp windows = producerOf(launch);
    if (!windows || isPointwise(kernelOf(windows)))
      return;
    stages.insert(stages.begin(), windows);
    if (LaunchOp wide = producerOf(windows); wide && isPointwise(kernelOf(wide)))
      stages.insert(stages.begin(), wide);
    if (llvm::none_of(ArrayRef(stages).drop_back(), [](LaunchOp stage) {
          // Of an open number of images there is one at least.
          auto image = cast<RankedTensorType>(stage->getResult(0).getType());
          int64_t bytes = image.getElementTypeBitWidth() / 8;
          for (int64_t size : image.getShape())
            bytes *= ShapedType::isDynamic(size) ? 1 : size;
          return bytes >= largeImage;
        }))
      return;
    if (!haveOneBatch(stages))
      return;
    SmallVector<KernelOp> kernels;
    for (LaunchOp stage : stages)
      kernels.push_back(kernelOf(stage));
    int64_t lines = mostLines;
    while (lines > 1 && stackBytes(kernels, lines) > mostStack)
      lines /= 2;
    if (stackBytes(kernels, lines) <= mostStack)
      chain(stages, kernels, lines);
  }

  /// Whether all that has an open number of images has the same: it is made by the stages, or
  /// is what the first of them goes over.
  bool haveOneBatch(ArrayRef<LaunchOp> stages) {
    LaunchOp first = stages.front();
    Value image = first.getInputs()[imageOf(kernelOf(first))];
    for (LaunchOp stage : stages)
      for (Value input : stage.getInputs()) {
        bool isOpen = !cast<RankedTensorType>(input.getType()).hasStaticShape();
        if (isOpen && input != image &&
            !llvm::is_contained(stages, input.getDefiningOp<LaunchOp>()))
          return false;
        if (isOpen && !isOfOpenBatch(input.getType()))
          return false;
      }
    return true;
  }

  /// `kernel` in parts of a line.
  KernelOp byLines(KernelOp kernel) {
    KernelOp &made = linewise[kernel];
    if (!made) {
      made = cast<KernelOp>(kernel->clone());
      made.setSymName((kernel.getSymName() + ".lines").str());
      SmallVector<int64_t> parts(kernel.getSchedule()[schedule::parts]);
      parts[1] = 1;
      made.setScheduleAttr(ScheduleBuilder(kernel.getSchedule()).set(schedule::parts, parts).get());
      symbols->insert(made, Block::iterator(kernel));
    }
    return made;
  }

  void chain(ArrayRef<LaunchOp> stages, ArrayRef<KernelOp> kernels, int64_t lines) {
    OpBuilder b(getOperation().getContext());
    LaunchOp last = stages.back();
    llvm::SetVector<Value> inputs;
    llvm::SetVector<StringRef> names;
    SmallVector<Location> locations;
    for (LaunchOp stage : stages) {
      collectNodeNames(stage.getLoc(), names);
      locations.push_back(stage.getLoc());
      for (Value input : stage.getInputs())
        if (!llvm::is_contained(stages, input.getDefiningOp<LaunchOp>()))
          inputs.insert(input);
    }
    Location loc = FusedLoc::get(b.getContext(), locations);
    KernelOp model = kernels.back();
    b.setInsertionPoint(model);
    auto type = cast<RankedTensorType>(last->getResult(0).getType());
    ScheduleBuilder s(b.getContext(), ScheduleKind::DepthFirst);
    s.set(schedule::parts, {1, lines, type.getDimSize(2), type.getDimSize(3)});
    auto kernel = KernelOp::create(b, loc, (model.getSymName() + ".chain").str(), s.get(),
                                   llvm::join(names, ";"));
    Block *body = b.createBlock(&kernel.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), loc));
    int64_t flops = 0;
    for (auto [stage, whole] : llvm::zip(stages, kernels)) {
      KernelOp own = byLines(whole);
      auto inner = cast<LaunchOp>(b.clone(*stage, mapping));
      inner.setKernel(own.getSymName());
      inner->removeAttr("weir.device");
      own.getBody().walk([&](CostOpInterface op) { flops += std::max<int64_t>(op.getFlops(), 0); });
    }
    ReturnOp::create(b, loc, mapping.lookup(last->getResult(0)));
    // As chooseStrategy does.
    int64_t images = type.isDynamicDim(0) ? 1 : type.getDimSize(0);
    int64_t strips = images * llvm::divideCeil(type.getDimSize(1), lines);
    int64_t each = std::max<int64_t>(1, flops / strips);
    kernel.setScheduleAttr(s.set(schedule::grain, std::max<int64_t>(1, workOfThread / each)).get());
    symbols->insert(kernel);

    b.setInsertionPoint(last);
    auto launch = LaunchOp::create(b, loc, type, kernel.getSymName(), inputs.getArrayRef());
    copyDevice(last, launch.getResult(0));
    last->getResult(0).replaceAllUsesWith(launch.getResult(0));
    for (LaunchOp stage : llvm::reverse(stages)) {
      chained.insert(stage);
      stage.erase();
    }
  }

  SymbolTable *symbols = nullptr;
  llvm::MapVector<Operation *, KernelOp> linewise;
  llvm::DenseSet<Operation *> chained;
};
} // namespace
