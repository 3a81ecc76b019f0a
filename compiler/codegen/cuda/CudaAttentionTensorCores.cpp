//===- CudaAttentionTensorCores.cpp - attention by tensor cores ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A warp has 16 queries, and the sums that mma.m16n8k16 leaves in a lane are
// where it wants the left operand of the next product, so that weights go from
// one to the other without memory.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaAttention.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

/// By tensor cores, 16 rows a warp.
class CoreForm : public AttentionEmitter {
public:
  CoreForm(const CudaKernel &k, Attention found)
      : AttentionEmitter(k, std::move(found)), queries(attentionOperand(attention.scores.getLhs())),
        keys(attentionOperand(attention.scores.getRhs())),
        values(attentionOperand(attention.product.getRhs())),
        operand(getElementTypeOrSelf(queries.source.getType())) {}

  /// Whether all operands are f16 or all bf16, and weights may be rounded to
  /// that, as the result is, or as they are in any case.
  bool fits() {
    auto isOf = [&](Value value) { return getElementTypeOrSelf(value.getType()) == operand; };
    return isa<Float16Type, BFloat16Type>(operand) && isOf(keys.source) && isOf(values.source) &&
           values.scale == 1 &&
           (isOf(attention.product.getLhs()) || isOf(attention.root->getResult(0)));
  }

