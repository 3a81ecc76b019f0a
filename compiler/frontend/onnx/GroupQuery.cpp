//===- GroupQuery.cpp - com.microsoft's GroupQueryAttention ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention whose heads of queries share heads of keys, with caches of keys and
// values that come in and go out.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Heads.h"
#include "compiler/frontend/onnx/Microsoft.h"
#include "compiler/frontend/onnx/Quantization.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// A cache of bytes, or of two numbers of four bits a byte, the first in the lower half: scale by
/// (value - zero), where zero is 8 for those of four bits.
class QuantizedCache {
public:
  /// Reads the attribute `kind` and the scale, input `scaleInput`, of the cache that is input
  /// `pastInput`; reports what does not go together.
  static std::optional<QuantizedCache> read(NodeImport &n, std::string_view kind, size_t pastInput,
                                            size_t scaleInput);

  bool isQuantized() const { return bits != 0; }
  /// Entries [batch, length, heads, size] as the cache holds them.
  Value packed(NodeImport &n, Value x, int64_t size) const;
  /// Entries [batch, heads, length, …] of the cache as numbers, `size` a head; of bytes that hold
  /// two all first ones come before all second ones (inOrderOfHalves), so that lines stay whole.
  Value opened(NodeImport &n, Value x, int64_t size) const;
  bool isHalved() const { return bits == 4; }
  /// Whether the scale is one for each entry of `heads`, or one for all; reports.
  bool fits(NodeImport &n, Value heads) const {
    return bits == 0 || n.rank(scale) == 0 || n.isAsLarge(scale, 3, heads, 3, "scale");
  }

private:
  int64_t bits = 0; ///< 0: the cache is of the operands' type
  Value scale;      ///< a scalar, or [1, heads, 1, size]
};

std::optional<QuantizedCache> QuantizedCache::read(NodeImport &n, std::string_view kind,
                                                   size_t pastInput, size_t scaleInput) {
  QuantizedCache cache;
  std::string_view given = n.hasAttr(kind) ? n.s(kind) : "NONE";
  Value past = n.has(pastInput) ? n.in(pastInput) : Value();
  int64_t width = intOr(n, "kv_cache_bit_width", 0);
  if (given == "NONE") {
    if (!past || n.isFloat(past))
      return cache;
    (void)n.invalid("found a quantised cache whose " + Twine(kind) + " is NONE");
    return std::nullopt;
  }
  if (given != "PER_TENSOR" && given != "PER_CHANNEL") {
    (void)n.invalid("expected " + Twine(kind) + " to be NONE, PER_TENSOR or PER_CHANNEL, got " +
                    Twine(given));
    return std::nullopt;
  }
  bool isBytes = past && n.element(past).isSignlessInteger(8);
  bool isHalves = past && n.element(past).isUnsignedInteger(8);
  if ((!isBytes && !isHalves) || (width && width != (isBytes ? 8 : 4))) {
    (void)n.unsupported("expected a quantised cache of int8 and kv_cache_bit_width 8, or of uint8 "
                        "and 4, got " +
                        Twine(isBytes    ? "int8"
                              : isHalves ? "uint8"
                              : past     ? "another type"
                                         : "no cache") +
                        " and " + Twine(width));
    return std::nullopt;
  }
  cache.bits = isBytes ? 8 : 4;
  if (!n.has(scaleInput)) {
    (void)n.invalid("found a quantised cache without its scale");
    return std::nullopt;
  }
  cache.scale = n.in(scaleInput);
  if (given == "PER_TENSOR") {
    for (int64_t axis = 0; axis < n.rank(cache.scale); ++axis)
      if (!n.hasSize(cache.scale, axis, 1, "scale"))
        return std::nullopt;
    cache.scale = n.toScalar(cache.scale);
  } else if (!n.hasRank(cache.scale, 4, "scale") || !n.hasSize(cache.scale, 0, 1, "scale") ||
             !n.hasSize(cache.scale, 2, 1, "scale") ||
             !n.isAsLarge(cache.scale, 1, past, 1, "scale")) {
    return std::nullopt;
  }
  return cache.scale ? std::optional(cache) : std::nullopt;
}

