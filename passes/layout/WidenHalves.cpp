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
#include "passes/layout/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRWIDENHALVESPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
struct WidenHalvesPass : weir::impl::WeirWidenHalvesPassBase<WidenHalvesPass> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(halfUnitAttribute))
      return;
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isHalfArithmetic(op))
        work.push_back(op);
    });
    HalfWidener widener;
    for (Operation *op : work)
      widener.rewrite(op);
  }
};
} // namespace
