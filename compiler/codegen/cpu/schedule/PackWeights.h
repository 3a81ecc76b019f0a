//===- PackWeights.h - constant right operands in panels --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PACKWEIGHTS_H
#define WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PACKWEIGHTS_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/Weir.h"

namespace weir {

/// Right operands of up to so many bytes stay in the first-level cache anyway.
inline constexpr int64_t smallRightOperand = 1 << 17;
/// Fewer tiles of rows than these are not worth a copy of what they read.
inline constexpr int64_t fewTilesOfRows = 4;

/// Gives a kernel with register tiles its constant right operand (a product's
/// matrix, a convolution's filter) in panels as wide as a tile: the columns that
/// a step of the sum reads then lie next to each other, and the next step's
/// behind them. Groups of a convolution that are no whole vectors are a panel each, as wide as
/// they are. Replaces the constant among `operands`, those of the launch, and
/// makes the kernel read it through `unpack_panels`; where there are few rows, weights of f16
/// and bf16 stay such behind a cast. A right operand that the
/// program computes is replaced by a transposition into panels, which is returned
/// and needs a kernel of its own, or the schedule gets `copiesPanels` (the kernel copies
/// panels to its stack) and larger parts, where either pays. New operations are built at
/// `b`'s insertion point.
TransposeOp packColumns(mlir::OpBuilder &b, plan::KernelOp kernel,
                        llvm::SmallVectorImpl<mlir::Value> &operands);

/// A left operand of known size that another kernel exchanges the last two dimensions of, for
/// products alone, is read as it was before: the rows of a tile lie next to each other then.
void readLeftTurned(plan::KernelOp kernel, DotGeneralOp dot,
                    llvm::SmallVectorImpl<mlir::Value> &operands);

/// Where products of bytes are added as pairs, of panels brought to the stack, so many vectors of
/// columns are added up at a time, which leaves room for five rows in 16 registers.
inline constexpr int64_t vectorsOfPairs = 2;
/// Where two steps are added at a time (PairedSteps), and a panel is as many vectors: a panel is
/// read once for three rows. To read half of it for five, twice, takes longer.
inline constexpr int64_t vectorsOfPairedSteps = 4, rowsOfPairedSteps = 3;

/// Of a convolution of bytes in groups whose columns are no whole panels of `matrixPanel`, and
/// which has panels for each group therefore: the columns of a group. 0: of everything else.
int64_t columnsOfLooseGroup(mlir::Operation *anchor);

/// The same for kernels that multiply by panels of packed rows (packRows); where the program
/// computes the right operand, the schedule gets `copiesPanels`. Each group of columnsOfLooseGroup
/// begins a panel.
void packPanels(mlir::OpBuilder &b, plan::KernelOp kernel,
                llvm::SmallVectorImpl<mlir::Value> &operands);

/// The same for kernels whose register tiles add pairs of products (multipliesPairs): packed
/// rows in panels as wide as a tile.
void packPairs(mlir::OpBuilder &b, plan::KernelOp kernel,
               llvm::SmallVectorImpl<mlir::Value> &operands);

/// Gives a depthwise convolution of bytes its constant filter [H, W, 1, C] as [H / 4, W, C, 4],
/// four lines side by side, filled up with zeros (quadWindowsOf). The kernel undoes it by a
/// transposition, reshapes and a slice, which its emitter looks through.
void packWindows(mlir::OpBuilder &b, ConvOp conv, llvm::SmallVectorImpl<mlir::Value> &operands);

/// Brings a constant that a kernel reads as `argument`, behind `weights`, into panels:
/// [A…, C, N] as [ceil(N / width), A…, C / 2, width, 2]: panels of `width` columns in which
/// two rows that follow each other lie side by side, as bf16 are multiplied (Intel 64 and
/// IA-32 manual, TDPBF16PS, VDPBF16PS). The last panel may hold more columns than there are.
/// The kernel undoes it by a transposition, unpack_panels and a reshape, which its emitter
/// looks through. Four rows of bytes likewise (TDPBUSD, VPDPBUSD).
void packRows(mlir::OpBuilder &b, mlir::OpOperand *weights, mlir::BlockArgument argument,
              mlir::Value &operand, int64_t width);
/// Makes the kernel read `weights`, its `argument`, from panels of type `packed`.
void readPanels(mlir::OpOperand *weights, mlir::BlockArgument argument, mlir::Type packed);
/// Replaces a constant, which the kernel reads as `argument`, by `packed`.
void replaceConstant(mlir::OpBuilder &b, mlir::TypedAttr packed, mlir::BlockArgument argument,
                     mlir::Value &operand);

/// Of a launch's result, an operand of `user`, whose kernel does nothing but transpose: that
/// transposition; or null.
TransposeOp transpositionOf(plan::KernelOp user, mlir::Value operand);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_SCHEDULE_PACKWEIGHTS_H
