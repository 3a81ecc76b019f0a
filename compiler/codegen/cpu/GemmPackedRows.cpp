//===- GemmPackedRows.cpp - products of packed rows ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Large products: what a thread has of a block of rows goes by blocks of the sum, and those by
// panels of columns. A block of rows by a block of the sum lies on the stack, in the second-level
// cache, tile by tile, a step's elements side by side. So tiles are as high as registers allow,
// however far apart rows lie, and read a panel's columns seldom. Sums wait in the result between
// blocks of the sum: a tile fetches where they lie row by row while its steps go on, since all of
// them at once would keep its operands waiting.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/GemmEmitter.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

/// Fetches the element's line to the first-level cache (`level` 3) or the second (2).
static void fetch(KernelBuilder &r, Value pointer, Type element, Value linear, int level) {
  LLVM::Prefetch::create(r.b, r.loc, BufferAccess::address(r, pointer, element, linear), /*rw=*/0,
                         level, /*cache=*/1);
}

/// Where the tile of packed rows from `offset` on in the block begins.
Value GemmEmitter::packedTile(Value offset) { return r.mul(offset, r.constant(*depthBlock)); }

/// Where the sums of a tile's rows from `offset` on in the block wait: in the first result, which
/// has no gaps.
PartialSums GemmEmitter::sumsInResult(const Part &part, const DepthRange &range, Value offset) {
  Value row = r.add(r.mul(part.matrix, rows), r.add(part.firstRow, offset));
  PartialSums waiting{target.pointer, r.add(r.mul(row, columns), part.column),
                      target.type.getShape().back(), /*isFirst=*/false, range.isLast};
  waiting.isInResult = true;
  if (!range.isLast)
    waiting.isFirstIf = r.equal(range.from, r.constant(0));
  return waiting;
}

/// What a step of a tile fetches: packed rows some steps ahead, its share of the next panel, and
/// every so many steps where the sums of a row wait.
void GemmEmitter::fetchAhead(const Part &part, const DepthRange &range, Value offset,
                             int64_t tileRows, Value k) {
  constexpr int64_t stepsAhead = 16, nearest = 3, second = 2, lineBytes = 64;
  Value later = r.mul(r.add(k, r.constant(stepsAhead)), r.constant(tileRows));
  fetch(r, packedRows, element, r.add(packedTile(offset), later), nearest);
  int64_t count = *getConstantIntValue(range.count), width = shape.width();
  if (rhs.wantsPrefetch(kernel, tilesInPanel)) {
    // Tiles of a block follow each other, and so do their shares.
    int64_t shares = std::min<int64_t>(llvm::bit_floor((uint64_t)tilesInPanel), width);
    Value tile = r.divide(offset, r.constant(shape.rows));
    Value place =
        r.divide(r.mul(r.add(r.mul(tile, range.count), k), r.constant(width)), r.constant(shares));
    Value next = rhs.linear(r, part.matrixRows, r.add(part.right, range.from),
                            r.add(part.panel, r.constant(1)), part.column, 0);
    int64_t line = lineBytes / elementBytes(element);
    for (int64_t i = 0; i < std::max<int64_t>(1, width / shares / line); ++i)
      fetch(r, rhs.buffer.pointer, element, r.add(r.add(next, place), r.constant(i * line)),
            second);
  }
  int64_t steps = llvm::bit_floor((uint64_t)std::max<int64_t>(1, count / tileRows));
  Value isNow = r.equal(r.remainder(k, r.constant(steps)), r.constant(0));
  PartialSums waiting = sumsInResult(part, range, offset);
  emitEither(
      r, isNow,
      [&] {
        Value row = r.divide(k, r.constant(steps));
        for (int64_t v = 0; v < shape.vectors; ++v)
          fetch(r, waiting.pointer, element,
                r.add(r.add(waiting.first, r.mul(row, columns)), r.constant(v * shape.lanes)),
                nearest);
      },
      [] {});
}

