//===- Tolerances.h - how near is right, by suite ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formula is Compare.h's; docs/tools.md gives the numbers and where they
// come from. Integers (quantized 8-bit results of TensorFlow operations aside,
// which may be one step off), bools and strings are compared exactly.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_TOLERANCES_H
#define WEIR_TOOLS_CONFORMANCE_TOLERANCES_H

#include "tools/common/Compare.h"
#include "tools/common/Npy.h"

#include <string_view>

namespace weir::conformance {

/// ONNX's own tests allow rtol 1e-3 and atol 1e-7 in every type, and some of
/// their answers hold four digits. Here: the same in f32, 1e-6 in f64, two
/// epsilons in the narrow types.
tools::Tolerance onnxTolerance(std::string_view suite, int32_t dtype);

/// Trained networks with outputs recorded by their own framework.
tools::Tolerance modelTolerance(int32_t dtype);

/// Frozen graphs, whose answers are decimal text.
tools::Tolerance frozenTolerance(int32_t dtype);

/// Single TensorFlow operations: epsilons by the operation's kind, and by the
/// length of its reductions, estimated from the shapes of inputs and outputs.
tools::Tolerance operationTolerance(std::string_view operation, const tools::NamedTensors &inputs,
                                    const tools::HostTensor &output);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_TOLERANCES_H
