//===- AttentionBlocks.cpp - what attention and its gradient share --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/AttentionBlocks.h"
#include "dialects/weir/Exponentials.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

AttentionBlocks::AttentionBlocks(KernelBuilder &r, plan::KernelOp kernel, TileShape scoresTile,
                                 int64_t rank)
    : r(r), b(r.b), kernel(kernel), scoresTile(scoresTile), f32(b.getF32Type()),
      vectorType(VectorType::get({scoresTile.lanes}, f32)), lanes(scoresTile.lanes), rank(rank) {}

Value AttentionBlocks::splat(double value) {
  return arith::ConstantOp::create(
      b, r.loc, SplatElementsAttr::get(vectorType, Attribute(b.getF32FloatAttr(value))));
}

Value AttentionBlocks::maskOf(Value left) {
  return vector::CreateMaskOp::create(b, r.loc, VectorType::get({lanes}, b.getI1Type()), left);
}

Value AttentionBlocks::exponential(Value x) {
  auto weight = math::ExpOp::create(b, r.loc, x);
  weight->setAttr(ofSoftmaxAttribute, b.getUnitAttr());
  return weight;
}

void AttentionBlocks::forVectors(int64_t count, function_ref<void(Value first, Value mask)> body) {
  emitTiled(
      r, count, lanes, [&](Value first) { body(first, Value()); },
      [&](Value first, int64_t left) { body(first, maskOf(r.constant(left))); });
}

void AttentionBlocks::forRows(Value count, int64_t height,
                              function_ref<void(int64_t height, Value first)> body) {
  APInt known;
  if (matchPattern(count, m_ConstantInt(&known)))
    return emitRowTiles(r, count, height, [&](Value first, int64_t rows) { body(rows, first); });
  constexpr int64_t few = 4;
  Value whole = r.constant(0);
  if (height > few) {
    // A decoder's single query is no row of a full tile.
    Value left = r.remainder(count, r.constant(height));
    Value isFew = r.less(left, r.constant(few + 1));
    whole = r.select(isFew, r.sub(count, left), count);
    emitStepLoop(r, r.constant(0), whole, height, [&](Value first) { body(height, first); });
  }
  emitStepLoop(r, whole, count, std::min(height, few),
               [&](Value first) { body(std::min(height, few), first); });
}

SmallVector<Value> AttentionBlocks::place(Value row, Value last) const {
  SmallVector<Value> indices(at.begin(), at.begin() + rank - 2);
  indices.append({row, last});
  return indices;
}

Value AttentionBlocks::operandVector(Value tensor, ValueRange indices, Value lane, Value mask) {
  VectorReader reader(r, lanes);
  reader.setLanes(lane, mask);
  return reader.broadcast(weir::detail::broadcastElement(reader, tensor, indices));
}

void AttentionBlocks::tile(DotGeneralOp dot, TileShape shape, Value depth,
                           const TileOperands &operands) {
  emitTile(
      r, kernel, dot, shape, {depth}, operands, [](int64_t) { return SmallVector<Value>(); },
      Value(), Value());
}
