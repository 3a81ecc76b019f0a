//===- GemmInt8.cpp - products of bytes -----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions of bytes by signed bytes, with sums of 32 bits: by matrix
// tiles (TDPBUSD, TDPBSSD), by vectors whose lanes add four products (VPDPBUSD), or, as
// every processor with AVX2 can, by two multiplications of words of 16 bits, which add
// pairs (VPMADDWD). The right operand lies in panels of 32 columns, four rows side by
// side; one that the program computes is brought there, a panel a part, on the stack. A
// window's neighbours along a line are one run of the sum with their channels; those of
// a group are a run for each of them. Groups whose columns are no whole panels have panels of
// their own.
//
// Vectors pass by rows that have results alone, where a line is as many blocks as rows or a
// block so many lines: a border of one would be a fifth of what lines of seven cost.
//
// How many rows there are may show when the program runs. Matrix tiles are configured for
// as many; vectors take fewer than a block's by tiles of half as many, a quarter, and so on.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/AmxRowPanels.h"
#include "compiler/codegen/cpu/PackedBytes.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Target.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t quad = 4; ///< rows side by side

/// A loop of the sum: how often, and how far it takes the left operand and the rows
/// of the right one.
struct SumLoop {
  int64_t count;
  Value left;
  int64_t rows;
};

class ByteEmitter : AmxRowPanelEmitter {
public:
  ByteEmitter(KernelBuilder &r, plan::KernelOp kernel, const PackedGemm &product)
      : AmxRowPanelEmitter(r, kernel, product, r.b.getI8Type()),
        isSigned(!left.type.getElementType().isUnsignedInteger()),
        copies(kernel.getSchedule()[plan::schedule::copiesPanels]) {
    columns = target.type.getShape().back();
    auto tile = kernel.getSchedule()[plan::schedule::tile];
    most = tile[0];
    lanes = tile[2];
    ByteProducts unit = targetOf(kernel).getByteProducts();
    isTiles = unit == ByteProducts::Blocks;
    isPairs = unit == ByteProducts::Pairs;
  }

  void product(DotGeneralOp dot, Value begin, Value end);
  void convolution(ConvOp conv, Value begin, Value end);

private:
  VectorType words() { return VectorType::get({lanes}, b.getI32Type()); }
  Value splat(int32_t value) {
    return arith::ConstantOp::create(b, r.loc,
                                     SplatElementsAttr::get(words(), b.getI32IntegerAttr(value)));
  }
  Value loadWords(Value pointer, Value byte) {
    return LLVM::LoadOp::create(b, r.loc, words(), byteAddress(pointer, byte), /*alignment=*/4);
  }

  /// Makes room for what waits on the stack.
  void reserve();
  void release() {
    if (isTiles)
      call("tilerelease", {});
  }
  /// `sum` and, in each lane, four products.
  Value addProducts(Value sum, Value lefts, Value rights);
  Value addPairs(Value sum, Value lefts, Value rights);
  Value intrinsic(StringRef name, Type type, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, r.loc, type, b.getStringAttr(name), operands)
        ->getResult(0);
  }
  /// Brings the panel at `column` of a right operand in plain rows, of which the first is
  /// `firstRow`, to the stack.
  void copyPanel(Value firstRow, Value column);
  void copyColumns(Value firstRow, Value column, Value limit);
  /// 128 times the sum of each column of the panel, for left operands that are moved
  /// by as much to have no sign.
  void sumColumns();
  void sumByTiles(const RowPanel &rowPanel, Value base);
  void sumByVectors(const RowPanel &rowPanel, Value base, int64_t rows);
  /// Makes the panel at `column` the one that sums read; `firstRow` is of the right
  /// operand where that lies in plain rows. `packed` is the column among those of panels.
  void choosePanel(Value column, Value packed, Value firstRow);
  /// Calls `body` with the column, and the one among those of panels, of each panel of part
  /// `part`.
  void eachPanel(Value part, function_ref<void(Value column, Value packed)> body);
  /// Blocks from `first` on of those of the row panel, `last` not among them.
  void blocks(const RowPanel &rowPanel, Value first, Value last, Value column);
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
  /// this step of the sum, at `place` of it.
  void fetchAhead(Value place);
  /// Whether no panel lacks columns. The mark of an open number is a multiple of every width.
  bool hasWholePanels() const { return !ShapedType::isDynamic(columns) && columns % width == 0; }
  /// How many columns of a panel have results, as far as all panels have as many.
  int64_t presentColumns() const {
    int64_t each = ofGroup ? present : ShapedType::isDynamic(columns) ? width : columns;
    return std::min(each, width);
  }
  /// One block: `rows` rows from `start` on, of which the first `skip` are there already.
  void block(const RowPanel &rowPanel, Value start, Value skip, Value rows, Value column);
  void finish(const RowPanel &rowPanel, Value start, Value skip, Value rows, Value column);
  /// The same for `count` columns of bytes, a multiple of four, two rows at a time.
  void finishPacked(const RowPanel &rowPanel, Value start, Value skip, Value rows, Value column,
                    int64_t count, const RoundedByte &result);
  /// Stores the first `count` bytes of `row`, words of four each. Masks would keep what is behind
  /// them from being read until they are through: the next row, of a sum that is written over.
  void storeBytes(Value row, Value pointer, int64_t count);

  bool isSigned, isTiles = false, isPairs = false;
  bool copies;                ///< the right operand lies in plain rows
  SmallVector<SumLoop> loops; ///< of the sum; the last makes steps of `step` rows
  Value columnSums, panelBase;
  Value groupBase;                  ///< channels before those of the panel's group; null: none
  int64_t columns = 0, lanes = 0;   ///< columns may be ShapedType::kDynamic
  int64_t step = 0;                 ///< rows of the weights that are added at once
  int64_t most = 0;                 ///< rows of a block
  int64_t together = 0;             ///< rows of a block of joined lines
  int64_t sharers = 0;              ///< blocks that fetch the next panel; 0: none does
  Value sharer;                     ///< the number of the present one
  int64_t groups = 1, channels = 0; ///< of a convolution; channels of a group
  int64_t ofGroup = 0;              ///< columns of a group that has panels of its own; 0: none has
  int64_t present = 0;              ///< where it has: columns of the panel
};

} // namespace

