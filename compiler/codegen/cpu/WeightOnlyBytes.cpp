//===- WeightOnlyBytes.cpp - weights of a few bits, rows of bytes -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products by weights of a few bits of models that let the left operand be bytes
// (byteRowsAttribute), where the processor adds four products of bytes at once (VPDPBUSD), or
// two (VPMADDUBSW). A part rounds its rows, a block at a time, to multiples of a 127th of the
// block's largest magnitude, on its stack; its panels of columns pass by. Sums of a block are
// words, which are exact, and become f32 with the scales of row and column.
//
// A shift and a mask make quads of bytes of a word of numbers: of 4 bits numbers 0, 2, 4, 6,
// and 1, 3, 5, 7. Rows lie in that order.
//
// Sums of two products are halves of words, which hold several as numbers are small: all of a
// block of 32 numbers of 4 bits. Numbers of 8 bits are taken as two of 4 each, whose sums are put
// together as they become words.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/PackedBytes.h"
#include "compiler/codegen/cpu/WeightOnlyReader.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Target.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t quad = 4;        ///< bytes of a lane
constexpr float largestByte = 127; ///< both signs have as many
constexpr int64_t fewRows = 2;     ///< whose sums would wait for each other
constexpr int64_t mostBits = 4;    ///< of numbers whose pairs never saturate, and add up to some

class WeightOnlyByteEmitter : WeightOnlyReader {
public:
  WeightOnlyByteEmitter(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                        DequantizeBlocksOp weights)
      : WeightOnlyReader(r, kernel, dot, weights), blocks(depth / block), quads(perWord / quad),
        isPairs(targetOf(kernel).getByteProducts() == ByteProducts::Pairs),
        digits(isPairs && bits > mostBits ? bits / mostBits : 1), digitBits(bits / digits) {}

  void emit(Value begin, Value end);

private:
  /// Rounds the part's rows to bytes.
  void roundRows(const Part &part);
  /// Block `number` of row `row` of the part, which begins at `from` in the left operand.
  void roundBlock(Value row, Value number, Value from);
  /// `rows` rows from the part's row `offset` on, by the part's vectors.
  void tileOf(const Part &part, Value offset, int64_t rows);
  /// The sums of words that a tile begins with, for each of which there are `chains`.
  int64_t chainsOf(int64_t rows) const { return rows <= fewRows && !isPairs ? 2 : 1; }
  /// How many words of a column are added up in one turn.
  int64_t wordsOfTurn() const;
  /// Quad `i` of each of `words`, or the part that digit `digit` is of its numbers.
  Value quadOf(Value words, int64_t i, int64_t digit);
  /// Row `row`'s bytes that quad `i` of a column's word `word` is multiplied with, in each lane.
  Value rowQuad(Value offset, int64_t row, Value word, int64_t i);
  /// Adds the quads of the panel's row of words `word` to `sums`, [chain, rows, vectors].
  void addWord(const Part &part, Value offset, int64_t rows, int64_t chains, int64_t place,
               Value word, SmallVectorImpl<Value> &sums);
  /// Adds `count` rows of words from `word` on to `sums`, [rows, vectors], by pairs.
  void addPairs(const Part &part, Value offset, int64_t rows, Value word, int64_t count,
                SmallVectorImpl<Value> &sums);
  Value scaleOf(Value pointer, Type element, Value offset, int64_t row, Value number);

  int64_t blocks, quads;
  bool isPairs;              ///< products are added by VPMADDUBSW
  int64_t digits, digitBits; ///< what pairs take a number as
  Value bytes;               ///< [rows of a part, depth]
  Value rowScales;           ///< [rows of a part, blocks], f32
  /// The same: sums of bytes, f32, or, where one zero point is all columns', what it takes off
  /// the sums, i32.
  Value rowSums;
};

} // namespace

