//===- RegisterTiles.cpp - sums that are in registers at a time -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/schedule/RegisterTiles.h"
#include "compiler/codegen/cpu/schedule/ProductTiles.h"
#include "compiler/codegen/cpu/schedule/TileChoice.h"
#include "dialects/weir/BlockQuantized.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/PickedLines.h"
#include "dialects/weir/RecursiveReader.h"
#include "dialects/weir/Target.h"
#include "passes/analysis/Clusters.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

VectorUnit weir::vectorUnitOf(ModuleOp module) {
  VectorUnit unit;
  TargetAttr target = targetOf(module);
  if (target.getVectorBytes())
    unit.bytes = target.getVectorBytes();
  unit.registers = unit.bytes >= 64 ? 32 : 16;
  if (target.getVectorRegisters())
    unit.registers = target.getVectorRegisters();
  // Processors with AVX-512 have as much; those with AVX2 alone have half of that and less.
  unit.hasLargeCache = unit.bytes == 64;
  unit.passesHalves = target.getPassesHalves();
  if (auto ways = module->getAttrOfType<IntegerAttr>(firstLevelWaysAttribute))
    unit.firstLevelWays = ways.getInt();
  unit.hasByteTiles = target.getByteProducts() == ByteProducts::Blocks;
  unit.hasBytePairs = target.getByteProducts() == ByteProducts::Pairs;
  unit.hasByteProducts = target.getByteProducts() != ByteProducts::None && unit.bytes >= 32;
  // Processors with matrix tiles of bytes have vectors that do so, too.
  unit.hasByteQuads =
      target.getByteProducts() != ByteProducts::None && !unit.hasBytePairs && unit.bytes == 64;
  return unit;
}

/// Functions of f64 that vectors compute without the C library, beside a reduction: a tile of
/// doubles leaves them no registers.
static bool isWideFunction(Operation *op) {
  return isa<ExpOp, LogOp, TanhOp>(op) && getElementTypeOrSelf(op->getResult(0).getType()).isF64();
}

/// A gather of lines that lie in memory, with the lanes along them.
static bool isPickedLine(Operation *op) {
  return picksLines(op) && isa<BlockArgument>(op->getOperand(0));
}

/// Adds what the elements are computed by that all lanes share: by scalars, whatever it is, but no
/// sums, which lanes would share with nobody. False where there are some.
static bool addSingles(SmallVectorImpl<Value> &work, llvm::SmallPtrSetImpl<Operation *> &found) {
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op)
      continue;
    auto elemental = dyn_cast<ElementalOpInterface>(op);
    if (!isa<ConstantOp>(op) && (!elemental || elemental.isElementExpensive()))
      return false;
    if (found.insert(op).second)
      work.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

std::optional<llvm::SmallPtrSet<Operation *, 8>> weir::vectorPrologue(Operation *reduction) {
  Value reduced = reduction->getOperand(0);
  auto whole = cast<RankedTensorType>(reduced.getType());
  if (whole.getRank() == 0)
    return std::nullopt;
  const bool isWide = whole.getElementType().isF64();
  auto isOfVectors = [&](Operation *op) {
    return isWide ? isEpilogueElementwise(op) || isWideFunction(op) : isF32EpilogueElementwise(op);
  };
  llvm::SmallPtrSet<Operation *, 8> found;
  SmallVector<Value> work = {reduced}, single;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    // Halves, read or picked, are only cast.
    Operation *op = value.getDefiningOp();
    bool isHalf = type && (!op || isPickedLine(op)) &&
                  (type.getElementType().isF16() || type.getElementType().isBF16());
    if (!type ||
        !(isWide ? type.getElementType().isF64() : type.getElementType().isF32() || isHalf))
      return std::nullopt;
    if (!op) {
      // Along the lanes, or one element for all: of open ones vectors look when they read.
      int64_t last = type.getRank() ? type.getShape().back() : 1;
      if (last != 1 && last != whole.getShape().back())
        return std::nullopt;
      continue;
    }
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto elements = dyn_cast<ElementsAttr>(constant.getValue());
      if (!elements || !elements.isSplat())
        return std::nullopt;
      continue;
    }
    // One element for all lanes is computed by itself.
    if (type.getRank() && type.getShape().back() == 1 && whole.getShape().back() != 1) {
      single.push_back(value);
      continue;
    }
    if (type.getShape() != whole.getShape())
      return std::nullopt;
    if (isPickedLine(op)) {
      found.insert(op);
      single.push_back(op->getOperand(1));
      continue;
    }
    if (!isOfVectors(op))
      return std::nullopt;
    if (found.insert(op).second)
      work.append(op->operand_begin(), op->operand_end());
  }
  if (!addSingles(single, found))
    return std::nullopt;
  return found;
}

bool weir::isVectorEpilogue(KernelOp kernel, Operation *anchor, EpilogueResults results) {
  Block &body = kernel.getBody().front();
  auto shapeOf = [](Type type) { return cast<RankedTensorType>(type).getShape(); };
  ArrayRef<int64_t> shape = shapeOf(anchor->getResult(0).getType());
  OperandRange stored = body.getTerminator()->getOperands();
  if (stored.size() > 1 &&
      (results == EpilogueResults::One ||
       !llvm::all_of(stored.getTypes(), [&](Type type) { return shapeOf(type) == shape; })))
    return false;
  SmallVector<Operation *> operations;
  for (Operation &op : body.without_terminator())
    operations.push_back(&op);
  return isVectorEpilogue(operations, anchor);
}

