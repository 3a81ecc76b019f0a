//===- Trees.cpp - walks through decision trees, several at once ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/TreeEnsemble.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
class Trees final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Trees; }
  StringRef summary() const override { return "walks through decision trees, several at once"; }

  /// Sums of a block of rows are on the stack.
  bool matches(const KernelRequest &request) const override {
    constexpr int64_t mostTargets = 4096;
    auto op = dyn_cast_or_null<TreeEnsembleOp>(request.anchor);
    return op && int64_t(op.getTargets()) <= mostTargets && op.getTargets() > 0;
  }

  /// Rows of a part: as many as walk at once.
  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &,
                                               const KernelRequest &request) const override {
    constexpr int64_t rows = 8;
    auto op = cast<TreeEnsembleOp>(request.anchor);
    int64_t count = request.type.getDimSize(0);
    return SmallVector<int64_t>{ShapedType::isDynamic(count) ? rows
                                                             : std::clamp<int64_t>(count, 1, rows),
                                int64_t(op.getTargets())};
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value begin, Value end) const override {
    return emitTrees(r, kernel, begin, end);
  }
};
} // namespace

namespace weir {
const KernelStrategy &treesStrategy() {
  static const Trees made;
  return made;
}
} // namespace weir
