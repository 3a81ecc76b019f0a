//===- StreamingImports.cpp - operators that carry state along ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linear attention, causal convolution with state, attention with graphs for
// its scores, and the optimizers' steps: state comes in and goes out as
// tensors.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Heads.h"
#include "compiler/frontend/onnx/Microsoft.h"
#include "compiler/frontend/onnx/NodeImport.h"
#include "compiler/frontend/onnx/Window.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildLoop;
using frontend::Values;
using frontend::writeEntry;

namespace {

/// x · logistic(x), computed in f32 or wider.
Value silu(NodeImport &n, Value x) {
  Value wide = n.widen(x);
  return n.cast(n.mul(wide, n.op<LogisticOp>(wide)), n.element(x));
}

/// State that is carried along, with com.microsoft's window of the states behind the last steps:
/// [window, …], the newest last, or without that dimension where `window` is 0.
struct CarriedWindow {
  int64_t window;
  bool read(NodeImport &n) {
    window = intOr(n, "state_window", 0);
    if (window >= 0 && window <= 8)
      return true;
    (void)n.invalid("expected a state_window of 0 to 8, got " + Twine(window));
    return false;
  }
  /// The state before the first step of input `i`, which has one.
  Value before(NodeImport &n, size_t i) const {
    Value given = n.in(i);
    if (!window || !given)
      return given;
    return n.hasSize(given, 0, window, "past_state") ? n.pick(given, 0, window - 1) : Value();
  }
};

/// The operands of a causal convolution as [batch, channels, samples].
class CausalConv {
public:
  explicit CausalConv(NodeImport &n) : n(n) {}
  LogicalResult run();

private:
  bool attributes();
  Value channelsFirst(Value x);
  Value asGiven(Value x, Value given, int64_t leading = 0);
  Value past();
  Value present();

  NodeImport &n;
  CarriedWindow states{0};
  bool channelsLast = false;
  int64_t dilation = 1, length = 0; ///< samples that the state holds
  Value x, padded;
};

bool CausalConv::attributes() {
  if (!states.read(n))
    return false;
  channelsLast = intOr(n, "channels_last", 0) != 0;
  dilation = intOr(n, "dilation", 1);
  if (!n.isCount("dilation", dilation))
    return false;
  if (int64_t dims = intOr(n, "ndim", 1); dims != 1) {
    (void)n.unsupported("expected an ndim of 1, got " + Twine(dims));
    return false;
  }
  // What ONNX Runtime has on other devices alone.
  struct Only {
    const char *name;
    int64_t value;
  };
  for (Only one :
       {Only{"input_channel_offset", 0}, Only{"input_channels", 0}, Only{"state_channels_last", -1},
        Only{"state_length", 0}, Only{"state_update_capacity", 0}})
    if (intOr(n, one.name, one.value) != one.value) {
      (void)n.unsupported("expected " + Twine(one.name) + " to be " + Twine(one.value) +
                          ", got another value");
      return false;
    }
  if (n.wants(2)) {
    (void)n.unsupported("found a third output, of a state_update_capacity that is 0");
    return false;
  }
  return true;
}

/// [batch, samples, channels, …] as [batch, channels, samples].
Value CausalConv::channelsFirst(Value x) {
  if (!x || !channelsLast)
    return x;
  Value rows =
      n.rank(x) == 3
          ? x
          : n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 2), n.sizeProduct(x, 2, n.rank(x))}, 0));
  return n.transpose(rows, {0, 2, 1});
}

/// The reverse, with the dimensions of channels that `given` has; `leading` come before the batch.
Value CausalConv::asGiven(Value y, Value given, int64_t leading) {
  if (!y || !channelsLast)
    return y;
  SmallVector<int64_t> order = axesFrom(0, n.rank(y));
  std::swap(order[leading + 1], order[leading + 2]);
  Value rows = n.transpose(y, order);
  if (n.rank(given) == 3)
    return rows;
  return n.reshapeTo(
      rows,
      n.concat({n.shapeSlice(rows, 0, leading + 2), n.shapeSlice(given, 2, n.rank(given))}, 0));
}

