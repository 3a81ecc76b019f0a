//===- CudaAttention.cpp - attention by blocks of keys ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// softmax(f(Q K^T)) V for a tile of queries a block. Keys and values come by blocks into
// shared memory; scores, weights and what is summed so far stay in registers, with each
// query's running maximum and sum. Where a block of keys raises the maximum, the sums are
// scaled down (Dao et al. 2022, arXiv:2205.14135).
//
// Operands in f16 or bf16 are multiplied by tensor cores: a warp has 16 queries, and the
// sums that mma.m16n8k16 leaves in a lane are where it wants the left operand of the next
// product, so that weights go from one to the other without memory. Else a thread has a
// few rows and columns of both products, and weights go by way of shared memory.
//
// A query whose logits are all -inf has weights 0 in every block, and 0 / 0 in the end:
// the NaN that the definition gives.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernel.h"
#include "dialects/weir/Pch.h"
#include "passes/kernelize/Attention.h"

using namespace mlir;
using namespace weir;

namespace {

/// What both forms share: which queries are whose, logits, weights, results.
class AttentionEmitter {
public:
  AttentionEmitter(const CudaKernel &k, Attention found)
      : k(k), r(k.reader), b(r.b), attention(std::move(found)), target(k.first()),
        f32(b.getF32Type()), rank(target.type.getRank()),
        scoreScalars(r, attention.scores, f32), productScalars(r, attention.product, f32) {
    auto logits = cast<RankedTensorType>(attention.product.getLhs().getType());
    knownRows = logits.getDimSize(rank - 2);
    knownKeys = logits.getDimSize(rank - 1);
    size = cast<RankedTensorType>(attention.scores.getLhs().getType()).getShape().back();
    columns = target.type.getShape().back();
  }

protected:
  /// One query of a thread: its place, and what of its keys the thread has seen.
  struct Row {
    Value index; ///< beyond the end: the last one
    Value exists, blind;
    Value most, sum;
  };

