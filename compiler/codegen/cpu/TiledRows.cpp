//===- TiledRows.cpp - tiles along several dimensions -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lines that lie together in the operand and the result are a run: those of one turn along the last
// repeated dimension before the last. Where a run begins is found once. The next turn copies the
// one before it, which caches hold; a line that is repeated itself is read once and stored several
// times.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/TiledRows.h"
#include "compiler/codegen/cpu/Tiles.h"
#include "compiler/codegen/cpu/schedule/RegisterTiles.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

TileOp weir::tileOfRows(KernelBuilder &r, Value tensor) {
  auto tile = tensor.getDefiningOp<TileOp>();
  std::optional<SmallVector<int64_t>> repeats =
      tile ? constantIntegers(tile.getRepeats()) : std::nullopt;
  if (!repeats || !isWholeBuffer(r, tile.getOperand()) ||
      !BufferAccess::storageType(getElementTypeOrSelf(tensor.getType())).isIntOrFloat() ||
      llvm::any_of(*repeats, [](int64_t count) { return count < 1; }))
    return {};
  return repeats->size() - llvm::count(*repeats, 1) > 1 ? tile : TileOp();
}

namespace {
class TiledRows {
public:
  TiledRows(KernelBuilder &r, TileOp tile, const KernelBuilder::Buffer &target)
      : r(r), repeats(*constantIntegers(tile.getRepeats())), source(r.bufferOf(tile.getOperand())),
        target(target), stored(BufferAccess::storageType(target.type.getElementType())),
        lanes(vectorUnitOf(tile->getParentOfType<ModuleOp>()).bytes * 8 /
              stored.getIntOrFloatBitWidth()),
        line(source.dims.back()), wide(target.dims.back()) {
    // Of several repeated dimensions one at least is before the last.
    turning = repeats.size() - 2;
    while (repeats[turning] == 1)
      --turning;
  }

  void emit(Value begin, Value end) {
    Value one = r.constant(1), zero = r.constant(0), lines = one;
    for (Value dim : ArrayRef(source.dims).drop_front(turning).drop_back())
      lines = r.mul(lines, dim);
    // None is copied of what has no lines, whose range is empty.
    lines = r.maximum(lines, one);
    scf::ForOp loop = createBlockLoop(r, begin, end, lines);
    OpBuilder::InsertionGuard guard(r.b);
    r.b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar(), base = r.mul(number, lines);
    SmallVector<Value> counted(ArrayRef(target.dims).take_front(turning));
    counted.push_back(r.constant(repeats[turning]));
    SmallVector<Value> at = r.blockIndices(number, counted);
    Value turn = at.pop_back_val(), block = zero;
    for (auto [i, index] : llvm::enumerate(at)) {
      Value own = repeats[i] == 1 ? index : r.remainder(index, r.maximum(source.dims[i], one));
      block = r.add(r.mul(block, source.dims[i]), own);
    }
    Value from = r.maximum(r.sub(begin, base), zero), to = r.minimum(r.sub(end, base), lines);
    // The turn before is this part's, and whole.
    Value isAgain = r.logicalAnd(r.less(zero, turn), r.less(r.add(begin, r.sub(lines, one)), base));
    emitEither(
        r, isAgain,
        [&] {
          Value first = r.add(base, from);
          copyElements(r, target, r.mul(r.sub(first, lines), wide), target, r.mul(first, wide),
                       r.mul(r.sub(to, from), wide));
        },
        [&] { emitRun(r.add(r.mul(block, lines), from), r.add(base, from), r.sub(to, from)); });
  }

private:
  /// `count` lines of the operand, from line `from` on, as those from `to` on.
  void emitRun(Value from, Value to, Value count) {
    int64_t times = repeats.back();
    Value zero = r.constant(0);
    if (times == 1)
      return copyElements(r, source, r.mul(from, line), target, r.mul(to, line),
                          r.mul(count, line));
    Value whole = r.mul(r.divide(line, r.constant(lanes)), r.constant(lanes));
    emitStepLoop(r, zero, count, 1, [&](Value i) {
      Value read = r.mul(r.add(from, i), line), written = r.mul(r.add(to, i), wide);
      emitStepLoop(r, zero, whole, lanes, [&](Value k) {
        repeat(VectorType::get({lanes}, stored), r.add(read, k), r.add(written, k), times);
      });
      auto rest = scf::ForOp::create(r.b, r.loc, whole, line, r.constant(1));
      forbidUnrolling(rest);
      r.b.setInsertionPointToStart(rest.getBody());
      Value k = rest.getInductionVar();
      repeat(stored, r.add(read, k), r.add(written, k), times);
    });
  }

  /// Stores what lies at `read` a line apart, from `written` on.
  void repeat(Type type, Value read, Value written, int64_t times) {
    constexpr int64_t mostWrittenOut = 8;
    Type element = target.type.getElementType();
    int64_t alignment = elementBytes(element);
    Value value = LLVM::LoadOp::create(
        r.b, r.loc, type, BufferAccess::address(r, source.pointer, element, read), alignment);
    auto store = [&](Value turn) {
      Value at = r.add(written, r.mul(turn, line));
      LLVM::StoreOp::create(r.b, r.loc, value,
                            BufferAccess::address(r, target.pointer, element, at), alignment);
    };
    if (times > mostWrittenOut)
      return emitStepLoop(r, r.constant(0), r.constant(times), 1, store);
    for (int64_t turn = 0; turn < times; ++turn)
      store(r.constant(turn));
  }

  KernelBuilder &r;
  SmallVector<int64_t> repeats;
  const KernelBuilder::Buffer source, target;
  Type stored;
  int64_t lanes;
  Value line, wide; ///< elements of a line of the operand and of the result
  size_t turning;   ///< the last repeated dimension before the last
};
} // namespace

void weir::emitTiledRows(KernelBuilder &r, TileOp tile, const KernelBuilder::Buffer &target,
                         Value begin, Value end) {
  TiledRows(r, tile, target).emit(begin, end);
}
