//===- Sampling.h - images read between pixels ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_SAMPLING_H
#define WEIR_COMPILER_FRONTEND_ONNX_SAMPLING_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

enum class Interpolation { Nearest, Linear, Cubic };

/// What lies outside of an image: zero, the nearest pixel, or its mirror image.
enum class Border { Zero, Clamp, Reflect };

/// Values of `x` (N C S…) at places of each of its images: `places` has one
/// float tensor a spatial dimension, [N, P…], counted in pixels. The result is
/// [N, C, P…]. `alignCorners` tells where images are mirrored: at pixels'
/// centres or at their edges. Cubic: two spatial dimensions.
Value samplePlaces(TensorBuilder &t, Value x, llvm::ArrayRef<Value> places, Interpolation kind,
                   Border border, bool alignCorners);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_SAMPLING_H
