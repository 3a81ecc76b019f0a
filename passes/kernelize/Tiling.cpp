//===- Tiling.cpp - strategies and tiles of kernels --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernelize/Tiling.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/RecursiveReader.h"
#include "passes/analysis/Clusters.h"
#include "passes/kernelize/Attention.h"
#include "passes/kernelize/LaneTiles.h"
#include "passes/kernelize/RowReduction.h"
#include "passes/kernelize/TileChoice.h"
#include "passes/kernelize/WeightOnly.h"
#include "passes/plan/LaunchWork.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

VectorUnit weir::vectorUnitOf(ModuleOp module) {
  VectorUnit unit;
  if (auto bytes = module->getAttrOfType<IntegerAttr>("weir.vector_bytes"))
    unit.bytes = bytes.getInt();
  unit.registers = unit.bytes >= 64 ? 32 : 16;
  if (auto registers = module->getAttrOfType<IntegerAttr>("weir.vector_registers"))
    unit.registers = registers.getInt();
  auto integers = module->getAttrOfType<StringAttr>(integerUnitAttribute);
  unit.hasByteTiles = integers && integers.getValue() == "amx";
  unit.hasBytePairs = integers && integers.getValue() == "avx2";
  return unit;
}

/// Whether every operation of the kernel but `anchor` can be computed on vectors
/// of anchor's results: elementwise, f32 or words, operands that run along the last
/// dimension or do not depend on it; casts between these, bf16 and bytes.
static bool isVectorEpilogue(KernelOp kernel, Operation *anchor) {
  auto resultType = cast<RankedTensorType>(anchor->getResult(0).getType());
  Type sums = resultType.getElementType();
  auto isFloatOrWord = [&](Type type) {
    return type.isF32() || type.isInteger(32) || type == sums;
  };
  if (!isTileElement(sums) || kernel.getBody().front().getTerminator()->getNumOperands() != 1)
    return false;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (&op == anchor || isa<DequantizeBlocksOp>(op))
      continue;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (llvm::all_of(op.getUsers(),
                       [](Operation *user) { return isa<DequantizeBlocksOp>(user); }))
        continue;
      auto elements = dyn_cast<ElementsAttr>(constant.getValue());
      if (elements && elements.isSplat() && isFloatOrWord(elements.getElementType()))
        continue;
      return false;
    }
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    if (!isTileElementwise(&op) || (!isa<CastOp>(op) && type.getShape() != resultType.getShape()))
      return false;
    for (Value operand : op.getOperands()) {
      auto operandType = cast<RankedTensorType>(operand.getType());
      if (operand.getDefiningOp() || operandType.getRank() == 0)
        continue;
      // What is open on both sides vectors look at when they read it.
      int64_t last = operandType.getShape().back();
      if (last != 1 && last != resultType.getShape().back())
        return false;
    }
  }
  return true;
}

static bool isRange(ArrayRef<int64_t> values, int64_t first) {
  for (auto [i, value] : llvm::enumerate(values))
    if (value != first + (int64_t)i)
      return false;
  return true;
}

/// Whether the product is [batch…, M…, K] by [batch…, K, N].
static bool isInPlainOrder(DotGeneralOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
  int64_t batch = dot.getLhsBatch().size();
  return dot.getLhsContract().size() == 1 && lhs.getRank() >= batch + 2 &&
         rhs.getRank() == batch + 2 && isRange(dot.getLhsBatch(), 0) &&
         isRange(dot.getRhsBatch(), 0) && isRange(dot.getLhsContract(), lhs.getRank() - 1) &&
         isRange(dot.getRhsContract(), batch);
}

bool weir::isPlainForm(DotGeneralOp dot) {
  return isInPlainOrder(dot) && getElementTypeOrSelf(dot.getLhs().getType()).isF32() &&
         getElementTypeOrSelf(dot.getRhs().getType()).isF32() && dot.getAccumulator().isF32();
}

/// The same of any elements that tiles have, both operands read from buffers.
static bool isPlainGemm(DotGeneralOp dot) {
  return isInPlainOrder(dot) && isTileProduct(dot) && isa<BlockArgument>(dot.getLhs()) &&
         isa<BlockArgument>(dot.getRhs());
}

