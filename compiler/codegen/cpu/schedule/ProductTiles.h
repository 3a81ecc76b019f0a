//===- ProductTiles.h - how products and convolutions are cut ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the strategies of plain products and convolutions share with those whose register
// tiles add pairs of products of bf16. Each sets the tile and what belongs to it, and returns
// the parts that the range counts. Pure; from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PRODUCTTILES_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PRODUCTTILES_H

#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "dialects/weir/Arranged.h"

namespace weir {

/// Steps of the sum along the left operand's last dimension, 32 or 64 bits each: its elements,
/// or pairs of bf16. May be ShapedType::kDynamic.
inline int64_t stepsAlong(mlir::Operation *anchor) {
  int64_t size =
      llvm::cast<mlir::RankedTensorType>(anchor->getOperand(0).getType()).getShape().back();
  return multipliesPairs(anchor) && !mlir::ShapedType::isDynamic(size) ? size / 2 : size;
}

/// Vectors of columns that a single row's sums have at once. Of weights they are of several panels,
/// side by side, of so many vectors each: as many streams of memory are faster than one.
inline constexpr int64_t vectorsOfRow = 8, vectorsOfNarrowPanel = 2;

/// `unit` has lanes for the sums; the right operand is a constant that will lie in panels, or not.
llvm::SmallVector<int64_t> gemmTiles(plan::ScheduleBuilder &s, plan::KernelOp kernel,
                                     DotGeneralOp dot, const VectorUnit &unit, bool isConstant,
                                     const TileChoice &choice);
llvm::SmallVector<int64_t> convolutionTiles(plan::ScheduleBuilder &s, plan::KernelOp kernel,
                                            ConvOp conv, const VectorUnit &unit,
                                            const TileChoice &choice);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PRODUCTTILES_H