Value CausalConv::past() {
  if (!n.has(3))
    return n.expandTo(n.like(x, 0), n.concat({n.shapeSlice(x, 0, 2), n.ints({length})}, 0));
  Value held = states.before(n, 3);
  if (!held || !n.hasRank(held, n.rank(n.in(0)), "past_state"))
    return {};
  for (int64_t axis = 3; axis < n.rank(held); ++axis)
    if (!n.isAsLarge(held, axis, n.in(0), axis, "past_state"))
      return {};
  Value given = channelsFirst(held);
  if (!given || !n.isAsLarge(given, 0, x, 0, "batches") ||
      !n.isAsLarge(given, 1, x, 1, "channels") || !n.hasSize(given, 2, length, "past_state"))
    return {};
  return given;
}

/// The last samples up to each of the last steps.
Value CausalConv::present() {
  Value samples = n.sizeOf(x, 2);
  auto behind = [&](Value steps) {
    return n.op<SliceOp>(padded, steps, n.add(steps, double(length)), n.ints({1}), n.list({2}),
                         n.flag(false));
  };
  if (!states.window) {
    int64_t known = n.dim(x, 2);
    return ShapedType::isDynamic(known) ? behind(samples)
                                        : n.slice(padded, 2, known, known + length);
  }
  Values slots;
  for (int64_t back = states.window - 1; back >= 0; --back) {
    Value steps = n.sub(samples, double(back));
    Value state = behind(n.maximum(steps, 0.0));
    // No step of this call ended there.
    state = n.select(n.compare("gt", n.toScalar(steps), 0.0), state, n.like(state, 0));
    slots.push_back(n.unsqueeze(state, {0}));
  }
  return n.concat(slots, 0);
}

LogicalResult CausalConv::run() {
  Value given = n.in(0), filter = n.in(1);
  if (!given || !filter || !attributes())
    return failure();
  x = channelsFirst(given);
  int64_t taps = n.rank(filter) == 3 ? n.dim(filter, 2) : ShapedType::kDynamic;
  int64_t channels = x && n.rank(x) == 3 ? n.dim(x, 1) : ShapedType::kDynamic;
  if (ShapedType::isDynamic(channels) && n.rank(filter) == 3 && x && n.rank(x) == 3)
    channels = n.dim(filter, 0);
  if (ShapedType::isDynamic(taps) || ShapedType::isDynamic(channels))
    return n.unsupported("found operands that are not of rank 3, or an open "
                         "number of channels or taps");
  if (!n.hasSize(x, 1, channels, "input") || !n.hasSize(filter, 0, channels, "filter") ||
      !n.hasSize(filter, 1, 1, "filter"))
    return failure();
  length = (taps - 1) * dilation;
  Value before = past();
  if (!before)
    return failure();
  padded = n.concat({before, x}, 2);
  Value y = x; // of no channels
  if (channels > 0)
    y = n.op<ConvOp>(padded, filter, n.list({1}), n.list({0, 0}), n.list({dilation}),
                     n.number(channels), n.flag(false), n.typeAttr(n.element(x)));
  if (n.has(2)) {
    if (!n.hasEntries(n.in(2), channels, "bias"))
      return failure();
    y = n.add(y, perChannel(n, n.in(2), 3));
  }
  std::string_view activation = n.s("activation");
  if (activation == "silu" || activation == "swish")
    y = silu(n, y);
  else if (!activation.empty() && activation != "none")
    return n.invalid("expected the activation silu, swish or none, got \"" + Twine(activation) +
                     "\"");
  Value state = asGiven(present(), given, states.window ? 1 : 0);
  return n.results({asGiven(y, given), state});
}

LogicalResult causalConv(NodeImport &n) { return CausalConv(n).run(); }

/// [batch, time, heads·size] as [time, batch, heads, size], in f32 or wider; sizes are
/// tensor<1xi64>.
Value perStep(NodeImport &n, Value x, Value heads, Value size) {
  if (!x)
    return {};
  Value parts = n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 2), heads, size}, 0));
  return n.widen(n.transpose(parts, {1, 0, 2, 3}));
}

/// The recurrence of states [batch, key heads, key size, value size] over the steps of a sequence.
class LinearAttention {
public:
  explicit LinearAttention(NodeImport &n) : n(n) {}
  LogicalResult run();

private:
  bool operands();
  Value initial();
  Values step(Value at, Values carried);
  bool readKeys(Value k);
  bool readDecay(Value given);
  /// Each of the `size` entries of dimension `axis` `count` times in a row.
  Value repeated(Value x, int64_t axis, int64_t size, int64_t count);

