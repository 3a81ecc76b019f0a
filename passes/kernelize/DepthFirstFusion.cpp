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
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/KernelSchedules.h"
#include "passes/analysis/UsualShapes.h"
#include "passes/kernelize/DepthFirst.h"
#include "passes/kernelize/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace weir {
#define GEN_PASS_DEF_WEIRDEPTHFIRSTFUSIONPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {

struct DepthFirstFusionPass : weir::impl::WeirDepthFirstFusionPassBase<DepthFirstFusionPass> {
  using ShapesByFunction = llvm::DenseMap<Operation *, std::unique_ptr<UsualShapes>>;

  void runOnOperation() override {
    SymbolTable known(getOperation());
    symbols = &known;
    ShapesByFunction shapes;
    usual = &shapes;
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
    if (isOffloaded(launch) || !isStage(kernelOf(launch)) || !isPointwise(kernelOf(launch)))
      return;
    SmallVector<LaunchOp> stages{launch};
    LaunchOp windows = producerOf(launch);
    if (!windows || isPointwise(kernelOf(windows)))
      return;
    stages.insert(stages.begin(), windows);
    if (LaunchOp wide = producerOf(windows); wide && isPointwise(kernelOf(wide)))
      stages.insert(stages.begin(), wide);
    if (!areOfSizes(stages))
      return;
    SmallVector<KernelOp> kernels;
    SmallVector<RankedTensorType> images;
    for (LaunchOp stage : stages) {
      kernels.push_back(kernelOf(stage));
      images.push_back(usualOf(stage->getResult(0)));
    }
    if (!llvm::all_of(images, [](RankedTensorType type) { return bool(type); }))
      return;
    if (std::optional<ChainSchedule> schedule = hostSchedules()->chain(kernels, images))
      chain(stages, kernels, *schedule);
  }

  /// A tensor's type where open sizes are usual ones; null: it is not known.
  RankedTensorType usualOf(Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (type.hasStaticShape())
      return type;
    auto function = tensor.getDefiningOp()->getParentOfType<func::FuncOp>();
    auto &own = (*usual)[function];
    if (!own)
      own = std::make_unique<UsualShapes>(function, *symbols);
    return own->of(tensor);
  }

  /// Whether the images that stages read beside the one before theirs have the sizes of what they
  /// make, whatever is fed: a few lines must not show that another is stretched. Open ones have
  /// where they are what the first stage goes over, and all keep its sides, or these are known.
  bool areOfSizes(ArrayRef<LaunchOp> stages) {
    LaunchOp first = stages.front();
    Value image = first.getInputs()[imageOf(kernelOf(first))];
    bool areKept = cast<RankedTensorType>(image.getType()).hasStaticShape() ||
                   isOfOpenBatch(image.getType()) ||
                   llvm::all_of(stages, [&](LaunchOp each) { return keepsSides(kernelOf(each)); });
    for (LaunchOp stage : stages)
      for (auto [i, input] : llvm::enumerate(stage.getInputs())) {
        bool isOpen = !cast<RankedTensorType>(input.getType()).hasStaticShape();
        if (isOpen && i != imageOf(kernelOf(stage)) && (input != image || !areKept))
          return false;
      }
    return true;
  }

  /// Whether of a tensor's sizes only the first, the number of images, is open.
  static bool isOfOpenBatch(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() > 0 && tensor.isDynamicDim(0) &&
           !ShapedType::isDynamicShape(tensor.getShape().drop_front());
  }

  /// `kernel` in parts of a line.
  KernelOp byLines(KernelOp kernel, ScheduleAttr schedule) {
    KernelOp &made = linewise[kernel];
    if (!made) {
      made = cast<KernelOp>(kernel->clone());
      made.setSymName((kernel.getSymName() + ".lines").str());
      made.setScheduleAttr(schedule);
      symbols->insert(made, Block::iterator(kernel));
    }
    return made;
  }

  void chain(ArrayRef<LaunchOp> stages, ArrayRef<KernelOp> kernels, const ChainSchedule &schedule) {
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
    auto kernel = KernelOp::create(b, loc, (model.getSymName() + ".chain").str(), schedule.whole,
                                   llvm::join(names, ";"));
    Block *body = b.createBlock(&kernel.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), loc));
    for (auto [stage, whole, own] : llvm::zip(stages, kernels, schedule.stages)) {
      auto inner = cast<LaunchOp>(b.clone(*stage, mapping));
      inner.setKernel(byLines(whole, own).getSymName());
      inner->removeAttr("weir.device");
    }
    ReturnOp::create(b, loc, mapping.lookup(last->getResult(0)));
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
  ShapesByFunction *usual = nullptr;
};
} // namespace
