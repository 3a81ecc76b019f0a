//===- boxes.h - boxes and how they overlap ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_BOXES_H
#define WEIR_RUNTIME_KERNELS_BOXES_H

#include <stdint.h>

namespace weir::rt {

/// Corners in order.
struct Box {
  float yMin, xMin, yMax, xMax;

  float area() const { return (yMax - yMin) * (xMax - xMin); }
};

inline float least(float a, float b) { return a < b ? a : b; }
inline float most(float a, float b) { return a > b ? a : b; }

/// From two opposite corners: y, x, y, x.
inline Box boxOfCorners(const float *c) {
  return {least(c[0], c[2]), least(c[1], c[3]), most(c[0], c[2]), most(c[1], c[3])};
}

/// From the centre: x, y, width, height.
inline Box boxOfCenter(const float *c) {
  float halfWidth = c[2] / 2, halfHeight = c[3] / 2;
  return {c[1] - halfHeight, c[0] - halfWidth, c[1] + halfHeight, c[0] + halfWidth};
}

/// Intersection over union; 0 when a box has no area.
inline float overlap(const Box &a, const Box &b) {
  float areaA = a.area(), areaB = b.area();
  if (areaA <= 0 || areaB <= 0)
    return 0;
  float height = least(a.yMax, b.yMax) - most(a.yMin, b.yMin);
  float width = least(a.xMax, b.xMax) - most(a.xMin, b.xMin);
  if (height <= 0 || width <= 0)
    return 0;
  float shared = height * width;
  return shared / (areaA + areaB - shared);
}

} // namespace weir::rt

#endif // WEIR_RUNTIME_KERNELS_BOXES_H