/// Channels last, two or three spatial dimensions, no padding; groups only as
/// wide as whole vectors, so that no tile belongs to two.
static bool isPlainConvolution(ConvOp conv, const VectorUnit &unit) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t groups = conv.getGroups(), each = filter.getShape().back() / std::max<int64_t>(groups, 1);
  return conv.getChannelsLast() && (input.getRank() == 4 || input.getRank() == 5) &&
         (groups == 1 || each % unit.lanes() == 0) && isTileElement(input.getElementType()) &&
         input.getElementType() == filter.getElementType() &&
         input.getElementType() == getElementTypeOrSelf(conv.getType()) &&
         (groups == 1 || filter.hasStaticShape()) && isa<BlockArgument>(conv.getInput()) &&
         isa<BlockArgument>(conv.getFilter()) &&
         llvm::all_of(conv.getPads(), [](int64_t pad) { return pad == 0; });
}

/// A window of one element that visits every position: the convolution is a
/// product of [H * W, C] by [C, O], and its tiles may run across lines where
/// what follows it reads operands of the same shape, or the same for all
/// positions of a plane.
static bool isPointwise(KernelOp kernel, ConvOp conv) {
  auto type = cast<RankedTensorType>(conv.getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t rank = type.getRank(), line = rank - 3;
  auto isOne = [](int64_t value) { return value == 1; };
  if (!llvm::all_of(filter.getShape().drop_back(2), isOne) ||
      !llvm::all_of(conv.getStrides(), isOne) || type.isDynamicDim(line) ||
      type.isDynamicDim(line + 1))
    return false;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto other = cast<RankedTensorType>(argument.getType());
    if (argument == conv.getInput() || argument == conv.getFilter() ||
        other.getShape() == type.getShape())
      continue;
    for (int64_t i = 0, own = other.getRank(); i + 1 < own; ++i)
      if (i + rank - own >= line && other.getDimSize(i) != 1)
        return false;
  }
  return true;
}

/// Rows of the left operand this many bytes apart, or a multiple, share a set of
/// first-level caches of 64 sets, which have 8 or 12 ways: more rows than ways
/// leave none of them there until its line is read to the end.
static constexpr int64_t sameSetPitch = 4096, waysOfSet = 8;

/// Steps of a tile in additions: processors load as many operands at a time as they
/// add, so many additions are under way at once, and a step costs something besides.
static int64_t stepCost(int64_t rows, int64_t vectors) {
  constexpr int64_t underWay = 8, overhead = 1;
  return rows && vectors ? std::max({rows * vectors, rows + vectors, underWay}) + overhead : 0;
}

int64_t weir::registerTileCost(const VectorUnit &unit, int64_t tileRows, int64_t tileVectors,
                               int64_t rows, int64_t columns) {
  bool isOpen = ShapedType::isDynamic(columns), knowsRows = !ShapedType::isDynamic(rows);
  // Of what is open, as much as leaves no rest.
  int64_t height = knowsRows ? rows : 280 * tileRows;
  int64_t wide = isOpen ? 24 : std::max<int64_t>(1, llvm::divideCeil(columns, unit.lanes()));
  int64_t restRows = height % tileRows, restVectors = wide % tileVectors;
  int64_t tiles = height / tileRows, panels = wide / tileVectors;
  int64_t cost =
      tiles * (panels * stepCost(tileRows, tileVectors) + stepCost(tileRows, restVectors)) +
      panels * stepCost(restRows, tileVectors) + stepCost(restRows, restVectors);
  return knowsRows ? cost : cost / tileRows;
}

bool weir::isSkinny(const VectorUnit &unit, int64_t rows) {
  return !ShapedType::isDynamic(rows) && rows < unit.registers / 3;
}

