//===- AmxRowPanels.h - products by rows at one distance ---------------*- C++ -*-===//
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
// The left operand's rows are at one distance within a row panel: all rows of a
// matrix; the positions of several lines of an image, those of the border
// included, whose results are dropped; or the positions of one line where the
// window moves by more than one. Where such lines are short, a part brings what the
// windows of all its positions hold to its stack first, once for all panels that a
// thread multiplies with them (`packs_rows`). The last block of a row panel ends with
// it, and leaves out the results that the block before it has.
//
// Tile registers are named, not allocated: 0 to 3 hold sums, 4 and 5 rows, 6 and 7
// columns.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_AMXROWPANELS_H
#define WEIR_COMPILER_CODEGEN_CPU_AMXROWPANELS_H

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Weir.h"

namespace weir {

/// A row panel of rows at one distance, and where their results go.
struct RowPanel {
  mlir::Value positions; ///< rows
  int64_t pitch = 0;     ///< elements from one to the next
  /// Rows of a line, where lines of an image follow each other without what is between them;
  /// `linePitch` elements are from one line to the next. 0: all rows are at one distance.
  int64_t span = 0, linePitch = 0;
  bool hasGaps = false; ///< there are rows without results
  mlir::Value base;     ///< linear index of the first
  mlir::Value matrix;   ///< of products: the number of the matrix among those of the batch
  /// Indices of a row's results but the last, and whether it has any (null: yes).
  llvm::function_ref<std::pair<llvm::SmallVector<mlir::Value>, mlir::Value>(mlir::Value position)>
      place;
};

/// A loop of the sum: how often, and how far it takes the left operand and the rows
/// of the right one.
struct SumLoop {
  int64_t count;
  mlir::Value left;
  int64_t rows;
};

/// The product or convolution of a kernel, and its packed weights.
struct PackedGemm {
  mlir::Operation *op = nullptr;
  mlir::BlockArgument weights;
};
/// Failure, after an error: there is none whose weights are packed and whose left
/// operand is a buffer.
mlir::FailureOr<PackedGemm> packedGemmOf(plan::KernelOp kernel);

/// Emits a product of bf16 whose kernel has a `depth_block`, for parts from `begin` to `end`.
void emitGemmAmxBf16BlockedK(KernelBuilder &r, plan::KernelOp kernel, const PackedGemm &product,
                             mlir::Value begin, mlir::Value end);

class AmxRowPanelEmitter {
public:
  /// `element`: LLVM's type of an element of both operands.
  AmxRowPanelEmitter(KernelBuilder &r, plan::KernelOp kernel, const PackedGemm &product,
                     mlir::Type element);

protected:
  static constexpr int64_t width = 32;     ///< columns of a panel
  static constexpr int64_t tileBytes = 64; ///< of a tile's row

  void call(llvm::StringRef name, mlir::ValueRange arguments);
  mlir::Value tile(int64_t number);
  mlir::Value i64(int64_t value);
  mlir::Value stackBytes(int64_t count);
  mlir::Value byteAddress(mlir::Value pointer, mlir::Value byte);

  /// For blocks of `count` rows (32 at most; a number that shows when the program runs,
  /// too), whose two tiles share them, and overlap by one where the number is odd; a tile
  /// of the left operand has `leftBytes` a row, one of the right operand `rightRows` rows.
  void configureTiles(mlir::Value count, int64_t leftBytes, int64_t rightRows);
  void clearTiles();
  /// Where two tiles of rows lie. In elements.
  struct TileRows {
    mlir::Value pointer, first;
    int64_t pitch = 0;  ///< from a row to the next
    mlir::Value second; ///< from the first tile to the second
    /// They are not to take columns' place in the first-level cache.
    bool isPassing = false;
  };
  /// Adds a step of the sum: those rows, columns from the weights' `right`.
  void multiplyTiles(llvm::StringRef product, const TileRows &rows, mlir::Value right);
  /// Calls `body` with each step of the sum: where the left operand is, from `at` on, and the row
  /// of the right one, from `row` on.
  void eachStep(llvm::ArrayRef<SumLoop> loops, mlir::Value at, mlir::Value row,
                llvm::function_ref<void(mlir::Value at, mlir::Value row)> body);
  /// Adds all steps of the sum for rows from `base` on: `product` multiplies one, and
  /// `beside` is called with the row of the weights at which it begins.
  void sumTiles(llvm::StringRef product, llvm::ArrayRef<SumLoop> loops, const RowPanel &rowPanel,
                mlir::Value base, mlir::Value panelBase,
                llvm::function_ref<void(mlir::Value row)> beside = nullptr);
  /// The loops over a window, whose steps read `step` elements that lie next to each other.
  llvm::SmallVector<SumLoop> windowLoops(ConvOp conv, int64_t step);
  /// How many of a window's elements lie next to each other in a line.
  static int64_t runOf(ConvOp conv);
  /// Fetches, to the second-level cache, share number `share` out of `sharers` of what a
  /// step of the sum reads of the weights from element `first` on. Weights that the cache
  /// keeps anyway are left alone.
  void fetchColumns(mlir::Value first, mlir::Value share, int64_t sharers);
  /// How many blocks of `height` of a product's rows share that. Of an open number of rows: of a
  /// short text; where there are more blocks, they fetch what others fetch later.
  int64_t sharersOf(const RowPanel &rowPanel, int64_t height);
  /// The sums as rows of `width` f32, to a block on the stack.
  void storeTiles(mlir::Value block);

