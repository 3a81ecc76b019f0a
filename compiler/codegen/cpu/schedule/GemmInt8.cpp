//===- GemmInt8.cpp - products of bytes, with sums of 32 bits -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/GemmPanels.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "compiler/codegen/cpu/schedule/WordBounds.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Rows of the right operand, or of a filter, for a column.
static int64_t depthOf(Operation *anchor) {
  auto conv = dyn_cast<ConvOp>(anchor);
  if (!conv)
    return cast<RankedTensorType>(anchor->getOperand(0).getType()).getShape().back();
  return ShapedType::getNumElements(
      cast<RankedTensorType>(conv.getFilter().getType()).getShape().drop_back());
}

/// Products of bytes: matrix tiles are two by two; of vectors' sums as many rows as
/// leave registers for a row of columns and an element. Of pairs, an element and columns are spread
/// in registers, or columns before, which leaves room for more rows of fewer columns. Products
/// that add two steps at a time get another tile, once their weights are known to allow it
/// (packPanels).
static SmallVector<int64_t> gemmInt8Tiles(ScheduleBuilder &s, Operation *anchor,
                                          const VectorUnit &unit) {
  constexpr int64_t width = 32, tileRows = 32;
  int64_t lanes = unit.bytes / 4, vectors = width / lanes;
  int64_t others = unit.hasBytePairs ? 6 : 1 + vectors, atOnce = vectors;
  if (unit.hasBytePairs && (hasBoundedPairs(anchor) || depthOf(anchor) <= deepestWide))
    atOnce = std::min(vectors, vectorsOfPairs);
  int64_t rows = unit.hasByteTiles ? tileRows : (unit.registers - others) / atOnce;
  SmallVector<int64_t> tiles = gemmPanelTiles(s, anchor, rows, lanes, unit.hasByteTiles);
  s.set(schedule::tile, {rows, atOnce, lanes});
  // A part is a group, of as many panels as it takes.
  if (int64_t each = columnsOfLooseGroup(anchor))
    tiles.back() = each;
  return tiles;
}

namespace {
class GemmInt8 final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::GemmInt8; }
  StringRef summary() const override { return "a matrix product of bytes, with sums of 32 bits"; }

  bool matches(const KernelRequest &request) const override {
    return isPanelGemm(request) &&
           getElementTypeOrSelf(request.anchor->getResult(0).getType()).isInteger(32);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    readPlainPanels(s, request);
    return gemmInt8Tiles(s, request.anchor, request.unit);
  }

  Operation *packOperands(KernelRequest &request) const override {
    noteWords(request);
    packPanels(request.b, request.kernel, request.operands);
    return nullptr;
  }

  StringRef feature(KernelOp kernel) const override {
    return vectorUnitOf(kernel->getParentOfType<ModuleOp>()).hasByteTiles ? "amx-int8" : "";
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitGemmInt8(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &gemmInt8Strategy() {
  static const GemmInt8 made;
  return made;
}
} // namespace weir
