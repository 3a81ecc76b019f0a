//===- MicrosoftDecoders.cpp - com.microsoft's parts of decoders ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands around attention in decoders: gates, routers of experts, several
// residual streams.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Activations.h"
#include "compiler/frontend/onnx/Microsoft.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// The gates of a linear attention: how much of the state stays, and how much is written.
LogicalResult linearAttentionGate(NodeImport &n) {
  Value a = n.in(0), bias = n.in(1), factor = n.in(2);
  if (!a || !bias || !factor)
    return failure();
  int64_t last = n.rank(a) - 1;
  if (last < 0)
    return n.invalid("expected a dimension of heads, got a scalar");
  // Vectors, however many dimensions of size 1 they are written with.
  bias = n.reshape(bias, {-1}), factor = n.reshape(factor, {-1});
  if (!n.hasOneEach(bias, a, last, "dt_bias") || !n.hasOneEach(factor, a, last, "decay_scale"))
    return failure();
  Value decay = n.mul(softplus(n, n.add(n.widen(a), bias)), factor);
  Value beta;
  if (n.wants(1)) {
    if (!n.has(3))
      return n.invalid("found the output beta without the input b");
    if (!n.isSameShape(n.in(3), a, "b"))
      return failure();
    beta = n.cast(n.op<LogisticOp>(n.widen(n.in(3))), n.element(a));
  }
  return n.results({n.cast(decay, n.element(a)), beta});
}

LogicalResult gatedAdd(NodeImport &n) {
  Value x = n.in(0), y = n.in(1), gate = n.in(2);
  if (!x || !y || !gate)
    return failure();
  if (n.has(3))
    return n.unsupported("expected a gate for each row, got the input gate_weight");
  int64_t last = n.rank(x) - 1;
  if (last < 0)
    return n.invalid("expected rows, got a scalar");
  if (!n.hasRank(gate, last + 1, "gate") || !n.isSameShape(y, x, "Y") ||
      !n.hasSize(gate, last, 1, "gate"))
    return failure();
  for (int64_t axis = 0; axis < last; ++axis)
    if (!n.isAsLarge(gate, axis, x, axis, "gate"))
      return failure();
  return n.result(n.add(x, n.mul(y, gate))); // rounded in between, as the definition says
}

//===----------------------------------------------------------------------===//
// Routers
//===----------------------------------------------------------------------===//

/// Scores of experts, and those that a token goes to: the best of the best groups.
class GroupRouter {
public:
  explicit GroupRouter(NodeImport &n) : n(n) {}
  LogicalResult run();

private:
  bool scores();
  /// Whether each of [tokens, of] is among the `count` largest of its row.
  Value among(Value x, int64_t count);
  Value bestOf(Value x, int64_t count, size_t result);

  NodeImport &n;
  int64_t experts = 0;  ///< kDynamic: open
  Value likely, ranked; ///< f32 [tokens, experts], the latter with the experts' biases
};

bool GroupRouter::scores() {
  Value logits = n.in(0), bias = n.in(1);
  if (!logits || !bias)
    return false;
  Value wide = n.widen(logits);
  if (n.has(2)) {
    if (!n.hasRank(logits, 2, "activations") || !n.hasRank(n.in(2), 2, "projection_weight"))
      return false;
    wide = n.matmul(wide, n.transpose(n.widen(n.in(2)), {1, 0}));
  }
  int64_t last = n.rank(wide) - 1;
  if (last < 1) {
    (void)n.invalid("expected tokens and their experts, got rank " + Twine(last + 1));
    return false;
  }
  if (!n.hasOneEach(bias, wide, last, "expert_bias"))
    return false;
  experts = n.dim(wide, last);
  likely = n.op<LogisticOp>(
      n.reshapeTo(wide, n.concat({n.sizeProduct(wide, 0, last), n.sizeOf(wide, last)}, 0)));
  ranked = n.add(likely, bias);
  return true;
}

Value GroupRouter::bestOf(Value x, int64_t count, size_t result) {
  Operation *best = n.multi<TopKOp, 2>(x, n.ints({count}), n.number(n.rank(x) - 1), n.flag(true),
                                       n.flag(true), n.typeAttr(n.b.getI64Type()));
  return best ? best->getResult(result) : Value();
}

Value GroupRouter::among(Value x, int64_t count) {
  Value chosen = n.unsqueeze(bestOf(x, count, 1), {2});
  Value place = n.op<IotaOp>(n.sizeOf(x, 1), n.number(0), n.typeAttr(n.b.getI64Type()));
  return n.reduce(n.compare("eq", chosen, place), "any", {1}, false);
}