  NodeImport &n;
  CarriedWindow states{0};
  int64_t heads = 0, keyHeads = 0, results = 0;
  Value scale;
  Value batch, time, keySize, valueSize;    ///< tensor<1xi64>
  Value queries, keys, values, decay, beta; ///< [time, batch, heads, …]
};

bool LinearAttention::operands() {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  if (!q || !k || !v || !states.read(n))
    return false;
  heads = n.i("q_num_heads"), keyHeads = n.i("kv_num_heads");
  std::string_view rule = n.s("update_rule");
  bool gated = rule == "gated" || rule == "gated_delta";
  bool delta = rule == "delta" || rule == "gated_delta";
  for (Value x : {q, k, v})
    if (!n.hasRank(x, 3, "operands"))
      return false;
  // ONNX's own operator has no more heads of keys than of queries.
  bool isOnnx = n.node.domain.empty();
  bool grouped =
      heads >= 1 && keyHeads >= 1 && (heads % keyHeads == 0 || (!isOnnx && keyHeads % heads == 0));
  if (!grouped || n.dim(q, 2) == 0 || (gated && !n.has(4)) || (delta && !n.has(5)) ||
      (!gated && !delta && rule != "linear")) {
    (void)n.invalid("found heads, decay or beta that do not go with update rule \"" + Twine(rule) +
                    "\"");
    return false;
  }
  if (!n.isMultiple(q, 2, heads, "heads") || !n.isMultiple(v, 2, keyHeads, "heads"))
    return false;
  if (ShapedType::isDynamic(n.dim(q, 2)))
    n.require(n.toScalar(n.compare("gt", n.sizeOf(q, 2), 0.0)), "queries have no entries");
  results = std::max(heads, keyHeads);
  keySize = n.settled(n.div(n.sizeOf(q, 2), double(heads)));
  valueSize = n.settled(n.div(n.sizeOf(v, 2), double(keyHeads)));
  batch = n.sizeOf(q, 0), time = n.sizeOf(q, 1);
  for (Value x : {k, v, gated ? n.in(4) : q, delta ? n.in(5) : q})
    if (x != q && (!n.hasRank(x, 3, "operands") || !n.isAsLarge(x, 0, q, 0, "batches") ||
                   !n.isAsLarge(x, 1, q, 1, "steps")))
      return false;
  queries = perStep(n, q, n.ints({heads}), keySize);
  if (results > heads)
    queries = repeated(queries, 2, heads, results / heads);
  values = perStep(n, v, n.ints({keyHeads}), valueSize);
  if (!queries || !readKeys(k) || (gated && !readDecay(n.in(4))))
    return false;
  auto known = constantIntegers(keySize);
  if (n.f("scale") != 0 || known)
    scale =
        n.like(queries, n.f("scale") != 0 ? n.f("scale") : 1 / std::sqrt(double(known->front())));
  else
    scale = n.op<RsqrtOp>(n.toScalar(n.cast(keySize, n.element(queries))));
  if (delta) {
    Value given = n.in(5);
    if (!ShapedType::isDynamic(n.dim(given, 2)) && n.dim(given, 2) != 1 &&
        !n.hasSize(given, 2, keyHeads, "beta"))
      return false;
    beta = n.widen(n.unsqueeze(n.transpose(given, {1, 0, 2}), {3}));
    if (ShapedType::isDynamic(n.dim(given, 2))) {
      Value width = n.sizeOf(given, 2);
      n.require(n.toScalar(n.op<OrOp>(n.compare("eq", width, 1.0),
                                      n.compare("eq", width, double(keyHeads)))),
                "beta has not one entry for each head, or one for all");
      beta = n.expandTo(beta, n.concat({time, batch, n.ints({keyHeads, 1})}, 0));
    }
  }
  return values != nullptr;
}

