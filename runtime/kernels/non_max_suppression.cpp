//===- non_max_suppression.cpp - ONNX's choice of boxes -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernels/chosen_boxes.h"
#include "kernels/kernel_support.h"
#include "kernels/ordering.h"

using namespace weir::rt;

namespace {

struct Limits {
  int64_t mostBoxes = 0;
  double iou = 0, score = 0;
  bool hasScore = false;
};

/// Fills in the operands that are there.
bool readLimits(const weir_tensor *operands, int32_t count, Limits *limits) {
  auto given = [&](int32_t i) {
    return count > i && operands[i].data && elementCountOf(operands[i]) > 0;
  };
  if (given(2) && !loadInteger(operands[2], &limits->mostBoxes))
    return false;
  if (given(3) && !loadFloat(operands[3], &limits->iou))
    return false;
  limits->hasScore = given(4);
  return !limits->hasScore || loadFloat(operands[4], &limits->score);
}

/// One class of one batch: writes the boxes that are kept to `kept`, and
/// returns how many.
int64_t chooseBoxes(const float *boxes, const float *scores, int64_t count, bool center,
                    const Limits &limits, uint64_t *keys, KeyIndex *candidates, ChosenBoxes &chosen,
                    int64_t *kept) {
  int64_t candidateCount = 0, keptCount = 0;
  chosen.restart(float(limits.iou));
  makeKeys(WEIR_F32, scores, 1, count, false, keys);
  // Of equal scores the earlier box comes first.
  for (int64_t i = 0; i < count; ++i)
    if (!limits.hasScore || scores[i] > float(limits.score))
      candidates[candidateCount++] = {keys[i], ~i};
  // A heap, not sorted: often few boxes are looked at before there are enough.
  makeHeap(candidates, candidateCount);
  while (candidateCount > 0 && keptCount < limits.mostBoxes) {
    int64_t picked = ~candidates[0].index;
    if (--candidateCount > 0)
      replaceFirst(candidates, candidateCount, candidates[candidateCount]);
    const float *corners = boxes + picked * 4;
    Box box = center ? boxOfCenter(corners) : boxOfCorners(corners);
    if (chosen.suppresses(box))
      continue;
    chosen.add(box);
    kept[keptCount++] = picked;
  }
  return keptCount;
}

} // namespace

int32_t weir_kernel_non_max_suppression(weir_context *ctx, const weir_tensor *operands,
                                        int32_t operand_count, weir_tensor *results,
                                        int32_t result_count, const int64_t *attributes) {
  const weir_tensor &boxes = operands[0], &scores = operands[1];
  if (operand_count < 2 || result_count != 1 || !isIndexType(results[0].dtype))
    return failMessage(ctx, WEIR_INTERNAL, "operands or results are missing");
  if (boxes.dtype != WEIR_F32 || scores.dtype != WEIR_F32)
    return failDtype(ctx, "boxes and scores", boxes.dtype);
  if (boxes.rank != 3 || scores.rank != 3 || boxes.dims[2] != 4 ||
      boxes.dims[0] != scores.dims[0] || boxes.dims[1] != scores.dims[2])
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "boxes [batches, n, 4] and scores [batches, classes, n] "
                       "do not fit each other");
  Limits limits;
  if (!readLimits(operands, operand_count, &limits))
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "a limit is not one number");
  int64_t batches = scores.dims[0], classes = scores.dims[1], count = scores.dims[2];
  int64_t most = limits.mostBoxes < count ? limits.mostBoxes : count;
  if (most < 0)
    most = 0;
  limits.mostBoxes = most;
  if (most == 0) {
    int64_t none[] = {0, 3};
    return shapeResult(ctx, results[0], 2, none) ? WEIR_OK : WEIR_RESOURCE_EXHAUSTED;
  }

  Scratch<KeyIndex> candidates(ctx, count);
  Scratch<uint64_t> keys(ctx, count);
  ChosenBoxes chosen(ctx, most);
  // Boxes kept, class by class, with the number of each class after them.
  Scratch<int64_t> kept(ctx, batches * classes * (most + 1));
  if (!candidates.data || !keys.data || !chosen.isReady() || !kept.data)
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t total = 0;
  for (int64_t line = 0; line < batches * classes; ++line) {
    int64_t *mine = kept.data + line * (most + 1);
    mine[most] = chooseBoxes(static_cast<const float *>(boxes.data) + line / classes * count * 4,
                             static_cast<const float *>(scores.data) + line * count, count,
                             attributes[0] != 0, limits, keys.data, candidates.data, chosen, mine);
    total += mine[most];
  }
  int64_t dims[] = {total, 3};
  if (!shapeResult(ctx, results[0], 2, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t out = 0;
  for (int64_t line = 0; line < batches * classes; ++line) {
    const int64_t *mine = kept.data + line * (most + 1);
    for (int64_t i = 0; i < mine[most]; ++i) {
      storeIndex(results[0], out++, line / classes);
      storeIndex(results[0], out++, line % classes);
      storeIndex(results[0], out++, mine[i]);
    }
  }
  return WEIR_OK;
}
