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

#include "passes/analysis/WeightOnly.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/WeightOnlyPanels.h"
#include "dialects/weir/BlockQuantized.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

/// So many sums of one column, added up at a block's end, do not wait for each other.
constexpr int64_t chains = 2;

class WeightOnlyEmitter {
public:
  WeightOnlyEmitter(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                    DequantizeBlocksOp weights);

  void emit(Value begin, Value end);

private:
  /// What a part computes: `count` rows from `first` on by a panel.
  struct Part {
    Value first, count, panel, column;
    int64_t vectors; ///< of the panel, that hold columns
    Value limit;     ///< of the last one columns from there on do not exist; null: all do
  };
  /// Scales and zero points of a block, a vector each. Zeros are empty where all are one
  /// number.
  struct Block {
    SmallVector<Value> scales, zeros;
  };

  VectorType floats() { return VectorType::get({lanes}, b.getF32Type()); }
  VectorType words() { return VectorType::get({lanes}, b.getI32Type()); }
  Value splat(int32_t value) {
    return arith::ConstantOp::create(b, r.loc,
                                     SplatElementsAttr::get(words(), b.getI32IntegerAttr(value)));
  }
  Value splat(float value) {
    return arith::ConstantOp::create(b, r.loc,
                                     SplatElementsAttr::get(floats(), b.getF32FloatAttr(value)));
  }
  bool hasTable() const { return lanes == 16 && bits <= 4; }

  Block blockAt(const Part &part, Value number);
  Value shared(const ColumnsOperand &operand, const Part &part, Value block, int64_t v,
               Value limit);
  /// The words of the panel's row `word`, a vector of them for each of its vectors.
  SmallVector<Value> loadWords(const Part &part, Value word);
  /// Number `i` of each word, less the zero point.
  Value numbers(Value word, int64_t i, Value zero);

  void direct(const Part &part, Value offset, int64_t rows);
  /// Adds the first `count` numbers of each word to `sums`, [rows, vectors].
  void addWord(const Part &part, const Block *scaled, const Block &block, ArrayRef<Value> from,
               Value word, int64_t count, SmallVectorImpl<Value> &sums);
  void tiled(const Part &part);
  /// Puts `count` rows of the panel from `from` on, whole blocks, on the stack.
  void dequantize(const Part &part, Value from, int64_t count);
  Value rowAddress(Value row) { return r.mul(row, step); }
  SmallVector<Value> indicesOf(Value row);

  KernelBuilder &r;
  OpBuilder &b;
  plan::KernelOp kernel;
  DotGeneralOp dot;
  DequantizeBlocksOp weights;
  const KernelBuilder::Buffer lhs, target;
  KernelBuilder::Buffer packed;
  ColumnsOperand scales;
  std::optional<ColumnsOperand> zeros;
  ArrayRef<int64_t> tile, parts;
  int64_t bits, block, depth, lanes, perWord;
  float zero = 0; ///< where all are one number
  Value step, panel, sums;
  int64_t depthBlock;
};

} // namespace

/// The buffer behind what undoes the packing.
static BlockArgument bufferBehind(Value value) {
  for (Operation *def; (def = value.getDefiningOp());)
    value = def->getOperand(0);
  return cast<BlockArgument>(value);
}

WeightOnlyEmitter::WeightOnlyEmitter(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                                     DequantizeBlocksOp weights)
    : r(r), b(r.b), kernel(kernel), dot(dot), weights(weights), lhs(r.bufferOf(dot.getLhs())),
      target(r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0))),
      packed(r.bufferOf(bufferBehind(weights.getNumbers()))), scales(r, weights.getScales()),
      tile(kernel.getSchedule()[plan::schedule::tile]),
      parts(kernel.getSchedule()[plan::schedule::parts]), bits(weights.getBits()),
      block(weights.getBlock()), depth(weights.getRows()), lanes(tile[2]), perWord(32 / bits),
      step(lhs.extent(r, lhs.dims.size() - 1)), depthBlock(weightOnlyDepth(weights)) {
  if (std::optional<float> number = weightOnlyZero(weights))
    zero = *number;
  else
    zeros.emplace(r, weights.getZeros());
}

