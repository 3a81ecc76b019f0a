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

LogicalResult causalConv(NodeImport &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!x || !filter)
    return failure();
  int64_t taps = n.rank(filter) == 3 ? n.dim(filter, 2) : ShapedType::kDynamic;
  int64_t channels = n.rank(x) == 3 ? n.dim(x, 1) : ShapedType::kDynamic;
  if (ShapedType::isDynamic(taps) || ShapedType::isDynamic(channels))
    return n.unsupported("found operands that are not of rank 3, or an open "
                         "number of channels or taps");
  Value past =
      n.has(3) ? n.in(3)
               : n.expandTo(n.like(x, 0), n.concat({n.shapeSlice(x, 0, 2), n.ints({taps - 1})}, 0));
  Value padded = n.concat({past, x}, 2);
  Value y = n.op<ConvOp>(padded, filter, n.list({1}), n.list({0, 0}), n.list({1}),
                         n.number(channels), n.flag(false), n.typeAttr(n.element(x)));
  if (n.has(2))
    y = n.add(y, perChannel(n, n.in(2), 3));
  if (n.s("activation") != "none") {
    Value wide = n.widen(y);
    y = n.cast(n.mul(wide, n.op<LogisticOp>(wide)), n.element(x));
  }
  Value start = n.sizeOf(x, 2); // the last taps - 1 samples
  Value state =
      n.op<SliceOp>(padded, start, n.sizeOf(padded, 2), n.ints({1}), n.list({2}), n.flag(false));
  if (!ShapedType::isDynamic(n.dim(x, 2)))
    state = n.slice(padded, 2, n.dim(x, 2), n.dim(x, 2) + taps - 1);
  return n.results({y, state});
}

/// [batch, time, heads·size] as [time, batch, heads, size], in f32 or wider.
Value perStep(NodeImport &n, Value x, int64_t heads) {
  if (!x)
    return {};
  Value parts =
      n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 2), n.ints({heads, n.dim(x, 2) / heads})}, 0));
  return n.widen(n.transpose(parts, {1, 0, 2, 3}));
}

LogicalResult linearAttention(NodeImport &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  if (!q || !k || !v)
    return failure();
  int64_t heads = n.i("q_num_heads"), keyHeads = n.i("kv_num_heads");
  std::string_view rule = n.s("update_rule");
  bool gated = rule == "gated" || rule == "gated_delta";
  bool delta = rule == "delta" || rule == "gated_delta";
  for (Value x : {q, k, v})
    if (n.rank(x) != 3 || ShapedType::isDynamic(n.dim(x, 2)))
      return n.unsupported("found operands that are not of rank 3, or of open "
                           "hidden size");
  if (heads < 1 || keyHeads < 1 || heads % keyHeads || n.dim(q, 2) % heads ||
      n.dim(v, 2) % keyHeads || n.dim(k, 2) % keyHeads || gated != n.has(4) || delta != n.has(5))
    return n.invalid("found heads, decay or beta that do not go with update "
                     "rule \"" +
                     Twine(rule) + "\"");
  int64_t keySize = n.dim(q, 2) / heads;
  int64_t valueSize = n.dim(v, 2) / keyHeads;
  Value batch = n.sizeOf(q, 0), time = n.sizeOf(q, 1);
  Value queries = perStep(n, q, heads), keys = perStep(n, k, keyHeads),
        values = perStep(n, v, keyHeads);
  Value decay = gated ? perStep(n, n.in(4), keyHeads) : Value();
  Value beta;
  if (delta) {
    Value given = n.in(5);
    if (!given)
      return failure();
    beta = n.widen(n.unsqueeze(n.transpose(given, {1, 0, 2}), {3}));
  }
  Value state = n.has(3) ? n.widen(n.in(3))
                         : n.expandTo(n.like(queries, 0),
                                      n.concat({batch, n.ints({keyHeads, keySize, valueSize})}, 0));
  Type stateType = n.has(3) && n.in(3) ? n.element(n.in(3)) : n.element(q);
  double scale = n.f("scale") != 0 ? n.f("scale") : 1 / std::sqrt(double(keySize));
  int64_t repeats = heads / keyHeads;
  Value outputs =
      n.expandTo(n.like(queries, 0), n.concat({time, batch, n.ints({heads, valueSize})}, 0));
  FailureOr<Values> made = buildLoop(
      n, n.toScalar(time), {}, {state, outputs}, [&](Value at, Values args) -> FailureOr<Values> {
        Value s = args[0];
        Value key = n.unsqueeze(n.gather(keys, at, 0), {3});
        Value value = n.gather(values, at, 0);
        if (decay)
          s = n.mul(s, n.exp(n.unsqueeze(n.gather(decay, at, 0), {3})));
        if (delta) {
          Value known = n.reduce(n.mul(s, key), "sum", {2}, false);
          value = n.mul(n.gather(beta, at, 0), n.sub(value, known));
        }
        s = n.add(s, n.mul(key, n.unsqueeze(value, {2})));
        Value seen = s;
        if (repeats > 1) {
          Value wide = n.expandTo(
              n.unsqueeze(s, {2}),
              n.concat({n.sizeOf(s, 0), n.ints({keyHeads, repeats, keySize, valueSize})}, 0));
          seen =
              n.reshapeTo(wide, n.concat({n.sizeOf(s, 0), n.ints({heads, keySize, valueSize})}, 0));
        }
        Value query = n.unsqueeze(n.gather(queries, at, 0), {3});
        Value out = n.mul(n.reduce(n.mul(seen, query), "sum", {2}, false), scale);
        return Values{s, writeEntry(n, args[1], at, out)};
      });
  if (failed(made))
    return failure();
  Value y = n.transpose((*made)[1], {1, 0, 2, 3});
  y = n.reshapeTo(y, n.concat({batch, time, n.ints({heads * valueSize})}, 0));
  return n.results({n.cast(y, n.element(q)), n.cast((*made)[0], stateType)});
}

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
    {"ai.onnx.preview", "FlexAttention", 1, 0, flexAttention},
    {training, "Adagrad", 1, 0, adagrad},
    {training, "Adam", 1, 0, adam},
    {training, "Momentum", 1, 0, momentum},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::streamingImports() { return table; }
