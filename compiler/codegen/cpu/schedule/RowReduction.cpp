//===- RowReduction.cpp - reductions along lines and what surrounds them --===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/RowReduction.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

/// Sets the width of vectors, and returns how the result's dimensions are cut.
static SmallVector<int64_t> rowReductionTiles(ScheduleBuilder &s, KernelOp kernel,
                                              const VectorUnit &unit) {
  constexpr int64_t whole = int64_t(1) << 40;
  RankedTensorType type = lineType(kernel);
  int64_t length = type.getDimSize(lineAxis(kernel)), lanes = unit.bytes / 4;
  if (!ShapedType::isDynamic(length))
    lanes = std::min<int64_t>(lanes, llvm::bit_ceil(uint64_t(length)));
  s.set(schedule::lanes, lanes);
  SmallVector<int64_t> tiles(type.getRank(), 1);
  tiles.back() = whole;
  return tiles;
}

/// Lines are of one shape, but for what has one element a line; and an open line's length
/// is that of whatever is read along it.
static void addLineEqualities(KernelBuilder &r, KernelOp kernel, SizeEqualities &equalities) {
  Block &body = kernel.getBody().front();
  RankedTensorType whole = lineType(kernel);
  int64_t axis = lineAxis(kernel), rank = whole.getRank();
  Value line = (*body.getOps<ReduceOp>().begin()).getOperand();
  for (Operation &op : body.without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    for (int64_t i = 0; i < rank; ++i)
      if (type.isDynamicDim(i))
        equalities.addSizes(op.getResult(0), i, line, i);
  }
  for (BlockArgument argument : body.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    int64_t last = type.getRank() - 1;
    if (whole.isDynamicDim(axis) && last >= 0 && type.isDynamicDim(last))
      equalities.addSizes(argument, last, line, axis);
  }
}

namespace {
class RowReduction final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::RowReduction; }
  StringRef summary() const override { return "line by line: what is reduced is read once"; }

  bool matches(const KernelRequest &request) const override {
    return hasRowReduction(request.kernel, request.isHost);
  }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &s,
                                               const KernelRequest &request) const override {
    return rowReductionTiles(s, request.kernel, request.unit);
  }

  void requireSizes(KernelBuilder &r, KernelOp kernel, SizeEqualities &sizes) const override {
    addLineEqualities(r, kernel, sizes);
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitRowReduction(r, kernel, begin, end);
  }

protected:
  /// A line is reduced before results are written over it.
  bool mayReadAhead(Operation *user) const override { return isa<ReduceOp>(user); }
};
} // namespace

namespace weir {
const KernelStrategy &rowReductionStrategy() {
  static const RowReduction made;
  return made;
}
} // namespace weir