/// Keys, of as many heads as states have, or in com.microsoft's of fewer: several states in a row
/// share one then.
bool LinearAttention::readKeys(Value k) {
  bool isOnnx = n.node.domain.empty();
  Value own = isOnnx ? n.ints({keyHeads}) : n.settled(n.div(n.sizeOf(k, 2), keySize));
  if (!n.hasSize(k, 2, n.settled(n.mul(own, keySize)), "keys"))
    return false;
  auto known = constantIntegers(own);
  if (known && (known->front() < 1 || keyHeads % known->front())) {
    (void)n.invalid("found keys of " + Twine(known->front()) + " heads for " + Twine(keyHeads) +
                    " states");
    return false;
  }
  keys = perStep(n, k, own, keySize);
  if (known) {
    if (keyHeads > known->front())
      keys = repeated(keys, 2, known->front(), keyHeads / known->front());
    return keys != nullptr;
  }
  n.require(n.toScalar(n.compare("gt", own, 0.0)), "there are no keys");
  // Of as many heads as states have, or a part of them, one after the other.
  Value rest = n.op<RemOp>(n.ints({keyHeads}), n.maximum(own, 1.0));
  n.require(n.toScalar(n.compare("eq", rest, 0.0)), "heads of keys do not divide states");
  Value head = n.div(n.mul(n.ints(axesFrom(0, keyHeads)), own), double(keyHeads));
  keys = n.gather(keys, head, 2);
  return keys != nullptr;
}

/// A decay for each head, or for each entry of its keys.
bool LinearAttention::readDecay(Value given) {
  Value width = n.sizeOf(given, 2), each = n.mul(keySize, double(keyHeads));
  auto isKnown = [](Value v) { return constantIntegers(v).has_value(); };
  if (isKnown(width) && isKnown(each)) {
    int64_t have = constantIntegers(width)->front();
    if (have != keyHeads && have != constantIntegers(each)->front()) {
      (void)n.invalid("expected a decay for each head, or for each entry of its keys, got " +
                      sizeText(have));
      return false;
    }
  } else {
    n.require(n.toScalar(n.op<OrOp>(n.compare("eq", width, double(keyHeads)),
                                    n.compare("eq", width, each))),
              "there is not a decay for each head, or for each entry of its keys");
  }
  decay = perStep(n, given, n.ints({keyHeads}), n.settled(n.div(width, double(keyHeads))));
  if (!isKnown(width) || !isKnown(each))
    decay = n.expandTo(decay, n.concat({time, batch, n.ints({keyHeads}), keySize}, 0));
  return decay != nullptr;
}

Value LinearAttention::initial() {
  Value shape = n.concat({batch, n.ints({keyHeads}), keySize, valueSize}, 0);
  if (!n.has(3))
    return n.expandTo(n.like(queries, 0), shape);
  Value given = states.before(n, 3);
  if (!given || !n.hasRank(given, 4, "past_state") ||
      !n.isAsLarge(given, 0, n.in(0), 0, "batches") ||
      !n.hasSize(given, 1, keyHeads, "past_state") || !n.hasSize(given, 2, keySize, "past_state") ||
      !n.hasSize(given, 3, valueSize, "past_state"))
    return {};
  return n.widen(given);
}

Value LinearAttention::repeated(Value x, int64_t axis, int64_t size, int64_t count) {
  if (!x)
    return {};
  int64_t rank = n.rank(x);
  Value wide = n.expandTo(
      n.unsqueeze(x, {axis + 1}),
      n.concat({n.shapeSlice(x, 0, axis + 1), n.ints({count}), n.shapeSlice(x, axis + 1, rank)},
               0));
  return n.reshapeTo(wide, n.concat({n.shapeSlice(x, 0, axis), n.ints({size * count}),
                                     n.shapeSlice(x, axis + 1, rank)},
                                    0));
}

/// Carried: the state, the results, and where there is one the window of states.
Values LinearAttention::step(Value at, Values carried) {
  Value s = carried[0];
  Value key = n.unsqueeze(n.gather(keys, at, 0), {3});
  Value value = n.gather(values, at, 0);
  if (decay)
    s = n.mul(s, n.exp(n.unsqueeze(n.gather(decay, at, 0), {3})));
  if (beta) {
    Value known = n.reduce(n.mul(s, key), "sum", {2}, false);
    value = n.mul(n.gather(beta, at, 0), n.sub(value, known));
  }
  s = n.add(s, n.mul(key, n.unsqueeze(value, {2})));
  Value query = n.unsqueeze(n.gather(queries, at, 0), {3});
  Value seen = results > keyHeads ? repeated(s, 1, keyHeads, results / keyHeads) : s;
  Value out = n.mul(n.reduce(n.mul(seen, query), "sum", {2}, false), scale);
  Values next{s, writeEntry(n, carried[1], at, out)};
  if (states.window) {
    // Entry 0 takes what is older than the window.
    Value slot = n.add(n.sub(at, n.toScalar(time)), double(states.window + 1));
    next.push_back(writeEntry(n, carried[2], n.maximum(slot, 0.0), s));
  }
  return next;
}