/// Packs a tile's rows from `offset` on in the block. Vectors are stored in the order of what they
/// are meant for: what lies beyond that belongs to later ones.
void GemmEmitter::packTile(const Part &part, const DepthRange &range, Value offset,
                           int64_t tileRows) {
  int64_t lanes = shape.lanes, count = *getConstantIntValue(range.count);
  int64_t groups = llvm::divideCeil(tileRows, lanes);
  auto type = VectorType::get({lanes}, element);
  Value zeros = arith::ConstantOp::create(r.b, r.loc, r.b.getZeroAttr(type));
  auto firstLanes = [&](int64_t left) {
    return left >= lanes
               ? Value()
               : Value(vector::CreateMaskOp::create(
                     r.b, r.loc, VectorType::get({lanes}, r.b.getI1Type()), r.constant(left)));
  };
  Value first =
      r.add(r.add(part.left, r.mul(r.add(part.firstRow, offset), step)), r.mul(range.from, stride));
  VectorReader target(r, lanes);
  auto store = [&](Value vector, Value k, int64_t group) {
    Value place = r.add(r.mul(k, r.constant(tileRows)), r.constant(group * lanes));
    target.store(vector, packedRows, element, r.add(packedTile(offset), place));
  };
  if (isLeftTurned) {
    emitStepLoop(r, r.constant(0), r.constant(count), 1, [&](Value k) {
      for (int64_t group = 0; group < groups; ++group) {
        VectorReader source(r, lanes);
        source.setLanes({}, firstLanes(tileRows - group * lanes));
        Value linear = r.add(r.add(first, r.mul(k, stride)), r.constant(group * lanes));
        store(source.load(lhs.pointer, element, linear), k, group);
      }
    });
    return;
  }
  auto emitSteps = [&](Value k, int64_t left) {
    VectorReader source(r, lanes);
    source.setLanes({}, firstLanes(left));
    SmallVector<SmallVector<Value>> turned(groups, SmallVector<Value>(lanes, zeros));
    for (auto [group, vectors] : llvm::enumerate(turned)) {
      for (int64_t i = 0, row = group * lanes; i < lanes && row < tileRows; ++i, ++row)
        vectors[i] =
            source.load(lhs.pointer, element, r.add(r.add(first, r.mul(r.constant(row), step)), k));
      turn(r.b, r.loc, vectors);
    }
    for (int64_t i = 0; i < std::min(left, lanes); ++i)
      for (int64_t group = 0; group < groups; ++group)
        store(turned[group][i], r.add(k, r.constant(i)), group);
  };
  emitTiled(r, count, lanes, [&](Value k) { emitSteps(k, lanes); }, emitSteps);
}

/// Packs a block of rows over a range of the sum.
void GemmEmitter::packRows(const Part &part, const DepthRange &range) {
  emitRowTiles(r, part.rows, shape.rows,
               [&](Value offset, int64_t tileRows) { packTile(part, range, offset, tileRows); });
}

/// The parts from `begin` to before `end`, those of a block of rows together.
void GemmEmitter::emitPackedRows(Value begin, Value end) {
  Value panels = r.constant(llvm::divideCeil(target.type.getShape().back(), shape.width()));
  SmallVector<Value> sizes(target.dims.begin(), target.dims.begin() + batch);
  sizes.append({rows, columns});
  OpBuilder::InsertionGuard guard(r.b);
  auto loop = createBlockLoop(r, begin, end, panels);
  r.b.setInsertionPointToStart(loop.getBody());
  Value base = r.mul(loop.getInductionVar(), panels);
  Value from = r.maximum(begin, base), to = r.minimum(end, r.add(base, panels));
  Part block = partOf(r.blockIndices(base, sizes, blocks));
  emitDepthBlocks([&](const DepthRange &range) {
    packRows(block, range);
    emitStepLoop(r, from, to, 1, [&](Value number) {
      Part part = block;
      part.panel = r.sub(number, base);
      part.column = r.mul(part.panel, r.constant(shape.width()));
      emitPanel(r, target.type.getShape().back(), columns, part.column, shape,
                [&](int64_t vectors, Value limit) { emitDepth(part, {vectors, limit}, range); });
    });
  });
}
