//===- MicrosoftAttention.cpp - com.microsoft's kinds of attention --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention with merged weights, with several heads, with heads in groups, and
// rotary positions. Masks are finite numbers that are added to the scores: a
// query that may look nowhere looks everywhere alike.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Heads.h"
#include "compiler/frontend/onnx/Microsoft.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Value weir::onnx::lowest(NodeImport &n, Type type) {
  const llvm::fltSemantics &kind = cast<FloatType>(type).getFloatSemantics();
  APFloat least = APFloat::getLargest(kind, /*Negative=*/true);
  bool lost;
  least.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return n.scalar(type, least.convertToDouble());
}

Value weir::onnx::attend(NodeImport &n, Value q, Value k, Value v, Scores &s) {
  if (!q || !k || !v)
    return {};
  if (n.rank(q) != 4 || n.rank(k) != 4 || n.rank(v) != 4) {
    (void)n.invalid("found queries, keys or values that are not of rank 4");
    return {};
  }
  Type type = n.element(q);
  Value scores = n.matmul(n.widen(q), n.transpose(n.widen(k), {0, 1, 3, 2}));
  scores = s.scale == 0 ? overRootOfSize(n, scores, q) : n.mul(scores, s.scale);
  if (s.softcap > 0)
    scores = n.mul(n.op<TanhOp>(n.div(scores, s.softcap)), s.softcap);
  if (s.bias)
    scores = n.add(scores, n.cast(s.bias, n.element(scores)));
  s.raw = scores;
  if (s.sink && scores) {
    Value sink = n.cast(s.sink, n.element(scores));
    if (n.rank(sink) == 1)
      sink = n.unsqueeze(sink, {1, 2});
    Value column = n.expandTo(sink, n.concat({n.shapeSlice(scores, 0, 3), n.ints({1})}, 0));
    // The sink's column comes first, so that the rest begins at a known place.
    Value all = n.softmax(n.concat({column, scores}, 3), 3);
    s.weights = n.slice(all, 3, 1, std::numeric_limits<int64_t>::max());
  } else {
    s.weights = n.softmax(scores, 3);
  }
  return n.cast(n.matmul(s.weights, n.widen(v)), type);
}

namespace {

constexpr double kFilter = -10000;

/// What a mask adds to scores [batch, heads, length, total]. The mask may be
/// of 1 (look) and 0, [batch, total], [batch, length, total]; or say where each
/// sequence ends, [batch], and behind that where it starts, [2·batch].
Value maskBias(NodeImport &n, Value mask, Value x, Value total, Type type) {
  if (!mask || !x)
    return {};
  Type i64 = n.b.getI64Type();
  Value filter = n.scalar(type, realOr(n, "mask_filter_value", kFilter));
  Value zero = n.scalar(type, 0);
  mask = n.cast(mask, i64);
  int64_t rank = n.rank(mask);
  if (rank == 2 || rank == 3) {
    Value wide = n.unsqueeze(mask, rank == 2 ? ArrayRef<int64_t>{1, 2} : ArrayRef<int64_t>{1});
    return n.select(n.compare("gt", wide, 0.0), zero, filter);
  }
  int64_t batch = n.dim(x, 0), count = n.dim(mask, 0);
  bool known = !ShapedType::isDynamic(batch) && !ShapedType::isDynamic(count);
  bool starts = known && count == 2 * batch;
  if (rank != 1 || (known && !starts && count != batch)) {
    (void)n.unsupported("expected a mask of [batch], [2·batch], [batch, total] or [batch, length, "
                        "total], got one of rank " +
                        Twine(rank));
    return {};
  }
  Value place = n.op<IotaOp>(total, n.number(0), n.typeAttr(i64));
  auto column = [&](Value v) { return n.unsqueeze(v, {1, 2, 3}); };
  Value ends = starts ? n.slice(mask, 0, 0, batch) : mask;
  Value seen = n.compare("lt", place, column(ends));
  if (starts)
    seen = n.op<AndOp>(seen, n.compare("ge", place, column(n.slice(mask, 0, batch, count))));
  return n.select(seen, zero, filter);
}

/// The least number where a key comes after its query, [length, total]; before
/// the first query come total - length keys.
Value causalBias(NodeImport &n, Value length, Value total, Type type) {
  auto i64 = n.typeAttr(n.b.getI64Type());
  Value shape = n.concat({length, total}, 0);
  Value query = n.op<IotaOp>(shape, n.number(0), i64);
  Value key = n.op<IotaOp>(shape, n.number(1), i64);
  Value offset = n.toScalar(n.sub(total, length));
  return n.select(n.compare("le", key, n.add(query, offset)), n.scalar(type, 0), lowest(n, type));
}

/// x + y, where either may be null: nothing to add.
Value sumOf(NodeImport &n, Value x, Value y) { return x && y ? n.add(x, y) : x ? x : y; }

//===----------------------------------------------------------------------===//
// Attention, MultiHeadAttention
//===----------------------------------------------------------------------===//

LogicalResult attention(NodeImport &n) {
  Value x = n.in(0), weights = n.in(1);
  if (!x || !weights)
    return failure();
  Value joined = n.matmul(x, weights);
  if (n.has(2))
    joined = n.add(joined, n.in(2));
  return projectedAttention(n, joined, 3, 4, 5);
}

class MultiHead {
public:
  explicit MultiHead(NodeImport &n) : n(n), heads(n.i("num_heads")) {}
  LogicalResult run();

private:
  /// Part `part` of the bias, added to x [batch, length, hidden] or [batch,
  /// length, heads, size].
  Value biased(Value x, int64_t part);
  bool operands();

