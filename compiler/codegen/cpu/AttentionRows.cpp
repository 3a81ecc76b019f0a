//===- AttentionRows.cpp - attention element by element ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel of an attention does that was made for an accelerator and is not for
// register tiles, where the host stands in: a query at a time, with a running maximum and
// sum, and no vectors.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/Attention.h"

using namespace mlir;
using namespace weir;

namespace {

class RowEmitter {
public:
  RowEmitter(KernelBuilder &r, plan::KernelOp kernel, Attention attention)
      : r(r), b(r.b), kernel(kernel), attention(std::move(attention)),
        target(r.bufferOf(this->attention.root->getResult(0))), f32(b.getF32Type()),
        rank(target.type.getRank()) {}

  void emit(Value begin, Value end) {
    rows = r.dim(attention.product.getLhs(), rank - 2);
    keys = r.dim(attention.logits, rank - 1);
    columns = r.constant(target.type.getShape().back());
    results = stackFloats(r, target.type.getShape().back());
    auto parts = kernel.getSchedule()[plan::schedule::parts];
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      SmallVector<Value> indices = r.blockIndices(part, target.dims, parts);
      at.assign(rank, Value());
      int64_t block = 1;
      for (int64_t i = 0; i < rank; ++i) {
        int64_t own = attention.order ? attention.order.getPermutation()[i] : i;
        at[own] = indices[i];
        if (own == rank - 2)
          block = parts[i];
      }
      Value first = r.mul(at[rank - 2], r.constant(block));
      Value last = r.minimum(rows, r.add(first, r.constant(block)));
      emitStepLoop(r, first, last, 1, [&](Value row) { emitRow(row); });
    });
  }

private:
  Value number(double value) {
    return arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(float(value)));
  }
  SmallVector<Value> place(Value row, Value last) const {
    SmallVector<Value> indices(at.begin(), at.begin() + rank - 2);
    indices.append({row, last});
    return indices;
  }
  void forColumns(function_ref<void(Value column)> body) {
    emitStepLoop(r, r.constant(0), columns, 1, body);
  }

  /// The logit of a query and a key. What makes rows blind may have stretched the weights.
  Value logitAt(Value row, Value key) {
    SmallVector<Value> indices = place(row, key);
    for (int64_t i = 0; i < rank - 1 && attention.blind; ++i)
      indices[i] =
          r.select(r.equal(r.dim(attention.logits, i), r.constant(1)), r.constant(0), indices[i]);
    return r.element(attention.logits, indices);
  }

  void emitRow(Value row) {
    Value zero = number(0), one = number(1),
          lowest = number(-std::numeric_limits<double>::infinity());
    DotGeneralOp product = attention.product;
    ScalarBuilder scalars(r, product, f32);
    Type valueType = getElementTypeOrSelf(product.getRhs().getType());
    Value blind = attention.blind ? weir::detail::broadcastElement(r, attention.blind,
                                                                   place(row, r.constant(0)))
                                  : Value();
    auto unlessBlind = [&](Value value, Value otherwise) -> Value {
      return blind ? arith::SelectOp::create(b, r.loc, blind, otherwise, value).getResult() : value;
    };
    forColumns([&](Value column) { BufferAccess::store(r, zero, results, f32, column); });
    SmallVector<Value> state = emitReductionLoops(
        r, ArrayRef<Value>(keys), ValueRange{lowest, zero},
        [&](ValueRange key, ValueRange carried) {
          Value logit = logitAt(row, key[0]);
          Value most = arith::MaxNumFOp::create(b, r.loc, logit, carried[0]);
          // -inf minus itself is no number, yet all of the row may be masked so far.
          Value isNone = arith::CmpFOp::create(b, r.loc, arith::CmpFPredicate::OEQ, most, lowest);
          Value shift = arith::SelectOp::create(b, r.loc, isNone, zero, most);
          auto weightOf = [&](Value value) -> Value {
            return math::ExpOp::create(b, r.loc, arith::SubFOp::create(b, r.loc, value, shift));
          };
          Value weight = unlessBlind(weightOf(logit), zero);
          Value factor = unlessBlind(weightOf(carried[0]), one);
          auto grow = [&](Value sum, Value term) -> Value {
            return arith::AddFOp::create(b, r.loc, arith::MulFOp::create(b, r.loc, sum, factor),
                                         term);
          };
          forColumns([&](Value column) {
            SmallVector<Value> indices(at.begin(), at.begin() + rank - 2);
            indices.append({key[0], column});
            if (product.getRhsContract()[0] == rank - 1)
              std::swap(indices[rank - 1], indices[rank - 2]);
            Value value = scalars.cast(weir::detail::broadcastElement(r, product.getRhs(), indices),
                                       valueType, f32, false);
            Value sum = grow(BufferAccess::load(r, results, f32, column),
                             arith::MulFOp::create(b, r.loc, weight, value));
            BufferAccess::store(r, sum, results, f32, column);
          });
          return SmallVector<Value>{most, grow(carried[1], weight)};
        });
    // A sum over no keys is 0.
    Value divisor = unlessBlind(r.select(r.less(r.constant(0), keys), state[1], one), one);
    Value root = attention.root->getResult(0);
    forColumns([&](Value column) {
      Value value =
          arith::DivFOp::create(b, r.loc, BufferAccess::load(r, results, f32, column), divisor);
      r.setAnchor(product, scalars.cast(value, f32, product.getAccumulator(), false));
      SmallVector<Value> own = place(row, column), indices(rank);
      for (int64_t i = 0; i < rank; ++i)
        indices[i] = own[attention.order ? attention.order.getPermutation()[i] : i];
      r.store(r.element(root, indices), target, indices);
      r.setAnchor({}, {});
    });
  }

  KernelBuilder &r;
  OpBuilder &b;
  plan::KernelOp kernel;
  Attention attention;
  const KernelBuilder::Buffer target;
  Type f32;
  int64_t rank;
  Value rows, keys, columns, results;
  SmallVector<Value> at; ///< the part's indices
};

} // namespace

void weir::emitAttentionRows(KernelBuilder &r, plan::KernelOp kernel, Attention attention,
                             Value begin, Value end) {
  RowEmitter(r, kernel, std::move(attention)).emit(begin, end);
}
