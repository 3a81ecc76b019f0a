//===- Microsoft.h - what com.microsoft's operators share -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators of the domain "com.microsoft" are what ONNX Runtime's
// ContribOperators.md describes, and where that is silent what its CPU kernels
// compute. The operator table has no signatures of the domain: defaults stand
// in the importers, or are those of an operator of ONNX's own with the same
// attributes.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_MICROSOFT_H
#define WEIR_COMPILER_FRONTEND_ONNX_MICROSOFT_H

#include "compiler/frontend/onnx/Heads.h"

namespace weir::onnx {

/// The operator of ONNX's own whose attributes, with their defaults, the
/// operator `name` of com.microsoft takes over; nothing where there is none.
std::optional<OperatorSpec> microsoftModel(std::string_view name);

/// The attribute, or `fallback` where the node has none.
double realOr(const NodeImport &n, std::string_view name, double fallback);
int64_t intOr(const NodeImport &n, std::string_view name, int64_t fallback);

/// 0, 1, … as i64, `count` (tensor<1xi64>) of them.
Value upTo(TensorBuilder &t, Value count);

/// The first `count` (one number of i64) entries of dimension `axis`.
Value firstEntries(TensorBuilder &t, Value x, int64_t axis, Value count);

/// How many entries of a cache come before the first of `length` queries, of sequences that then
/// have `ends` [batch] entries of `total` at most: none of a prompt, later all but the new ones.
Value entriesBefore(TensorBuilder &t, Value ends, Value total, Value length);

/// x · scale / sqrt(mean of squares + epsilon) over dimensions from `axis` on.
Value simplifiedNorm(TensorBuilder &t, Value x, Value scale, double epsilon, int64_t axis);

/// com.microsoft's Attention, once its input is projected: `joined` is
/// [batch, length, hidden of queries, keys, values]; the inputs of the numbers
/// given are the mask, the past and what is added to the scores.
mlir::LogicalResult projectedAttention(NodeImport &n, Value joined, size_t maskInput,
                                       size_t pastInput, std::optional<size_t> biasInput);

/// What a mask adds to scores [batch, heads, length, total]. The mask may be
/// of 1 (look) and 0, [batch, total], [batch, length, total]; or say where each
/// sequence ends, [batch], and behind that where it starts, [2·batch].
Value maskBias(NodeImport &n, Value mask, Value x, Value total, Type type);

/// How attentions with grouped heads make weights: `bias` is added, input 11 is the sink.
Scores scoresOf(NodeImport &n, Value bias);

/// com.microsoft's GroupQueryAttention.
mlir::LogicalResult groupQueryAttention(NodeImport &n);

/// com.microsoft's MoE and QMoE.
mlir::LogicalResult mixtureOfExperts(NodeImport &n);

/// com.microsoft's PagedAttention.
mlir::LogicalResult pagedAttention(NodeImport &n);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_MICROSOFT_H