Value QuantizedCache::packed(NodeImport &n, Value x, int64_t size) const {
  if (!bits || !x)
    return x;
  Value step = n.rank(scale) == 4 ? n.transpose(scale, {0, 2, 1, 3}) : scale;
  Value scaled = n.div(n.widen(x), step);
  Type byte = n.b.getI8Type();
  if (bits == 8)
    return quantize(n, scaled, {}, byte);
  Type half = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  Value limited = n.minimum(n.maximum(scaled, -8.0), 7.0);
  Value number = quantize(n, n.add(n.op<RoundOp>(limited), 8.0), {}, half);
  Value pairs = n.reshapeTo(number, n.concat({n.shapeSlice(x, 0, 3), n.ints({size / 2, 2})}, 0));
  return n.add(n.pick(pairs, 4, 0), n.mul(n.pick(pairs, 4, 1), 16.0));
}

/// The last dimension, of even `size`, with the entries of even places first, or that undone.
Value inOrderOfHalves(NodeImport &n, Value x, int64_t size, bool back = false) {
  SmallVector<int64_t> order(size);
  for (int64_t i = 0; i < size; ++i) {
    int64_t place = i % 2 * (size / 2) + i / 2;
    order[back ? i : place] = back ? place : i;
  }
  return n.gather(x, n.ints(order), n.rank(x) - 1);
}

Value QuantizedCache::opened(NodeImport &n, Value x, int64_t size) const {
  if (!bits || !x)
    return x;
  Type f32 = n.element(scale);
  if (bits == 8)
    return n.mul(n.cast(x, f32), scale);
  Value first = n.op<AndOp>(x, n.like(x, 15)), second = n.op<ShrOp>(x, n.like(x, 4));
  Value numbers = n.sub(n.concat({n.cast(first, f32), n.cast(second, f32)}, 3), 8.0);
  return n.mul(numbers, n.rank(scale) == 4 ? inOrderOfHalves(n, scale, size) : scale);
}

/// Inputs: 0 query, 1 key, 2 value, 3 past_key, 4 past_value, 5 seqlens_k,
/// 6 total_sequence_length, 7 cos_cache, 8 sin_cache, 9 position_ids,
/// 10 attention_bias, 11 head_sink, 12 k_scale, 13 v_scale, 14 q_norm_weight,
/// 15 k_norm_weight, 16 query_seqlens.
class GroupQuery {
public:
  explicit GroupQuery(NodeImport &n) : n(n), i64(n.b.getI64Type()) {}
  LogicalResult run();

private:
  bool options();
  bool operands();
  bool fitting();
  bool fits(Value cache, const QuantizedCache &kind);
  bool places();
  Value fresh(Value x, const QuantizedCache &kind, size_t pastInput);
  bool updatesCaches();
  Value grown(size_t pastInput);
  Value updated(Value fresh, size_t pastInput);
  Value cached(Value fresh, size_t pastInput);
  bool windowPlaces();
  Value windowed(Value fresh, size_t pastInput, Value &all);
  Value bias(Type type);
  Value windowBias();

  NodeImport &n;
  Type i64;
  int64_t heads = 0, keyHeads = 0;
  Value q, k, v;   ///< [batch, length, heads, size]
  Value length;    ///< tensor<1xi64>
  Value asked;     ///< total_sequence_length, tensor<1xi64>
  Value total;     ///< entries of the cache that is put out, tensor<1xi64>
  Value ends;      ///< entries up to the last one of each sequence, [batch]
  Value past;      ///< entries before the first query, [batch]
  Value seen;      ///< entries up to the last one of any sequence, tensor<1xi64>
  Value positions; ///< of the queries, [batch, length]
  QuantizedCache keyCache, valueCache;

