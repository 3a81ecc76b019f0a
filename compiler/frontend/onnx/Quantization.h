//===- Quantization.h - arithmetic on quantised operands --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantisation is arithmetic on plain integers: x = (q - zero point) · scale.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_QUANTIZATION_H
#define WEIR_COMPILER_FRONTEND_ONNX_QUANTIZATION_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// round(x) + zero, clamped, as `type`; ties go to even. Narrow floats that are too
/// large become the largest, or, without `saturate`, infinite or NaN.
Value quantize(TensorBuilder &t, Value scaled, Value zero, Type type, bool saturate = true);

/// (q - zero) · scale in the type of `scale`, or wider; `zero` may be null.
Value dequantize(TensorBuilder &t, Value q, Value scale, Value zero);

/// The dimension of `x` that has a scale an element, `axis` as the node names it; 0 where one
/// scale is for all, whatever that is.
std::optional<int64_t> axisOfScales(NodeImport &n, Value scale, Value x, int64_t axis);

/// Shapes a scale or zero point (null: none) to broadcast over `x`: one value, one an entry
/// of `axis`, or one a block of `block` (0: no blocks) entries of it. Null after a report.
Value spread(NodeImport &n, Value v, Value x, int64_t axis, int64_t block);

/// An integer operand with its zero point taken off, as i32. `rows`: a zero
/// point of one dimension belongs to the rows of a matrix, else to its columns.
Value centred(NodeImport &n, Value q, size_t zeroInput, bool rows);

/// The sum of a convolution of integers, i32; zero points may be null.
Value integerConv(NodeImport &n, Value x, Value filter, Value xZero, Value filterZero);

/// QLinearConv's result, inputs as there, `x` in place of input 0.
Value quantizedConv(NodeImport &n, Value x);

/// DynamicQuantizeLinear: a tensor's values as u8, the scale and zero point
/// that its range asks for.
struct Quantized {
  Value values, scale, zero;
};
Quantized quantizeByRange(TensorBuilder &t, Value x);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_QUANTIZATION_H
