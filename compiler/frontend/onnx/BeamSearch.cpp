//===- BeamSearch.cpp - com.microsoft's BeamSearch ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several sequences a prompt, with a decoder alone, or with an encoder before it.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Beams.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;
using frontend::buildLoop;

namespace {

/// A call of the decoder for the next tokens [rows]: scores [rows, vocabulary], and the caches.
/// `filled` (tensor<i64>) tokens of `sequences` are there, and `index` calls came before.
using NextStep = llvm::function_ref<FailureOr<Values>(Value tokens, Value sequences, Value filled,
                                                      Value index, ArrayRef<Value> caches)>;

/// The loop behind the first call, which gave `first`: scores and caches, of a row a prompt each.
/// `rowsAt` is the dimension of the caches' rows.
LogicalResult search(NodeImport &n, Beams &beams, const Values &first, int64_t rowsAt,
                     NextStep call) {
  if (!beams.rules.fits(first[0], beams.prompts))
    return failure();
  Values state = beams.begin();
  Value length = n.toScalar(beams.length);
  Values chosen = beams.choose(state, first[0], length, n.intScalar(0), true);
  if (chosen.empty())
    return failure();
  // With one beam each row goes on from itself, also where its prompt is done and says padding.
  std::optional<SmallVector<int64_t>> knownBeams = constantIntegers(beams.beams);
  bool isSingle = knownBeams && knownBeams->front() == 1;
  Value self = n.op<IotaOp>(beams.rows, n.number(0), n.typeAttr(n.b.getI64Type()));
  Value stays = n.toScalar(n.compare("eq", beams.beams, 1.0));
  auto reordered = [&](ArrayRef<Value> caches, Value from) {
    Values result;
    for (Value cache : caches)
      result.push_back(isSingle ? cache : n.gather(cache, n.select(stays, self, from), rowsAt));
    return result;
  };
  Value fromPrompt = n.div(chosen[1], n.toScalar(beams.beams));
  Values inits = {chosen[0]};
  inits.append(state);
  inits.append(reordered(ArrayRef(first).drop_front(), fromPrompt));
  Value count = n.sub(n.sub(n.toScalar(beams.most), length), 1.0);
  auto body = [&](Value index, Values args) -> FailureOr<Values> {
    Values now(args.begin() + 1, args.begin() + 1 + beams.size());
    Value filled = n.add(n.add(length, index), 1.0);
    FailureOr<Values> made = call(args[0], now[Beams::Sequences], filled, index,
                                  ArrayRef(args).drop_front(1 + beams.size()));
    if (failed(made))
      return failure();
    Values next = beams.choose(now, made->front(), filled, n.add(index, 1.0), false);
    if (next.empty())
      return failure();
    Values after = {next[0]};
    after.append(now);
    after.append(reordered(ArrayRef(*made).drop_front(), next[1]));
    after.push_back(beams.goesOn(now));
    return after;
  };
  FailureOr<Values> all = buildLoop(n, count, beams.goesOn(state), inits, body);
  if (failed(all))
    return failure();
  return beams.finish(Values(all->begin() + 1, all->begin() + 1 + beams.size()));
}

//===----------------------------------------------------------------------===//
// A decoder alone
//===----------------------------------------------------------------------===//

LogicalResult gptSearch(NodeImport &n) {
  std::optional<GptDecoder> decoder = GptDecoder::read(n, "decoder");
  std::optional<GptDecoder> first = decoder;
  if (decoder && graphOrNull(n, "init_decoder"))
    first = GptDecoder::read(n, "init_decoder");
  std::optional<Prompt> prompt = first ? Prompt::read(n, 9) : std::nullopt;
  std::optional<Beams> beams = prompt ? Beams::read(n, prompt->ids) : std::nullopt;
  if (!beams)
    return failure();
  FailureOr<Values> made = first->call(n, prompt->ids, prompt->positions, prompt->mask,
                                       first->empty(n, n.sizeOf(prompt->ids, 0)));
  if (failed(made))
    return failure();
  Value mask = beams->spread(lengthened(n, prompt->mask, beams->most, 1));
  Value lengths = beams->spread(prompt->lengths);
  return search(n, *beams, *made, 1,
                [&](Value tokens, Value, Value filled, Value index, ArrayRef<Value> caches) {
                  Value position = n.add(lengths, n.cast(index, n.element(lengths)));
                  return decoder->call(n, n.unsqueeze(tokens, {1}), n.unsqueeze(position, {1}),
                                       firstEntries(n, mask, 1, filled), caches);
                });
}

//===----------------------------------------------------------------------===//
// With an encoder
//===----------------------------------------------------------------------===//

/// An encoder, and a decoder that goes on from what it made of its input. The encoder's graph
/// gives caches [batch, heads, length, size] of keys and values that the decoder looks up in each
/// of its layers; before those, where it calls the decoder for the first time, logits, its states
/// and the decoder's own caches. The decoder takes tokens, then, where it wants them, what masks
/// the encoder's input and the states, its own caches, and the encoder's; it gives logits and its
/// own caches.
class EncoderDecoder {
public:
  explicit EncoderDecoder(NodeImport &n) : n(n), isOfAudio(n.i("model_type") == 2) {}
  LogicalResult run();

private:
  bool read();
  bool readRules(ScoreRules &rules);
  /// What the decoder begins with, [batch, length] or [batch, 1].
  Value starts();
  /// 1, and 0 for padding before the first token that is none.
  Value maskOf(Value ids);
  /// What the decoder gives for tokens [rows, length]: scores and its own caches.
  FailureOr<Values> call(Value tokens, ArrayRef<Value> own, ArrayRef<Value> encoded);
  Values emptyCaches(Value rows);

