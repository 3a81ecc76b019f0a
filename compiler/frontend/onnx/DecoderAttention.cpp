//===- DecoderAttention.cpp - com.microsoft's attentions over caches ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attentions whose caches of keys and values are as long as sequences may become:
// of one new token whose past may be that of other beams, and of blocks.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Microsoft.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// `cache` [batch, heads, entries, size] with `lines` [batch, heads, length, size] in it from entry
/// `begin` [batch or 1] on.
Value withLines(NodeImport &n, Value cache, Value lines, Value begin) {
  Value places =
      n.add(n.unsqueeze(upTo(n, n.sizeOf(lines, 2)), {0, 1, 3}), n.unsqueeze(begin, {1, 2, 3}));
  return n.op<ScatterElementsOp>(cache, n.expandTo(places, n.shapeOf(lines)), lines, n.number(2),
                                 n.text("none"), n.flag(false));
}

//===----------------------------------------------------------------------===//
// DecoderMaskedMultiHeadAttention
//===----------------------------------------------------------------------===//

/// Inputs: 0 query, 1 key, 2 value, 3 mask_index, 4 attention_bias, 5 past_key, 6 past_value,
/// 7 past_sequence_length, 8 beam_width, 9 cache_indirection, 10 bias.
class OneToken {
public:
  explicit OneToken(NodeImport &n) : n(n), heads(n.i("num_heads")) {}
  LogicalResult run();

private:
  bool operands();
  /// An input [batch, 1, hidden] with its part of the bias, [batch, heads, 1, size].
  Value perHead(size_t input, int64_t part);
  /// Whether a cache belongs to the queries.
  bool fits(Value cache);
  bool append();
  /// Whether beam_width and cache_indirection, if any, go with the queries; reports.
  bool hasBeams(Value past);
  /// The entries that each beam sees, which are those of beams that it came from.
  Value followed(Value cache);

  NodeImport &n;
  int64_t heads;
  bool hasCache = false;
  Value q, k, v;             ///< [batch, heads, entries, size]
  Value keys, values, total; ///< caches with the new entry; how many are seen, tensor<1xi64>
};

Value OneToken::perHead(size_t input, int64_t part) {
  Value x = n.in(input);
  if (!n.hasRank(x, 3, "projections") || !n.hasSize(x, 1, 1, "projections") ||
      !n.isMultiple(x, 2, heads, "heads"))
    return {};
  if (n.has(10)) {
    if (!n.hasRank(n.in(10), 1, "bias") ||
        !n.hasSize(n.in(10), 0, n.settled(n.mul(n.sizeOf(x, 2), 3.0)), "bias"))
      return {};
    Value width = n.sizeOf(x, 2), begin = n.mul(width, double(part));
    x = n.add(x, n.op<SliceOp>(n.in(10), begin, n.add(begin, width), n.ints({1}), n.list({0}),
                               n.flag(true)));
  }
  return splitHeads(n, x, heads);
}

bool OneToken::fits(Value cache) {
  return n.hasRank(cache, 4, "keys and values") && n.isAsLarge(cache, 0, q, 0, "keys and values") &&
         n.hasSize(cache, 1, heads, "keys and values") &&
         n.isAsLarge(cache, 3, q, 3, "keys and values");
}

bool OneToken::operands() {
  if (!n.isCount("num_heads", heads))
    return false;
  if (!n.has(1) || !n.has(2)) {
    (void)n.unsupported("expected query, key and value as three inputs, got one that holds all");
    return false;
  }
  q = perHead(0, 0);
  hasCache = n.has(5);
  if (!hasCache) { // of an encoder's entries, which stay
    k = n.in(1), v = n.in(2);
    total = n.sizeOf(k, 2);
    return q && fits(k) && fits(v) && n.isAsLarge(v, 2, k, 2, "keys and values");
  }
  if (!n.has(6) || !n.has(7) || n.i("past_present_share_buffer") == 0) {
    (void)n.unsupported("expected past_key, past_value and past_sequence_length with "
                        "past_present_share_buffer 1, or none of them");
    return false;
  }
  k = perHead(1, 1), v = perHead(2, 2);
  for (size_t input : {1, 2}) // a size of 1 would be stretched to that of the others
    if (!q || !k || !v || !n.isAsLarge(n.in(input), 0, n.in(0), 0, "queries, keys and values") ||
        !n.isAsLarge(n.in(input), 2, n.in(0), 2, "queries, keys and values"))
      return false;
  return fits(n.in(5)) && fits(n.in(6)) && n.isAsLarge(n.in(6), 2, n.in(5), 2, "caches") &&
         append();
}

