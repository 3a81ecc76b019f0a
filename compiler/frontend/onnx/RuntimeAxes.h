//===- RuntimeAxes.h - axes that the model computes -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weir's axes are attributes. ONNX lets a model compute them; ranks are known
// all the same, so that there are only a few choices, and shapes follow by
// arithmetic on short vectors.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_RUNTIMEAXES_H
#define WEIR_COMPILER_FRONTEND_ONNX_RUNTIMEAXES_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// One branch for each set of axes that `axes` (a vector, or a scalar) may be at
/// run time; `build` makes a branch's value. Results must have one rank: where the number
/// of axes is open, `isPossible` says which sets leave it, and others end the run (null:
/// that is not known). Reports where there are too many. Null on failure.
Value chooseAxes(NodeImport &n, Value axes, int64_t rank, llvm::function_ref<Value(Ints)> build,
                 llvm::function_ref<bool(Ints)> isPossible = nullptr);

/// A vector of `size` entries, all `fill`, with `values` written at the places
/// `axes` (of which negative ones count from the end).
Value scatterAxes(TensorBuilder &t, Value axes, Value values, int64_t size, int64_t fill);

/// `v` with dimensions of size 1 dropped, or put in, at `axes`, a vector of
/// known length.
Value squeezeAt(NodeImport &n, Value v, Value axes);
Value unsqueezeAt(NodeImport &n, Value v, Value axes);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_RUNTIMEAXES_H