void ByteEmitter::reserve() {
  scratch = stackBytes(most * width * 4);
  if (copies)
    panels = stackBytes(depth * width);
  if (isTiles)
    configuration = stackBytes(tileBytes);
  else if (isSigned && !isPairs)
    columnSums = stackBytes(width * 4);
}

void ByteEmitter::sumByTiles(const RowPanel &rowPanel, Value base) {
  clearTiles();
  std::function<void(size_t, Value, Value)> nest = [&](size_t level, Value at, Value row) {
    if (level == loops.size())
      return multiplyTiles(isSigned ? "tdpbssd" : "tdpbusd", rowPanel, at,
                           r.add(panelBase, r.mul(row, r.constant(width))));
    const SumLoop &loop = loops[level];
    auto inside = [&](Value i) {
      nest(level + 1, r.add(at, r.mul(i, loop.left)), r.add(row, r.mul(i, r.constant(loop.rows))));
    };
    if (loop.count == 1)
      return inside(r.constant(0));
    emitStepLoop(r, r.constant(0), r.constant(loop.count), 1, inside);
  };
  nest(0, base, r.constant(0));
  storeTiles(scratch);
}

Value ByteEmitter::addPairs(Value sum, Value lefts, Value rights) {
  auto halves = VectorType::get({lanes * 2}, b.getI16Type());
  Value eight =
      arith::ConstantOp::create(b, r.loc, SplatElementsAttr::get(halves, b.getI16IntegerAttr(8)));
  auto spread = [&](Value value, bool hasSign) -> std::pair<Value, Value> {
    Value all = LLVM::BitcastOp::create(b, r.loc, halves, value);
    Value even = arith::ShLIOp::create(b, r.loc, all, eight);
    if (hasSign)
      return {arith::ShRSIOp::create(b, r.loc, even, eight),
              arith::ShRSIOp::create(b, r.loc, all, eight)};
    return {arith::ShRUIOp::create(b, r.loc, even, eight),
            arith::ShRUIOp::create(b, r.loc, all, eight)};
  };
  auto [even, odd] = spread(lefts, isSigned);
  auto [rightEven, rightOdd] = spread(rights, true);
  StringRef name = lanes == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  sum = arith::AddIOp::create(b, r.loc, sum, intrinsic(name, words(), {even, rightEven}));
  return arith::AddIOp::create(b, r.loc, sum, intrinsic(name, words(), {odd, rightOdd}));
}

Value ByteEmitter::addProducts(Value sum, Value lefts, Value rights) {
  if (isPairs)
    return addPairs(sum, lefts, rights);
  return addQuads(b, r.loc, sum, lefts, rights);
}

