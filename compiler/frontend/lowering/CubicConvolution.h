//===- CubicConvolution.h - weights of cubic interpolation ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R. Keys, "Cubic convolution interpolation for digital image processing" (1981): four
// neighbours along a dimension, weighted by their distances.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_LOWERING_CUBICCONVOLUTION_H
#define WEIR_COMPILER_FRONTEND_LOWERING_CUBICCONVOLUTION_H

#include "compiler/frontend/TensorBuilder.h"
#include <array>

namespace weir::frontend {

/// The weights of the samples at distances 1 + f, f, 1 - f and 2 - f, by the kernel's
/// coefficient `a`, computed in f's type; f in [0, 1). Null where `f` is.
inline std::array<Value, 4> cubicWeights(TensorBuilder &t, Value f, double a) {
  auto near = [&](Value d) { // at most 1 away
    return t.add(t.mul(t.mul(t.sub(t.mul(d, a + 2), a + 3), d), d), 1.0);
  };
  auto far = [&](Value d) { // at most 2 away
    return t.sub(t.mul(t.add(t.mul(t.sub(t.mul(d, a), 5 * a), d), 8 * a), d), 4 * a);
  };
  Value one = f ? t.sub(t.like(f, 1), f) : Value();
  return {far(t.add(f, 1.0)), near(f), near(one), far(t.add(one, 1.0))};
}

} // namespace weir::frontend

#endif // WEIR_COMPILER_FRONTEND_LOWERING_CUBICCONVOLUTION_H
