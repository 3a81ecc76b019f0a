//===- Kernelize.cpp - clusters become kernels and launches ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/RecursiveReader.h"
#include "dialects/weir/SizeOrigins.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ImplicitPadding.h"
#include "passes/analysis/KernelSchedules.h"
#include "passes/kernelize/JoinUpdates.h"
#include "passes/kernelize/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace weir {
#define GEN_PASS_DEF_WEIRKERNELIZEPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

struct KernelizePass : weir::impl::WeirKernelizePassBase<KernelizePass> {
  using WeirKernelizePassBase::WeirKernelizePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    schedules = hostSchedules();
    if (!schedules) {
      module.emitError("no back end of the host is registered that computes kernels");
      return signalPassFailure();
    }
    SmallVector<Block *> blocks;
    module.walk(
        [&](func::FuncOp func) { func.walk([&](Block *block) { blocks.push_back(block); }); });
    for (Block *block : blocks)
      foldBlock(*block);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      SizeOrigins origins;
      origins.takeFeeds(function);
      noteEqualSizes(function.getBody().front(), origins, /*alwaysRuns=*/true);
    }
    for (Block *block : blocks)
      for (auto conv : block->getOps<ConvOp>())
        takeBorder(conv);
    for (Block *block : blocks) {
      std::vector<Cluster> clusters = clusterBlock(*block, mostInputs);
      joinUpdates(*block, clusters, mostInputs, joinsGradients ? schedules : nullptr);
      // A cheap leaf may be a root, and be computed again inside of others.
      repeatedIn.clear();
      for (Cluster &cluster : clusters)
        for (Operation *op : cluster.operations)
          if (op != cluster.root())
            repeatedIn[op].insert(cluster.operations.begin(), cluster.operations.end());
      for (Cluster &cluster : clusters)
        outline(module, cluster);
    }
    nameNodes();
    for (Block *block : blocks)
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
        if (isOpTriviallyDead(&op))
          op.erase();
    dropUnused(module);
  }

  /// What passes before left to be folded, such as a part of a constant: in a kernel it would be
  /// folded behind the schedule's back, and the kernel would compute nothing.
  static void foldBlock(Block &block) {
    OpBuilder b(block.getParentOp());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      SmallVector<Value> folded;
      b.setInsertionPoint(&op);
      if (isa<ConstantOp>(op) || failed(b.tryFold(&op, folded)) || folded.empty())
        continue;
      op.replaceAllUsesWith(folded);
      op.erase();
    }
  }

  /// Makes a border of zeros that is there for the convolution alone its own padding, where its
  /// kernel on the host wants no border in memory.
  void takeBorder(ConvOp conv) {
    auto pad = conv.getInput().getDefiningOp<PadOp>();
    if (isOffloaded(conv) || !pad || !pad->hasOneUse() || pad.getMode() != PadMode::Constant ||
        !llvm::all_of(conv.getPads(), [](int64_t size) { return size == 0; }))
      return;
    ElementsAttr elements = pad.getValue() ? constantElements(pad.getValue()) : ElementsAttr();
    auto value = dyn_cast_if_present<DenseFPElementsAttr>(elements);
    std::optional<SmallVector<int64_t>> amounts = constantIntegers(pad.getPads());
    if (!value || !value.isSplat() || !value.getSplatValue<APFloat>().isPosZero() || !amounts)
      return;
    int64_t rank = int64_t(amounts->size()) / 2, first = conv.getChannelsLast() ? 1 : 2;
    int64_t spatial = rank - 2;
    SmallVector<int64_t> pads(2 * spatial);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t before = (*amounts)[i], behind = (*amounts)[rank + i], dim = i - first;
      if (dim >= 0 && dim < spatial) {
        pads[2 * dim] = before;
        pads[2 * dim + 1] = behind;
      } else if (before != 0 || behind != 0) {
        return;
      }
    }
    if (!schedules->mindsBorder(conv, pads))
      return;
    conv.getInputMutable().assign(pad.getOperand());
    conv.setPads(pads);
  }

  /// Marks elementwise operations whose operands' open sizes are known to be the result's: kernels
  /// need no code for those that are stretched, and may hold more.
  static void noteEqualSizes(Block &block, SizeOrigins &origins, bool alwaysRuns) {
    for (Operation &op : block) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          noteEqualSizes(inner, origins, /*alwaysRuns=*/false);
      origins.take(&op, alwaysRuns);
      if (isa<ElementwiseOpInterface>(op) && !keepsOpenSizes(&op) &&
          llvm::all_of(op.getOperands(),
                       [&](Value operand) { return isUnstretched(operand, op, origins); }))
        op.setAttr(equalSizesAttribute, UnitAttr::get(op.getContext()));
    }
  }

  static bool isUnstretched(Value operand, Operation &op, SizeOrigins &origins) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    auto result = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    if (!type || !result)
      return false;
    int64_t missing = result.getRank() - type.getRank();
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i) &&
          !(origins.of(operand, i) == origins.of(op.getResult(0), i + missing)))
        return false;
    return true;
  }

  /// A back end may read the operand of a launch in place of its result.
  static void dropUnused(ModuleOp module) {
    llvm::StringSet<> launched;
    module.walk([&](plan::LaunchOp launch) { launched.insert(launch.getKernel()); });
    for (auto kernel : llvm::make_early_inc_range(module.getOps<plan::KernelOp>()))
      if (!launched.contains(kernel.getSymName()))
        kernel.erase();
  }

  void outline(ModuleOp module, Cluster &cluster) {
    Operation *root = cluster.root();
    llvm::SetVector<Operation *> members(cluster.operations.begin(), cluster.operations.end());
    llvm::SetVector<Value> inputs;
    llvm::SetVector<StringRef> names;
    SmallVector<Location> locations;
    for (Operation *op : cluster.operations) {
      for (Value operand : op->getOperands())
        if (!members.contains(operand.getDefiningOp()))
          inputs.insert(operand);
      if (!isa<ConstantOp>(op)) {
        collectNodeNames(op->getLoc(), names);
        locations.push_back(op->getLoc());
      }
    }
    OpBuilder b(module.getContext());
    b.setInsertionPointToEnd(module.getBody());
    Location loc = FusedLoc::get(module.getContext(), locations);
    auto kernel = plan::KernelOp::create(
        b, loc, "kernel", plan::ScheduleBuilder(b.getContext(), plan::ScheduleKind::Loops).get(),
        llvm::join(names, ";"));
    Block *body = b.createBlock(&kernel.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), loc));
    for (Operation *op : cluster.operations)
      b.clone(*op, mapping);
    SmallVector<Value> computed = cluster.results(), results;
    for (Value result : computed)
      results.push_back(mapping.lookup(result));
    plan::ReturnOp::create(b, loc, results);
    b.setInsertionPoint(root);
    SmallVector<Value> operands(inputs.getArrayRef());
    Operation *packing = schedules->schedule({b, kernel, operands, !isOffloaded(root)});
    if (isOffloaded(root))
      formImplicitPadding(kernel, operands);
    StringRef symbol = unique(kernel, root);
    auto launch = plan::LaunchOp::create(b, loc, TypeRange(computed), symbol, operands);
    if (Attribute device = root->getAttr("weir.device"))
      launch->setAttr("weir.device", device);
    // What was fused is dead now, and goes when all clusters have been read.
    auto repeated = repeatedIn.find(root);
    for (auto [from, to] : llvm::zip(computed, launch.getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) {
        if (from.getDefiningOp() != root)
          return !members.contains(use.getOwner());
        return repeated == repeatedIn.end() || !repeated->second.contains(use.getOwner());
      });
    if (!packing)
      return;
    copyDevice(root, packing->getResult(0));
    copyDevice(root, packing->getOperand(0));
    Cluster own{{packing}, {}};
    outline(module, own);
  }

  /// Keeps `kernel` under a telling name, or drops it for an equal one.
  StringRef unique(plan::KernelOp kernel, Operation *root) {
    std::string key;
    llvm::raw_string_ostream os(key);
    os << plan::stringifyScheduleKind(kernel.getSchedule().getKind()) << '\n';
    // Values are numbered once for the whole kernel.
    AsmState state(
        kernel,
        OpPrintingFlags().printGenericOpForm().useLocalScope().elideLargeElementsAttrs(1 << 20));
    kernel.getBody().front().walk([&](Operation *op) {
      op->print(os, state);
      os << '\n';
      // It names its node then, and a kernel of two nodes could only name one.
      if (checksElements(op))
        os << nodeName(op->getLoc()) << '\n';
    });
    for (BlockArgument argument : kernel.getBody().getArguments())
      os << argument.getType() << ' ';
    if (Attribute unpadded = kernel->getAttr(implicitPaddingAttribute))
      os << unpadded;
    auto [it, isNew] = known.try_emplace(key, kernel);
    if (!isNew) {
      // One function serves the nodes of both. They are joined when all are known:
      // a name that grew with each launch would be kept in every length.
      moreNodes[it->second].push_back(kernel.getNodesAttr());
      kernel.erase();
      return it->second.getSymName();
    }
    // A product or convolution says more of a kernel than what comes last in it.
    std::string name = root->getName().stripDialect().str();
    for (Operation &op : kernel.getBody().front())
      if (&op != root && isa<ConvOp, DotGeneralOp>(op) && op.getName() != root->getName()) {
        name = (op.getName().stripDialect() + "_" + name).str();
        break;
      }
    auto tensor = cast<RankedTensorType>(root->getResult(0).getType());
    for (int64_t size : tensor.getShape())
      name += ShapedType::isDynamic(size) ? "_d" : "_" + std::to_string(size);
    llvm::raw_string_ostream(name) << "_" << tensor.getElementType();
    for (char &c : name)
      if (!llvm::isAlnum(c))
        c = '_';
    int &count = used[name];
    kernel.setSymName(count++ ? name + "." + std::to_string(count) : name);
    return kernel.getSymName();
  }

  void nameNodes() {
    for (auto &[kernel, others] : moreNodes) {
      llvm::SetVector<StringRef> names;
      others.insert(others.begin(), kernel.getNodesAttr());
      for (StringAttr other : others) {
        SmallVector<StringRef> parts;
        other.getValue().split(parts, ';', -1, false);
        names.insert(parts.begin(), parts.end());
      }
      kernel.setNodes(llvm::join(names, ";"));
    }
    moreNodes.clear();
  }

  const KernelSchedules *schedules = nullptr;
  llvm::DenseMap<Operation *, llvm::DenseSet<Operation *>> repeatedIn;
  /// Nodes of kernels that equal ones stand for.
  llvm::MapVector<plan::KernelOp, SmallVector<StringAttr>> moreNodes;
  llvm::StringMap<plan::KernelOp> known;
  llvm::StringMap<int> used;
};

} // namespace
