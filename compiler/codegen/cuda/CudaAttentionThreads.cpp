//===- CudaAttentionThreads.cpp - attention in f32 ------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A thread has a few rows and columns of both products. Operands come by slices
// into shared memory, and weights go from one product to the other by way of
// it.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaAttention.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

/// In threads that each have rows and columns of both products.
class ThreadForm : public AttentionEmitter {
public:
  using AttentionEmitter::AttentionEmitter;

  void emit() {
    bool isSmall = !ShapedType::isDynamic(knownRows) && knownRows <= lines;
    bool isWide = std::max(size, columns) > 64,
         isOpen = ShapedType::isDynamic(knownRows) || ShapedType::isDynamic(knownKeys);
    columnsEach = llvm::divideCeil(columns, across);
    // With one row a thread, all heads fit. Wide ones need more registers than
    // two blocks leave where sizes are open and columns are no vectors.
    bool isAlone = isWide && isOpen && columnsEach % 4 != 0;
    place(threads, isSmall ? lines : 4 * lines, across * keysEach, isAlone ? threads : 2 * threads,
          isSmall ? std::max(size, columns) : widest);
    if (isWide)
      itemsAtOnce = 4; // sums take the registers
    rowsEach = tileRows / lines;
    x = r.remainder(thread, index(across));
    y = r.divide(thread, index(across));
    queries = r.shared(f32, {depth, tileRows + padding});
    keys = r.shared(f32, {depth, tileKeys});
    weights = r.shared(f32, {tileKeys, tileRows + padding});
    values = r.shared(f32, {depth, columnsEach * across});
    SmallVector<Row> rows;
    for (int64_t i = 0; i < rowsEach; ++i)
      rows.push_back(rowAt(r.add(r.mul(y, index(rowsEach)), index(i))));
    SmallVector<Value> none(rowsEach * columnsEach, zero);
    SmallVector<Value> sums = alongKeys(
        index(0), keysEnd(), tileKeys, rows, none, [&](Value first, SmallVector<Value> &sums) {
          SmallVector<Value> scores = multiplyKeys(first);
          for (int64_t i = 0; i < rowsEach; ++i) {
            auto own = MutableArrayRef(scores).slice(i * keysEach, keysEach);
            for (int64_t j = 0; j < keysEach; ++j)
              own[j] = logitOf(own[j], rows[i], r.add(first, keyOf(j)));
            Value factor = weigh(own, rows[i], across);
            for (Value &sum : MutableArrayRef(sums).slice(i * columnsEach, columnsEach))
              sum = multiply(sum, factor);
            for (int64_t j = 0; j < keysEach; ++j)
              memref::StoreOp::create(
                  b, r.loc, own[j], weights,
                  ValueRange{keyOf(j), r.add(r.mul(y, index(rowsEach)), index(i))});
          }
          sums = multiplyValues(first, sums);
        });
    for (int64_t i = 0; i < rowsEach; ++i) {
      Value divisor = divisorOf(rows[i], across);
      r.onlyIf(rows[i].exists, [&] {
        for (int64_t j = 0; j < columnsEach; ++j)
          store(rows[i], r.add(x, index(j * across)), (j + 1) * across <= columns,
                arith::DivFOp::create(b, r.loc, sums[i * columnsEach + j], divisor));
      });
    }
  }

private:
  static constexpr int64_t threads = 256, widest = 128, across = 16, lines = threads / across,
                           keysEach = 4, depth = 16, padding = 4;

  Value keyOf(int64_t j) { return r.add(x, index(j * across)); }

  /// An operand as its product has it, in f32.
  static AttentionOperand whole(Value operand) {
    AttentionOperand found;
    found.source = operand;
    for (int64_t i = 0; i < cast<RankedTensorType>(operand.getType()).getRank(); ++i)
      found.order.push_back(i);
    return found;
  }
  Value widened(Value value, Value operand) {
    return scoreScalars.cast(value, getElementTypeOrSelf(operand.getType()), f32, false);
  }

