//===- Heads.h - the heads of attention -------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operators of attention share, whichever domain they are of. Functions
// that take a NodeImport report what does not fit; all take null through.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_HEADS_H
#define WEIR_COMPILER_FRONTEND_ONNX_HEADS_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// [batch, length, heads·size] as [batch, length, heads, size]; what has another
/// rank stays.
Value separateHeads(NodeImport &n, Value x, int64_t heads);

/// [batch, length, heads·size] as [batch, heads, length, size]; what has another
/// rank stays.
Value splitHeads(NodeImport &n, Value x, int64_t heads);

/// [batch, heads, length, size] as [batch, length, heads·size].
Value joinHeads(TensorBuilder &t, Value x);

/// Each head of [batch, heads, length, size] as often in a row as `x` then has
/// as many as `q`. Where their numbers are open, the run sees that they divide.
Value repeatHeads(NodeImport &n, Value x, Value q);

/// `x` over the square root of the size of q's last dimension.
Value overRootOfSize(NodeImport &n, Value x, Value q);

/// Rotates pairs of the first `rotated` entries (0: as many as the caches are
/// for) of each head of [batch, length, heads, size]: entries i and i + rotated / 2, or 2i and 2i +
/// 1 where they are interleaved, by the angle whose cosine and sine are entry i of `cosines` and
/// `sines`, [batch or 1, length, rotated / 2 or more]. `headsAt` is the dimension of the heads: 1
/// where they come before the length.
Value rotateHeads(NodeImport &n, Value x, Value cosines, Value sines, int64_t rotated,
                  bool interleaved, int64_t headsAt = 2);

/// Lines of a cache at positions, none of which counts from its end.
Value linesAt(NodeImport &n, Value cache, Value positions);

/// Rotates queries and keys as do_rotary of com.microsoft's attentions says: by the angles at
/// places `at`, [batch or 1, length], of the node's inputs `cache` (cosines) and `cache + 1`
/// (sines), [places, half], which may be for less than a head.
void rotateByPlaces(NodeImport &n, Value &q, Value &k, Value at, size_t cache);

/// The least number of a float type.
Value lowest(NodeImport &n, Type type);

/// How scores become weights.
struct Scores {
  double scale = 0;   ///< of the products; 0: 1 / sqrt(size of a head)
  double softcap = 0; ///< 0: none
  Value bias;         ///< added before the softmax; may be null
  /// One more score a head that takes its share of the weights and no value,
  /// [heads] or a scalar; may be null.
  Value sink;
  Value raw, weights; ///< before and after the softmax, for who asks
};

/// The heads' values: softmax(q·kᵀ·scale + bias)·v, operands [batch, heads,
/// length, size], computed in f32 or wider.
Value attend(NodeImport &n, Value q, Value k, Value v, Scores &s);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_HEADS_H
