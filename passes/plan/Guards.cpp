//===- Guards.cpp - planned buffers that are watched at run time ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Guards.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::plan;

namespace {
/// The first and the last operation of a buffer's own block that use it, or have
/// a use inside.
struct Uses {
  Operation *first = nullptr, *last = nullptr;
};
} // namespace

static Uses usesOf(Value buffer) {
  Operation *def = buffer.getDefiningOp();
  Uses uses{def, def};
  bool any = false;
  SmallVector<Value> aliases{buffer};
  while (!aliases.empty())
    for (Operation *user : aliases.pop_back_val().getUsers()) {
      if (isa<ViewOp>(user))
        aliases.push_back(user->getResult(0));
      Operation *at = def->getBlock()->findAncestorOpInBlock(*user);
      if (!any || at->isBeforeInBlock(uses.first))
        uses.first = at;
      if (!any || uses.last->isBeforeInBlock(at))
        uses.last = at;
      any = true;
    }
  return uses;
}

StepTimes::Interval plan::guardedLifetime(Value buffer, const StepTimes &times) {
  auto [lower, upper] = times.lifetime(buffer);
  Uses uses = usesOf(buffer);
  return {std::min(lower, times.of(uses.first).first),
          std::max(upper, times.of(uses.last).second + 1)};
}

void plan::guard(Value buffer) {
  Uses uses = usesOf(buffer);
  if (uses.first == buffer.getDefiningOp() || uses.last->hasTrait<OpTrait::IsTerminator>())
    return;
  // Elements of strings and boxes are not bytes to fill.
  if (!cast<MemRefType>(buffer.getType()).getElementType().isIntOrFloat())
    return;
  OpBuilder b(uses.first);
  auto call = [&](int64_t isEnd) {
    LibraryOp::create(b, buffer.getLoc(), TypeRange(), "weir_kernel_guard_buffer",
                      ValueRange(buffer), ArrayRef<int64_t>{isEnd});
  };
  call(0);
  b.setInsertionPointAfter(uses.last);
  call(1);
}