  // Caches that hold the last positions alone, which are put out moved up.
  int64_t window = 0;     ///< positions that a query sees; 0: caches hold all
  Value isOld, keyPlaces; ///< of the cache's entries [batch, entries]; and of the new ones behind
  Value kept;             ///< which of those the cache keeps, [batch, entries of the cache]
};

bool GroupQuery::options() {
  if (intOr(n, "sliding_window_cache", 0)) {
    window = intOr(n, "local_window_size", -1);
    if (window < 1) {
      (void)n.invalid("expected a local_window_size beside sliding_window_cache, got " +
                      Twine(window));
      return false;
    }
    if (!intOr(n, "causal", 1)) {
      (void)n.invalid("expected causal to be 1 beside sliding_window_cache, got 0");
      return false;
    }
    if (!n.has(3)) {
      (void)n.invalid("found a sliding_window_cache without past_key and past_value");
      return false;
    }
    if (intOr(n, "qk_output", 0)) {
      (void)n.unsupported("found a qk_output beside a sliding_window_cache");
      return false;
    }
  }
  if (n.has(3) != n.has(4)) {
    (void)n.invalid("found one of past_key and past_value alone");
    return false;
  }
  if (n.has(16) && (!n.has(3) || !intOr(n, "causal", 1))) {
    (void)n.invalid("found query_seqlens without past_key and past_value, or with causal 0");
    return false;
  }
  std::optional<QuantizedCache> keys = QuantizedCache::read(n, "k_quant_type", 3, 12);
  std::optional<QuantizedCache> values =
      keys ? QuantizedCache::read(n, "v_quant_type", 4, 13) : std::nullopt;
  if (!values)
    return false;
  keyCache = *keys, valueCache = *values;
  return true;
}

bool GroupQuery::operands() {
  heads = n.i("num_heads"), keyHeads = n.i("kv_num_heads");
  Value query = n.in(0);
  if (!query)
    return false;
  if (n.rank(query) != 3 || !n.isStep(heads) || !n.isStep(keyHeads) || heads % keyHeads) {
    (void)n.invalid("expected queries of rank 3, and a number of heads that the key heads divide, "
                    "got queries of rank " +
                    Twine(n.rank(query)) + " and " + Twine(keyHeads) + " key heads for " +
                    Twine(heads));
    return false;
  }
  if (n.has(1)) {
    for (size_t i : {1, 2})
      if (!n.hasRank(n.in(i), 3, "keys and values"))
        return false;
    q = separateHeads(n, query, heads);
    k = separateHeads(n, n.in(1), keyHeads);
    v = separateHeads(n, n.in(2), keyHeads);
  } else {
    Value joined = separateHeads(n, query, heads + 2 * keyHeads);
    q = n.slice(joined, 2, 0, heads);
    k = n.slice(joined, 2, heads, heads + keyHeads);
    v = n.slice(joined, 2, heads + keyHeads, heads + 2 * keyHeads);
  }
  if (!fitting())
    return false;
  double epsilon = realOr(n, "qk_norm_epsilon", 1e-6);
  if (n.has(14))
    q = simplifiedNorm(n, q, n.in(14), realOr(n, "q_norm_epsilon", epsilon), 3);
  if (n.has(15))
    k = simplifiedNorm(n, k, n.in(15), realOr(n, "k_norm_epsilon", epsilon), 3);
  return q && k && v;
}

/// Whether a cache belongs to the operands.
bool GroupQuery::fits(Value cache, const QuantizedCache &kind) {
  int64_t size = n.dim(q, 3);
  if (!n.hasRank(cache, 4, "cache") || !n.isAsLarge(cache, 0, q, 0, "batches") ||
      !n.hasSize(cache, 1, keyHeads, "cache") || !kind.fits(n, q))
    return false;
  if (!kind.isHalved())
    return n.isAsLarge(cache, 3, q, 3, "heads");
  if (!ShapedType::isDynamic(size) && size % 2 == 0)
    return n.hasSize(cache, 3, size / 2, "cache");
  (void)n.unsupported("expected heads of an even size, got " + sizeText(size));
  return false;
}

