//===- Generation.cpp - searches for the next tokens ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Generation.h"

#include <limits>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

//===----------------------------------------------------------------------===//
// Rules of scores
//===----------------------------------------------------------------------===//

ScoreRules::ScoreRules(NodeImport &n, Inputs inputs) : n(n) {
  Type f32 = n.b.getF32Type();
  least = n.scalar(f32, std::numeric_limits<float>::lowest());
  auto input = [&](std::optional<size_t> i) { return i && n.has(*i) ? n.in(*i) : Value(); };
  if (Value length = input(inputs.minLength)) {
    std::optional<SmallVector<int64_t>> known = n.knownInts(*inputs.minLength);
    if (!known || known->size() != 1 || known->front() > 0)
      minLength = scalarInput(n, *inputs.minLength);
  }
  if (Value given = input(inputs.repetitionPenalty)) {
    std::optional<SmallVector<double>> known = n.constantFloats(*inputs.repetitionPenalty);
    if (!known || known->size() != 1 || known->front() != 1) {
      penalty = scalarInput(n, *inputs.repetitionPenalty, f32);
      isRight = penalty != nullptr;
      n.require(n.compare("gt", penalty, 0.0), "repetition_penalty is not above 0");
    }
  }
  vocabMask = input(inputs.vocabMask);
  prefixMask = input(inputs.prefixVocabMask);
  repeats = n.i("no_repeat_ngram_size");
  // Each token of a window is a comparison in the program.
  constexpr int64_t mostRepeats = 256;
  if (repeats > mostRepeats)
    (void)n.unsupported("expected no_repeat_ngram_size of at most " + Twine(mostRepeats) +
                        ", got " + Twine(repeats));
  isRight = isRight && repeats <= mostRepeats;
}

bool ScoreRules::knowsTimes(Value scores) {
  int64_t first = n.i("beginning_timestamp_token_id"), vocabulary = n.dim(scores, 1);
  bool isOpen = ShapedType::isDynamic(vocabulary);
  bool isNone = first < 1 || (!isOpen && first >= vocabulary);
  if (isNone && n.knownInts(11)) {
    (void)n.invalid("expected beginning_timestamp_token_id to be a token above 0 of the " +
                    sizeText(vocabulary) + " that there are, got " + Twine(first));
    return false;
  }
  // A logits_processor that is fed may not ask for times.
  Value isRight = n.logicalNot(hasTimestamps);
  if (!isNone)
    isRight =
        n.op<OrOp>(isRight, n.compare("gt", n.toScalar(n.sizeOf(scores, 1)), n.intScalar(first)));
  if (isNone || isOpen)
    n.require(isRight, "beginning_timestamp_token_id is no token of the vocabulary above 0");
  return true;
}

bool ScoreRules::fits(Value scores, Value prompts) {
  if (!isRight || (hasTimestamps && !knowsTimes(scores)))
    return false;
  if (vocabMask && !n.hasOneEach(vocabMask, scores, 1, "vocab_mask"))
    return false;
  return !prefixMask || (n.hasRank(prefixMask, 2, "prefix_vocab_mask") &&
                         n.isAsLarge(prefixMask, 0, prompts, 0, "prefix_vocab_mask") &&
                         n.isAsLarge(prefixMask, 1, scores, 1, "prefix_vocab_mask"));
}

/// Tokens that are there are less likely to come again.
Value ScoreRules::penalized(Value scores, Value sequences, Value length) {
  Type i64 = n.b.getI64Type(), i32 = n.b.getI32Type();
  Value place = n.op<IotaOp>(n.sizeOf(sequences, 1), n.number(0), n.typeAttr(i64));
  Value counts = n.op<AndOp>(n.compare("lt", place, length), hasScore(scores, sequences));
  Value tokens = n.select(counts, sequences, n.like(sequences, 0));
  Value none = n.expandTo(n.scalar(i32, 0), n.shapeOf(scores));
  Value isThere = n.op<ScatterElementsOp>(none, tokens, n.cast(counts, i32), n.number(1),
                                          n.text("max"), n.flag(false));
  Value less =
      n.select(n.compare("lt", scores, 0.0), n.mul(scores, penalty), n.div(scores, penalty));
  return n.select(n.compare("ne", isThere, 0.0), less, scores);
}

