//===- GemmPanels.h - products by panels of packed columns -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_GEMMPANELS_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_GEMMPANELS_H

#include "compiler/codegen/cpu/schedule/Strategy.h"

namespace weir {

/// Rows of a product of bf16 from which long sums are cut: that they are packed pays.
inline constexpr int64_t fewestRowsOfCutSums = 128;

/// Whether the kernel is a product or convolution that earlier passes have marked for the
/// processor's unit of narrow elements, matrix tiles or bytes on vectors, with what can be computed
/// on its sums.
bool isPanelGemm(const KernelRequest &request);

/// What offload devices read stays as it is: where the host stands in for one, such a kernel copies
/// panels to its stack. (Else packOperands arranges the operand.)
void readPlainPanels(plan::ScheduleBuilder &s, const KernelRequest &request);

/// Parts of a kernel that multiplies by panels of 32 columns, `height` rows of results at
/// a time: so many rows that the left operand's share stays in the second-level cache
/// while panels pass. A convolution's parts are whole lines, and all of one size where
/// their number is known. Sets the tile, of vectors of `lanes`, for bf16 the block of the
/// sum, and for matrix tiles (`hasTiles`) whether windows are brought to the stack.
llvm::SmallVector<int64_t> gemmPanelTiles(plan::ScheduleBuilder &s, mlir::Operation *anchor,
                                          int64_t height, int64_t lanes, bool hasTiles);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_GEMMPANELS_H
