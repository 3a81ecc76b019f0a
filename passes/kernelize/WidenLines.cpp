//===- WidenLines.cpp - f16 and bf16 along lines computed in f32 -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/Passes.h"
#include "passes/kernelize/Clusters.h"
#include "passes/layout/Quantized.h"
#include "passes/layout/Rearrange.h"
#include "passes/layout/WidenHalves.h"
#include "passes/partition/Accelerators.h"

namespace weir {
#define GEN_PASS_DEF_WEIRWIDENLINESPASS
#include "passes/kernelize/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// A square or cube, which is rounded once, as a power is.
static Operation *withoutPower(PowOp pow, double exponent) {
  OpBuilder b(pow);
  Value base = pow.getLhs();
  auto times = [&](Value x, Value y) {
    auto made = MulOp::create(b, pow.getLoc(), pow.getType(), x, y);
    copyDevice(pow, made.getResult());
    return made;
  };
  MulOp product = times(base, base);
  if (exponent == 3)
    product = times(product.getResult(), base);
  pow.replaceAllUsesWith(product.getResult());
  pow.erase();
  return product;
}

namespace {
struct WidenLinesPass : weir::impl::WeirWidenLinesPassBase<WidenLinesPass> {
  void runOnOperation() override {
    unsigned mostInputs = mostKernelInputs(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !isOnAccelerator(&function.getBody().front().front()))
        continue;
      SmallVector<Operation *> work;
      function.walk([&](Block *block) {
        std::vector<Operation *> found = halvesOfLines(*block, mostInputs);
        work.append(found.begin(), found.end());
      });
      HalfWidener widener;
      for (Operation *op : work) {
        auto pow = dyn_cast<PowOp>(op);
        std::optional<double> exponent = pow ? numberOf(pow.getRhs()) : std::nullopt;
        widener.rewrite(op);
        if (pow)
          withoutPower(pow, *exponent);
      }
    }
  }
};
} // namespace
