//===- Tiles.h - register tiles of products and convolutions -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_TILES_H
#define WEIR_COMPILER_CODEGEN_CPU_TILES_H

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/VectorReader.h"
#include "dialects/weir/BlockedSums.h"

namespace weir {

/// A block of results that stays in vector registers while its sums run: `rows`
/// results next to each other in one dimension, each `vectors` registers of
/// `lanes` elements along the last one.
struct TileShape {
  int64_t rows = 1, vectors = 1, lanes = 16;
  int64_t width() const { return vectors * lanes; }
};

/// Where sums wait between blocks of a long reduction: a tile's rows `pitch`
/// elements apart from `first` on.
struct PartialSums {
  mlir::Value pointer, first;
  int64_t pitch = 0;
  bool isFirst = false; ///< nothing lies there yet
  bool isLast = false;  ///< this block ends the reduction: results follow from its sums
  /// Whether nothing lies there yet, where running shows it: zeros are added then. May be null.
  mlir::Value isFirstIf = {};
  /// They wait in the result, where there is no room for lanes beyond its columns.
  bool isInResult = false;
};

/// Where a tile's operands lie. Loop indices are those of the reduction.
struct TileOperands {
  /// Scalar of the left operand for a row; null: it is zero.
  llvm::function_ref<mlir::Value(int64_t row, mlir::ValueRange loops)> left;
  /// Pointer and linear index of the right operand for a vector.
  llvm::function_ref<std::pair<mlir::Value, mlir::Value>(int64_t vector, mlir::ValueRange loops)>
      right;
  /// Whether vectors of the right operand may be read beyond the last column:
  /// panels are filled up with zeros.
  bool isPadded = false;
  /// Elements of the right operand where they are narrower than a step's, f16 or bf16.
  mlir::Type narrow = nullptr;
  /// Called at every step of the sum, for what will be needed later; may be null.
  llvm::function_ref<void(mlir::ValueRange loops)> prefetch = nullptr;
  /// What lies here is added to the sums, which, unless the block is the last, end here;
  /// none: results follow.
  std::optional<PartialSums> partial = std::nullopt;
  /// Of sums of floats: which of their loops are otherwise than over all there is.
  NestForm form = {};
  /// Whether a step adds pairs of products of bf16, words of both operands, whatever the anchor
  /// is of.
  bool addsPairs = false;
};

/// The kernel's argument behind what turns or unpacks it.
mlir::BlockArgument bufferBehind(mlir::Value value);

/// The right operand of a tile's sums as it lies in memory: [A…, N], or panels
/// [ceil(N / width), A…, width] behind `unpack_panels`; rows of bf16 in panels of pairs
/// (packRows) as words, which hold two rows of a column each; f16 and bf16 behind a cast as
/// they are.
struct ColumnsOperand {
  KernelBuilder::Buffer buffer;
  bool isPacked = false;
  bool isTurned = false; ///< [A…, N, K]: its columns lie as lines, which are copied
  mlir::Type narrow;     ///< of elements that become f32 where they are read; null: none do
  mlir::Value firstLine; ///< of a slice of `buffer` along its last dimension but one; null: 0

  ColumnsOperand(KernelBuilder &r, mlir::Value operand);
  /// Size of dimension `i` of A….
  mlir::Value dim(int64_t i) const { return buffer.dims[i + isPacked]; }
  /// The line of `buffer` where matrix `number` begins, which has so many `lines`. Not of panels.
  mlir::Value lineOf(KernelBuilder &r, mlir::Value number, mlir::Value lines) const;
  /// Linear index of column `column` + `lane` at `row`, which counts A… row-major
  /// out of `rows`; `panel` is column / width.
  mlir::Value linear(KernelBuilder &r, mlir::Value rows, mlir::Value row, mlir::Value panel,
                     mlir::Value column, int64_t lane) const;

  /// Whether it pays to fetch the panel after the one that tiles read: it is a
  /// constant that the second-level cache does not hold, and several tiles pass
  /// by each panel, which share the work. The kernel may say otherwise.
  bool wantsPrefetch(plan::KernelOp kernel, int64_t tilesInPanel) const;
  /// Fetches the part of the panel after `panel` that belongs to step `row` of
  /// tile number `tile` out of `tilesInPanel`, or of `tiles` where these may be fewer.
  void prefetch(KernelBuilder &r, mlir::Value rows, mlir::Value row, mlir::Value panel,
                mlir::Value tile, int64_t tilesInPanel, mlir::Value tiles = {}) const;
};

/// Which lanes of a tile's vectors from `column` on exist: null where all do, as they
/// do of every vector where `columns` is null.
llvm::SmallVector<mlir::Value> laneMasks(KernelBuilder &r, const TileShape &shape,
                                         mlir::Value column, mlir::Value columns);

/// Emits one tile: sums over `loops`, then the kernel's elementwise operations,
/// then stores. `indexOfRow` gives the result's indices of a row, the last of
/// them excluded; `column` is the first column; columns from `columns` on do
/// not exist (null: all do).
void emitTile(KernelBuilder &r, plan::KernelOp kernel, mlir::Operation *anchor,
              const TileShape &shape, llvm::ArrayRef<mlir::Value> loops,
              const TileOperands &operands,
              llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t row)> indexOfRow,
              mlir::Value column, mlir::Value columns);

/// The end of a tile: what follows its sums, row by row, in the kernel, and stores.
void storeTile(KernelBuilder &r, plan::KernelOp kernel, mlir::Operation *anchor,
               const TileShape &shape, llvm::ArrayRef<mlir::Value> sums,
               llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t row)> indexOfRow,
               mlir::Value column, mlir::Value columns);