  void emit() {
    isRounded = true;
    bool isKnown = !ShapedType::isDynamic(knownRows);
    // The queries of all heads of a group, where a tile has room for them.
    int64_t all = knownRows * (isKnown ? headsOfTile(4 * tensorCoreRows) : 1);
    int64_t warps = isKnown && all <= tensorCoreRows       ? 1
                    : isKnown && all <= 2 * tensorCoreRows ? 2
                                                           : 4;
    // Keys and values of a block stay within 40 KiB.
    bool isWide = std::max(size, columns) > 128;
    bool isFew = !ShapedType::isDynamic(knownKeys) && knownKeys <= 32;
    // Of 12 warps each has 168 registers, of 8 all that there are: wider heads
    // would spill with fewer, and so would a mask of open size, or of tiles that are not whole.
    bool isOpen = ShapedType::isDynamic(knownRows) || ShapedType::isDynamic(knownKeys);
    bool readsMore = k.kernel.getBody().front().getNumArguments() > 3;
    int64_t keysOfTile = isWide || isFew ? 32 : 64;
    bool isUneven = !isOpen && (knownRows % (warps * tensorCoreRows) || knownKeys % keysOfTile);
    bool isNarrow = std::max(size, columns) <= (!readsMore ? 64 : isOpen ? 48 : isUneven ? 40 : 64);
    place(warps * warpThreads, warps * tensorCoreRows, keysOfTile,
          (isNarrow ? 12 : 8) * warpThreads, 128);
    pairs = llvm::alignTo(size, 16) / 2;
    groups = llvm::divideCeil(columns, tensorCoreColumns);
    // The words that a warp reads at once fall into different banks.
    int64_t valueLine = groups * tensorCoreColumns + (groups % 2 ? 0 : 8);
    Type word = b.getI32Type();
    keyTile = r.shared(word, {tileKeys, pairs + 4});
    valueTile = r.shared(word, {tileKeys / 2, valueLine});
    Value warp = r.divide(thread, index(warpThreads)),
          lane = r.remainder(thread, index(warpThreads));
    g = r.divide(lane, index(4));
    t = r.remainder(lane, index(4));
    none = arith::ConstantOp::create(b, r.loc, b.getFloatAttr(operand, 0));
    SmallVector<Row> rows;
    for (int64_t i : {0, 8})
      rows.push_back(rowAt(r.add(r.mul(warp, index(tensorCoreRows)), r.add(g, index(i)))));
    SmallVector<Value> left;
    for (int64_t slice = 0; slice < pairs; slice += 8)
      for (int64_t pair : {0, 4})
        for (const Row &row : rows)
          left.push_back(queryPair(row, r.add(t, index(slice + pair))));
    SmallVector<Value> zeros(groups * 4, zero);
    double scale = queries.scale * keys.scale;
    SmallVector<Value> sums = alongKeys(
        index(0), keysEnd(), tileKeys, rows, zeros, [&](Value first, SmallVector<Value> &sums) {
          bringKeys(first);
          bringValues(first);
          r.barrier();
          SmallVector<Value> weights =
              weightsOf(multiplyKeys(left), scale, operand, first, t, rows, sums);
          multiplyValues(weights, sums);
          r.barrier();
        });
    for (int64_t i : {0, 1}) {
      // One quotient a row: results are rounded to halves.
      Value inverse = arith::DivFOp::create(b, r.loc, number(1), divisorOf(rows[i], 4));
      r.onlyIf(rows[i].exists, [&] {
        for (int64_t j = 0; j < groups; ++j)
          for (int64_t c : {0, 1})
            store(rows[i], r.add(r.mul(t, index(2)), index(j * tensorCoreColumns + c)),
                  (j + 1) * tensorCoreColumns <= columns,
                  multiply(sums[j * 4 + i * 2 + c], inverse));
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
    return packWord(r, {low, high});
  }
  Value queryPair(const Row &row, Value pair) {
    return pairOf(pair, [&](Value place) { return queryAt(queries, row, place, true); });
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
    int64_t width = groups * tensorCoreColumns;
    forItems(tileKeys / 2 * width, [&](Value item) {
      Value pair = r.divide(item, index(width)), column = r.remainder(item, index(width));
      auto one = [&](int64_t i) {
        Value key = r.add(first, r.add(r.mul(pair, index(2)), index(i)));
        Value value = within(columns, width == columns, column, none,
                             [&](Value column) { return valueAt(values, key, column); });
        return wholeKeys ? value : choose(r.less(key, keyCount), value, none);
      };
      Value low = one(0), high = one(1);
      memref::StoreOp::create(b, r.loc, packWord(r, {low, high}), valueTile,
                              ValueRange{pair, column});
    });
  }

  Value load(Value tile, Value line, Value place) {
    return memref::LoadOp::create(b, r.loc, tile, ValueRange{line, place});
  }

  /// Four scores for each eight keys: of the first row's two, and the second's.
  SmallVector<Value> multiplyKeys(ArrayRef<Value> left) {
    SmallVector<Value> scores(tileKeys / tensorCoreColumns * 4, zero);
    for (int64_t j = 0; j < tileKeys / tensorCoreColumns; ++j)
      for (int64_t slice = 0; slice < pairs; slice += 8) {
        Value line = r.add(g, index(j * tensorCoreColumns));
        Value right[] = {load(keyTile, line, r.add(t, index(slice))),
                         load(keyTile, line, r.add(t, index(slice + 4)))};
        multiplyOnTensorCores(r, operand, operand, left.slice(slice / 2, 4), right,
                              MutableArrayRef(scores).slice(j * 4, 4));
      }
    return scores;
  }

  void multiplyValues(ArrayRef<Value> weights, SmallVector<Value> &sums) {
    for (int64_t slice = 0; slice < tileKeys / 2; slice += 8)
      for (int64_t j = 0; j < groups; ++j) {
        Value column = r.add(g, index(j * tensorCoreColumns));
        Value right[] = {load(valueTile, r.add(t, index(slice)), column),
                         load(valueTile, r.add(t, index(slice + 4)), column)};
        multiplyOnTensorCores(r, operand, operand, weights.slice(slice / 2, 4), right,
                              MutableArrayRef(sums).slice(j * 4, 4));
      }
  }

  AttentionOperand queries, keys, values;
  Type operand;
  int64_t pairs = 8, groups = 1; ///< of a head's elements; of eight columns
  Value keyTile, valueTile, g, t, none;
};

} // namespace

bool weir::emitAttentionOnTensorCores(const CudaKernel &k, const Attention &attention) {
  CoreForm form(k, attention);
  if (!form.fits())
    return false;
  form.emit();
  return true;
}
