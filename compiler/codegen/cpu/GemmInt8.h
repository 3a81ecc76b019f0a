//===- GemmInt8.h - the emitter of products of bytes ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions of bytes by signed bytes, with sums of 32 bits: by matrix
// tiles (TDPBUSD, TDPBSSD), by vectors whose lanes add four products (VPDPBUSD), or, as
// every processor with AVX2 can, by two multiplications of words of 16 bits, which add
// pairs (VPMADDWD), or by one of bytes that adds pairs to words of 16 bits, which saturate
// (VPMADDUBSW). The right operand lies in panels of 32 columns, four rows side by
// side; one that the program computes is brought there, a panel a part, on the stack. A
// window's neighbours along a line are one run of the sum with their channels; those of
// a group are a run for each of them. Groups whose columns are no whole panels have panels of
// their own.
//
// Two products of a byte of 255 each by signed ones are a word of 16 bits as long as the two
// signed ones' sum is 128 at most, and -128 at least. Of constants it seldom is not. Parts bring a
// panel's bounded part to the stack, with what pairs are beyond that in lists of their own,
// a vector of columns each: so sums are exact, and cost a little more where lists are long.
// Where weights leave so much room that pairs can be added two by two, their order and lists
// were made while compiling (PairedSteps).
//
// Vectors pass by rows that have results alone, where a line is as many blocks as rows or a
// block so many lines: a border of one would be a fifth of what lines of seven cost.
//
// How many rows there are may show when the program runs. Matrix tiles are configured for
// as many; vectors take fewer than a block's by tiles of half as many, a quarter, and so on.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CPU_GEMMINT8_H
#define WEIR_COMPILER_CODEGEN_CPU_GEMMINT8_H

#include "compiler/codegen/cpu/AmxRowPanels.h"
#include "compiler/codegen/cpu/PackedBytes.h"
#include "compiler/codegen/cpu/schedule/PairedSteps.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Target.h"

namespace weir {

class ByteEmitter : AmxRowPanelEmitter {
public:
  ByteEmitter(KernelBuilder &r, plan::KernelOp kernel, const PackedGemm &product)
      : AmxRowPanelEmitter(r, kernel, product, r.b.getI8Type()),
        isSigned(!left.type.getElementType().isUnsignedInteger()),
        copies(kernel.getSchedule()[plan::schedule::copiesPanels]) {
    columns = target.type.getShape().back();
    auto tile = kernel.getSchedule()[plan::schedule::tile];
    most = tile[0];
    atOnce = tile[1];
    lanes = tile[2];
    ByteProducts unit = targetOf(kernel).getByteProducts();
    isTiles = unit == ByteProducts::Blocks;
    packs = kernel.getSchedule()[plan::schedule::packsRows];
    isPairs = unit == ByteProducts::Pairs;
    if (kernel.getSchedule()[plan::schedule::pairedSteps])
      ofMany = Form::Paired;
    else if (isPairs && !copies && hasBoundedPairs(anchor))
      ofMany = Form::Bounded;
    else if (isPairs && depth <= deepestWide)
      ofMany = Form::Wide;
  }

  void product(DotGeneralOp dot, mlir::Value begin, mlir::Value end);
  void convolution(ConvOp conv, mlir::Value begin, mlir::Value end);

private:
  static constexpr int64_t quad = 4; ///< rows side by side

  mlir::VectorType words() { return mlir::VectorType::get({lanes}, b.getI32Type()); }
  mlir::Value splat(int32_t value) {
    return mlir::arith::ConstantOp::create(
        b, r.loc, mlir::SplatElementsAttr::get(words(), b.getI32IntegerAttr(value)));
  }
  mlir::Value loadWords(mlir::Value pointer, mlir::Value byte, bool isVolatile = false) {
    return mlir::LLVM::LoadOp::create(b, r.loc, words(), byteAddress(pointer, byte),
                                      /*alignment=*/4, isVolatile);
  }