/// Whether operands go together.
bool GroupQuery::fitting() {
  if (!q || !k || !v)
    return false;
  if (n.has(1))
    for (Value x : {k, v}) {
      for (int64_t axis : {0, 3})
        if (!n.isAsLarge(x, axis, q, axis, "queries, keys and values"))
          return false;
      // As many as queries, or none, where caches hold all.
      int64_t count = n.dim(x, 1);
      if (!ShapedType::isDynamic(count) && count != 0 && !n.hasSize(q, 1, count, "queries"))
        return false;
      if (ShapedType::isDynamic(count)) {
        Value given = n.sizeOf(x, 1), same = n.compare("eq", given, n.sizeOf(q, 1));
        n.require(n.toScalar(n.op<OrOp>(same, n.compare("eq", given, 0.0))),
                  "there are neither as many keys and values as queries nor none");
      }
    }
  if (n.has(3) && (!fits(n.in(3), keyCache) || !fits(n.in(4), valueCache) ||
                   !n.isAsLarge(n.in(4), 2, n.in(3), 2, "caches")))
    return false;
  for (size_t i : {14, 15})
    if (n.has(i) && !n.hasOneEach(n.in(i), q, 3, "norm's weight"))
      return false;
  return !n.has(11) || n.hasEntries(n.in(11), heads, "head_sink");
}

bool GroupQuery::places() {
  length = n.sizeOf(q, 1);
  asked = n.cast(n.reshape(n.in(6), {1}), i64);
  total = n.has(3) ? n.maximum(n.sizeOf(n.in(3), 2), asked) : asked;
  ends = n.add(n.cast(n.reshape(n.in(5), {-1}), i64), 1.0);
  if (!n.isAsLarge(ends, 0, q, 0, "seqlens_k"))
    return false;
  Value least = n.minimum(n.toScalar(length), 1.0); // of no queries nothing has to be there
  n.require(n.reduce(n.compare("ge", ends, least), "all", {0}, false), "seqlens_k are negative");
  if (n.has(16)) {
    // The last of the queries are there for their number alone.
    if (!n.hasRank(n.in(16), 1, "query_seqlens") ||
        !n.isAsLarge(n.in(16), 0, q, 0, "query_seqlens"))
      return false;
    Value valid = n.cast(n.in(16), i64);
    Value fits = n.op<AndOp>(n.compare("ge", valid, 0.0),
                             n.compare("le", valid, n.minimum(ends, n.toScalar(length))));
    fits = n.op<AndOp>(fits, n.compare("le", ends, n.toScalar(asked)));
    n.require(
        n.reduce(fits, "all", {0}, false),
        "query_seqlens are not from 0 to the length of the queries and of the sequences, or these "
        "are longer than total_sequence_length");
    past = n.sub(ends, valid);
  } else {
    past = entriesBefore(n, ends, n.toScalar(asked), n.toScalar(length));
  }
  Value row = n.unsqueeze(upTo(n, length), {0});
  positions = n.add(n.unsqueeze(past, {1}), row);
  Value furthest = n.dim(q, 0) == 1 ? past : n.maximum(n.reduce(past, "max", {0}, false), 0.0);
  seen = n.add(n.reshape(furthest, {1}), length);
  return !window || windowPlaces();
}