bool weir::isVectorEpilogue(ArrayRef<Operation *> operations, Operation *anchor) {
  auto resultType = cast<RankedTensorType>(anchor->getResult(0).getType());
  Type sums = resultType.getElementType();
  auto isFloatOrWord = [&](Type type) {
    return type.isF32() || type.isInteger(32) || type == sums;
  };
  if (!isGemmElement(sums))
    return false;
  llvm::SmallPtrSet<Operation *, 32> members(llvm::from_range, operations);
  const bool reduces = isa<ReduceOp, ArgReduceOp>(anchor);
  auto before = reduces ? vectorPrologue(anchor) : std::nullopt;
  for (Operation *each : operations) {
    Operation &op = *each;
    if (&op == anchor || isa<DequantizeBlocksOp>(op) || (before && before->contains(&op)))
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
    if (!(isEpilogueElementwise(&op) || (reduces && isWideFunction(&op))) ||
        (!isa<CastOp>(op) && type.getShape() != resultType.getShape()))
      return false;
    for (Value operand : op.getOperands()) {
      auto operandType = cast<RankedTensorType>(operand.getType());
      if (members.contains(operand.getDefiningOp()) || operandType.getRank() == 0)
        continue;
      // What is open on both sides vectors look at when they read it.
      int64_t last = operandType.getShape().back();
      if (last != 1 && last != resultType.getShape().back())
        return false;
    }
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
        (pitch > 0 && pitch % sameSetPitch == 0 && candidate.rows > waysOfSet) ||
        (ShapedType::isDynamic(pitch) && candidate.rows > mostPointers))
      continue;
    int64_t cost = registerTileCost(unit, candidate.rows, candidate.vectors, rows, columns);
    if (!best || cost < bestCost) {
      best = &candidate;
      bestCost = cost;
    }
  }
  return {best->rows, best->vectors, lanes};
}

SmallVector<int64_t> weir::widestTile(const VectorUnit &unit, Operation *product, int64_t rows,
                                      int64_t columns, int64_t pitch, const TileChoice &choice) {
  SmallVector<int64_t> tile = registerTile(unit, rows, columns, pitch, choice);
  // Measured up to so many steps: beyond, the wider panel passes from the second-level cache.
  constexpr int64_t wideRows = 6, wideVectors = 4, mostSteps = 512, inAddition = 8;
  const int64_t steps = stepsAlong(product), lanes = unit.lanes();
  const bool isOpen = ShapedType::isDynamic(rows);
  auto conv = dyn_cast<ConvOp>(product);
  if (choice.rows || unit.registers < 32 || unit.elementBytes != 4 || multipliesPairs(product) ||
      (conv && conv.getGroups() != 1) || (!isOpen && rows < wideRows) ||
      ShapedType::isDynamic(columns) || columns % (wideVectors * lanes) || tile[1] >= wideVectors ||
      ShapedType::isDynamic(steps) || steps > mostSteps)
    return tile;
  // Of an open number of rows, of as many as leave no rest in either.
  const int64_t height = isOpen ? wideRows * tile[0] : rows;
  auto cost = [&](int64_t tileRows, int64_t vectors) {
    int64_t tiles = llvm::divideCeil(height, tileRows) * (columns / lanes / vectors);
    return inAddition * registerTileCost(unit, tileRows, vectors, height, columns) +
           tiles * (tileRows + vectors);
  };
  if (cost(wideRows, wideVectors) < cost(tile[0], tile[1]))
    tile = {wideRows, wideVectors, lanes};
  return tile;
}

VectorUnit weir::unitFor(const VectorUnit &unit, Operation *anchor) {
  VectorUnit own = unit;
  own.elementBytes =
      getElementTypeOrSelf(anchor->getResult(0).getType()).getIntOrFloatBitWidth() / 8;
  return own;
}

VectorUnit weir::unitForColumns(const VectorUnit &unit, Operation *anchor, int64_t columns) {
  // Halves load as often for half of the sums: of more of them, measured, one that is left out
  // does not make up for that.
  constexpr int64_t mostHalves = 9;
  VectorUnit own = unitFor(unit, anchor);
  if (!own.passesHalves || own.elementBytes != 4 || multipliesPairs(anchor) ||
      ShapedType::isDynamic(columns))
    return own;
  int64_t halves = llvm::divideCeil(columns, own.lanes() / 2);
  if (halves % 2 && halves <= mostHalves)
    own.bytes /= 2;
  return own;
}

bool weir::visitsEachPosition(ConvOp conv) {
  auto isOne = [](int64_t value) { return value == 1; };
  ArrayRef<int64_t> filter = cast<RankedTensorType>(conv.getFilter().getType()).getShape();
  return llvm::all_of(filter.drop_back(2), isOne) && llvm::all_of(conv.getStrides(), isOne);
}

bool weir::isSharedByLines(ConvOp conv, int64_t rows) {
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto type = cast<RankedTensorType>(conv.getType());
  return visitsEachPosition(conv) && type.hasStaticShape() && input.hasStaticShape() &&
         filter.hasStaticShape() && type.getDimSize(type.getRank() - 2) >= rows &&
         filter.getNumElements() * type.getDimSize(0) <=
             input.getNumElements() + type.getNumElements();
}