/// Prompts may have tokens behind the vocabulary that is chosen from.
Value ScoreRules::hasScore(Value scores, Value tokens) {
  Value vocabulary = n.cast(n.toScalar(n.sizeOf(scores, 1)), n.element(tokens));
  return n.op<AndOp>(n.compare("ge", tokens, 0.0), n.compare("lt", tokens, vocabulary));
}

/// Forbids what would end the same `repeats` tokens a second time.
Value ScoreRules::withoutRepeats(Value scores, Value sequences, Value length) {
  Type i64 = n.b.getI64Type();
  // Window j is tokens j to j + repeats - 1; there are none in shorter sequences.
  Value windows = n.maximum(n.sub(n.sizeOf(sequences, 1), double(repeats - 1)), 0.0);
  auto tokensAt = [&](int64_t k) { // the k-th token of each window
    return n.op<SliceOp>(sequences, n.ints({k}), n.add(windows, double(k)), n.ints({1}),
                         n.list({1}), n.flag(false));
  };
  Value window = n.op<IotaOp>(windows, n.number(0), n.typeAttr(i64));
  Value same = n.compare("le", window, n.sub(length, double(repeats)));
  same = n.unsqueeze(same, {0});
  for (int64_t k = 0; k < repeats - 1; ++k) {
    Value at = n.maximum(n.add(n.sub(length, double(repeats - 1)), double(k)), 0.0);
    same =
        n.op<AndOp>(same, n.compare("eq", tokensAt(k), n.gather(sequences, n.reshape(at, {1}), 1)));
  }
  Value last = tokensAt(repeats - 1);
  same = n.op<AndOp>(same, hasScore(scores, last));
  Value tokens = n.select(same, last, n.like(last, 0));
  Value all = n.expandTo(least, n.shapeOf(tokens));
  Value limits = n.select(same, all, n.like(least, std::numeric_limits<double>::infinity()));
  return n.op<ScatterElementsOp>(scores, tokens, limits, n.number(1), n.text("min"), n.flag(false));
}

Value ScoreRules::masked(Value scores, Value mask) {
  return n.select(n.compare("ne", mask, 0.0), scores, least);
}