void ByteEmitter::copyPanel(Value firstRow, Value column) {
  if (hasWholePanels())
    return copyColumns(firstRow, column, Value());
  // Of an open number of columns, too, only the last panel lacks some.
  emitEither(
      r, r.less(target.dims.back(), r.add(column, r.constant(width))),
      [&] { copyColumns(firstRow, column, r.sub(target.dims.back(), column)); },
      [&] { copyColumns(firstRow, column, Value()); });
}

void ByteEmitter::copyColumns(Value firstRow, Value column, Value limit) {
  auto type = VectorType::get({width}, b.getI8Type());
  Value mask, zero = arith::ConstantOp::create(b, r.loc, b.getZeroAttr(type));
  if (limit)
    mask = vector::CreateMaskOp::create(b, r.loc, VectorType::get({width}, b.getI1Type()), limit);
  emitStepLoop(r, r.constant(0), r.constant(depth), quad, [&](Value row) {
    SmallVector<Value> four;
    for (int64_t i = 0; i < quad; ++i) {
      Value at = r.add(r.add(firstRow, row), r.constant(i));
      Value where = byteAddress(weights.pointer, r.add(r.mul(at, target.dims.back()), column));
      four.push_back(mask ? Value(LLVM::MaskedLoadOp::create(b, r.loc, type, where, mask, zero,
                                                             b.getI32IntegerAttr(1), UnitAttr()))
                          : Value(LLVM::LoadOp::create(b, r.loc, type, where, /*alignment=*/1)));
    }
    LLVM::StoreOp::create(b, r.loc, interleavedFours(b, r.loc, four),
                          byteAddress(panels, r.mul(row, r.constant(width))),
                          /*alignment=*/64);
  });
}

void ByteEmitter::sumColumns() {
  int64_t vectors = width / lanes;
  Value offset = splat(static_cast<int32_t>(0x80808080));
  SmallVector<Value> inits(vectors, splat(0));
  SmallVector<Value> sums = emitReductionLoops(
      r, {r.constant(depth / quad)}, inits, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> next;
        Value from = r.add(panelBase, r.mul(at[0], r.constant(quad * width)));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(addProducts(carried[v], offset,
                                     loadWords(panels, r.add(from, r.constant(v * lanes * 4)))));
        return next;
      });
  for (int64_t v = 0; v < vectors; ++v) {
    Value negative = arith::SubIOp::create(b, r.loc, splat(0), sums[v]);
    LLVM::StoreOp::create(b, r.loc, negative, byteAddress(columnSums, r.constant(v * lanes * 4)));
  }
}

void ByteEmitter::sumByVectors(const RowPanel &rowPanel, Value base, int64_t rows) {
  int64_t vectors = llvm::divideCeil(presentColumns(), lanes);
  SmallVector<Value> inits, sizes;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t v = 0; v < vectors; ++v)
      inits.push_back(columnSums ? loadWords(columnSums, r.constant(v * lanes * 4)) : splat(0));
  for (const SumLoop &loop : loops)
    sizes.push_back(r.constant(loop.count));
  auto offsetOf = [&](int64_t row) {
    if (!rowPanel.span)
      return row * rowPanel.pitch;
    return row / rowPanel.span * rowPanel.linePitch + row % rowPanel.span * rowPanel.pitch;
  };
  SmallVector<Value> sums =
      emitReductionLoops(r, sizes, inits, [&](ValueRange at, ValueRange carried) {
        Value from = base, place = r.constant(0);
        for (auto [loop, i] : llvm::zip(loops, at)) {
          from = r.add(from, r.mul(i, loop.left));
          place = r.add(place, r.mul(i, r.constant(loop.rows)));
        }
        Value right = r.add(panelBase, r.mul(place, r.constant(width)));
        SmallVector<Value> loaded, next;
        for (int64_t v = 0; v < vectors; ++v)
          loaded.push_back(loadWords(panels, r.add(right, r.constant(v * lanes * 4))));
        fetchAhead(place);
        for (int64_t row = 0; row < rows; ++row) {
          Value four = LLVM::LoadOp::create(
              b, r.loc, b.getI32Type(),
              byteAddress(left.pointer, r.add(from, r.constant(offsetOf(row)))),
              /*alignment=*/1);
          Value all = vector::BroadcastOp::create(b, r.loc, words(), four);
          if (columnSums)
            all = arith::XOrIOp::create(b, r.loc, all, splat(static_cast<int32_t>(0x80808080)));
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(addProducts(carried[row * vectors + v], all, loaded[v]));
        }
        return next;
      });
  for (auto [i, sum] : llvm::enumerate(sums)) {
    int64_t at = i / vectors * width + i % vectors * lanes;
    LLVM::StoreOp::create(b, r.loc, sum, byteAddress(scratch, r.constant(at * 4)),
                          /*alignment=*/4);
  }
}

