//===- LaneWindows.cpp - windows whose results fill vectors ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/LaneWindows.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

/// Fewer bytes than this are no vector.
static constexpr int64_t fewestBytes = 16;

Group weir::groupOf(ConvOp conv) {
  ArrayRef<int64_t> filter = cast<RankedTensorType>(conv.getFilter().getType()).getShape();
  return {filter[filter.size() - 2], filter.back() / int64_t(conv.getGroups())};
}

bool weir::isBytePool(Operation *op) {
  auto pool = dyn_cast<PoolOp>(op);
  if (!pool || pool.getKind() != PoolKind::Max || !pool.getChannelsLast() ||
      !isa<BlockArgument>(pool.getOperand()))
    return false;
  auto type = cast<RankedTensorType>(pool.getOperand().getType());
  Type element = type.getElementType();
  int64_t channels = type.getShape().back();
  return (element.isInteger(8) || element.isUnsignedInteger(8)) &&
         !ShapedType::isDynamic(channels) && channels > 0 && channels % fewestBytes == 0;
}

int64_t weir::lanesFor(Operation *anchor, const VectorUnit &unit) {
  if (isBytePool(anchor)) {
    // Whole vectors: few processors mask bytes.
    int64_t channels = cast<RankedTensorType>(anchor->getResult(0).getType()).getShape().back();
    int64_t lanes = fewestBytes;
    while (2 * lanes <= unit.bytes && channels % (2 * lanes) == 0)
      lanes *= 2;
    return lanes;
  }
  Type element = getElementTypeOrSelf(anchor->getOperand(0).getType());
  if (isa<ReduceOp, ArgReduceOp>(anchor) && isa<IntegerType>(element))
    return unit.bytes * 8 / element.getIntOrFloatBitWidth();
  return unit.bytes / (element.isF64() ? 8 : 4);
}

bool weir::isOfIntegers(Operation *reduction, const VectorUnit &unit) {
  if (!isa<ReduceOp, ArgReduceOp>(reduction))
    return false;
  Value operand = reduction->getOperand(0);
  auto type = cast<RankedTensorType>(operand.getType());
  auto element = dyn_cast<IntegerType>(type.getElementType());
  if (!element || element.getWidth() < 8 || !isa<BlockArgument>(operand) || type.getRank() == 0)
    return false;
  // Few processors mask what is narrower than a word: of those that do not, whole vectors.
  constexpr int64_t masksBytes = 64;
  int64_t columns = type.getShape().back();
  // Of a few columns a vector of positions would be mostly empty.
  if (isa<ArgReduceOp>(reduction) && !ShapedType::isDynamic(columns) &&
      4 * columns < lanesFor(reduction, unit))
    return false;
  return element.getWidth() >= 32 || unit.bytes >= masksBytes ||
         (!ShapedType::isDynamic(columns) && columns % lanesFor(reduction, unit) == 0);
}

bool weir::isLanes(Operation *op, const VectorUnit &unit) {
  // Windows of bytes are summed as floats, which hold those sums.
  bool isOfBytes = isa<ConvOp>(op) && op->hasAttr(tileUnitAttribute);
  auto isPlain = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType();
    return isa<BlockArgument>(value) && type.getRank() > 0 &&
           (isOfBytes ? element.getIntOrFloatBitWidth() == 8 : element.isF32() || element.isF64());
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
    int64_t lanes = lanesFor(op, unit), most = mostRegisters * lanes;
    if (isOfBytes && (group.inputs != 1 || group.outputs != 1))
      return false;
    return group.lanes(lanes) <= most && group.span(lanes) <= most &&
           cast<RankedTensorType>(conv.getInput().getType()).getShape().back() ==
               (int64_t)conv.getGroups() * group.inputs;
  }
  if (isBytePool(op))
    return true;
  if (auto pool = dyn_cast<PoolOp>(op))
    return pool.getChannelsLast() && isBuffer(pool.getOperand()) &&
           (pool.getKind() == PoolKind::Max || pool.getKind() == PoolKind::Average ||
            pool.getKind() == PoolKind::Sum);
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    auto type = cast<RankedTensorType>(reduce.getOperand().getType());
    bool ofIntegers = isOfIntegers(reduce, unit);
    return !reduce.getAxes().empty() &&
           (isPlain(reduce.getOperand()) || ofIntegers || vectorPrologue(reduce)) &&
           !(ofIntegers && reduce.getKind() == ReduceKind::Mean) &&
           !llvm::is_contained(reduce.getAxes(), type.getRank() - 1) &&
           llvm::is_contained({ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min,
                               ReduceKind::Prod},
                              reduce.getKind());
  }
  if (auto arg = dyn_cast<ArgReduceOp>(op)) {
    auto type = cast<RankedTensorType>(arg.getOperand().getType());
    return (isPlain(arg.getOperand()) || isOfIntegers(arg, unit) || vectorPrologue(arg)) &&
           int64_t(arg.getAxis()) != type.getRank() - 1;
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

std::optional<QuadWindows> weir::quadWindowsOf(Operation *anchor, const VectorUnit &unit) {
  // Steps of the sum that are written out for each result, results of an open line that are a
  // part, and of a known one.
  constexpr int64_t mostSteps = 16, openStretch = 32, mostStretch = 256;
  // Sums beside a vector of each line, in registers.
  constexpr int64_t mostPositions = 5;
  // Instructions for a vector of the input and for one of results.
  constexpr int64_t ofInput = 11, ofResult = 25;
  auto conv = dyn_cast<ConvOp>(anchor);
  if (!conv || !unit.hasByteQuads || !conv->hasAttr(tileUnitAttribute) || !isLanes(conv, unit))
    return std::nullopt;
  ArrayRef<int64_t> filter = cast<RankedTensorType>(conv.getFilter().getType()).getShape();
  int64_t channels = filter.back();
  if (filter.size() != 4 || filter[0] < 2 || channels < fewestBytes)
    return std::nullopt;
  QuadWindows made;
  made.quads = llvm::divideCeil(filter[0], 4);
  if (made.quads * filter[1] > mostSteps)
    return std::nullopt;
  for (made.bytes = unit.bytes; made.bytes > channels;)
    made.bytes /= 2;
  WindowLine line = windowLinesOf(conv).back();
  made.positions = mostPositions - 1;
  made.stretch = openStretch;
  if (!line.isKnown())
    return made;
  made.stretch = std::min(line.output, mostStretch);
  auto cost = [&](int64_t positions) {
    int64_t columns = (positions - 1) * line.stride + (line.window - 1) * line.dilation + 1;
    return llvm::divideCeil(made.stretch, positions) *
           (positions * (ofResult + 4 * line.window * made.quads) + columns * made.quads * ofInput);
  };
  made.positions = std::min(line.output, mostPositions);
  for (int64_t positions = made.positions - 1; positions > 0; --positions)
    if (cost(positions) < cost(made.positions))
      made.positions = positions;
  return made;
}
