//===- Quantization.h - integers that stand for reals -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantised tensor of TensorFlow is a tensor of integers, and two f32 that say
// which reals its lowest and highest integer stand for. Its kernels convert in
// two ways, which round differently: in f32 throughout, or in f64, integer by
// integer. Results are the same in every bit where the same way is taken, so
// both are here. Shapes: ranges are scalars, or broadcast to the tensor.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_QUANTIZATION_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_QUANTIZATION_H

#include "compiler/frontend/lowering/IntegerLimits.h"
#include "compiler/frontend/tensorflow/NodeImport.h"

namespace weir::tf {

/// The reals that the lowest and the highest integer stand for, f32.
struct RealRange {
  Value low, high;
};

using frontend::IntegerLimits;

/// A range given by inputs `i` and `i + 1`, as scalars; null on failure.
RealRange scalarRange(NodeImport &n, size_t i);

// In f32: mode MIN_FIRST, and most quantised operations.
Value quantizeFloat(NodeImport &n, Value x, RealRange range, Type integer);
Value dequantizeFloat(NodeImport &n, Value q, RealRange range);

// In f64.
/// f32 reals of integers.
Value dequantizeDouble(NodeImport &n, Value q, RealRange range);
/// i64, which may lie outside of `integer`'s values.
Value quantizeUnclamped(NodeImport &n, Value x, RealRange range, Type integer);
/// The same, clamped to them.
Value quantizeDouble(NodeImport &n, Value x, RealRange range, Type integer);

/// What i32 products of integers under ranges `a` and `b` stand for; symmetric:
/// the lowest of signed integers is left out.
RealRange productRange(NodeImport &n, Type aType, RealRange a, Type bType, RealRange b,
                       bool symmetric);

/// 32-bit integers under `from` as integers under `to`; to 8 unsigned bits in
/// fixed point of 16 bits, as TensorFlow does.
Value requantize(NodeImport &n, Value q, RealRange from, RealRange to, Type integer);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_QUANTIZATION_H