  /// Shapes the launch, and takes the block's tile.
  void place(int64_t threads, int64_t rows, int64_t keys) {
    tileRows = rows;
    tileKeys = keys;
    LaunchShape::Axis batches, tiles;
    SmallVector<int64_t> ownBatch;
    for (int64_t i = 0; i < rank; ++i) {
      int64_t own = attention.order ? attention.order.getPermutation()[i] : i;
      if (own < rank - 2) {
        batches.dims.push_back(i);
        ownBatch.push_back(own);
      } else if (own == rank - 2) {
        tiles.dims.push_back(i);
      }
    }
    tiles.divisor = tileRows;
    k.shape.threads = threads;
    k.shape.axes = {batches, tiles};
    r.loc = attention.product.getLoc();
    yes = arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true));
    zero = number(0);
    lowest = number(-std::numeric_limits<float>::infinity());
    rowCount = target.dims[tiles.dims[0]];
    keyCount = r.dim(attention.logits, rank - 1);
    wholeRows = !ShapedType::isDynamic(knownRows) && knownRows % tileRows == 0;
    wholeKeys = !ShapedType::isDynamic(knownKeys) && knownKeys % tileKeys == 0;
    thread = r.threadId();
    SmallVector<Value> block = r.delinearize(r.blockId(), r.axisBlocks(k.shape, target.dims));
    SmallVector<Value> sizes;
    for (int64_t dim : batches.dims)
      sizes.push_back(target.dims[dim]);
    batch.resize(rank - 2);
    for (auto [own, at] : llvm::zip(ownBatch, r.delinearize(block[0], sizes)))
      batch[own] = at;
    firstRow = r.mul(block[1], index(tileRows));
  }

  Row rowAt(Value inTile) {
    Row row;
    row.index = r.add(firstRow, inTile);
    row.exists = wholeRows ? yes : r.less(row.index, rowCount);
    if (!wholeRows)
      row.index = r.minimum(row.index, r.sub(rowCount, index(1)));
    if (attention.blind)
      row.blind = weir::detail::broadcastElement(r, attention.blind, at(row.index, index(0)));
    row.most = lowest;
    row.sum = zero;
    return row;
  }

  Value index(int64_t value) { return r.constant(value); }
  Value number(double value) {
    return arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(float(value)));
  }
  Value multiply(Value x, Value y) { return arith::MulFOp::create(b, r.loc, x, y); }
  Value plus(Value x, Value y) { return arith::AddFOp::create(b, r.loc, x, y); }
  Value choose(Value condition, Value x, Value y) {
    if (matchPattern(condition, m_One()))
      return x;
    return arith::SelectOp::create(b, r.loc, condition, x, y);
  }

  SmallVector<Value> at(Value before, Value last) const {
    SmallVector<Value> indices(batch);
    indices.append({before, last});
    return indices;
  }

  /// The element of an operand at `indices`. Those along dimension `tiled` may be beyond
  /// its end, unless tiles are `isWhole`, and those along others where they are stretched:
  /// that is the last element.
  Value read(const AttentionOperand &operand, ArrayRef<Value> indices, int64_t tiled, bool isWhole) {
    auto type = cast<RankedTensorType>(operand.source.getType());
    SmallVector<Value> own;
    for (auto [i, dim] : llvm::enumerate(operand.order)) {
      bool isInside = !type.isDynamicDim(i) && type.getDimSize(i) != 1 && (dim != tiled || isWhole);
      own.push_back(isInside ? indices[dim]
                             : r.minimum(indices[dim], r.sub(r.dim(operand.source, i), index(1))));
    }
    return r.element(operand.source, own);
  }
  Value queryAt(const AttentionOperand &operand, Value row, Value place, bool isWhole) {
    return read(operand, at(row, place), rank - 2, isWhole);
  }
  Value keyAt(const AttentionOperand &operand, Value key, Value place) {
    bool isLast = attention.scores.getRhsContract()[0] == rank - 1;
    return read(operand, isLast ? at(key, place) : at(place, key), isLast ? rank - 2 : rank - 1,
                wholeKeys);
  }
  Value valueAt(const AttentionOperand &operand, Value key, Value column) {
    bool isLast = attention.product.getRhsContract()[0] == rank - 1;
    return read(operand, isLast ? at(column, key) : at(key, column), isLast ? rank - 1 : rank - 2,
                wholeKeys);
  }
  /// `body` of a place along a dimension of `size`, `otherwise` beyond it. With `isWhole`
  /// none is.
  Value within(int64_t size, bool isWhole, Value place, Value otherwise,
               function_ref<Value(Value)> body) {
    if (isWhole)
      return body(place);
    return choose(r.less(place, index(size)), body(r.minimum(place, index(size - 1))), otherwise);
  }

  /// What the softmax sees of a score of `row` and `key`, -inf beyond the last key.
  Value logitOf(Value score, const Row &row, Value key) {
    Type element = getElementTypeOrSelf(attention.scores.getType());
    r.setHero(attention.scores, scoreScalars.cast(score, f32, element, false));
    SmallVector<Value> indices =
        at(row.index, wholeKeys ? key : r.minimum(key, r.sub(keyCount, index(1))));
    // What makes rows blind may have stretched the weights.
    for (int64_t i = 0; i < rank - 1 && attention.blind; ++i)
      indices[i] = r.select(r.equal(r.dim(attention.logits, i), index(1)), index(0), indices[i]);
    Value logit = r.element(attention.logits, indices);
    r.setHero({}, {});
    return choose(wholeKeys ? yes : r.less(key, keyCount), logit, lowest);
  }

  /// Takes in logits of the row, of which `lanes` neighbours have as many each: they become
  /// weights. Returns what earlier sums are scaled by.
  Value weigh(MutableArrayRef<Value> logits, Row &row, int64_t lanes) {
    Value top = row.most;
    for (Value logit : logits)
      top = arith::MaxNumFOp::create(b, r.loc, top, logit);
    for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
      top = arith::MaxNumFOp::create(b, r.loc, top, shuffle(r, top, distance));
    // -inf minus itself is no number, yet all of the row may be masked so far.
    Value isNone = arith::CmpFOp::create(b, r.loc, arith::CmpFPredicate::OEQ, top, lowest);
    Value shift = choose(isNone, zero, top);
    auto weightOf = [&](Value value, double ofBlind) {
      Value weight = math::ExpOp::create(b, r.loc, arith::SubFOp::create(b, r.loc, value, shift));
      return row.blind ? choose(row.blind, number(ofBlind), weight) : weight;
    };
    Value factor = weightOf(row.most, 1);
    row.sum = multiply(row.sum, factor);
    for (Value &logit : logits) {
      logit = weightOf(logit, 0);
      row.sum = plus(row.sum, logit);
    }
    row.most = top;
    return factor;
  }

  /// What sums of weighted values are divided by. A sum over no keys is 0.
  Value divisorOf(const Row &row, int64_t lanes) {
    Value sum = row.sum;
    for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
      sum = plus(sum, shuffle(r, sum, distance));
    sum = choose(r.less(index(0), keyCount), sum, number(1));
    return row.blind ? choose(row.blind, number(1), sum) : sum;
  }

  void store(const Row &row, Value column, bool isInside, Value value) {
    r.onlyIf(isInside ? yes : r.less(column, index(columns)), [&] {
      DotGeneralOp product = attention.product;
      SmallVector<Value> own = at(row.index, column), indices(rank);
      for (int64_t i = 0; i < rank; ++i)
        indices[i] = own[attention.order ? attention.order.getPermutation()[i] : i];
      k.emitResults(indices, product,
                    productScalars.cast(value, f32, product.getAccumulator(), false));
    });
  }

  /// Runs `body` for `count` items, a multiple of the block's threads, a few of each
  /// thread's at a time.
  void forItems(int64_t count, function_ref<void(Value item)> body) {
    constexpr int64_t mostAtOnce = 8;
    int64_t each = count / k.shape.threads, atOnce = std::min(each, mostAtOnce);
    while (each % atOnce)
      --atOnce;
    auto loop = scf::ForOp::create(b, r.loc, index(0), index(count),
                                   index(k.shape.threads * atOnce));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value first = r.add(loop.getInductionVar(), thread);
    for (int64_t i = 0; i < atOnce; ++i)
      body(r.add(first, index(i * k.shape.threads)));
  }

  /// A loop over blocks of keys that carries each row's state and `sums`. `body` gets the
  /// first key, and changes both.
  SmallVector<Value> alongKeys(SmallVector<Row> &rows, SmallVector<Value> sums,
                               function_ref<void(Value, SmallVector<Value> &)> body) {
    for (const Row &row : rows)
      sums.append({row.most, row.sum});
    auto split = [&](SmallVector<Value> values) {
      for (Row &row : llvm::reverse(rows)) {
        row.sum = values.pop_back_val();
        row.most = values.pop_back_val();
      }
      return values;
    };
    auto loop = scf::ForOp::create(b, r.loc, index(0), keyCount, index(tileKeys), sums);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> own = split(SmallVector<Value>(loop.getRegionIterArgs()));
      body(loop.getInductionVar(), own);
      for (const Row &row : rows)
        own.append({row.most, row.sum});
      scf::YieldOp::create(b, r.loc, own);
    }
    return split(SmallVector<Value>(loop.getResults()));
  }

  const CudaKernel &k;
  CudaReader &r;
  OpBuilder &b;
  Attention attention;
  const KernelReader::Buffer target;
  Type f32;
  int64_t rank;
  ScalarBuilder scoreScalars, productScalars;
  int64_t knownRows = 0, knownKeys = 0, size = 1, columns = 1;
  int64_t tileRows = 1, tileKeys = 1;
  bool wholeRows = false, wholeKeys = false;
  Value yes, zero, lowest, rowCount, keyCount, thread, firstRow;
  SmallVector<Value> batch;
};

