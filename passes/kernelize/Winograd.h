//===- Winograd.h - convolutions with fewer multiplications ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_KERNELIZE_WINOGRAD_H
#define WEIR_PASSES_KERNELIZE_WINOGRAD_H

#include "passes/kernelize/Tiling.h"

namespace weir {

/// Gives a kernel of strategy `convolution` the strategy `winograd` where it pays:
/// window 3x3 that moves by one, constant filter, f32, sizes known and even, channels
/// that fill vectors, and enough of everything. F(2x2, 3x3) of Lavin and Gray 2015,
/// arXiv:1509.09308: 16 multiplications instead of 36 for each 2x2 results.
///
/// The filter's constant in `operands` is replaced by the transformed one, in panels
/// [ceil(K / width), 16, C, width], zero beyond K; in the kernel it stands behind an
/// unrealized_conversion_cast. `tile` is the register tile of the 16 products, `tiles`
/// cuts images, lines, columns and channels; what `choice` says of them is so. True: it
/// did.
bool useWinograd(mlir::OpBuilder &b, plan::KernelOp kernel,
                 llvm::SmallVectorImpl<mlir::Value> &operands, const VectorUnit &unit,
                 const TileChoice &choice);

} // namespace weir

#endif // WEIR_PASSES_KERNELIZE_WINOGRAD_H
