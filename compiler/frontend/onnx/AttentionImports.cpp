//===- AttentionImports.cpp - attention and its parts ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Heads.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Attention {
public:
  explicit Attention(NodeImport &n) : n(n) {}
  LogicalResult run();

private:
  bool operands();
  Value bias();
  Value offset();
  Value position(int64_t axis);
  Value isNoLater();
  bool isOnlyCausal();

  NodeImport &n;
  Value q, k, v;
  Value length, keys; ///< tensor<1xi64>
};

bool Attention::operands() {
  q = n.in(0);
  k = n.in(1);
  v = n.in(2);
  if (!q || !k || !v)
    return false;
  q = splitHeads(n, q, n.i("q_num_heads"));
  k = splitHeads(n, k, n.i("kv_num_heads"));
  v = splitHeads(n, v, n.i("kv_num_heads"));
  if (!q || !k || !v)
    return false;
  if (n.has(4))
    k = n.concat({n.in(4), k}, 2);
  if (n.has(5))
    v = n.concat({n.in(5), v}, 2);
  if (!k || !v || n.rank(q) != 4 || n.rank(k) != 4 || n.rank(v) != 4) {
    (void)n.invalid("found operands that are not of rank 3 or 4");
    return false;
  }
  // Products stretch what is one; here nothing is.
  for (int64_t axis : {1, 2})
    if (!n.isAsLarge(v, axis, k, axis, axis == 1 ? "heads of keys and values" : "keys and values"))
      return false;
  if (!n.isAsLarge(k, 0, q, 0, "batches") || !n.isAsLarge(v, 0, q, 0, "batches"))
    return false;
  length = n.sizeOf(q, 2);
  keys = n.sizeOf(k, 2);
  return true;
}

/// The place along the queries (0) or keys (1), [queries, keys].
Value Attention::position(int64_t axis) {
  return n.op<IotaOp>(n.concat({length, keys}, 0), n.number(axis), n.typeAttr(n.b.getI64Type()));
}

/// How many keys came before the first query: a scalar, or [batch, 1, 1, 1].
Value Attention::offset() {
  if (n.has(4))
    return n.toScalar(n.sizeOf(n.in(4), 2));
  if (n.has(6)) {
    Value valid = n.unsqueeze(n.reshape(n.in(6), {-1}), {1, 2, 3});
    return n.sub(valid, n.toScalar(length));
  }
  return n.intScalar(0);
}

/// Whether a key is at the query's own place, or before it.
Value Attention::isNoLater() { return n.compare("le", position(1), n.add(position(0), offset())); }

/// Whether that is all that hides keys: then each query has some.
bool Attention::isOnlyCausal() {
  bool hasWindow =
      n.version >= 25 && (n.i("left_window_size") >= 0 || n.i("right_window_size") >= 0);
  return n.i("is_causal") && !n.has(3) && !n.has(6) && !hasWindow;
}

/// What is added to the scores: 0 where a query may look, -inf where not, and
/// the mask. Null where nothing is.
Value Attention::bias() {
  Type type = n.element(q);
  Value none = n.scalar(type, -infinity), zero = n.scalar(type, 0);
  Value sum;
  auto add = [&](Value part) { sum = sum ? n.add(sum, part) : part; };
  if (n.has(3)) {
    Value mask = n.in(3);
    if (n.rank(mask) < 1)
      return {};
    if (!n.isBool(mask)) // integers are added, too, and have no infinity
      mask = n.cast(mask, type);
    // A mask shorter than the keys hides the rest.
    int64_t last = n.rank(mask) - 1, own = n.dim(mask, last), all = n.dim(k, 2);
    bool isOpen = ShapedType::isDynamic(own) || ShapedType::isDynamic(all);
    if (!isOpen && own > all) {
      (void)n.invalid("found a mask of " + Twine(own) + " keys for " + Twine(all));
      return {};
    }
    if (isOpen || own != all) {
      Value missing = n.sub(keys, n.sizeOf(mask, last));
      if (isOpen)
        n.require(n.compare("ge", n.toScalar(missing), 0.0),
                  "the mask has more keys than there are");
      SmallVector<Value> pads(2 * n.rank(mask), n.ints({0}));
      pads.back() = missing;
      Value fill = n.isBool(mask) ? n.like(mask, 0) : n.like(mask, -infinity);
      mask = n.op<PadOp>(mask, n.concat(pads, 0), fill, n.text("constant"));
    }
    if (!mask)
      return {};
    add(n.isBool(mask) ? n.select(mask, zero, none) : mask);
  }
  auto allow = [&](Value allowed) { add(n.select(allowed, zero, none)); };
  if (n.i("is_causal"))
    allow(isNoLater());
  if (n.version >= 25) {
    int64_t left = n.i("left_window_size"), right = n.i("right_window_size");
    Value at = left >= 0 || right >= 0 ? n.add(position(0), offset()) : Value();
    if (left >= 0)
      allow(n.compare("le", n.sub(at, position(1)), double(left)));
    if (right >= 0)
      allow(n.compare("le", n.sub(position(1), at), double(right)));
  }
  if (n.has(6)) {
    Value valid = n.unsqueeze(n.reshape(n.in(6), {-1}), {1, 2, 3});
    Value place = n.op<IotaOp>(keys, n.number(0), n.typeAttr(n.b.getI64Type()));
    allow(n.compare("lt", place, valid));
  }
  return sum;
}

