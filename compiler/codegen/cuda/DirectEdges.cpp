//===- DirectEdges.cpp - feeds and fetches in a GPU's memory -----*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/DirectEdges.h"
#include "compiler/codegen/cuda/CudaKernel.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/analysis/ScalarForm.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/StepTimes.h"

using namespace mlir;
using namespace weir;

/// Whether `buffer` keeps behind `send`, an operation of its block, what it has
/// there, and nothing else names it.
static bool isKeptBehind(plan::SendOp send, Value buffer) {
  return llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<plan::ViewOp>(user))
      return isKeptBehind(send, user->getResult(0));
    if (isa<plan::FreeOp, plan::AwaitSentOp>(user))
      return true;
    if (!isa<memref::DimOp>(user) && !user->hasTrait<plan::traits::UsesInOrder>())
      return false;
    Operation *here = send->getBlock()->findAncestorOpInBlock(*user);
    return here == send || here->isBeforeInBlock(send) || !plan::isWritten(use);
  });
}

/// The buffer that holds what is sent and nothing else, until the step ends;
/// null: none.
static Operation *ownBuffer(plan::SendOp send) {
  Value value = send.getValue()[0], root = plan::rootOf(value);
  Operation *buffer = root.getDefiningOp();
  if (!isa_and_nonnull<plan::BufferOp, plan::AllocOp>(buffer) || buffer->hasAttr("weir.host") ||
      buffer->getBlock() != send->getBlock() || buffer->hasAttr(fetchEdgeAttribute))
    return nullptr;
  auto type = cast<MemRefType>(root.getType()), sent = cast<MemRefType>(value.getType());
  bool isWhole = value == root || (type.hasStaticShape() && sent.hasStaticShape() &&
                                   type.getElementType() == sent.getElementType() &&
                                   type.getNumElements() == sent.getNumElements());
  return isWhole && isKeptBehind(send, root) ? buffer : nullptr;
}

/// All uses of a buffer, by way of views, too.
static void collectUses(Value buffer, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : buffer.getUses()) {
    if (isa<plan::ViewOp>(use.getOwner()))
      collectUses(use.getOwner()->getResult(0), uses);
    else
      uses.push_back(&use);
  }
}

/// The one launch of `block` that writes `buffer`; null: none, or something else does, too.
static plan::RunOp onlyWriter(Value buffer, Block *block) {
  SmallVector<OpOperand *> uses;
  collectUses(buffer, uses);
  plan::RunOp writer;
  for (OpOperand *use : uses) {
    if (isa<plan::FreeOp, plan::AwaitSentOp>(use->getOwner()) || !plan::isWritten(*use))
      continue;
    auto run = dyn_cast<plan::RunOp>(use->getOwner());
    if (!run || writer || run->getBlock() != block || run.getOutputs().size() != 1)
      return {};
    writer = run;
  }
  return writer;
}

/// The operand of a launch whose elements its kernel leaves where they are, but for those that it
/// writes: a scatter's, or one that the result begins with, which the kernel reads for nothing
/// else. Null: none.
static OpOperand *updatedOperand(plan::RunOp run, const SymbolTable &symbols) {
  auto kernel = symbols.lookup<plan::KernelOp>(run.getKernel());
  if (!kernel || kernel.getInPlaceAttr())
    return nullptr;
  BlockArgument operand = plan::scatteredOver(kernel);
  if (!operand)
    operand = grownOperand(kernel);
  if (!operand || !operand.hasOneUse())
    return nullptr;
  return &run.getInputsMutable()[operand.getArgNumber()];
}

/// The edge of the feed that the fetch in `buffer` may lie over; -1: none.
static int64_t feedBelow(Operation *buffer, const llvm::DenseSet<int64_t> &fed,
                         const SymbolTable &symbols) {
  plan::RunOp writer = onlyWriter(buffer->getResult(0), buffer->getBlock());
  OpOperand *operand = writer ? updatedOperand(writer, symbols) : nullptr;
  if (!operand)
    return -1;
  Value value = operand->get(), root = plan::rootOf(value);
  auto receive = root.getDefiningOp<plan::ReceiveOp>();
  auto type = cast<MemRefType>(root.getType()), own = cast<MemRefType>(value.getType());
  bool isWhole = value == root || (type.hasStaticShape() && own.hasStaticShape() &&
                                   type.getNumElements() == own.getNumElements());
  if (!receive || !fed.contains(receive.getEdge()) || !isWhole ||
      receive->getBlock() != writer->getBlock())
    return -1;
  // Everything else has read it before: launches follow each other in the step's order.
  SmallVector<OpOperand *> uses;
  collectUses(root, uses);
  bool isReadBefore = llvm::all_of(uses, [&](OpOperand *use) {
    Operation *user = use->getOwner();
    return use == operand || isa<plan::FreeOp, memref::DimOp>(user) ||
           (isa<plan::RunOp>(user) && !plan::isWritten(*use) &&
            user->getBlock() == writer->getBlock() && user->isBeforeInBlock(writer));
  });
  return isReadBefore ? int64_t(receive.getEdge()) : -1;
}

