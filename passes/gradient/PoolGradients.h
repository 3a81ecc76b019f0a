//===- PoolGradients.h - gradients of pools ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_GRADIENT_POOLGRADIENTS_H
#define WEIR_PASSES_GRADIENT_POOLGRADIENTS_H

#include "passes/gradient/GradientRules.h"

namespace weir::gradient {

/// Windows over the spatial dimensions, as PoolOp has them.
struct PoolWindows {
  Ints window, strides, pads, dilations;
  bool ceilMode, channelsLast;

  int64_t spatial() const { return window.size(); }
  int64_t dim(int64_t i) const { return (channelsLast ? 1 : 2) + i; }
  int64_t channelDim() const { return channelsLast ? spatial() + 1 : 1; }
  /// How far the last element of a window lies behind its first, and one more.
  int64_t extent(int64_t i) const { return (window[i] - 1) * dilations[i] + 1; }
};

/// What the gradient `dy` of a pool of kind max is by its operand: each window's goes to the
/// first of its largest elements (NaN counts as the largest). Any sizes; where those of images
/// are known each element asks the windows that it lies in, in parallel and in their order.
Value maxPoolGradient(Adjoint &a, Value x, Value dy, const PoolWindows &w);

/// The same of a sum (`isMean`: of a mean). Null where windows of unknown sizes may reach beyond
/// the padding (ceilMode).
Value meanPoolGradient(Adjoint &a, Value x, Value dy, const PoolWindows &w, bool isMean,
                       bool countIncludePad);

} // namespace weir::gradient

#endif // WEIR_PASSES_GRADIENT_POOLGRADIENTS_H
