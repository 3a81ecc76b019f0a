//===- StepParts.cpp - parts of a batch that a step computes --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/StepParts.h"

#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Training.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weir;

static constexpr int64_t invalidArgument = 3; // WEIR_INVALID_ARGUMENT

Location weir::prefixed(Location loc, StringRef prefix) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return NameLoc::get(
        StringAttr::get(loc.getContext(), prefix.str() + name.getName().getValue()));
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    SmallVector<Location> parts;
    for (Location part : fused.getLocations())
      parts.push_back(prefixed(part, prefix));
    return FusedLoc::get(loc.getContext(), parts, fused.getMetadata());
  }
  return loc;
}

std::string weir::feedName(BlockArgument feed) {
  auto step = cast<func::FuncOp>(feed.getOwner()->getParentOp());
  auto name = step.getArgAttrOfType<StringAttr>(feed.getArgNumber(), "weir.name");
  return name ? name.str() : "feed" + std::to_string(feed.getArgNumber());
}

FailureOr<SmallVector<BlockArgument>> weir::dividedFeeds(func::FuncOp step) {
  llvm::StringSet<> named;
  auto list = step->getAttrOfType<ArrayAttr>(shardedAttr);
  for (Attribute name : list ? list.getValue() : ArrayRef<Attribute>())
    named.insert(cast<StringAttr>(name).getValue());
  SmallVector<BlockArgument> feeds;
  std::string possible;
  llvm::StringSet<> known;
  for (BlockArgument feed : step.getArguments()) {
    auto name = step.getArgAttrOfType<StringAttr>(feed.getArgNumber(), "weir.name");
    auto type = dyn_cast<RankedTensorType>(feed.getType());
    if (!type || type.getRank() == 0)
      continue;
    if (named.empty() || (name && named.contains(name.getValue())))
      feeds.push_back(feed);
    if (!name)
      continue;
    known.insert(name.getValue());
    possible += (possible.empty() ? "\"" : ", \"") + name.str() + "\"";
  }
  for (const auto &one : named)
    if (!known.contains(one.getKey())) {
      emitError(UnknownLoc::get(step.getContext()))
          << "W0417: found no feed \"" << one.getKey()
          << "\" of train_step to divide among replicas; possible: " << possible;
      return failure();
    }
  return feeds;
}

void weir::multiplyRows(func::FuncOp step, ArrayRef<BlockArgument> feeds, int64_t count) {
  for (BlockArgument feed : feeds) {
    auto type = cast<RankedTensorType>(feed.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (!type.isDynamicDim(0))
      shape[0] *= count;
    feed.setType(type.clone(shape));
  }
  step.setType(
      FunctionType::get(step.getContext(), step.front().getArgumentTypes(), step.getResultTypes()));
}

Value weir::rowsOf(OpBuilder &b, Location loc, BlockArgument feed, const RowPart &part,
                   llvm::function_ref<void(Operation *)> made) {
  auto note = [&](Value value) {
    made(value.getDefiningOp());
    return value;
  };
  auto type = cast<RankedTensorType>(feed.getType());
  SmallVector<int64_t> shape(type.getShape());
  Value begin, end;
  if (!type.isDynamicDim(0)) {
    shape[0] = type.getDimSize(0) / part.count;
    begin = integers(b, loc, {part.at * shape[0]});
    end = integers(b, loc, {(part.at + 1) * shape[0]});
  } else {
    auto vector = RankedTensorType::get({1}, b.getI64Type());
    Value sizes =
        note(ShapeOfOp::create(b, loc, RankedTensorType::get({type.getRank()}, b.getI64Type()),
                               feed, TypeAttr::get(b.getI64Type())));
    Value rows = note(SliceOp::create(b, loc, vector, sizes, integers(b, loc, {0}),
                                      integers(b, loc, {1}), integers(b, loc, {1}),
                                      b.getDenseI64ArrayAttr({0}), b.getBoolAttr(false)));
    Value each = note(DivOp::create(b, loc, vector, rows, integers(b, loc, {part.count})));
    Value whole = note(MulOp::create(b, loc, vector, each, integers(b, loc, {part.count})));
    auto flag = RankedTensorType::get({1}, b.getI1Type());
    Value fits = note(CompareOp::create(b, loc, flag, whole, rows, b.getStringAttr("eq")));
    made(AssertOp::create(
        b, loc, TokenType::get(b.getContext()), fits,
        b.getStringAttr("a batch that cannot be divided by the number of " + part.what),
        b.getI64IntegerAttr(invalidArgument), ValueRange()));
    begin = note(MulOp::create(b, loc, vector, each, integers(b, loc, {part.at})));
    end = note(AddOp::create(b, loc, vector, begin, each));
  }
  return note(SliceOp::create(b, loc, type.clone(shape), feed, begin, end, integers(b, loc, {1}),
                              b.getDenseI64ArrayAttr({0}), b.getBoolAttr(false)));
}