int64_t ByteEmitter::joinedRows(int64_t lines, int64_t span, int64_t before) const {
  int64_t best = 0;
  for (int64_t rows = std::min(most, lines * span); rows > 0; --rows) {
    int64_t cost = stepsOf(lines * span, rows);
    if ((span % rows == 0 || rows % span == 0) && cost <= before) {
      before = cost - 1;
      best = rows;
    }
  }
  return best;
}

int64_t ByteEmitter::joinedRows(ConvOp conv) {
  int64_t lines = imageParts()[1];
  SmallVector<Value> sizes = imageSizes(target.dims);
  std::optional<int64_t> height = getConstantIntValue(sizes[1]),
                         span = getConstantIntValue(sizes[2]);
  RowPanel apart = stripOf(conv, r.constant(lines));
  std::optional<int64_t> positions = getConstantIntValue(apart.positions);
  if (isTiles || !height || !span || !positions || *height % lines)
    return 0;
  int64_t rows = rowsOfBlock(*positions), panels = isFlat(conv) ? 1 : lines;
  if (isFlat(conv) && *positions == lines * *span)
    return 0; // there is no border
  return joinedRows(lines, *span, panels * stepsOf(*positions, rows));
}

void ByteEmitter::fetchAhead(Value place) {
  constexpr int64_t fewBytes = 1 << 16, lineBytes = 64;
  if (sharers < 2 || copies || weights.type.getNumElements() < fewBytes)
    return;
  // A step reads two lines. Two sharers fetch one each at every step; more go on half as fast, and
  // so on.
  int64_t shift = llvm::Log2_64(sharers / 2);
  Value step = r.add(r.mul(sharer, r.constant(depth)), place);
  Value ahead = arith::ShRUIOp::create(b, r.loc, r.mul(step, r.constant(lineBytes / quad)),
                                       r.constant(shift));
  ahead = r.add(r.add(panelBase, r.constant(depth * width)), ahead);
  LLVM::Prefetch::create(b, r.loc, byteAddress(weights.pointer, ahead), /*rw=*/0, /*hint=*/2,
                         /*cache=*/1);
}

void ByteEmitter::choosePanel(Value column, Value packed, Value firstRow) {
  panelBase = copies ? r.constant(0) : r.mul(packed, r.constant(depth));
  if (copies)
    copyPanel(firstRow, column);
  if (groups > 1)
    groupBase = r.mul(r.divide(column, r.constant(columns / groups)), r.constant(channels));
  if (columnSums)
    sumColumns();
}

void ByteEmitter::eachPanel(Value part, function_ref<void(Value column, Value packed)> body) {
  if (!ofGroup) {
    Value column = r.mul(part, r.constant(width));
    return body(column, column);
  }
  int64_t whole = ofGroup / width * width;
  Value column = r.mul(part, r.constant(ofGroup));
  Value packed = r.mul(part, r.constant(llvm::alignTo(ofGroup, width)));
  present = width;
  emitStepLoop(r, r.constant(0), r.constant(whole), width,
               [&](Value offset) { body(r.add(column, offset), r.add(packed, offset)); });
  present = ofGroup - whole;
  body(r.add(column, r.constant(whole)), r.add(packed, r.constant(whole)));
}

void ByteEmitter::block(const RowPanel &rowPanel, Value start, Value skip, Value rows,
                        Value column) {
  Value inside = start, base = rowPanel.base;
  if (rowPanel.span) {
    Value span = r.constant(rowPanel.span);
    base = r.add(base, r.mul(r.divide(start, span), r.constant(rowPanel.linePitch)));
    inside = r.remainder(start, span);
  }
  base = r.add(base, r.mul(inside, r.constant(rowPanel.pitch)));
  if (groupBase)
    base = r.add(base, groupBase);
  if (isTiles)
    sumByTiles(rowPanel, base);
  else
    sumByVectors(rowPanel, base, *getConstantIntValue(rows));
  finish(rowPanel, start, skip, rows, column);
}

