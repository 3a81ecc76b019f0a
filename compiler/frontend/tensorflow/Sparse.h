//===- Sparse.h - tensors by their coordinates, rows, segments --*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sparse tensor is its coordinates [n, rank], its values [n] and its shape
// [rank]. What operations on them have in common: rows as keys, distinct rows,
// sums of segments, and the pieces of ragged tensors. All of it is made of weir
// operations, so values of every type are computed by generated code.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_SPARSE_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_SPARSE_H

#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// Null values stand for what could not be imported (reported).
struct SparseTensor {
  Value indices; ///< [n, rank], i64
  Value values;  ///< [n]
  Value shape;   ///< [rank], i64
  int64_t rank = 0;

  explicit operator bool() const { return indices && values && shape; }
};

/// The sparse tensor of three inputs. Reports where its rank is not known.
SparseTensor sparseInput(NodeImport &n, size_t indices, size_t values, size_t shape);
/// Ends the run with INVALID_ARGUMENT where `x` has not a value for each index.
void requireValueEach(NodeImport &n, const SparseTensor &x);
/// The same where an index of `x` is outside of its shape.
void requireInside(NodeImport &n, const SparseTensor &x);
/// The same where indices of `x`, inside of its shape, do not ascend, or stand twice.
void requireOrdered(NodeImport &n, const SparseTensor &x);
SparseTensor makeSparse(NodeImport &n, Value indices, Value values, Value shape);

/// Slices of `v` along `axis`; indices outside are an error of the run.
Value take(NodeImport &n, Value v, Value indices, int64_t axis = 0);
/// Column `c` of rows, [n].
Value column(NodeImport &n, Value rows, int64_t c);
/// Columns [begin, end), [n, end - begin].
Value columns(NodeImport &n, Value rows, int64_t begin, int64_t end);
/// 0, 1, …, count - 1 as i64; `count` is tensor<1xi64>.
Value countUp(NodeImport &n, Value count);
/// Where a mask [n] holds, i64.
Value whereTrue(NodeImport &n, Value mask);
/// `scalar` in the shape [count], count a tensor<1xi64>.
Value repeated(NodeImport &n, Value scalar, Value count);
/// Scalar i1: whether all of `mask` hold.
Value allTrue(NodeImport &n, Value mask);
/// Codes of TensorFlow's (and weir/weir.h's) statuses.
constexpr int64_t invalidArgument = 3, failedPrecondition = 9, outOfRange = 11, unimplemented = 12;
/// Ends the run with `code` and `message` unless all of `mask` hold.
void require(NodeImport &n, Value mask, llvm::StringRef message, int64_t code = invalidArgument);
/// The same unless `v` has the sizes `shape` (tensor<rank x i64>), where weir's operations would
/// broadcast or take a part: what is known to differ is an error of the compiler. `what` names `v`.
LogicalResult requireShape(NodeImport &n, Value v, Value shape, llvm::StringRef what);
/// The same unless dimension `dim` of `v`, from the last one back where it is negative, has `size`
/// elements.
LogicalResult requireSize(NodeImport &n, Value v, int64_t dim, int64_t size, llvm::StringRef what,
                          int64_t code = invalidArgument);
/// The same unless both have one shape, of which dimensions [begin, end) count (`end` < 0: up to
/// the rank). Sizes that are equal whatever is fed cost nothing.
LogicalResult requireSame(NodeImport &n, Value a, Value b, llvm::StringRef what, int64_t begin = 0,
                          int64_t end = -1);
/// One weight a value: those of input `i`, or ones where it has none. The run ends where there are
/// others.
Value weightsOr1(NodeImport &n, size_t i, Value values, Type type);
/// The same unless `v` has an element: TensorFlow has operations that refuse tensors of nothing.
LogicalResult requireElements(NodeImport &n, Value v, llvm::StringRef what);

/// The same where a scatter's indices or updates are for a tensor of nothing, as TensorFlow refuses
/// them whatever the indices are.
void requireRoomFor(NodeImport &n, Value target, Value indices, Value updates);

/// Requires of tuples of indices [..., depth] that there are none where `x` has no elements: not
/// even slices of none are read from it.
void requireReadable(NodeImport &n, Value x, Value indices);

/// The row-major number of each coordinate tuple in `shape`.
Value linearKeys(NodeImport &n, Value rows, Value shape, int64_t rank);
/// The tuples back from such numbers, [n, rank].
Value unravel(NodeImport &n, Value keys, Value shape, int64_t rank);
/// The places of [n] in ascending order, stable.
Value sortOrder(NodeImport &n, Value keys);
SparseTensor sortSparse(NodeImport &n, const SparseTensor &x);

struct Distinct {
  Value values;  ///< ascending (rows: lexicographically)
  Value first;   ///< where each occurs first
  Value inverse; ///< of each element, the number of its value
  Value counts;
  explicit operator bool() const { return values != nullptr; }
};
/// Distinct elements of [n], or rows of [n, k]; indices are i64.
Distinct distinct(NodeImport &n, Value v);

/// For each row of `queries`, where it is in `table` (first occurrence), or -1.
Value findRows(NodeImport &n, Value table, Value queries);

/// The lowest (or highest) value of an element type: infinities for floats
/// where `infinite`.
Value extremeValue(NodeImport &n, Type element, bool lowest, bool infinite);

/// Scatters slices of `data` into `count` (scalar or [1]) slices of `fill` by
/// `ids`, which data has in front. Ids outside are dropped. reduction as in
/// weir.scatter_nd.
Value segments(NodeImport &n, Value data, Value ids, Value count, llvm::StringRef reduction,
               Value fill);
/// The sum of each segment, narrow floats summed in f32.
Value segmentSums(NodeImport &n, Value data, Value ids, Value count);
/// How many ids are equal to 0, 1, …, count - 1.
Value segmentCounts(NodeImport &n, Value ids, Value count);
/// The sum (or max, min) of the values [n] of each segment; 0 of those without.
Value segmentValues(NodeImport &n, llvm::StringRef kind, Value values, Value ids, Value count);
/// Softmax along the last dimension, over the values that are there.
Value softmaxOfRows(NodeImport &n, const SparseTensor &x);

/// Of row splits [rows + 1], i64: how many rows, [1]; how long each is; and for
/// `count` ([1]) elements the row of each.
Value rowCount(NodeImport &n, Value splits);
Value rowLengths(NodeImport &n, Value splits);
Value rowIds(NodeImport &n, Value splits, Value count);
/// How many elements all rows have, [1].
Value lastSplit(NodeImport &n, Value splits);
/// 0 and the running sums of lengths [n]: splits [n + 1].
Value splitsOf(NodeImport &n, Value lengths);
/// Rows `start[i]`, `start[i]` + 1, … of `length[i]` elements, one behind the
/// other. `splits` are those of the lengths.
Value rangesOf(NodeImport &n, Value starts, Value splits);
/// Splits must begin with 0, not fall, and end at `count` ([1]).
void requireSplits(NodeImport &n, Value splits, Value count);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_SPARSE_H
