//===- Scatter.cpp - updates of elements, one after the other -------------===//
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

namespace {
class Scatter final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Scatter; }
  StringRef summary() const override { return "updates written one after the other"; }

  bool matches(const KernelRequest &request) const override {
    return isa_and_nonnull<ScatterNdOp, ScatterElementsOp>(request.anchor);
  }

  /// One part: equal indices have an order.
  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &,
                                               const KernelRequest &) const override {
    return SmallVector<int64_t>();
  }

  /// What is not written is left; updates and indices are apart.
  bool readsInPlace(KernelOp kernel, unsigned argument, unsigned) const override {
    Block &body = kernel.getBody().front();
    BlockArgument base = body.getArgument(argument);
    Value result = body.getTerminator()->getOperand(0);
    return base.getType() == result.getType() && base.hasOneUse() &&
           result.getDefiningOp()->getOperand(0) == base;
  }

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value, Value) const override {
    return emitScatter(r, kernel);
  }
};
} // namespace

namespace weir {
const KernelStrategy &scatterStrategy() {
  static const Scatter made;
  return made;
}
} // namespace weir
