//===- MicrosoftModels.cpp - com.microsoft for particular models ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that one kind of model each is exported with: mixtures of experts,
// aligned audio, drafts of translations, words made of characters.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/BlockQuantized.h"
#include "compiler/frontend/onnx/Microsoft.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildIf;
using frontend::buildLoop;
using frontend::Values;
using frontend::writeEntry;

namespace {

//===----------------------------------------------------------------------===//
// MoE, QMoE
//===----------------------------------------------------------------------===//

/// The inputs of one of an expert's products.
struct ExpertInputs {
  size_t weights, bias;
  size_t scales = 0, zeros = 0; ///< of quantised weights
  std::string_view bits = {};   ///< the attribute that says their width
};

/// A layer of experts, of which each token is given to the k likeliest. Each
/// expert computes on the tokens that chose it, and on none where there are none.
class Mixture {
public:
  explicit Mixture(NodeImport &n)
      : n(n), isQuantized(n.node.op == "QMoE"),
        first(isQuantized ? ExpertInputs{2, 4, 3, 11, "fc1_expert_weight_bits"}
                          : ExpertInputs{2, 3}),
        second(isQuantized ? ExpertInputs{5, 7, 6, 12, "fc2_expert_weight_bits"}
                           : ExpertInputs{4, 5}),
        third(isQuantized ? ExpertInputs{8, 10, 9, 13, "fc3_expert_weight_bits"}
                          : ExpertInputs{6, 7}) {}
  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult checkQuantized();
  /// How many bits a number of the weights has.
  int64_t bitsOf(const ExpertInputs &of) const {
    return n.hasAttr(of.bits) ? n.i(of.bits) : intOr(n, "expert_weight_bits", 4);
  }
  Value dequantized(const ExpertInputs &of, Value index);
  /// The weight of expert `index` for each token, [tokens].
  Value weightOf(Value index) {
    Value mine = n.compare("eq", chosen, index);
    return n.reduce(n.select(mine, shares, n.like(shares, 0)), "sum", {1}, false);
  }
  void route(Value router);
  /// rows · wᵀ + b of the expert, as f32.
  Value layer(Value rows, const ExpertInputs &of, Value index) {
    Value w = isQuantized ? dequantized(of, index) : n.widen(n.gather(n.in(of.weights), index, 0));
    if (!w)
      return {};
    Value y = n.op<DotGeneralOp>(rows, w, n.list({}), n.list({}), n.list({1}), n.list({1}),
                                 n.typeAttr(n.element(rows)));
    return n.has(of.bias) ? n.add(y, n.widen(n.gather(n.in(of.bias), index, 0))) : y;
  }
  Value activated(Value y, Value rows, Value index);
  Value gated(Value gate, Value linear);

