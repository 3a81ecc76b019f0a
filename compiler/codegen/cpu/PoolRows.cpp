//===- PoolRows.cpp - rows of pools along the last dimension ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/PoolRows.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ScalarBuilder.h"
#include "dialects/weir/ShapeSupport.h"
#include "dialects/weir/Windows.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

PoolOp weir::poolOfRows(Operation *op) {
  // Elements of a window are written out.
  constexpr int64_t mostWrittenOut = 64;
  auto pool = dyn_cast_if_present<PoolOp>(op);
  return pool && pool.getKind() == PoolKind::Max && !pool.getChannelsLast() &&
                 !pool.getWindow().empty() &&
                 ShapedType::getNumElements(pool.getWindow()) <= mostWrittenOut
             ? pool
             : PoolOp();
}

namespace {
class PoolRow {
public:
  PoolRow(KernelBuilder &r, PoolOp pool)
      : r(r), pool(pool), image{cast<RankedTensorType>(pool.getType()).getRank(), false} {}

  /// The first and last places along spatial dimension `i`, [first, second), whose windows no
  /// border cuts: some of `count`.
  std::pair<Value, Value> insideOf(int64_t i, Value count) {
    Window w = windowOf(i);
    Value zero = r.constant(0), stride = r.constant(w.stride);
    Value first = r.constant(w.padBefore > 0 ? llvm::divideCeil(w.padBefore, w.stride) : 0);
    // The last element of a window at place o is o * stride - padBefore + reach.
    int64_t reach = (pool.getWindow()[i] - 1) * w.dilation;
    Value room = r.sub(sizeOf(i), r.constant(1 + reach - w.padBefore));
    Value second = r.divide(r.maximum(r.add(room, stride), zero), stride);
    first = r.minimum(first, count);
    return {first, r.maximum(r.minimum(second, count), first)};
  }

  /// Whether no border cuts the windows of a row along the dimensions before the last.
  Value isInside(ValueRange outer) {
    Value all = arith::ConstantIntOp::create(r.b, r.loc, 1, 1);
    for (int64_t i = 0; i + 1 < image.spatial(); ++i) {
      unsigned dim = image.spatialDim(i);
      auto [first, second] = insideOf(i, r.dim(pool.getResult(), dim));
      all = r.logicalAnd(all, r.less(r.sub(first, r.constant(1)), outer[dim]));
      all = r.logicalAnd(all, r.less(outer[dim], second));
    }
    return all;
  }

  /// The element at `indices`, whose window no border cuts.
  Value element(ValueRange indices) {
    Type narrow = getElementTypeOrSelf(pool.getType()), wide = accumulatorType(narrow);
    ScalarBuilder s(r, pool, wide);
    Value greatest = reductionStart(r, wide, ReduceKind::Max);
    int64_t count = ShapedType::getNumElements(pool.getWindow());
    for (int64_t number = 0; number < count; ++number) {
      SmallVector<Value> at(indices);
      int64_t rest = number;
      for (int64_t i = image.spatial(); i-- > 0;) {
        Window w = windowOf(i);
        int64_t step = rest % pool.getWindow()[i] * w.dilation;
        rest /= pool.getWindow()[i];
        Value &own = at[image.spatialDim(i)];
        own = r.add(r.mul(own, r.constant(w.stride)), r.constant(step - w.padBefore));
      }
      Value next = s.cast(r.element(pool.getOperand(), at), narrow, wide, false);
      greatest = reductionStep(r, s, ReduceKind::Max, greatest, next);
    }
    return s.cast(greatest, wide, narrow, false);
  }

private:
  Window windowOf(int64_t i) {
    return windowAt(pool.getStrides(), pool.getPads(), pool.getDilations(), i);
  }
  Value sizeOf(int64_t i) { return r.dim(pool.getOperand(), image.spatialDim(i)); }

  KernelBuilder &r;
  PoolOp pool;
  ImageLayout image;
};
} // namespace

void weir::emitPoolRow(KernelBuilder &r, PoolOp pool, ValueRange outer,
                       function_ref<void(ValueRange)> cut,
                       function_ref<void(ValueRange, Value)> whole) {
  PoolRow row(r, pool);
  int64_t last = outer.size();
  Value count = r.dim(pool.getResult(), last), zero = r.constant(0);
  auto [first, second] = row.insideOf(pool.getWindow().size() - 1, count);
  Value isInside = row.isInside(outer);
  first = r.select(isInside, first, count);
  second = r.select(isInside, second, count);
  auto indicesOf = [&](Value i) {
    SmallVector<Value> at(outer);
    at.push_back(i);
    return at;
  };
  // Either end: their code is there once.
  emitStepLoop(r, zero, r.constant(2), 1, [&](Value side) {
    Value isFront = r.equal(side, zero);
    auto loop = scf::ForOp::create(r.b, r.loc, r.select(isFront, zero, second),
                                   r.select(isFront, first, count), r.constant(1));
    r.b.setInsertionPointToStart(loop.getBody());
    cut(indicesOf(loop.getInductionVar()));
  });
  emitStepLoop(r, first, second, 1, [&](Value i) {
    SmallVector<Value> at = indicesOf(i);
    whole(at, row.element(at));
  });
}