LogicalResult Attention::run() {
  Value x = n.in(0);
  if (!operands())
    return failure();
  for (Value operand : {k, v})
    if (!n.isAsLarge(operand, 0, q, 0, "batches"))
      return failure();
  Value presentKey = k, presentValue = v;
  Type type = n.element(q);
  k = repeatHeads(n, k, q);
  v = repeatHeads(n, v, q);
  if (!k || !v)
    return failure();
  bool onlyCausal = isOnlyCausal();
  Value bias = onlyCausal ? Value() : this->bias();
  bool hasBias =
      !onlyCausal &&
      (n.has(3) || n.has(6) || n.i("is_causal") ||
       (n.version >= 25 && (n.i("left_window_size") >= 0 || n.i("right_window_size") >= 0)));
  if (hasBias && !bias)
    return failure();
  // The definition scales both by its root, so that narrow types hold the
  // scores: so they do with queries scaled alone, and keys stay as they lie.
  Value scaled = n.hasAttr("scale") ? n.mul(q, n.f("scale")) : overRootOfSize(n, q, q);
  Value scores = n.matmul(scaled, n.transpose(k, {0, 1, 3, 2}));
  int64_t mode = n.i("qk_matmul_output_mode");
  Value shown = scores;
  if (double cap = n.f("softcap"); cap > 0) {
    scores = n.mul(n.op<TanhOp>(n.div(scores, cap)), cap);
    if (mode == 1)
      shown = scores;
  }
  if (bias)
    scores = n.add(scores, bias);
  if (onlyCausal)
    scores = n.select(isNoLater(), scores, n.scalar(type, -infinity));
  if (mode == 2)
    shown = scores;
  if (!scores)
    return failure();
  Type precise = type;
  if (n.i("softmax_precision"))
    precise = elementType(n.b.getContext(), static_cast<DataType>(n.i("softmax_precision")));
  Value weights = n.softmax(n.cast(scores, precise), 3);
  if (bias) {
    // A query that may look nowhere gets nothing, instead of 0/0.
    Value most = n.reduce(bias, "max", {n.rank(bias) - 1}, true);
    Value blind = n.compare("eq", most, -infinity);
    weights = n.select(blind, n.like(weights, 0), weights);
  }
  weights = n.cast(weights, type);
  if (mode == 3)
    shown = weights;
  Value y = n.matmul(weights, v);
  if (n.rank(x) == 3)
    y = joinHeads(n, y);
  return n.results({y, presentKey, presentValue, shown});
}

LogicalResult attention(NodeImport &n) { return Attention(n).run(); }

LogicalResult rotaryEmbedding(NodeImport &n) {
  Value x = n.in(0), cosines = n.in(1), sines = n.in(2);
  if (!x || !cosines || !sines)
    return failure();
  // [batch, length, heads, size], or [batch, heads, length, size] as it comes.
  bool flat = n.rank(x) == 3;
  Value y = flat ? separateHeads(n, x, n.i("num_heads")) : x;
  if (!n.isSameShape(sines, cosines, "sines and cosines"))
    return failure();
  if (n.has(3)) {
    cosines = linesAt(n, cosines, n.in(3));
    sines = linesAt(n, sines, n.in(3));
  }
  // Angles may be of all entries of the batch; entries are not of all angles.
  if (n.rank(cosines) == 3 && n.rank(sines) == 3)
    for (Value v : {cosines, sines})
      if (!n.isOneOrAsLarge(v, 0, x, 0, "batches") ||
          !n.isAsLarge(v, 1, y, flat ? 1 : 2, "angles and positions"))
        return failure();
  y = rotateHeads(n, y, cosines, sines, n.i("rotary_embedding_dim"), n.i("interleaved") != 0,
                  flat ? 2 : 1);
  if (!y)
    return failure();
  return n.result(flat ? n.reshapeTo(y, n.shapeOf(x)) : y);
}

constexpr OperatorImport table[] = {
    {"", "Attention", 23, 0, attention},
    {"", "RotaryEmbedding", 23, 0, rotaryEmbedding},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::attentionImports() { return table; }
