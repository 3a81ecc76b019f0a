//===- WeightOnly.cpp - products by weights of a few bits --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of f32 by a matrix whose numbers of 2, 4 or 8 bits stay as they are in memory,
// blocks of them sharing a scale (passes/analysis/WeightOnly.h). A lane holds a word: so
// many numbers of its column as 32 bits take, which follow each other in the sum. A vector
// of words becomes vectors of f32 one after the other, by a shift and a table of 16 floats
// in a register, where there is one, else by two shifts.
//
// For few rows words become floats on their way to the sums: the matrix is read once, at
// the speed of memory. A single row sums a block's numbers before it multiplies with their
// scale. For more rows a panel's floats for a part of the depth wait on the stack, and the
// register tiles of products pass by.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/WeightOnlyReader.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

/// So many sums of one column, added up at a block's end, do not wait for each other.
constexpr int64_t chains = 2;

class WeightOnlyEmitter : WeightOnlyReader {
public:
  WeightOnlyEmitter(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                    DequantizeBlocksOp weights)
      : WeightOnlyReader(r, kernel, dot, weights), depthBlock(weightOnlyDepth(weights)) {}

  void emit(Value begin, Value end);

private:
  /// Scales and zero points of a block, a vector each. Zeros are empty where all are one
  /// number.
  struct Block {
    SmallVector<Value> scales, zeros;
  };

  bool hasTable() const { return lanes == 16 && bits <= 4; }

  Block blockAt(const Part &part, Value number);
  /// The words of the panel's row `word`, as `numbers` takes them.
  SmallVector<Value> wordsAt(const Part &part, Value word);
  /// Number `i` of each word, less the zero point.
  Value numbers(Value word, int64_t i, Value zero);

  void direct(Part part, Value offset, int64_t rows);
  /// Adds the first `count` numbers of each word to `sums`, [rows, vectors].
  void addWord(const Part &part, const Block *scaled, const Block &block, ArrayRef<Value> from,
               Value word, int64_t count, SmallVectorImpl<Value> &sums);
  void tiled(const Part &part);
  /// Puts `count` rows of the panel from `from` on, whole blocks, on the stack.
  void dequantize(const Part &part, Value from, int64_t count);

  Value panel, sums;
  int64_t depthBlock;
};

} // namespace

SmallVector<Value> WeightOnlyEmitter::wordsAt(const Part &part, Value word) {
  SmallVector<Value> loaded = loadWords(part, word);
  if (hasTable())
    return loaded;
  // Without its highest bit a number has a sign, and is half of their count less.
  uint32_t pattern = 0;
  for (int64_t i = 0; i < perWord; ++i)
    pattern |= 1u << (bits * i + bits - 1);
  for (Value &value : loaded)
    value = arith::XOrIOp::create(b, r.loc, value, splat(static_cast<int32_t>(pattern)));
  return loaded;
}

Value WeightOnlyEmitter::numbers(Value word, int64_t i, Value blockZero) {
  Value made;
  if (hasTable()) {
    if (i)
      word = arith::ShRUIOp::create(b, r.loc, word, splat(static_cast<int32_t>(bits * i)));
    SmallVector<float> table;
    for (int64_t n = 0; n < 16; ++n)
      table.push_back(static_cast<float>(n & ((1 << bits) - 1)) - zero);
    Value entries = arith::ConstantOp::create(
        b, r.loc, DenseElementsAttr::get(floats(), ArrayRef<float>(table)));
    made = LLVM::CallIntrinsicOp::create(b, r.loc, floats(),
                                         b.getStringAttr("llvm.x86.avx512.permvar.sf.512"),
                                         ValueRange{entries, word})
               ->getResult(0);
  } else {
    int32_t left = 32 - bits * (i + 1), right = 32 - bits;
    if (left)
      word = arith::ShLIOp::create(b, r.loc, word, splat(left));
    word = arith::ShRSIOp::create(b, r.loc, word, splat(right));
    made = arith::SIToFPOp::create(b, r.loc, floats(), word);
    float less = zero - static_cast<float>(1 << (bits - 1));
    if (!blockZero && less != 0)
      made = arith::SubFOp::create(b, r.loc, made, splat(less));
  }
  return blockZero ? Value(arith::SubFOp::create(b, r.loc, made, blockZero)) : made;
}

WeightOnlyEmitter::Block WeightOnlyEmitter::blockAt(const Part &part, Value number) {
  Block found;
  for (int64_t v = 0; v < part.vectors; ++v) {
    found.scales.push_back(shared(scales, part, number, v));
    if (!zeros)
      continue;
    Value own = shared(*zeros, part, number, v);
    if (!hasTable())
      own = arith::SubFOp::create(b, r.loc, own, splat(static_cast<float>(1 << (bits - 1))));
    found.zeros.push_back(own);
  }
  return found;
}

