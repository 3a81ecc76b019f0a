//===- chosen_boxes.cpp - boxes that suppress others ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The intersection of two boxes over their union, u, is at most that of their extents along x, and
// along y. Of intervals of lengths a and b whose centres are d apart it is above t only if
// b < a / t and d < a (1 - t) / (2 t): where neither holds the other it is
// ((a + b) / 2 - d) / ((a + b) / 2 + d), else d <= |a - b| / 2. So the boxes that may suppress one
// of width w have centres within w (1 - t) / (2 t) of its own, and the like along y. Each box
// is in the one cell of its centre, cells are found by a hash, and what they hold is compared
// exactly: cells that share a bucket cost time only.
//
//===----------------------------------------------------------------------===//

#include "kernels/chosen_boxes.h"

#include <math.h>

using namespace weir::rt;

namespace {

/// As many boxes are compared faster than found.
constexpr int64_t fewBoxes = 32;
/// With a smaller threshold, centres may lie far apart.
constexpr float leastThreshold = 0.05f;
/// Cells have numbers below this.
constexpr double mostCells = 1LL << 40;

int64_t bitsFor(int64_t most) {
  int64_t bits = 6;
  while (bits < 30 && (int64_t(1) << bits) < most)
    ++bits;
  return bits;
}

} // namespace

ChosenBoxes::ChosenBoxes(weir_context *ctx, int64_t most)
    : bits(bitsFor(most)), boxes(ctx, most), next(ctx, most),
      heads(ctx, most > fewBoxes ? int64_t(1) << bits : 1), mayHaveGrid(most <= INT32_MAX) {}

void ChosenBoxes::restart(float threshold) {
  count = 0;
  iou = threshold;
  hasGrid = false;
  others = -1;
}

bool ChosenBoxes::isPlain(const Box &box) {
  float area = box.area();
  // Comparisons that NaN fails, too.
  return area > 1e-30f && area < 1e30f && fabsf(box.xMin) < 1e15f && fabsf(box.yMin) < 1e15f &&
         fabsf(box.xMax) < 1e15f && fabsf(box.yMax) < 1e15f;
}

ChosenBoxes::Centre ChosenBoxes::centreOf(const Box &box) {
  return {(double(box.xMin) + box.xMax) / 2, (double(box.yMin) + box.yMax) / 2};
}

double ChosenBoxes::reachOf(double extent) const {
  // What is computed in f32 may be above a threshold that the boxes just fall short of.
  double t = double(iou) - 1e-5;
  return t >= 1 ? extent * 1e-6 : extent * ((1 - t) / (2 * t) * 1.01 + 1e-6);
}

uint64_t ChosenBoxes::bucketOf(Cell cell) const {
  uint64_t mixed = uint64_t(cell.x) * UINT64_C(0x9E3779B97F4A7C15) ^
                   uint64_t(cell.y) * UINT64_C(0xC2B2AE3D27D4EB4F);
  return (mixed * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits);
}

void ChosenBoxes::enter(int64_t number) {
  const Box &box = boxes[number];
  int32_t *list = &others;
  if (isPlain(box)) {
    Centre centre = centreOf(box);
    double x = floor(centre.x / cellWidth), y = floor(centre.y / cellHeight);
    if (fabs(x) < mostCells && fabs(y) < mostCells)
      list = &heads[int64_t(bucketOf({int64_t(x), int64_t(y)}))];
  }
  next[number] = *list;
  *list = int32_t(number);
}

void ChosenBoxes::startGrid() {
  double width = 0, height = 0;
  int64_t plain = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!isPlain(boxes[i]))
      continue;
    width += double(boxes[i].xMax) - boxes[i].xMin;
    height += double(boxes[i].yMax) - boxes[i].yMin;
    ++plain;
  }
  if (!plain)
    return;
  hasGrid = true;
  // Cells about as large as what is searched around a box of usual size.
  width /= double(plain), height /= double(plain);
  cellWidth = fmax(width, 2 * reachOf(width));
  cellHeight = fmax(height, 2 * reachOf(height));
  for (int64_t i = 0; i < int64_t(1) << bits; ++i)
    heads[i] = -1;
  for (int64_t i = 0; i < count; ++i)
    enter(i);
}

void ChosenBoxes::add(const Box &box) {
  boxes[count] = box;
  if (hasGrid)
    enter(count);
  ++count;
  if (!hasGrid && mayHaveGrid && count > fewBoxes && iou >= leastThreshold)
    startGrid();
}

bool ChosenBoxes::suppressesByAll(const Box &box) const {
  for (int64_t i = 0; i < count; ++i)
    if (overlap(box, boxes.data[i]) > iou)
      return true;
  return false;
}

bool ChosenBoxes::suppressesByList(int32_t first, const Box &box) const {
  for (int32_t i = first; i >= 0; i = next.data[i])
    if (overlap(box, boxes.data[i]) > iou)
      return true;
  return false;
}

bool ChosenBoxes::suppresses(const Box &box) const {
  if (!hasGrid || !isPlain(box))
    return suppressesByAll(box);
  Centre centre = centreOf(box);
  double reachX = reachOf(double(box.xMax) - box.xMin),
         reachY = reachOf(double(box.yMax) - box.yMin);
  double left = floor((centre.x - reachX) / cellWidth),
         right = floor((centre.x + reachX) / cellWidth),
         top = floor((centre.y - reachY) / cellHeight),
         bottom = floor((centre.y + reachY) / cellHeight);
  // A box that is searched in many cells is compared with all as fast.
  if (!(fabs(left) < mostCells && fabs(right) < mostCells && fabs(top) < mostCells &&
        fabs(bottom) < mostCells) ||
      (right - left + 1) * (bottom - top + 1) > double(count) / 4)
    return suppressesByAll(box);
  for (auto y = int64_t(top); y <= int64_t(bottom); ++y)
    for (auto x = int64_t(left); x <= int64_t(right); ++x)
      if (suppressesByList(heads.data[bucketOf({x, y})], box))
        return true;
  return suppressesByList(others, box);
}
