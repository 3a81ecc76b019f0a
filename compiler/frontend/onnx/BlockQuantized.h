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

/// Rows of numbers of a few bits in bytes; their scales, one a block; and zero points, packed as
/// the numbers are or floats, which may be null.
struct BlockOperands {
  Value numbers, scales, zeros;
};

/// Whether `given` has `count` elements, as far as its size is known; reports.
bool hasCount(NodeImport &n, Value given, int64_t count, llvm::StringRef what);

/// Whether zero points of weights as blockWeights has them, if any, are one for each block;
/// reports.
bool hasZeroPoints(NodeImport &n, Value zeros, int64_t rows, int64_t blocks, int64_t bits);

/// Weights of com.microsoft's operators as [columns, rows] of f32: what are columns here are rows
/// in the operands. Null where `n` has reported.
Value blockWeights(NodeImport &n, const BlockOperands &given, int64_t rows, int64_t columns,
                   int64_t bits, int64_t block);

/// What is multiplied by such weights may be rounded to bytes, where the node's accuracy_level says
/// so.
void markByteRows(NodeImport &n, Value weights);

/// Whether `v` is a constant of which constantEntry takes parts.
bool isCuttableConstant(Value v);
/// Entry `index` of the first dimension of a constant, a constant, too: it stays in the file where
/// it is large. Null for other values.
Value constantEntry(NodeImport &n, Value v, int64_t index);

/// What DequantizeLinear makes of a constant matrix of integers, of which `block` entries along
/// `axis` share one of `scales`, a constant or not; `zeros` may be null. Null, and nothing is
/// reported, where it is to be computed otherwise.
Value dequantizedBlocks(NodeImport &n, Value q, Value scales, Value zeros, int64_t axis,
                        int64_t block);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_BLOCKQUANTIZED_H
