//===- Decompose.cpp - expands composites ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "passes/simplify/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRDECOMPOSEPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {
/// A sum, or mean, of complex numbers is one of their real and one of their imaginary parts.
/// Kernels add floats up in many sums at once, and each pair of floats to one: of some ten thousand
/// terms only four digits were right.
void splitInParts(ReduceOp op) {
  OpBuilder b(op);
  auto ofPart = [&](Value part) -> Value {
    auto type = cast<RankedTensorType>(op.getType());
    Type element = cast<RankedTensorType>(part.getType()).getElementType();
    return ReduceOp::create(b, op.getLoc(), type.clone(element), part, op.getKindAttr(),
                            op.getAxesAttr(), op.getKeepDimsAttr());
  };
  Value real = ofPart(RealOp::create(b, op.getLoc(), op.getOperand()));
  Value imaginary = ofPart(ImagOp::create(b, op.getLoc(), op.getOperand()));
  op.replaceAllUsesWith(Value(ComplexOp::create(b, op.getLoc(), op.getType(), real, imaginary)));
  op.erase();
}

struct DecomposePass : weir::impl::WeirDecomposePassBase<DecomposePass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<DecomposeOpInterface>(op))
        work.push_back(op);
    });
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      OpBuilder b(op);
      // A decomposition may use composites in turn.
      struct Listener : OpBuilder::Listener {
        SmallVector<Operation *> &work;
        explicit Listener(SmallVector<Operation *> &work) : work(work) {}
        void notifyOperationInserted(Operation *made, OpBuilder::InsertPoint) override {
          if (isa<DecomposeOpInterface>(made))
            work.push_back(made);
        }
      } listener(work);
      b.setListener(&listener);
      auto results = cast<DecomposeOpInterface>(op).decompose(b);
      if (failed(results)) {
        op->emitError("this form cannot be expanded");
        return signalPassFailure();
      }
      op->replaceAllUsesWith(*results);
      op->erase();
    }
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp op) {
      auto type = dyn_cast<RankedTensorType>(op.getType());
      if (type && isa<ComplexType>(type.getElementType()) &&
          (op.getKind() == ReduceKind::Sum || op.getKind() == ReduceKind::Mean))
        sums.push_back(op);
    });
    for (ReduceOp op : sums)
      splitInParts(op);
    // An expansion may know sizes that its composite did not.
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        function.setType(
            FunctionType::get(&getContext(), function.getArgumentTypes(),
                              function.getBody().front().getTerminator()->getOperandTypes()));
  }
};
} // namespace