Value OneToken::followed(Value cache) {
  Value seen = firstEntries(n, cache, 2, total);
  if (!n.has(8) || !n.has(9))
    return seen;
  // [batch, beams, entries] says of which beam an entry is; the new ones are each beam's own.
  Value beams = n.cast(n.reshape(n.in(8), {1}), n.b.getI64Type()), rows = n.sizeOf(q, 0);
  Value from = firstEntries(n, n.cast(n.in(9), n.b.getI64Type()), 2, total);
  Value row = upTo(n, rows), count = n.toScalar(beams);
  Value first = n.mul(n.div(row, count), count);
  from = n.add(n.reshapeTo(from, n.concat({rows, total}, 0)), n.unsqueeze(first, {1}));
  Value isNew = n.compare("eq", upTo(n, total), n.sub(n.toScalar(total), 1.0));
  from = n.select(isNew, n.unsqueeze(row, {1}), from);
  // Entry j of row b is that of row from[b, j]: rows and entries are one dimension to look up in.
  Value lines = n.reshapeTo(
      n.transpose(seen, {0, 2, 1, 3}),
      n.concat({n.mul(rows, total), n.shapeSlice(seen, 1, 2), n.shapeSlice(seen, 3, 4)}, 0));
  Value at = n.add(n.mul(from, n.toScalar(total)), n.unsqueeze(upTo(n, total), {0}));
  return n.transpose(n.gather(lines, at, 0), {0, 2, 1, 3});
}

bool OneToken::hasBeams(Value past) {
  if (!n.has(9)) {
    if (n.has(8))
      n.require(n.compare("le", n.toScalar(n.in(8)), 1.0),
                "beam_width is above 1, and there is no cache_indirection");
    return true;
  }
  Value whose = n.in(9);
  if (!n.has(8) || !n.hasRank(whose, 3, "cache_indirection")) {
    if (!n.has(8))
      (void)n.invalid("found a cache_indirection without beam_width");
    return false;
  }
  Value beams = n.cast(n.toScalar(n.in(8)), n.b.getI64Type()), width = n.sizeOf(whose, 1);
  n.require(n.op<AndOp>(n.compare("ge", beams, 1.0), n.compare("eq", beams, n.toScalar(width))),
            "beam_width is not dimension 1 of cache_indirection, or below 1");
  n.require(
      n.compare("eq", n.toScalar(n.mul(n.sizeOf(whose, 0), width)), n.toScalar(n.sizeOf(q, 0))),
      "dimensions 0 and 1 of cache_indirection do not make the number of queries");
  if (!n.isAsLarge(whose, 2, n.in(5), 2, "cache_indirection and past_key"))
    return false;
  Value old = n.cast(firstEntries(n, whose, 2, past), n.b.getI64Type());
  Value isBeam = n.op<AndOp>(n.compare("ge", old, 0.0), n.compare("lt", old, beams));
  n.require(n.reduce(isBeam, "all", {0, 1, 2}, false),
            "cache_indirection names a beam outside of [0, beam_width)");
  return true;
}

bool OneToken::append() {
  Value past = n.cast(n.reshape(n.in(7), {1}), n.b.getI64Type());
  n.require(n.toScalar(n.op<AndOp>(n.compare("ge", past, 0.0),
                                   n.compare("lt", past, n.sizeOf(n.in(5), 2)))),
            "past_sequence_length is negative, or past_key has no room for one entry more");
  if (!hasBeams(past))
    return false;
  total = n.add(past, 1.0);
  keys = withLines(n, n.in(5), k, past);
  values = withLines(n, n.in(6), v, past);
  if (!keys || !values)
    return false;
  k = followed(keys), v = followed(values);
  return k && v;
}

LogicalResult OneToken::run() {
  if (!operands())
    return failure();
  Type type = n.element(n.widen(q));
  Scores s;
  s.scale = realOr(n, "scale", 0);
  if (n.has(3)) {
    if (!n.hasRank(n.in(3), 2, "mask_index") || !n.isAsLarge(n.in(3), 0, q, 0, "mask_index") ||
        !n.hasSize(n.in(3), 1, n.settled(total), "mask_index"))
      return failure();
    s.bias = maskBias(n, n.in(3), q, total, type);
    if (!s.bias)
      return failure();
  }
  if (n.has(4)) {
    Value bias = n.cast(n.in(4), type);
    if (!n.hasRank(bias, 4, "attention_bias") ||
        !n.isOneOrAsLarge(bias, 0, q, 0, "attention_bias") ||
        !n.isOneOrAsLarge(bias, 1, q, 1, "attention_bias") ||
        !n.hasSize(bias, 2, 1, "attention_bias") ||
        !n.hasSize(bias, 3, n.settled(total), "attention_bias"))
      return failure();
    // With beams, row i is that of prompt i, and counts for its beams.
    if (n.has(9) && n.dim(bias, 0) != 1) {
      Value beams = n.toScalar(n.cast(n.in(8), n.b.getI64Type()));
      Value prompt = n.div(upTo(n, n.sizeOf(q, 0)), beams);
      bias = n.gather(bias, n.minimum(prompt, n.sub(n.toScalar(n.sizeOf(bias, 0)), 1.0)), 0);
    }
    s.bias = s.bias ? n.add(s.bias, bias) : bias;
  }
  Value y = joinHeads(n, attend(n, q, k, v, s));
  if (n.wants(3) && n.i("output_qk") == 0)
    return n.invalid("found the output qk without output_qk 1");
  if (!hasCache && (n.wants(1) || n.wants(2)))
    return n.invalid("found caches as outputs that are none as inputs");
  return n.results({y, keys, values, n.cast(s.raw, n.element(n.in(0)))});
}