  mlir::Value splatHalves(int16_t value) {
    auto halves = mlir::VectorType::get({lanes * 2}, b.getI16Type());
    return mlir::arith::ConstantOp::create(
        b, r.loc, mlir::SplatElementsAttr::get(halves, b.getI16IntegerAttr(value)));
  }
  /// Number `place` of those at `pointer`, of 64 bits each.
  void storeNumber(mlir::Value number, mlir::Value pointer, mlir::Value place);
  mlir::Value loadNumber(mlir::Value pointer, mlir::Value place);
  /// 1 where an element is not zero, else 0.
  mlir::Value isAny(mlir::Value halves);

  /// Makes room for what waits on the stack.
  void reserve();
  void release() {
    if (isTiles)
      call("tilerelease", {});
  }
  /// `sum` and, in each lane, four products.
  mlir::Value addProducts(mlir::Value sum, mlir::Value lefts, mlir::Value rights);
  mlir::Value addPairs(mlir::Value sum, mlir::Value lefts, mlir::Value rights);
  /// The first and the third, and the second and the fourth, byte of each word, as halves of it.
  std::pair<mlir::Value, mlir::Value> spread(mlir::Value fours, bool hasSign);
  /// `sum` and, in each lane, two products of halves.
  mlir::Value addHalves(mlir::Value sum, mlir::Value lefts, mlir::Value rights);
  /// The same where no pair saturates.
  mlir::Value addBounded(mlir::Value sum, mlir::Value lefts, mlir::Value rights);
  /// Brings the panel at `column` of a right operand in plain rows, of which the first is
  /// `firstRow`, to the stack.
  void copyPanel(mlir::Value firstRow, mlir::Value column);
  void copyColumns(mlir::Value firstRow, mlir::Value column, mlir::Value limit);
  /// 128 times the sum of each column of the panel, for left operands that are moved
  /// by as much to have no sign.
  void sumColumns();
  /// Brings the bounded part of the panel that begins at `plain` of the weights to the stack, and
  /// lists what pairs have beyond that.
  void boundPanel(mlir::Value plain);
  /// Spreads the panel that begins at `plain` of `pointer` to halves, on the stack: of four rows
  /// the first and the third, then the others.
  void widenPanel(mlir::Value pointer, mlir::Value plain);
  /// Spreads the elements that `rows` rows from `base` on add up, likewise: the first and the third
  /// of all fours of a row, then the others.
  void widenRows(const RowPanel &rowPanel, mlir::Value base, int64_t rows);
  /// Adds what the list of vector `vector` has to `sums`, its rows' from `base` on.
  void addExcess(const RowPanel &rowPanel, mlir::Value base, int64_t vector,
                 llvm::MutableArrayRef<mlir::Value> sums);
  /// Each row's sum and, in each lane, four products by `right`; the first row's bytes are at
  /// `from`.
  llvm::SmallVector<mlir::Value> addToRows(const RowPanel &rowPanel, mlir::Value from,
                                           mlir::Value right, mlir::ValueRange sums);
  /// What a row of a block is behind the first, in elements of the left operand.
  static int64_t offsetOf(const RowPanel &rowPanel, int64_t row) {
    if (!rowPanel.span)
      return row * rowPanel.pitch;
    return row / rowPanel.span * rowPanel.linePitch + row % rowPanel.span * rowPanel.pitch;
  }
  mlir::Value offsetOf(const RowPanel &rowPanel, mlir::Value row);
  /// How often the loops of the sum turn.
  llvm::SmallVector<mlir::Value> sizesOfLoops();
  /// Where turns `at` of those are in the left operand, from `base` on, and in rows of the right
  /// one.
  std::pair<mlir::Value, mlir::Value> placesOf(mlir::ValueRange at, mlir::Value base);
  /// The four elements of the left operand at `at` in each lane, moved where they have a sign that
  /// the multiplication does not take.
  mlir::Value leftFour(mlir::Value at);
  /// Number of vectors that a panel's columns take, as far as they have results.
  int64_t vectorsOfPanel() const { return llvm::divideCeil(presentColumns(), lanes); }
  void sumByVectors(const RowPanel &rowPanel, mlir::Value base, int64_t rows);
  /// The same for `count` of the panel's vectors of columns, from vector `first` on.
  void sumOfVectors(const RowPanel &rowPanel, mlir::Value base, int64_t rows, int64_t first,
                    int64_t count);
  /// Those sums, vector by vector.
  llvm::SmallVector<mlir::Value> sumsOfBytes(const RowPanel &rowPanel, mlir::Value base,
                                             llvm::ArrayRef<mlir::Value> inits, int64_t rows,
                                             int64_t first, int64_t count);
  /// How what is beside paired panels lies.
  PairedStepsLayout besidePanels() const {
    return {weights.type.getDimSize(0), depth / quad, lanes};
  }
  mlir::Value loadWord(mlir::Value pointer, mlir::Value byte);
  /// Where a row has the bytes of step `number`.
  mlir::Value placeOfStep(mlir::Value number);
  /// Writes these places to leftAt, where they are not multiples of a step.
  void notePlaces();
  llvm::SmallVector<mlir::Value> sumsOfPaired(const RowPanel &rowPanel, mlir::Value base,
                                              llvm::ArrayRef<mlir::Value> inits, int64_t rows,
                                              int64_t first, int64_t count);
  /// addExcess of paired panels.
  void addListed(const RowPanel &rowPanel, mlir::Value base, int64_t vector,
                 llvm::MutableArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value> sumsOfWords(llvm::ArrayRef<mlir::Value> inits, int64_t rows,
                                             int64_t first, int64_t count);
  /// Makes the panel at `column` the one that sums read. `packed` is the column among those of
  /// panels.
  void choosePanel(mlir::Value column, mlir::Value packed);
  /// Brings to the stack what sums want of that panel; `firstRow` is of the right operand where
  /// that lies in plain rows.
  void preparePanel(mlir::Value column, mlir::Value packed, mlir::Value firstRow);
  /// Calls `body` with the column, and the one among those of panels, of each panel of part
  /// `part`.
  void eachPanel(mlir::Value part,
                 llvm::function_ref<void(mlir::Value column, mlir::Value packed)> body);
  /// A panel for rows of a part.
  struct PanelUse {
    mlir::Value column, packed, firstRow;
    mlir::Value rows;        ///< of the part
    mlir::Value before = {}; ///< row panels of the part before this one, for which it was prepared
  };
  /// Computes blocks from `first` on of those of the row panel, `last` not among them.
  void panel(const RowPanel &rowPanel, mlir::Value first, mlir::Value last, const PanelUse &use);
  /// Blocks from `first` on of those of the row panel, `last` not among them.
  void blocks(const RowPanel &rowPanel, mlir::Value first, mlir::Value last, mlir::Value column);
  /// Rows of a block out of so many: no more than needed, so that all blocks are full.
  int64_t evenRows(int64_t positions) const {
    return llvm::divideCeil(positions, llvm::divideCeil(positions, most));
  }
  /// Rows of a last block of its own behind blocks of `rows`, where there are so few that rows
  /// computed twice would be a large part; 0: the last block begins earlier.
  static int64_t restOf(int64_t positions, int64_t rows) {
    constexpr int64_t few = 8;
    return positions / rows < few ? positions % rows : 0;
  }
  /// What blocks of so many rows cost: a step of each reads columns besides, as long as so many
  /// rows take.
  static int64_t stepsOf(int64_t positions, int64_t rows) {
    constexpr int64_t columnsCost = 4;
    if (int64_t rest = restOf(positions, rows))
      return positions / rows * (rows + columnsCost) + rest + columnsCost;
    return llvm::divideCeil(positions, rows) * (rows + columnsCost);
  }
  /// Rows of a block of a known number of positions.
  int64_t rowsOfBlock(int64_t positions) const {
    int64_t even = evenRows(positions), full = std::min(positions, most);
    return stepsOf(positions, full) < stepsOf(positions, even) ? full : even;
  }
  /// Rows of a block of results alone of `lines` lines, each `span` long; 0: blocks of what lies in
  /// memory, which cost `before`, cost less.
  int64_t joinedRows(int64_t lines, int64_t span, int64_t before) const;
  /// The same for a part of a convolution; 0, too, where sizes are open.
  int64_t joinedRows(ConvOp conv);
  /// Fetches, to the second-level cache, what the panel behind the one that is read has for
  /// this step of the sum, at `place` of it, or for that and the next.
  void fetchAhead(mlir::Value place, int64_t steps);
  /// Whether no panel lacks columns. The mark of an open number is a multiple of every width.
  bool hasWholePanels() const {
    return !mlir::ShapedType::isDynamic(columns) && columns % width == 0;
  }
  /// How many columns of a panel have results, as far as all panels have as many.
  int64_t presentColumns() const {
    int64_t each = ofGroup ? present : mlir::ShapedType::isDynamic(columns) ? width : columns;
    return std::min(each, width);
  }
  /// One block: `rows` rows from `start` on, of which the first `skip` are there already.
  void block(const RowPanel &rowPanel, mlir::Value start, mlir::Value skip, mlir::Value rows,
             mlir::Value column);
  void finish(const RowPanel &rowPanel, mlir::Value start, mlir::Value skip, mlir::Value rows,
              mlir::Value column);
  /// The same for `count` columns of bytes, a multiple of four: as many rows at a time as a vector
  /// has.
  void finishPacked(const RowPanel &rowPanel, mlir::Value start, mlir::Value skip, mlir::Value rows,
                    mlir::Value column, int64_t count, const RoundedByte &result);
  /// Stores the first `count` bytes of `row`, words of four each. Masks would keep what is behind
  /// them from being read until they are through: the next row, of a sum that is written over.
  void storeBytes(mlir::Value row, mlir::Value pointer, int64_t count);

  bool isSigned, isTiles = false, isPairs = false;
  bool copies;        ///< the right operand lies in plain rows
  bool packs = false; ///< windows lie on the stack
  /// How panels lie while rows pass by.
  enum class Form {
    Plain,
    Bounded, ///< without what pairs have beyond a half, which is in lists
    Wide,    ///< of halves
    Paired,  ///< as they are, two steps to be added at a time
  };
  Form ofMany = Form::Plain;        ///< where there are rows enough
  Form form = Form::Plain;          ///< of the present panel
  llvm::SmallVector<SumLoop> loops; ///< of the sum; the last makes steps of `step` rows
  mlir::Value sumsOnStack;          ///< room for columnSums
  mlir::Value columnSums;           ///< null: the left operand is multiplied as it is
  mlir::Value panelBase;            ///< of the present panel, in bytes
  mlir::Value panelOnStack;         ///< room for a copied panel
  mlir::Value widePanel, wideRows;  ///< for one of halves, and rows of them
  mlir::Value bounded;              ///< and for one that is bounded,
  mlir::Value excess, excessAt;     ///< for its lists and where in rows these belong,
  mlir::Value excessCounts;         ///< and for how long they are
  mlir::Value besides, beside;      ///< what is beside paired panels, and beside the present one
  mlir::Value leftAt;               ///< room for where rows have steps; null: one behind the other
  mlir::Value groupBase;            ///< channels before those of the panel's group; null: none
  int64_t columns = 0, lanes = 0;   ///< columns may be mlir::ShapedType::kDynamic
  int64_t step = 0;                 ///< rows of the weights that are added at once
  int64_t most = 0;                 ///< rows of a block
  int64_t atOnce = 0;               ///< vectors of its columns that are added up at a time
  int64_t together = 0;             ///< rows of a block of joined lines
  int64_t sharers = 0;              ///< blocks that fetch the next panel; 0: none does
  mlir::Value sharer;               ///< the number of the present one
  int64_t groups = 1, channels = 0; ///< of a convolution; channels of a group
  int64_t ofGroup = 0;              ///< columns of a group that has panels of its own; 0: none has
  int64_t present = 0;              ///< where it has: columns of the panel
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CPU_GEMMINT8_H
