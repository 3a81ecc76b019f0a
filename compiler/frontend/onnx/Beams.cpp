//===- Beams.cpp - the sequences that a beam search follows ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Beams.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildIf;

std::optional<Beams> Beams::read(NodeImport &n, Value prompts) {
  if (!prompts)
    return std::nullopt;
  Beams made(n, ScoreRules(n, {2, 6, 7, 8}));
  made.prompts = prompts;
  made.batch = n.sizeOf(prompts, 0);
  made.length = n.sizeOf(prompts, 1);
  // ONNX Runtime's limits.
  constexpr int64_t mostAsked = 4096, mostBeams = 128;
  made.most = mostTokens(n, made.length, mostAsked);
  for (auto [input, name] : {std::pair(3, "num_beams"), std::pair(4, "num_return_sequences")})
    if (!n.has(input)) {
      (void)n.invalid("found no " + Twine(name));
      return std::nullopt;
    }
  // What is known is said while compiling.
  auto beams = n.knownInts(3), returned = n.knownInts(4);
  if (beams && beams->size() == 1 && beams->front() < 1) {
    (void)n.invalid("expected num_beams of at least 1, got " + Twine(beams->front()));
    return std::nullopt;
  }
  if (beams && returned && beams->size() == 1 && returned->size() == 1 &&
      (returned->front() < 1 || returned->front() > beams->front())) {
    (void)n.invalid("expected num_return_sequences from 1 to num_beams, " + Twine(beams->front()) +
                    ", got " + Twine(returned->front()));
    return std::nullopt;
  }
  auto count = [&](size_t input) -> Value {
    Value given = scalarInput(n, input);
    return given ? n.reshape(given, {1}) : Value();
  };
  made.beams = count(3);
  made.returned = count(4);
  if (!made.beams || !made.returned || !made.most ||
      !isAtMost(n, made.beams, mostBeams, "num_beams"))
    return std::nullopt;
  n.require(n.toScalar(n.op<AndOp>(n.compare("ge", made.returned, 1.0),
                                   n.compare("le", made.returned, made.beams))),
            "num_return_sequences is not from 1 to num_beams");
  made.rows = n.mul(made.batch, made.beams);
  Type f32 = n.b.getF32Type();
  made.penalty = n.has(5) ? scalarInput(n, 5, f32) : n.scalar(f32, 1);
  made.endToken = n.i("eos_token_id");
  made.padding = n.i("pad_token_id");
  made.isEarly = n.i("early_stopping") == 1;
  made.wantsSteps = n.wants(2);
  return made.penalty ? std::optional(std::move(made)) : std::nullopt;
}

Value Beams::spread(Value x) {
  if (!x)
    return {};
  Value rest = n.shapeSlice(x, 1, n.rank(x));
  Value wide = n.expandTo(n.unsqueeze(x, {1}), n.concat({batch, beams, rest}, 0));
  return n.reshapeTo(wide, n.concat({rows, rest}, 0));
}

Values Beams::begin() {
  Type f32 = n.b.getF32Type(), i64 = n.b.getI64Type();
  Value each = n.concat({batch, beams}, 0);
  auto all = [&](Type type, double value, Value shape) {
    return n.expandTo(n.scalar(type, value), shape);
  };
  // Beams are alike at first: the others wait for the first one's candidates.
  Value first = n.compare("eq", upTo(n, beams), 0.0);
  Value scores = n.select(first, n.scalar(f32, 0), n.scalar(f32, -1e9));
  Type token = n.element(prompts);
  Values state = {n.expandTo(n.unsqueeze(scores, {0}), each),
                  spread(lengthened(n, prompts, most, double(padding))),
                  all(f32, 0, each),
                  all(token, double(padding), n.concat({batch, beams, most}, 0)),
                  all(i64, 0, each),
                  all(i64, 0, batch),
                  all(n.b.getI1Type(), 0, batch)};
  return state;
}

Value Beams::pickTaken(Value taken, Value x) {
  return n.reduce(n.select(taken, n.unsqueeze(x, {1}), n.like(x, 0)), "sum", {2}, false);
}

Value Beams::unlessDone(const Values &state, Value x, Value other) {
  return n.select(n.unsqueeze(state[Done], {1}), other, x);
}

Value Beams::goesOn(const Values &state) {
  return n.logicalNot(n.reduce(state[Done], "all", {0}, false));
}

