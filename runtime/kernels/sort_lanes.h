//===- sort_lanes.h - several lines sorted side by side ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A network of comparisons takes the same steps whatever it sorts: each lane of a vector sorts a
// line of its own. An element and its index are one number, of which no two of a line are equal.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_SORT_LANES_H
#define WEIR_RUNTIME_KERNELS_SORT_LANES_H

#include <stdint.h>

namespace weir::rt {

/// Lanes of one step: of numbers of 32 bits (16 of the element's key, 16 of its index), or of 64.
constexpr int64_t narrowLanes = 16, wideLanes = 8;
template <typename Word> constexpr int64_t lanesOf() {
  return sizeof(Word) == 4 ? narrowLanes : wideLanes;
}

/// Sorts each of the columns of `count` lines of narrowLanes numbers, ascending.
void sortColumns(int32_t *words, int64_t count);
/// The same of wideLanes numbers.
void sortColumns(int64_t *words, int64_t count);

/// What insertColumns keeps of a column, in order.
constexpr int64_t mostKept = 8;

/// Puts `count` lines of narrowLanes numbers among the least `kept` of each column, which are in
/// order and stay so. 0 < kept <= mostKept.
void insertColumns(int32_t *least, int64_t kept, const int32_t *words, int64_t count);
/// The same of wideLanes numbers.
void insertColumns(int64_t *least, int64_t kept, const int64_t *words, int64_t count);
/// The same of wideLanes keys, of which equal ones stay in the order in which they come: `indices`
/// holds the numbers of those that are kept; the first line has number `begin`. Where that is 0,
/// nothing is kept so far, and `count` is at least `kept`.
void insertKeys(int64_t *least, int64_t *indices, int64_t kept, const int64_t *keys, int64_t begin,
                int64_t count);

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_SORT_LANES_H
