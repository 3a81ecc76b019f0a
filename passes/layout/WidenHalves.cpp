//===- WidenHalves.cpp - f16 and bf16 computed in f32 ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/HalfWidener.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Target.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/layout/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRWIDENHALVESPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
/// Whether what `function` computes is to be widened: all of it, where the module runs on
/// devices without halves alone; and, where devices differ, once they are known, that of such
/// devices.
static bool isWidened(func::FuncOp function, bool wholeModule) {
  if (!function->hasAttr("weir.device_index"))
    return wholeModule;
  // A whole module was widened before, and some of it may have been rounded since.
  const DeviceKind *kind = kindAround(function);
  kind = kind ? kind : hostKind();
  return !wholeModule && kind && !kind->computesHalves();
}

struct WidenHalvesPass : weir::impl::WeirWidenHalvesPassBase<WidenHalvesPass> {
  void runOnOperation() override {
    bool wholeModule = targetOf(getOperation()).getWidensHalves();
    SmallVector<Operation *> work;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isWidened(function, wholeModule))
        function.walk([&](Operation *op) {
          if (isHalfArithmetic(op) && !op->hasAttr(tileUnitAttribute))
            work.push_back(op);
        });
    HalfWidener widener;
    for (Operation *op : work)
      widener.rewrite(op);
  }
};
} // namespace