void WeightOnlyByteEmitter::roundBlock(Value row, Value number, Value from) {
  Location loc = r.loc;
  VectorReader reader(r, lanes);
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  auto number32 = [&](float value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  };
  SmallVector<Value> values;
  Value most;
  for (int64_t k = 0; k < block; k += lanes) {
    values.push_back(reader.load(lhs.pointer, f32, r.add(from, r.constant(k))));
    Value size = math::AbsFOp::create(b, loc, values.back());
    most = most ? Value(arith::MaximumFOp::create(b, loc, most, size)) : size;
  }
  most = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXIMUMF, most);
  Value inverse = arith::DivFOp::create(b, loc, number32(largestByte), most);
  Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, most, number32(0));
  inverse = reader.broadcast(arith::SelectOp::create(b, loc, isNone, number32(0), inverse));
  Value scale = arith::DivFOp::create(b, loc, most, number32(largestByte));
  // Where in `wide` numbers those of a word go; it may be as wide as two vectors.
  int64_t wide = std::max(lanes, perWord);
  SmallVector<int64_t> order;
  for (int64_t first = 0; first < wide; first += perWord)
    for (int64_t i = 0; i < quads; ++i)
      for (int64_t j = 0; j < quad; ++j)
        order.push_back(first + j * quads + i);
  Value sum;
  SmallVector<Value> rounded;
  for (Value value : values) {
    Value scaled = arith::MulFOp::create(b, loc, value, inverse);
    rounded.push_back(
        arith::FPToSIOp::create(b, loc, words(), math::RoundEvenOp::create(b, loc, scaled)));
    sum = sum ? Value(arith::AddIOp::create(b, loc, sum, rounded.back())) : rounded.back();
  }
  Value to = r.add(r.mul(row, r.constant(depth)), r.mul(number, r.constant(block)));
  VectorReader writer(r, wide);
  for (int64_t k = 0; k < block; k += wide) {
    Value word = rounded[k / lanes];
    if (quads > 1)
      word = vector::ShuffleOp::create(b, loc, word, rounded[k / lanes + wide / lanes - 1], order);
    Value narrow = arith::TruncIOp::create(b, loc, VectorType::get({wide}, b.getI8Type()), word);
    writer.store(narrow, bytes, b.getI8Type(), r.add(to, r.constant(k)));
  }
  Value total = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, sum);
  Value place = r.add(r.mul(row, r.constant(blocks)), number);
  BufferAccess::store(r, scale, rowScales, f32, place);
  if (zeros)
    return BufferAccess::store(r, arith::SIToFPOp::create(b, loc, f32, total), rowSums, f32, place);
  Value less = arith::ConstantIntOp::create(b, loc, i32, -static_cast<int64_t>(zero));
  BufferAccess::store(r, arith::MulIOp::create(b, loc, total, less), rowSums, i32, place);
}

void WeightOnlyByteEmitter::roundRows(const Part &part) {
  emitStepLoop(r, r.constant(0), part.count, 1, [&](Value row) {
    Value from = rowAddress(r.add(part.first, row));
    emitStepLoop(r, r.constant(0), r.constant(blocks), 1, [&](Value number) {
      roundBlock(row, number, r.add(from, r.mul(number, r.constant(block))));
    });
  });
}

Value WeightOnlyByteEmitter::quadOf(Value words, int64_t i, int64_t digit) {
  if (int64_t right = bits * i + digitBits * digit)
    words = arith::ShRUIOp::create(b, r.loc, words, splat(static_cast<int32_t>(right)));
  if (digitBits < 8)
    words = arith::AndIOp::create(b, r.loc, words,
                                  splat(static_cast<int32_t>(0x01010101 * ((1 << digitBits) - 1))));
  return words;
}

Value WeightOnlyByteEmitter::rowQuad(Value offset, int64_t row, Value word, int64_t i) {
  Value at = r.mul(r.add(offset, r.constant(row)), r.constant(depth));
  at = r.add(at, r.add(r.mul(word, r.constant(perWord)), r.constant(i * quad)));
  Value four = LLVM::LoadOp::create(b, r.loc, b.getI32Type(),
                                    BufferAccess::address(r, bytes, b.getI8Type(), at),
                                    /*alignment=*/4);
  return vector::BroadcastOp::create(b, r.loc, words(), four);
}