void weir::placeDirectFetches(ModuleOp module, ArrayRef<AcceleratorInfo> accelerators) {
  llvm::DenseSet<int64_t> fetched, fed;
  for (const AcceleratorInfo &accelerator : accelerators)
    for (const auto &direct : accelerator.direct)
      (direct.isFetch ? fetched : fed).insert(direct.edge);
  SymbolTable symbols(module);
  Builder b(module.getContext());
  for (auto step : module.getOps<func::FuncOp>())
    if (isOffloaded(step))
      for (auto send : step.getBody().front().getOps<plan::SendOp>())
        if (fetched.count(send.getEdge()) && !send.getValue().empty())
          if (Operation *buffer = ownBuffer(send)) {
            buffer->setAttr(fetchEdgeAttribute, send.getEdgeAttr());
            if (int64_t feed = feedBelow(buffer, fed, symbols); feed >= 0)
              buffer->setAttr(fetchOverAttribute, b.getI64IntegerAttr(feed));
          }
}

void weir::listDirectEdges(ModuleOp module, MutableArrayRef<AcceleratorInfo> accelerators) {
  SmallVector<std::pair<int, int>> edges;
  if (auto list = module->getAttrOfType<ArrayAttr>("weir_plan.edges"))
    for (auto edge : list.getAsRange<DictionaryAttr>())
      edges.push_back({int(edge.getAs<IntegerAttr>("source").getInt()),
                       int(edge.getAs<IntegerAttr>("destination").getInt())});
  auto accelerator = [&](int device) -> AcceleratorInfo * {
    auto it = llvm::find_if(accelerators, [&](auto &each) { return each.device == device; });
    return it == accelerators.end() ? nullptr : &*it;
  };
  auto isSmall = [](Type type) {
    auto memref = cast<MemRefType>(type);
    return plan::isScalarForm(RankedTensorType::get(memref.getShape(), memref.getElementType()));
  };
  for (auto step : module.getOps<func::FuncOp>()) {
    auto name = step->getAttrOfType<StringAttr>("weir.entry");
    if (!name || !step->hasAttr("weir_plan.feeds") || isOffloaded(step))
      continue;
    std::string entry = name.getValue().str();
    Block &body = step.getBody().front();
    for (auto feed : body.getOps<plan::FeedOp>()) {
      // Sizes come from the caller's description.
      auto readers = llvm::make_filter_range(
          feed->getUsers(), [](Operation *user) { return !isa<memref::DimOp>(user); });
      auto send = llvm::hasSingleElement(readers) ? dyn_cast<plan::SendOp>(*readers.begin())
                                                  : plan::SendOp();
      if (!send || send->getBlock() != &body || isSmall(feed.getType()))
        continue;
      auto edge = int32_t(send.getEdge());
      if (AcceleratorInfo *info = accelerator(edges[edge].second))
        info->direct.push_back({entry, int(feed.getIndex()), edge, false});
    }
    for (auto fetch : body.getOps<plan::FetchOp>()) {
      auto copy =
          fetch->hasOneUse() ? dyn_cast<plan::CopyOp>(*fetch->user_begin()) : plan::CopyOp();
      auto receive = copy ? copy.getSource().getDefiningOp<plan::ReceiveOp>() : plan::ReceiveOp();
      if (!receive || copy.getTarget() != fetch.getResult() || receive->getBlock() != &body ||
          !llvm::all_of(receive->getUsers(), [&](Operation *user) {
            return user == copy || isa<plan::FreeOp, memref::DimOp>(user);
          }))
        continue;
      auto edge = int32_t(receive.getEdge());
      if (AcceleratorInfo *info = accelerator(edges[edge].first)) {
        info->direct.push_back({entry, int(fetch.getIndex()), edge, true});
        copy->setAttr(
            "weir.received_fetch",
            IntegerAttr::get(IntegerType::get(module.getContext(), 64), fetch.getIndex()));
      }
    }
  }
}