LogicalResult oneToken(NodeImport &n) { return OneToken(n).run(); }

//===----------------------------------------------------------------------===//
// SparseAttention
//===----------------------------------------------------------------------===//

/// Inputs: 0 query, 1 key, 2 value, 3 past_key, 4 past_value, 5 block_row_indices,
/// 6 block_col_indices, 7 total_sequence_length, 8 key_total_sequence_lengths, 9 cos_cache,
/// 10 sin_cache.
class BlockSparse {
public:
  explicit BlockSparse(NodeImport &n) : n(n), i64(n.b.getI64Type()) {}
  LogicalResult run();

private:
  bool operands();
  /// Which blocks of keys [layouts, blocks, blocks] a block of queries sees.
  Value blocks();
  /// Which entries each query sees, [batch, heads, length, total].
  Value seen();

  NodeImport &n;
  Type i64;
  int64_t heads = 0, keyHeads = 0, block = 0;
  Value q, k, v;   ///< [batch, length, heads, size]
  Value total;     ///< tensor<1xi64>
  Value past;      ///< entries before the first query, [batch]
  Value positions; ///< of the queries, [batch, length]
};

bool BlockSparse::operands() {
  heads = n.i("num_heads"), keyHeads = n.i("kv_num_heads"), block = n.i("sparse_block_size");
  Value query = n.in(0);
  if (!n.hasRank(query, 3, "query"))
    return false;
  if (!n.isStep(heads) || !n.isStep(keyHeads) || heads % keyHeads || !n.isStep(block)) {
    (void)n.invalid("expected a number of heads that the key heads divide, and a "
                    "sparse_block_size, got " +
                    Twine(heads) + ", " + Twine(keyHeads) + " and " + Twine(block));
    return false;
  }
  if (n.has(1)) {
    q = separateHeads(n, query, heads);
    k = separateHeads(n, n.in(1), keyHeads), v = separateHeads(n, n.in(2), keyHeads);
  } else {
    Value joined = separateHeads(n, query, heads + 2 * keyHeads);
    q = n.slice(joined, 2, 0, heads);
    k = n.slice(joined, 2, heads, heads + keyHeads);
    v = n.slice(joined, 2, heads + keyHeads, heads + 2 * keyHeads);
  }
  if (!q || !k || !v)
    return false;
  for (Value x : {k, v})
    for (int64_t axis : {0, 1, 3})
      if (!n.isAsLarge(x, axis, q, axis, "queries, keys and values"))
        return false;
  for (size_t i : {3, 4})
    if (!n.hasRank(n.in(i), 4, "caches") || !n.isAsLarge(n.in(i), 0, q, 0, "caches") ||
        !n.hasSize(n.in(i), 1, keyHeads, "caches") || !n.isAsLarge(n.in(i), 3, q, 3, "caches"))
      return false;
  if (!n.isAsLarge(n.in(4), 2, n.in(3), 2, "caches"))
    return false;
  if (!n.hasRank(n.in(5), 2, "block_row_indices") || !n.hasRank(n.in(6), 2, "block_col_indices") ||
      !n.isAsLarge(n.in(6), 0, n.in(5), 0, "layouts") ||
      !n.hasOneEach(n.in(8), q, 0, "key_total_sequence_lengths"))
    return false;
  Value length = n.toScalar(n.sizeOf(q, 1)), ends = n.cast(n.in(8), i64);
  total = n.cast(n.reshape(n.in(7), {1}), i64);
  Value whole = n.toScalar(total), rows = n.sub(n.sizeOf(n.in(5), 1), 1.0);
  n.require(n.op<AndOp>(n.compare("ge", whole, length),
                        n.compare("le", whole, n.toScalar(n.sizeOf(n.in(3), 2)))),
            "total_sequence_length is less than there are queries, or larger than past_key");
  n.require(n.compare("le", whole, n.toScalar(n.mul(rows, double(block)))),
            "block_row_indices end before total_sequence_length");
  n.require(n.reduce(n.op<AndOp>(n.compare("ge", ends, 1.0), n.compare("le", ends, whole)), "all",
                     {0}, false),
            "key_total_sequence_lengths are not from 1 to total_sequence_length");
  past = entriesBefore(n, ends, whole, length);
  positions = n.add(n.unsqueeze(past, {1}), n.unsqueeze(upTo(n, n.sizeOf(q, 1)), {0}));
  if (n.i("do_rotary"))
    rotateByPlaces(n, q, k, positions, 9);
  return q && k && positions;
}