LogicalResult GroupRouter::run() {
  if (!scores())
    return failure();
  if (n.wants(1) || n.wants(2))
    return n.wants(0) ? n.invalid("found router_probs beside full scores")
                      : n.results({Value(), ranked, likely});
  int64_t groups = intOr(n, "n_group", 1), kept = intOr(n, "topk_group", 1);
  int64_t count = n.i("top_k"), summed = intOr(n, "group_topk", 2);
  bool isOpen = ShapedType::isDynamic(experts);
  if (isOpen && groups != 1)
    return n.unsupported("found groups of an open number of experts");
  if (groups < 1 || kept < 1 || kept > groups || count < 1 || summed < 1 ||
      (!isOpen && (experts % groups || count > experts / groups * kept)))
    return n.invalid("found numbers of groups and experts that do not go with " +
                     sizeText(experts) + " experts");
  Value open = ranked;
  Value least = n.scalar(n.element(ranked), -std::numeric_limits<double>::infinity());
  if (kept < groups) {
    int64_t size = experts / groups;
    Value grouped = n.reshape(ranked, {-1, groups, size});
    Value best = n.reduce(bestOf(grouped, std::min(summed, size), 0), "sum", {2}, false);
    Value allowed = n.unsqueeze(among(best, kept), {2});
    open = n.reshape(n.select(allowed, grouped, least), {-1, experts});
  }
  Value score = n.op<LogOp>(n.maximum(likely, 1e-20));
  Value sentinel = n.scalar(n.element(score), realOr(n, "router_sentinel", -10000));
  Value routed = n.select(among(open, count), score, sentinel);
  return n.result(n.cast(routed, n.element(n.in(0))));
}

LogicalResult groupRouter(NodeImport &n) { return GroupRouter(n).run(); }

//===----------------------------------------------------------------------===//
// Residual streams
//===----------------------------------------------------------------------===//

/// Streams [..., streams, hidden] in f32 or wider, of an input that may have the last two
/// dimensions as one (`num_branches` says how many there are); neither is of size 0.
Value apart(NodeImport &n, Value x) {
  int64_t count = intOr(n, "num_branches", 0), rank = n.rank(x);
  if (!x)
    return {};
  Value streams = n.widen(x);
  if (count != 0) {
    if (!n.isCount("num_branches", count))
      return {};
    if (rank < 1) {
      (void)n.invalid("expected rows of branches, got a scalar");
      return {};
    }
    if (!n.isMultiple(x, rank - 1, count, "branches"))
      return {};
    Value hidden = n.div(n.sizeOf(x, rank - 1), double(count));
    streams =
        n.reshapeTo(streams, n.concat({n.shapeSlice(x, 0, rank - 1), n.ints({count}), hidden}, 0));
    ++rank;
  }
  if (rank < 2) {
    (void)n.invalid("expected streams of two dimensions, got rank " + Twine(rank));
    return {};
  }
  for (int64_t axis : {rank - 2, rank - 1}) {
    int64_t size = n.dim(streams, axis);
    if (ShapedType::isDynamic(size))
      n.require(n.toScalar(n.compare("gt", n.sizeOf(streams, axis), 0.0)),
                "streams or what each holds are of size 0");
    if (size == 0) {
      (void)n.invalid("found streams of size 0");
      return {};
    }
  }
  return streams;
}

/// A gate of [..., streams] or [..., streams, 1 or hidden], and where `flat` says so of [...,
/// streams·hidden], as one that multiplies streams `x`.
Value gateOf(NodeImport &n, Value gate, Value x, bool flat) {
  if (!gate || !x)
    return {};
  int64_t rank = n.rank(x), own = n.rank(gate);
  if (own != rank && own != rank - 1) {
    (void)n.invalid("expected a gate of rank " + Twine(rank - 1) + " or " + Twine(rank) +
                    ", got rank " + Twine(own));
    return {};
  }
  for (int64_t axis = 0; axis < rank - 2; ++axis)
    if (!n.isAsLarge(gate, axis, x, axis, "gate"))
      return {};
  Value wide = n.widen(gate);
  if (own == rank - 1) {
    if (!flat && !n.isAsLarge(gate, rank - 2, x, rank - 2, "gate"))
      return {};
    // One of a stream, or all of all.
    Value each = flat ? n.div(n.sizeOf(gate, rank - 2), n.sizeOf(x, rank - 2)) : n.ints({1});
    wide = n.reshapeTo(wide, n.concat({n.shapeSlice(x, 0, rank - 1), each}, 0));
  } else if (!n.isAsLarge(gate, rank - 2, x, rank - 2, "gate")) {
    return {};
  }
  return n.isOneOrAsLarge(wide, rank - 1, x, rank - 1, "gate") ? wide : Value();
}

LogicalResult branchwiseRmsNorm(NodeImport &n) {
  Value x = n.in(0), streams = apart(n, x);
  if (!streams)
    return failure();
  int64_t rank = n.rank(streams);
  Value square = n.reduce(n.mul(streams, streams), "mean", {rank - 1}, true);
  Value y = n.mul(streams, n.op<RsqrtOp>(n.add(square, realOr(n, "epsilon", 1e-5))));
  if (n.has(1)) {
    Value scale = n.widen(n.in(1));
    if (n.rank(scale) == 1) // one row, or one of each stream
      scale = n.reshapeTo(scale, n.concat({n.div(n.sizeOf(scale, 0), n.sizeOf(streams, rank - 1)),
                                           n.sizeOf(streams, rank - 1)},
                                          0));
    if (!n.stretchesTo(scale, y, "scale"))
      return failure();
    y = n.mul(y, scale);
  }
  return n.result(n.cast(n.reshapeTo(y, n.shapeOf(x)), n.element(x)));
}