void ByteEmitter::blocks(const RowPanel &rowPanel, Value first, Value last, Value column) {
  std::optional<int64_t> positions = getConstantIntValue(rowPanel.positions);
  // The last block begins earlier, and leaves out what others have.
  auto ofRows = [&](Value rows, Value from, Value to) {
    emitStepLoop(r, from, to, 1, [&](Value number) {
      Value wanted = r.mul(number, rows);
      sharer = r.sub(number, first);
      Value start = r.minimum(wanted, r.sub(rowPanel.positions, rows));
      block(rowPanel, start, r.sub(wanted, start), rows, column);
    });
  };
  sharers = 0;
  if (positions && !isTiles) {
    int64_t rows = rowPanel.span ? together : rowsOfBlock(*positions);
    if (std::optional<int64_t> count = getConstantIntValue(r.sub(last, first)))
      sharers = *count;
    int64_t rest = restOf(*positions, rows);
    if (!rest)
      return ofRows(r.constant(rows), first, last);
    Value whole = r.constant(*positions / rows);
    ofRows(r.constant(rows), first, r.minimum(last, whole));
    return emitStepLoop(r, r.maximum(first, whole), last, 1, [&](Value number) {
      sharer = r.sub(number, first);
      block(rowPanel, r.constant(*positions - rest), r.constant(0), r.constant(rest), column);
    });
  }
  if (positions)
    return ofRows(r.constant(std::min(*positions, most)), first, last);
  if (isTiles)
    return ofRows(r.minimum(rowPanel.positions, r.constant(most)), first, last);
  emitEither(
      r, r.less(rowPanel.positions, r.constant(most)),
      [&] {
        emitRowTiles(r, rowPanel.positions, most, [&](Value start, int64_t rows) {
          block(rowPanel, start, r.constant(0), r.constant(rows), column);
        });
      },
      [&] { ofRows(r.constant(most), first, last); });
}

void ByteEmitter::finishPacked(const RowPanel &rowPanel, Value start, Value skip, Value rows,
                               Value column, int64_t count, const RoundedByte &result) {
  VectorReader reader(r, lanes);
  reader.followWords();
  // Of an odd number of rows the last comes twice.
  Value last = r.sub(rows, r.constant(1));
  emitStepLoop(r, skip, rows, 2, [&](Value row) {
    SmallVector<Value> words, targets;
    for (Value own : {row, r.minimum(r.add(row, r.constant(1)), last)}) {
      SmallVector<Value> indices = rowPanel.place(r.add(start, own)).first;
      indices.push_back(column);
      targets.push_back(byteAddress(target.pointer, r.linearIndex(target, indices)));
      for (int64_t v = 0; v * lanes < width; ++v) {
        int64_t left = count - v * lanes;
        if (left <= 0) {
          words.push_back(words.back());
          continue;
        }
        Value offset = r.constant(v * lanes), mask;
        if (left < lanes)
          mask = vector::CreateMaskOp::create(b, r.loc, VectorType::get({lanes}, b.getI1Type()),
                                              r.constant(left));
        Value sum = r.add(r.mul(own, r.constant(width)), offset);
        indices.back() = r.add(column, offset);
        reader.setLanes(indices.back(), mask);
        reader.setAnchor(anchor->getResult(0), loadWords(scratch, r.mul(sum, r.constant(4))));
        words.push_back(nearestWords(
            b, r.loc, reader.broadcast(reader.element(result.real, indices)), result.isInWords));
      }
    }
    auto [first, second] = packedRows(b, r.loc, words, result.zero, result.isUnsigned);
    storeBytes(first, targets[0], count);
    storeBytes(second, targets[1], count);
  });
}

void ByteEmitter::storeBytes(Value row, Value pointer, int64_t count) {
  int64_t done = 0;
  for (int64_t each = width; each >= quad; each /= 2) {
    if (count - done < each)
      continue;
    Value piece = row;
    if (each < width)
      piece =
          vector::ExtractStridedSliceOp::create(b, r.loc, row, {done / quad}, {each / quad}, {1});
    LLVM::StoreOp::create(b, r.loc, piece, byteAddress(pointer, r.constant(done)), /*alignment=*/1);
    done += each;
  }
}

