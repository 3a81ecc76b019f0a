//===- chosen_boxes.h - boxes that suppress others --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_CHOSEN_BOXES_H
#define WEIR_RUNTIME_KERNELS_CHOSEN_BOXES_H

#include "kernels/boxes.h"
#include "kernels/kernel_support.h"

namespace weir::rt {

/// The boxes that were chosen so far. Few are compared one after the other; more are found by the
/// cell of a grid in which their centre lies, as boxes overlap by a share only where centres are
/// near. What is suppressed does not depend on how they were found.
class ChosenBoxes {
public:
  /// Room for `most` boxes. Test isReady (false: the run has failed for want of memory).
  ChosenBoxes(weir_context *ctx, int64_t most);
  bool isReady() const { return boxes.data && next.data && heads.data; }

  /// Forgets all, and begins with another threshold.
  void restart(float iou);
  /// Whether one of them overlaps with the box by more than the threshold.
  bool suppresses(const Box &box) const;
  void add(const Box &box);

private:
  struct Cell {
    int64_t x, y;
  };
  struct Centre {
    double x, y;
  };

  bool suppressesByAll(const Box &box) const;
  bool suppressesByList(int32_t first, const Box &box) const;
  /// Whether the sizes of the box are such that rounding is no more than a few last digits.
  static bool isPlain(const Box &box);
  static Centre centreOf(const Box &box);
  /// How far centres of boxes that overlap with one of this extent by more than the threshold may
  /// lie from its centre.
  double reachOf(double extent) const;
  uint64_t bucketOf(Cell cell) const;
  void startGrid();
  void enter(int64_t number);

  const int64_t bits; ///< 2^bits buckets
  Scratch<Box> boxes;
  Scratch<int32_t> next;  ///< the box before this one in its bucket's list, -1: none
  Scratch<int32_t> heads; ///< the last box of each bucket
  int64_t count = 0;
  float iou = 0;
  bool hasGrid = false, mayHaveGrid = false;
  int32_t others = -1; ///< a list of boxes that are in no cell
  double cellWidth = 1, cellHeight = 1;
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_CHOSEN_BOXES_H
