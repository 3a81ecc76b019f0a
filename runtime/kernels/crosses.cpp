//===- crosses.cpp - crossed features -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every combination of one feature from each column, row by row of a batch: their
// fingerprints put together, or their texts joined. The last column's features
// change fastest.
//
//===----------------------------------------------------------------------===//

#include "kernels/hashes.h"
#include "kernels/string_support.h"

using namespace weir::rt;

namespace {

/// One column: strings or integers, each row's features one after the other.
struct Column {
  const weir_tensor *values;
  const int64_t *begins; ///< of each row, and the end; null: `width` a row
  int64_t width;

  int64_t begin(int64_t row) const { return begins ? begins[row] : row * width; }
  int64_t count(int64_t row) const { return begins ? begins[row + 1] - begins[row] : width; }
  bool isString() const { return values->dtype == WEIR_STRING; }
};

/// What a call says; the attributes' order.
struct Call {
  enum Hashing : int64_t { None, Chained, Plain, Keyed };
  int64_t hashing;
  int64_t buckets, hashKey, sparseCount, raggedCount, denseCount;
  bool givesSplits;     ///< results are values and row splits; else indices, values, shape
  const int64_t *kinds; ///< of each column in order: 0 ragged, 1 sparse, 2 dense

  explicit Call(const int64_t *a)
      : hashing(a[0]), buckets(a[1]), hashKey(a[2]), sparseCount(a[3]), raggedCount(a[4]),
        denseCount(a[5]), givesSplits(a[6]), kinds(a + 7) {}
  int64_t columns() const { return sparseCount + raggedCount + denseCount; }
};

uint64_t shiftMix(uint64_t v) { return v ^ (v >> 47); }

/// Two fingerprints as one (MurmurHash's mixing of a block).
uint64_t joinFingerprints(uint64_t a, uint64_t b) {
  constexpr uint64_t multiplier = 0xc6a4a7935bd1e995u;
  uint64_t result = a ^ multiplier;
  result ^= shiftMix(b * multiplier) * multiplier;
  result *= multiplier;
  return shiftMix(shiftMix(result) * multiplier);
}

class Crosser {
public:
  Crosser(weir_context *ctx, const Call &call) : call(call), text(ctx) {}

  Column *columns = nullptr;
  int64_t columnCount = 0;
  weir_string separator = {nullptr, 0};
  uint64_t key[2] = {0, 0};

  int64_t count(int64_t row) const {
    int64_t product = 1;
    for (int64_t c = 0; c < columnCount; ++c)
      if (__builtin_mul_overflow(product, columns[c].count(row), &product))
        return -1;
    return product;
  }

  /// Writes cross number `k` of a row to element `at`. False: no memory.
  bool write(int64_t row, int64_t k, weir_tensor &to, int64_t at, Contents &contents,
             int64_t *picks) {
    for (int64_t c = columnCount; c-- > 0;) {
      int64_t own = columns[c].count(row);
      picks[c] = columns[c].begin(row) + k % own;
      k /= own;
    }
    if (call.hashing != Call::None) {
      bool isChained = call.hashing == Call::Chained;
      uint64_t hash = isChained ? uint64_t(call.hashKey) : fingerprint(columns[0], picks[0]);
      for (int64_t c = isChained ? 0 : 1; c < columnCount; ++c)
        hash = joinFingerprints(hash, fingerprint(columns[c], picks[c]));
      static_cast<int64_t *>(to.data)[at] =
          int64_t(hash % (call.buckets > 0 ? uint64_t(call.buckets) : uint64_t(INT64_MAX)));
      return true;
    }
    text.clear();
    for (int64_t c = 0; c < columnCount; ++c) {
      if (c > 0)
        text << separator;
      if (columns[c].isString())
        text << stringsOf(*columns[c].values)[picks[c]];
      else
        text << digits(integerAt(*columns[c].values, picks[c]));
    }
    return !text.failed() && contents.copy(text.data(), text.size(), &stringResult(to)[at]);
  }

private:
  weir_string digits(int64_t value) {
    Text(room, sizeof(room)) << value;
    return stringOf(room);
  }
  uint64_t fingerprint(const Column &column, int64_t at) const {
    if (!column.isString())
      return uint64_t(integerAt(*column.values, at));
    const weir_string &s = stringsOf(*column.values)[at];
    return call.hashing == Call::Keyed ? sipHash24(s.data, s.size, key[0], key[1])
                                       : farmFingerprint64(s.data, s.size);
  }

  const Call &call;
  Growing text;
  char room[24] = {};
};

bool isFeature(const weir_tensor &values) {
  return values.dtype == WEIR_STRING || isIndexType(values.dtype);
}

/// The operands: ragged columns first (values, row splits), then sparse ones (indices,
/// values, shape), then dense ones, then what is joined or hashed with.
struct Operands {
  const weir_tensor *ragged, *sparse, *dense, *last;

  Operands(const Call &call, const weir_tensor *operands)
      : ragged(operands), sparse(ragged + 2 * call.raggedCount),
        dense(sparse + 3 * call.sparseCount), last(dense + call.denseCount) {}

