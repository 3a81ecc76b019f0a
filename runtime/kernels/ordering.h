//===- ordering.h - elements as keys that sort ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Sorting one kind of key serves all element types: a 64-bit number whose order
// is the elements'. That costs one pass, and saves a copy of every algorithm
// for each of twenty types.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_ORDERING_H
#define WEIR_RUNTIME_KERNELS_ORDERING_H

#include "weir/weir.h"

namespace weir::rt {

/// Whether elements of the type have keys: all but strings and complex numbers.
bool hasKeys(int32_t dtype);

/// keys[i] = key of element i * stride, for i in [0, count); the larger elements have the lesser
/// keys where the order `falls`.
void makeKeys(int32_t dtype, const void *data, int64_t stride, int64_t count, bool falls,
              uint64_t *keys);

/// Keys that countNotBelow looks at together.
constexpr int64_t keyGroup = 16;
/// How many of the first keys are in whole groups without one below `bound`.
int64_t countNotBelow(const uint64_t *keys, int64_t count, uint64_t bound);

/// Elements [begin, begin + count) of columns of a tensor, one a lane: element i of column l is
/// number firsts[l] + i * step. Where they are `neighbours`, firsts[l] is firsts[0] + l.
struct Columns {
  const int64_t *firsts;
  int64_t step;
  int64_t begin;
  int64_t count;
  bool neighbours;
};
/// Whether elements of the type and indices below `count` fit into one `Word`, half of it each.
template <typename Word> bool hasWords(int32_t dtype, int64_t count);
/// words[(i - begin) * lanesOf<Word>() + l] orders element i of column l, falling where `largest`,
/// and behind that its index, which is the lower half.
template <typename Word>
void makeWords(int32_t dtype, const void *data, const Columns &columns, bool largest, Word *words);

/// keys[(i - begin) * wideLanes + l] orders element i of column l, of 64 bits, falling where
/// `largest`.
void makeWideKeys(int32_t dtype, const void *data, const Columns &columns, bool largest,
                  int64_t *keys);

/// A key and where it came from. No two of a list are equal, which keeps
/// quicksort from its worst case of equal keys, and makes every sort stable.
struct KeyIndex {
  uint64_t key;
  int64_t index;

  bool operator<(const KeyIndex &other) const {
    return key != other.key ? key < other.key : index < other.index;
  }
};

/// Sorts ascending. At most O(n log n).
void sortKeys(KeyIndex *items, int64_t count);
/// Moves the k least to the front, in no order. 0 <= k <= count.
void selectKeys(KeyIndex *items, int64_t count, int64_t k);

/// Items so that the largest of the list is the first (a heap).
void makeHeap(KeyIndex *items, int64_t count);
/// Puts `item` in the place of the first of a heap. count > 0.
void replaceFirst(KeyIndex *heap, int64_t count, KeyIndex item);

/// Sorts indices stably by a three-way comparison; `scratch` has room for
/// count.
using CompareFn = int (*)(const void *argument, int64_t a, int64_t b);
void sortIndices(int64_t *indices, int64_t *scratch, int64_t count, CompareFn compare,
                 const void *argument);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_ORDERING_H