/// Rows and vectors that fill the registers: some are kept for operands. Of the tiles
/// that suit the pitch, the one with which fewest steps go into rests of rows and
/// columns.
SmallVector<int64_t> weir::registerTile(const VectorUnit &unit, int64_t rows, int64_t columns,
                                        int64_t pitch, const TileChoice &choice) {
  struct Candidate {
    int64_t rows, vectors;
  };
  static constexpr Candidate of32[] = {{14, 2}, {13, 2}, {12, 2}, {11, 2}, {10, 2}, {8, 3},
                                       {7, 3},  {6, 4},  {5, 4},  {8, 2},  {28, 1}, {8, 1}};
  static constexpr Candidate of16[] = {{6, 2}, {5, 2}, {4, 3}, {4, 2}, {12, 1}, {8, 1}, {4, 1}};
  ArrayRef<Candidate> candidates =
      unit.registers == 32 ? ArrayRef<Candidate>(of32) : ArrayRef<Candidate>(of16);
  int64_t lanes = unit.lanes();
  bool isOpen = ShapedType::isDynamic(columns), knowsRows = !ShapedType::isDynamic(rows);
  int64_t most = isOpen ? 2 : std::max<int64_t>(1, llvm::divideCeil(columns, lanes));
  if (choice.rows)
    return {knowsRows ? std::clamp<int64_t>(rows, 1, choice.rows) : choice.rows,
            std::min(most, choice.vectors), lanes};
  // Few rows are one tile: sums, a row of vectors and an element are in registers.
  if (isSkinny(unit, rows)) {
    int64_t few = std::max<int64_t>(rows, 1);
    int64_t vectors = std::min<int64_t>((unit.registers - 1) / (few + 1), 8);
    return {few, std::min(most, vectors), lanes};
  }
  const Candidate *best = nullptr;
  int64_t bestCost = 0;
  for (const Candidate &candidate : candidates) {
    if (candidate.vectors > most || (knowsRows && candidate.rows > rows) ||
        (pitch > 0 && pitch % sameSetPitch == 0 && candidate.rows > waysOfSet))
      continue;
    int64_t cost = registerTileCost(unit, candidate.rows, candidate.vectors, rows, columns);
    if (!best || cost < bestCost) {
      best = &candidate;
      bestCost = cost;
    }
  }
  return {best->rows, best->vectors, lanes};
}

/// Sets the register tile of a convolution and returns how its range is cut:
/// images (and planes), lines, whole lines, channels. Each part holds many positions, so
/// that a panel of the filter is read once for them.
static SmallVector<int64_t> convolutionTiles(ScheduleBuilder &s, KernelOp kernel, ConvOp conv,
                                             const VectorUnit &unit, const TileChoice &choice) {
  int64_t positions = choice.part ? choice.part : partPositions;
  auto type = cast<RankedTensorType>(conv.getType());
  int64_t line = type.getRank() - 3;
  int64_t height = type.getDimSize(line), width = type.getDimSize(line + 1);
  int64_t columns = type.getShape().back();
  auto cut = [&](int64_t lines, SmallVector<int64_t> tile) -> SmallVector<int64_t> {
    // A panel lies within a group.
    while (columns / (int64_t)conv.getGroups() % (tile[1] * tile[2]) && conv.getGroups() > 1)
      --tile[1];
    s.set(schedule::tile, tile);
    if (!ShapedType::isDynamic(height))
      lines = std::min(lines, height);
    int64_t whole = ShapedType::isDynamic(width) ? 1 << 20 : std::max<int64_t>(width, 1);
    SmallVector<int64_t> tiles(line, 1);
    tiles.append({std::max<int64_t>(lines, 1), whole, tile[1] * tile[2]});
    return tiles;
  };
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  int64_t channels = input.getShape().back();
  int64_t pitch =
      ShapedType::isDynamic(channels) ? 0 : channels * conv.getStrides().back() * unit.elementBytes;
  if (ShapedType::isDynamic(width))
    return cut(4, registerTile(unit, width, columns, pitch, choice));
  int64_t lines = std::max<int64_t>(1, positions / std::max<int64_t>(width, 1));
  if (isPointwise(kernel, conv)) {
    s.set(schedule::pointwise, true);
    return cut(lines, registerTile(unit, std::min(lines, height) * width, columns, pitch, choice));
  }
  auto tile = registerTile(unit, ShapedType::kDynamic, columns, pitch, choice);
  if (width == 0 || width >= tile[0])
    return cut(lines, registerTile(unit, width, columns, pitch, choice));
  // Short lines: a tile holds several whole ones.
  int64_t together = tile[0] / width;
  if (!ShapedType::isDynamic(height))
    together = std::max<int64_t>(1, std::min(together, height));
  tile[0] = together * width;
  if (together > 1)
    s.set(schedule::lines, together);
  return cut(llvm::alignTo(lines, together), tile);
}

