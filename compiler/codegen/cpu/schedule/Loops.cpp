//===- Loops.cpp - element by element -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/PadBlocks.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
class Loops final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Loops; }
  StringRef summary() const override { return "loops over the result, several elements at once"; }

  bool matches(const KernelRequest &) const override { return true; }

  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &,
                                               const KernelRequest &request) const override {
    if (request.isFlat)
      return std::nullopt;
    int64_t rank = request.type.getRank();
    // Whole blocks for each part, as long as these are enough for threads.
    Value result = request.body().getTerminator()->getOperand(0);
    if (request.isHost && isPadBlocks(result.getDefiningOp())) {
      constexpr int64_t manyParts = 16, fewParts = 4;
      int64_t parts = 1, outer = 0;
      for (; outer < rank - 1 && parts < manyParts; ++outer)
        parts *= request.type.isDynamicDim(outer)
                     ? fewParts
                     : std::max<int64_t>(request.type.getDimSize(outer), 1);
      return SmallVector<int64_t>(std::max<int64_t>(outer, std::min<int64_t>(rank, 1)), 1);
    }
    return SmallVector<int64_t>(std::max<int64_t>(rank - 1, std::min<int64_t>(rank, 1)), 1);
  }

  bool takesPart(KernelOp kernel, unsigned, ArrayRef<int64_t>) const override {
    Value result = kernel.getBody().front().getTerminator()->getOperand(0);
    return hasOneResult(kernel) && (kernel.getSchedule().has(schedule::parts) ||
                                    cast<RankedTensorType>(result.getType()).hasStaticShape());
  }

  /// Has a form for sizes that differ.
  void requireSizes(KernelBuilder &, KernelOp, SizeEqualities &) const override {}

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    emitLoops(r, kernel, begin, end);
    return success();
  }
};
} // namespace

namespace weir {
const KernelStrategy &loopsStrategy() {
  static const Loops made;
  return made;
}
} // namespace weir
