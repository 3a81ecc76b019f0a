//===- MicrosoftAttention.cpp - com.microsoft's kinds of attention --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention with merged weights, with several heads, and rotary positions. Masks are finite numbers
// that are added to the scores: a query that may look nowhere looks everywhere alike.
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

Scores weir::onnx::scoresOf(NodeImport &n, Value bias) {
  Scores s;
  s.scale = realOr(n, "scale", 0);
  s.softcap = realOr(n, "softcap", 0);
  s.bias = bias;
  if (n.has(11))
    s.sink = n.in(11);
  return s;
}

namespace {
constexpr double kFilter = -10000;
} // namespace

Value weir::onnx::maskBias(NodeImport &n, Value mask, Value x, Value total, Type type) {
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

namespace {

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
  if (n.has(3) && q && v && n.rank(q) == 4 && n.rank(v) == 4) {
    // What is longer would have a part for the values that is not the last of three.
    Value bias = n.in(3);
    int64_t own = n.dim(q, 3), values = n.dim(v, 3), length = n.dim(bias, 0);
    if (ShapedType::isDynamic(own) || ShapedType::isDynamic(values) ||
        ShapedType::isDynamic(length)) {
      Value each = n.add(n.mul(n.sizeOf(q, 3), 2.0), n.sizeOf(v, 3));
      n.require(n.toScalar(n.compare("eq", n.sizeOf(bias, 0), n.mul(each, double(heads)))),
                "sizes of the bias and of queries, keys and values differ");
    } else if (length != heads * (2 * own + values)) {
      (void)n.invalid("expected a bias of " + Twine(heads * (2 * own + values)) + ", got " +
                      Twine(length));
      return false;
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

/// The input [batch, length, hidden] with its heads apart, [batch, length, heads, size]; one of
/// rank 4, whose heads come before the length, as it is.
Value rotaryHeads(NodeImport &n, Value x, Value cosines) {
  if (n.rank(x) != 3)
    return x;
  if (int64_t heads = n.i("num_heads"))
    return separateHeads(n, x, heads);
  // The caches say how wide a head is.
  Value width = n.mul(n.sizeOf(cosines, 1), 2.0), heads = n.div(n.sizeOf(x, 2), width);
  return n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 2), heads, width}, 0));
}

/// Heads `y` of the input `x`, turned by angles of [batch or 1, length, half].
LogicalResult rotate(NodeImport &n, Value x, Value y, Value cosines, Value sines) {
  bool flat = n.rank(x) == 3;
  y = rotateHeads(n, y, cosines, sines, n.i("rotary_embedding_dim"), n.i("interleaved") != 0,
                  flat ? 2 : 1);
  if (double scale = realOr(n, "scale", 1); scale != 1)
    y = n.mul(y, scale);
  return n.result(flat && y ? n.reshapeTo(y, n.shapeOf(x)) : y);
}

LogicalResult rotaryEmbedding(NodeImport &n) {
  Value x = n.in(0), positions = n.in(1), cosines = n.in(2), sines = n.in(3);
  if (!x || !positions || !cosines || !sines)
    return failure();
  if (n.i("is_packed_batching"))
    return n.unsupported("expected is_packed_batching to be 0, got another value");
  int64_t lengthAt = n.rank(x) == 3 ? 1 : 2;
  Value y = rotaryHeads(n, x, cosines);
  if (!y || !n.isSameShape(sines, cosines, "sines and cosines"))
    return failure();
  Type i64 = n.b.getI64Type();
  positions = n.cast(positions, i64);
  if (n.rank(positions) == 2 && (!n.isAsLarge(positions, 0, y, 0, "batches") ||
                                 !n.isAsLarge(positions, 1, y, lengthAt, "positions")))
    return failure();
  if (n.rank(positions) == 1) // of the first entry
    positions = n.unsqueeze(n.add(n.op<IotaOp>(n.sizeOf(y, lengthAt), n.number(0), n.typeAttr(i64)),
                                  n.toScalar(positions)),
                            {0});
  return rotate(n, x, y, linesAt(n, cosines, positions), linesAt(n, sines, positions));
}

/// Angles of three positions a token (time, height, width), of [3, batch, length, half]: each entry
/// of a half is one of theirs. The sections stand one behind the other, or (`mrope_layout` 1) every
/// third entry from 1 and from 2 on, as far as the sections of height and width reach, is theirs.
Value sectionsOf(NodeImport &n, Value angles, ArrayRef<int64_t> sections, bool interleaved) {
  if (!interleaved) {
    SmallVector<Value> parts;
    int64_t begin = 0;
    for (auto [i, size] : llvm::enumerate(sections)) {
      parts.push_back(n.slice(n.pick(angles, 0, i), 2, begin, begin + size));
      begin += size;
    }
    return n.concat(parts, 2);
  }
  Value merged = n.pick(angles, 0, 0);
  for (int64_t i : {1, 2}) {
    SmallVector<double> own(sections[0] + sections[1] + sections[2], 0);
    for (int64_t at = i; at < std::min<int64_t>(sections[i] * 3, own.size()); at += 3)
      own[at] = 1;
    merged = n.select(n.floats(own, n.b.getI1Type()), n.pick(angles, 0, i), merged);
  }
  return merged;
}

LogicalResult sectionedRotaryEmbedding(NodeImport &n) {
  Value x = n.in(0), positions = n.in(1), cosines = n.in(2), sines = n.in(3);
  if (!x || !positions || !cosines || !sines)
    return failure();
  if (n.i("is_packed_batching"))
    return n.unsupported("expected is_packed_batching to be 0, got another value");
  std::optional<SmallVector<int64_t>> sections = n.is("mrope_section");
  int64_t layout = n.i("mrope_layout"), rotated = n.i("rotary_embedding_dim");
  if (!sections || sections->size() != 3 ||
      !llvm::all_of(*sections, [&](int64_t size) { return size == 0 || n.isStep(size); }))
    return n.invalid("expected an mrope_section of three sizes");
  if (layout != 0 && layout != 1)
    return n.invalid("expected an mrope_layout of 0 or 1, got " + Twine(layout));
  int64_t half = (*sections)[0] + (*sections)[1] + (*sections)[2];
  Value y = rotaryHeads(n, x, cosines);
  if (!y || !n.hasRank(positions, 3, "positions"))
    return failure();
  if (rotated ? rotated != 2 * half : !n.hasSize(y, n.rank(y) - 1, 2 * half, "heads"))
    return rotated ? n.invalid("found an mrope_section of " + Twine(half) + " for " +
                               Twine(rotated) + " entries that are turned")
                   : failure();
  if (!n.hasSize(positions, 0, 3, "positions") || !n.isAsLarge(positions, 1, y, 0, "batches") ||
      !n.isAsLarge(positions, 2, y, n.rank(x) == 3 ? 1 : 2, "positions") ||
      !n.hasSize(cosines, 1, half, "cosines") || !n.hasSize(sines, 1, half, "sines") ||
      !n.isAsLarge(sines, 0, cosines, 0, "caches"))
    return failure();
  auto angles = [&](Value cache) {
    return sectionsOf(n, linesAt(n, cache, positions), *sections, layout == 1);
  };
  return rotate(n, x, y, angles(cosines), angles(sines));
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "Attention", 1, 0, attention},
    {microsoft, "GroupQueryAttention", 1, 0, groupQueryAttention},
    {microsoft, "MRotaryEmbedding", 1, 0, sectionedRotaryEmbedding},
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