void WeightOnlyEmitter::addWord(const Part &part, const Block *scaled, const Block &block,
                                ArrayRef<Value> from, Value word, int64_t count,
                                SmallVectorImpl<Value> &sums) {
  SmallVector<Value> loaded = wordsAt(part, word);
  int64_t rows = from.size();
  Value first = r.mul(word, r.constant(perWord));
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> right;
    for (int64_t v = 0; v < part.vectors; ++v) {
      right.push_back(numbers(loaded[v], i, zeros ? block.zeros[v] : Value()));
      if (scaled)
        right[v] = arith::MulFOp::create(b, r.loc, right[v], scaled->scales[v]);
    }
    for (int64_t row = 0; row < rows; ++row) {
      Value left = BufferAccess::load(r, lhs.pointer, b.getF32Type(),
                                      r.add(r.add(from[row], first), r.constant(i)));
      left = vector::BroadcastOp::create(b, r.loc, floats(), left);
      for (int64_t v = 0; v < part.vectors; ++v) {
        // A single row has several sums of a column.
        int64_t chain = scaled ? 0 : i % chains;
        Value &sum = sums[(chain * rows + row) * part.vectors + v];
        sum = vector::FMAOp::create(b, r.loc, left, right[v], sum);
      }
    }
  }
}

void WeightOnlyEmitter::direct(Part part, Value offset, int64_t rows) {
  part.isStreamed = true;
  Value row = r.add(part.first, offset);
  SmallVector<Value> from;
  for (int64_t i = 0; i < rows; ++i)
    from.push_back(rowAddress(r.add(row, r.constant(i))));
  bool isScaled = rows > 1;
  int64_t wordsOfBlock = block / perWord, whole = depth / block;
  Value none = splat(0.0f);

  // Blocks of so many numbers, the first of which is in word `word`.
  auto addBlock = [&](Value number, Value word, int64_t count, ValueRange carried) {
    Block own = blockAt(part, number);
    SmallVector<Value> totals(carried), inits(carried);
    if (!isScaled)
      inits.assign(chains * part.vectors, none);
    auto add = [&](Value at, int64_t numbers, ValueRange before) {
      SmallVector<Value> next(before);
      addWord(part, isScaled ? &own : nullptr, own, from, at, numbers, next);
      return next;
    };
    SmallVector<Value> sums = inits;
    if (count >= perWord)
      sums = emitReductionLoops(r, {r.constant(count / perWord)}, inits,
                                [&](ValueRange at, ValueRange before) {
                                  return add(r.add(word, at[0]), perWord, before);
                                });
    if (int64_t rest = count % perWord)
      sums = add(r.add(word, r.constant(count / perWord)), rest, sums);
    if (isScaled)
      return sums;
    for (int64_t v = 0; v < part.vectors; ++v) {
      Value sum = sums[v];
      for (int64_t chain = 1; chain < chains; ++chain)
        sum = arith::AddFOp::create(b, r.loc, sum, sums[chain * part.vectors + v]);
      totals[v] = vector::FMAOp::create(b, r.loc, sum, own.scales[v], carried[v]);
    }
    return totals;
  };
  SmallVector<Value> totals(rows * part.vectors, none);
  if (whole)
    totals =
        emitReductionLoops(r, {r.constant(whole)}, totals, [&](ValueRange at, ValueRange carried) {
          return addBlock(at[0], r.mul(at[0], r.constant(wordsOfBlock)), block, carried);
        });
  if (int64_t rest = depth % block)
    totals = addBlock(r.constant(whole), r.constant(whole * wordsOfBlock), rest, totals);
  storeTile(
      r, kernel, dot, {rows, part.vectors, lanes}, totals,
      [&](int64_t i) { return indicesOf(r.add(row, r.constant(i))); }, part.column, part.limit);
}

void WeightOnlyEmitter::dequantize(const Part &part, Value from, int64_t count) {
  int64_t wordsOfBlock = block / perWord;
  Value firstBlock = r.divide(from, r.constant(block));
  VectorReader writer(r, lanes);
  emitStepLoop(r, r.constant(0), r.constant(llvm::divideCeil(count, block)), 1, [&](Value number) {
    Value block = r.add(firstBlock, number);
    Block own = blockAt(part, block);
    emitStepLoop(r, r.constant(0), r.constant(wordsOfBlock), 1, [&](Value word) {
      SmallVector<Value> loaded =
          wordsAt(part, r.add(r.mul(block, r.constant(wordsOfBlock)), word));
      Value local = r.add(r.mul(number, r.constant(wordsOfBlock)), word);
      Value row = r.mul(local, r.constant(perWord * weightOnlyPanel));
      for (int64_t i = 0; i < perWord; ++i)
        for (int64_t v = 0; v < part.vectors; ++v) {
          Value value = numbers(loaded[v], i, zeros ? own.zeros[v] : Value());
          value = arith::MulFOp::create(b, r.loc, value, own.scales[v]);
          writer.store(value, panel, b.getF32Type(),
                       r.add(row, r.constant(i * weightOnlyPanel + v * lanes)));
        }
    });
  });
}

