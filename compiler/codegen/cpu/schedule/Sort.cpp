//===- Sort.cpp - the host's form of sorts of accelerators ----------------===//
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
class Sort final : public KernelStrategy {
public:
  ScheduleKind kind() const override { return ScheduleKind::Sort; }
  StringRef summary() const override { return "a sort, by a call of the library"; }

  bool matches(const KernelRequest &request) const override {
    return isa_and_nonnull<TopKOp>(request.anchor);
  }

  /// One part: the call.
  std::optional<SmallVector<int64_t>> schedule(ScheduleBuilder &,
                                               const KernelRequest &) const override {
    return SmallVector<int64_t>();
  }

  void requireSizes(KernelBuilder &, KernelOp, SizeEqualities &) const override {}

  LogicalResult emit(KernelBuilder &r, KernelOp kernel, Value, Value) const override {
    emitSortCall(r, kernel, r.errorSites());
    return success();
  }
};
} // namespace

namespace weir {
const KernelStrategy &sortStrategy() {
  static const Sort made;
  return made;
}
} // namespace weir