/// How the range of a running reduction is cut: never along its axis.
static SmallVector<int64_t> scanTiles(ScheduleBuilder &s, KernelOp kernel, CumulativeOp op) {
  constexpr int64_t whole = int64_t(1) << 40, columns = 512;
  auto type = cast<RankedTensorType>(op.getType());
  int64_t rank = type.getRank(), axis = op.getAxis();
  SmallVector<int64_t> tiles(rank, 1);
  tiles[axis] = whole;
  // Neighbouring lines side by side: see Running.cpp.
  auto floatType = dyn_cast<FloatType>(type.getElementType());
  bool isWide = !floatType || floatType.getWidth() >= 32;
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  if (axis + 1 < rank && isWide && result == op.getResult() &&
      !isa<ComplexType>(type.getElementType())) {
    s.set(schedule::columns, true);
    tiles.back() = columns;
  }
  return tiles;
}

bool weir::isTurnedInBlocks(Type element) {
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/// The transposition that is all of the kernel, when it moves the last dimension
/// and its elements fill the lanes of vectors.
static TransposeOp blockTransposition(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto op = body.getTerminator()->getOperand(0).getDefiningOp<TransposeOp>();
  if (!op || &body.front() != op || !isa<BlockArgument>(op.getOperand()))
    return {};
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  auto permutation = op.getPermutation();
  return isTurnedInBlocks(element) && permutation.back() != (int64_t)permutation.size() - 1
             ? op
             : TransposeOp();
}

/// Cuts the range into blocks of the operand's last dimension by the result's. The
/// longest run of dimensions that stay together counts as one.
static SmallVector<int64_t> transpositionTiles(ScheduleBuilder &s, TransposeOp op,
                                               const VectorUnit &unit) {
  constexpr int64_t blockColumns = 64;
  ArrayRef<int64_t> permutation = op.getPermutation();
  // Narrow elements are turned in vectors of 16 bytes.
  int64_t bytes =
      std::max<int64_t>(cast<RankedTensorType>(op.getType()).getElementTypeBitWidth() / 8, 1);
  int64_t rank = permutation.size(), lanes = bytes < 4 ? 16 / bytes : unit.bytes / bytes;
  int64_t first = 0, last = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t j = i + 1;
    while (j < rank && permutation[j] == permutation[j - 1] + 1)
      ++j;
    if (j - i > last - first)
      first = i, last = j;
  }
  int64_t across = llvm::find(permutation, rank - 1) - permutation.begin();
  if (last - first > 1)
    s.set(schedule::merged, {first, last});
  int64_t joined = last - first - 1;
  if (across >= first && across < last)
    across = first;
  else if (across >= last)
    across -= joined;
  SmallVector<int64_t> tiles(rank - joined, 1);
  tiles.back() = blockColumns;
  tiles[across] = lanes;
  s.set(schedule::tile, {lanes, 1, lanes});
  return tiles;
}

static bool isElementwiseOver(Operation *op, RankedTensorType type) {
  if (!isa<ElementwiseOpInterface>(op))
    return false;
  auto isOver = [&](Type other) {
    auto tensor = cast<RankedTensorType>(other);
    return tensor.getShape() == type.getShape() ||
           (tensor.hasStaticShape() && tensor.getNumElements() == 1);
  };
  if (cast<RankedTensorType>(op->getResult(0).getType()).getShape() != type.getShape())
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    ElementsAttr constant = constantElements(operand);
    return isOver(operand.getType()) && (!constant || constant.isSplat());
  });
}

/// How much of a product of bf16 with so long a sum is multiplied at once, so that columns
/// for it, 32 KiB at most, stay in the first-level cache while rows pass by; 0: all, where
/// there is less, or too few rows and columns to pay for packing rows.
static int64_t bf16DepthBlock(int64_t rows, int64_t depth, int64_t columns) {
  constexpr int64_t fewestRows = 128, fewestColumns = 512, most = 512, step = 32;
  if (rows < fewestRows || depth < most || columns < fewestColumns)
    return 0;
  return llvm::alignTo(llvm::divideCeil(depth, llvm::divideCeil(depth, most)), step);
}

