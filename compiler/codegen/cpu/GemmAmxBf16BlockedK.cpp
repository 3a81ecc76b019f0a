//===- GemmAmxBf16BlockedK.cpp - long sums by matrix tiles ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of bf16 by the tiles of AMX whose sums are long: a panel of columns for all
// of the sum would leave the first-level cache before the next block of rows comes by.
// So the sum is cut into blocks whose columns stay there. A part's rows lie on the stack,
// in the order in which tiles are loaded, and pass by with a hint that keeps them from
// taking the columns' place; they stay in the second-level cache, where sums wait, too.
//
// The processor does little beside a store of tiles where loads are what it waits for. So
// results of a block leave the stack, a row or two at each step, while the next block is
// multiplied; large ones go past the caches, which would read them first.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/AmxRowPanels.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t lanes = 16;    ///< f32 of a tile's row
constexpr int64_t step = 32;     ///< bf16 of a tile's row: rows of the weights in a step
constexpr int64_t block = 32;    ///< rows of a block, and columns
constexpr int64_t tileRows = 16; ///< of each of its tiles
constexpr int64_t tileSums = tileRows * lanes;
constexpr int64_t blockBytes = block * block * 4;
/// Results that do not stay in the caches anyway.
constexpr int64_t manyBytes = 1 << 21;

class GemmAmxBf16BlockedKEmitter : AmxRowPanelEmitter {
public:
  GemmAmxBf16BlockedKEmitter(KernelBuilder &r, plan::KernelOp kernel, const PackedGemm &product)
      : AmxRowPanelEmitter(r, kernel, product, r.b.getBF16Type()) {}

  void emit(DotGeneralOp dot, Value begin, Value end);

private:
  void part(const RowPanel &rowPanel, Value first, Value last, Value panel);
  /// Rows of a block: the last one begins earlier, and leaves out what others have.
  struct Block {
    Value start, skip;
  };
  Block blockAt(const RowPanel &rowPanel, Value number);
  /// Puts a part's rows on the stack, unless they are there.
  void packRows(const RowPanel &rowPanel, Value first, Value last);
  void packBlock(const RowPanel &rowPanel, Value number, Value local);
  /// Where results may go past the caches; null: nowhere.
  Value streamCondition();
  /// Sums of block `local` of the part, waiting between blocks of the depth.
  void moveSums(StringRef operation, Value local);
  /// Adds `count` rows of the weights from `depthFrom` on for block `local`.
  void sum(Value local, Value depthFrom, int64_t count, function_ref<void(Value step)> beside);
  /// The last block of the depth, for all blocks of rows.
  void lastSums(const RowPanel &rowPanel, Value first, Value last, Value column, Value depthFrom,
                int64_t count);
  void finish(const RowPanel &rowPanel, Value number, Value local, Value from, Value to,
              Value column);

  int64_t steps() const { return depth / step; }

  int64_t chunk = 0, sharers = 0;          ///< blocks of a part; those that fetch columns
  int64_t depthBlock = 0, depthBefore = 0; ///< of the sum; in all blocks but the last
  Value packed, packedFirst, sums, panelBase, isStreamed;
};

} // namespace

GemmAmxBf16BlockedKEmitter::Block GemmAmxBf16BlockedKEmitter::blockAt(const RowPanel &rowPanel,
                                                                      Value number) {
  Value wanted = r.mul(number, r.constant(block));
  Value start = r.minimum(wanted, r.sub(rowPanel.positions, r.constant(block)));
  return {start, r.sub(wanted, start)};
}

void GemmAmxBf16BlockedKEmitter::packBlock(const RowPanel &rowPanel, Value number, Value local) {
  auto type = VectorType::get({step}, element);
  Value from =
      r.add(rowPanel.base, r.mul(blockAt(rowPanel, number).start, r.constant(rowPanel.pitch)));
  Value to = r.mul(local, r.constant(block * depth));
  emitStepLoop(r, r.constant(0), r.constant(steps()), 1, [&](Value k) {
    Value left = r.add(from, r.mul(k, r.constant(step)));
    Value right = r.add(to, r.mul(k, r.constant(block * step)));
    emitStepLoop(r, r.constant(0), r.constant(block), 1, [&](Value row) {
      Value source = BufferAccess::address(r, this->left.pointer, element,
                                           r.add(left, r.mul(row, r.constant(rowPanel.pitch))));
      Value target =
          BufferAccess::address(r, packed, element, r.add(right, r.mul(row, r.constant(step))));
      Value value = LLVM::LoadOp::create(b, r.loc, type, source, /*alignment=*/elementBytes);
      LLVM::StoreOp::create(b, r.loc, value, target, /*alignment=*/tileBytes);
    });
  });
}

void GemmAmxBf16BlockedKEmitter::packRows(const RowPanel &rowPanel, Value first, Value last) {
  unlessThere(packedFirst, first, [&] {
    emitStepLoop(r, first, last, 1,
                 [&](Value number) { packBlock(rowPanel, number, r.sub(number, first)); });
  });
}

Value GemmAmxBf16BlockedKEmitter::streamCondition() {
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  const KernelBuilder::Buffer &target = r.bufferOf(result);
  unsigned bytes = target.type.getElementTypeBitWidth() / 8;
  if (bytes < 2 || !target.type.hasStaticShape() ||
      target.type.getNumElements() * bytes < manyBytes)
    return {};
  // A caller's buffer may lie anywhere.
  Value address = LLVM::PtrToIntOp::create(b, r.loc, b.getI64Type(), target.pointer);
  Value rest = arith::AndIOp::create(b, r.loc, address, i64(tileBytes - 1));
  return arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::eq, rest, i64(0));
}

