//===- Gemm.cpp - products by register tiles ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/ProductTiles.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/KernelForms.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Whether the product is [batch…, M…, K] by [batch…, K, N] of elements that tiles have, both
/// operands read from buffers.
static bool isPlainGemm(DotGeneralOp dot) {
  return isInPlainOrder(dot) && isGemmOfOneType(dot) && isa<BlockArgument>(dot.getLhs()) &&
         isa<BlockArgument>(dot.getRhs());
}

bool weir::isGemmOfSeveral(ArrayRef<Operation *> operations, DotGeneralOp dot) {
  return isInPlainOrder(dot) && isGemmOfOneType(dot) &&
         !llvm::is_contained(operations, dot.getLhs().getDefiningOp()) &&
         !llvm::is_contained(operations, dot.getRhs().getDefiningOp()) &&
         isVectorEpilogue(operations, dot);
}

namespace {
/// Rows of the sum that packed blocks have: that is how tiles cut sums anyway.
constexpr int64_t blockOfPacked = 512;

/// A product's sizes; any may be ShapedType::kDynamic.
struct ProductSizes {
  int64_t rows, columns, depth;
};
} // namespace

/// Whether blocks of the left operand may be packed on the stack while sums wait in the result:
/// that has their type and no open size, and vectors are those of AVX2 or AVX-512.
static bool canPackRows(KernelOp kernel, DotGeneralOp dot, const VectorUnit &unit,
                        const ProductSizes &sizes, int64_t depthBlock) {
  constexpr int64_t fewestBytes = 32, mostDepth = 2048;
  Type sums = getElementTypeOrSelf(dot.getType());
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  return 0 < depthBlock && depthBlock <= mostDepth && depthBlock < sizes.depth &&
         unit.bytes >= fewestBytes && isa<FloatType>(sums) &&
         sums.getIntOrFloatBitWidth() == unit.elementBytes * 8 && unit.elementBytes >= 4 &&
         !multipliesPairs(dot) && getElementTypeOrSelf(result.getType()) == sums &&
         !ShapedType::isDynamic(sizes.rows) && !ShapedType::isDynamic(sizes.columns) &&
         !ShapedType::isDynamic(sizes.depth) && !isSkinny(unit, sizes.rows);
}

/// Whether it pays: rows share what is read of the right operand, panels what is packed, and
/// sums do wait, which without that they do on the stack.
static bool paysToPackRows(const VectorUnit &unit, const ProductSizes &sizes) {
  constexpr int64_t fewestPanels = 16;
  const int64_t fewestRows = unit.hasLargeCache ? 140 : 192;
  const int64_t fewestSteps = unit.hasLargeCache ? blockOfPacked + 1 : 2 * blockOfPacked;
  return sizes.rows >= fewestRows && sizes.depth >= fewestSteps &&
         sizes.columns >= fewestPanels * 2 * unit.lanes();
}

/// What gemmTiles does for a product whose rows are packed, by blocks of `depthBlock` of the sum,
/// and of so many rows that a block is a share of the second-level cache.
static SmallVector<int64_t> packedRowTiles(ScheduleBuilder &s, const VectorUnit &unit,
                                           int64_t batch, const ProductSizes &sizes,
                                           int64_t depthBlock, const TileChoice &choice) {
  constexpr int64_t mostBytes = 3 << 19;
  const int64_t share = (unit.hasLargeCache ? 560 : 264) << 10;
  auto tile = registerTile(unit, sizes.rows, sizes.columns, /*pitch=*/0, choice);
  int64_t bytes = depthBlock * unit.elementBytes;
  int64_t many = std::min(choice.part ? choice.part : share / bytes, mostBytes / bytes);
  many = std::max<int64_t>(llvm::alignDown(many, tile[0]), tile[0]);
  s.set(schedule::tile, tile);
  s.set(schedule::depthBlock, depthBlock);
  s.set(schedule::packsRows, true);
  SmallVector<int64_t> parts(batch, 1);
  parts.append({std::min(sizes.rows, many), tile[1] * tile[2]});
  return parts;
}

