//===- FoldWeights.cpp - rearranges constants at compile time ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "passes/Passes.h"

namespace weir {
#define GEN_PASS_DEF_WEIRFOLDWEIGHTSPASS
#include "passes/layout/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

/// The same elements in an attribute of their own.
static DenseElementsAttr materialized(TypedAttr value) {
  auto arranged = dyn_cast<ArrangedAttr>(value);
  if (!arranged)
    return dyn_cast<DenseElementsAttr>(value);
  auto source = sourceBytes(value);
  if (!source) {
    llvm::consumeError(source.takeError());
    return {};
  }
  std::vector<char> bytes;
  llvm::Error error = arrangeBytes(arranged, *source, [&](ArrayRef<char> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return llvm::Error::success();
  });
  if (error) {
    llvm::consumeError(std::move(error));
    return {};
  }
  return DenseElementsAttr::getFromRawBuffer(cast<ShapedType>(value.getType()), bytes);
}

/// The constant that `op`, a transposition, reshape or broadcast of `value`,
/// yields. Broadcasts grow: only those of one element are folded.
static TypedAttr rearranged(Operation *op, Attribute value) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return dense.resizeSplat(type);
  if (isa<BroadcastToOp>(op))
    return {};
  auto typed = cast<TypedAttr>(value);
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (isa<ReshapeOp>(op)) {
    if (dense)
      return dense.reshape(type);
    if (TypedAttr view = reshapedConstant(typed, type))
      return view;
    // No strides describe it: its bytes are brought into order first.
    DenseElementsAttr whole = materialized(typed);
    return whole ? whole.reshape(type) : TypedAttr();
  }
  TypedAttr view = transposedConstant(typed, cast<TransposeOp>(op).getPermutation());
  // Dense elements stay dense: passes that compute with constants read those.
  return view && dense ? materialized(view) : view;
}

namespace {
struct FoldWeightsPass : weir::impl::WeirFoldWeightsPassBase<FoldWeightsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isa<TransposeOp, ReshapeOp, BroadcastToOp>(op))
        return;
      auto constant = op->getOperand(0).getDefiningOp<ConstantOp>();
      if (!constant)
        return;
      TypedAttr value = rearranged(op, constant.getValue());
      if (!value)
        return;
      OpBuilder b(op);
      auto made = ConstantOp::create(b, constant.getLoc(), value);
      op->getResult(0).replaceAllUsesWith(made);
      op->erase();
      if (constant->use_empty())
        constant.erase();
    });
  }
};
} // namespace