void WeightOnlyEmitter::tiled(const Part &part) {
  TileShape shape{tile[0], tile[1], lanes};
  auto emitRange = [&](Value from, int64_t count, bool isFirst, bool isLast) {
    dequantize(part, from, count);
    emitRowTiles(r, part.count, shape.rows, [&](Value offset, int64_t tileRows) {
      // A panel is as wide as one tile, or several.
      for (int64_t v = 0; v < part.vectors; v += shape.vectors) {
        TileShape own{tileRows, std::min(shape.vectors, part.vectors - v), lanes};
        Value row = r.add(part.first, offset), base = r.add(rowAddress(row), from);
        auto left = [&](int64_t i, ValueRange k) {
          Value linear = r.add(r.add(base, k[0]), r.mul(r.constant(i), step));
          return BufferAccess::load(r, lhs.pointer, b.getF32Type(), linear);
        };
        auto right = [&](int64_t i, ValueRange k) {
          return std::make_pair(
              panel, r.add(r.mul(k[0], r.constant(weightOnlyPanel)), r.constant((v + i) * lanes)));
        };
        TileOperands operands{left, right, /*isPadded=*/true};
        if (!isFirst || !isLast)
          operands.partial = PartialSums{
              sums, r.add(r.mul(offset, r.constant(weightOnlyPanel)), r.constant(v * lanes)),
              weightOnlyPanel, isFirst, isLast};
        emitTile(
            r, kernel, dot, own, {r.constant(count)}, operands,
            [&](int64_t i) { return indicesOf(r.add(row, r.constant(i))); },
            r.add(part.column, r.constant(v * lanes)),
            v + own.vectors == part.vectors ? part.limit : Value());
      }
    });
  };
  int64_t last = llvm::alignDown(depth - 1, depthBlock);
  if (last == 0)
    return emitRange(r.constant(0), depth, true, true);
  emitRange(r.constant(0), depthBlock, true, false);
  emitStepLoop(r, r.constant(depthBlock), r.constant(last), depthBlock,
               [&](Value from) { emitRange(from, depthBlock, false, false); });
  emitRange(r.constant(last), depth - last, false, true);
}

void WeightOnlyEmitter::emit(Value begin, Value end) {
  int64_t few = weightOnlyFewRows(lanes, parts[0]);
  Value rows = rowCount(), columns = target.dims.back();
  std::optional<int64_t> known = getConstantIntValue(rows);
  if (!known || *known > few) {
    panel = stackFloats(r, depthBlock * weightOnlyPanel);
    sums = stackFloats(r, parts[0] * weightOnlyPanel);
  }
  emitStepLoop(r, begin, end, 1, [&](Value number) {
    SmallVector<Value> at = r.blockIndices(number, {rows, columns}, parts);
    Part part;
    RowBlock block = evenBlock(r, rows, parts[0], tile[0], at[0]);
    part.first = block.first, part.count = block.count;
    part.panel = at[1];
    part.column = r.mul(at[1], r.constant(weightOnlyPanel));
    forPanel(part, [&] {
      auto directly = [&] {
        emitRowTiles(r, part.count, std::min(few, weightOnlyDirectRows(lanes)),
                     [&](Value offset, int64_t count) { direct(part, offset, count); });
      };
      std::optional<int64_t> count = getConstantIntValue(part.count);
      if (known && *known <= few)
        return directly();
      if (count)
        return tiled(part);
      emitEither(r, r.less(r.constant(few), part.count), [&] { tiled(part); }, directly);
    });
  });
}

LogicalResult weir::emitWeightOnly(KernelBuilder &r, plan::KernelOp kernel, Value begin,
                                   Value end) {
  auto dots = kernel.getBody().front().getOps<DotGeneralOp>();
  DotGeneralOp dot = *dots.begin();
  auto weights = dot.getRhs().getDefiningOp<DequantizeBlocksOp>();
  if (addsBytes(weights, vectorUnitOf(kernel->getParentOfType<ModuleOp>())))
    emitWeightOnlyBytes(r, kernel, dot, weights, begin, end);
  else
    WeightOnlyEmitter(r, kernel, dot, weights).emit(begin, end);
  return success();
}
