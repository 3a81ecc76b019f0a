//===- VerifyGraph.cpp - what holds of the simplified graph ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"
#include "passes/verify/Passes.h"

namespace weir {
#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "passes/verify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
struct VerifyGraphPass : weir::impl::VerifyGraphPassBase<VerifyGraphPass> {
  void runOnOperation() override {
    bool isGood = true;
    auto require = [&](Operation *op, bool holds, const Twine &what) {
      if (!holds)
        op->emitError("verify-graph: ") << what;
      isGood &= holds;
    };
    auto isRanked = [](Type type) { return !isa<UnrankedTensorType>(type); };
    getOperation().walk([&](Operation *op) {
      Dialect *dialect = op->getDialect();
      bool isKnown =
          isa<ModuleOp, plan::HasCollectiveOp, plan::AllReduceOp>(op) ||
          (dialect && (dialect->getNamespace() == "weir" || dialect->getNamespace() == "func"));
      require(op, isKnown, "an operation of another level: " + op->getName().getStringRef());
      require(op, !isa<DecomposeOpInterface>(op), "a composite is left");
      require(op, !isa<func::CallOp>(op), "a call of a function of the module is left");
      require(op, llvm::all_of(op->getResultTypes(), isRanked), "a result without a rank");
      for (Region &region : op->getRegions())
        for (Block &block : region)
          require(op, llvm::all_of(block.getArgumentTypes(), isRanked),
                  "an argument without a rank");
    });
    if (!isGood)
      signalPassFailure();
  }
};
} // namespace
