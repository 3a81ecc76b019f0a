//===- Differentiate.cpp - gradients of functions -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/gradient/Gradient.h"
#include "passes/gradient/GradientRules.h"
#include "passes/gradient/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace weir {
#define GEN_PASS_DEF_WEIRDIFFERENTIATEPASS
#include "passes/gradient/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

bool isFloat(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

LogicalResult addGradient(func::FuncOp function, StringAttr name) {
  OpBuilder b(function);
  b.setInsertionPointAfter(function);
  auto made = cast<func::FuncOp>(b.clone(*function));
  made.setName(name);
  if (made->hasAttr("weir.entry"))
    made->setAttr("weir.entry", name);
  Block &body = made.front();
  Operation *end = body.getTerminator();
  SmallVector<Value> ys, seeds, xs, results;
  for (BlockArgument argument : body.getArguments())
    if (isFloat(argument.getType()))
      xs.push_back(argument);
  for (Value result : end->getOperands())
    if (isFloat(result.getType())) {
      ys.push_back(result);
      seeds.push_back(body.addArgument(result.getType(), made.getLoc()));
    }
  b.setInsertionPoint(end);
  FailureOr<SmallVector<Value>> gradients = differentiate(ys, seeds, xs, b);
  if (failed(gradients))
    return failure();
  gradient::Adjoint a(b, made.getLoc());
  for (auto [x, gradient] : llvm::zip(xs, *gradients))
    results.push_back(gradient ? gradient : a.zeros(x));
  end->setOperands(results);
  made.setType(b.getFunctionType(body.getArgumentTypes(), ValueRange(results).getTypes()));
  made.removeArgAttrsAttr();
  made.removeResAttrsAttr();
  for (size_t i = 0; i < body.getNumArguments(); ++i)
    made.setArgAttr(i, "weir.name", b.getStringAttr("x" + Twine(i)));
  for (size_t i = 0; i < results.size(); ++i)
    made.setResultAttr(i, "weir.name", b.getStringAttr("y" + Twine(i)));
  return success();
}

struct Differentiate : weir::impl::WeirDifferentiatePassBase<Differentiate> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    getOperation().walk([&](func::FuncOp function) {
      if (function->hasAttr("weir.gradient"))
        functions.push_back(function);
    });
    for (func::FuncOp function : functions) {
      auto name = dyn_cast<StringAttr>(function->removeAttr("weir.gradient"));
      if (!name || getOperation().lookupSymbol(name)) {
        function.emitError("asks for a gradient without a name of its own");
        return signalPassFailure();
      }
      if (failed(addGradient(function, name)))
        return signalPassFailure();
    }
  }
};

} // namespace
