//===- FeedUpdates.cpp - fetches that feeds become ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/FeedUpdates.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/DeviceTraits.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// The launch that writes `fetch`, all of it, before anything reads it; null: there is none.
static RunOp writerOf(FetchOp fetch) {
  Value target = fetch.getResult();
  RunOp writer;
  for (Operation *user : target.getUsers()) {
    auto run = dyn_cast<RunOp>(user);
    if (!run || !llvm::is_contained(run.getOutputs(), target))
      continue;
    if (writer || run->getBlock() != fetch->getBlock() || run.getOutputs().size() != 1)
      return {};
    writer = run;
  }
  auto isLater = [&](Operation *user) {
    Operation *here = writer->getBlock()->findAncestorOpInBlock(*user);
    return here == writer || (here && writer->isBeforeInBlock(here));
  };
  return writer && llvm::all_of(target.getUsers(), isLater) ? writer : RunOp();
}

void plan::updateFeeds(func::FuncOp function, SymbolTable &symbols, InPlaceRuns &inPlace) {
  auto fetches = function->getAttrOfType<ArrayAttr>("weir_plan.fetches");
  if (!fetches || isOffloaded(function))
    return;
  SmallVector<int64_t> overFeeds(fetches.size(), 0);
  for (auto fetch : function.getBody().front().getOps<FetchOp>()) {
    RunOp writer = writerOf(fetch);
    KernelOp kernel = writer ? symbols.lookup<KernelOp>(writer.getKernel()) : KernelOp();
    BlockArgument over = kernel ? scatteredOver(kernel) : BlockArgument();
    if (!over || inPlace.count(writer) || !mayWriteOver(writer, kernel, over.getArgNumber()))
      continue;
    OpOperand &input = writer.getInputsMutable()[over.getArgNumber()];
    auto feed = input.get().getDefiningOp<FeedOp>();
    auto type = cast<MemRefType>(fetch.getType());
    // What else reads the feed might do so when it is written over. Strings are never the caller's.
    if (!feed || isa<StringType>(type.getElementType()) || feed.getType() != type ||
        !type.hasStaticShape() || !feed->hasOneUse())
      continue;
    OpBuilder b(writer);
    auto copy = CopyOp::create(b, writer.getLoc(), feed.getResult(), fetch.getResult());
    copy->setAttr(unlessSameAttribute, b.getUnitAttr());
    input.set(fetch.getResult());
    addInPlace(inPlace, writer, 0, over.getArgNumber());
    overFeeds[fetch.getIndex()] = feed.getIndex() + 1;
  }
  if (llvm::any_of(overFeeds, [](int64_t feed) { return feed != 0; }))
    function->setAttr(overFeedAttribute, DenseI64ArrayAttr::get(function.getContext(), overFeeds));
}