/// In threads that each have rows and columns of both products.
class ThreadForm : public AttentionEmitter {
public:
  using AttentionEmitter::AttentionEmitter;

  void emit() {
    bool isSmall = !ShapedType::isDynamic(knownRows) && knownRows <= lines;
    place(threads, isSmall ? lines : 4 * lines, across * keysEach);
    rowsEach = tileRows / lines;
    columnsEach = llvm::divideCeil(columns, across);
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
    SmallVector<Value> sums = alongKeys(rows, none, [&](Value first, SmallVector<Value> &sums) {
      SmallVector<Value> scores = multiplyKeys(first);
      for (int64_t i = 0; i < rowsEach; ++i) {
        auto own = MutableArrayRef(scores).slice(i * keysEach, keysEach);
        for (int64_t j = 0; j < keysEach; ++j)
          own[j] = logitOf(own[j], rows[i], r.add(first, keyOf(j)));
        Value factor = weigh(own, rows[i], across);
        for (Value &sum : MutableArrayRef(sums).slice(i * columnsEach, columnsEach))
          sum = multiply(sum, factor);
        for (int64_t j = 0; j < keysEach; ++j)
          memref::StoreOp::create(b, r.loc, own[j], weights,
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
  static constexpr int64_t threads = 256, across = 16, lines = threads / across, keysEach = 4,
                           depth = 16, padding = 4;

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

  /// Adds products of lines in shared memory: of `left` from line `from` on, and of `right`.
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
          sums[i * rightEach + j] = math::FmaOp::create(b, r.loc, ofLeft[i], ofRight[j],
                                                        sums[i * rightEach + j]);
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
          return widened(queryAt(whole(left), r.add(firstRow, row), place, wholeRows), left);
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

  /// Adds the values of the block from `first` on, by the weights in shared memory.
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

/// By tensor cores, 16 rows a warp.
class CoreForm : public AttentionEmitter {
public:
  CoreForm(const CudaKernel &k, Attention found)
      : AttentionEmitter(k, std::move(found)), queries(attentionOperand(attention.scores.getLhs())),
        keys(attentionOperand(attention.scores.getRhs())),
        values(attentionOperand(attention.product.getRhs())),
        operand(getElementTypeOrSelf(queries.source.getType())) {}

  /// Whether all operands are f16 or all bf16, and weights may be rounded to that, as the
  /// result is, or as they are in any case.
  bool fits() {
    auto isOf = [&](Value value) { return getElementTypeOrSelf(value.getType()) == operand; };
    return isa<Float16Type, BFloat16Type>(operand) && isOf(keys.source) && isOf(values.source) &&
           values.scale == 1 &&
           (isOf(attention.product.getLhs()) || isOf(attention.root->getResult(0)));
  }

  void emit() {
    bool isKnown = !ShapedType::isDynamic(knownRows);
    int64_t warps = isKnown && knownRows <= coreRows ? 1 : isKnown && knownRows <= 2 * coreRows ? 2 : 4;
    // Keys and values of a block stay within 40 KiB.
    bool isWide = std::max(size, columns) > 128;
    bool isFew = !ShapedType::isDynamic(knownKeys) && knownKeys <= 32;
    place(warps * warpThreads, warps * coreRows, isWide || isFew ? 32 : 64);
    pairs = llvm::alignTo(size, 16) / 2;
    groups = llvm::divideCeil(columns, coreColumns);
    // The words that a warp reads at once fall into different banks.
    int64_t valueLine = groups * coreColumns + (groups % 2 ? 0 : 8);
    Type word = b.getI32Type();
    keyTile = r.shared(word, {tileKeys, pairs + 4});
    valueTile = r.shared(word, {tileKeys / 2, valueLine});
    Value warp = r.divide(thread, index(warpThreads)), lane = r.remainder(thread, index(warpThreads));
    g = r.divide(lane, index(4));
    t = r.remainder(lane, index(4));
    none = arith::ConstantOp::create(b, r.loc, b.getFloatAttr(operand, 0));
    SmallVector<Row> rows;
    for (int64_t i : {0, 8})
      rows.push_back(rowAt(r.add(r.mul(warp, index(coreRows)), r.add(g, index(i)))));
    SmallVector<Value> left;
    for (int64_t slice = 0; slice < pairs; slice += 8)
      for (int64_t pair : {0, 4})
        for (const Row &row : rows)
          left.push_back(queryPair(row, r.add(t, index(slice + pair))));
    SmallVector<Value> zeros(groups * 4, zero);
    SmallVector<Value> sums = alongKeys(rows, zeros, [&](Value first, SmallVector<Value> &sums) {
      bringKeys(first);
      bringValues(first);
      r.barrier();
      SmallVector<Value> weights = weightsOf(multiplyKeys(left), first, rows, sums);
      multiplyValues(weights, sums);
      r.barrier();
    });
    for (int64_t i : {0, 1}) {
      Value divisor = divisorOf(rows[i], 4);
      r.onlyIf(rows[i].exists, [&] {
        for (int64_t j = 0; j < groups; ++j)
          for (int64_t c : {0, 1})
            store(rows[i], r.add(r.mul(t, index(2)), index(j * coreColumns + c)),
                  (j + 1) * coreColumns <= columns,
                  arith::DivFOp::create(b, r.loc, sums[j * 4 + i * 2 + c], divisor));
      });
    }
  }

private:
  /// Two neighbours along the heads' size, zero beyond it.
  Value pairOf(Value pair, function_ref<Value(Value place)> element) {
    auto one = [&](int64_t i) {
      return within(size, size % 16 == 0, r.add(r.mul(pair, index(2)), index(i)), none, element);
    };
    Value low = one(0), high = one(1);
    return packHalves(r, low, high);
  }
  Value queryPair(const Row &row, Value pair) {
    return pairOf(pair, [&](Value place) { return queryAt(queries, row.index, place, true); });
  }

  /// Keys lie in shared memory as lines of pairs along the heads' size.
  void bringKeys(Value first) {
    bool byRows = attention.keysAreRows();
    int64_t inner = byRows ? pairs : tileKeys;
    forItems(tileKeys * pairs, [&](Value item) {
      Value outside = r.divide(item, index(inner)), inside = r.remainder(item, index(inner));
      Value key = byRows ? outside : inside, pair = byRows ? inside : outside;
      Value both = pairOf(pair, [&](Value place) { return keyAt(keys, r.add(first, key), place); });
      memref::StoreOp::create(b, r.loc, both, keyTile, ValueRange{key, pair});
    });
  }

  /// Values as lines of columns, two keys in a word.
  void bringValues(Value first) {
    int64_t width = groups * coreColumns;
    forItems(tileKeys / 2 * width, [&](Value item) {
      Value pair = r.divide(item, index(width)), column = r.remainder(item, index(width));
      auto one = [&](int64_t i) {
        Value key = r.add(first, r.add(r.mul(pair, index(2)), index(i)));
        Value value = within(columns, width == columns, column, none,
                             [&](Value column) { return valueAt(values, key, column); });
        return wholeKeys ? value : choose(r.less(key, keyCount), value, none);
      };
      Value low = one(0), high = one(1);
      memref::StoreOp::create(b, r.loc, packHalves(r, low, high), valueTile, ValueRange{pair, column});
    });
  }

  Value load(Value tile, Value line, Value place) {
    return memref::LoadOp::create(b, r.loc, tile, ValueRange{line, place});
  }

  /// Four scores for each eight keys: of the first row's two, and the second's.
  SmallVector<Value> multiplyKeys(ArrayRef<Value> left) {
    SmallVector<Value> scores(tileKeys / coreColumns * 4, zero);
    for (int64_t j = 0; j < tileKeys / coreColumns; ++j)
      for (int64_t slice = 0; slice < pairs; slice += 8) {
        Value line = r.add(g, index(j * coreColumns));
        Value right[] = {load(keyTile, line, r.add(t, index(slice))),
                         load(keyTile, line, r.add(t, index(slice + 4)))};
        multiplyOnCores(r, operand, left.slice(slice / 2, 4), right,
                        MutableArrayRef(scores).slice(j * 4, 4));
      }
    return scores;
  }

  /// The words of the weights that come of `scores`: for each 16 keys four, as the left
  /// operand of the next product. Scales earlier sums.
  SmallVector<Value> weightsOf(SmallVector<Value> scores, Value first, SmallVector<Row> &rows,
                               SmallVector<Value> &sums) {
    double scale = queries.scale * keys.scale;
    int64_t count = tileKeys / coreColumns;
    for (int64_t i : {0, 1}) {
      SmallVector<Value> own;
      for (int64_t j = 0; j < count; ++j)
        for (int64_t c : {0, 1}) {
          Value score = scores[j * 4 + i * 2 + c];
          if (scale != 1)
            score = multiply(score, number(scale));
          Value key = r.add(first, r.add(r.mul(t, index(2)), index(j * coreColumns + c)));
          own.push_back(logitOf(score, rows[i], key));
        }
      Value factor = weigh(own, rows[i], 4);
      for (int64_t j = 0; j < groups; ++j)
        for (int64_t c : {0, 1}) {
          Value &sum = sums[j * 4 + i * 2 + c];
          sum = multiply(sum, factor);
        }
      for (int64_t j = 0; j < count; ++j)
        for (int64_t c : {0, 1})
          scores[j * 4 + i * 2 + c] = productScalars.cast(own[j * 2 + c], f32, operand, false);
    }
    SmallVector<Value> words;
    for (int64_t i = 0; i < count * 4; i += 2)
      words.push_back(packHalves(r, scores[i], scores[i + 1]));
    return words;
  }

  void multiplyValues(ArrayRef<Value> weights, SmallVector<Value> &sums) {
    for (int64_t slice = 0; slice < tileKeys / 2; slice += 8)
      for (int64_t j = 0; j < groups; ++j) {
        Value column = r.add(g, index(j * coreColumns));
        Value right[] = {load(valueTile, r.add(t, index(slice)), column),
                         load(valueTile, r.add(t, index(slice + 4)), column)};
        multiplyOnCores(r, operand, weights.slice(slice / 2, 4), right,
                        MutableArrayRef(sums).slice(j * 4, 4));
      }
  }

  AttentionOperand queries, keys, values;
  Type operand;
  int64_t pairs = 8, groups = 1; ///< of a head's elements; of eight columns
  Value keyTile, valueTile, g, t, none;
};

} // namespace

bool weir::emitAttention(const CudaKernel &k) {
  std::optional<Attention> attention = attentionOf(k.kernel);
  if (!attention)
    return false;
  // The step has checked that sizes go together.
  k.reader.quiet = true;
  if (CoreForm onCores(k, *attention); onCores.fits())
    onCores.emit();
  else
    ThreadForm(k, std::move(*attention)).emit();
  k.reader.quiet = false;
  return true;
}
