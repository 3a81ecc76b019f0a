//===- distorted_box.cpp - a part of an image, drawn at random ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws an aspect ratio and a size in the ranges that are asked for, then a place,
// until an object is covered well enough; numbers, and their order, are TensorFlow's.
//
//===----------------------------------------------------------------------===//

#include "kernels/philox.h"
#include "weir/numerics.h"

using namespace weir::rt;

namespace {

struct Box {
  int left, top, right, bottom;

  float area() const { return float((right - left) * (bottom - top)); }
  bool isEmpty() const { return left > right || top > bottom; }
  Box meet(const Box &other) const {
    Box both = {left > other.left ? left : other.left, top > other.top ? top : other.top,
                right < other.right ? right : other.right,
                bottom < other.bottom ? bottom : other.bottom};
    return both.isEmpty() ? Box{0, 0, 0, 0} : both;
  }
};

int rounded(float value) { return int(lrintf(value)); }

/// A box of this ratio of width to height, whose part of the image lies in the range.
bool drawBox(PhiloxNumbers &numbers, int width, int height, float least, float most, float ratio,
             Box *box) {
  if (most <= 0 || ratio <= 0 || width <= 0 || height <= 0 || least > most)
    return false;
  float leastArea = least * float(width) * float(height);
  float mostArea = most * float(width) * float(height);
  int tall = rounded(sqrtf(leastArea / ratio)), tallest = rounded(sqrtf(mostArea / ratio));
  if (rounded(float(tallest) * ratio) > width) {
    // The largest height whose width still fits.
    tallest = int((double(width) + 0.5 - 1e-7) / double(ratio));
    if (rounded(float(tallest) * ratio) > width)
      tallest -= 1;
  }
  if (tallest > height)
    tallest = height;
  if (tall >= tallest)
    tall = tallest;
  if (tall < tallest)
    tall += int(numbers.below(uint32_t(tallest - tall + 1)));
  int wide = rounded(float(tall) * ratio);
  float area = float(wide * tall);
  auto grow = [&](int by) {
    tall += by;
    wide = rounded(float(tall) * ratio);
    area = float(wide * tall);
  };
  if (area < leastArea)
    grow(1);
  if (area > mostArea)
    grow(-1);
  if (area < leastArea || area > mostArea || wide > width || tall > height || wide <= 0 ||
      tall <= 0)
    return false;
  int top = 0, left = 0;
  if (tall < height)
    top = int(numbers.below(uint32_t(height - tall)));
  if (wide < width)
    left = int(numbers.below(uint32_t(width - wide)));
  *box = {left, top, left + wide, top + tall};
  return true;
}

bool covers(const Box &box, const Box *objects, int64_t count, float least) {
  if (box.area() < 1)
    return false;
  for (int64_t i = 0; i < count; ++i)
    if (objects[i].area() >= 1 && objects[i].meet(box).area() / objects[i].area() >= least)
      return true;
  return false;
}

} // namespace

int32_t weir_kernel_distorted_box(weir_context *ctx, const weir_tensor *operands,
                                  int32_t operand_count, weir_tensor *results, int32_t result_count,
                                  const int64_t *attributes) {
  Philox generator(0, 0, 0);
  double least = 0;
  if (operand_count != 5 || result_count != 3 || !readState(operands[0], &generator))
    return failState(ctx);
  const weir_tensor &size = operands[1], &objects = operands[2], &ranges = operands[4];
  if (size.dtype != WEIR_I64 || size.rank != 1 || size.dims[0] != 3)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "image_size must contain 3 elements");
  if (objects.dtype != WEIR_F32 || objects.rank != 3 || objects.dims[2] != 4)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "bounding boxes must have shape [batch, count, 4]");
  if (!loadFloat(operands[3], &least) || least < 0 || least > 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "Min object covered must be in [0.0, 1.0]");
  auto *image = static_cast<const int64_t *>(size.data);
  auto *range = static_cast<const float *>(ranges.data);
  for (int i = 0; i < 2; ++i)
    if (image[i] <= 0 || image[i] > INT32_MAX)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "image height and width must be positive");
  int height = int(image[0]), width = int(image[1]);
  int64_t count = elementCountOf(objects) / 4;
  Scratch<Box> boxes(ctx, count + 1);
  if (!boxes.data)
    return WEIR_RESOURCE_EXHAUSTED;
  auto *edges = static_cast<const float *>(objects.data);
  for (int64_t i = 0; i < count; ++i, edges += 4) {
    for (int e = 0; e < 4; ++e)
      if (!(edges[e] >= 0 && edges[e] <= 1))
        return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                           "All bounding box coordinates must be in [0.0, 1.0]");
    boxes[i] = {int(edges[1] * float(width)), int(edges[0] * float(height)),
                int(edges[3] * float(width)), int(edges[2] * float(height))};
  }
  Box whole = {0, 0, width, height};
  if (count == 0) {
    if (attributes[1] == 0)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "No bounding boxes provided as input. One must enable "
                         "use_image_if_no_bounding_boxes if you wish to not provide any "
                         "bounding boxes.");
    boxes[count++] = whole;
  }
  PhiloxNumbers numbers(generator);
  Box box = whole;
  for (int64_t attempt = 0; attempt < attributes[0]; ++attempt) {
    float ratio = numbers.unit() * (range[1] - range[0]) + range[0];
    Box drawn;
    if (drawBox(numbers, width, height, range[2], range[3], ratio, &drawn) &&
        covers(drawn, boxes.data, count, float(least))) {
      box = drawn;
      break;
    }
  }
  int64_t three = 3, dims[3] = {1, 1, 4};
  if (!shapeResult(ctx, results[0], 1, &three) || !shapeResult(ctx, results[1], 1, &three) ||
      !shapeResult(ctx, results[2], 3, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t begin[3] = {box.top, box.left, 0};
  int64_t extent[3] = {box.bottom - box.top, box.right - box.left, -1};
  float relative[4] = {float(box.top) / float(height), float(box.left) / float(width),
                       float(box.bottom) / float(height), float(box.right) / float(width)};
  for (int i = 0; i < 3; ++i) {
    storeIndex(results[0], i, begin[i]);
    storeIndex(results[1], i, extent[i]);
  }
  memcpy(results[2].data, relative, sizeof(relative));
  return WEIR_OK;
}
