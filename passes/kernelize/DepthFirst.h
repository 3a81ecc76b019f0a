//===- DepthFirst.h - kernels that go through an image together -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose schedule is of kind `depth_first` launches others in its body, its stages, each on
// the image that the one before makes. Its range counts strips of `parts`[1] result lines of an
// image. Stages are convolutions over images [N, H, W, C] in parts of a line, and products that go
// over such images position by position. How many images there are, and their sides, may be open.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_DEPTHFIRST_H
#define WEIR_PASSES_KERNELIZE_DEPTHFIRST_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/Weir.h"

namespace weir {

/// Whether the kernel is a convolution by a window of one element, such a product, or a
/// depthwise convolution, that alone reads its image, an argument, and computes parts
/// that are, or can be, lines.
bool isStage(plan::KernelOp kernel);
/// Of a stage: which argument the image is.
unsigned imageOf(plan::KernelOp stage);
/// Of a stage: whether its window is one element.
bool isPointwise(plan::KernelOp kernel);

/// Which lines of its image a stage reads for its lines [a, b):
/// [a stride - pad, (b - 1) stride - pad + span), as far as they exist; likewise along lines.
struct LineWindow {
  int64_t stride = 1, pad = 0, padBehind = 0, span = 1;
};
/// Along `dim` of the image, 0: its lines, 1: the elements of a line.
LineWindow lineWindowOf(plan::KernelOp stage, unsigned dim = 0);
/// Whether a stage's result has as many lines as its image, of the same length, whatever they are.
bool keepsSides(plan::KernelOp stage);

/// What a stage makes, [N, H, W, C].
mlir::RankedTensorType resultOf(plan::KernelOp kernel);
/// Bytes of a line of an image of these sizes.
int64_t lineBytes(mlir::RankedTensorType image);
/// For `lines` of the last stage's result: how many of each stage's are in use at once. `images`
/// are the stages' results; those whose height is open are taken for high ones.
llvm::SmallVector<int64_t> linesInUse(llvm::ArrayRef<plan::KernelOp> stages,
                                      llvm::ArrayRef<mlir::RankedTensorType> images, int64_t lines);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_DEPTHFIRST_H