LogicalResult LinearAttention::run() {
  if (!operands())
    return failure();
  Value state = initial();
  if (!state)
    return failure();
  Type stateType = n.has(3) ? n.element(n.in(3)) : n.element(n.in(0));
  Values carried{state, n.expandTo(n.like(queries, 0),
                                   n.concat({time, batch, n.ints({results}), valueSize}, 0))};
  if (states.window)
    carried.push_back(n.expandTo(n.like(queries, 0),
                                 n.concat({n.ints({states.window + 1}), n.shapeOf(state)}, 0)));
  FailureOr<Values> made =
      buildLoop(n, n.toScalar(time), {}, carried, [&](Value at, Values args) -> FailureOr<Values> {
        return step(at, std::move(args));
      });
  if (failed(made))
    return failure();
  Value y = n.transpose((*made)[1], {1, 0, 2, 3});
  y = n.reshapeTo(y, n.concat({batch, time, n.settled(n.mul(valueSize, double(results)))}, 0));
  Value present = states.window ? n.slice((*made)[2], 0, 1, states.window + 1) : (*made)[0];
  return n.results({n.cast(y, n.element(n.in(0))), n.cast(present, stateType)});
}

LogicalResult linearAttention(NodeImport &n) { return LinearAttention(n).run(); }

/// Attention whose scores and probabilities go through graphs of the model.
LogicalResult flexAttention(NodeImport &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  if (!q || !k || !v)
    return failure();
  if (n.rank(q) != 4 || n.rank(k) != 4 || n.rank(v) != 4)
    return n.invalid("found operands that are not of rank 4");
  Type type = n.element(q);
  Type precise =
      n.i("softmax_precision")
          ? elementType(n.b.getContext(), static_cast<DataType>(n.i("softmax_precision")))
          : n.element(n.widen(q));
  auto repeated = [&](Value x) { return repeatHeads(n, x, q); };
  Value scores =
      n.matmul(n.cast(q, precise), n.transpose(n.cast(repeated(k), precise), {0, 1, 3, 2}));
  scores = n.hasAttr("scale") ? n.mul(scores, n.f("scale")) : overRootOfSize(n, scores, q);
  auto through = [&](const char *name, Value x) -> Value {
    const NodeAttribute *attr = n.attr(name);
    if (!attr || !x)
      return x;
    const Graph &graph = *attr->graphs[0];
    if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
      (void)n.unsupported("found a graph " + Twine(name) + " of more than one input or output");
      return {};
    }
    FailureOr<std::vector<Imported>> made = n.graph.subgraph(graph, {Imported(x)}, n.b);
    return failed(made) ? Value() : made->front().tensor;
  };
  scores = through("score_mod", scores);
  Value weights = through("prob_mod", n.softmax(scores, 3));
  return n.result(n.matmul(n.cast(weights, type), repeated(v)));
}

//===----------------------------------------------------------------------===//
// Optimizers' steps
//===----------------------------------------------------------------------===//

/// Inputs after rate and count come in groups: tensors, gradients, then states.
struct Step {
  Value rate, count;
  size_t tensors;
  Value in(NodeImport &n, size_t group, size_t i) const { return n.in(2 + group * tensors + i); }
};

std::optional<Step> optimizerStep(NodeImport &n, size_t groups) {
  Step step{n.in(0), n.in(1), 0};
  if (!step.rate || !step.count)
    return std::nullopt;
  step.tensors = (n.inputCount() - 2) / groups;
  if ((n.inputCount() - 2) % groups || n.outputCount() != step.tensors * (groups - 1)) {
    (void)n.invalid("found inputs and outputs that do not go together");
    return std::nullopt;
  }
  return step;
}