  /// How many rows all columns have; -1: they are no columns, or differ.
  int64_t rows(const Call &call) const {
    int64_t rows = -1;
    auto agree = [&](int64_t own) {
      bool fits = rows < 0 || rows == own;
      rows = own;
      return fits && own >= 0;
    };
    bool fits = true;
    for (int64_t i = 0; i < call.raggedCount && fits; ++i)
      fits = isFeature(ragged[2 * i]) && isIndexType(ragged[2 * i + 1].dtype) &&
             ragged[2 * i + 1].rank == 1 && agree(ragged[2 * i + 1].dims[0] - 1);
    for (int64_t i = 0; i < call.sparseCount && fits; ++i)
      fits = sparse[3 * i].rank == 2 && sparse[3 * i].dims[1] == 2 &&
             sparse[3 * i].dims[0] == elementCountOf(sparse[3 * i + 1]) &&
             isFeature(sparse[3 * i + 1]) && elementCountOf(sparse[3 * i + 2]) == 2 &&
             agree(integerAt(sparse[3 * i + 2], 0));
    for (int64_t i = 0; i < call.denseCount && fits; ++i)
      fits = dense[i].rank == 2 && isFeature(dense[i]) && agree(dense[i].dims[0]);
    return fits ? rows : -1;
  }
};

/// Where the rows of a ragged column begin, and the last ends, to `to`.
void readSplits(const weir_tensor &splits, int64_t rows, int64_t *to) {
  for (int64_t row = 0; row <= rows; ++row)
    to[row] = integerAt(splits, row);
}

/// The same of a sparse one, by its indices; false: they are out of order, or out of bounds.
bool countSplits(const weir_tensor &indices, int64_t count, int64_t rows, int64_t *to) {
  for (int64_t row = 0; row <= rows; ++row)
    to[row] = 0;
  int64_t before = 0;
  for (int64_t k = 0; k < count; ++k) {
    int64_t row = integerAt(indices, 2 * k);
    if (row < before || row >= rows)
      return false;
    before = row;
    ++to[row + 1];
  }
  for (int64_t row = 0; row < rows; ++row)
    to[row + 1] += to[row];
  return true;
}

} // namespace

int32_t weir_kernel_cross(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                          weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  Call call(attributes);
  int64_t columnCount = call.columns();
  int64_t wanted = 3 * call.sparseCount + 2 * call.raggedCount + call.denseCount + 1;
  weir_tensor &values = results[call.givesSplits ? 0 : 1];
  if (operand_count != wanted || result_count != (call.givesSplits ? 2 : 3) ||
      values.dtype != (call.hashing ? WEIR_I64 : WEIR_STRING))
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  const Operands given(call, operands);
  int64_t rows = given.rows(call);
  if (rows < 0 || columnCount == 0)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "columns must be matrices of integers or strings with as many rows each");
  int64_t own = rows + 1;
  Scratch<Column> columns(ctx, columnCount);
  Scratch<int64_t> begins(ctx, own * (call.sparseCount + call.raggedCount)), splits(ctx, own),
      picks(ctx, columnCount);
  if (!columns.data || !begins.data || !splits.data || !picks.data)
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t next[3] = {0, 0, 0};
  for (int64_t c = 0; c < columnCount; ++c) {
    int64_t i = next[call.kinds[c]]++;
    if (call.kinds[c] == 2) {
      columns[c] = {&given.dense[i], nullptr, given.dense[i].dims[1]};
      continue;
    }
    bool isRagged = call.kinds[c] == 0;
    int64_t *to = begins.data + own * (isRagged ? i : call.raggedCount + i);
    const weir_tensor &features = isRagged ? given.ragged[2 * i] : given.sparse[3 * i + 1];
    columns[c] = {&features, to, 0};
    int64_t total = elementCountOf(features);
    if (isRagged)
      readSplits(given.ragged[2 * i + 1], rows, to);
    else if (!countSplits(given.sparse[3 * i], total, rows, to))
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "a row index is out of order, or out of bounds");
    bool ordered = to[0] == 0 && to[rows] == total;
    for (int64_t row = 0; row < rows && ordered; ++row)
      ordered = to[row] <= to[row + 1];
    if (!ordered)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "row splits are not those of the values");
  }
  Crosser crosser(ctx, call);
  crosser.columns = columns.data;
  crosser.columnCount = columnCount;
  if (call.hashing == Call::None && !loadString(*given.last, &crosser.separator))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the separator is not one string");
  if (call.hashing > Call::Chained) {
    if (given.last->dtype != WEIR_I64 || elementCountOf(*given.last) != 3)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "the salt is not two numbers");
    call.buckets = integerAt(*given.last, 0);
    crosser.key[0] = uint64_t(integerAt(*given.last, 1));
    crosser.key[1] = uint64_t(integerAt(*given.last, 2));
  }
  int64_t most = 0;
  splits[0] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t count = crosser.count(row);
    if (count < 0 || count > (int64_t(1) << 40) - splits[row])
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "there are too many crosses");
    splits[row + 1] = splits[row] + count;
    most = count > most ? count : most;
  }
  int64_t total = splits[rows];
  if (!shapeResult(ctx, values, 1, &total))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t pairs[2] = {total, 2}, two = 2;
  if (call.givesSplits
          ? !shapeResult(ctx, results[1], 1, &own)
          : !shapeResult(ctx, results[0], 2, pairs) || !shapeResult(ctx, results[2], 1, &two))
    return WEIR_RESOURCE_EXHAUSTED;
  Contents contents(ctx);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0, count = splits[row + 1] - splits[row]; k < count; ++k) {
      int64_t at = splits[row] + k;
      if (!crosser.write(row, k, values, at, contents, picks.data))
        return WEIR_RESOURCE_EXHAUSTED;
      if (!call.givesSplits) {
        storeIndex(results[0], 2 * at, row);
        storeIndex(results[0], 2 * at + 1, k);
      }
    }
  if (call.givesSplits) {
    for (int64_t row = 0; row < own; ++row)
      storeIndex(results[1], row, splits[row]);
  } else {
    storeIndex(results[2], 0, rows);
    storeIndex(results[2], 1, most);
  }
  return WEIR_OK;
}
