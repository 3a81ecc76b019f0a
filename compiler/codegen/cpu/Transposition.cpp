//===- Transposition.cpp - transpositions by square blocks -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transposition that moves the last dimension reads or writes along a stride,
// and a loop over the result meets each line of the cache anew for every element.
// Blocks of as many rows as a vector has lanes are read along the operand's last
// dimension, turned in registers, and written along the result's (Eklundh, "A fast
// computer method for matrix transposing", 1972).
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

/// At each step, blocks of half the size change places across the diagonal.
void weir::turn(OpBuilder &b, Location loc, SmallVectorImpl<Value> &rows) {
  int64_t lanes = rows.size();
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool isLeft = (lane & half) == 0;
      upper.push_back(isLeft ? lane : lanes + lane - half);
      lower.push_back(isLeft ? lane + half : lanes + lane);
    }
    for (int64_t row = 0; row < lanes; ++row) {
      if (row & half)
        continue;
      Value a = rows[row], c = rows[row + half];
      rows[row] = vector::ShuffleOp::create(b, loc, a, c, upper);
      rows[row + half] = vector::ShuffleOp::create(b, loc, a, c, lower);
    }
  }
}

/// The same of elements narrower than 32 bits, whose vectors of 16 bytes have instructions that
/// take elements of two rows in turn: as often as half and half of the rows are dealt out like
/// that, each element goes one bit of its place further.
static void dealOut(OpBuilder &b, Location loc, SmallVectorImpl<Value> &rows) {
  int64_t lanes = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    low.push_back(lane / 2 + lane % 2 * lanes);
    high.push_back(lanes / 2 + lane / 2 + lane % 2 * lanes);
  }
  for (int64_t round = 1; round < lanes; round *= 2) {
    SmallVector<Value> next;
    for (int64_t row = 0; row < lanes / 2; ++row) {
      next.push_back(vector::ShuffleOp::create(b, loc, rows[row], rows[row + lanes / 2], low));
      next.push_back(vector::ShuffleOp::create(b, loc, rows[row], rows[row + lanes / 2], high));
    }
    rows.assign(next.begin(), next.end());
  }
}

LogicalResult weir::emitTransposition(KernelBuilder &r, plan::KernelOp kernel, Value begin,
                                      Value end) {
  auto op = *kernel.getBody().front().getOps<TransposeOp>().begin();
  r.loc = op.getLoc();
  const KernelBuilder::Buffer target = r.bufferOf(op.getResult()),
                              source = r.bufferOf(op.getOperand());
  ArrayRef<int64_t> permutation = op.getPermutation();
  int64_t rank = permutation.size();
  int64_t lanes = kernel.getSchedule()[plan::schedule::tile][2];
  auto tiles = kernel.getSchedule()[plan::schedule::parts];
  // Elements between neighbours along the result's dimensions, in the operand and
  // in the result; dimensions that stay together count as one.
  SmallVector<Value> inSource(rank), inTarget(rank), sizes(target.dims);
  Value step = r.constant(1);
  for (int64_t i = rank - 1; i >= 0; --i) {
    inSource[llvm::find(permutation, i) - permutation.begin()] = step;
    step = r.mul(step, source.dims[i]);
  }
  step = r.constant(1);
  for (int64_t i = rank - 1; i >= 0; --i) {
    inTarget[i] = step;
    step = r.mul(step, target.dims[i]);
  }
  int64_t across = llvm::find(permutation, rank - 1) - permutation.begin();
  if (ArrayRef<int64_t> merged = kernel.getSchedule()[plan::schedule::merged]; !merged.empty()) {
    int64_t first = merged[0], last = merged[1];
    for (int64_t i = first + 1; i < last; ++i)
      sizes[first] = r.mul(sizes[first], sizes[i]);
    auto join = [&](SmallVector<Value> &values, bool keepsFirst) {
      if (!keepsFirst)
        values[first] = values[last - 1];
      values.erase(values.begin() + first + 1, values.begin() + last);
    };
    join(sizes, true);
    join(inSource, false);
    join(inTarget, false);
    across = across >= last ? across - (last - first - 1) : std::min(across, first);
  }
  int64_t along = sizes.size() - 1; // what the result's vectors run along
  // Bits, whatever they stand for: vectors have no elements without a sign, and no halves
  // that code would convert.
  int64_t bytes = elementBytes(target.type.getElementType());
  Type element = r.b.getIntegerType(8 * bytes);
  bool isNarrow = bytes < 4;
  auto vectorType = VectorType::get({lanes}, element);

  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, sizes, tiles);
    at[across] = r.mul(at[across], r.constant(tiles[across]));
    at[along] = r.mul(at[along], r.constant(tiles[along]));
    Value from = r.constant(0), to = r.constant(0);
    for (auto [i, index] : llvm::enumerate(at)) {
      from = r.add(from, r.mul(index, inSource[i]));
      to = r.add(to, r.mul(index, inTarget[i]));
    }
    Value rows = r.minimum(r.constant(tiles[across]), r.sub(sizes[across], at[across]));
    Value columns = r.minimum(r.constant(tiles[along]), r.sub(sizes[along], at[along]));
    // `i` counts along `across`, neighbours in the operand; `j` those in the result.
    auto address = [&](const KernelBuilder::Buffer &buffer, Value base, ArrayRef<Value> steps,
                       Value i, Value j) {
      Value linear = r.add(base, r.add(r.mul(i, steps[across]), r.mul(j, steps[along])));
      return BufferAccess::address(r, buffer.pointer, element, linear);
    };
    unsigned alignment = bytes;
    auto block = [&](Value i, Value j) {
      SmallVector<Value> values;
      for (int64_t lane = 0; lane < lanes; ++lane)
        values.push_back(LLVM::LoadOp::create(
            r.b, r.loc, vectorType, address(source, from, inSource, i, r.add(j, r.constant(lane))),
            alignment));
      isNarrow ? dealOut(r.b, r.loc, values) : turn(r.b, r.loc, values);
      for (int64_t lane = 0; lane < lanes; ++lane)
        LLVM::StoreOp::create(r.b, r.loc, values[lane],
                              address(target, to, inTarget, r.add(i, r.constant(lane)), j),
                              alignment);
    };
    auto single = [&](Value i, Value j) {
      Value value =
          LLVM::LoadOp::create(r.b, r.loc, element, address(source, from, inSource, i, j));
      LLVM::StoreOp::create(r.b, r.loc, value, address(target, to, inTarget, i, j));
    };
    auto singles = [&](Value firstRow, Value lastRow, Value firstColumn, Value lastColumn) {
      emitStepLoop(r, firstRow, lastRow, 1, [&](Value i) {
        emitStepLoop(r, firstColumn, lastColumn, 1, [&](Value j) { single(i, j); });
      });
    };
    auto whole = [&](Value count) {
      return r.mul(r.divide(count, r.constant(lanes)), r.constant(lanes));
    };
    Value zero = r.constant(0), wholeRows = whole(rows), wholeColumns = whole(columns);
    emitStepLoop(r, zero, wholeRows, lanes, [&](Value i) {
      emitStepLoop(r, zero, wholeColumns, lanes, [&](Value j) { block(i, j); });
    });
    singles(zero, wholeRows, wholeColumns, columns);
    singles(wholeRows, rows, zero, columns);
  });
  return success();
}
