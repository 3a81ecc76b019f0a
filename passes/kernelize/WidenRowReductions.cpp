//===- WidenRowReductions.cpp - f16 and bf16 along lines computed in f32 -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Folding.h"
#include "dialects/weir/HalfWidener.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Quantized.h"
#include "passes/analysis/Clusters.h"
#include "passes/analysis/DeviceTraits.h"
#include "passes/kernelize/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRWIDENROWREDUCTIONSPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
struct WidenRowReductionsPass : weir::impl::WeirWidenRowReductionsPassBase<WidenRowReductionsPass> {
  using WeirWidenRowReductionsPassBase::WeirWidenRowReductionsPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !isOffloaded(&function.getBody().front().front()))
        continue;
      SmallVector<Operation *> work;
      function.walk([&](Block *block) {
        std::vector<Operation *> found = halvesOfRowReductions(*block, mostInputs);
        work.append(found.begin(), found.end());
      });
      HalfWidener widener;
      for (Operation *op : work) {
        auto pow = dyn_cast<PowOp>(op);
        std::optional<double> exponent = pow ? numberOf(pow.getRhs()) : std::nullopt;
        widener.rewrite(op);
        if (!pow)
          continue;
        // Rounded to halves once, as the power is.
        OpBuilder b(pow);
        pow.replaceAllUsesWith(powerAsProduct(b, pow, *exponent == 3));
        pow.erase();
      }
    }
  }
};
} // namespace