  /// Adds products of lines in shared memory: of `left` from line `from` on,
  /// and of `right`.
  void multiplyLines(Value left, Value right, Value from, int64_t rightEach,
                     SmallVector<Value> &sums) {
    for (int64_t d = 0; d < depth; ++d) {
      SmallVector<Value> ofLeft, ofRight;
      Value line = r.add(from, index(d));
      for (int64_t i = 0; i < rowsEach; ++i)
        ofLeft.push_back(memref::LoadOp::create(
            b, r.loc, left, ValueRange{line, r.add(r.mul(y, index(rowsEach)), index(i))}));
      for (int64_t j = 0; j < rightEach; ++j)
        ofRight.push_back(memref::LoadOp::create(
            b, r.loc, right, ValueRange{index(d), r.add(x, index(j * across))}));
      for (int64_t i = 0; i < rowsEach; ++i)
        for (int64_t j = 0; j < rightEach; ++j)
          sums[i * rightEach + j] =
              math::FmaOp::create(b, r.loc, ofLeft[i], ofRight[j], sums[i * rightEach + j]);
    }
  }

  /// Runs `step` for each slice of `count`, with where it begins and the sums.
  SmallVector<Value> bySlices(int64_t count, SmallVector<Value> sums,
                              function_ref<void(Value, SmallVector<Value> &)> step) {
    auto loop = scf::ForOp::create(b, r.loc, index(0), index(count), index(depth), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    step(loop.getInductionVar(), next);
    r.barrier();
    scf::YieldOp::create(b, r.loc, next);
    return loop.getResults();
  }

  /// Scores of the thread's rows with its keys of the block from `first` on.
  SmallVector<Value> multiplyKeys(Value first) {
    Value left = attention.scores.getLhs(), right = attention.scores.getRhs();
    SmallVector<Value> none(rowsEach * keysEach, zero);
    return bySlices(size, none, [&](Value from, SmallVector<Value> &sums) {
      auto withinSize = [&](Value place, function_ref<Value(Value)> body) {
        return within(size, size % depth == 0, r.add(from, place), zero, body);
      };
      forItems(tileRows * depth, [&](Value item) {
        Value row = r.divide(item, index(depth)), line = r.remainder(item, index(depth));
        Value value = withinSize(line, [&](Value place) {
          return widened(queryAt(whole(left), placedRow(row), place, wholeRows), left);
        });
        memref::StoreOp::create(b, r.loc, value, queries, ValueRange{line, row});
      });
      forItems(tileKeys * depth, [&](Value item) {
        bool byRows = attention.keysAreRows();
        int64_t inner = byRows ? depth : tileKeys;
        Value outside = r.divide(item, index(inner)), inside = r.remainder(item, index(inner));
        Value line = byRows ? inside : outside, key = byRows ? outside : inside;
        Value value = withinSize(line, [&](Value place) {
          return widened(keyAt(whole(right), r.add(first, key), place), right);
        });
        memref::StoreOp::create(b, r.loc, value, keys, ValueRange{line, key});
      });
      r.barrier();
      multiplyLines(queries, keys, index(0), keysEach, sums);
    });
  }

  /// Adds the values of the block from `first` on, by the weights in shared
  /// memory.
  SmallVector<Value> multiplyValues(Value first, SmallVector<Value> sums) {
    Value tensor = attention.product.getRhs();
    int64_t width = columnsEach * across;
    return bySlices(tileKeys, sums, [&](Value from, SmallVector<Value> &sums) {
      forItems(depth * width, [&](Value item) {
        Value line = r.divide(item, index(width)), column = r.remainder(item, index(width));
        Value key = r.add(first, r.add(from, line));
        Value value = within(columns, width == columns, column, zero, [&](Value column) {
          return widened(valueAt(whole(tensor), key, column), tensor);
        });
        if (!wholeKeys)
          value = choose(r.less(key, keyCount), value, zero);
        memref::StoreOp::create(b, r.loc, value, values, ValueRange{line, column});
      });
      r.barrier();
      multiplyLines(weights, values, from, columnsEach, sums);
    });
  }

  int64_t rowsEach = 1, columnsEach = 1;
  Value x, y, queries, keys, weights, values;
};

} // namespace

void weir::emitAttentionOnThreads(const CudaKernel &k, Attention attention) {
  ThreadForm(k, std::move(attention)).emit();
}