  NodeImport &n;
  const bool isOfAudio; ///< its input is features, which nothing masks
  const Graph *encoder = nullptr, *decoder = nullptr;
  bool callsFirst = false; ///< the encoder's graph calls the decoder for the first time
  bool takesAll = false;   ///< the decoder gets all tokens, not the last one alone
  size_t ownCaches = 0;    ///< inputs before the decoder's own caches
  size_t cacheCount = 0;   ///< how many these are, and how many the encoder's
};

bool EncoderDecoder::read() {
  encoder = graphOrNull(n, "encoder"), decoder = graphOrNull(n, "decoder");
  if (!encoder || !decoder) {
    (void)n.invalid("expected the graphs encoder and decoder, got no " +
                    Twine(encoder ? "decoder" : "encoder"));
    return false;
  }
  auto isCalled = [](const std::vector<ValueInfo> &values, size_t i, std::string_view name) {
    return i < values.size() && values[i].name == name;
  };
  callsFirst = isCalled(encoder->outputs, 0, "logits");
  size_t inputs = (isOfAudio ? 1 : 2) + (callsFirst ? 1 : 0);
  if (decoder->outputs.empty()) {
    (void)n.unsupported("expected the graph decoder to have logits and caches, got no outputs");
    return false;
  }
  cacheCount = decoder->outputs.size() - 1;
  size_t given = cacheCount * (callsFirst ? 2 : 1) + (callsFirst ? 2 : 0);
  if (encoder->inputs.size() != inputs || encoder->outputs.size() != given) {
    (void)n.unsupported("expected the graph encoder to have " + Twine(inputs) + " inputs and " +
                        Twine(given) + " outputs for a decoder of " + Twine(cacheCount / 2) +
                        " layers, got " + Twine(encoder->inputs.size()) + " and " +
                        Twine(encoder->outputs.size()));
    return false;
  }
  ownCaches = 1;
  if (isCalled(decoder->inputs, ownCaches, "encoder_attention_mask"))
    ++ownCaches;
  if (isCalled(decoder->inputs, ownCaches, "encoder_hidden_states"))
    ++ownCaches;
  if (decoder->inputs.size() != ownCaches + 2 * cacheCount || cacheCount == 0 || cacheCount % 2) {
    (void)n.unsupported("expected the graph decoder to have input_ids, encoder_attention_mask or "
                        "encoder_hidden_states where it wants them, and two caches for each "
                        "output but the first, got " +
                        Twine(decoder->inputs.size()) + " inputs and " +
                        Twine(decoder->outputs.size()) + " outputs");
    return false;
  }
  bool takesStates = isCalled(decoder->inputs, ownCaches - 1, "encoder_hidden_states");
  bool takesMask = isCalled(decoder->inputs, 1, "encoder_attention_mask");
  if ((takesStates && !callsFirst) || (takesMask && isOfAudio)) {
    (void)n.invalid("found a decoder that wants what the encoder does not give");
    return false;
  }
  const std::vector<Dim> &shape = decoder->inputs[0].type.shape;
  takesAll = shape.size() != 2 || shape[1].size != 1;
  return true;
}

/// What searches in audio have beside others.
bool EncoderDecoder::readRules(ScoreRules &rules) {
  if (n.wants(3) || n.wants(4)) {
    (void)n.unsupported("expected sequences and scores to be wanted, got the output " +
                        Twine(n.wants(3) ? "cross_qk" : "non_speech_probs"));
    return false;
  }
  if (n.has(14)) { // zero and less: none
    Value given = scalarInput(n, 14, n.b.getF32Type());
    if (!given)
      return false;
    rules.temperature = n.select(n.compare("gt", given, 0.0), given, n.like(given, 1));
  }
  std::optional<SmallVector<int64_t>> known = n.knownInts(11);
  if (!n.has(11) || (known && known->size() == 1 && known->front() != 1))
    return true;
  for (std::string_view id : {"beginning_timestamp_token_id", "no_timestamps_token_id",
                              "start_of_lm_token_id", "translate_token_id", "transcribe_token_id"})
    if (!n.hasAttr(id)) {
      (void)n.unsupported("expected logits_processor to be 0 without the attribute " +
                          Twine(StringRef(id)) + ", got another value or one that is fed");
      return false;
    }
  Value which = scalarInput(n, 11);
  rules.hasTimestamps = n.compare("eq", which, 1.0);
  return rules.hasTimestamps != nullptr;
}

Value EncoderDecoder::starts() {
  if (isOfAudio && n.has(10))
    return n.hasRank(n.in(10), 2, "decoder_input_ids") &&
                   n.isAsLarge(n.in(10), 0, n.in(0), 0, "decoder_input_ids")
               ? n.in(10)
               : Value();
  int64_t token = n.i("decoder_start_token_id");
  if (token < 0) {
    (void)n.invalid("expected a decoder_start_token_id, got " + Twine(token));
    return {};
  }
  Value shape = n.concat({n.sizeOf(n.in(0), 0), n.ints({1})}, 0);
  return n.expandTo(n.scalar(n.b.getI32Type(), double(token)), shape);
}

Value EncoderDecoder::maskOf(Value ids) {
  if (n.has(9))
    return n.isSameShape(n.in(9), ids, "attention_mask") ? n.in(9) : Value();
  Value words = n.cast(n.compare("ne", ids, double(n.i("pad_token_id"))), n.element(ids));
  return n.op<CumulativeOp>(words, n.text("max"), n.number(1), n.flag(false), n.flag(false));
}

Values EncoderDecoder::emptyCaches(Value rows) {
  Values caches;
  for (size_t i = ownCaches; i < ownCaches + cacheCount; ++i) {
    const TypeInfo &type = decoder->inputs[i].type;
    Type element = elementType(n.b.getContext(), type.elementType);
    if (!element || type.shape.size() != 4 || type.shape[1].size < 1 || type.shape[3].size < 1) {
      (void)n.invalid("expected the decoder's caches to be [batch, heads, length, size] with "
                      "numbers for heads and size");
      return {};
    }
    Value shape = n.concat({rows, n.ints({type.shape[1].size, 0, type.shape[3].size})}, 0);
    caches.push_back(n.expandTo(n.scalar(element, 0), shape));
  }
  return caches;
}

FailureOr<Values> EncoderDecoder::call(Value tokens, ArrayRef<Value> own, ArrayRef<Value> encoded) {
  std::vector<Imported> inputs = {tokens};
  size_t before = ownCaches - 1; // mask and states
  llvm::append_range(inputs, encoded.take_front(before));
  llvm::append_range(inputs, own);
  llvm::append_range(inputs, encoded.drop_front(before));
  for (const Imported &input : inputs)
    if (!input.tensor)
      return failure();
  return scoresAndCaches(n, *decoder, inputs);
}

LogicalResult EncoderDecoder::run() {
  Value input = n.in(0);
  if (!input || !n.hasRank(input, isOfAudio ? 3 : 2, "first input") || !read())
    return failure();
  Value tokens = starts();
  std::optional<Beams> beams = Beams::read(n, tokens);
  Value mask = isOfAudio || !beams ? Value() : maskOf(input);
  if (!beams || (!isOfAudio && !mask) || (isOfAudio && !readRules(beams->rules)))
    return failure();
  std::vector<Imported> inputs = {input};
  if (mask)
    inputs.emplace_back(mask);
  if (callsFirst)
    inputs.emplace_back(tokens);
  FailureOr<std::vector<Imported>> made = n.graph.subgraph(*encoder, inputs, n.b);
  if (failed(made))
    return failure();
  ArrayRef<Imported> outputs = *made;
  Values encoded, first;
  if (ownCaches > 1 && decoder->inputs[1].name == "encoder_attention_mask")
    encoded.push_back(mask);
  if (decoder->inputs[ownCaches - 1].name == "encoder_hidden_states")
    encoded.push_back(outputs[1].tensor);
  for (const Imported &cache : outputs.take_back(cacheCount))
    encoded.push_back(cache.tensor);
  if (callsFirst) {
    first = {lastScores(n, *encoder, outputs[0].tensor)};
    for (const Imported &cache : outputs.slice(2, cacheCount))
      first.push_back(cache.tensor);
  } else {
    Values none = emptyCaches(n.sizeOf(tokens, 0));
    if (none.empty())
      return failure();
    FailureOr<Values> called = call(tokens, none, encoded);
    if (failed(called))
      return failure();
    first = *called;
  }
  if (llvm::is_contained(first, Value()) || llvm::is_contained(encoded, Value()))
    return failure();
  for (Value &value : encoded)
    value = beams->spread(value);
  return search(n, *beams, first, 0,
                [&](Value next, Value sequences, Value filled, Value, ArrayRef<Value> caches) {
                  Value ids =
                      takesAll ? firstEntries(n, sequences, 1, filled) : n.unsqueeze(next, {1});
                  return call(ids, caches, encoded);
                });
}

LogicalResult beamSearch(NodeImport &n) {
  int64_t type = n.i("model_type");
  if (type < 0 || type > 2)
    return n.unsupported("expected model_type 0, 1 or 2, got " + Twine(type));
  return type == 0 ? gptSearch(n) : EncoderDecoder(n).run();
}

constexpr std::string_view microsoft = "com.microsoft";

constexpr OperatorImport table[] = {
    {microsoft, "BeamSearch", 1, 0, beamSearch},
    {microsoft, "WhisperBeamSearch", 1, 0, beamSearch},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::beamSearchImports() { return table; }