  NodeImport &n;
  int64_t heads;
  Value q, k, v; ///< [batch, heads, length, size]
};

Value MultiHead::biased(Value x, int64_t part) {
  if (!x || !n.has(3))
    return x;
  Value all = n.in(3);
  if (n.rank(all) != 1 || (n.rank(x) != 3 && n.rank(x) != 4)) {
    (void)n.invalid("found a bias that is no vector, or projections that are not of rank 3 or 4");
    return {};
  }
  // Queries and keys are as wide as each other; values have the rest.
  Value hidden = n.sizeProduct(x, 2, n.rank(x)), whole = n.sizeOf(all, 0);
  Value begin = part == 2 ? n.sub(whole, hidden) : n.mul(hidden, double(part));
  Value own =
      n.op<SliceOp>(all, begin, n.add(begin, hidden), n.ints({1}), n.list({0}), n.flag(true));
  if (n.rank(x) == 4)
    own = n.reshapeTo(own, n.shapeSlice(x, 2, 4));
  return n.add(x, own);
}

bool MultiHead::operands() {
  Value query = n.in(0);
  if (!query)
    return false;
  auto perHead = [&](Value x, int64_t part) -> Value {
    x = biased(x, part);
    if (x && n.rank(x) == 4)
      return n.transpose(x, {0, 2, 1, 3});
    return splitHeads(n, x, heads);
  };
  if (n.rank(query) == 5) { // [batch, length, heads, 3, size]
    q = perHead(n.pick(query, 3, 0), 0);
    k = perHead(n.pick(query, 3, 1), 1);
    v = perHead(n.pick(query, 3, 2), 2);
  } else {
    Value key = n.in(1);
    q = perHead(query, 0);
    if (n.rank(key) == 5) { // [batch, length, heads, 2, size]
      k = perHead(n.pick(key, 3, 0), 1);
      v = perHead(n.pick(key, 3, 1), 2);
    } else if (n.rank(key) == 4) { // by heads already, with its bias
      k = key;
      v = n.in(2);
    } else {
      k = perHead(key, 1);
      v = perHead(n.in(2), 2);
    }
  }
  if (n.has(6) && n.has(7)) {
    k = n.concat({n.in(6), k}, 2);
    v = n.concat({n.in(7), v}, 2);
  }
  return q && k && v;
}

LogicalResult MultiHead::run() {
  for (size_t i : {8, 9})
    if (n.has(i))
      return n.unsupported(
          "expected past and present as tensors, got a cache that is shared between steps");
  if (!operands())
    return failure();
  Value length = n.sizeOf(q, 2), total = n.sizeOf(k, 2);
  Type type = n.element(n.widen(q));
  Scores s;
  s.scale = realOr(n, "scale", 0);
  if (n.has(4) && !(s.bias = maskBias(n, n.in(4), q, total, type)))
    return failure();
  if (n.i("unidirectional"))
    s.bias = sumOf(n, s.bias, causalBias(n, length, total, type));
  if (n.has(5))
    s.bias = sumOf(n, s.bias, n.cast(n.in(5), type));
  Value y = joinHeads(n, attend(n, q, k, v, s));
  return n.results({y, k, v, n.cast(s.raw, n.element(q))});
}

LogicalResult multiHead(NodeImport &n) { return MultiHead(n).run(); }

//===----------------------------------------------------------------------===//
// Rotary positions
//===----------------------------------------------------------------------===//

LogicalResult rotaryEmbedding(NodeImport &n) {
  Value x = n.in(0), positions = n.in(1), cosines = n.in(2), sines = n.in(3);
  if (!x || !positions || !cosines || !sines)
    return failure();
  if (n.i("is_packed_batching"))
    return n.unsupported("expected is_packed_batching to be 0, got another value");
  bool flat = n.rank(x) == 3;
  int64_t rotated = n.i("rotary_embedding_dim"), heads = n.i("num_heads");
  Value y;
  if (!flat)
    y = x;
  else if (heads) // else the caches say how wide a head is
    y = separateHeads(n, x, heads);
  else {
    Value width = n.mul(n.sizeOf(cosines, 1), 2.0), heads = n.div(n.sizeOf(x, 2), width);
    y = n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 2), heads, width}, 0));
  }
  if (!y)
    return failure();
  Type i64 = n.b.getI64Type();
  positions = n.cast(positions, i64);
  if (n.rank(positions) == 2 && (!n.isAsLarge(positions, 0, y, 0, "batches") ||
                                 !n.isAsLarge(positions, 1, y, flat ? 1 : 2, "positions")))
    return failure();
  if (n.rank(positions) == 1) // of the first entry
    positions =
        n.unsqueeze(n.add(n.op<IotaOp>(n.sizeOf(y, flat ? 1 : 2), n.number(0), n.typeAttr(i64)),
                          n.toScalar(positions)),
                    {0});
  y = rotateHeads(n, y, n.gather(cosines, positions, 0), n.gather(sines, positions, 0), rotated,
                  n.i("interleaved") != 0, flat ? 2 : 1);
  if (double scale = realOr(n, "scale", 1); scale != 1)
    y = n.mul(y, scale);
  return n.result(flat && y ? n.reshapeTo(y, n.shapeOf(x)) : y);
}

