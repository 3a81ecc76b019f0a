//===- LaneTiles.cpp - kernels whose vectors hold results --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/LaneTiles.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

Group weir::groupOf(ConvOp conv) {
  ArrayRef<int64_t> filter = cast<RankedTensorType>(conv.getFilter().getType()).getShape();
  return {filter[filter.size() - 2], filter.back() / int64_t(conv.getGroups())};
}

bool weir::isLanes(Operation *op, const VectorUnit &unit) {
  // Windows of bytes are summed as floats, which hold those sums.
  bool isOfBytes = isa<ConvOp>(op) && op->hasAttr(tileUnitAttribute);
  auto isPlain = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType();
    return isa<BlockArgument>(value) && type.getRank() > 0 &&
           (isOfBytes ? element.getIntOrFloatBitWidth() == 8 : element.isF32());
  };
  auto isBuffer = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return isPlain(value) && !type.isDynamicDim(type.getRank() - 1);
  };
  if (auto conv = dyn_cast<ConvOp>(op)) {
    auto filter = cast<RankedTensorType>(conv.getFilter().getType());
    if (!conv.getChannelsLast() || !isBuffer(conv.getInput()) || !isBuffer(conv.getFilter()) ||
        !filter.hasStaticShape() || (conv.getGroups() == 1 && filter.getShape().back() != 1))
      return false;
    // A vector, and what it reads, are a few registers at most.
    constexpr int64_t mostRegisters = 4;
    Group group = groupOf(conv);
    int64_t lanes = unit.bytes / 4, most = mostRegisters * lanes;
    if (isOfBytes && (group.inputs != 1 || group.outputs != 1))
      return false;
    return group.lanes(lanes) <= most && group.span(lanes) <= most &&
           cast<RankedTensorType>(conv.getInput().getType()).getShape().back() ==
               (int64_t)conv.getGroups() * group.inputs;
  }
  if (auto pool = dyn_cast<PoolOp>(op))
    return pool.getChannelsLast() && isBuffer(pool.getOperand()) &&
           (pool.getKind() == "max" || pool.getKind() == "average" || pool.getKind() == "sum");
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    auto type = cast<RankedTensorType>(reduce.getOperand().getType());
    return isPlain(reduce.getOperand()) &&
           !llvm::is_contained(reduce.getAxes(), type.getRank() - 1) &&
           llvm::is_contained({"sum", "mean", "max", "min", "prod"}, reduce.getKind());
  }
  if (auto arg = dyn_cast<ArgReduceOp>(op)) {
    auto type = cast<RankedTensorType>(arg.getOperand().getType());
    return isPlain(arg.getOperand()) && int64_t(arg.getAxis()) != type.getRank() - 1;
  }
  return false;
}

bool WindowLine::isWhole(int64_t first, int64_t positions) const {
  return first >= 0 && first + positions <= output && isInside(first, 0) &&
         isInside(first + positions - 1, window - 1);
}

WindowLine::Ends WindowLine::endsFor(int64_t positions) const {
  int64_t blocks = llvm::divideCeil(output, positions);
  Ends ends;
  ends.first = !isWhole(0, positions);
  ends.last = blocks > 1 && !isWhole((blocks - 1) * positions, positions);
  ends.areAll = true;
  for (int64_t block = 1; block + 1 < blocks; ++block)
    ends.areAll &= isWhole(block * positions, positions);
  return ends;
}

SmallVector<WindowLine> weir::windowLinesOf(Operation *anchor) {
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  auto input = shapeOf(anchor->getOperand(0)), output = shapeOf(anchor->getResult(0));
  SmallVector<WindowLine> lines;
  auto fill = [&](auto op, ArrayRef<int64_t> windows) {
    for (auto [i, window] : llvm::enumerate(windows))
      lines.push_back({window, op.getStrides()[i], op.getDilations()[i], op.getPads()[2 * i],
                       op.getPads()[2 * i + 1], input[1 + i], output[1 + i]});
  };
  if (auto conv = dyn_cast<ConvOp>(anchor))
    fill(conv, shapeOf(conv.getFilter()).drop_back(2));
  else
    fill(cast<PoolOp>(anchor), cast<PoolOp>(anchor).getWindow());
  return lines;
}

/// How many results next to each other in a line are computed together: they share what
/// their windows overlap in, and the filter; 1: each by itself.
static int64_t positionsOf(Operation *anchor, const VectorUnit &unit) {
  // The window's elements are written out for each of them.
  constexpr int64_t mostSteps = 64;
  WindowLine line = windowLinesOf(anchor).back();
  int64_t most = unit.registers == 32 ? 6 : 4, steps = std::max<int64_t>(line.window, 1);
  if (auto conv = dyn_cast<ConvOp>(anchor)) {
    Group group = groupOf(conv);
    most /= group.lanes(unit.bytes / 4) / (unit.bytes / 4);
    steps *= group.inputs;
  }
  most = std::min(most, mostSteps / steps);
  // Of an open line kernels find out which blocks are whole.
  if (!line.isKnown())
    return std::max<int64_t>(most, 1);
  if (most < 2 || line.output < 2)
    return 1;
  int64_t positions = llvm::divideCeil(line.output, llvm::divideCeil(line.output, most));
  return line.endsFor(positions).areAll ? positions : 1;
}

SmallVector<int64_t> weir::laneTiles(ScheduleBuilder &s, Operation *anchor,
                                     const VectorUnit &unit) {
  auto type = cast<RankedTensorType>(anchor->getResult(0).getType());
  int64_t lanes = unit.bytes / 4, columns = type.getShape().back();
  SmallVector<int64_t> tiles(type.getRank(), 1);
  if (!ShapedType::isDynamic(columns))
    tiles.back() = std::max<int64_t>(columns, 1);
  if (isa<ArgReduceOp>(anchor)) {
    // Extremes and where they lie: half as many as sums.
    if (ShapedType::isDynamic(columns))
      tiles.back() = openColumns;
    for (int64_t most = unit.registers / 8; most > 1 && 2 * lanes <= columns; most /= 2)
      lanes *= 2;
    if (!ShapedType::isDynamic(columns))
      tiles.back() = lanes;
  } else if (auto reduce = dyn_cast<ReduceOp>(anchor)) {
    // Of a tensor that caches do not hold, whole pages in their order. Else several
    // vectors at once: sums do not wait for each other. Of open columns a part finds out.
    constexpr int64_t muchOfTheCache = streamedElements, streamed = openColumns;
    auto operand = cast<RankedTensorType>(reduce.getOperand().getType());
    if (ShapedType::isDynamic(columns)) {
      tiles.back() = streamed;
    } else if (operand.hasStaticShape() && operand.getNumElements() > muchOfTheCache &&
               columns >= streamed && columns % lanes == 0) {
      s.set(schedule::streams, true);
      tiles.back() = streamed;
    } else {
      for (int64_t most = unit.registers / 2; most > 1 && 2 * lanes <= columns; most /= 2)
        lanes *= 2;
      tiles.back() = lanes;
    }
  } else if (auto conv = dyn_cast<ConvOp>(anchor)) {
    lanes = groupOf(conv).lanes(lanes);
  }
  if (int64_t positions = isa<ReduceOp, ArgReduceOp>(anchor) ? 1 : positionsOf(anchor, unit);
      positions > 1) {
    s.set(schedule::positions, positions);
    tiles[type.getRank() - 2] = positions;
  }
  s.set(schedule::tile, {1, 1, lanes});
  return tiles;
}
