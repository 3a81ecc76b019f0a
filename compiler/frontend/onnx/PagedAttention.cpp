//===- PagedAttention.cpp - keys and values in pages --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// com.microsoft's PagedAttention (Kwon et al. 2023). Caches are read where they lie, all pages of
// them: a mask says which places of which pages a token's sequence has, and how far it may look. So
// a page may belong to several sequences, and pages that nobody has must hold finite numbers.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Heads.h"
#include "compiler/frontend/onnx/Microsoft.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// Inputs: 0 query, 1 key, 2 value, [tokens, heads·size], of all sequences one behind the other;
/// 3 key_cache, 4 value_cache, [pages, page, heads, size]; 5 cumulative_sequence_length, where
/// each sequence's tokens begin, and the last one's end; 6 past_seqlens, what came before them;
/// 7 block_table, [sequences, pages of the longest]; 8 cos_cache, 9 sin_cache, 11 head_sink,
/// 12 q_norm_weight, 13 k_norm_weight.
class PagedQuery {
public:
  explicit PagedQuery(NodeImport &n) : n(n), i64(n.b.getI64Type()) {}
  LogicalResult run();

private:
  LogicalResult refuse();
  bool operands();
  void places();
  Value written(Value cache, Value fresh);
  Value pagePlaces();
  Value bias(Type type);

  NodeImport &n;
  Type i64;
  int64_t heads = 0, keyHeads = 0, size = 0;
  Value q, k, v;  ///< [1, tokens, heads, size]
  Value pages;    ///< tensor<1xi64>
  Value page;     ///< tensor<1xi64>: places of a page
  Value table;    ///< [sequences, pages of the longest]
  Value ends;     ///< of sequences, with what came before, [sequences]
  Value owner;    ///< number of each token's sequence, [tokens]
  Value position; ///< of each token in its sequence, [tokens]
};

LogicalResult PagedQuery::refuse() {
  for (const char *name : {"k_quant_type", "v_quant_type"})
    if (n.hasAttr(name) && n.s(name) != "NONE")
      return n.unsupported("expected " + Twine(name) + " to be NONE, got a quantised cache");
  for (const char *name : {"k_cache_dtype", "v_cache_dtype"})
    if (n.hasAttr(name) && !n.s(name).empty())
      return n.unsupported("expected no " + Twine(name) + ", got a cache of another type");
  if (n.hasAttr("kv_cache_layout") && n.s("kv_cache_layout") != "SEPARATE")
    return n.unsupported("expected kv_cache_layout to be SEPARATE, got another layout");
  for (const char *name : {"rotary_offset", "v_head_size"})
    if (intOr(n, name, 0))
      return n.unsupported("expected " + Twine(name) + " to be 0, got another value");
  const std::pair<size_t, const char *> unknown[] = {
      {10, "slot_mapping"}, {14, "k_scale"}, {15, "v_scale"}, {16, "attention_metadata"}};
  for (auto [input, name] : unknown)
    if (n.has(input))
      return n.unsupported("expected no input " + Twine(name) + ", got one");
  if (!n.has(4))
    return n.unsupported("expected value_cache, got one cache for keys and values");
  return success();
}

bool PagedQuery::operands() {
  heads = n.i("num_heads"), keyHeads = n.i("kv_num_heads");
  Value query = n.in(0), cache = n.in(3);
  if (!query || !cache)
    return false;
  size = n.dim(cache, 3);
  if (n.rank(query) != 2 || n.rank(cache) != 4 || !n.isStep(heads) || !n.isStep(keyHeads) ||
      heads % keyHeads || ShapedType::isDynamic(size)) {
    (void)n.invalid("expected queries of rank 2, a cache of rank 4 whose heads have a known size, "
                    "and a number of heads that the key heads divide, got queries of rank " +
                    Twine(n.rank(query)) + ", a cache of rank " + Twine(n.rank(cache)) + " and " +
                    Twine(keyHeads) + " key heads for " + Twine(heads));
    return false;
  }
  auto separated = [&](Value x, int64_t count) { return n.reshape(x, {1, -1, count, size}); };
  if (n.has(1)) {
    q = separated(query, heads);
    k = separated(n.in(1), keyHeads);
    v = separated(n.in(2), keyHeads);
  } else {
    Value joined = separated(query, heads + 2 * keyHeads);
    q = n.slice(joined, 2, 0, heads);
    k = n.slice(joined, 2, heads, heads + keyHeads);
    v = n.slice(joined, 2, heads + keyHeads, heads + 2 * keyHeads);
  }
  double epsilon = realOr(n, "qk_norm_epsilon", 1e-6);
  if (n.has(12))
    q = simplifiedNorm(n, q, n.in(12), epsilon, 3);
  if (n.has(13))
    k = simplifiedNorm(n, k, n.in(13), epsilon, 3);
  return q && k && v;
}