Value BlockSparse::blocks() {
  Value begins = n.cast(n.in(5), i64), columns = n.cast(n.in(6), i64);
  Value rows = n.sub(n.sizeOf(begins, 1), 1.0), layouts = n.sizeOf(begins, 0);
  Value ends =
      n.op<SliceOp>(begins, n.ints({1}), n.add(rows, 1.0), n.ints({1}), n.list({1}), n.flag(true));
  Value starts = n.slice(begins, 1, 0, 1);
  Value last = n.slice(begins, 1, -1, std::numeric_limits<int64_t>::max());
  Value rises = n.compare(
      "le", n.op<SliceOp>(begins, n.ints({0}), rows, n.ints({1}), n.list({1}), n.flag(true)), ends);
  n.require(n.op<AndOp>(n.reduce(n.compare("eq", starts, 0.0), "all", {0, 1}, false),
                        n.reduce(rises, "all", {0, 1}, false)),
            "block_row_indices do not begin at 0, or fall");
  n.require(n.reduce(n.compare("le", last, n.sizeOf(columns, 1)), "all", {0, 1}, false),
            "block_row_indices end behind block_col_indices");
  // The row of each entry is how many rows end before it; what only fills is in none.
  Value entry = upTo(n, n.sizeOf(columns, 1));
  Value isBehind = n.compare("le", n.unsqueeze(ends, {1}), n.unsqueeze(entry, {0, 2}));
  Value row = n.reduce(n.cast(isBehind, i64), "sum", {2}, false);
  Value isBlock = n.op<AndOp>(n.compare("ge", columns, 0.0), n.compare("lt", columns, rows));
  n.require(n.reduce(n.op<OrOp>(isBlock, n.compare("ge", row, rows)), "all", {0, 1}, false),
            "block_col_indices name a block that block_row_indices have no row for");
  Value layout = n.expandTo(n.unsqueeze(upTo(n, layouts), {1}), n.shapeOf(columns));
  Value places =
      n.concat({n.unsqueeze(layout, {2}), n.unsqueeze(row, {2}), n.unsqueeze(columns, {2})}, 2);
  Type flag = n.b.getI1Type();
  Value none = n.expandTo(n.scalar(flag, 0), n.concat({layouts, rows, rows}, 0));
  return n.op<ScatterNdOp>(none, places, n.expandTo(n.scalar(flag, 1), n.shapeOf(columns)),
                           n.text("none"), n.flag(false), n.flag(true));
}

Value BlockSparse::seen() {
  Value key = upTo(n, total);
  Value ofQuery =
      n.gather(blocks(), n.div(positions, double(block)), 1); // [layouts, batch, length]
  Value each = n.gather(ofQuery, n.div(key, double(block)), 3);
  Value layouts = n.toScalar(n.sizeOf(each, 0));
  Value ofHead = n.gather(each, n.op<RemOp>(upTo(n, n.ints({heads})), layouts), 0);
  Value isBefore = n.compare("le", n.unsqueeze(key, {0, 1}), n.unsqueeze(positions, {2}));
  return n.op<AndOp>(n.transpose(ofHead, {1, 0, 2, 3}), n.unsqueeze(isBefore, {1}));
}

LogicalResult BlockSparse::run() {
  if (!operands())
    return failure();
  auto perHead = [&](Value x) { return n.transpose(x, {0, 2, 1, 3}); };
  Value queries = perHead(q);
  Value keys = withLines(n, n.in(3), perHead(k), past);
  Value values = withLines(n, n.in(4), perHead(v), past);
  Value allowed = seen();
  if (!queries || !keys || !values || !allowed)
    return failure();
  Type type = n.element(n.widen(q));
  Scores s;
  s.scale = realOr(n, "scale", 0);
  s.bias = n.select(allowed, n.scalar(type, 0), lowest(n, type));
  auto repeated = [&](Value cache) {
    return repeatHeads(n, firstEntries(n, cache, 2, total), queries);
  };
  Value y = attend(n, queries, repeated(keys), repeated(values), s);
  return n.results({joinHeads(n, y), keys, values});
}

LogicalResult blockSparse(NodeImport &n) { return BlockSparse(n).run(); }

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "DecoderMaskedMultiHeadAttention", 1, 0, oneToken},
    {microsoft, "SparseAttention", 1, 0, blockSparse},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::decoderAttentionImports() { return table; }