void WeightOnlyByteEmitter::addWord(const Part &part, Value offset, int64_t rows, int64_t chains,
                                    int64_t place, Value word, SmallVectorImpl<Value> &sums) {
  SmallVector<Value> loaded = loadWords(part, word);
  for (int64_t i = 0; i < quads; ++i) {
    SmallVector<Value> right;
    for (Value numbers : loaded)
      right.push_back(quadOf(numbers, i, 0));
    for (int64_t row = 0; row < rows; ++row) {
      Value left = rowQuad(offset, row, word, i);
      for (int64_t v = 0; v < part.vectors; ++v) {
        int64_t chain = (place * quads + i) % chains;
        Value &sum = sums[(chain * rows + row) * part.vectors + v];
        sum = addQuads(b, r.loc, sum, right[v], left);
      }
    }
  }
}

int64_t WeightOnlyByteEmitter::wordsOfTurn() const {
  constexpr int64_t together = 4;
  int64_t wordsOfBlock = block / perWord;
  if (!isPairs)
    return std::gcd(wordsOfBlock, together);
  int64_t ofPair = 2 * ((1 << digitBits) - 1) * static_cast<int64_t>(largestByte);
  int64_t most = std::numeric_limits<int16_t>::max() / (ofPair * quads);
  return std::gcd(wordsOfBlock, static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(most))));
}

void WeightOnlyByteEmitter::addPairs(const Part &part, Value offset, int64_t rows, Value word,
                                     int64_t count, SmallVectorImpl<Value> &sums) {
  Location loc = r.loc;
  // Quads of all words first, which stay in registers; the rows' bytes pass by.
  SmallVector<SmallVector<Value>> right; // of each quad [digit, vector]
  for (int64_t k = 0; k < count; ++k) {
    SmallVector<Value> loaded = loadWords(part, r.add(word, r.constant(k)));
    for (int64_t i = 0; i < quads; ++i) {
      right.emplace_back();
      for (int64_t digit = 0; digit < digits; ++digit)
        for (Value numbers : loaded)
          right.back().push_back(quadOf(numbers, i, digit));
    }
  }
  auto type = VectorType::get({2 * lanes}, b.getI16Type());
  for (int64_t row = 0; row < rows; ++row) {
    SmallVector<Value> halves(digits * part.vectors);
    for (auto [at, ofQuad] : llvm::enumerate(right)) {
      Value left = rowQuad(offset, row, r.add(word, r.constant(at / quads)), at % quads);
      for (auto [sum, numbers] : llvm::zip_equal(halves, ofQuad)) {
        Value pairs = pairsOfBytes(b, loc, numbers, left);
        sum = sum ? Value(arith::AddIOp::create(b, loc, sum, pairs)) : pairs;
      }
    }
    for (auto [place, pairs] : llvm::enumerate(halves)) {
      int64_t digit = place / part.vectors;
      Value worth = arith::ConstantOp::create(
          b, loc, SplatElementsAttr::get(type, b.getI16IntegerAttr(1 << (digitBits * digit))));
      Value &sum = sums[row * part.vectors + place % part.vectors];
      sum = arith::AddIOp::create(b, loc, sum, pairsOfHalves(b, loc, pairs, worth));
    }
  }
}

Value WeightOnlyByteEmitter::scaleOf(Value pointer, Type element, Value offset, int64_t row,
                                     Value number) {
  Value place = r.add(r.mul(r.add(offset, r.constant(row)), r.constant(blocks)), number);
  Value value = BufferAccess::load(r, pointer, element, place);
  return vector::BroadcastOp::create(b, r.loc, VectorType::get({lanes}, element), value);
}