void ByteEmitter::finish(const RowPanel &rowPanel, Value start, Value skip, Value rows,
                         Value column) {
  auto sums = [&](VectorReader &, Value from) {
    return loadWords(scratch, r.mul(from, r.constant(4)));
  };
  constexpr int64_t packedLanes = 16; // AVX-512's
  std::optional<RoundedByte> rounded =
      roundedByteOf(kernel.getBody().front().getTerminator()->getOperand(0));
  auto finishColumns = [&](Value from, Value count) {
    std::optional<int64_t> known = getConstantIntValue(count);
    if (rounded && !rowPanel.hasGaps && lanes == packedLanes && known && *known % quad == 0)
      return finishPacked(rowPanel, start, skip, rows, from, *known, *rounded);
    finishRows(rowPanel, start, skip, rows, from, count, lanes, sums);
  };
  if (ofGroup)
    return finishColumns(column, r.constant(present));
  if (hasWholePanels())
    return finishColumns(column, r.constant(width));
  if (!ShapedType::isDynamic(columns) && columns < width)
    return finishColumns(column, r.constant(columns));
  Value all = target.dims.back();
  Value rest = ShapedType::isDynamic(columns) ? r.sub(all, column) : r.constant(columns % width);
  emitEither(
      r, r.less(all, r.add(column, r.constant(width))), [&] { finishColumns(column, rest); },
      [&] { finishColumns(column, r.constant(width)); });
}

void ByteEmitter::product(DotGeneralOp dot, Value begin, Value end) {
  step = isTiles ? quadStep(depth) : quad;
  loops.push_back({depth / step, r.constant(step), step});
  reserve();
  RowPanel whole = stripOf(dot);
  Value rows = r.minimum(whole.positions, r.constant(most));
  if (std::optional<int64_t> known = getConstantIntValue(whole.positions); known && !isTiles)
    rows = r.constant(rowsOfBlock(*known));
  if (isTiles)
    configureTiles(rows, step, step / quad);
  int64_t height = getConstantIntValue(rows).value_or(most);
  eachPart(dot, whole, height, begin, end,
           [&](const RowPanel &rowPanel, Value first, Value last, Value panel) {
             Value column = r.mul(panel, r.constant(width));
             choosePanel(column, column, r.mul(rowPanel.matrix, r.constant(depth)));
             blocks(rowPanel, first, last, column);
           });
  release();
}

void ByteEmitter::convolution(ConvOp conv, Value begin, Value end) {
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t pitch = left.type.getShape().back();
  groups = conv.getGroups();
  channels = pitch / groups;
  ofGroup = columnsOfLooseGroup(conv);
  auto [down, along] = ofImage(conv.getDilations());
  auto [high, wide] = ofImage(filter.getShape().drop_back(2));
  loops.push_back(
      {high, r.mul(r.constant(down * pitch), imageSizes(left.dims)[2]), wide * channels});
  int64_t run = wide * channels;
  if (along != 1 || groups != 1) {
    loops.push_back({wide, r.constant(along * pitch), channels});
    run = channels;
  }
  step = isTiles ? quadStep(run) : quad;
  loops.push_back({run / step, r.constant(step), step});
  reserve();
  auto configure = [&](const RowPanel &rowPanel) {
    configureTiles(r.minimum(rowPanel.positions, r.constant(most)), step, step / quad);
  };
  int64_t lines = imageParts()[1];
  RowPanel whole = stripOf(conv, r.constant(lines));
  std::optional<int64_t> height = getConstantIntValue(imageSizes(target.dims)[1]);
  bool isOpen =
      !getConstantIntValue(whole.positions) || (isFlat(conv) && (!height || *height % lines));
  if (isTiles && !isOpen)
    configure(whole);
  together = joinedRows(conv);
  eachPart(conv, begin, end, together != 0, [&](const RowPanel &rowPanel, Value, Value panel) {
    Value last = r.constant(0);
    if (std::optional<int64_t> positions = getConstantIntValue(rowPanel.positions))
      last = r.constant(
          llvm::divideCeil(*positions, rowPanel.span ? together : std::min(*positions, most)));
    else
      last = r.divide(r.add(rowPanel.positions, r.constant(most - 1)), r.constant(most));
    if (isTiles && isOpen)
      configure(rowPanel);
    eachPanel(panel, [&](Value column, Value packed) {
      choosePanel(column, packed, r.constant(0));
      blocks(rowPanel, r.constant(0), last, column);
    });
  });
  release();
}

LogicalResult weir::emitGemmInt8(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  auto packed = packedGemmOf(kernel);
  if (failed(packed))
    return failure();
  ByteEmitter emitter(r, kernel, *packed);
  if (auto dot = dyn_cast<DotGeneralOp>(packed->op))
    emitter.product(dot, begin, end);
  else
    emitter.convolution(cast<ConvOp>(packed->op), begin, end);
  return success();
}