/// A cache of C entries for a window of W positions holds, from entry 0 on, the last of T
/// positions: all where they fit, else T less a multiple of C - W + 1, so that it is moved up once
/// in as many steps. The layout depends on T alone.
bool GroupQuery::windowPlaces() {
  Value entries = n.sizeOf(n.in(3), 2), capacity = n.toScalar(entries);
  int64_t known = n.dim(n.in(3), 2);
  if (!ShapedType::isDynamic(known) && known < window) {
    (void)n.invalid("expected caches of " + Twine(window) + " entries at least, got " +
                    Twine(known));
    return false;
  }
  n.require(n.compare("ge", capacity, double(window)),
            ("the caches have fewer than " + Twine(window) + " entries").str());
  Value step = n.sub(capacity, double(window - 1));
  auto first = [&](Value count) { // the position that entry 0 holds
    Value over = n.maximum(n.sub(count, capacity), 0.0);
    return n.mul(n.div(n.add(over, n.sub(step, 1.0)), step), step);
  };
  Value place = n.unsqueeze(upTo(n, entries), {0}), before = n.unsqueeze(past, {1});
  Value base = n.unsqueeze(first(past), {1});
  Value old = n.add(base, place); // [batch, entries]
  isOld = n.compare("lt", old, before);
  Value never = n.like(old, double(int64_t(1) << 40));
  keyPlaces =
      n.concat({n.select(isOld, old, never), n.add(before, n.unsqueeze(upTo(n, length), {0}))}, 1);
  // What follows the last position is the last one again.
  Value next =
      n.minimum(n.add(n.unsqueeze(first(ends), {1}), place), n.unsqueeze(n.sub(ends, 1.0), {1}));
  kept = n.select(n.compare("lt", next, before), n.sub(next, base),
                  n.add(n.sub(next, before), capacity));
  return keyPlaces && kept;
}

/// The cache that is put out; `all` gets what attention looks at: the cache that came in, zeros
/// where it holds nothing, and the new entries.
Value GroupQuery::windowed(Value fresh, size_t pastInput, Value &all) {
  Value cache = n.in(pastInput);
  if (!fresh || !cache)
    return {};
  Value old = n.select(n.unsqueeze(isOld, {1, 3}), cache, n.like(cache, 0));
  all = n.concat({old, n.transpose(fresh, {0, 2, 1, 3})}, 2);
  return n.op<GatherOp>(all, kept, n.number(2), n.number(1), n.flag(false));
}

/// Whether attention can leave out what lies behind the last query's entries of the caches, which
/// then have the new entries written over: nobody else sees the scores.
bool GroupQuery::updatesCaches() {
  return n.has(3) && n.has(4) && !n.has(10) && intOr(n, "qk_output", 0) == 0;
}

/// The cache that is fed, as long as the one that is put out.
Value GroupQuery::grown(size_t pastInput) {
  Value cache = n.in(pastInput);
  if (!cache)
    return {};
  std::optional<SmallVector<int64_t>> asked = n.knownInts(6);
  int64_t size = n.dim(cache, 2);
  if (asked && asked->size() == 1 && !ShapedType::isDynamic(size) && size >= asked->front())
    return cache;
  // Where nothing is missing this is the cache itself, whose memory the result may have.
  Value missing = n.concat(
      {n.shapeSlice(cache, 0, 2), n.sub(total, n.sizeOf(cache, 2)), n.shapeSlice(cache, 3, 4)}, 0);
  return n.concat({cache, n.expandTo(n.like(cache, 0), missing)}, 2);
}

