//===- SubviewPlaces.cpp - where parts lie in a whole ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/SubviewPlaces.h"
#include "dialects/plan/Buffers.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "passes/analysis/UsualShapes.h"
#include "passes/plan/PlaceValues.h"
#include "passes/plan/SubviewForwarding.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// The sizes of a whole, open ones as the part's own.
static Extents extentsOf(MemRefType whole) {
  Extents extents;
  for (int64_t size : whole.getShape())
    extents.push_back(ShapedType::isDynamic(size) ? openExtent(0) : size);
  return extents;
}

std::optional<Place> plan::placeOf(MemRefType whole, MemRefType part, int64_t axis, int64_t start) {
  int64_t behind = 1, rank = whole.getRank();
  for (int64_t i = 0; i < rank; ++i)
    if (whole.isDynamicDim(i) != part.isDynamicDim(i))
      return std::nullopt;
  // Where a part begins follows from what is behind.
  for (int64_t i = axis; i < rank; ++i) {
    if (whole.isDynamicDim(i))
      return std::nullopt;
    behind *= i == axis ? 1 : whole.getDimSize(i);
  }
  bool isFirst = llvm::all_of(whole.getShape().take_front(axis), [](int64_t n) { return n == 1; });
  Place place{start * behind, {}};
  if (isFirst)
    return place.offset * elementSize(whole.getElementType()) % arenaAlignment == 0
               ? std::optional(place)
               : std::nullopt;
  if (axis + 1 != rank || part.getShape().back() < shortestRow)
    return std::nullopt;
  place.extents = extentsOf(whole);
  return place;
}

std::optional<Place> plan::placeInside(MemRefType whole, MemRefType part, ArrayRef<int64_t> pads,
                                       int64_t axis, int64_t skipped) {
  int64_t rank = whole.getRank();
  Place place;
  place.extents = extentsOf(whole);
  SmallVector<int64_t> first(pads.take_front(rank));
  first[axis] += skipped;
  bool isKnown = true;
  for (int64_t i = 0; i < rank; ++i) {
    if (whole.isDynamicDim(i) != part.isDynamicDim(i))
      return std::nullopt;
    bool isOpen = whole.isDynamicDim(i);
    if (isOpen)
      place.extents[i] = openExtent(pads[i] + pads[rank + i]);
    isKnown &= !isOpen || place.offset == 0;
    place.offset = place.offset * (isOpen ? 1 : whole.getDimSize(i)) + first[i];
  }
  if (part.isDynamicDim(rank - 1))
    return std::nullopt;
  if (!isKnown) { // The kernels find out.
    place.offset = 0;
    place.extents.append(first.begin(), first.end());
  }
  return place;
}

bool plan::isOpenBuffer(Value value) {
  auto alloc = value.getDefiningOp<AllocOp>();
  return alloc && !alloc.getSizes().empty() && !alloc->hasAttr(slotAttribute) &&
         !isa<LLVM::LLVMPointerType>(cast<MemRefType>(alloc.getType()).getElementType()) &&
         llvm::none_of(alloc->getUsers(), llvm::IsaPred<FreeOp, memref::DimOp>);
}

/// Whether `value` is there before `op`, or is arithmetic on what is; `budget` limits the search.
static bool isKnownAt(Value value, Operation *op, int &budget) {
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op))
    return true;
  return --budget >= 0 && isa<arith::ArithDialect>(def->getDialect()) && isMemoryEffectFree(def) &&
         llvm::all_of(def->getOperands(),
                      [&](Value operand) { return isKnownAt(operand, op, budget); });
}

bool plan::areSizesKnownAt(Value buffer, Operation *op) {
  int budget = 64;
  return llvm::all_of(buffer.getDefiningOp()->getOperands(),
                      [&](Value size) { return isKnownAt(size, op, budget); });
}

void plan::bringInFront(Value buffer, Operation *op) {
  Operation *def = buffer.getDefiningOp();
  if (!def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op))
    return;
  for (Value operand : def->getOperands())
    bringInFront(operand, op);
  def->moveBefore(op);
}

static std::map<FeedDim, int64_t> usualSizes(func::FuncOp function) {
  std::map<FeedDim, int64_t> sizes;
  function.walk([&](FeedOp feed) {
    auto type = dyn_cast<MemRefType>(feed.getType());
    for (int64_t i = 0; type && i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        sizes[{int64_t(feed.getIndex()), i}] =
            usualSize(i, feedBounds(function, {int64_t(feed.getIndex()), i}).second);
  });
  return sizes;
}

UsualBytes::UsualBytes(func::FuncOp function)
    : sizes(usualSizes(function)), values(function, sizes) {}

std::optional<int64_t> UsualBytes::of(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.hasStaticShape())
    return arenaBytes(type);
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i))
      continue;
    std::optional<int64_t> size =
        values.of(buffer.getDefiningOp()->getOperand(type.getDynamicDimIndex(i)));
    if (!size || *size < 0 || *size > INT32_MAX)
      return std::nullopt;
    shape[i] = *size;
  }
  return arenaBytes(MemRefType::get(shape, type.getElementType()));
}
