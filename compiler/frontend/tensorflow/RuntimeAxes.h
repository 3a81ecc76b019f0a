//===- RuntimeAxes.h - axes that the program computes -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_RUNTIMEAXES_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_RUNTIMEAXES_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// An axis of one integer, which may count from the end, as tensor<i64> in
/// [0, rank); another is an error at run time.
Value runtimeAxis(NodeImport &n, Value given, int64_t rank);

/// One branch for each set of axes that `axes` may be at run time; `build` makes
/// a branch's value; sets for which `isPossible` says no are errors at run time. Where their number
/// is not known, results must have one rank
/// (`anyNumber`). Reports where there are too many; null on failure.
Value chooseAxes(NodeImport &n, Value axes, int64_t rank, bool anyNumber,
                 llvm::function_ref<Value(TensorBuilder &t, Ints axes)> build,
                 llvm::function_ref<bool(Ints axes)> isPossible = nullptr);

/// What `build` makes of the one axis that input `i` names, known now or not.
Value atAxis(NodeImport &n, size_t i, int64_t rank,
             llvm::function_ref<Value(TensorBuilder &t, int64_t axis)> build,
             llvm::function_ref<bool(int64_t axis)> isPossible = nullptr);

/// Whether each dimension is among `axes` (any integers, which may count from the
/// end), tensor<rank x i1>; axes outside are an error at run time.
Value axisFlags(NodeImport &n, Value axes, int64_t rank);

/// The same; an axis that is there twice is an error at run time, too.
Value distinctAxisFlags(NodeImport &n, Value axes, int64_t rank);

/// The dimensions of `x` in the order of a permutation that the program computes;
/// one that is none is an error at run time.
Value transposeAt(NodeImport &n, Value x, Value permutation);

/// Sets the node's result to a tensor whose rank only the run knows: its elements, given with
/// dimensions of size 1 more than it has, and its shape. A reshape, which most often follows,
/// takes the elements as they are.
LogicalResult openRankResult(NodeImport &n, Value elements, Value shape);
/// Input `i` as such elements, or those of a boxed tensor; null where it is none.
Value openRankInput(NodeImport &n, size_t i);
/// Whether input `i` is a tensor whose rank only the run knows, in either form.
bool isOpenRank(const NodeImport &n, size_t i);

// A tensor whose rank and sizes only the run knows is a sequence of one tensor,
// tensor<1x!weir.box>. It may be fetched, handed on, and given a rank.

/// `elements` as such a tensor, in a shape (i64) that the program computes; one of
/// its sizes may be -1.
Value boxOf(NodeImport &n, Value elements, Value shape);
inline Value boxOf(NodeImport &n, Value tensor) {
  return tensor ? boxOf(n, tensor, n.shapeOf(tensor)) : Value();
}
/// What a GatherNd gives whose indices say only in the run how many dimensions
/// they index.
Value gatherNdOfOpenDepth(NodeImport &n, Value x, Value indices);

/// Input `i` where it is one; else null.
Value boxedInput(const NodeImport &n, size_t i);
/// The same, of any tensor whose rank only the run knows.
Value asBox(NodeImport &n, size_t i);
/// Its tensor, of this type; another shape is an error of the run.
Value openBox(NodeImport &n, Value box, mlir::RankedTensorType type);
/// Its elements, a vector.
Value openElements(NodeImport &n, Value box, Type element);
/// Its sizes, a vector of i64.
Value openShape(NodeImport &n, Value box);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_RUNTIMEAXES_H