void Beams::end(Values &state, Value scores, Value isNew, Value from, Value length) {
  Value over = n.op<PowOp>(n.cast(length, n.element(scores)), penalty);
  Value all = n.concat({state[EndScores], n.div(scores, over)}, 1);
  Value isOld = n.compare("lt", n.unsqueeze(upTo(n, beams), {0}), n.unsqueeze(state[Count], {1}));
  Value isThere = n.concat({isOld, isNew}, 1);
  // Each goes behind those that are better, and behind equal ones that came before it.
  Value place = upTo(n, n.mul(beams, 2.0));
  Value mine = n.unsqueeze(all, {2}), other = n.unsqueeze(all, {1});
  Value isEarlier = n.compare("lt", n.unsqueeze(place, {0}), n.unsqueeze(place, {1}));
  // What is no number is behind all others: each candidate has a rank of its own.
  Value isMineNone = n.op<IsNanOp>(mine), isOtherNone = n.op<IsNanOp>(other);
  Value isBetter =
      n.op<OrOp>(n.compare("gt", other, mine), n.op<AndOp>(isMineNone, n.logicalNot(isOtherNone)));
  Value isWorse =
      n.op<OrOp>(n.compare("gt", mine, other), n.op<AndOp>(isOtherNone, n.logicalNot(isMineNone)));
  Value isBefore = n.op<OrOp>(isBetter, n.op<AndOp>(n.logicalNot(isWorse), isEarlier));
  isBefore = n.op<AndOp>(isBefore, n.unsqueeze(isThere, {1}));
  Type i64 = n.b.getI64Type();
  Value rank = n.reduce(n.cast(isBefore, i64), "sum", {2}, false);
  // [batch, beams, of twice as many]: which goes where.
  Value taken =
      n.op<AndOp>(n.compare("eq", n.unsqueeze(upTo(n, beams), {0, 2}), n.unsqueeze(rank, {1})),
                  n.unsqueeze(isThere, {1}));
  Value source = pickTaken(taken, n.expandTo(n.unsqueeze(place, {0}), n.shapeOf(all)));
  auto chosen = [&](Value x) {
    return n.op<GatherOp>(x, source, n.number(1), n.number(1), n.flag(false));
  };
  Value tokens = n.gather(state[Sequences], from, 0);
  Value lengths = n.expandTo(length, n.shapeOf(scores));
  Value count = n.add(state[Count], n.reduce(n.cast(isNew, i64), "sum", {1}, false));
  state[Count] = n.minimum(count, n.toScalar(beams));
  state[EndScores] = chosen(all);
  state[EndTokens] = chosen(n.concat({state[EndTokens], tokens}, 1));
  state[Lengths] = chosen(n.concat({state[Lengths], lengths}, 1));
}