/// Sets the tile of a product, and returns how its range is cut.
SmallVector<int64_t> weir::gemmTiles(ScheduleBuilder &s, KernelOp kernel, DotGeneralOp dot,
                                     const VectorUnit &unit, bool isConstant,
                                     const TileChoice &choice) {
  auto type =
      cast<RankedTensorType>(kernel.getBody().front().getTerminator()->getOperand(0).getType());
  int64_t batch = dot.getLhsBatch().size(), rank = type.getRank();
  if (rank > batch + 2)
    s.set(schedule::merged, {batch, rank - 1});
  int64_t rows = partShape(s[schedule::merged], type.getShape())[batch],
          columns = type.getShape().back();
  int64_t depth = stepsAlong(dot);
  bool isOpen = ShapedType::isDynamic(depth);
  ProductSizes sizes{rows, columns, depth};
  bool isChosen = choice.rows || choice.part || choice.depth;
  bool packs = choice.packed.value_or(!isChosen && paysToPackRows(unit, sizes));
  int64_t packedDepth = choice.depth.value_or(blockOfPacked);
  if (packs && canPackRows(kernel, dot, unit, sizes, packedDepth))
    return packedRowTiles(s, unit, batch, sizes, packedDepth, choice);
  // Positions of images of open size are as many as those of a convolution, which this was.
  constexpr int64_t imageRank = 4;
  const bool isImage = rank == imageRank && !batch && ShapedType::isDynamic(rows);
  const int64_t pitch = isOpen ? depth : depth * unit.elementBytes;
  auto tile = isImage ? widestTile(unit, dot, rows, columns, pitch, choice)
                      : registerTile(unit, rows, columns, pitch, choice);
  int64_t width = tile[1] * tile[2];
  if (rows == 1 && isConstant && !batch && !choice.rows && columns >= vectorsOfRow * tile[2]) {
    tile[1] = vectorsOfNarrowPanel;
    width = vectorsOfRow * tile[2];
  }
  s.set(schedule::tile, tile);
  // A panel beyond a share of the second-level cache is read by blocks.
  constexpr int64_t muchOfTheCache = 3 << 17, cacheShare = 1 << 18;
  int64_t panelBytes = isOpen ? 0 : depth * width * unit.elementBytes, each = 0;
  // Of open length, the sum goes by blocks in any case. They are of whole blocks of a tile's sums,
  // so that a row has the same bits whatever others there are.
  constexpr int64_t openBlock = 512;
  if (isOpen)
    each = openBlock;
  if (panelBytes > muchOfTheCache)
    each =
        llvm::alignTo(llvm::divideCeil(depth, llvm::divideCeil(panelBytes, cacheShare)), openBlock);
  if (choice.depth && !isOpen)
    each = *choice.depth < depth ? *choice.depth : 0;
  if (ShapedType::isDynamic(rows) || rows > tile[0])
    if (each)
      s.set(schedule::depthBlock, each);
  // Enough rows that a panel of the right operand is read once for many. Sums that
  // wait between blocks are on the stack.
  constexpr int64_t mostSums = 1 << 16;
  // An open number of rows of many panels goes by blocks as long as those of convolutions, one of
  // which often is all.
  constexpr int64_t manyPanels = 8;
  bool isLong = ShapedType::isDynamic(rows) && columns >= manyPanels * width;
  int64_t many = choice.part ? choice.part : isLong ? partPositions : partRows;
  if (each)
    many = std::min(many, mostSums / width);
  many = llvm::alignTo(many, tile[0]);
  SmallVector<int64_t> tiles(batch, 1);
  tiles.push_back(ShapedType::isDynamic(rows) ? many : std::clamp<int64_t>(rows, 1, many));
  tiles.push_back(width);
  return tiles;
}

namespace {
class Gemm final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Gemm; }
  StringRef summary() const override { return "a matrix product, in tiles that stay in registers"; }

  bool matches(const KernelRequest &request) const override {
    auto dot = dyn_cast_or_null<DotGeneralOp>(request.anchor);
    return dot && isPlainGemm(dot) &&
           isVectorEpilogue(request.kernel, dot, EpilogueResults::Several);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    auto dot = cast<DotGeneralOp>(request.anchor);
    noteChoice(s, request.choice);
    return gemmTiles(s, request.kernel, dot,
                     unitForColumns(request.unit, dot, dot.getType().getShape().back()),
                     bool(request.constantOf(dot.getRhs())), request.choice);
  }

  Operation *packOperands(KernelRequest &request) const override {
    readLeftTurned(request.kernel, cast<DotGeneralOp>(request.anchor), request.operands);
    return packColumns(request.b, request.kernel, request.operands);
  }

  bool storesLast() const override { return true; }

  bool takesPart(KernelOp kernel, unsigned index, ArrayRef<int64_t> extents) const override {
    bool isResult = index >= kernel.getBody().getNumArguments();
    return !(isResult && kernel.getSchedule()[schedule::packsRows]) &&
           takesPartOfTiles(kernel, index, extents, /*seesLines=*/false);
  }

  /// A right operand's matrices may begin elsewhere, and lie farther apart.
  bool readsSlice(KernelOp kernel, unsigned index, int64_t axis) const override {
    BlockArgument argument = kernel.getBody().getArgument(index);
    if (!argument.hasOneUse() || kernel.getSchedule()[schedule::packsRows] ||
        axis + 2 != cast<RankedTensorType>(argument.getType()).getRank())
      return false;
    OpOperand *use = &*argument.getUses().begin();
    for (Operation *op = use->getOwner(); isa<TransposeOp, CastOp>(op); op = use->getOwner()) {
      if (!op->hasOneUse())
        return false;
      use = &*op->getUses().begin();
    }
    return isa<DotGeneralOp>(use->getOwner()) && use->getOperandNumber() == 1;
  }

  /// Where sums wait in the result, operands are read behind that.
  bool readsInPlace(KernelOp kernel, unsigned argument, unsigned result) const override {
    return !kernel.getSchedule()[schedule::packsRows] &&
           KernelStrategy::readsInPlace(kernel, argument, result);
  }

  /// The rows are positions of images, and nothing is copied for each part.
  StageForm stageForm(KernelOp kernel) const override {
    auto dot = *kernel.getBody().front().getOps<DotGeneralOp>().begin();
    bool isOfImages = cast<RankedTensorType>(dot.getLhs().getType()).getRank() == 4 &&
                      isa<BlockArgument>(dot.getLhs()) && dot.getLhsBatch().empty();
    return isOfImages && !kernel.getSchedule()[schedule::copiesPanels] &&
                   !kernel.getSchedule()[schedule::packsRows]
               ? StageForm::Position
               : StageForm::None;
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitGemm(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &gemmStrategy() {
  static const Gemm made;
  return made;
}
} // namespace weir