SmallVector<Value> WeightOnlyEmitter::loadWords(const Part &part, Value word) {
  int64_t rows = packed.type.getNumElements() / packed.type.getDimSize(0) / (4 * weightOnlyPanel);
  Value row = r.add(r.mul(part.panel, r.constant(rows)), word);
  Value byte = r.mul(row, r.constant(4 * weightOnlyPanel));
  SmallVector<Value> loaded;
  for (int64_t v = 0; v < part.vectors; ++v) {
    Value where = BufferAccess::address(r, packed.pointer, b.getI8Type(),
                                        r.add(byte, r.constant(4 * v * lanes)));
    Value value = LLVM::LoadOp::create(b, r.loc, words(), where, /*alignment=*/4);
    if (!hasTable()) {
      // Without its highest bit a number has a sign, and is half of their count less.
      uint32_t pattern = 0;
      for (int64_t i = 0; i < perWord; ++i)
        pattern |= 1u << (bits * i + bits - 1);
      value = arith::XOrIOp::create(b, r.loc, value, splat(static_cast<int32_t>(pattern)));
    }
    loaded.push_back(value);
  }
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

Value WeightOnlyEmitter::shared(const ColumnsOperand &operand, const Part &part, Value number,
                                int64_t v, Value limit) {
  VectorReader reader(r, lanes);
  if (limit && !operand.isPacked)
    reader.setLanes({}, laneMasks(r, {1, part.vectors, lanes}, part.column, limit)[v]);
  Type element = operand.buffer.type.getElementType();
  Value value =
      reader.load(operand.buffer.pointer, BufferAccess::storageType(element),
                  operand.linear(r, operand.dim(0), number, part.panel, part.column, v * lanes));
  if (element.isF32())
    return value;
  Value word = arith::ExtUIOp::create(b, r.loc, words(), value);
  return arith::SIToFPOp::create(b, r.loc, floats(), word);
}

WeightOnlyEmitter::Block WeightOnlyEmitter::blockAt(const Part &part, Value number) {
  Block found;
  for (int64_t v = 0; v < part.vectors; ++v) {
    found.scales.push_back(shared(scales, part, number, v, part.limit));
    if (!zeros)
      continue;
    Value own = shared(*zeros, part, number, v, part.limit);
    if (!hasTable())
      own = arith::SubFOp::create(b, r.loc, own, splat(static_cast<float>(1 << (bits - 1))));
    found.zeros.push_back(own);
  }
  return found;
}

void WeightOnlyEmitter::addWord(const Part &part, const Block *scaled, const Block &block,
                                ArrayRef<Value> from, Value word, int64_t count,
                                SmallVectorImpl<Value> &sums) {
  SmallVector<Value> loaded = loadWords(part, word);
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

SmallVector<Value> WeightOnlyEmitter::indicesOf(Value row) {
  int64_t rowDims = target.dims.size() - 1;
  SmallVector<Value> indices(rowDims);
  for (int64_t d = rowDims - 1; d > 0; --d) {
    indices[d] = r.remainder(row, target.dims[d]);
    row = r.divide(row, target.dims[d]);
  }
  indices[0] = row;
  return indices;
}

void WeightOnlyEmitter::direct(const Part &part, Value offset, int64_t rows) {
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
          loadWords(part, r.add(r.mul(block, r.constant(wordsOfBlock)), word));
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
  Value rows = r.constant(1), columns = target.dims.back();
  for (Value size : ArrayRef(target.dims).drop_back())
    rows = r.mul(rows, size);
  std::optional<int64_t> known = getConstantIntValue(rows);
  if (!known || *known > few) {
    panel = stackFloats(r, depthBlock * weightOnlyPanel);
    sums = stackFloats(r, parts[0] * weightOnlyPanel);
  }
  emitStepLoop(r, begin, end, 1, [&](Value number) {
    SmallVector<Value> at = r.blockIndices(number, {rows, columns}, parts);
    Part part;
    part.first = r.mul(at[0], r.constant(parts[0]));
    bool isExact = known && *known % parts[0] == 0;
    part.count =
        isExact ? r.constant(parts[0]) : r.minimum(r.constant(parts[0]), r.sub(rows, part.first));
    part.panel = at[1];
    part.column = r.mul(at[1], r.constant(weightOnlyPanel));
    auto emitRows = [&](int64_t columnsOfPanel) {
      part.vectors = llvm::divideCeil(columnsOfPanel, lanes);
      part.limit = columnsOfPanel % lanes ? columns : Value();
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
    };
    int64_t wide = target.type.getShape().back(), rest = wide % weightOnlyPanel;
    if (rest == 0)
      return emitRows(weightOnlyPanel);
    if (wide < weightOnlyPanel)
      return emitRows(rest);
    emitEither(
        r, r.less(columns, r.add(part.column, r.constant(weightOnlyPanel))),
        [&] { emitRows(rest); }, [&] { emitRows(weightOnlyPanel); });
  });
}

LogicalResult weir::emitWeightOnly(KernelBuilder &r, plan::KernelOp kernel, Value begin,
                                   Value end) {
  auto dots = kernel.getBody().front().getOps<DotGeneralOp>();
  DotGeneralOp dot = *dots.begin();
  WeightOnlyEmitter(r, kernel, dot, dot.getRhs().getDefiningOp<DequantizeBlocksOp>())
      .emit(begin, end);
  return success();
}