  /// Sizes of what the kernel computes.
  const llvm::SmallVector<mlir::Value> &sizes() { return target.dims; }
  /// The row panel of a matrix, but for its place.
  RowPanel stripOf(DotGeneralOp dot);
  /// The row panel of `lines` lines of an image, or of one of them, but for its base and place.
  RowPanel stripOf(ConvOp conv, mlir::Value lines);
  /// Calls `body` with the first and last of the blocks of `height` rows, and the panel, of
  /// each part.
  void eachPart(DotGeneralOp dot, RowPanel rowPanel, int64_t height, mlir::Value begin,
                mlir::Value end,
                llvm::function_ref<void(const RowPanel &, mlir::Value first, mlir::Value last,
                                        mlir::Value panel)>
                    body);
  /// Calls `body` with each row panel of a part, of which `before` lie before it, and the panel.
  /// Where it `joinsLines`, rows of all lines of a part are one panel.
  void
  eachPart(ConvOp conv, mlir::Value begin, mlir::Value end, bool joinsLines,
           llvm::function_ref<void(const RowPanel &, mlir::Value before, mlir::Value panel)> body);
  /// A place on the stack that remembers a number: none yet.
  mlir::Value noteOnStack();
  /// Emits `make` for where `note` does not hold `number`; then it does.
  void unlessThere(mlir::Value note, mlir::Value number, llvm::function_ref<void()> make);
  /// Makes room for the rows of a part's `positions` windows, cut into steps of `step` elements.
  void reserveRows(int64_t positions, int64_t step);
  /// Brings the windows of `lines`, a row panel of joined lines, there, unless they are the ones
  /// that came before. All rows of a step follow each other. Returns their row panel.
  RowPanel packWindows(ConvOp conv, const RowPanel &lines);
  /// The loop of the sum over such rows.
  SumLoop packedLoop() {
    return {depth / packedStep, r.constant(packedPositions * packedStep), packedStep};
  }
  /// Calls `body` with how many columns the panel at `column` has: all, or those that are left.
  void ofPresent(mlir::Value column, llvm::function_ref<void(mlir::Value present)> body);
  /// Computes what follows the sums of a block's rows from `from` to `to`, and stores
  /// the first `present` columns of the panel at `column`. `sums` are those from an
  /// element of the block on. Where `isStreamed` (null: nowhere), results go past the
  /// caches; then they lie at multiples of a vector's size.
  void finishRows(const RowPanel &rowPanel, mlir::Value start, mlir::Value from, mlir::Value to,
                  mlir::Value column, mlir::Value present, int64_t lanes,
                  llvm::function_ref<mlir::Value(VectorReader &, mlir::Value)> sums,
                  mlir::Value isStreamed = nullptr);

  KernelBuilder &r;
  mlir::OpBuilder &b;
  plan::KernelOp kernel;
  mlir::Operation *anchor;
  const KernelBuilder::Buffer weights, left, target;
  mlir::Type element;
  int64_t elementBytes;
  llvm::ArrayRef<int64_t> parts;
  mlir::Value scratch;
  /// Whether what is read and written with results lies as they do, or is the same for all
  /// rows: places count on past the end of a line, and nothing is divided.
  bool countsOn = false;
  int64_t depth = 0;    ///< rows of the weights
  mlir::Value leftRows; ///< pointer into which rows of sumTiles count
  mlir::Value panels;   ///< pointer into which `right` of multiplyTiles counts
  mlir::Value second;   ///< where the second tile of rows begins
  /// Room for the configuration of tiles; null: it is made when they are configured.
  mlir::Value configuration;
  mlir::Value packedBase; ///< where packWindows remembers what lies there
  int64_t packedPositions = 0, packedStep = 0;

  /// Sizes of a convolution's operand or result as those of images: one along one
  /// dimension has images of one line.
  llvm::SmallVector<mlir::Value> imageSizes(llvm::ArrayRef<mlir::Value> dims);
  /// Numbers for lines and columns of images.
  static std::pair<int64_t, int64_t> ofImage(llvm::ArrayRef<int64_t> numbers) {
    return {numbers.size() == 1 ? 1 : numbers[0], numbers.back()};
  }
  /// The parts of a convolution's result, as those of an image.
  llvm::SmallVector<int64_t> imageParts();
  static bool isFlat(ConvOp conv);
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_AMXROWPANELS_H