/// Parts of a kernel that multiplies by panels of 32 columns, `height` rows of results at
/// a time: so many rows that the left operand's share stays in the second-level cache
/// while panels pass. A convolution's parts are whole lines, and all of one size where
/// their number is known.
static SmallVector<int64_t> gemmPanelTiles(ScheduleBuilder &s, Operation *anchor, int64_t height,
                                           int64_t lanes) {
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

/// Products of bytes: matrix tiles are two by two; of vectors' sums as many rows as
/// leave registers for a row of columns and an element, which are two of words each where
/// bytes are multiplied as pairs.
static SmallVector<int64_t> gemmInt8Tiles(ScheduleBuilder &s, Operation *anchor,
                                          const VectorUnit &unit) {
  constexpr int64_t width = 32, tileRows = 32;
  int64_t lanes = unit.bytes / 4, vectors = width / lanes;
  int64_t others = unit.hasBytePairs ? 6 : 1 + vectors;
  int64_t rows = (unit.registers - others) / vectors;
  return gemmPanelTiles(s, anchor, unit.hasByteTiles ? tileRows : rows, lanes);
}

/// Sets the tile of a product, and returns how its range is cut.
static SmallVector<int64_t> gemmTiles(ScheduleBuilder &s, KernelOp kernel, DotGeneralOp dot,
                                      const VectorUnit &unit, const TileChoice &choice) {
  auto type =
      cast<RankedTensorType>(kernel.getBody().front().getTerminator()->getOperand(0).getType());
  int64_t batch = dot.getLhsBatch().size(), rank = type.getRank();
  if (rank > batch + 2)
    s.set(schedule::merged, {batch, rank - 1});
  int64_t rows = partShape(s[schedule::merged], type.getShape())[batch],
          columns = type.getShape().back();
  int64_t depth = cast<RankedTensorType>(dot.getLhs().getType()).getShape().back();
  bool isOpen = ShapedType::isDynamic(depth);
  auto tile = registerTile(unit, rows, columns, isOpen ? 0 : depth * unit.elementBytes, choice);
  int64_t width = tile[1] * tile[2];
  s.set(schedule::tile, tile);
  // A panel beyond a share of the second-level cache is read by blocks.
  constexpr int64_t muchOfTheCache = 3 << 17, cacheShare = 1 << 18;
  int64_t panelBytes = isOpen ? 0 : depth * width * unit.elementBytes, each = 0;
  // Of open length, the sum goes by blocks in any case.
  constexpr int64_t openBlock = 512;
  if (isOpen)
    each = openBlock;
  if (panelBytes > muchOfTheCache)
    each = llvm::alignTo(llvm::divideCeil(depth, llvm::divideCeil(panelBytes, cacheShare)), 16);
  if (choice.depth && !isOpen)
    each = *choice.depth < depth ? *choice.depth : 0;
  if (ShapedType::isDynamic(rows) || rows > tile[0])
    if (each)
      s.set(schedule::depthBlock, each);
  // Enough rows that a panel of the right operand is read once for many. Sums that
  // wait between blocks are on the stack.
  constexpr int64_t mostSums = 1 << 16;
  int64_t many = choice.part ? choice.part : partRows;
  if (each)
    many = std::min(many, mostSums / width);
  many = llvm::alignTo(many, tile[0]);
  SmallVector<int64_t> tiles(batch, 1);
  tiles.push_back(ShapedType::isDynamic(rows) ? many : std::clamp<int64_t>(rows, 1, many));
  tiles.push_back(width);
  return tiles;
}

/// `unit` with lanes for the elements that `anchor` makes.
static VectorUnit unitFor(const VectorUnit &unit, Operation *anchor) {
  VectorUnit own = unit;
  own.elementBytes =
      getElementTypeOrSelf(anchor->getResult(0).getType()).getIntOrFloatBitWidth() / 8;
  return own;
}

void weir::chooseStrategy(KernelOp kernel, const VectorUnit &unit, const TileChoice &choice) {
  Block &body = kernel.getBody().front();
  auto type = cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType());
  int64_t flops = 0, rank = type.getRank();
  bool flat = type.hasStaticShape();
  Operation *anchor = nullptr;
  for (Operation &op : body.without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    flat = flat && isElementwiseOver(&op, type);
    if (auto cost = dyn_cast<CostOpInterface>(op))
      flops += std::max<int64_t>(cost.getFlops(), 0);
    if (isa<DotGeneralOp, ConvOp, PoolOp, ReduceOp, ArgReduceOp, CumulativeOp, ScatterNdOp,
            ScatterElementsOp, TopKOp>(op))
      anchor = &op;
  }
  MLIRContext *context = kernel.getContext();
  ScheduleBuilder s(context, ScheduleKind::Loops);
  std::optional<SmallVector<int64_t>> tiles;
  if (auto attention = attentionOf(kernel)) {
    s = ScheduleBuilder(context, ScheduleKind::Attention);
    tiles = attentionTiles(s, *attention, unit);
  } else if (hasRowReduction(kernel, unit.isHost)) {
    s = ScheduleBuilder(context, ScheduleKind::RowReduction);
    tiles = rowReductionTiles(s, kernel, unit);
  } else if (anchor && anchor->hasAttr(tileUnitAttribute) && !isLanes(anchor, unit) &&
             isVectorEpilogue(kernel, anchor)) {
    bool isBytes = getElementTypeOrSelf(anchor->getResult(0).getType()).isInteger(32);
    s = ScheduleBuilder(context, isBytes ? ScheduleKind::GemmInt8 : ScheduleKind::GemmAmxBf16);
    constexpr int64_t tileRows = 32, tileLanes = 16;
    tiles =
        isBytes ? gemmInt8Tiles(s, anchor, unit) : gemmPanelTiles(s, anchor, tileRows, tileLanes);
  } else if (anchor && isa<ScatterNdOp, ScatterElementsOp>(anchor)) {
    s = ScheduleBuilder(context, ScheduleKind::Scatter);
    tiles.emplace();
  } else if (isa_and_nonnull<TopKOp>(anchor)) {
    s = ScheduleBuilder(context, ScheduleKind::Sort);
    tiles.emplace();
  } else if (auto dot = dyn_cast_or_null<DotGeneralOp>(anchor);
             dot && isWeightOnlyProduct(dot) && isVectorEpilogue(kernel, dot)) {
    s = ScheduleBuilder(context, ScheduleKind::WeightOnly);
    tiles = weightOnlyTiles(s, dot, unit);
  } else if (auto dot = dyn_cast_or_null<DotGeneralOp>(anchor);
             dot && isPlainGemm(dot) && isVectorEpilogue(kernel, dot)) {
    s = ScheduleBuilder(context, ScheduleKind::Gemm);
    tiles = gemmTiles(s, kernel, dot, unitFor(unit, dot), choice);
    noteChoice(s, choice);
  } else if (auto conv = dyn_cast_or_null<ConvOp>(anchor);
             conv && isTileElement(getElementTypeOrSelf(conv.getType())) &&
             isPlainConvolution(conv, unitFor(unit, conv)) && isVectorEpilogue(kernel, conv)) {
    s = ScheduleBuilder(context, ScheduleKind::Convolution);
    tiles = convolutionTiles(s, kernel, conv, unitFor(unit, conv), choice);
    noteChoice(s, choice);
  } else if (anchor && isLanes(anchor, unit) && isVectorEpilogue(kernel, anchor) &&
             (isa<ReduceOp, ArgReduceOp>(anchor) || !type.isDynamicDim(rank - 1))) {
    s = ScheduleBuilder(context, ScheduleKind::Lanes);
    tiles = laneTiles(s, anchor, unit);
  } else if (TransposeOp transposition = blockTransposition(kernel)) {
    s = ScheduleBuilder(context, ScheduleKind::Transposition);
    tiles = transpositionTiles(s, transposition, unit);
  } else if (auto running = dyn_cast_or_null<CumulativeOp>(anchor)) {
    s = ScheduleBuilder(context, ScheduleKind::Scan);
    tiles = scanTiles(s, kernel, running);
  } else {
    if (!flat)
      tiles.emplace(std::max<int64_t>(rank - 1, std::min<int64_t>(rank, 1)), 1);
  }
  int64_t items = 1;
  if (tiles) {
    s.set(schedule::parts, *tiles);
    for (auto [size, tile] : llvm::zip(partShape(s[schedule::merged], type.getShape()), *tiles))
      items *= ShapedType::isDynamic(size) ? 16 : llvm::divideCeil(size, tile);
  } else {
    items = type.getNumElements();
  }
  // Some 20 microseconds of work at a modest 4 operations a nanosecond. To move an
  // element is one, too.
  if (type.hasStaticShape())
    flops = std::max(flops, type.getNumElements());
  int64_t each = std::max<int64_t>(1, flops / std::max<int64_t>(items, 1));
  s.set(schedule::grain, std::max<int64_t>(1, workOfThread / each));
  kernel.setScheduleAttr(s.get());
}
