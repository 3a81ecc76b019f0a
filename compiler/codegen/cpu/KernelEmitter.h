//===- KernelEmitter.h - the emitters behind kernel strategies ---*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_KERNELEMITTER_H
#define WEIR_COMPILER_CODEGEN_CPU_KERNELEMITTER_H

#include "compiler/codegen/kernel/KernelBuilder.h"

namespace weir {

struct Attention;
struct AttentionGradient;

/// Emits the function of `kernel` before it: weir_kernel_fn named `symbol`. With
/// `range` it is only ever called for all of [0, range), and computes that.
mlir::LogicalResult emitKernel(plan::KernelOp kernel, llvm::StringRef symbol,
                               std::optional<int64_t> range, SiteTable &sites);

// What strategies (schedule/Strategy.h) emit at the builder's insertion point: the part
// [begin, end) of the kernel's range.

/// Element by element, in two forms where dimensions of unknown size may broadcast: one for
/// when none does, nearly always, which vectorises, and one for the rest.
void emitLoops(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin, mlir::Value end);

/// Elements [begin, end) of a kernel of elementwise operations over open sizes, whose
/// dimensions are collapsed when it runs.
void emitFlatElements(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                      mlir::Value end);

/// Emits the results' elements at `indices`. What follows `lead` reads it at the result's own
/// index; without one it is computed wherever it is read.
void emitElements(KernelBuilder &reader, mlir::Block &body, ElementalOpInterface lead,
                  mlir::ValueRange indices);

/// Loops over the lines [begin, end) of all that `dims` count (one without any), one within the
/// last of them, so that divisions are as many as those before it, and vectors may go across lines.
/// Goes on in the inner one; returns a line's indices.
llvm::SmallVector<mlir::Value> emitLineLoops(KernelBuilder &reader,
                                             llvm::ArrayRef<mlir::Value> dims, mlir::Value begin,
                                             mlir::Value end);

/// Matrix products and convolutions by register tiles.
mlir::LogicalResult emitGemm(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                             mlir::Value end);
mlir::LogicalResult emitConvolution(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                                    mlir::Value end);

/// The gradient of a filter, as a convolution of operands that lie turned around.
void emitFilterGradient(KernelBuilder &reader, plan::KernelOp kernel, ConvOp conv,
                        mlir::Value begin, mlir::Value end);

/// Convolutions with a window of 3x3 by 16 products in place of 36.
mlir::LogicalResult emitWinograd(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                                 mlir::Value end);

/// Products by weights of a few bits.
mlir::LogicalResult emitWeightOnly(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                                   mlir::Value end);

/// Matrix products and convolutions on bf16 operands, by the processor's matrix tiles.
mlir::LogicalResult emitGemmAmxBf16(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                                    mlir::Value end);

/// Matrix products and convolutions on bytes, with sums of 32 bits.
mlir::LogicalResult emitGemmInt8(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                                 mlir::Value end);

/// Two products around a softmax, by blocks of queries and keys.
mlir::LogicalResult emitAttention(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                                  mlir::Value end);
/// Attention's gradient, a head a part.
void emitAttentionGradient(KernelBuilder &reader, plan::KernelOp kernel, AttentionGradient gradient,
                           mlir::Value begin, mlir::Value end);
/// Attention without vectors, for what is made for accelerators alone.
void emitAttentionRows(KernelBuilder &reader, plan::KernelOp kernel, Attention attention,
                       mlir::Value begin, mlir::Value end);

/// Passes along lines: reductions and what is between them.
mlir::LogicalResult emitRowReduction(KernelBuilder &reader, plan::KernelOp kernel,
                                     mlir::Value begin, mlir::Value end);

/// Windows and reductions whose results lie next to each other in vectors.
mlir::LogicalResult emitLanes(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                              mlir::Value end);

/// Running reductions, a line of the axis at a time.
mlir::LogicalResult emitScan(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                             mlir::Value end);

/// Walks through decision trees, several at once.
mlir::LogicalResult emitTrees(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                              mlir::Value end);

/// The border of a padding whose inside is there already.
mlir::LogicalResult emitPadBorder(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                                  mlir::Value end);

/// Look-ups of what is computed of single bytes, in a table of all of them that each part makes.
void emitByteTable(KernelBuilder &reader, plan::KernelOp kernel, mlir::Value begin,
                   mlir::Value end);

/// A transposition that moves the last dimension, by blocks.
mlir::LogicalResult emitTransposition(KernelBuilder &reader, plan::KernelOp kernel,
                                      mlir::Value begin, mlir::Value end);

/// One sequential pass: copies the operand, then applies the updates in order.
mlir::LogicalResult emitScatter(KernelBuilder &reader, plan::KernelOp kernel);

/// Emits the host's form of a kernel that sorts, at the builder's insertion point: a
/// call, whose outcome is the kernel's.
void emitSortCall(KernelBuilder &reader, plan::KernelOp kernel, SiteTable &sites);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_KERNELEMITTER_H