LogicalResult streamsToOne(NodeImport &n) {
  Value x = apart(n, n.in(0)), gate = gateOf(n, n.in(1), x, intOr(n, "num_branches", 0) != 0);
  if (!gate)
    return failure();
  Value y = n.reduce(n.mul(x, gate), "sum", {n.rank(x) - 2}, false);
  return n.result(n.cast(n.mul(y, realOr(n, "reduction_scale", 1)), n.element(n.in(0))));
}

LogicalResult oneToStreams(NodeImport &n) {
  Value x = apart(n, n.in(0)), block = n.widen(n.in(1));
  if (!x || !block || !n.hasRank(block, n.rank(x) - 1, "block_output"))
    return failure();
  for (int64_t axis = 0; axis < n.rank(block); ++axis)
    if (!n.isAsLarge(block, axis, x, axis < n.rank(x) - 2 ? axis : axis + 1, "block_output"))
      return failure();
  Value gate = gateOf(n, n.in(2), x, false);
  if (!gate)
    return failure();
  Value mixed = x;
  if (n.has(3)) { // [..., from, to]
    Value mix = n.widen(n.in(3));
    int64_t rank = n.rank(x);
    if (!n.hasRank(mix, rank, "stream_mix") ||
        !n.isAsLarge(mix, rank - 1, x, rank - 2, "stream_mix"))
      return failure();
    for (int64_t axis = 0; axis < rank - 1; ++axis)
      if (!n.isAsLarge(mix, axis, x, axis, "stream_mix"))
        return failure();
    SmallVector<int64_t> turned = axesFrom(0, rank);
    std::swap(turned[rank - 1], turned[rank - 2]);
    mixed = n.matmul(n.transpose(mix, turned), x);
  }
  Value y = n.add(mixed, n.mul(gate, n.unsqueeze(block, {n.rank(x) - 2})));
  return n.result(n.cast(n.reshapeTo(y, n.shapeOf(n.in(0))), n.element(n.in(0))));
}

/// How well a token's keys go with its state opens the gate of a value that all streams share.
LogicalResult engramGate(NodeImport &n) {
  Value key = n.in(0), query = n.in(1), value = n.in(2);
  if (!key || !query || !value || !n.hasRank(key, 4, "key") ||
      !n.isSameShape(query, key, "query") || !n.hasRank(value, 3, "value"))
    return failure();
  if (!n.isAsLarge(value, 0, key, 0, "value") || !n.isAsLarge(value, 1, key, 1, "value") ||
      !n.isAsLarge(value, 2, key, 3, "value"))
    return failure();
  double epsilon = realOr(n, "epsilon", 1e-5);
  for (size_t scale : {3, 4, 5})
    if ((scale < 5 || n.has(scale)) &&
        (!n.hasRank(n.in(scale), 2, "scale") || !n.isAsLarge(n.in(scale), 0, key, 2, "scale") ||
         !n.isAsLarge(n.in(scale), 1, key, 3, "scale")))
      return failure();
  auto normed = [&](Value x, size_t scale) {
    return simplifiedNorm(n, n.widen(x), n.widen(n.in(scale)), epsilon, 3);
  };
  Value keys = normed(key, 3), queries = normed(query, 4);
  if (!keys || !queries)
    return failure();
  Value size = n.cast(n.sizeOf(key, 3), n.element(keys));
  Value dot = n.div(n.reduce(n.mul(keys, queries), "sum", {3}, true), n.sqrt(n.toScalar(size)));
  Value root = n.sqrt(n.maximum(n.op<AbsOp>(dot), 1e-6));
  Value gate = n.op<LogisticOp>(n.mul(n.op<SignOp>(dot), root));
  Value y = n.mul(gate, n.widen(n.unsqueeze(value, {2})));
  Value after;
  if (n.wants(1)) {
    if (!n.has(5))
      return n.invalid("found the output gated_value_normed without the input conv_norm_scale");
    after = normed(y, 5);
    if (!after)
      return failure();
    after = n.cast(after, n.element(key));
  }
  return n.results({n.cast(y, n.element(key)), after});
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "BranchwiseRMSNorm", 1, 0, branchwiseRmsNorm},
    {microsoft, "EngramGate", 1, 0, engramGate},
    {microsoft, "GatedAdd", 1, 0, gatedAdd},
    {microsoft, "HyperConnectionPostMix", 1, 0, oneToStreams},
    {microsoft, "HyperConnectionPreMix", 1, 0, streamsToOne},
    {microsoft, "LinearAttentionGate", 1, 0, linearAttentionGate},
    {microsoft, "MoEGroupRouter", 1, 0, groupRouter},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::microsoftDecoderImports() { return table; }
