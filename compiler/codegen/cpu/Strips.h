//===- Strips.h - products by rows at one distance ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What products of bf16 and of bytes share: blocks of rows by panels of 32 columns
// of a constant, by the tiles of AMX (Intel 64 and IA-32 manual, volume 1,
// "Programming with Intel AMX") or by vectors. Sums of a block go through the stack
// to the elementwise operations that follow, a vector at a time.
//
// The left operand's rows are at one distance within a strip: all rows of a
// matrix; the positions of several lines of an image, those of the border
// included, whose results are dropped; or the positions of one line where the
// window moves by more than one. The last block of a strip ends with it, and
// leaves out the results that the block before it has.
//
// Tile registers are named, not allocated: 0 to 3 hold sums, 4 and 5 rows, 6 and 7
// columns.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_STRIPS_H
#define WEIR_COMPILER_CODEGEN_CPU_STRIPS_H

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Weir.h"

namespace weir {

/// A strip of rows at one distance, and where their results go.
struct Strip {
  int64_t positions = 0; ///< rows
  int64_t pitch = 0;     ///< elements from one to the next
  mlir::Value base;      ///< linear index of the first
  /// Indices of a row's results but the last, and whether it has any (null: yes).
  llvm::function_ref<std::pair<llvm::SmallVector<mlir::Value>, mlir::Value>(mlir::Value position)>
      place;
};

/// The product or convolution of a kernel, and its packed weights.
struct PackedProduct {
  mlir::Operation *op = nullptr;
  mlir::BlockArgument weights;
};
/// Failure, after an error: there is none whose weights are packed and whose left
/// operand is a buffer.
mlir::FailureOr<PackedProduct> packedProductOf(plan::KernelOp kernel);

/// Emits a product of bf16 whose kernel has a `depth_block`, for parts from `begin` to `end`.
void emitDeepProduct(KernelReader &r, plan::KernelOp kernel, const PackedProduct &product,
                     mlir::Value begin, mlir::Value end);

class StripEmitter {
public:
  /// `element`: LLVM's type of an element of both operands.
  StripEmitter(KernelReader &r, plan::KernelOp kernel, const PackedProduct &product,
               mlir::Type element);

protected:
  static constexpr int64_t width = 32;     ///< columns of a panel
  static constexpr int64_t tileBytes = 64; ///< of a tile's row

  void call(llvm::StringRef name, mlir::ValueRange arguments);
  mlir::Value tile(int64_t number);
  mlir::Value i64(int64_t value);
  mlir::Value stackBytes(int64_t count);
  mlir::Value byteAddress(mlir::Value pointer, mlir::Value byte);

  /// For blocks of `rows` rows, whose two tiles share them, and overlap by one where the
  /// number is odd; a tile of the left operand has `leftBytes` a row, one of the right
  /// operand `rightRows` rows.
  void configureTiles(int64_t leftBytes, int64_t rightRows);
  void clearTiles();
  /// Where two tiles of rows lie. In elements.
  struct TileRows {
    mlir::Value pointer, first;
    int64_t pitch = 0;  ///< from a row to the next
    int64_t second = 0; ///< from the first tile to the second
    /// They are not to take columns' place in the first-level cache.
    bool isPassing = false;
  };
  /// Adds a step of the sum: those rows, columns from the weights' `right`.
  void multiplyTiles(llvm::StringRef product, const TileRows &rows, mlir::Value right);
  /// Rows from the left operand's `at`.
  void multiplyTiles(llvm::StringRef product, const Strip &strip, mlir::Value at,
                     mlir::Value right) {
    multiplyTiles(product, {left.pointer, at, strip.pitch, second * strip.pitch}, right);
  }
  /// Fetches, to the second-level cache, share number `share` out of `sharers` of what a
  /// step of the sum reads of the weights from element `first` on. Weights that the cache
  /// keeps anyway are left alone.
  void fetchColumns(mlir::Value first, mlir::Value share, int64_t sharers);
  /// The sums as rows of `width` f32, to a block on the stack.
  void storeTiles(mlir::Value block);

  /// The strip of a matrix, but for its place.
  Strip stripOf(DotGeneralOp dot);
  /// The strip of an image's lines, or of one of them, but for its base and place.
  Strip stripOf(ConvOp conv);
  /// Calls `body` with the blocks and the panel of each part.
  void eachPart(DotGeneralOp dot, Strip strip, mlir::Value begin, mlir::Value end,
                llvm::function_ref<void(const Strip &, mlir::Value first, mlir::Value last,
                                        mlir::Value panel)>
                    body);
  /// Calls `body` with all blocks of each strip of a part, of which `before` lie before
  /// it, and the panel.
  void eachPart(ConvOp conv, Strip strip, mlir::Value begin, mlir::Value end,
                llvm::function_ref<void(const Strip &, mlir::Value count, mlir::Value before,
                                        mlir::Value panel)>
                    body);
  /// Computes what follows the sums of a block's rows from `from` to `to`, and stores
  /// the first `present` columns of the panel at `column`. `sums` are those from an
  /// element of the block on. Where `isStreamed` (null: nowhere), results go past the
  /// caches; then they lie at multiples of a vector's size.
  void finishRows(const Strip &strip, mlir::Value start, mlir::Value from, mlir::Value to,
                  mlir::Value column, int64_t present, int64_t lanes,
                  llvm::function_ref<mlir::Value(VectorReader &, mlir::Value)> sums,
                  mlir::Value isStreamed = nullptr);

  KernelReader &r;
  mlir::OpBuilder &b;
  plan::KernelOp kernel;
  mlir::Operation *hero;
  const KernelReader::Buffer weights, left;
  mlir::Type element;
  int64_t elementBytes;
  llvm::ArrayRef<int64_t> parts;
  mlir::Value scratch;
  int64_t depth = 0;  ///< rows of the weights
  int64_t rows = 0;   ///< of the blocks of this kernel
  int64_t second = 0; ///< where the second tile of rows begins

private:
  bool isFlat(ConvOp conv);
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_STRIPS_H
