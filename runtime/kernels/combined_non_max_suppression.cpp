//===- combined_non_max_suppression.cpp - boxes of several classes --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each class by itself, then the best of all classes. Boxes of equal scores come
// in the order of a binary heap that only looks at scores, as TensorFlow has it.
//
//===----------------------------------------------------------------------===//

#include "kernels/chosen_boxes.h"
#include "kernels/kernel_support.h"

#include <math.h>

using namespace weir::rt;

namespace {

struct Scored {
  float score;
  int64_t box, classIndex; ///< box -1: none
};

/// A heap with a highest score on top (Williams, "Algorithm 232: Heapsort", 1964;
/// taking out sinks a hole to a leaf first, after Floyd).
struct ScoreHeap {
  Scored *items;
  int64_t count = 0;

  void rise(int64_t at, int64_t top, Scored item) {
    for (; at > top && items[(at - 1) / 2].score < item.score; at = (at - 1) / 2)
      items[at] = items[(at - 1) / 2];
    items[at] = item;
  }
  void push(Scored item) { rise(count++, 0, item); }
  Scored pop() {
    Scored top = items[0], last = items[--count];
    if (count == 0)
      return top;
    int64_t hole = 0, child = 0;
    while (child < (count - 1) / 2) {
      child = 2 * (child + 1);
      if (items[child].score < items[child - 1].score)
        --child;
      items[hole] = items[child];
      hole = child;
    }
    if (count % 2 == 0 && child == (count - 2) / 2) {
      child = 2 * (child + 1);
      items[hole] = items[child - 1];
      hole = child - 1;
    }
    rise(hole, 0, last);
    return top;
  }
};

bool isBefore(const Scored &a, const Scored &b) { return a.score > b.score; }

void swap(Scored &a, Scored &b) {
  Scored held = a;
  a = b;
  b = held;
}

/// Moves items[i] to its place among those before it. With `first` above 0 an item
/// that comes before it is known to be there.
void insert(Scored *items, int64_t first, int64_t i) {
  Scored item = items[i];
  for (; i > first && isBefore(item, items[i - 1]); --i)
    items[i] = items[i - 1];
  items[i] = item;
}

/// Parts longer than this are split; what is left is sorted by insertion.
constexpr int64_t fewItems = 16;

/// Highest scores first: Musser's introsort ("Introspective sorting and selection
/// algorithms", 1997), with the median of the second, the middle and the last item as
/// pivot, which is how items of equal scores come out in TensorFlow. Where splitting
/// gets nowhere, insertion sorts a part at once.
void splitByScore(Scored *items, int64_t first, int64_t end, int depth) {
  while (end - first > fewItems) {
    if (depth-- == 0) {
      for (int64_t i = first + 1; i < end; ++i)
        insert(items, first, i);
      return;
    }
    Scored &pivot = items[first], &a = items[first + 1], &b = items[first + (end - first) / 2],
           &c = items[end - 1];
    Scored &median = isBefore(a, b) ? (isBefore(b, c)   ? b
                                       : isBefore(a, c) ? c
                                                        : a)
                                    : (isBefore(a, c)   ? a
                                       : isBefore(b, c) ? c
                                                        : b);
    swap(pivot, median);
    int64_t low = first + 1, high = end;
    for (;; ++low) {
      while (isBefore(items[low], pivot))
        ++low;
      --high;
      while (isBefore(pivot, items[high]))
        --high;
      if (low >= high)
        break;
      swap(items[low], items[high]);
    }
    splitByScore(items, low, end, depth);
    end = low;
  }
}

void sortByScore(Scored *items, int64_t count) {
  int depth = 0;
  for (int64_t n = count; n > 1; n /= 2)
    depth += 2;
  splitByScore(items, 0, count, depth);
  for (int64_t i = 1; i < count; ++i)
    insert(items, 0, i);
}

float clipped(float v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

} // namespace

int32_t weir_kernel_combined_non_max_suppression(weir_context *ctx, const weir_tensor *operands,
                                                 int32_t operand_count, weir_tensor *results,
                                                 int32_t result_count, const int64_t *attributes) {
  if (operand_count != 6 || result_count != 4)
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  const weir_tensor &boxes = operands[0], &scores = operands[1];
  if (boxes.dtype != WEIR_F32 || scores.dtype != WEIR_F32)
    return failDtype(ctx, "boxes and scores", boxes.dtype);
  int64_t mostOfClass = 0, mostInAll = 0;
  double iou = 0, least = 0;
  if (boxes.rank != 4 || scores.rank != 3 || boxes.dims[3] != 4 ||
      boxes.dims[0] != scores.dims[0] || boxes.dims[1] != scores.dims[1] ||
      (boxes.dims[2] != 1 && boxes.dims[2] != scores.dims[2]))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "boxes [batch, n, 1 or classes, 4] and scores [batch, n, classes] do not "
                       "fit each other");
  if (!loadInteger(operands[2], &mostOfClass) || !loadInteger(operands[3], &mostInAll) ||
      !loadFloat(operands[4], &iou) || !loadFloat(operands[5], &least) || mostOfClass <= 0 ||
      mostInAll <= 0 || !(iou >= 0 && iou <= 1))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "numbers of boxes must be positive, and the IoU threshold in [0, 1]");
  int64_t batches = scores.dims[0], count = scores.dims[1], classes = scores.dims[2],
          own = boxes.dims[2];
  // No class has more boxes than there are; places of those that it could have had
  // are sorted, too, unless they are very many.
  int64_t perClass = mostOfClass < count ? mostOfClass : count;
  bool keepsPlaces = mostOfClass <= (int64_t(1) << 22) / (classes ? classes : 1);
  int64_t places = keepsPlaces ? mostOfClass : perClass, all = places * classes;
  bool padsByClass = attributes[0] != 0, clips = attributes[1] != 0;
  int64_t wide =
      mostOfClass > mostInAll / (classes ? classes : 1) ? mostInAll : mostOfClass * classes;
  int64_t rows = padsByClass && wide < mostInAll ? wide : mostInAll;
  int64_t boxDims[3] = {batches, rows, 4};
  if (!shapeResult(ctx, results[0], 3, boxDims) || !shapeResult(ctx, results[1], 2, boxDims) ||
      !shapeResult(ctx, results[2], 2, boxDims) || !shapeResult(ctx, results[3], 1, boxDims))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<Scored> heapRoom(ctx, count), chosen(ctx, all);
  ChosenBoxes ofClass(ctx, perClass);
  if (!heapRoom.data || !chosen.data || !ofClass.isReady())
    return WEIR_RESOURCE_EXHAUSTED;
  auto *toBoxes = static_cast<float *>(results[0].data);
  auto *toScores = static_cast<float *>(results[1].data);
  auto *toClasses = static_cast<float *>(results[2].data);
  for (int64_t batch = 0; batch < batches; ++batch) {
    auto *from = static_cast<const float *>(boxes.data) + batch * count * own * 4;
    auto *score = static_cast<const float *>(scores.data) + batch * count * classes;
    auto corners = [&](int64_t box, int64_t c) {
      return from + (box * own + (own > 1 ? c : 0)) * 4;
    };
    int64_t found = 0;
    for (int64_t i = 0; i < all; ++i)
      chosen[i] = {-1, -1, -1};
    for (int64_t c = 0; c < classes; ++c) {
      ScoreHeap heap{heapRoom.data};
      for (int64_t i = 0; i < count; ++i)
        if (score[i * classes + c] > float(least))
          heap.push({score[i * classes + c], i, c});
      int64_t taken = 0;
      ofClass.restart(float(iou));
      while (taken < perClass && heap.count > 0) {
        Scored next = heap.pop();
        Box box = boxOfCorners(corners(next.box, c));
        if (ofClass.suppresses(box))
          continue;
        ofClass.add(box);
        chosen[c * places + taken++] = next;
        ++found;
      }
    }
    sortByScore(chosen.data, all);
    int64_t valid = found < rows ? found : rows;
    storeIndex(results[3], batch, valid);
    for (int64_t i = 0; i < rows; ++i) {
      int64_t at = batch * rows + i;
      bool isBox = i < valid && chosen[i].box >= 0;
      toScores[at] = i < valid ? chosen[i].score : 0;
      toClasses[at] = i < valid ? float(chosen[i].classIndex) : 0;
      for (int64_t j = 0; j < 4; ++j) {
        float v = isBox ? corners(chosen[i].box, chosen[i].classIndex)[j] : 0;
        toBoxes[at * 4 + j] = clips ? clipped(v) : v;
      }
    }
  }
  return WEIR_OK;
}