void GemmAmxBf16BlockedKEmitter::moveSums(StringRef operation, Value local) {
  Value from = r.mul(local, r.constant(blockBytes));
  for (int64_t i = 0; i < 4; ++i)
    call(operation,
         {tile(i), byteAddress(sums, r.add(from, r.constant(i * tileSums * 4))), i64(tileBytes)});
}

void GemmAmxBf16BlockedKEmitter::sum(Value local, Value depthFrom, int64_t count,
                                     function_ref<void(Value step)> beside) {
  Value blockFrom = r.mul(local, r.constant(block * depth));
  emitStepLoop(r, r.constant(0), r.constant(count / step), 1, [&](Value k) {
    Value row = r.add(depthFrom, r.mul(k, r.constant(step)));
    Value columns = r.add(panelBase, r.mul(row, r.constant(width)));
    // Blocks of the depth, and panels, follow each other in memory.
    fetchColumns(r.add(columns, r.constant(count * width)), local, sharers);
    Value at = r.add(blockFrom, r.mul(row, r.constant(block)));
    multiplyTiles("tdpbf16ps",
                  {packed, at, /*pitch=*/step, /*second=*/r.constant(tileRows * step),
                   /*isPassing=*/true},
                  columns);
    beside(k);
  });
}

void GemmAmxBf16BlockedKEmitter::finish(const RowPanel &rowPanel, Value number, Value local,
                                        Value from, Value to, Value column) {
  Block at = blockAt(rowPanel, number);
  Value half = arith::AndIOp::create(b, r.loc, local, r.constant(1));
  Value where = byteAddress(scratch, r.mul(half, r.constant(blockBytes)));
  finishRows(
      rowPanel, at.start, r.maximum(from, at.skip), to, column, r.constant(block), lanes,
      [&](VectorReader &reader, Value sum) { return reader.load(where, b.getF32Type(), sum); },
      isStreamed);
}

void GemmAmxBf16BlockedKEmitter::lastSums(const RowPanel &rowPanel, Value first, Value last,
                                          Value column, Value depthFrom, int64_t count) {
  int64_t each = llvm::divideCeil(block, count / step);
  Value none = r.constant(0), all = r.constant(block);
  emitStepLoop(r, first, last, 1, [&](Value number) {
    Value local = r.sub(number, first);
    Value before = r.sub(number, r.constant(1)), beforeLocal = r.sub(local, r.constant(1));
    Value limit = arith::SelectOp::create(b, r.loc, r.equal(local, none), none, all);
    if (depthBefore == 0)
      clearTiles();
    else
      moveSums("tileloadd64", local);
    sum(local, depthFrom, count, [&](Value k) {
      Value from = r.mul(k, r.constant(each));
      finish(rowPanel, before, beforeLocal, from, r.minimum(r.add(from, r.constant(each)), limit),
             column);
    });
    Value half = arith::AndIOp::create(b, r.loc, local, r.constant(1));
    storeTiles(byteAddress(scratch, r.mul(half, r.constant(blockBytes))));
  });
  Value number = r.sub(last, r.constant(1));
  finish(rowPanel, number, r.sub(number, first), none, all, column);
}

void GemmAmxBf16BlockedKEmitter::part(const RowPanel &rowPanel, Value first, Value last,
                                      Value panel) {
  packRows(rowPanel, first, last);
  Value column = r.mul(panel, r.constant(block));
  panelBase = r.mul(column, r.constant(depth));
  Value none = r.constant(0), before = r.constant(depthBefore);
  emitStepLoop(r, none, before, depthBlock, [&](Value from) {
    emitStepLoop(r, first, last, 1, [&](Value number) {
      Value local = r.sub(number, first);
      emitEither(
          r, r.equal(from, none), [&] { clearTiles(); }, [&] { moveSums("tileloadd64", local); });
      sum(local, from, depthBlock, [](Value) {});
      moveSums("tilestored64", local);
    });
  });
  lastSums(rowPanel, first, last, column, before, depth - depthBefore);
}

void GemmAmxBf16BlockedKEmitter::emit(DotGeneralOp dot, Value begin, Value end) {
  RowPanel whole = stripOf(dot);
  chunk = parts[0] / block;
  if (std::optional<int64_t> positions = getConstantIntValue(whole.positions))
    chunk = std::min<int64_t>(chunk, llvm::divideCeil(*positions, block));
  sharers = sharersOf(whole, block);
  depthBlock = kernel.getSchedule()[plan::schedule::depthBlock];
  depthBefore = (llvm::divideCeil(depth, depthBlock) - 1) * depthBlock;
  configureTiles(r.constant(block), tileBytes, tileRows);
  packed = stackBytes(chunk * block * depth * elementBytes);
  sums = stackBytes(chunk * blockBytes);
  scratch = stackBytes(2 * blockBytes);
  packedFirst = noteOnStack();
  isStreamed = streamCondition();
  eachPart(dot, whole, block, begin, end,
           [&](const RowPanel &rowPanel, Value first, Value last, Value panel) {
             part(rowPanel, first, last, panel);
           });
  if (isStreamed)
    call("sse.sfence", {});
  call("tilerelease", {});
}

void weir::emitGemmAmxBf16BlockedK(KernelBuilder &r, plan::KernelOp kernel,
                                   const PackedGemm &product, Value begin, Value end) {
  GemmAmxBf16BlockedKEmitter(r, kernel, product).emit(cast<DotGeneralOp>(product.op), begin, end);
}