//===----------------------------------------------------------------------===//
// Heads in groups
//===----------------------------------------------------------------------===//

/// Inputs: 0 query, 1 key, 2 value, 3 past_key, 4 past_value, 5 seqlens_k,
/// 6 total_sequence_length, 7 cos_cache, 8 sin_cache, 9 position_ids,
/// 10 attention_bias, 11 head_sink, 12 k_scale, 13 v_scale, 14 q_norm_weight,
/// 15 k_norm_weight.
class GroupQuery {
public:
  explicit GroupQuery(NodeImport &n) : n(n), i64(n.b.getI64Type()) {}
  LogicalResult run();

private:
  bool operands();
  void places();
  bool updatesCaches();
  Value grown(size_t pastInput);
  Value updated(Value fresh, size_t pastInput);
  Value cached(Value fresh, size_t pastInput);
  Value bias(Type type);
  /// 0, 1, … : as many as `count` (tensor<1xi64>) says.
  Value upTo(Value count) { return n.op<IotaOp>(count, n.number(0), n.typeAttr(i64)); }

  NodeImport &n;
  Type i64;
  int64_t heads = 0, keyHeads = 0;
  Value q, k, v;   ///< [batch, length, heads, size]
  Value length;    ///< tensor<1xi64>
  Value total;     ///< entries of the cache that is put out, tensor<1xi64>
  Value past;      ///< entries before the first query, [batch]
  Value seen;      ///< entries up to the last one of any sequence, tensor<1xi64>
  Value positions; ///< of the queries, [batch, length]
};

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
    q = separateHeads(n, query, heads);
    k = separateHeads(n, n.in(1), keyHeads);
    v = separateHeads(n, n.in(2), keyHeads);
  } else {
    Value joined = separateHeads(n, query, heads + 2 * keyHeads);
    q = n.slice(joined, 2, 0, heads);
    k = n.slice(joined, 2, heads, heads + keyHeads);
    v = n.slice(joined, 2, heads + keyHeads, heads + 2 * keyHeads);
  }
  double epsilon = realOr(n, "qk_norm_epsilon", 1e-6);
  if (n.has(14))
    q = simplifiedNorm(n, q, n.in(14), realOr(n, "q_norm_epsilon", epsilon), 3);
  if (n.has(15))
    k = simplifiedNorm(n, k, n.in(15), realOr(n, "k_norm_epsilon", epsilon), 3);
  return q && k && v;
}

