//===- non_max_suppression_tf.cpp - TensorFlow's choice of boxes ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// One list of boxes; hard suppression, or soft (Bodla et al., "Soft-NMS:
// improving object detection with one line of code", 2017): overlapping boxes
// lose score, and are chosen later or never.

#include "kernels/chosen_boxes.h"
#include "kernels/kernel_support.h"

#include <math.h>

using namespace weir::rt;

namespace {

struct Limits {
  int64_t mostBoxes = 0;
  double iou = 0.5, score = -INFINITY, sigma = 0;
};

struct Candidate {
  float score;
  int64_t box;
  /// Chosen boxes before this one have been taken into account already.
  int64_t compared;

  /// The one that is to be looked at first: the higher score, then lower index.
  bool before(const Candidate &other) const {
    return score != other.score ? score > other.score : box < other.box;
  }
};

/// A heap with the first candidate on top.
class Queue {
public:
  explicit Queue(Candidate *items) : items(items) {}

  bool empty() const { return count == 0; }

  void push(Candidate candidate) {
    int64_t at = count++;
    for (; at > 0 && candidate.before(items[(at - 1) / 2]); at = (at - 1) / 2)
      items[at] = items[(at - 1) / 2];
    items[at] = candidate;
  }

  Candidate pop() {
    Candidate top = items[0], last = items[--count];
    int64_t at = 0;
    for (;;) {
      int64_t child = 2 * at + 1;
      if (child >= count)
        break;
      if (child + 1 < count && items[child + 1].before(items[child]))
        ++child;
      if (!items[child].before(last))
        break;
      items[at] = items[child];
      at = child;
    }
    items[at] = last;
    return top;
  }

private:
  Candidate *items;
  int64_t count = 0;
};

bool readLimits(const weir_tensor *operands, int32_t count, Limits *limits) {
  return (count <= 2 || loadInteger(operands[2], &limits->mostBoxes)) &&
         (count <= 3 || loadFloat(operands[3], &limits->iou)) &&
         (count <= 4 || loadFloat(operands[4], &limits->score)) &&
         (count <= 5 || loadFloat(operands[5], &limits->sigma));
}

/// Element i of a f32 or f16 tensor.
float loadElement(const weir_tensor &tensor, int64_t i) {
  if (tensor.dtype == WEIR_F16)
    return floatOfHalf(static_cast<const uint16_t *>(tensor.data)[i]);
  return static_cast<const float *>(tensor.data)[i];
}

/// How much two boxes overlap: worked out from them, or from a table.
struct Overlaps {
  const Box *boxes;
  const weir_tensor *table; ///< [n, n], or null

  float between(int64_t a, int64_t b) const {
    return table ? loadElement(*table, a * table->dims[1] + b) : overlap(boxes[a], boxes[b]);
  }
};

/// Lowers the candidate's score by the chosen boxes that it was not compared
/// with. False when it is out for good.
bool suppress(Candidate &candidate, const Overlaps &overlaps, const int64_t *chosen,
              int64_t chosenCount, const Limits &limits) {
  // The last chosen first: they are the likeliest to overlap.
  for (int64_t i = chosenCount; i-- > candidate.compared;) {
    float iou = overlaps.between(candidate.box, chosen[i]);
    if (limits.sigma > 0) {
      auto scale = float(-0.5 / limits.sigma);
      // However much they overlap: the IoU threshold is for hard suppression.
      candidate.score *= expf(scale * iou * iou);
    } else if (iou > float(limits.iou)) {
      return false;
    }
    if (candidate.score <= float(limits.score))
      return false;
  }
  candidate.compared = chosenCount;
  return true;
}

int32_t write(weir_context *ctx, weir_tensor *results, int32_t resultCount, const int64_t *chosen,
              const float *chosenScores, int64_t count, int64_t padded) {
  if (!shapeResult(ctx, results[0], 1, &padded))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < padded; ++i)
    storeIndex(results[0], i, i < count ? chosen[i] : 0);
  if (resultCount > 1) {
    if (!shapeResult(ctx, results[1], 1, &padded))
      return WEIR_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < padded; ++i) {
      float score = i < count ? chosenScores[i] : 0;
      if (results[1].dtype == WEIR_F16)
        static_cast<uint16_t *>(results[1].data)[i] = halfOfFloat(score);
      else
        static_cast<float *>(results[1].data)[i] = score;
    }
  }
  if (resultCount > 2) {
    if (!shapeResult(ctx, results[2], 0, nullptr))
      return WEIR_RESOURCE_EXHAUSTED;
    storeIndex(results[2], 0, count);
  }
  return WEIR_OK;
}