/// Runs `body(first)` for first = begin, begin + step, …, before `end`.
void emitStepLoop(KernelBuilder &r, mlir::Value begin, mlir::Value end, int64_t step,
                  llvm::function_ref<void(mlir::Value)> body);

/// A loop over the blocks of `length`, 1 at least, that [begin, end) has elements of.
mlir::scf::ForOp createBlockLoop(KernelBuilder &r, mlir::Value begin, mlir::Value end,
                                 mlir::Value length);

/// Says of a loop that LLVM is not to unroll it.
void forbidUnrolling(mlir::scf::ForOp loop);
/// Says of a loop that LLVM is not to make vectors of its elements.
void forbidVectors(mlir::scf::ForOp loop);

/// `count` elements on the stack, 64-byte aligned.
mlir::Value stackElements(KernelBuilder &r, mlir::Type element, int64_t count);
inline mlir::Value stackFloats(KernelBuilder &r, int64_t count) {
  return stackElements(r, r.b.getF32Type(), count);
}

/// What a tile of `anchor`'s results holds, as it lies in memory.
mlir::Type tileElement(mlir::Operation *anchor);
/// What a step of the sum multiplies, as it lies in memory: the same, or, where pairs of
/// products of bf16 are added, words of 32 bits that hold two elements each.
mlir::Type stepElement(mlir::Operation *anchor);
/// The left operand of a product or convolution by such elements: its last dimension counts
/// them.
KernelBuilder::Buffer leftOperand(KernelBuilder &r, mlir::Operation *anchor);
/// Such an element.
mlir::Value loadStep(KernelBuilder &r, mlir::Operation *anchor, mlir::Value pointer,
                     mlir::Value linear);

/// Depthwise convolutions and pools: see Windows.cpp.
void emitWindows(KernelBuilder &r, plan::KernelOp kernel, mlir::Operation *anchor,
                 mlir::Value begin, mlir::Value end);

/// Depthwise convolutions of bytes whose filter packWindows has packed: see ByteWindows.cpp.
void emitByteWindows(KernelBuilder &r, plan::KernelOp kernel, ConvOp conv, mlir::Value begin,
                     mlir::Value end);

/// Transposes as many vectors as they have lanes, a power of two.
void turn(mlir::OpBuilder &b, mlir::Location loc, llvm::SmallVectorImpl<mlir::Value> &rows);

/// Runs `yes` or `no`, whichever `condition` says.
void emitEither(KernelBuilder &r, mlir::Value condition, llvm::function_ref<void()> yes,
                llvm::function_ref<void()> no);

/// Whether `tensor` is a buffer of the kernel without gaps, of elements of whole bytes: neighbours
/// can be copied at once.
bool isWholeBuffer(KernelBuilder &r, mlir::Value tensor);

/// Copies `count` elements from the one of number `from` in `source` to that of number `to` in
/// `target`, which has the same element type: whole bytes.
void copyElements(KernelBuilder &r, const KernelBuilder::Buffer &source, mlir::Value from,
                  const KernelBuilder::Buffer &target, mlir::Value to, mlir::Value count);

/// Copies the row of `source` along its last dimension that begins at `from` to `to` in
/// `target`.
void copyRow(KernelBuilder &r, const KernelBuilder::Buffer &source, mlir::ValueRange from,
             const KernelBuilder::Buffer &target, mlir::ValueRange to);

/// Turns `at`, the first indices into the result of `pad`, into those of its operand. Returns
/// whether there is such an element; null: there always is.
mlir::Value insidePadding(KernelBuilder &r, mlir::ValueRange at, PadOp pad,
                          llvm::SmallVectorImpl<mlir::Value> &inside);

/// Reductions of f32, f64 or integers on vectors, of kind sum, mean, max, min or prod: what a lane
/// begins with, and both vectors in one. `element` is what tensors have; vectors of integers are of
/// its storage type.
mlir::Value startOfLanes(KernelBuilder &r, ReduceKind kind, mlir::Type element, int64_t lanes);
mlir::Value reduceLanes(KernelBuilder &r, ReduceKind kind, mlir::Type element, mlir::Value x,
                        mlir::Value y);

/// A vector of sums divided by how many elements they have.
mlir::Value meanOf(KernelBuilder &r, VectorReader &v, mlir::Value sums, mlir::Value count);

/// Runs `full` for whole tiles of `size` out of `count`, and `rest` for what is left over.
void emitTiled(KernelBuilder &r, int64_t count, int64_t size,
               llvm::function_ref<void(mlir::Value first)> full,
               llvm::function_ref<void(mlir::Value first, int64_t left)> rest);

/// Runs `tile(first, rows)` so that each of `count` rows is in one tile of
/// `size` rows or fewer. What a number of rows known only at run time leaves over goes by
/// tiles of powers of two: single rows would wait for their own sums.
void emitRowTiles(KernelBuilder &r, mlir::Value count, int64_t size,
                  llvm::function_ref<void(mlir::Value first, int64_t rows)> tile);

/// Rows of a block.
struct RowBlock {
  mlir::Value first, count;
};
/// Block `number` of `rows`, of which one has at most `most`: as many tiles of `size` as others
/// have, or one more, so that threads, which get as many blocks each, get as many rows.
RowBlock evenBlock(KernelBuilder &r, mlir::Value rows, int64_t most, int64_t size,
                   mlir::Value number);

/// Emits `emit(vectors, limit)` for the panel of columns that starts at
/// `column`: a whole panel of the tile's width, or what is left of the last one
/// (with a limit where lanes go beyond it).
void emitPanel(KernelBuilder &r, int64_t staticColumns, mlir::Value columns, mlir::Value column,
               const TileShape &shape,
               llvm::function_ref<void(int64_t vectors, mlir::Value limit)> emit);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_TILES_H