  NodeImport &n;
  const bool isQuantized;
  const ExpertInputs first, second, third;
  StringRef activation;
  Value chosen, shares; ///< [tokens, k]: experts, and their weights
};

/// What the operator has beside integers, in blocks or columns, in the order of rows.
LogicalResult Mixture::checkQuantized() {
  std::string_view type = n.hasAttr("quant_type") ? n.s("quant_type") : "int";
  if (type != "int")
    return n.unsupported("expected quant_type int, got \"" + Twine(StringRef(type)) + "\"");
  if (intOr(n, "weights_prepacked", -1) == 1)
    return n.unsupported("expected weights in rows, got weights_prepacked 1");
  for (size_t i = 15; i <= 20; ++i)
    if (n.has(i))
      return n.unsupported("found scales of activations or of whole experts, which quant_type int "
                           "does not have");
  for (const ExpertInputs *of : {&first, &second, &third}) {
    if (!n.has(of->weights))
      continue;
    int64_t bits = bitsOf(*of);
    if (bits != 2 && bits != 4 && bits != 8)
      return n.unsupported("expected weights of 2, 4 or 8 bits, got " + Twine(bits));
    if (!n.has(of->scales) || n.rank(n.in(of->weights)) != 3)
      return n.invalid("found quantised weights without scales, or that are not of rank 3");
  }
  return success();
}

/// An expert's weights [columns, depth] as f32: bytes that hold numbers along the depth, a
/// scale for each column or each block of it, and zero points that are packed as they are.
Value Mixture::dequantized(const ExpertInputs &of, Value index) {
  int64_t bits = bitsOf(of), block = n.i("block_size");
  Type f32 = n.b.getF32Type();
  Value q = n.cast(unpackBits(n, n.gather(n.in(of.weights), index, 0), bits), f32);
  Value scales = n.widen(n.gather(n.in(of.scales), index, 0));
  if (!q || !scales)
    return {};
  bool isBlocked = n.rank(scales) == 2;
  if (isBlocked != (block > 0)) {
    (void)n.invalid("found scales of " + Twine(isBlocked ? "blocks" : "columns") +
                    " with block_size " + Twine(block));
    return {};
  }
  Value zeros = n.scalar(f32, double(1 << (bits - 1)));
  if (n.has(of.zeros)) {
    Value all = n.cast(unpackBits(n, n.gather(n.in(of.zeros), index, 0), bits), f32);
    // What fills the last byte is none.
    int64_t axis = isBlocked ? 1 : 0;
    zeros = all ? n.op<SliceOp>(all, n.ints({0}), n.sizeOf(scales, axis), n.ints({1}),
                                n.list({axis}), n.flag(false))
                : Value();
    if (!zeros)
      return {};
  }
  Value whole = n.shapeOf(q);
  if (isBlocked) // [columns, blocks, block]
    q = n.reshapeTo(q, n.concat({n.shapeOf(scales), n.ints({block})}, 0));
  auto along = [&](Value v) { return n.rank(v) == 0 ? v : n.unsqueeze(v, {n.rank(v)}); };
  return n.reshapeTo(n.mul(n.sub(q, along(zeros)), along(scales)), whole);
}

LogicalResult Mixture::check() {
  std::string_view name = n.hasAttr("activation_type") ? n.s("activation_type") : "relu";
  activation = StringRef(name.data(), name.size());
  if (!llvm::is_contained(ArrayRef<StringRef>{"relu", "gelu", "silu", "swiglu", "identity"},
                          activation))
    return n.unsupported("expected activation_type relu, gelu, silu, swiglu or identity, got \"" +
                         activation + "\"");
  if (n.i("use_sparse_mixer"))
    return n.unsupported("expected the softmax of all experts, got use_sparse_mixer 1");
  int64_t fusion = n.i("swiglu_fusion");
  bool hasThird = n.has(third.weights);
  if (activation == "swiglu" && (fusion < 0 || fusion > 2 || (fusion == 0) != hasThird))
    return n.invalid("found swiglu_fusion " + Twine(fusion) + (hasThird ? " with" : " without") +
                     " fc3_experts_weights");
  if (n.rank(n.in(1)) != 2 || n.rank(n.in(first.weights)) != 3 ||
      n.rank(n.in(second.weights)) != 3 || n.rank(n.in(0)) < 2)
    return n.invalid("found operands whose ranks do not go together");
  return isQuantized ? checkQuantized() : success();
}

void Mixture::route(Value router) {
  Type i64 = n.b.getI64Type();
  // Of experts that are as likely as each other the last is taken.
  Value last = n.sub(n.toScalar(n.sizeOf(router, 1)), 1.0);
  Value back = n.sub(last, n.op<IotaOp>(n.sizeOf(router, 1), n.number(0), n.typeAttr(i64)));
  Value likely = n.gather(n.softmax(n.widen(router), 1), back, 1);
  if (!likely)
    return;
  Operation *best = n.multi<TopKOp, 2>(likely, n.ints({intOr(n, "k", 1)}), n.number(1),
                                       n.flag(true), n.flag(true), n.typeAttr(i64));
  if (!best)
    return;
  shares = best->getResult(0);
  chosen = n.sub(last, best->getResult(1));
  if (isQuantized && n.has(14)) // others decide how much each counts
    shares = n.op<GatherElementsOp>(n.widen(n.in(14)), chosen, n.number(1), n.flag(true));
  // Of quantised experts ONNX Runtime takes the softmax of those that are chosen.
  if (n.i("normalize_routing_weights") || (isQuantized && !n.has(14)))
    shares = n.div(shares, n.reduce(shares, "sum", {1}, true));
}

Value Mixture::gated(Value gate, Value linear) {
  double alpha = realOr(n, "activation_alpha", 1);
  bool limited = n.hasAttr("swiglu_limit");
  bool after = limited && n.i("swiglu_limit_after_activation");
  double limit = n.f("swiglu_limit");
  if (limited) {
    linear = n.minimum(n.maximum(linear, -limit), limit);
    gate = after ? gate : n.minimum(gate, limit);
  }
  Value opened = n.mul(gate, n.op<LogisticOp>(n.mul(gate, alpha)));
  if (after)
    opened = n.minimum(opened, limit);
  return n.mul(opened, n.add(linear, realOr(n, "activation_beta", 0)));
}

Value Mixture::activated(Value y, Value rows, Value index) {
  if (activation == "swiglu") {
    if (n.has(third.weights))
      return gated(y, layer(rows, third, index));
    bool halves = n.i("swiglu_fusion") == 2; // else pairs
    Value two = n.ints({2}), width = n.div(n.sizeOf(y, 1), 2.0);
    Value both =
        n.reshapeTo(y, n.concat({n.sizeOf(y, 0), halves ? two : width, halves ? width : two}, 0));
    return gated(n.pick(both, halves ? 1 : 2, 0), n.pick(both, halves ? 1 : 2, 1));
  }
  if (activation == "relu")
    y = n.maximum(y, 0.0);
  else if (activation == "gelu")
    y = n.op<GeluOp>(y, n.flag(true));
  else if (activation == "silu")
    y = n.mul(y, n.op<LogisticOp>(y));
  return n.has(third.weights) ? n.mul(y, layer(rows, third, index)) : y;
}

LogicalResult Mixture::run() {
  Value given = n.in(0), router = n.in(1), experts = n.in(first.weights);
  if (!given || !router || !experts || !n.in(second.weights) || failed(check()))
    return failure();
  int64_t last = n.rank(given) - 1;
  Value x = n.widen(
      n.reshapeTo(given, n.concat({n.sizeProduct(given, 0, last), n.sizeOf(given, last)}, 0)));
  if (!x || !n.isAsLarge(router, 0, x, 0, "tokens and their routes") ||
      !n.isAsLarge(router, 1, experts, 0, "experts"))
    return failure();
  for (const ExpertInputs *of : {&first, &second, &third})
    for (size_t input : {of->weights, of->bias})
      if (n.has(input) && !n.isAsLarge(n.in(input), 0, experts, 0, "experts"))
        return failure();
  route(router);
  if (!shares)
    return failure();
  Value none = n.expandTo(n.like(x, 0), n.shapeOf(x));
  auto expert = [&](Value index, Values sums) -> FailureOr<Values> {
    Value weight = weightOf(index);
    auto compute = [&]() -> FailureOr<Values> {
      Value places = n.squeeze(n.op<NonZeroOp>(n.compare("gt", weight, 0.0)), {1});
      Value rows = n.gather(x, places, 0);
      Value hidden = layer(rows, first, index);
      Value y = hidden ? layer(activated(hidden, rows, index), second, index) : Value();
      if (!y)
        return failure();
      y = n.mul(y, n.unsqueeze(n.gather(weight, places, 0), {1}));
      Value sum = n.op<ScatterNdOp>(sums[0], n.unsqueeze(places, {1}), y, n.text("add"),
                                    n.flag(false), n.flag(false));
      if (!sum)
        return failure();
      return Values{sum};
    };
    Value any = n.reduce(n.compare("gt", weight, 0.0), "any", {0}, false);
    return buildIf(n, any, compute, [&]() -> FailureOr<Values> { return sums; });
  };
  FailureOr<Values> made = buildLoop(n, n.toScalar(n.sizeOf(experts, 0)), {}, {none}, expert);
  if (failed(made))
    return failure();
  return n.result(n.reshapeTo(n.cast((*made)[0], n.element(given)), n.shapeOf(given)));
}

LogicalResult mixtureOfExperts(NodeImport &n) { return Mixture(n).run(); }

//===----------------------------------------------------------------------===//
// DynamicTimeWarping
//===----------------------------------------------------------------------===//

/// The cheapest path through a matrix from its first entry to its last. Costs are
/// summed one antidiagonal after the other, each in one go; then the path is read
/// backwards (Sakoe and Chiba, "Dynamic programming algorithm optimization for
/// spoken word recognition", 1978).
LogicalResult timeWarping(NodeImport &n) {
  Value cost = n.in(0);
  if (!cost || (n.rank(cost) != 2 && !(n.rank(cost) == 3 && n.dim(cost, 0) == 1)))
    return n.invalid("found costs that are not one matrix");
  cost = n.rank(cost) == 3 ? n.squeeze(cost, {0}) : cost;
  Type i64 = n.b.getI64Type();
  Value rows = n.toScalar(n.sizeOf(cost, 0)), columns = n.toScalar(n.sizeOf(cost, 1));
  Value line1 = n.add(n.sizeOf(cost, 0), 1.0);
  Value endless = n.scalar(n.element(cost), std::numeric_limits<double>::infinity());
  // Entry i of antidiagonal d is row i, column d - i, both counted from 1.
  Value row = n.op<IotaOp>(line1, n.number(0), n.typeAttr(i64));
  Value before = n.op<IotaOp>(line1, n.number(0), n.typeAttr(i64));
  before = n.maximum(n.sub(before, 1.0), 0.0);
  // One entry more, so that there is one to read where the matrix has none.
  Value flat = n.concat({n.reshape(cost, {-1}), n.reshape(n.like(cost, 0), {1})}, 0);
  Value start = n.select(n.compare("eq", row, 0.0), n.like(cost, 0), endless);
  Value count1 = n.add(n.sizeOf(cost, 0), n.sizeOf(cost, 1));
  Value count = n.toScalar(count1);
  Value moves = n.expandTo(n.intScalar(0), n.concat({n.add(count1, 1.0), line1}, 0));
  auto shifted = [&](Value v) {
    return n.select(n.compare("eq", row, 0.0), endless, n.gather(v, before, 0));
  };
  Value nothing = n.expandTo(endless, line1);
  auto sweep = [&](Value index, Values args) -> FailureOr<Values> {
    Value d = n.add(index, 1.0), column = n.sub(d, row);
    Value diagonal = shifted(args[0]), above = shifted(args[1]), beside = args[1];
    Value first = n.op<AndOp>(n.compare("lt", diagonal, above), n.compare("lt", diagonal, beside));
    Value second = n.op<AndOp>(n.compare("lt", above, diagonal), n.compare("lt", above, beside));
    Value least = n.select(first, diagonal, n.select(second, above, beside));
    Value move = n.select(first, n.intScalar(0), n.select(second, n.intScalar(1), n.intScalar(2)));
    Value inside = n.op<AndOp>(n.op<AndOp>(n.compare("ge", row, 1.0), n.compare("ge", column, 1.0)),
                               n.compare("le", column, columns));
    Value at = n.add(n.mul(n.sub(row, 1.0), columns), n.sub(column, 1.0));
    at = n.select(inside, at, n.like(at, 0));
    Value next = n.select(inside, n.add(least, n.gather(flat, at, 0)), endless);
    return Values{args[1], next, writeEntry(n, args[2], d, move)};
  };
  FailureOr<Values> swept = buildLoop(n, count, {}, {nothing, start, moves}, sweep);
  if (failed(swept))
    return failure();
  moves = (*swept)[2];
  Value path = n.expandTo(n.intScalar(0), n.concat({n.add(count1, 1.0), n.ints({2})}, 0));
  auto back = [&](Value, Values args) -> FailureOr<Values> {
    Value i = args[0], j = args[1], length = args[2];
    Value inside = n.op<AndOp>(n.compare("gt", i, 0.0), n.compare("gt", j, 0.0));
    Value move = n.gather(n.gather(moves, n.add(i, j), 0), i, 0);
    Value point = n.concat({n.reshape(n.sub(i, 1.0), {1}), n.reshape(n.sub(j, 1.0), {1})}, 0);
    Value at = n.minimum(length, n.sub(count, 1.0));
    Value old = n.gather(args[3], at, 0);
    Value written = writeEntry(n, args[3], at, n.select(inside, point, old));
    Value up = n.cast(n.op<AndOp>(inside, n.compare("ne", move, 2.0)), i64);
    Value left = n.cast(n.op<AndOp>(inside, n.compare("ne", move, 1.0)), i64);
    return Values{n.sub(i, up), n.sub(j, left), n.add(length, n.cast(inside, i64)), written};
  };
  FailureOr<Values> walked = buildLoop(n, count, {}, {rows, columns, n.intScalar(0), path}, back);
  if (failed(walked))
    return failure();
  Value length = n.reshape((*walked)[2], {1});
  Value order = n.op<IotaOp>(length, n.number(0), n.typeAttr(i64));
  Value points = n.gather((*walked)[3], n.sub(n.sub(length, 1.0), order), 0);
  return n.result(n.cast(n.transpose(points, {1, 0}), n.b.getI32Type()));
}

//===----------------------------------------------------------------------===//
// BifurcationDetector
//===----------------------------------------------------------------------===//

/// The place of `part` (the last `size` of `tokens`) in `source` at or behind `from`
/// (tensor<i64>), and whether there is one.
std::pair<Value, Value> findSuffix(NodeImport &n, Value source, Value tokens, int64_t size,
                                   Value from) {
  Type i64 = n.b.getI64Type();
  Value place = n.op<IotaOp>(n.shapeOf(source), n.number(0), n.typeAttr(i64));
  Value last = n.sub(n.toScalar(n.sizeOf(source, 0)), 1.0);
  Value equal =
      n.op<AndOp>(n.compare("ge", place, from), n.compare("le", place, n.sub(last, size - 1.0)));
  for (int64_t j = 0; j < size; ++j) {
    Value of = n.maximum(n.sub(n.toScalar(n.sizeOf(tokens, 0)), double(size - j)), 0.0);
    Value there = n.gather(source, n.minimum(n.add(place, double(j)), last), 0);
    equal = n.op<AndOp>(equal, n.compare("eq", there, n.gather(tokens, of, 0)));
  }
  Value found = n.reduce(equal, "any", {0}, false);
  Value first =
      n.reduce(n.select(equal, place, n.toScalar(n.sizeOf(source, 0))), "min", {0}, false);
  return {first, found};
}

/// Takes over predicted tokens up to the first that is not in the source, and looks
/// for the place in the source where the last of them stand once.
LogicalResult bifurcation(NodeImport &n) {
  Value source = n.in(0), tokens = n.in(1), previous = n.in(2);
  if (!source || !tokens || !previous)
    return failure();
  int64_t least = intOr(n, "min_ngram_size", 1), most = intOr(n, "max_ngram_size", 3);
  if (n.rank(source) != 1 || n.rank(tokens) != 1 || least < 1 || most < least || most > 64)
    return n.invalid("found tokens that are no vectors, or n-grams of " + Twine(least) + " to " +
                     Twine(most));
  if (n.dim(source, 0) == 0)
    return n.unsupported("found no source tokens");
  if (n.has(3)) {
    Value draft = n.in(3), from = n.reshape(previous, {1});
    Value rest = n.sub(n.sizeOf(source, 0), from);
    n.require(n.toScalar(n.compare("ge", from, 0.0)), "prev_suffix_match_idx is negative");
    n.require(n.toScalar(n.compare("eq", n.sizeOf(draft, 0), n.add(rest, 1.0))),
              "pred_tokens have not the length of the rest of src_tokens and one");
    Value tail =
        n.op<SliceOp>(source, from, n.sizeOf(source, 0), n.ints({1}), n.list({0}), n.flag(false));
    Value head = n.op<SliceOp>(draft, n.ints({0}), rest, n.ints({1}), n.list({0}), n.flag(false));
    Value same = n.cast(n.compare("eq", tail, head), n.b.getI64Type());
    Value agreed = n.reduce(
        n.op<CumulativeOp>(same, n.text("prod"), n.number(0), n.flag(false), n.flag(false)), "sum",
        {0}, true);
    Value taken = n.op<SliceOp>(draft, n.ints({0}), n.add(agreed, 1.0), n.ints({1}), n.list({0}),
                                n.flag(false));
    tokens = n.concat({tokens, taken}, 0);
  }
  Value size = n.toScalar(n.sizeOf(source, 0)), length = n.toScalar(n.sizeOf(tokens, 0));
  Value match = n.intScalar(-1), ended = n.scalar(n.b.getI1Type(), 0);
  for (int64_t gram = least; gram <= most && ended; ++gram) {
    ended = n.op<OrOp>(ended, n.compare("lt", length, double(gram)));
    auto [first, found] = findSuffix(n, source, tokens, gram, n.intScalar(0));
    ended = n.op<OrOp>(ended, n.logicalNot(found));
    Value behind = n.add(first, double(gram));
    Value again = findSuffix(n, source, tokens, gram, n.add(first, 1.0)).second;
    Value isLast = n.compare("ge", behind, size);
    Value next = n.select(n.op<AndOp>(n.logicalNot(isLast), again), n.intScalar(-1), behind);
    match = n.select(ended, match, next);
    ended = n.op<OrOp>(ended, isLast);
  }
  return n.results({tokens, n.reshapeTo(match, n.shapeOf(previous))});
}

//===----------------------------------------------------------------------===//
// WordConvEmbedding
//===----------------------------------------------------------------------===//

/// Words [words, characters] as vectors: a convolution over the embeddings of their
/// characters, tanh, and the largest of the places that the word fills. Characters
/// count from 1; a word that begins with 0 is none, and its vector is zero.
LogicalResult wordEmbedding(NodeImport &n) {
  Value words = n.in(0), filter = n.in(1), bias = n.in(2), table = n.in(3);
  if (!words || !filter || !bias || !table)
    return failure();
  if (!n.hasRank(words, 2, "words") || !n.hasRank(filter, 4, "filter") ||
      !n.hasRank(bias, 1, "bias") || !n.hasRank(table, 2, "table of characters") ||
      !n.hasSize(filter, 1, 1, "filter"))
    return failure();
  std::tuple<const char *, Value, int64_t, const char *> claims[] = {
      {"embedding_size", filter, 0, "filter"},
      {"conv_window_size", filter, 2, "filter"},
      {"char_embedding_size", table, 1, "table of characters"}};
  for (auto [name, of, dim, what] : claims)
    if (int64_t size = intOr(n, name, -1); size >= 0 && !n.hasSize(of, dim, size, what))
      return failure();
  if (!n.isAsLarge(bias, 0, filter, 0, "bias and the filter") ||
      !n.isAsLarge(filter, 3, table, 1, "filter and the table of characters"))
    return failure();
  int64_t window = n.dim(filter, 2), most = n.dim(words, 1);
  Value width = n.toScalar(n.sizeOf(filter, 2));
  if (ShapedType::isDynamic(window) || ShapedType::isDynamic(most)) {
    Value room = n.toScalar(n.sizeOf(words, 1));
    n.require(n.op<AndOp>(n.compare("ge", width, 1), n.compare("ge", room, width)),
              "words have not as many characters as the filter's window, or that has none");
  } else if (window < 1 || most < window) {
    return n.invalid("expected words of as many characters as the filter's window has, from 1 on, "
                     "got " +
                     Twine(most) + " and " + Twine(window));
  }
  Type i64 = n.b.getI64Type();
  Value isCharacter = n.compare("gt", words, 0.0);
  Value length = n.reduce(n.cast(isCharacter, i64), "sum", {1}, false);
  length = n.select(n.pick(isCharacter, 1, 0), length, n.like(length, 0));
  Value characters = n.transpose(n.gather(table, n.maximum(words, 0.0), 0), {0, 2, 1});
  Value kernel = n.transpose(n.squeeze(filter, {1}), {0, 2, 1});
  Value y = n.op<ConvOp>(characters, kernel, n.list({1}), n.list({0, 0}), n.list({1}), n.number(1),
                         n.flag(false), n.typeAttr(n.element(table)));
  y = n.op<TanhOp>(n.add(y, n.unsqueeze(bias, {1})));
  if (!y)
    return failure();
  Value place = n.op<IotaOp>(n.shapeOf(y), n.number(2), n.typeAttr(i64));
  Value places = n.add(n.sub(n.maximum(length, width), width), 1.0);
  Value filled = n.compare("lt", place, n.unsqueeze(places, {1, 2}));
  y = n.reduce(n.select(filled, y, n.like(y, -1e12)), "max", {2}, false);
  return n.result(n.select(n.unsqueeze(n.compare("gt", length, 0.0), {1}), y, n.like(y, 0)));
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "BifurcationDetector", 1, 0, bifurcation},
    {microsoft, "DynamicTimeWarping", 1, 0, timeWarping},
    {microsoft, "MoE", 1, 0, mixtureOfExperts},
    {microsoft, "QMoE", 1, 0, mixtureOfExperts},
    {microsoft, "WordConvEmbedding", 1, 0, wordEmbedding},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::microsoftModelImports() { return table; }