bool isFloat(int32_t dtype) { return dtype == WEIR_F32 || dtype == WEIR_F16; }

/// The choice itself, of boxes (or, with `byTable`, of their overlaps).
int32_t choose(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
               weir_tensor *results, int32_t result_count, const int64_t *attributes,
               bool byTable) {
  const weir_tensor &boxes = operands[0], &scores = operands[1];
  if (operand_count < 2 || result_count < 1 || !isIndexType(results[0].dtype) ||
      (result_count > 1 && !isFloat(results[1].dtype)) ||
      (result_count > 2 && !isIndexType(results[2].dtype)))
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  if (!isFloat(boxes.dtype) || !isFloat(scores.dtype))
    return failDtype(ctx, "boxes and scores", boxes.dtype);
  if (boxes.rank != 2 || scores.rank != 1 || boxes.dims[1] != (byTable ? scores.dims[0] : 4) ||
      boxes.dims[0] != scores.dims[0])
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       byTable ? "overlaps [n, n] and scores [n] do not fit each "
                                 "other"
                               : "boxes [n, 4] and scores [n] do not fit each "
                                 "other");
  Limits limits;
  if (!readLimits(operands, operand_count, &limits))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a limit is not one number");
  // A comparison that NaN fails, too.
  bool iouFits = byTable ? limits.iou == limits.iou : limits.iou >= 0 && limits.iou <= 1;
  // Where no box is asked for, no threshold matters.
  if ((!iouFits && limits.mostBoxes != 0) || limits.mostBoxes < 0 || !(limits.sigma >= 0))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "the IoU threshold must be in [0, 1], the most boxes and "
                       "sigma not negative");

  int64_t count = scores.dims[0];
  int64_t most = limits.mostBoxes < count ? limits.mostBoxes : count;
  Scratch<Box> corners(ctx, byTable ? 1 : count);
  Scratch<Candidate> candidates(ctx, count);
  Scratch<int64_t> chosen(ctx, most);
  Scratch<float> chosenScores(ctx, most);
  if (!corners.data || !candidates.data || !chosen.data || !chosenScores.data)
    return WEIR_RESOURCE_EXHAUSTED;
  // Hard suppression of boxes changes no score.
  bool isHard = !byTable && limits.sigma == 0;
  ChosenBoxes suppressing(ctx, isHard ? most : 0);
  if (!suppressing.isReady())
    return WEIR_RESOURCE_EXHAUSTED;
  suppressing.restart(float(limits.iou));
  Queue queue(candidates.data);
  Overlaps overlaps{corners.data, byTable ? &boxes : nullptr};
  for (int64_t i = 0; i < count; ++i) {
    if (!byTable) {
      float c[4];
      for (int64_t j = 0; j < 4; ++j)
        c[j] = loadElement(boxes, i * 4 + j);
      corners[i] = boxOfCorners(c);
    }
    float score = loadElement(scores, i);
    if (score > float(limits.score))
      queue.push({score, i, 0});
  }
  int64_t chosenCount = 0;
  while (chosenCount < most && !queue.empty()) {
    Candidate candidate = queue.pop();
    float before = candidate.score;
    if (isHard ? suppressing.suppresses(corners[candidate.box])
               : !suppress(candidate, overlaps, chosen.data, chosenCount, limits))
      continue;
    // One that has lost score takes its new place.
    if (candidate.score != before) {
      queue.push(candidate);
      continue;
    }
    if (isHard)
      suppressing.add(corners[candidate.box]);
    chosen[chosenCount] = candidate.box;
    chosenScores[chosenCount++] = candidate.score;
  }
  return write(ctx, results, result_count, chosen.data, chosenScores.data, chosenCount,
               attributes[0] ? limits.mostBoxes : chosenCount);
}

} // namespace

int32_t weir_kernel_non_max_suppression_tf(weir_context *ctx, const weir_tensor *operands,
                                           int32_t operand_count, weir_tensor *results,
                                           int32_t result_count, const int64_t *attributes) {
  return choose(ctx, operands, operand_count, results, result_count, attributes, false);
}

int32_t weir_kernel_non_max_suppression_overlaps(weir_context *ctx, const weir_tensor *operands,
                                                 int32_t operand_count, weir_tensor *results,
                                                 int32_t result_count, const int64_t *attributes) {
  return choose(ctx, operands, operand_count, results, result_count, attributes, true);
}
