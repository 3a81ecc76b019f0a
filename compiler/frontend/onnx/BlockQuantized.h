//===- BlockQuantized.h - weights of which blocks share a scale -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights of 2, 4 or 8 bits stay so many bits in the object: a `dequantize_blocks` makes
// floats of them, and kernels of products read them as they are.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_BLOCKQUANTIZED_H
#define WEIR_COMPILER_FRONTEND_ONNX_BLOCKQUANTIZED_H

#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

/// The numbers of `bits` bits that bytes [rows…, bytes] hold, the lowest bits
/// first, as [rows…, numbers] of i32.
Value unpackBits(NodeImport &n, Value bytes, int64_t bits);

/// Weights of MatMulNBits as [K, N] of f32: inputs 1 to 3 of the node, whose columns are
/// rows there. Null where `n` has reported.
Value blockWeights(NodeImport &n, int64_t rows, int64_t columns, int64_t bits, int64_t block);

/// What DequantizeLinear makes of a constant matrix of integers, of which `block` entries along
/// `axis` share one of `scales`, a constant or not; `zeros` may be null. Null, and nothing is
/// reported, where it is to be computed otherwise.
Value dequantizedBlocks(NodeImport &n, Value q, Value scales, Value zeros, int64_t axis,
                        int64_t block);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_BLOCKQUANTIZED_H
