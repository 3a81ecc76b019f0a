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
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense;
  auto source = sourceBytes(value);
  if (!source) {
    llvm::consumeError(source.takeError());
    return {};
  }
  std::vector<char> bytes;
  if (auto arranged = dyn_cast<ArrangedAttr>(value)) {
    llvm::Error error = arrangeBytes(arranged, *source, [&](ArrayRef<char> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return llvm::Error::success();
    });
    if (error) {
      llvm::consumeError(std::move(error));
      return {};
    }
    *source = bytes;
  }
  bool isSplat = false;
  auto type = cast<ShapedType>(value.getType());
  if (!DenseElementsAttr::isValidRawBuffer(type, *source, isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, *source);
}

/// Rows of a constant, picked by constant indices (gates of a recurrent layer in
/// another order, say).
static TypedAttr gathered(GatherOp op, TypedAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto result = dyn_cast<RankedTensorType>(op.getType());
  auto indices = constantIntegers(op.getIndices());
  constexpr int64_t mostBytes = 1 << 28;
  if (!indices || !result || !result.hasStaticShape() || op.getBatchDims() != 0)
    return {};
  DenseElementsAttr dense = materialized(value);
  unsigned bits = type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 0;
  if (!dense || dense.isSplat() || bits == 0 || bits % 8 ||
      result.getNumElements() * (bits / 8) > mostBytes)
    return {};
  int64_t axis = op.getAxis(), size = type.getDimSize(axis), outer = 1, inner = bits / 8;
  for (int64_t i = 0; i < axis; ++i)
    outer *= type.getDimSize(i);
  for (int64_t i = axis + 1; i < type.getRank(); ++i)
    inner *= type.getDimSize(i);
  ArrayRef<char> from = dense.getRawData();
  std::vector<char> to;
  to.reserve(result.getNumElements() * (bits / 8));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : *indices) {
      if (index < 0 && op.getWrapNegative())
        index += size;
      if (index < 0 || index >= size)
        return {}; // an error when it runs
      ArrayRef<char> row = from.slice((o * size + index) * inner, inner);
      to.insert(to.end(), row.begin(), row.end());
    }
  return DenseElementsAttr::getFromRawBuffer(result, to);
}

/// The constant that `op`, a transposition, reshape or broadcast of `value`,
/// yields. Broadcasts grow: only those of one element are folded.
static TypedAttr rearranged(Operation *op, Attribute value) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return {};
  if (auto strings = dyn_cast<DenseStringElementsAttr>(value);
      strings && strings.isSplat())
    return DenseElementsAttr::get(
        type, ArrayRef<StringRef>{strings.getSplatValue<StringRef>()});
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return dense.resizeSplat(type);
  if (isa<BroadcastToOp>(op))
    return {};
  if (auto gather = dyn_cast<GatherOp>(op))
    return gathered(gather, cast<TypedAttr>(value));
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
  // Dense elements stay dense where there are few: passes that compute with
  // constants read those. Many would be in memory twice.
  constexpr int64_t fewElements = 4096;
  return view && dense && dense.getNumElements() <= fewElements ? materialized(view) : view;
}

namespace {
struct FoldWeightsPass : weir::impl::WeirFoldWeightsPassBase<FoldWeightsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isa<TransposeOp, ReshapeOp, BroadcastToOp, GatherOp>(op))
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
