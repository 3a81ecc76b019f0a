//===- Generation.h - searches for the next tokens --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What com.microsoft's searches share. Each is a loop of weir whose body holds
// the decoder, once: the first call, on the whole prompt, stands before it. What
// chooses tokens is operations on the scores, so that all sizes stay open.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_GENERATION_H
#define WEIR_COMPILER_FRONTEND_ONNX_GENERATION_H

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Microsoft.h"

namespace weir::onnx {

using frontend::Values;

/// Changes scores before a token is chosen, in the order of ONNX Runtime's processors.
class ScoreRules {
public:
  /// The inputs that say how; none: the operator has no such input, or a rule does not apply.
  struct Inputs {
    std::optional<size_t> minLength, repetitionPenalty, vocabMask, prefixVocabMask;
  };
  ScoreRules(NodeImport &n, Inputs inputs);

  /// Whether the masks go with `scores` [rows, vocabulary] and `prompts` [batch, length], and the
  /// rules are of those that are imported; reports.
  bool fits(Value scores, Value prompts);
  /// Scores [rows, vocabulary] of what follows the first `length` (tensor<i64>) tokens of
  /// `sequences` [rows, most]. A prompt has as many rows as beams; `isFirst`: nothing has been
  /// chosen yet.
  Value apply(Value scores, Value sequences, Value length, bool isFirst);

  Value temperature; ///< scores are divided by it; null: they are not
  /// Tensor<i1>: whether timestamps come in order and in pairs, as Whisper's do; null: no matter.
  Value hasTimestamps;

private:
  Value penalized(Value scores, Value sequences, Value length);
  Value withoutRepeats(Value scores, Value sequences, Value length);
  Value masked(Value scores, Value mask);
  /// Which of `tokens` are of the vocabulary.
  Value hasScore(Value scores, Value tokens);
  /// Whether Whisper's first timestamp is a token; reports.
  bool knowsTimes(Value scores);
  Value withTimestamps(Value scores, Value sequences, Value length);

  NodeImport &n;
  Value least; ///< the score of what is forbidden
  Value minLength, penalty, vocabMask, prefixMask;
  int64_t repeats = 0; ///< so many tokens in a row do not come a second time; 0: they may
  bool isRight = true; ///< whether nothing was reported
};

/// The decoder of a model of GPT-2's kind: a graph of input_ids, position_ids, attention_mask
/// and the caches of its layers, which gives logits and the caches with the new entries.
class GptDecoder {
public:
  /// The graph of that attribute; reports what it is not.
  static std::optional<GptDecoder> read(NodeImport &n, std::string_view attribute);

  /// Caches without an entry for `rows` (tensor<1xi64>) sequences.
  Values empty(NodeImport &n, Value rows) const;
  /// Scores [rows, vocabulary] of what follows the last of `ids`, and the caches then.
  mlir::FailureOr<Values> call(NodeImport &n, Value ids, Value positions, Value mask,
                               llvm::ArrayRef<Value> caches) const;

private:
  const Graph *graph = nullptr;
};

/// A prompt of tokens, and what decoders of GPT-2's kind are told of it.
struct Prompt {
  Value ids, positions, mask; ///< [rows, length]
  Value lengths;              ///< how many of the tokens of each row are no padding, [rows]
  Value length;               ///< tensor<1xi64>

  /// Reads input 0, and the mask from input `maskInput`; reports.
  static std::optional<Prompt> read(NodeImport &n, size_t maskInput);
};

/// The graph that is the value of an attribute of the node; null: it has none.
const Graph *graphOrNull(const NodeImport &n, std::string_view name);

/// The scalar that input `i` holds, as i64 or `type`; null, with a report, where it is none.
Value scalarInput(NodeImport &n, size_t i, mlir::Type type = {});

/// `sequences` [rows, most] with `tokens` [rows] at place `at` (tensor<i64>).
Value withTokens(NodeImport &n, Value sequences, Value tokens, Value at);

/// `x` [rows, length] made `most` (tensor<1xi64>) long by `filler`.
Value lengthened(NodeImport &n, Value x, Value most, double filler);

/// Input 1, max_length, tensor<1xi64>; a run whose prompt is as long as that, or for which it is
/// above `limit`, ends: memory for so many tokens a sequence is taken before any is chosen.
Value mostTokens(NodeImport &n, Value length, int64_t limit);

/// Has the run end where `value` (one number of i64), which is fed or known, is above `limit`;
/// whether it is not known to be; reports.
bool isAtMost(NodeImport &n, Value value, int64_t limit, llvm::StringRef name);

/// Of logits [rows, length, vocabulary], output 0 of `graph`, those of the last place, in f32 or
/// wider, and of those the first `vocab_size` where that is fewer.
Value lastScores(NodeImport &n, const Graph &graph, Value logits);

/// Calls a decoder: its last scores, and its other outputs.
mlir::FailureOr<Values> scoresAndCaches(NodeImport &n, const Graph &graph,
                                        llvm::ArrayRef<Imported> inputs);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_GENERATION_H