/// `fresh` in its lines of the cache, which may lie where the one that is fed does. Behind the
/// entries of a sequence that is shorter than others come zeros up to the longest one's last:
/// attention leaves their scores out, but weights of 0 make NaN of what is no number.
Value GroupQuery::updated(Value fresh, size_t pastInput) {
  Value cache = grown(pastInput);
  if (!fresh || !past || !cache)
    return {};
  Value lines = n.transpose(fresh, {0, 2, 1, 3}); // [batch, heads, length, size]
  Value begin = n.unsqueeze(past, {1, 2, 3});
  Value places = n.add(n.unsqueeze(upTo(n, length), {0, 1, 3}), begin);
  if (n.dim(lines, 0) != 1) {
    // As many as the shortest sequence lacks. What the longest writes there is its last entry.
    Value written = n.add(begin, n.toScalar(length));
    Value longest = n.toScalar(seen);
    Value least = n.reshape(n.reduce(written, "min", {0, 1, 2, 3}, false), {1});
    Value lacking = n.maximum(n.sub(seen, least), 0.0); // none of no sequences
    Value behind =
        n.minimum(n.add(n.unsqueeze(upTo(n, lacking), {0, 1, 3}), written), n.sub(longest, 1.0));
    Value last = n.slice(lines, 2, -1, std::numeric_limits<int64_t>::max());
    Value filler = n.select(n.compare("lt", written, longest), n.like(last, 0), last);
    filler = n.expandTo(
        filler, n.concat({n.shapeSlice(lines, 0, 2), lacking, n.shapeSlice(lines, 3, 4)}, 0));
    lines = n.concat({lines, filler}, 2);
    places = n.concat({places, behind}, 2);
  }
  places = n.expandTo(places, n.shapeOf(lines));
  return n.op<ScatterElementsOp>(cache, places, lines, n.number(2), n.text("none"), n.flag(false));
}

/// The cache [batch, heads, total, size] with the new entries in it: what was
/// there before them, they, and zeros.
Value GroupQuery::cached(Value fresh, size_t pastInput) {
  if (!fresh || !total || !past)
    return {};
  if (!n.has(pastInput))
    return n.transpose(fresh, {0, 2, 1, 3});
  Value place = n.unsqueeze(upTo(n, total), {0});
  Value own = n.sub(place, n.unsqueeze(past, {1})); // [batch, total]
  Value last = n.sub(n.toScalar(length), 1.0);
  Value within = n.minimum(n.maximum(own, 0.0), last);
  // [batch, total, heads, size] of the new entries, each where it belongs.
  Value placed = n.transpose(n.op<GatherOp>(fresh, within, n.number(1), n.number(1), n.flag(false)),
                             {0, 2, 1, 3});
  Value old = grown(pastInput);
  if (!old || !placed)
    return {};
  auto wide = [&](Value mask) { return n.unsqueeze(mask, {1, 3}); };
  Value isOld = n.compare("lt", own, 0.0);
  Value isNew = n.compare("lt", own, n.toScalar(length));
  Value zero = n.like(placed, 0);
  return n.select(wide(isOld), old, n.select(wide(isNew), placed, zero));
}

/// What is added to scores [batch, heads, length, total].
Value GroupQuery::bias(Type type) {
  Value key = window ? n.unsqueeze(keyPlaces, {1, 2}) : upTo(n, total);
  Value at = n.unsqueeze(positions, {1, 3}); // [batch, 1, length, 1]
  Value looks;
  if (intOr(n, "causal", 1)) {
    looks = n.compare("le", key, at);
  } else {
    Value behind = n.add(past, n.toScalar(length));
    looks = n.compare("lt", key, n.unsqueeze(behind, {1, 2, 3}));
  }
  if (int64_t width = intOr(n, "local_window_size", -1); width > 0)
    looks = n.op<AndOp>(looks, n.compare("gt", key, n.sub(at, double(width))));
  if (window && n.has(10))
    return n.select(looks, n.cast(windowBias(), type), lowest(n, type));
  Value sum = n.select(looks, n.scalar(type, 0), lowest(n, type));
  if (n.has(10))
    sum = n.add(sum, n.cast(n.in(10), type));
  return sum;
}

/// attention_bias, whose columns are positions from the first on, of the positions that caches of a
/// window hold and the new ones: the others are not read.
Value GroupQuery::windowBias() {
  Value given = n.in(10);
  if (!n.hasRank(given, 4, "attention_bias") ||
      !n.isOneOrAsLarge(given, 0, q, 0, "attention_bias and batches") ||
      !n.isOneOrAsLarge(given, 1, q, 2, "attention_bias and heads") ||
      !n.isAsLarge(given, 2, q, 1, "attention_bias") ||
      !n.hasSize(given, 3, asked, "attention_bias"))
    return {};
  Value column = n.minimum(keyPlaces, n.maximum(n.sub(n.toScalar(asked), 1.0), 0.0));
  // Each sequence has its own columns.
  Value each = n.expandTo(given, n.concat({n.sizeOf(q, 0), n.shapeSlice(given, 1, 4)}, 0));
  return n.op<GatherOp>(each, column, n.number(3), n.number(1), n.flag(false));
}