Values Beams::choose(Values &state, Value logits, Value length, Value step, bool isFirst) {
  Type i64 = n.b.getI64Type();
  Value vocabulary = n.sizeOf(logits, 1), twice = n.mul(beams, 2.0);
  Value likely = n.softmax(logits, 1, /*log=*/true);
  // All beams of a prompt are alike at first.
  Value sequences = isFirst ? lengthened(n, prompts, most, double(padding)) : state[Sequences];
  likely = rules.apply(likely, sequences, length, isFirst);
  likely = n.reshapeTo(likely, n.concat({batch, isFirst ? n.ints({1}) : beams, vocabulary}, 0));
  Value sums = n.add(likely, n.unsqueeze(state[Scores], {2}));
  if (wantsSteps) {
    if (isFirst) {
      Value steps = n.sub(most, this->length);
      state.push_back(n.expandTo(n.like(sums, 0), n.concat({steps, n.shapeOf(sums)}, 0)));
    }
    state[Steps] = frontend::writeEntry(n, state[Steps], step, sums);
  }
  Value flat = n.reshapeTo(sums, n.concat({batch, n.mul(beams, vocabulary)}, 0));
  Operation *best = flat ? n.multi<TopKOp, 2>(flat, twice, n.number(1), n.flag(true), n.flag(true),
                                              n.typeAttr(i64))
                         : nullptr;
  if (!best)
    return {};
  Value scores = best->getResult(0), places = best->getResult(1); // [batch, 2·beams]
  Value size = n.toScalar(vocabulary);
  Value from = n.div(places, size), tokens = n.op<RemOp>(places, size);
  Value firstRow = n.mul(n.unsqueeze(upTo(n, batch), {1}), n.toScalar(beams));
  Value ends = n.compare("eq", tokens, double(endToken));

  // The best that do not end go on.
  Value goOn = n.logicalNot(ends);
  Value before = n.op<CumulativeOp>(n.cast(goOn, i64), n.text("sum"), n.number(1), n.flag(true),
                                    n.flag(false));
  Value taken = n.compare("eq", n.unsqueeze(upTo(n, beams), {0, 2}), n.unsqueeze(before, {1}));
  taken = n.op<AndOp>(taken, n.unsqueeze(goOn, {1}));
  Value wasDone = state[Done];
  state[Scores] = unlessDone(state, pickTaken(taken, scores), n.like(scores, 0));
  Value nextTokens = unlessDone(state, pickTaken(taken, tokens), n.like(tokens, padding));
  Value nextFrom = unlessDone(state, n.add(pickTaken(taken, from), firstRow), n.like(from, 0));

  // Those of the first as many as beams that end have ended.
  auto firstOnes = [&](Value x) { return firstEntries(n, x, 1, beams); };
  Value isNew = unlessDone(state, firstOnes(ends), n.scalar(n.b.getI1Type(), 0));
  Value any = n.reduce(isNew, "any", {0, 1}, false);
  ArrayRef<Value> old = state;
  Values kept(old.begin() + EndScores, old.begin() + Count + 1);
  FailureOr<Values> made = buildIf(
      n, any,
      [&]() -> FailureOr<Values> {
        Values changed = state;
        end(changed, firstOnes(scores), isNew, n.add(firstOnes(from), firstRow), length);
        return Values(changed.begin() + EndScores, changed.begin() + Count + 1);
      },
      [&]() -> FailureOr<Values> { return kept; });
  if (failed(made))
    return {};
  llvm::copy(*made, state.begin() + EndScores);

  Value isDone = n.compare("ge", state[Count], n.toScalar(beams));
  if (!isEarly) {
    // ONNX Runtime holds the ended ones of prompt i against the best of 2·beams candidates from
    // number i·beams on, counted over all prompts.
    Value halves =
        n.reduce(n.reshapeTo(scores, n.concat({n.mul(batch, 2.0), beams}, 0)), "max", {1}, false);
    Value limit = n.maximum(n.gather(halves, upTo(n, batch), 0),
                            n.gather(halves, n.add(upTo(n, batch), 1.0), 0));
    Value reachable = n.div(limit, n.op<PowOp>(n.cast(length, n.element(limit)), penalty));
    Value worst = n.gather(state[EndScores], n.toScalar(n.sub(beams, 1.0)), 1);
    isDone = n.op<AndOp>(isDone, n.compare("ge", worst, reachable));
  }
  state[Done] = n.op<OrOp>(wasDone, isDone);

  Value rowTokens = n.cast(n.reshapeTo(nextTokens, rows), n.element(prompts));
  Value rowFrom = n.reshapeTo(nextFrom, rows);
  state[Sequences] = withTokens(n, n.gather(state[Sequences], rowFrom, 0), rowTokens, length);
  Values result = {rowTokens, rowFrom};
  return llvm::is_contained(result, Value()) || llvm::is_contained(state, Value()) ? Values()
                                                                                   : result;
}

LogicalResult Beams::finish(Values state) {
  // Where the longest sequences have not ended, they end now.
  Value firstRow = n.mul(n.unsqueeze(upTo(n, batch), {1}), n.toScalar(beams));
  Value from = n.add(firstRow, n.unsqueeze(upTo(n, beams), {0}));
  Value isNew = n.expandTo(n.unsqueeze(n.logicalNot(state[Done]), {1}), n.shapeOf(state[Scores]));
  end(state, state[Scores], isNew, from, n.toScalar(most));
  auto best = [&](Value x) { return firstEntries(n, x, 1, returned); };
  Value inside =
      n.compare("lt", n.unsqueeze(upTo(n, most), {0, 1}), n.unsqueeze(best(state[Lengths]), {2}));
  Value tokens = best(state[EndTokens]);
  tokens = n.select(inside, tokens, n.like(tokens, padding));
  Type type = n.has(5) ? n.element(n.in(5)) : n.has(6) ? n.element(n.in(6)) : n.b.getF32Type();
  return n.results({tokens, n.cast(best(state[EndScores]), type),
                    wantsSteps ? n.cast(state[Steps], type) : Value()});
}
