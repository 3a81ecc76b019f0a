//===- Attention.h - weights that are never stored ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// softmax(f(Q K^T)) V, where f scales, masks or bounds the scores one by one. As one
// kernel it needs the scores of a block of queries by a block of keys at a time: a
// running maximum and a running sum for each query carry the softmax from block to
// block (Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022,
// arXiv:2205.14135).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_ANALYSIS_ATTENTION_H
#define WEIR_PASSES_ANALYSIS_ATTENTION_H

#include "dialects/plan/Plan.h"
#include "passes/analysis/DeviceKind.h"
#include "llvm/ADT/SetVector.h"

namespace weir {

/// The operations of an attention, on the graph or in the body of a kernel.
struct Attention {
  DotGeneralOp scores; ///< [batch…, queries, size] by [batch…, size, keys]
  mlir::Value logits;  ///< what the softmax is of: elementwise over the scores, f32
  mlir::Value blind;   ///< of queries that may look nowhere: weights are 0; may be null
  /// Of each query's logits, and of its weights: further results where others read them.
  ReduceOp maximum, sum;
  DotGeneralOp product; ///< [batch…, queries, keys] by [batch…, keys, columns]
  /// The transposition of the result that the kernel writes, or null.
  TransposeOp order;
  /// The kernel's result: the product, in that order, perhaps rounded.
  mlir::Operation *root = nullptr;
  /// All operations of the kernel but constants and indices.
  llvm::SetVector<mlir::Operation *> operations;
  /// Those of them that only say of positions whether they are masked. They cost
  /// little: every kernel that asks computes them.
  llvm::SmallVector<mlir::Operation *> conditions;
  /// Whether it has the plain form (AttentionForm::Plain).
  bool isPlain = true;
  /// So many heads in a row have the same keys and values, which a repetition of heads makes of
  /// one (grouped queries); the heads' dimension is the one before the queries'.
  int64_t group = 1;
  /// Whether weights that are no numbers are 0, as exporters write: those of a query are all or
  /// none.
  bool dropsNaN = false;

  /// Whether lines of the keys' operand lie along `size`, as keys lie in memory,
  /// rather than along the keys.
  bool keysAreRows() const;
  /// Those of `maximum` and `sum` that others read: results of the kernel behind the root's.
  llvm::SmallVector<mlir::Value> statistics() const;
};

/// x / y, or x * (1 / y).
struct Quotient {
  mlir::Value numerator, denominator;
  mlir::Operation *inverse; ///< 1 / y, or null
};
std::optional<Quotient> quotientOf(mlir::Value value);

/// Whether scores can be taken line by line, along the keys, with `value` beside them: a number, a
/// buffer of floats, or a buffer or comparison of positions that says what is masked. Notes the
/// operations of the latter.
bool readsAlongKeys(mlir::Value value, llvm::SetVector<mlir::Operation *> &operations,
                    llvm::SmallVectorImpl<mlir::Operation *> &conditions);

/// Neighbours along one dimension, of known place.
struct KnownPart {
  int64_t axis = 0, start = 0;
};
/// Which part of its operand a slice with steps of one takes; nothing where its
/// bounds, or the size of that dimension, are open.
std::optional<KnownPart> knownPart(SliceOp slice);

/// The attention whose last product `product` is, where one kernel serves: f32,
/// sizes of heads known, sizes within the AttentionLimits of the kind of device, scores that
/// nothing else reads, a softmax along the keys. Transpositions that leave lines as they
/// are, and what scales the queries by one number, belong to it, and in the general form
/// slices of known bounds, and heads that are repeated. That takes
/// f16 and bf16, too, around a softmax of f32, keys whose products run along
/// either dimension, and any elementwise operation of floats. With `ofHost` the plain form has what
/// the host's kernels know: heads that are repeated, of keys and values alike, a slice that leaves
/// the first of them, f16 and bf16 that are widened, and weights that are no numbers made 0.
std::optional<Attention> matchAttention(DotGeneralOp product,
                                        AttentionForm form = AttentionForm::Plain,
                                        bool ofHost = false);

/// The same as what computes the function around `product` takes it.
std::optional<Attention> attentionAt(DotGeneralOp product);

/// The attention in a kernel's body, in the plain form where it has that; the host's as it takes
/// it.
std::optional<Attention> attentionOf(plan::KernelOp kernel);
std::optional<Attention> hostAttentionOf(plan::KernelOp kernel);

/// How an attention has an operand of one of its products: as it lies in
/// memory, or is computed, but for transpositions, conversions from f16 or
/// bf16, numbers that all of it is scaled by, and heads that stand for several.
struct AttentionOperand {
  mlir::Value source;
  /// By dimension of `source`, that of the operand.
  llvm::SmallVector<int64_t> order;
  double scale = 1; ///< operand = scale source, in f32
  /// Along dimension `repeated` of the operand each of the source's is there so
  /// often.
  int64_t times = 1, repeated = -1;
};
AttentionOperand attentionOperand(mlir::Value operand);

} // namespace weir

#endif // WEIR_PASSES_ANALYSIS_ATTENTION_H
