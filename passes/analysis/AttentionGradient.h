//===- AttentionGradient.h - attention's gradient as one kernel --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What flows back through softmax(f(Q K^T)) V to Q, K and V. As one kernel it computes the
// scores of a block of queries by a block of keys again, and their weights by each query's
// largest logit and sum, which the forward kernel has written; no matrix of queries by keys is
// stored (Dao et al. 2022, arXiv:2205.14135, algorithm 4).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_ATTENTIONGRADIENT_H
#define WEIR_PASSES_ANALYSIS_ATTENTIONGRADIENT_H

#include "passes/analysis/Attention.h"
#include <array>

namespace weir {

/// A value behind transpositions of another.
struct Turned {
  mlir::Value base;
  llvm::SmallVector<int64_t> order; ///< dimension i is base's order[i]

  bool operator==(const Turned &other) const { return base == other.base && order == other.order; }
};
/// `value`, its dimensions in that order.
Turned turned(mlir::Value value, llvm::ArrayRef<int64_t> order);

/// The form that weir-attention-gradients gives it, on the graph or in the body of a kernel. With
/// P = exp(logits - maximum) inverse, and dO the gradient of P V:
///   dP = dO V^T, dS = P (dP - mean), dL = elementwise of dS, dQ = dL K, dK = dL^T Q, dV = P^T dO.
struct AttentionGradient {
  DotGeneralOp scores;          ///< Q K^T, [batch…, queries, size] by [batch…, size, keys]
  mlir::Value logits;           ///< elementwise over the scores
  mlir::Value maximum, inverse; ///< [batch…, queries, 1]: of logits; one over the sum of weights
  mlir::Value weights;          ///< P
  DotGeneralOp weightGradient;  ///< dP, [batch…, queries, columns] by [batch…, columns, keys]
  mlir::Value mean;             ///< [batch…, queries, 1]: of dP by weights
  MulOp softmaxGradient;        ///< dS
  mlir::Value scoreGradient;    ///< dL
  mlir::Value query, key, gradient; ///< Q, K, dO: lines along the last dimension
  mlir::Value turnedValue;          ///< V^T, which lies as lines of V
  DotGeneralOp queryGradient, keyGradient, valueGradient;
  /// The kernel's results: those three, or the transposition behind each.
  std::array<mlir::Operation *, 3> roots = {};
  /// As an Attention has them.
  llvm::SetVector<mlir::Operation *> operations;
  llvm::SmallVector<mlir::Operation *> conditions;

  /// The last of the roots, and the results of the others.
  mlir::Operation *lastRoot() const;
  llvm::SmallVector<mlir::Value> otherResults() const;
};

/// On a product of weights and their gradients less their mean: it is the dS of such a form.
inline constexpr char attentionGradientAttr[] = "weir.attention_gradient";

/// The gradient around a marked product, where nothing else reads what lies between, and the
/// function is the host's.
std::optional<AttentionGradient> matchAttentionGradient(MulOp softmaxGradient);

/// The one in a kernel's body.
std::optional<AttentionGradient> attentionGradientOf(plan::KernelOp kernel);

/// The product that elementwise operations of its shape lead from to `value`; null: none.
DotGeneralOp scoresBehind(mlir::Value value);

/// Whether elementwise operations lead from `source` to `value`, which nothing else reads (but of
/// `value` itself), and lines along the last dimension serve to compute them. Notes them.
bool leadsAlongLines(mlir::Value value, mlir::Value source, bool isLast,
                     llvm::SetVector<mlir::Operation *> &operations,
                     llvm::SmallVectorImpl<mlir::Operation *> &conditions);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_ATTENTIONGRADIENT_H
