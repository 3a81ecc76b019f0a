//===- Scan.cpp - running sums and the like -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Neighbouring lines side by side, rather than one after the other: see ../Scan.cpp.
static bool goesByColumns(CumulativeOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  return int64_t(op.getAxis()) + 1 < type.getRank() && !isa<ComplexType>(type.getElementType());
}

/// Columns of a part, at least.
static constexpr int64_t columnsOfPart = 512;
/// So many parts are enough for threads.
static constexpr int64_t fewParts = 8;

/// Rows of a part lie far apart: the longer they are, the fewer pages and streams change, as long
/// as running values stay in half of the first-level cache. What is open may be short.
static int64_t columnsOf(RankedTensorType type) {
  constexpr int64_t halfOfCache = 16384, openColumns = 1024;
  int64_t columns = type.getShape().back(), wide = columnsOfPart;
  if (ShapedType::isDynamic(columns))
    return openColumns;
  int64_t bytes = std::max<int64_t>(type.getElementTypeBitWidth() / 8, 4);
  while (2 * wide * fewParts <= columns && 2 * wide * bytes <= halfOfCache)
    wide *= 2;
  return wide;
}

/// How the range of a running reduction is cut: never along its axis.
static SmallVector<int64_t> scanTiles(ScheduleBuilder &s, CumulativeOp op) {
  constexpr int64_t whole = int64_t(1) << 40;
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> tiles(type.getRank(), 1);
  tiles[op.getAxis()] = whole;
  if (goesByColumns(op)) {
    s.set(schedule::columns, true);
    tiles.back() = columnsOf(type);
  }
  return tiles;
}

namespace {
class Scan final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Scan; }
  StringRef summary() const override { return "running sums and the like, line by line"; }

  bool matches(const KernelRequest &request) const override {
    return isa_and_nonnull<CumulativeOp>(request.anchor);
  }

  /// Side by side, lines are computed from their operands as vectors. Where they are few, what
  /// defines them is left to as many threads as there are, but halves that only become wide.
  bool readsOnce(OpOperand &use) const override {
    auto op = dyn_cast<CumulativeOp>(use.getOwner());
    auto type = op ? cast<RankedTensorType>(op.getType()) : RankedTensorType();
    if (op && op.getOperand().getDefiningOp<CastOp>())
      return true;
    return op && type.hasStaticShape() && goesByColumns(op) && type.getNumElements() > 0 &&
           type.getNumElements() / type.getDimSize(op.getAxis()) >= fewParts * columnsOfPart;
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    return scanTiles(s, cast<CumulativeOp>(request.anchor));
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitScan(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &scanStrategy() {
  static const Scan made;
  return made;
}
} // namespace weir