/// Of Whisper's tokens those from beginning_timestamp_token_id on are times. The first token that
/// is chosen is one of the first second; later they come in pairs, the end of a segment and the
/// beginning of the next, and never fall. Where a time is likelier than any word, it has to be one.
Value ScoreRules::withTimestamps(Value scores, Value sequences, Value length) {
  Type i64 = n.b.getI64Type();
  double first = double(n.i("beginning_timestamp_token_id"));
  Value token = n.op<IotaOp>(n.sizeOf(scores, 1), n.number(0), n.typeAttr(i64));
  Value place = n.op<IotaOp>(n.sizeOf(sequences, 1), n.number(0), n.typeAttr(i64));
  Value words = n.cast(sequences, i64);
  auto both = [&](Value x, Value y) { return n.op<AndOp>(x, y); };
  auto either = [&](Value x, Value y) { return n.op<OrOp>(x, y); };
  auto isToken = [&](std::string_view id) { return n.compare("eq", token, double(n.i(id))); };
  auto column = [&](Value x) { return n.unsqueeze(x, {1}); };

  // Of each sequence: what its last two tokens are, and the last time in it.
  Value isTime = both(n.compare("ge", words, first), n.compare("lt", place, length));
  Value hasTime = n.reduce(isTime, "any", {1}, false);
  Value earliest = n.reduce(n.select(isTime, place, length), "min", {1}, false);
  Value begin = n.minimum(n.add(earliest, 1.0), length);
  auto isTimeAt = [&](double back) {
    Value at = n.maximum(n.sub(length, back), 0.0);
    return n.reduce(both(isTime, n.compare("eq", place, at)), "any", {1}, false);
  };
  Value isLast = isTimeAt(1);
  Value isPair = either(n.compare("ge", begin, length), isTimeAt(2));
  Value latest = n.reduce(n.select(isTime, place, n.like(place, -1)), "max", {1}, false);
  Value isLatest = n.compare("eq", place, column(latest));
  Value time = n.reduce(n.select(isLatest, words, n.like(words, 0)), "sum", {1}, false);
  Value isOpen = both(isLast, n.logicalNot(isPair));
  Value least1 = n.select(isOpen, time, n.add(time, 1.0));

  constexpr double mostAtFirst = 50;
  Value isStamp = n.compare("ge", token, first);
  Value forbidden = either(isToken("no_timestamps_token_id"), isToken("start_of_lm_token_id"));
  Value onlyFirst = either(either(isToken("decoder_start_token_id"), isToken("translate_token_id")),
                           isToken("transcribe_token_id"));
  forbidden = either(forbidden, both(column(n.compare("gt", length, begin)), onlyFirst));
  forbidden = either(forbidden, both(column(both(isLast, isPair)), isStamp));
  forbidden =
      either(forbidden, both(column(isOpen), n.compare("lt", token, double(n.i("eos_token_id")))));
  Value falls = both(isStamp, n.compare("lt", n.unsqueeze(token, {0}), column(least1)));
  forbidden = either(forbidden, both(column(hasTime), falls));
  forbidden = either(forbidden, both(column(n.compare("eq", begin, length)),
                                     n.compare("gt", token, first + mostAtFirst)));
  scores = n.select(forbidden, least, scores);

  Value best = n.reduce(n.select(isStamp, scores, least), "max", {1}, true);
  Value isPossible = both(isStamp, n.compare("gt", scores, least));
  Value share = n.select(isPossible, n.exp(n.sub(scores, best)), n.like(scores, 0));
  Value sum = n.reduce(share, "sum", {1}, true);
  Value all = n.select(n.compare("gt", sum, 0.0), n.add(n.op<LogOp>(sum), best), least);
  Value bestWord = n.reduce(n.select(isStamp, least, scores), "max", {1}, true);
  Value isOut = both(n.compare("gt", all, bestWord), n.logicalNot(isStamp));
  return n.select(isOut, least, scores);
}