void GroupQuery::places() {
  length = n.sizeOf(q, 1);
  Value asked = n.cast(n.reshape(n.in(6), {1}), i64);
  total = n.has(3) ? n.maximum(n.sizeOf(n.in(3), 2), asked) : asked;
  // Of a prompt nothing came before; later all but the new entries did.
  Value ends = n.add(n.cast(n.reshape(n.in(5), {-1}), i64), 1.0);
  Value before = n.sub(ends, n.toScalar(length));
  past =
      n.select(n.compare("eq", n.toScalar(asked), n.toScalar(length)), n.like(before, 0), before);
  Value row = n.unsqueeze(upTo(length), {0});
  positions = n.add(n.unsqueeze(past, {1}), row);
  Value furthest = n.dim(q, 0) == 1 ? past : n.maximum(n.reduce(past, "max", {0}, false), 0.0);
  seen = n.add(n.reshape(furthest, {1}), length);
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
  Value places = n.add(n.unsqueeze(upTo(length), {0, 1, 3}), begin);
  if (n.dim(lines, 0) != 1) {
    // As many as the shortest sequence lacks. What the longest writes there is its last entry.
    Value ends = n.add(begin, n.toScalar(length));
    Value longest = n.toScalar(seen);
    Value lacking = n.sub(seen, n.reshape(n.reduce(ends, "min", {0, 1, 2, 3}, false), {1}));
    Value behind =
        n.minimum(n.add(n.unsqueeze(upTo(lacking), {0, 1, 3}), ends), n.sub(longest, 1.0));
    Value last = n.slice(lines, 2, -1, std::numeric_limits<int64_t>::max());
    Value filler = n.select(n.compare("lt", ends, longest), n.like(last, 0), last);
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
  Value place = n.unsqueeze(upTo(total), {0});
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
  Value key = upTo(total);
  Value at = n.unsqueeze(positions, {1, 3}); // [batch, 1, length, 1]
  Value seen;
  if (intOr(n, "causal", 1)) {
    seen = n.compare("le", key, at);
  } else {
    Value ends = n.add(past, n.toScalar(length));
    seen = n.compare("lt", key, n.unsqueeze(ends, {1, 2, 3}));
  }
  if (int64_t window = intOr(n, "local_window_size", -1); window > 0)
    seen = n.op<AndOp>(seen, n.compare("gt", key, n.sub(at, double(window))));
  Value sum = n.select(seen, n.scalar(type, 0), lowest(n, type));
  if (n.has(10))
    sum = n.add(sum, n.cast(n.in(10), type));
  return sum;
}

LogicalResult GroupQuery::run() {
  for (const char *name : {"k_quant_type", "v_quant_type"})
    if (n.hasAttr(name) && n.s(name) != "NONE")
      return n.unsupported("expected " + Twine(name) + " to be NONE, got a quantised cache");
  for (const char *name : {"sliding_window_cache", "kv_cache_bit_width"})
    if (intOr(n, name, 0))
      return n.unsupported("expected " + Twine(name) + " to be 0, got another value");
  if (n.has(16))
    return n.unsupported("expected queries of one length, got the input query_seqlens");
  if (!operands())
    return failure();
  places();
  if (n.i("do_rotary"))
    rotateByPlaces(n, q, k, n.has(9) ? n.in(9) : positions, 7);
  bool updates = updatesCaches();
  Value keys = updates ? updated(k, 3) : cached(k, 3);
  Value values = updates ? updated(v, 4) : cached(v, 4);
  if (!q || !keys || !values)
    return failure();
  Value seenKeys = keys, seenValues = values;
  if (updates) {
    total = seen;
    for (Value *part : {&seenKeys, &seenValues})
      *part = n.op<SliceOp>(*part, n.ints({0}), total, n.ints({1}), n.list({2}), n.flag(false));
  }
  Type type = n.element(n.widen(q));
  Scores s;
  s.scale = realOr(n, "scale", 0);
  s.softcap = realOr(n, "softcap", 0);
  s.bias = bias(type);
  if (n.has(11))
    s.sink = n.in(11);
  else if (intOr(n, "smooth_softmax", -1) == 1)
    s.sink = n.scalar(type, 0);
  Value queries = n.transpose(q, {0, 2, 1, 3});
  Value y =
      attend(n, queries, repeatHeads(n, seenKeys, queries), repeatHeads(n, seenValues, queries), s);
  Value shown = intOr(n, "qk_output", 0) == 1 ? s.raw : s.weights;
  return n.results({joinHeads(n, y), keys, values, n.cast(shown, n.element(q))});
}

LogicalResult groupQuery(NodeImport &n) { return GroupQuery(n).run(); }

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "Attention", 1, 0, attention},
    {microsoft, "GroupQueryAttention", 1, 0, groupQuery},
    {microsoft, "MultiHeadAttention", 1, 0, multiHead},
    {microsoft, "PagedAttention", 1, 0, pagedAttention},
    {microsoft, "RotaryEmbedding", 1, 0, rotaryEmbedding},
};

} // namespace

