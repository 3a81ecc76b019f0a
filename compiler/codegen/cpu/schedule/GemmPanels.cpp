//===- GemmPanels.cpp - products by panels of packed columns --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/GemmPanels.h"
#include "compiler/codegen/cpu/schedule/LaneWindows.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Whether panels of the right operand can be copied to the stack: a matrix whose columns lie next
/// to each other, and whose panels are not too deep.
static bool canCopyPanels(Operation *anchor) {
  constexpr int64_t deepestPanel = 16384;
  auto right = cast<RankedTensorType>(anchor->getOperand(1).getType());
  int64_t depth = 1;
  if (auto dot = dyn_cast<DotGeneralOp>(anchor)) {
    if (dot.getRhsContract() != ArrayRef<int64_t>{right.getRank() - 2})
      return false;
    depth = right.getDimSize(right.getRank() - 2);
    if (ShapedType::isDynamic(depth))
      return false;
  } else {
    for (int64_t size : right.getShape().drop_back())
      depth = ShapedType::isDynamic(size) ? deepestPanel + 1 : depth * size;
  }
  return depth <= deepestPanel;
}

bool weir::isPanelGemm(const KernelRequest &request) {
  Operation *anchor = request.anchor;
  return anchor && anchor->hasAttr(tileUnitAttribute) && !multipliesPairs(anchor) &&
         !isLanes(anchor, request.unit) && isVectorEpilogue(request.kernel, anchor) &&
         (request.isHost || canCopyPanels(anchor));
}

void weir::readPlainPanels(ScheduleBuilder &s, const KernelRequest &request) {
  if (!request.isHost)
    s.set(schedule::copiesPanels, true);
}

/// How much of a product of bf16 with so long a sum is multiplied at once, so that columns
/// for it, 32 KiB at most, stay in the first-level cache while rows pass by; 0: all, where
/// there is less, too few rows and columns to pay for packing rows, or rows too long for the stack.
/// An open number of rows is looked at in the kernel.
static int64_t bf16DepthBlock(int64_t rows, int64_t depth, int64_t columns) {
  constexpr int64_t fewestColumns = 512, most = 512, step = 32;
  constexpr int64_t height = 32, mostPacked = 1 << 20; // bytes of a block of rows
  bool areFew = !ShapedType::isDynamic(rows) && rows < fewestRowsOfCutSums;
  if (areFew || height * depth * 2 > mostPacked || depth < most || columns < fewestColumns ||
      depth % step || columns % matrixPanel)
    return 0;
  return llvm::alignTo(llvm::divideCeil(depth, llvm::divideCeil(depth, most)), step);
}

/// Lines of the result whose windows a part brings to its stack, so that tiles are full where a
/// window moves by more than one and lines are short: 0 where blocks out of one line each cost
/// less. A block costs its rows, but as much as three quarters of `height` at least, to read
/// columns for them; to bring one there costs what four panels of columns do (measured with AMX).
static int64_t packedLines(ConvOp conv, int64_t height, int64_t columnsOfPanel) {
  constexpr int64_t cacheShare = 1 << 20, packing = 4;
  auto type = cast<RankedTensorType>(conv.getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto areImagesFixed = [](RankedTensorType type) {
    return !ShapedType::isDynamicShape(type.getShape().drop_front());
  };
  if (type.getRank() != 4 || conv.getGroups() != 1 || !areImagesFixed(type) ||
      !filter.hasStaticShape() ||
      !areImagesFixed(cast<RankedTensorType>(conv.getInput().getType())) ||
      llvm::all_of(conv.getStrides(), [](int64_t stride) { return stride == 1; }))
    return 0;
  int64_t lines = type.getDimSize(1), span = type.getDimSize(2), columns = type.getDimSize(3);
  int64_t depth = filter.getNumElements() / columns;
  int64_t panels = llvm::divideCeil(columns, columnsOfPanel);
  auto rowsOf = [&](int64_t positions) {
    int64_t rows = std::max(std::min(positions, height), height * 3 / 4);
    return llvm::divideCeil(positions, height) * rows;
  };
  int64_t most = cacheShare / (depth * filter.getElementTypeBitWidth() / 8 * span);
  int64_t best = 0, least = lines * rowsOf(span) * panels;
  for (int64_t together = 2; together <= std::min(lines, most); ++together) {
    int64_t cost = lines / together * rowsOf(together * span) * (panels + packing);
    if (lines % together || cost > least)
      continue;
    least = cost;
    best = together;
  }
  return best;
}

SmallVector<int64_t> weir::gemmPanelTiles(ScheduleBuilder &s, Operation *anchor, int64_t height,
                                          int64_t lanes, bool hasTiles) {
  constexpr int64_t width = 32, cacheShare = 1 << 20;
  s.set(schedule::tile, {height, width / lanes, lanes});
  auto type = cast<RankedTensorType>(anchor->getResult(0).getType());
  auto input = cast<RankedTensorType>(anchor->getOperand(0).getType());
  int64_t bytes = input.getElementTypeBitWidth() / 8, depth = input.getShape().back();
  int64_t rank = type.getRank();
  if (auto dot = dyn_cast<DotGeneralOp>(anchor)) {
    int64_t batch = dot.getLhsBatch().size();
    if (rank > batch + 2)
      s.set(schedule::merged, {batch, rank - 1});
    int64_t rows = partShape(s[schedule::merged], type.getShape())[batch];
    int64_t most = std::max<int64_t>(1, cacheShare / (bytes * depth) / height) * height;
    constexpr int64_t mostPacked = 256;
    if (int64_t each = bytes == 2 ? bf16DepthBlock(rows, depth, type.getShape().back()) : 0) {
      s.set(schedule::depthBlock, each);
      most = std::min(most, mostPacked);
    }
    SmallVector<int64_t> tiles(batch, 1);
    if (!ShapedType::isDynamic(rows))
      most = std::min<int64_t>(most, llvm::alignTo(rows, height));
    tiles.append({most, width});
    return tiles;
  }
  if (int64_t together = hasTiles ? packedLines(cast<ConvOp>(anchor), height, width) : 0) {
    s.set(schedule::packsRows, true);
    return {1, together, type.getDimSize(2), width};
  }
  constexpr int64_t mostPositions = 1024, whole = 1 << 20;
  int64_t lines = rank == 3 ? 1 : type.getDimSize(1), span = type.getDimSize(rank - 2);
  int64_t line = input.getDimSize(rank - 2), together;
  if (ShapedType::isDynamic(line)) {
    constexpr int64_t fewLines = 8, usualLine = 128;
    together = std::min(fewLines, cacheShare / (bytes * usualLine * depth));
  } else {
    together = std::min(cacheShare / (bytes * line * depth), mostPositions / line);
  }
  together = std::max<int64_t>(1, together);
  if (!ShapedType::isDynamic(lines)) {
    together = std::min(together, lines);
    while (lines % together)
      --together;
  }
  SmallVector<int64_t> tiles{1, together, ShapedType::isDynamic(span) ? whole : span, width};
  if (rank == 3)
    tiles.erase(tiles.begin() + 1);
  return tiles;
}