void WeightOnlyByteEmitter::tileOf(const Part &part, Value offset, int64_t rows) {
  int64_t chains = chainsOf(rows), wordsOfBlock = block / perWord, turn = wordsOfTurn();
  Location loc = r.loc;
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  SmallVector<Value> totals(rows * part.vectors, splat(0.0f));
  totals =
      emitReductionLoops(r, {r.constant(blocks)}, totals, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> sums(chains * rows * part.vectors, splat(0));
        if (!zeros && zero != 0)
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t v = 0; v < part.vectors; ++v)
              sums[row * part.vectors + v] = scaleOf(rowSums, i32, offset, row, at[0]);
        Value first = r.mul(at[0], r.constant(wordsOfBlock));
        sums = emitReductionLoops(
            r, {r.constant(wordsOfBlock / turn)}, sums, [&](ValueRange k, ValueRange before) {
              SmallVector<Value> next(before);
              Value word = r.add(first, r.mul(k[0], r.constant(turn)));
              if (isPairs)
                addPairs(part, offset, rows, word, turn, next);
              else
                for (int64_t i = 0; i < turn; ++i)
                  addWord(part, offset, rows, chains, i, r.add(word, r.constant(i)), next);
              return next;
            });
        SmallVector<Value> columns, points, next;
        for (int64_t v = 0; v < part.vectors; ++v) {
          columns.push_back(shared(scales, part, at[0], v));
          if (zeros)
            points.push_back(arith::NegFOp::create(b, loc, shared(*zeros, part, at[0], v)));
        }
        for (int64_t row = 0; row < rows; ++row) {
          Value scale = scaleOf(rowScales, f32, offset, row, at[0]);
          for (int64_t v = 0; v < part.vectors; ++v) {
            Value sum = sums[row * part.vectors + v];
            if (chains > 1)
              sum = arith::AddIOp::create(b, loc, sum, sums[(rows + row) * part.vectors + v]);
            Value real = arith::SIToFPOp::create(b, loc, floats(), sum);
            if (zeros)
              real = vector::FMAOp::create(b, loc, points[v],
                                           scaleOf(rowSums, f32, offset, row, at[0]), real);
            Value both = arith::MulFOp::create(b, loc, scale, columns[v]);
            next.push_back(
                vector::FMAOp::create(b, loc, real, both, carried[row * part.vectors + v]));
          }
        }
        return next;
      });
  Value row = r.add(part.first, offset);
  storeTile(
      r, kernel, dot, {rows, part.vectors, lanes}, totals,
      [&](int64_t i) { return indicesOf(r.add(row, r.constant(i))); },
      r.add(part.column, r.constant(part.skipped * lanes)), part.limit);
}

void WeightOnlyByteEmitter::emit(Value begin, Value end) {
  Value rows = rowCount(), columns = target.dims.back();
  bytes = stackElements(r, b.getI8Type(), parts[0] * depth);
  rowScales = stackFloats(r, parts[0] * blocks);
  rowSums = stackElements(r, zeros ? Type(b.getF32Type()) : b.getI32Type(), parts[0] * blocks);
  int64_t panelsOfPart = parts[1] / weightOnlyPanel;
  Value panels =
      r.divide(r.add(columns, r.constant(weightOnlyPanel - 1)), r.constant(weightOnlyPanel));
  emitStepLoop(r, begin, end, 1, [&](Value number) {
    SmallVector<Value> at = r.blockIndices(number, {rows, columns}, parts);
    Part part;
    RowBlock block = evenBlock(r, rows, parts[0], tile[0], at[0]);
    part.first = block.first, part.count = block.count;
    roundRows(part);
    Value firstPanel = r.mul(at[1], r.constant(panelsOfPart));
    Value lastPanel = r.minimum(panels, r.add(firstPanel, r.constant(panelsOfPart)));
    emitStepLoop(r, firstPanel, lastPanel, 1, [&](Value panel) {
      part.panel = panel;
      part.column = r.mul(panel, r.constant(weightOnlyPanel));
      forPanel(part, [&] {
        emitRowTiles(r, part.count, tile[0], [&](Value offset, int64_t count) {
          // Few rows leave registers to all of a panel, which is read line by line then.
          int64_t wide = count <= fewRows ? part.vectors : tile[1];
          for (int64_t v = 0; v < part.vectors; v += wide) {
            Part own = part;
            own.skipped = v, own.vectors = std::min(wide, part.vectors - v);
            own.isStreamed = count <= fewRows;
            if (v + own.vectors < part.vectors)
              own.limit = Value();
            tileOf(own, offset, count);
          }
        });
      });
    });
  });
}

void weir::emitWeightOnlyBytes(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                               DequantizeBlocksOp weights, Value begin, Value end) {
  WeightOnlyByteEmitter(r, kernel, dot, weights).emit(begin, end);
}
