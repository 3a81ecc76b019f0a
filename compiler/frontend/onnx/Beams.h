//===- Beams.h - the sequences that a beam search follows -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_BEAMS_H
#define WEIR_COMPILER_FRONTEND_ONNX_BEAMS_H

#include "compiler/frontend/onnx/Generation.h"

namespace weir::onnx {

/// The sequences that a beam search follows, and those that have ended: for each prompt the best,
/// in order, as many as beams. A prompt is done when no beam can become better than they are. All
/// of it are tensors of fixed rank, which a loop carries; what was found of sequences is as ONNX
/// Runtime's CPU kernels have it, ties included.
class Beams {
public:
  /// Reads the inputs that say how to search, 1 to 8 and attributes; `prompts` are the tokens
  /// [batch, length] that sequences begin with. Reports what does not fit.
  static std::optional<Beams> read(NodeImport &n, Value prompts);

  /// What a loop carries, in this order.
  enum Part : size_t {
    Scores,    ///< sums of logarithms of each beam, [batch, beams]
    Sequences, ///< tokens of each beam, [batch·beams, most]
    EndScores, ///< of sequences that have ended, over their length, falling [batch, beams]
    EndTokens, ///< [batch, beams, most]
    Lengths,   ///< i64 [batch, beams]
    Count,     ///< how many have ended, i64 [batch]
    Done,      ///< [batch]
    Steps,     ///< where asked for: scores of all tokens at each step
  };
  Values begin();
  size_t size() const { return wantsSteps ? Steps + 1 : Steps; }

  /// Chooses by logits [rows, vocabulary] of what follows the first `length` (tensor<i64>) tokens;
  /// `step` (tensor<i64>) counts from 0. In the first step rows are prompts, then beams. Changes
  /// `state`; returns the next tokens [batch·beams], and which beam [batch·beams, i64] each goes on
  /// from; empty on failure.
  Values choose(Values &state, Value logits, Value length, Value step, bool isFirst);

  /// Whether a prompt is not done, tensor<i1>.
  Value goesOn(const Values &state);
  /// The node's results, after the last step.
  mlir::LogicalResult finish(Values state);

  /// Rows of prompts, [batch, …], as rows of beams, [batch·beams, …].
  Value spread(Value x);

  Value prompts;     ///< [batch, length]
  Value beams, rows; ///< how many; tensor<1xi64>
  Value most;        ///< max_length, tensor<1xi64>
  Value length;      ///< of the prompts, tensor<1xi64>
  ScoreRules rules;

private:
  Beams(NodeImport &n, ScoreRules rules) : rules(std::move(rules)), n(n) {}
  /// `state` with further ended sequences, scores [batch, beams] where `isNew`, which are the first
  /// `length` of rows `from` [batch, beams] of the beams' tokens.
  void end(Values &state, Value scores, Value isNew, Value from, Value length);
  /// Whether `x` of a prompt that is done is `other`.
  Value unlessDone(const Values &state, Value x, Value other);
  /// Of x [batch, candidates] one for each beam, where `taken` [batch, beams, candidates] says.
  Value pickTaken(Value taken, Value x);

  NodeImport &n;
  Value batch, returned, penalty;
  int64_t endToken = 0, padding = 0;
  bool isEarly = false, wantsSteps = false;
};

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_BEAMS_H
