//===- GreedySearch.cpp - com.microsoft's GreedySearch and Sampling -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One sequence a prompt: its next token is the likeliest, or is drawn.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Generation.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildLoop;

namespace {

/// Draws tokens as ONNX Runtime does on CPUs: from std::minstd_rand0, which began with the seed, a
/// uniform f64 a token as std::generate_canonical makes it.
class Drawing {
public:
  explicit Drawing(NodeImport &n) : n(n), i64(n.b.getI64Type()), f64(n.b.getF64Type()) {}
  LogicalResult check();
  /// The generator's state at first, tensor<i64>.
  Value begin();
  /// Tokens [rows], as i64, by their scores; and the state behind them.
  std::pair<Value, Value> draw(Value scores, Value state);

private:
  Value filtered(Value scores);

  NodeImport &n;
  Type i64, f64;
};

LogicalResult Drawing::check() {
  if (n.wants(1))
    return n.unsupported("expected sequences alone to be wanted, got the output filtered_logits");
  if (n.has(7) && n.f("presence_penalty") != 0)
    return n.unsupported("expected no penalty for the tokens of presence_mask, got a "
                         "presence_penalty");
  if (!(n.f("top_p") > 0))
    return n.unsupported("expected a top_p above 0, got another, with which rounding decides what "
                         "tokens stay");
  if (n.i("min_tokens_to_keep") < 0)
    return n.invalid("expected min_tokens_to_keep of at least 0, got " +
                     Twine(n.i("min_tokens_to_keep")));
  return success();
}

constexpr int64_t modulus = 2147483647, factor = 16807;

Value Drawing::begin() {
  if (!n.has(8))
    return n.intScalar(std::max<int64_t>(seedOf(n) % modulus, 1));
  Value seed = scalarInput(n, 8);
  n.require(n.compare("ge", seed, 0.0), "seed is negative");
  return n.maximum(n.op<RemOp>(seed, n.like(seed, modulus)), 1.0); // zero would stay zero
}

/// Scores with what is too unlikely at `filter_value`: tokens whose probabilities, from the least
/// on, sum up to 1 - top_p at most; or with `custom` those behind the ones that reach top_p.
Value Drawing::filtered(Value scores) {
  bool custom = n.i("custom") != 0;
  double share = n.f("top_p");
  Operation *sorted = scores ? n.multi<TopKOp, 2>(scores, n.sizeOf(scores, 1), n.number(1),
                                                  n.flag(custom), n.flag(true), n.typeAttr(i64))
                             : nullptr;
  if (!sorted)
    return {};
  Value sums = n.op<CumulativeOp>(n.softmax(sorted->getResult(0), 1), n.text("sum"), n.number(1),
                                  n.flag(custom), n.flag(false));
  Value place = n.op<IotaOp>(n.sizeOf(scores, 1), n.number(0), n.typeAttr(i64));
  Value out, limit;
  if (custom) {
    out = n.op<AndOp>(n.compare("gt", sums, double(float(share))), n.compare("gt", place, 0.0));
  } else {
    limit = n.sub(n.toScalar(n.sizeOf(scores, 1)), double(n.i("min_tokens_to_keep")));
    Value mayGo = n.op<OrOp>(n.compare("lt", place, limit), n.compare("eq", place, 0.0));
    out = n.op<AndOp>(n.compare("le", sums, double(1 - float(share))), mayGo);
  }
  Value none = n.expandTo(n.scalar(n.b.getI1Type(), 0), n.shapeOf(scores));
  out = n.op<ScatterElementsOp>(none, sorted->getResult(1), out, n.number(1), n.text("none"),
                                n.flag(false));
  return n.select(out, n.like(scores, n.f("filter_value")), scores);
}

std::pair<Value, Value> Drawing::draw(Value scores, Value state) {
  scores = filtered(scores);
  // Two steps of the generator a row.
  Value rows = n.toScalar(n.sizeOf(scores, 0));
  Value none = n.expandTo(n.scalar(f64, 0), n.sizeOf(scores, 0));
  auto next = [&](Value x) { return n.op<RemOp>(n.mul(x, double(factor)), n.like(x, modulus)); };
  FailureOr<Values> drawn =
      buildLoop(n, rows, {}, {state, none}, [&](Value index, Values args) -> FailureOr<Values> {
        Value first = next(args[0]), second = next(first);
        double range = modulus - 1;
        Value number =
            n.add(n.cast(n.sub(first, 1.0), f64), n.mul(n.cast(n.sub(second, 1.0), f64), range));
        number = n.minimum(n.div(number, range * range), std::nextafter(1.0, 0.0));
        return Values{second, frontend::writeEntry(n, args[1], index, number)};
      });
  if (failed(drawn))
    return {};
  Value isFinite = n.op<IsFiniteOp>(scores);
  Value least = n.like(scores, std::numeric_limits<float>::lowest());
  Value most = n.reduce(n.select(isFinite, scores, least), "max", {1}, true);
  Value chances = n.exp(n.sub(n.cast(scores, f64), n.cast(most, f64)));
  Value sums = n.op<CumulativeOp>(n.select(isFinite, chances, n.like(chances, 0)), n.text("sum"),
                                  n.number(1), n.flag(false), n.flag(false));
  Value total = n.slice(sums, 1, -1, std::numeric_limits<int64_t>::max());
  n.require(n.reduce(n.compare("gt", total, 0.0), "all", {0, 1}, false),
            "a sequence has no token whose score is a number");
  Value wanted = n.mul(n.unsqueeze((*drawn)[1], {1}), total);
  Value below = n.cast(n.compare("le", sums, wanted), i64);
  return {n.reduce(below, "sum", {1}, false), (*drawn)[0]};
}

/// The loop of both: a token is appended to each sequence until all have ended or are as long as
/// they may be. Behind its end a sequence has padding.
class OneSequence {
public:
  explicit OneSequence(NodeImport &n) : n(n), drawing(n), draws(n.node.op == "Sampling") {}
  LogicalResult run();

private:
  /// The state of the search, as the loop carries it.
  struct State {
    Value sequences; ///< [rows, most]
    Value hasEnded;  ///< [rows]
    Value generator; ///< of what is drawn; null: nothing is
  };
  /// The next tokens [rows], which are put at place `length` (tensor<i64>).
  Value choose(ScoreRules &rules, Value scores, State &state, Value length, bool isFirst);

