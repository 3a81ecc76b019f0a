//===- InlineCalls.cpp - functions that were kept -------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Boundary.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "passes/simplify/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRINLINECALLSPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// `name` as the node is called that another call makes of it.
static Location renamed(Location loc, StringRef first, StringRef call) {
  auto named = dyn_cast<NameLoc>(loc);
  if (!named)
    return loc;
  StringRef rest = named.getName().getValue();
  if (!rest.consume_front(first) || !rest.starts_with("/"))
    return loc;
  return NameLoc::get(StringAttr::get(loc.getContext(), call + rest), named.getChildLoc());
}

namespace {
struct InlineCallsPass : weir::impl::WeirInlineCallsPassBase<InlineCallsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    // Bodies that are copied in may hold calls, too.
    for (;;) {
      SmallVector<func::CallOp> calls;
      for (auto function : module.getOps<func::FuncOp>())
        if (!function->hasAttr("weir.first_call"))
          function.walk([&](func::CallOp call) { calls.push_back(call); });
      if (calls.empty())
        break;
      for (func::CallOp call : calls) {
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        if (!callee || callee.isExternal()) {
          call.emitError("calls a function that the module does not have");
          return signalPassFailure();
        }
        inlineCall(call, callee);
      }
    }
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (function->hasAttr("weir.first_call"))
        function.erase();
  }

  static void inlineCall(func::CallOp call, func::FuncOp callee) {
    StringRef first = callee->getAttrOfType<StringAttr>("weir.first_call").getValue();
    StringRef name = nodeName(call.getLoc());
    OpBuilder b(call);
    IRMapping mapping;
    for (auto [argument, operand] : llvm::zip(callee.getArguments(), call.getOperands()))
      mapping.map(argument, acrossBoundary(b, call.getLoc(), operand));
    Block &body = callee.getBody().front();
    for (Operation &op : body.without_terminator())
      b.clone(op, mapping)->walk([&](Operation *copy) {
        copy->setLoc(renamed(copy->getLoc(), first, name));
      });
    for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(acrossBoundary(b, call.getLoc(), mapping.lookupOrDefault(value)));
    call.erase();
  }
};
} // namespace
