//===- DepthFirst.h - kernels that go through an image together -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose schedule is of kind `depth_first` launches others in its body, its stages, each on
// the image that the one before makes. Its range counts strips of `parts`[1] result lines of an
// image. Stages are convolutions over images [N, H, W, C] in parts of a line.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_DEPTHFIRST_H
#define WEIR_PASSES_KERNELIZE_DEPTHFIRST_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/Weir.h"

namespace weir {

/// Whether the kernel is a convolution by a window of one element, or a
/// depthwise one, that alone reads its image, an argument, and computes parts
/// that are, or can be, lines.
bool isStage(plan::KernelOp kernel);
/// Whether of a tensor's sizes only the first, the number of images, is open.
bool isOfOpenBatch(mlir::Type type);
/// Of a stage: which argument the image is.
unsigned imageOf(plan::KernelOp stage);
/// Of a stage: whether its window is one element.
bool isPointwise(plan::KernelOp kernel);

/// Which lines of its image a stage reads for its lines [a, b):
/// [a stride - pad, (b - 1) stride - pad + span), as far as they exist.
struct LineWindow {
  int64_t stride = 1, pad = 0, span = 1;
};
LineWindow lineWindowOf(plan::KernelOp stage);

/// Bytes of a line of a stage's result, [N, H, W, C].
int64_t lineBytes(plan::KernelOp stage);
/// For `lines` of the last stage's result: how many of each stage's are in use at once.
llvm::SmallVector<int64_t> linesInUse(llvm::ArrayRef<plan::KernelOp> stages, int64_t lines);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_DEPTHFIRST_H