LogicalResult weir::onnx::projectedAttention(NodeImport &n, Value joined, size_t maskInput,
                                             size_t pastInput, std::optional<size_t> biasInput) {
  if (!joined)
    return failure();
  int64_t heads = n.i("num_heads");
  if (n.rank(joined) != 3)
    return n.unsupported("expected an input of rank 3, got " + Twine(n.rank(joined)));
  if (n.i("do_rotary") || n.i("past_present_share_buffer"))
    return n.unsupported(
        "expected do_rotary and past_present_share_buffer to be 0, got another value");
  Value hidden = n.sizeOf(joined, 2), first, second;
  if (std::optional<SmallVector<int64_t>> sizes = n.is("qkv_hidden_sizes")) {
    int64_t known = n.dim(joined, 2), most = int64_t(1) << 40;
    auto fits = [&](int64_t size) { return size >= 0 && size <= most; };
    if (sizes->size() != 3 || !llvm::all_of(*sizes, fits) ||
        (!ShapedType::isDynamic(known) && (*sizes)[0] + (*sizes)[1] + (*sizes)[2] != known))
      return n.invalid("found weights that do not go with qkv_hidden_sizes");
    first = n.ints({(*sizes)[0]});
    second = n.ints({(*sizes)[0] + (*sizes)[1]});
    hidden = n.ints({(*sizes)[0] + (*sizes)[1] + (*sizes)[2]});
    joined = n.reshapeTo(joined, n.concat({n.shapeSlice(joined, 0, 2), hidden}, 0));
  } else {
    if (!n.isMultiple(joined, 2, 3, "parts"))
      return failure();
    first = n.div(hidden, 3.0);
    second = n.mul(first, 2.0);
  }
  auto part = [&](Value begin, Value end) {
    return splitHeads(n, n.op<SliceOp>(joined, begin, end, n.ints({1}), n.list({2}), n.flag(true)),
                      heads);
  };
  Value q = part(n.ints({0}), first), k = part(first, second), v = part(second, hidden);
  if (n.has(pastInput)) { // [2, batch, heads, length, size]
    k = n.concat({n.pick(n.in(pastInput), 0, 0), k}, 2);
    v = n.concat({n.pick(n.in(pastInput), 0, 1), v}, 2);
  }
  if (!q || !k || !v)
    return failure();
  Value length = n.sizeOf(q, 2), total = n.sizeOf(k, 2);
  Type type = n.element(n.widen(q));
  Scores s;
  s.scale = realOr(n, "scale", 0);
  if (n.has(maskInput) && !(s.bias = maskBias(n, n.in(maskInput), q, total, type)))
    return failure();
  if (n.i("unidirectional"))
    s.bias = sumOf(n, s.bias, causalBias(n, length, total, type));
  if (biasInput && n.has(*biasInput))
    s.bias = sumOf(n, s.bias, n.cast(n.in(*biasInput), type));
  Value y = joinHeads(n, attend(n, q, k, v, s));
  Value present;
  if (n.wants(1))
    present = n.concat({n.unsqueeze(k, {0}), n.unsqueeze(v, {0})}, 0);
  return n.results({y, present});
}

ArrayRef<OperatorImport> weir::onnx::microsoftAttentionImports() { return table; }
