//===- WeightOnlyPanels.h - how weights of a few bits are read ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_WEIGHTONLYPANELS_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_WEIGHTONLYPANELS_H

#include "compiler/codegen/cpu/schedule/RegisterTiles.h"
#include "dialects/weir/BlockQuantized.h"

namespace weir {

/// Columns of a panel.
inline constexpr int64_t weightOnlyPanel = 32;

/// Rows of the weights whose floats are on the stack at a time: whole blocks.
int64_t weightOnlyDepth(DequantizeBlocksOp weights);
/// Up to so many rows of a part are computed without the stack.
int64_t weightOnlyFewRows(int64_t lanes, int64_t partRows);
/// So many of them at a time.
int64_t weightOnlyDirectRows(int64_t lanes);

/// Whether rows of the product by `weights` become bytes: the model lets them
/// (byteRowsAttribute), the unit adds products of bytes, and blocks are whole.
bool addsBytes(DequantizeBlocksOp weights, const VectorUnit &unit);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_WEIGHTONLYPANELS_H