/// New entries as the cache holds them. Where sequences may be shorter than the queries are long,
/// what lies behind their ends is 0: nobody looks there, but weights of 0 make NaN of what is no
/// number.
Value GroupQuery::fresh(Value x, const QuantizedCache &kind, size_t pastInput) {
  if (!x)
    return {};
  if (n.has(16) || n.dim(q, 0) != 1) {
    Value row = n.unsqueeze(upTo(n, length), {0});
    Value isOne = n.compare("lt", row, n.unsqueeze(n.sub(ends, past), {1})); // [batch, length]
    x = n.select(n.unsqueeze(isOne, {2, 3}), x, n.like(x, 0));
  }
  if (kind.isQuantized())
    return kind.packed(n, x, n.dim(q, 3));
  Type held = n.has(pastInput) ? n.element(n.in(pastInput)) : n.element(x);
  if (held.getIntOrFloatBitWidth() >= 16)
    return n.cast(x, held);
  (void)n.unsupported("expected a cache of floats of 16 or 32 bits where it is not quantised");
  return {};
}

LogicalResult GroupQuery::run() {
  if (!options() || !operands() || !places())
    return failure();
  if (n.i("do_rotary"))
    rotateByPlaces(n, q, k, n.has(9) ? n.in(9) : positions, 7);
  Value freshKeys = fresh(k, keyCache, 3), freshValues = fresh(v, valueCache, 4);
  Value keys, values, seenKeys, seenValues;
  if (window) {
    keys = windowed(freshKeys, 3, seenKeys);
    values = windowed(freshValues, 4, seenValues);
  } else {
    bool updates = updatesCaches();
    keys = seenKeys = updates ? updated(freshKeys, 3) : cached(freshKeys, 3);
    values = seenValues = updates ? updated(freshValues, 4) : cached(freshValues, 4);
    // attention_bias has a column for each entry that there is, of a cache that may be longer.
    if ((updates || (n.has(3) && n.has(10))) && keys && values) {
      total = updates ? seen : asked;
      for (Value *part : {&seenKeys, &seenValues})
        *part = n.op<SliceOp>(*part, n.ints({0}), total, n.ints({1}), n.list({2}), n.flag(false));
    }
  }
  int64_t size = n.dim(q, 3); // known where a cache has halves
  seenKeys = keyCache.opened(n, seenKeys, size);
  seenValues = valueCache.opened(n, seenValues, size);
  if (!q || !keys || !values || !seenKeys || !seenValues)
    return failure();
  Type type = n.element(n.widen(q));
  Scores s = scoresOf(n, bias(type));
  if (!s.sink && intOr(n, "smooth_softmax", -1) == 1)
    s.sink = n.scalar(type, 0);
  Value queries = n.transpose(q, {0, 2, 1, 3});
  if (keyCache.isHalved())
    queries = inOrderOfHalves(n, queries, size);
  Value y =
      attend(n, queries, repeatHeads(n, seenKeys, queries), repeatHeads(n, seenValues, queries), s);
  if (valueCache.isHalved() && y)
    y = inOrderOfHalves(n, y, size, /*back=*/true);
  Value shown = intOr(n, "qk_output", 0) == 1 ? s.raw : s.weights;
  return n.results({joinHeads(n, y), keys, values, n.cast(shown, n.element(q))});
}

} // namespace

LogicalResult weir::onnx::groupQueryAttention(NodeImport &n) { return GroupQuery(n).run(); }
