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

namespace {

/// What makes a feed longer for `writer`, which writes over it: a launch that joins the feed and
/// what is missing. Where nothing is, as where a cache has the size that it is filled up to, the
/// result is the feed.
struct Growth {
  RunOp run;
  AllocOp buffer; ///< what the launch writes, and `writer` alone reads
  FeedOp feed;
  int64_t axis = 0;
};

} // namespace

static std::optional<Growth> growthOf(Value operand, RunOp writer, FetchOp fetch,
                                      SymbolTable &symbols) {
  Growth found;
  found.buffer = operand.getDefiningOp<AllocOp>();
  if (!found.buffer || found.buffer.getType() != fetch.getType() ||
      found.buffer.getSizes() != fetch.getSizes() || !operand.hasNUses(2))
    return std::nullopt;
  for (Operation *user : operand.getUsers())
    if (user != writer)
      found.run = dyn_cast<RunOp>(user);
  if (!found.run || found.run->getBlock() != writer->getBlock() ||
      found.run.getOutputs().size() != 1 || found.run.getOutputs()[0] != operand)
    return std::nullopt;
  Block &body = symbols.lookup<KernelOp>(found.run.getKernel()).getBody().front();
  auto join = body.getTerminator()->getOperand(0).getDefiningOp<ConcatOp>();
  auto first = join ? dyn_cast<BlockArgument>(join.getOperands().front()) : BlockArgument();
  if (!first || !first.hasOneUse())
    return std::nullopt;
  found.axis = join.getAxis();
  found.feed = found.run.getInputs()[first.getArgNumber()].getDefiningOp<FeedOp>();
  // Others that read the feed might do so when it is written over.
  auto readsSizes = [&](Operation *user) { return user == found.run || isa<memref::DimOp>(user); };
  if (!found.feed || !llvm::all_of(found.feed->getUsers(), readsSizes))
    return std::nullopt;
  return found;
}

/// The fetch has the feed's bytes from then on.
static void copyIntoFetch(OpBuilder &b, Location loc, FeedOp feed, FetchOp fetch) {
  auto copy = CopyOp::create(b, loc, feed.getResult(), fetch.getResult());
  copy->setAttr(unlessSameAttribute, b.getUnitAttr());
}

/// Lets `growth` make its result in the fetch's memory, or not at all where that is the feed's.
static void growInPlace(Growth &growth, FetchOp fetch) {
  fetch->moveBefore(growth.buffer);
  growth.buffer.replaceAllUsesWith(fetch.getResult());
  growth.buffer.erase();
  OpBuilder b(growth.run);
  Location loc = growth.run.getLoc();
  copyIntoFetch(b, loc, growth.feed, fetch);
  Value before = memref::DimOp::create(b, loc, growth.feed.getResult(), growth.axis);
  Value after = memref::DimOp::create(b, loc, fetch.getResult(), growth.axis);
  Value isCopy = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, before, after);
  Value none = arith::ConstantIndexOp::create(b, loc, 0);
  growth.run.getRangeMutable().assign(
      arith::SelectOp::create(b, loc, isCopy, none, growth.run.getRange()).getResult());
}

void plan::updateFeeds(func::FuncOp function, SymbolTable &symbols, InPlaceRuns &inPlace) {
  auto fetches = function->getAttrOfType<ArrayAttr>("weir_plan.fetches");
  if (!fetches || isOffloaded(function))
    return;
  SmallVector<int64_t> overFeeds(fetches.size(), 0);
  for (auto fetch : llvm::to_vector(function.getBody().front().getOps<FetchOp>())) {
    RunOp writer = writerOf(fetch);
    KernelOp kernel = writer ? symbols.lookup<KernelOp>(writer.getKernel()) : KernelOp();
    BlockArgument over = kernel ? scatteredOver(kernel) : BlockArgument();
    // Strings are never the caller's.
    if (!over || isa<StringType>(getElementTypeOrSelf(fetch.getType())) || inPlace.count(writer) ||
        !mayWriteOver(writer, kernel, over.getArgNumber()))
      continue;
    OpOperand &input = writer.getInputsMutable()[over.getArgNumber()];
    FeedOp feed;
    if (auto growth = growthOf(input.get(), writer, fetch, symbols)) {
      growInPlace(*growth, fetch);
      feed = growth->feed;
    } else {
      feed = input.get().getDefiningOp<FeedOp>();
      auto type = cast<MemRefType>(fetch.getType());
      // What else reads the feed might do so when it is written over.
      if (!feed || feed.getType() != type || !type.hasStaticShape() || !feed->hasOneUse())
        continue;
      OpBuilder b(writer);
      copyIntoFetch(b, writer.getLoc(), feed, fetch);
      input.set(fetch.getResult());
    }
    addInPlace(inPlace, writer, 0, over.getArgNumber());
    overFeeds[fetch.getIndex()] = feed.getIndex() + 1;
  }
  if (llvm::any_of(overFeeds, [](int64_t feed) { return feed != 0; }))
    function->setAttr(overFeedAttribute, DenseI64ArrayAttr::get(function.getContext(), overFeeds));
}
