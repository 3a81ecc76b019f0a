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

/// How the range of a running reduction is cut: never along its axis.
static SmallVector<int64_t> scanTiles(ScheduleBuilder &s, KernelOp kernel, CumulativeOp op) {
  constexpr int64_t whole = int64_t(1) << 40, columns = 512;
  auto type = cast<RankedTensorType>(op.getType());
  int64_t rank = type.getRank(), axis = op.getAxis();
  SmallVector<int64_t> tiles(rank, 1);
  tiles[axis] = whole;
  // Neighbouring lines side by side: see ../Scan.cpp.
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

namespace {
class Scan final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Scan; }
  StringRef summary() const override { return "running sums and the like, line by line"; }

  bool matches(const KernelRequest &request) const override {
    return isa_and_nonnull<CumulativeOp>(request.anchor);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    return scanTiles(s, request.kernel, cast<CumulativeOp>(request.anchor));
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