void PagedQuery::places() {
  pages = n.sizeOf(n.in(3), 0);
  page = n.sizeOf(n.in(3), 1);
  table = n.cast(n.in(7), i64);
  Value bounds = n.cast(n.in(5), i64), past = n.cast(n.in(6), i64);
  Value first = n.slice(bounds, 0, 0, -1),
        last = n.slice(bounds, 0, 1, std::numeric_limits<int64_t>::max());
  ends = n.add(past, n.sub(last, first));
  Value token = n.op<IotaOp>(n.sizeOf(q, 1), n.number(0), n.typeAttr(i64));
  Value isBehind = n.compare("ge", n.unsqueeze(token, {1}), n.unsqueeze(last, {0}));
  owner = n.reduce(n.cast(isBehind, i64), "sum", {1}, false);
  position = n.add(n.sub(token, n.gather(first, owner, 0)), n.gather(past, owner, 0));
}

/// The cache with the tokens' entries in it.
Value PagedQuery::written(Value cache, Value fresh) {
  if (!cache || !fresh || !table || !position)
    return {};
  Value one = n.toScalar(page), row = n.div(position, one);
  Value entry = n.add(n.mul(owner, n.toScalar(n.sizeOf(table, 1))), row);
  Value own = n.gather(n.reshape(table, {-1}), entry, 0);
  Value place = n.add(n.mul(own, one), n.sub(position, n.mul(row, one)));
  Value flat = n.reshape(cache, {-1, keyHeads, size});
  Value all =
      n.op<ScatterNdOp>(flat, n.unsqueeze(place, {1}), n.reshape(fresh, {-1, keyHeads, size}),
                        n.text("none"), n.flag(false), n.flag(false));
  return n.reshapeTo(all, n.shapeOf(cache));
}

/// Which position of each sequence each place of each page has, [sequences, pages·page]; -1: none.
Value PagedQuery::pagePlaces() {
  Value one = n.toScalar(page), shape = n.shapeOf(table);
  Value row = n.op<IotaOp>(shape, n.number(1), n.typeAttr(i64));
  // What a sequence has no entries in goes to a page behind all others.
  Value isUsed = n.compare("lt", n.mul(row, one), n.unsqueeze(ends, {1}));
  Value target = n.select(isUsed, table, n.toScalar(pages));
  Value none = n.expandTo(n.scalar(i64, -1), n.concat({n.sizeOf(table, 0), n.add(pages, 1.0)}, 0));
  Value rows =
      n.op<ScatterElementsOp>(none, target, row, n.number(1), n.text("none"), n.flag(false));
  rows = n.unsqueeze(n.slice(rows, 1, 0, -1), {2}); // [sequences, pages, 1]
  Value inPage = n.op<IotaOp>(page, n.number(0), n.typeAttr(i64));
  Value at =
      n.select(n.compare("lt", rows, 0.0), n.like(rows, -1), n.add(n.mul(rows, one), inPage));
  return n.reshapeTo(at, n.concat({n.sizeOf(table, 0), n.mul(pages, page)}, 0));
}

/// What is added to scores [1, heads, tokens, pages·page].
Value PagedQuery::bias(Type type) {
  Value at = n.gather(pagePlaces(), owner, 0), own = n.unsqueeze(position, {1});
  Value seen = n.compare("ge", at, 0.0);
  Value limit =
      intOr(n, "is_causal", 1) ? own : n.sub(n.unsqueeze(n.gather(ends, owner, 0), {1}), 1.0);
  seen = n.op<AndOp>(seen, n.compare("le", at, limit));
  if (int64_t window = intOr(n, "local_window_size", -1); window > 0)
    seen = n.op<AndOp>(seen, n.compare("gt", at, n.sub(own, double(window))));
  return n.unsqueeze(n.select(seen, n.scalar(type, 0), lowest(n, type)), {0, 1});
}

LogicalResult PagedQuery::run() {
  if (failed(refuse()) || !operands())
    return failure();
  places();
  if (n.i("do_rotary"))
    rotateByPlaces(n, q, k, n.unsqueeze(position, {0}), 8);
  Value keys = written(n.in(3), k), values = written(n.in(4), v);
  if (!q || !keys || !values)
    return failure();
  Type type = n.element(n.widen(q));
  Scores s = scoresOf(n, bias(type));
  Value queries = n.transpose(q, {0, 2, 1, 3});
  auto headed = [&](Value cache) {
    Value flat = n.reshape(cache, {1, -1, keyHeads, size});
    return repeatHeads(n, n.transpose(flat, {0, 2, 1, 3}), queries);
  };
  Value y = attend(n, queries, headed(keys), headed(values), s);
  return n.results({n.reshape(joinHeads(n, y), {-1, heads * size}), keys, values});
}

} // namespace

LogicalResult weir::onnx::pagedAttention(NodeImport &n) { return PagedQuery(n).run(); }
