//===- GemmAmxBf16.cpp - products of bf16 by matrix tiles -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions of bf16 by the tiles of AMX, with sums of f32. A block of
// up to 32 results by 32 columns is two by two tiles of sums; a step of the sum loads
// two tiles of the left operand, rows of 24 to 32 elements as they lie in memory, or
// windows from the stack, and two of the packed right operand, and multiplies them.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/AmxRowPanels.h"
#include "compiler/codegen/cpu/schedule/GemmPanels.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t lanes = 16; ///< f32 of a tile's row
constexpr int64_t block = 32; ///< rows of a block, and columns

class GemmAmxBf16Emitter : AmxRowPanelEmitter {
public:
  GemmAmxBf16Emitter(KernelBuilder &r, plan::KernelOp kernel, const PackedGemm &product)
      : AmxRowPanelEmitter(r, kernel, product, r.b.getBF16Type()), gemm(product) {}

  void product(DotGeneralOp dot, Value begin, Value end);
  void convolution(ConvOp conv, Value begin, Value end);

private:
  void wholeSums(DotGeneralOp dot, Value begin, Value end);
  void configure(const RowPanel &rowPanel, int64_t step);
  /// `before`: blocks of the part that lie before the first.
  void blocks(const RowPanel &rowPanel, Value firstBlock, Value lastBlock, Value before,
              Value panel, ArrayRef<SumLoop> loops);

  PackedGemm gemm;
  Value rows;          ///< of a block
  int64_t sharers = 0; ///< blocks of a part: each fetches a share ahead
};

} // namespace

/// Blocks have as many rows as fit.
void GemmAmxBf16Emitter::configure(const RowPanel &rowPanel, int64_t step) {
  rows = r.minimum(rowPanel.positions, r.constant(block));
  configureTiles(rows, step * elementBytes, step / rowsOfWord(element));
}

void GemmAmxBf16Emitter::blocks(const RowPanel &rowPanel, Value firstBlock, Value lastBlock,
                                Value before, Value panel, ArrayRef<SumLoop> loops) {
  Value column = r.mul(panel, r.constant(block));
  Value panelBase = r.mul(column, r.constant(depth));
  emitStepLoop(r, firstBlock, lastBlock, 1, [&](Value number) {
    Value blockInPart = r.add(before, r.sub(number, firstBlock));
    Value wanted = r.mul(number, rows);
    Value start = r.minimum(wanted, r.sub(rowPanel.positions, rows));
    clearTiles();
    // Weights are read once for a part's rows, from far away where there are many: while
    // blocks pass by one panel they fetch the next, a share each.
    Value next = r.add(panelBase, r.constant(depth * block));
    sumTiles("tdpbf16ps", loops, rowPanel,
             r.add(rowPanel.base, r.mul(start, r.constant(rowPanel.pitch))), panelBase,
             [&](Value row) {
               fetchColumns(r.add(next, r.mul(row, r.constant(block))), blockInPart, sharers);
             });
    storeTiles(scratch);
    ofPresent(column, [&](Value present) {
      finishRows(rowPanel, start, r.sub(wanted, start), rows, column, present, lanes,
                 [&](VectorReader &reader, Value from) {
                   return reader.load(scratch, b.getF32Type(), from);
                 });
    });
  });
}

void GemmAmxBf16Emitter::wholeSums(DotGeneralOp dot, Value begin, Value end) {
  RowPanel whole = stripOf(dot);
  int64_t step = pairStep(depth);
  scratch = stackBytes(block * block * 4);
  configure(whole, step);
  int64_t height = getConstantIntValue(rows).value_or(block);
  sharers = sharersOf(whole, height);
  SumLoop loop{depth / step, r.constant(step), step};
  eachPart(dot, whole, height, begin, end,
           [&](const RowPanel &rowPanel, Value first, Value last, Value panel) {
             blocks(rowPanel, first, last, r.constant(0), panel, loop);
           });
  call("tilerelease", {});
}

void GemmAmxBf16Emitter::product(DotGeneralOp dot, Value begin, Value end) {
  auto cut = [&] { emitGemmAmxBf16BlockedK(r, kernel, gemm, begin, end); };
  Value positions = stripOf(dot).positions;
  if (!kernel.getSchedule().has(plan::schedule::depthBlock))
    wholeSums(dot, begin, end);
  else if (getConstantIntValue(positions))
    cut();
  else
    emitEither(
        r, r.less(positions, r.constant(fewestRowsOfCutSums)), [&] { wholeSums(dot, begin, end); },
        cut);
}

void GemmAmxBf16Emitter::convolution(ConvOp conv, Value begin, Value end) {
  int64_t step = pairStep(runOf(conv));
  bool packs = kernel.getSchedule()[plan::schedule::packsRows];
  RowPanel whole = stripOf(conv, r.constant(parts[1]));
  SmallVector<SumLoop> loops;
  if (packs) {
    whole.positions = r.mul(r.constant(parts[1]), target.dims[2]);
    reserveRows(*getConstantIntValue(whole.positions), step);
    loops.push_back(packedLoop());
  } else {
    loops = windowLoops(conv, step);
  }
  scratch = stackBytes(block * block * 4);
  configuration = stackBytes(tileBytes);
  std::optional<int64_t> height = getConstantIntValue(target.dims[1]);
  bool isOpen = !getConstantIntValue(whole.positions) ||
                (isFlat(conv) && (!height || *height % parts[1] != 0));
  if (!isOpen) {
    configure(whole, step);
    sharers = llvm::divideCeil(*getConstantIntValue(whole.positions), *getConstantIntValue(rows));
    if (!isFlat(conv) && !packs)
      sharers *= parts[1];
  }
  eachPart(conv, begin, end, /*joinsLines=*/packs,
           [&](const RowPanel &rowPanel, Value before, Value panel) {
             if (isOpen)
               configure(rowPanel, step);
             Value count = r.divide(r.add(rowPanel.positions, r.sub(rows, r.constant(1))), rows);
             blocks(packs ? packWindows(conv, rowPanel) : rowPanel, r.constant(0), count,
                    r.mul(before, count), panel, loops);
           });
  call("tilerelease", {});
}

LogicalResult weir::emitGemmAmxBf16(KernelBuilder &r, plan::KernelOp kernel, Value begin,
                                    Value end) {
  auto packed = packedGemmOf(kernel);
  if (failed(packed))
    return failure();
  GemmAmxBf16Emitter emitter(r, kernel, *packed);
  if (auto dot = dyn_cast<DotGeneralOp>(packed->op))
    emitter.product(dot, begin, end);
  else
    emitter.convolution(cast<ConvOp>(packed->op), begin, end);
  return success();
}