LogicalResult adagrad(NodeImport &n) {
  std::optional<Step> step = optimizerStep(n, 3);
  if (!step)
    return failure();
  Values next, sums;
  for (size_t i = 0; i < step->tensors; ++i) {
    Value x = step->in(n, 0, i), g = step->in(n, 1, i), h = step->in(n, 2, i);
    if (!x || !g || !h)
      return failure();
    Type type = n.element(x);
    Value decay = n.add(n.mul(n.cast(step->count, type), n.f("decay_factor")), 1.0);
    Value rate = n.div(n.cast(step->rate, type), decay);
    g = n.add(n.mul(x, n.f("norm_coefficient")), g);
    h = n.add(h, n.mul(g, g));
    next.push_back(n.sub(x, n.div(n.mul(rate, g), n.add(n.sqrt(h), n.f("epsilon")))));
    sums.push_back(h);
  }
  llvm::append_range(next, sums);
  return n.results(next);
}

LogicalResult adam(NodeImport &n) {
  std::optional<Step> step = optimizerStep(n, 4);
  if (!step)
    return failure();
  double alpha = n.f("alpha"), beta = n.f("beta");
  Values next, firsts, seconds;
  for (size_t i = 0; i < step->tensors; ++i) {
    Value x = step->in(n, 0, i), g = step->in(n, 1, i), v = step->in(n, 2, i),
          h = step->in(n, 3, i);
    if (!x || !g || !v || !h)
      return failure();
    Type type = n.element(x);
    g = n.add(n.mul(x, n.f("norm_coefficient")), g);
    v = n.add(n.mul(v, alpha), n.mul(g, 1 - alpha));
    h = n.add(n.mul(h, beta), n.mul(n.mul(g, g), 1 - beta));
    Value count = n.cast(step->count, type);
    // From the second step on the averages' bias is corrected.
    Value b2 = n.op<PowOp>(n.like(x, beta), count);
    Value b1 = n.op<PowOp>(n.like(x, alpha), count);
    Value corrected = n.mul(n.cast(step->rate, type),
                            n.div(n.sqrt(n.sub(n.like(x, 1), b2)), n.sub(n.like(x, 1), b1)));
    Value rate = n.select(n.compare("gt", count, 0.0), corrected, n.cast(step->rate, type));
    Value moved = n.sub(x, n.div(n.mul(rate, v), n.add(n.sqrt(h), n.f("epsilon"))));
    next.push_back(n.mul(moved, 1 - n.f("norm_coefficient_post")));
    firsts.push_back(v);
    seconds.push_back(h);
  }
  llvm::append_range(next, firsts);
  llvm::append_range(next, seconds);
  return n.results(next);
}

LogicalResult momentum(NodeImport &n) {
  std::optional<Step> step = optimizerStep(n, 3);
  if (!step)
    return failure();
  double alpha = n.f("alpha"), beta = n.f("beta");
  bool nesterov = n.s("mode") == "nesterov";
  Values next, velocities;
  for (size_t i = 0; i < step->tensors; ++i) {
    Value x = step->in(n, 0, i), g = step->in(n, 1, i), v = step->in(n, 2, i);
    if (!x || !g || !v)
      return failure();
    Type type = n.element(x);
    g = n.add(n.mul(x, n.f("norm_coefficient")), g);
    // The first step takes the gradient whole.
    Value first = n.compare("gt", n.cast(step->count, type), 0.0);
    Value share = n.select(first, n.like(x, beta), n.like(x, 1));
    v = n.add(n.mul(v, alpha), n.mul(g, share));
    Value direction = nesterov ? n.add(g, n.mul(v, alpha)) : v;
    next.push_back(n.sub(x, n.mul(n.cast(step->rate, type), direction)));
    velocities.push_back(v);
  }
  llvm::append_range(next, velocities);
  return n.results(next);
}

constexpr std::string_view training = "ai.onnx.preview.training";

constexpr OperatorImport table[] = {
    {"", "CausalConvWithState", 27, 0, causalConv},
    {"", "LinearAttention", 27, 0, linearAttention},
    {"com.microsoft", "CausalConvWithState", 1, 0, causalConv},
    {"com.microsoft", "LinearAttention", 1, 0, linearAttention},
    {"ai.onnx.preview", "FlexAttention", 1, 0, flexAttention},
    {training, "Adagrad", 1, 0, adagrad},
    {training, "Adam", 1, 0, adam},
    {training, "Momentum", 1, 0, momentum},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::streamingImports() { return table; }
