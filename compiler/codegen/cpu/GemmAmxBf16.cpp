//===- GemmAmxBf16.cpp - products of bf16 by matrix tiles -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions of bf16 by the tiles of AMX, with sums of f32. A block of
// up to 32 results by 32 columns is two by two tiles of sums; a step of the sum loads
// two tiles of the left operand, rows of 32 elements as they lie in memory, and two of
// the packed right operand, and multiplies them.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/AmxRowPanels.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t lanes = 16; ///< f32 of a tile's row
constexpr int64_t step = 32;  ///< bf16 of a tile's row
constexpr int64_t block = 32; ///< rows of a block, and columns
constexpr int64_t tileRows = 16;

class GemmAmxBf16Emitter : AmxRowPanelEmitter {
public:
  GemmAmxBf16Emitter(KernelBuilder &r, plan::KernelOp kernel, const PackedGemm &product)
      : AmxRowPanelEmitter(r, kernel, product, r.b.getBF16Type()) {}

  void product(DotGeneralOp dot, Value begin, Value end);
  void convolution(ConvOp conv, Value begin, Value end);

private:
  void configure(const RowPanel &rowPanel);
  /// Adds a step of the sum: rows from `at`, columns of weights' row `row`.
  void multiply(const RowPanel &rowPanel, Value at, Value row);
  /// `before`: blocks of the part that lie before the first.
  void blocks(const RowPanel &rowPanel, Value firstBlock, Value lastBlock, Value before,
              Value panel, llvm::function_ref<void(Value base)> sum);
  Value weightsIndex(Value row) { return r.add(panelBase, r.mul(row, r.constant(block))); }

  Value panelBase, blockInPart;
  int64_t positions = 0; ///< rows of a rowPanel
  int64_t rows = 0;      ///< of a block
  int64_t sharers = 1;   ///< blocks of a part: each fetches a share ahead
};

} // namespace

/// Blocks have as many rows as fit.
void GemmAmxBf16Emitter::configure(const RowPanel &rowPanel) {
  positions = *getConstantIntValue(rowPanel.positions);
  rows = std::min(positions, block);
  configureTiles(r.constant(rows), tileBytes, tileRows);
  scratch = stackBytes(block * block * 4);
}

/// Weights are read once for a part's rows, from far away where there are many:
/// while blocks pass by one panel they fetch the next, a share each.
void GemmAmxBf16Emitter::multiply(const RowPanel &rowPanel, Value at, Value row) {
  fetchColumns(r.add(weightsIndex(row), r.constant(depth * block)), blockInPart, sharers);
  multiplyTiles("tdpbf16ps", rowPanel, at, weightsIndex(row));
}

void GemmAmxBf16Emitter::blocks(const RowPanel &rowPanel, Value firstBlock, Value lastBlock,
                                Value before, Value panel,
                                llvm::function_ref<void(Value base)> sum) {
  Value column = r.mul(panel, r.constant(block));
  panelBase = r.mul(column, r.constant(depth));
  emitStepLoop(r, firstBlock, lastBlock, 1, [&](Value number) {
    blockInPart = r.add(before, r.sub(number, firstBlock));
    Value wanted = r.mul(number, r.constant(rows));
    Value start = r.minimum(wanted, r.constant(positions - rows));
    clearTiles();
    sum(r.add(rowPanel.base, r.mul(start, r.constant(rowPanel.pitch))));
    storeTiles(scratch);
    finishRows(rowPanel, start, r.sub(wanted, start), r.constant(rows), column, r.constant(block),
               lanes, [&](VectorReader &reader, Value from) {
                 return reader.load(scratch, b.getF32Type(), from);
               });
  });
}

void GemmAmxBf16Emitter::product(DotGeneralOp dot, Value begin, Value end) {
  RowPanel whole = stripOf(dot);
  configure(whole);
  sharers = std::min(parts[0] / block, (int64_t)llvm::divideCeil(positions, rows));
  eachPart(dot, whole, rows, begin, end,
           [&](const RowPanel &rowPanel, Value first, Value last, Value panel) {
             blocks(rowPanel, first, last, r.constant(0), panel, [&](Value base) {
               emitStepLoop(r, r.constant(0), r.constant(depth), step,
                            [&](Value k) { multiply(rowPanel, r.add(base, k), k); });
             });
           });
  call("tilerelease", {});
}

void GemmAmxBf16Emitter::convolution(ConvOp conv, Value begin, Value end) {
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t line = left.type.getDimSize(2), channels = left.type.getDimSize(3);
  ArrayRef<int64_t> dilations = conv.getDilations();
  RowPanel whole = stripOf(conv, r.constant(parts[1]));
  configure(whole);

  // Steps of the sum: lines and columns of the window, then channels.
  auto sum = [&](Value base) {
    emitStepLoop(r, r.constant(0), r.constant(filter.getDimSize(0)), 1, [&](Value y) {
      emitStepLoop(r, r.constant(0), r.constant(filter.getDimSize(1)), 1, [&](Value x) {
        Value window =
            r.add(r.mul(y, r.constant(dilations[0] * line)), r.mul(x, r.constant(dilations[1])));
        Value at = r.add(base, r.mul(window, r.constant(channels)));
        Value row =
            r.mul(r.add(r.mul(y, r.constant(filter.getDimSize(1))), x), r.constant(channels));
        emitStepLoop(r, r.constant(0), r.constant(channels), step,
                     [&](Value c) { multiply(whole, r.add(at, c), r.add(row, c)); });
      });
    });
  };
  int64_t count = llvm::divideCeil(positions, rows);
  sharers = isFlat(conv) ? count : count * parts[1];
  eachPart(conv, begin, end, /*joinsLines=*/false,
           [&](const RowPanel &rowPanel, Value before, Value panel) {
             Value blockCount = r.constant(count);
             blocks(rowPanel, r.constant(0), blockCount, r.mul(before, blockCount), panel, sum);
           });
  call("tilerelease", {});
}

LogicalResult weir::emitGemmAmxBf16(KernelBuilder &r, plan::KernelOp kernel, Value begin,
                                    Value end) {
  auto packed = packedGemmOf(kernel);
  if (failed(packed))
    return failure();
  if (kernel.getSchedule().has(plan::schedule::depthBlock)) {
    emitGemmAmxBf16BlockedK(r, kernel, *packed, begin, end);
    return success();
  }
  GemmAmxBf16Emitter emitter(r, kernel, *packed);
  if (auto dot = dyn_cast<DotGeneralOp>(packed->op))
    emitter.product(dot, begin, end);
  else
    emitter.convolution(cast<ConvOp>(packed->op), begin, end);
  return success();
}