  NodeImport &n;
  Drawing drawing;
  bool draws;
};

Value OneSequence::choose(ScoreRules &rules, Value scores, State &state, Value length,
                          bool isFirst) {
  scores = rules.apply(scores, state.sequences, length, isFirst);
  Type i64 = n.b.getI64Type();
  Value best;
  if (draws)
    std::tie(best, state.generator) = drawing.draw(scores, state.generator);
  else
    best = n.op<ArgReduceOp>(scores, n.flag(true), n.number(1), n.flag(false), n.flag(false),
                             n.typeAttr(i64));
  state.hasEnded = n.op<OrOp>(state.hasEnded, n.compare("eq", best, double(n.i("eos_token_id"))));
  best = n.select(state.hasEnded, n.like(best, n.i("pad_token_id")), best);
  Value tokens = n.cast(best, n.element(state.sequences));
  state.sequences = withTokens(n, state.sequences, tokens, length);
  return tokens;
}

LogicalResult OneSequence::run() {
  if (n.i("model_type") != 0)
    return n.unsupported("expected model_type 0, a decoder alone, got " + Twine(n.i("model_type")));
  if (draws && failed(drawing.check()))
    return failure();
  std::optional<GptDecoder> decoder = GptDecoder::read(n, "decoder");
  std::optional<GptDecoder> first = decoder;
  if (decoder && graphOrNull(n, "init_decoder"))
    first = GptDecoder::read(n, "init_decoder");
  std::optional<Prompt> prompt = first ? Prompt::read(n, 6) : std::nullopt;
  if (!prompt)
    return failure();
  ScoreRules rules(n, {2, 3, 4, 5});
  if (draws && n.f("temperature") > 0 && n.f("temperature") != 1)
    rules.temperature = n.scalar(n.b.getF32Type(), n.f("temperature"));
  constexpr int64_t mostAsked = 1 << 20;
  Value most = mostTokens(n, prompt->length, mostAsked);
  FailureOr<Values> made = first->call(n, prompt->ids, prompt->positions, prompt->mask,
                                       first->empty(n, n.sizeOf(prompt->ids, 0)));
  if (failed(made) || !most || !rules.fits(made->front(), prompt->ids))
    return failure();
  State state;
  state.sequences = lengthened(n, prompt->ids, most, double(n.i("pad_token_id")));
  state.hasEnded = n.expandTo(n.scalar(n.b.getI1Type(), 0), n.sizeOf(prompt->ids, 0));
  if (draws)
    state.generator = drawing.begin();
  Value length = n.toScalar(prompt->length), mask = lengthened(n, prompt->mask, most, 1);
  Value tokens = choose(rules, made->front(), state, length, true);
  auto goesOn = [&] { return n.logicalNot(n.reduce(state.hasEnded, "all", {0}, false)); };
  Value condition = goesOn();

  // Carried: tokens, the state, caches.
  Values inits = {tokens, state.sequences, state.hasEnded};
  if (draws)
    inits.push_back(state.generator);
  size_t caches = inits.size();
  inits.append(made->begin() + 1, made->end());
  Value count = n.sub(n.sub(n.toScalar(most), length), 1.0);
  auto body = [&](Value index, Values args) -> FailureOr<Values> {
    state = {args[1], args[2], draws ? args[3] : Value()};
    Value filled = n.add(n.add(length, index), 1.0); // with the token that is now looked at
    Value position = n.add(prompt->lengths, n.cast(index, n.element(prompt->lengths)));
    FailureOr<Values> next =
        decoder->call(n, n.unsqueeze(args[0], {1}), n.unsqueeze(position, {1}),
                      firstEntries(n, mask, 1, filled), ArrayRef(args).drop_front(caches));
    if (failed(next))
      return failure();
    Values after = {choose(rules, next->front(), state, filled, false)};
    after.append({state.sequences, state.hasEnded});
    if (draws)
      after.push_back(state.generator);
    after.append(next->begin() + 1, next->end());
    after.push_back(goesOn());
    return after;
  };
  FailureOr<Values> all = buildLoop(n, count, condition, inits, body);
  return failed(all) ? failure() : n.result((*all)[1]);
}

LogicalResult oneSequence(NodeImport &n) { return OneSequence(n).run(); }

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "GreedySearch", 1, 0, oneSequence},
    {microsoft, "Sampling", 1, 0, oneSequence},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::searchImports() { return table; }