Value ScoreRules::apply(Value scores, Value sequences, Value length, bool isFirst) {
  if (penalty)
    scores = penalized(scores, sequences, length);
  if (repeats > 0)
    scores = withoutRepeats(scores, sequences, length);
  if (vocabMask)
    scores = masked(scores, vocabMask);
  if (prefixMask && isFirst)
    scores = masked(scores, prefixMask);
  if (minLength) {
    Value token = n.op<IotaOp>(n.sizeOf(scores, 1), n.number(0), n.typeAttr(n.b.getI64Type()));
    Value ends = n.compare("eq", token, double(n.i("eos_token_id")));
    scores = n.select(n.op<AndOp>(ends, n.compare("lt", length, minLength)), least, scores);
  }
  if (temperature)
    scores = n.div(scores, temperature);
  if (!hasTimestamps || !scores)
    return scores;
  FailureOr<Values> timed = frontend::buildIf(
      n, hasTimestamps,
      [&]() -> FailureOr<Values> { return Values{withTimestamps(scores, sequences, length)}; },
      [&]() -> FailureOr<Values> { return Values{scores}; });
  return failed(timed) ? Value() : timed->front();
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

const Graph *weir::onnx::graphOrNull(const NodeImport &n, std::string_view name) {
  const NodeAttribute *attr = n.attr(name);
  return attr && attr->graphs.size() == 1 ? attr->graphs[0].get() : nullptr;
}

std::optional<GptDecoder> GptDecoder::read(NodeImport &n, std::string_view attribute) {
  GptDecoder decoder;
  decoder.graph = graphOrNull(n, attribute);
  if (!decoder.graph) {
    (void)n.invalid("found no graph " + Twine(attribute));
    return std::nullopt;
  }
  const std::vector<ValueInfo> &inputs = decoder.graph->inputs;
  size_t layers = decoder.graph->outputs.size() - 1;
  if (decoder.graph->outputs.size() < 2 || inputs.size() != layers + 3) {
    (void)n.unsupported("expected the graph " + Twine(attribute) +
                        " to have input_ids, position_ids, attention_mask and a cache for each "
                        "output but the first, got " +
                        Twine(inputs.size()) + " inputs and " + Twine(layers + 1) + " outputs");
    return std::nullopt;
  }
  for (const ValueInfo &cache : llvm::drop_begin(inputs, 3)) {
    const std::vector<Dim> &shape = cache.type.shape;
    Type element = elementType(n.b.getContext(), cache.type.elementType);
    if (!isa_and_nonnull<FloatType>(element) || shape.size() != 5 || shape[0].size != 2 ||
        shape[2].size < 1 || shape[4].size < 1) {
      (void)n.invalid("expected the cache " + Twine(StringRef(cache.name)) + " of the graph " +
                      Twine(attribute) +
                      " to be floats [2, batch, heads, length, size] with "
                      "numbers for heads and size");
      return std::nullopt;
    }
  }
  return decoder;
}

Values GptDecoder::empty(NodeImport &n, Value rows) const {
  Values caches;
  for (const ValueInfo &cache : llvm::drop_begin(graph->inputs, 3)) {
    Type element = elementType(n.b.getContext(), cache.type.elementType);
    Value shape = n.concat(
        {n.ints({2}), rows, n.ints({cache.type.shape[2].size, 0, cache.type.shape[4].size})}, 0);
    caches.push_back(n.expandTo(n.scalar(element, 0), shape));
  }
  return caches;
}

Value weir::onnx::lastScores(NodeImport &n, const Graph &graph, Value logits) {
  if (!n.hasRank(logits, 3, "logits"))
    return {};
  Value last = n.pick(n.widen(logits), 1, -1);
  // The graph may say more of its output than its nodes do.
  const TypeInfo &declared = graph.outputs[0].type;
  int64_t vocabulary = declared.shape.size() == 3 ? declared.shape[2].size : -1;
  if (ShapedType::isDynamic(n.dim(last, 1)) && vocabulary > 0)
    last = n.reshapeTo(last, n.concat({n.sizeOf(last, 0), n.ints({vocabulary})}, 0));
  // Behind the vocabulary come scores that only fill the product's columns.
  int64_t asked = n.i("vocab_size"), given = n.dim(last, 1);
  if (asked <= 0 || asked == given)
    return last;
  constexpr StringLiteral tooFew = "fewer scores than vocab_size";
  if (ShapedType::isDynamic(given)) {
    n.require(n.compare("ge", n.toScalar(n.sizeOf(last, 1)), double(asked)),
              ("the decoder gives " + tooFew).str());
  } else if (asked > given) {
    (void)n.invalid("found " + tooFew + ", " + Twine(given) + " for " + Twine(asked));
    return {};
  }
  return firstEntries(n, last, 1, n.intScalar(asked));
}

FailureOr<Values> GptDecoder::call(NodeImport &n, Value ids, Value positions, Value mask,
                                   ArrayRef<Value> caches) const {
  std::vector<Imported> inputs = {ids, positions, mask};
  llvm::append_range(inputs, caches);
  for (const Imported &input : inputs)
    if (!input.tensor)
      return failure();
  return scoresAndCaches(n, *graph, inputs);
}

FailureOr<Values> weir::onnx::scoresAndCaches(NodeImport &n, const Graph &graph,
                                              ArrayRef<Imported> inputs) {
  FailureOr<std::vector<Imported>> made = n.graph.subgraph(graph, inputs, n.b);
  if (failed(made))
    return failure();
  Values results = {lastScores(n, graph, made->front().tensor)};
  for (const Imported &output : llvm::drop_begin(*made))
    results.push_back(output.tensor);
  return llvm::is_contained(results, Value()) ? FailureOr<Values>(failure()) : results;
}

std::optional<Prompt> Prompt::read(NodeImport &n, size_t maskInput) {
  Prompt prompt;
  prompt.ids = n.in(0);
  if (!prompt.ids || !n.hasRank(prompt.ids, 2, "input_ids"))
    return std::nullopt;
  Type type = n.element(prompt.ids);
  prompt.length = n.sizeOf(prompt.ids, 1);
  // Padding is what has the padding's number, whatever the mask says.
  Value isWord = n.compare("ne", prompt.ids, double(n.i("pad_token_id")));
  Value words = n.cast(isWord, type);
  Value before = n.op<CumulativeOp>(words, n.text("sum"), n.number(1), n.flag(true), n.flag(false));
  prompt.positions = n.select(isWord, before, n.like(before, 0));
  prompt.lengths = n.reduce(words, "sum", {1}, false);
  prompt.mask = words;
  if (n.has(maskInput)) {
    if (!n.isSameShape(n.in(maskInput), prompt.ids, "attention_mask"))
      return std::nullopt;
    prompt.mask = n.in(maskInput);
  }
  return prompt.positions && prompt.lengths ? std::optional(prompt) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

Value weir::onnx::scalarInput(NodeImport &n, size_t i, Type type) {
  Value given = n.in(i);
  auto shape = given ? cast<RankedTensorType>(given.getType()) : RankedTensorType();
  if (shape && shape.hasStaticShape() && shape.getNumElements() != 1) {
    (void)n.invalid("expected input " + Twine(i) + " to be one number, got " +
                    Twine(shape.getNumElements()));
    return {};
  }
  return n.cast(n.toScalar(given), type ? type : n.b.getI64Type());
}

Value weir::onnx::withTokens(NodeImport &n, Value sequences, Value tokens, Value at) {
  Value place = n.op<IotaOp>(n.sizeOf(sequences, 1), n.number(0), n.typeAttr(n.b.getI64Type()));
  return n.select(n.compare("eq", place, at), n.unsqueeze(tokens, {1}), sequences);
}

Value weir::onnx::lengthened(NodeImport &n, Value x, Value most, double filler) {
  Value missing = n.maximum(n.sub(most, n.sizeOf(x, 1)), 0.0);
  return n.concat({x, n.expandTo(n.like(x, filler), n.concat({n.sizeOf(x, 0), missing}, 0))}, 1);
}

bool weir::onnx::isAtMost(NodeImport &n, Value value, int64_t limit, StringRef name) {
  if (!value)
    return false;
  if (auto known = constantIntegers(value); known && known->size() == 1) {
    if (known->front() > limit)
      (void)n.unsupported("expected " + name + " of at most " + Twine(limit) + ", got " +
                          Twine(known->front()));
    return known->front() <= limit;
  }
  n.require(n.compare("le", n.toScalar(value), double(limit)),
            (name + " is above " + Twine(limit)).str());
  return true;
}

Value weir::onnx::mostTokens(NodeImport &n, Value length, int64_t limit) {
  Value most = scalarInput(n, 1);
  if (!isAtMost(n, most, limit, "max_length"))
    return {};
  n.require(n.compare("gt", n.toScalar(length), 0.0), "the search begins with no token");
  n.require(n.compare("gt", most, n.toScalar(length)),
            "max_length is not above the length of what the search begins with");
  return n.reshape(most, {1});
}
