//===- slice.h - parts of tensors -------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_SLICE_H
#define WEIR_RUNTIME_CHECKPOINT_SLICE_H

#include "support/list.h"
#include "support/text.h"
#include "weir/weir.h"

namespace weir::rt {

/// Sizes of a tensor, at most WEIR_MAX_RANK of them, none negative.
struct StoredShape {
  int32_t rank = 0;
  int64_t dims[WEIR_MAX_RANK] = {};

  bool operator==(const StoredShape &other) const;
  /// -1: more than 2^62.
  int64_t count() const;
};
/// "[2,3]", "[]".
Text &operator<<(Text &out, const StoredShape &shape);

/// A box of a tensor: in each dimension where it begins and how long it is; a length
/// of -1 is all of the dimension (and begins at 0).
struct TensorSlice {
  int32_t rank = 0;
  int64_t start[WEIR_MAX_RANK] = {}, length[WEIR_MAX_RANK] = {};

  static TensorSlice whole(int32_t rank);
  bool operator==(const TensorSlice &other) const;
  /// Whether it is all of a tensor of that shape.
  bool isWhole(const StoredShape &shape) const;
  /// The shape of the slice, and with lengths as numbers in `box`. INTERNAL, as in
  /// TensorFlow, where it is of another rank, or not within `shape`.
  int32_t applyTo(const StoredShape &shape, StoredShape *out, weir_status *status) const;
  /// The same slice with numbers for all lengths.
  TensorSlice within(const StoredShape &shape) const;
};
/// "0,3:-", as TensorFlow writes it.
Text &operator<<(Text &out, const TensorSlice &slice);

/// Reads "7 4 0,3:-": the shape of the whole tensor, and the part of it that is
/// meant. Codes and reasons for refusal are TensorFlow's.
int32_t parseShapeAndSlice(const weir_string &text, StoredShape *shape, TensorSlice *slice,
                           StoredShape *sliced, weir_status *status);

/// The key under which a slice of `name` lies in a table, in a form whose byte order
/// is the numbers'.
void writeSliceKey(HeapText &key, const weir_string &name, const TensorSlice &slice);

/// TensorShapeProto and TensorSliceProto.
void writeShape(HeapText &out, const StoredShape &shape);
void writeSlice(HeapText &out, const TensorSlice &slice);
/// False: damaged, or of more than WEIR_MAX_RANK dimensions.
bool readShape(const weir_string &message, StoredShape *shape);
bool readSlice(const weir_string &message, TensorSlice *slice);

/// What slices have in common; false: nothing. Lengths are numbers.
bool intersect(const TensorSlice &a, const TensorSlice &b, TensorSlice *common);
int64_t elementsOf(const TensorSlice &slice);
/// Copies the elements of `common`, which is within both, from a slice's elements to
/// another's, each dense. Lengths are numbers.
void copySlice(const TensorSlice &common, const TensorSlice &from, const void *source,
               const TensorSlice &to, void *target, int64_t elementBytes);

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_SLICE_H
