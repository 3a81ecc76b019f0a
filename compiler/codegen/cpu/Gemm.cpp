//===- Gemm.cpp - matrix products -----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [batch…, M…, K] by [batch…, K, N]. The range counts blocks of rows by panels of
// columns, row-major: a panel of the right operand (K by some vectors) stays in
// the second-level cache while the block's rows pass by. Where K is too long for
// that, the sum goes by blocks of it, and sums wait on the stack in between.
//
// A constant right operand lies in panels. Of one that the program computes, a part
// copies its panel to the stack, a block of the sum at a time, where that pays; of open
// sizes the part itself finds out.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/GemmEmitter.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "compiler/codegen/cpu/schedule/ProductTiles.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

/// Whether every operand of what follows the product has the result's shape, or
/// is the same for all rows: then a row is known by its number alone.
static bool readsRowsInOrder(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                             const KernelBuilder::Buffer &target, int64_t batch) {
  RankedTensorType result = target.type;
  if (target.hasGaps())
    return false;
  Value right = bufferBehind(dot.getRhs()); // in panels, or turned
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (argument == dot.getLhs() || argument == right)
      continue;
    if (r.bufferOf(argument).hasGaps())
      return false;
    // Of open sizes each dimension may be one element, which its own index would then ask about.
    if (type.getShape() == result.getShape() && type.hasStaticShape())
      continue;
    int64_t rank = type.getRank(), missing = result.getRank() - rank;
    for (int64_t i = 0; i + 1 < rank; ++i)
      if (i + missing >= batch && type.getDimSize(i) != 1)
        return false;
  }
  return true;
}

namespace {

/// Rows of the right operand, and the columns of one panel.
struct PanelRows {
  Value first, count;
  Value column, limit; ///< columns from `limit` on do not exist (null: all do)
};

} // namespace

/// Copies `rows` of a plain right operand to `panel`, in rows of `width` elements that
/// are zero where no column is.
static void copyPanel(KernelBuilder &r, const ColumnsOperand &operand, const PanelRows &rows,
                      const TileShape &shape, int64_t width, Value panel) {
  // Rows are pages apart, which no processor fetches ahead by itself.
  constexpr int64_t ahead = 16;
  Type element = BufferAccess::storageType(operand.buffer.type.getElementType());
  SmallVector<Value> masks = laneMasks(r, shape, rows.column, rows.limit);
  emitStepLoop(r, r.constant(0), rows.count, 1, [&](Value k) {
    for (int64_t v = 0; v < shape.vectors; ++v) {
      auto linear = [&](Value row) {
        return operand.linear(r, {}, r.add(rows.first, row), {}, rows.column, v * shape.lanes);
      };
      Value later = BufferAccess::address(r, operand.buffer.pointer, element,
                                          linear(r.add(k, r.constant(ahead))));
      LLVM::Prefetch::create(r.b, r.loc, later, /*rw=*/0, /*hint=*/3, /*cache=*/1);
      VectorReader source(r, shape.lanes), target(r, shape.lanes);
      source.setLanes({}, masks[v]);
      Value vector = source.load(operand.buffer.pointer, element, linear(k));
      target.store(vector, panel, element,
                   r.add(r.mul(k, r.constant(width)), r.constant(v * shape.lanes)));
    }
  });
}

/// The same of a right operand whose lines lie along the depth: blocks of it are turned in
/// registers. `matrix` is its first element, `panel` has room for whole blocks of rows.
static void copyTurnedPanel(KernelBuilder &r, const ColumnsOperand &operand, Value matrix,
                            const PanelRows &rows, const TileShape &shape, int64_t width,
                            Value panel) {
  Type element = BufferAccess::storageType(operand.buffer.type.getElementType());
  int64_t lanes = shape.lanes;
  Value pitch = operand.buffer.dims.back();
  auto emitBlock = [&](Value k, int64_t v, bool isWhole) {
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < lanes; ++i) {
      Value column = r.add(rows.column, r.constant(v * lanes + i));
      Value linear = r.add(r.add(matrix, r.mul(column, pitch)), r.add(rows.first, k));
      VectorReader source(r, lanes);
      if (!isWhole) {
        Value left = r.minimum(r.sub(rows.count, k), r.constant(lanes));
        if (rows.limit)
          left = r.select(r.less(column, rows.limit), left, r.constant(0));
        source.setLanes({}, vector::CreateMaskOp::create(
                                r.b, r.loc, VectorType::get({lanes}, r.b.getI1Type()), left));
      }
      vectors.push_back(source.load(operand.buffer.pointer, element, linear));
    }
    turn(r.b, r.loc, vectors);
    VectorReader target(r, lanes);
    for (auto [i, vector] : llvm::enumerate(vectors))
      target.store(vector, panel, element,
                   r.add(r.mul(r.add(k, r.constant(i)), r.constant(width)), r.constant(v * lanes)));
  };
  auto emitAll = [&](Value from, Value to, bool isWhole) {
    emitStepLoop(r, from, to, lanes, [&](Value k) {
      for (int64_t v = 0; v < shape.vectors; ++v)
        emitBlock(k, v, isWhole);
    });
  };
  Value zero = r.constant(0);
  if (rows.limit)
    return emitAll(zero, rows.count, /*isWhole=*/false);
  Value whole = r.mul(r.divide(rows.count, r.constant(lanes)), r.constant(lanes));
  emitAll(zero, whole, /*isWhole=*/true);
  emitAll(whole, rows.count, /*isWhole=*/false);
}

/// Whether the panels of a product of open sizes are copied, which only running shows.
/// Null: they are in any case.
static Value paysToCopy(KernelBuilder &r, plan::KernelOp kernel, const TileShape &shape, Value rows,
                        Value columns, Value depth) {
  if (!kernel.getSchedule()[plan::schedule::whereItPays])
    return {};
  auto exceeds = [&](Value value, int64_t bound) { return r.less(r.constant(bound), value); };
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  int64_t small = smallRightOperand / elementBytes(getElementTypeOrSelf(result.getType()));
  Value pays =
      r.logicalAnd(exceeds(columns, shape.width()), exceeds(rows, fewTilesOfRows * shape.rows - 1));
  return r.logicalAnd(pays, exceeds(r.mul(depth, columns), small));
}

namespace {
/// So few rows of a product that its time is that of reading its matrix.
struct FewRows {
  int64_t count;
  Value pitch; ///< from one row of the left operand to the next
  function_ref<SmallVector<Value>(int64_t)> indexOfRow;
};
} // namespace

/// Few rows, for which the matrix is read once: of narrow panels several go side by side. Of a
/// matrix that the program computes, whose rows lie far apart, parts are columns. A part has
/// `partColumns`.
static void emitFewRows(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                        const TileShape &shape, const FewRows &few, int64_t partColumns,
                        Value begin, Value end) {
  const KernelBuilder::Buffer lhs = leftOperand(r, dot);
  ColumnsOperand rhs(r, dot.getRhs());
  auto type = cast<RankedTensorType>(dot.getType());
  int64_t lanes = shape.lanes, known = type.getShape().back();
  Value columns = r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0)).dims.back();
  Value depth = lhs.dims.back();
  int64_t each = rhs.isPacked ? shape.vectors : 1;
  auto emit = [&](int64_t vectors, Value column, Value limit) {
    Value panel = rhs.isPacked ? r.divide(column, r.constant(shape.width())) : Value();
    auto readLeft = [&](int64_t row, ValueRange k) {
      return loadStep(r, dot, lhs.pointer, r.add(k[0], r.mul(few.pitch, r.constant(row))));
    };
    auto readRight = [&](int64_t v, ValueRange k) {
      Value own = panel ? r.add(panel, r.constant(v / each)) : Value();
      int64_t lane = (panel ? v % each : v) * lanes;
      Value line = rhs.firstLine ? r.add(rhs.firstLine, k[0]) : k[0];
      return std::make_pair(rhs.buffer.pointer, rhs.linear(r, depth, line, own, column, lane));
    };
    emitTile(r, kernel, dot, {few.count, vectors, lanes}, {depth},
             {readLeft, readRight, rhs.isPacked, rhs.narrow}, few.indexOfRow, column, limit);
  };
  auto column = [&](Value part) {
    return r.minimum(columns, r.mul(part, r.constant(partColumns)));
  };
  Value rest = column(begin), last = column(end);
  TileShape one{few.count, each, lanes};
  // Sums, a step's vectors and an element are in registers.
  int64_t most = std::min(vectorsOfRow, few.count == 1 ? vectorsOfRow : 31 / (few.count + 1));
  int64_t wide = std::max<int64_t>(most / each, 1) * one.width();
  if (!ShapedType::isDynamic(known) && !rhs.isPacked)
    wide = std::clamp<int64_t>(llvm::alignDown(known, lanes), lanes, wide);
  if (ShapedType::isDynamic(known) || known >= wide) {
    Value first = rest, steps = r.divide(r.sub(last, first), r.constant(wide));
    rest = r.add(first, r.mul(steps, r.constant(wide)));
    emitStepLoop(r, first, rest, wide, [&](Value at) { emit(wide / lanes, at, Value()); });
  }
  emitStepLoop(r, rest, last, one.width(), [&](Value at) {
    emitPanel(r, known, columns, at, one,
              [&](int64_t vectors, Value limit) { emit(vectors, at, limit); });
  });
}

/// The left operand as it lies, turned or not.
static KernelBuilder::Buffer plainLeft(KernelBuilder &r, DotGeneralOp dot) {
  auto turn = dot.getLhs().getDefiningOp<TransposeOp>();
  return turn ? r.bufferOf(turn.getOperand()) : leftOperand(r, dot);
}

GemmEmitter::GemmEmitter(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot)
    : r(r), kernel(kernel), dot(dot), blocks(kernel.getSchedule()[plan::schedule::parts]),
      target(r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0))),
      lhs(plainLeft(r, dot)), rhs(r, dot.getRhs()), element(tileElement(dot)),
      batch(dot.getLhsBatch().size()), rowDims(target.type.getRank() - batch - 1),
      isLeftTurned(bool(dot.getLhs().getDefiningOp<TransposeOp>())),
      depthBlock(kernel.getSchedule().find(plan::schedule::depthBlock)) {
  auto tile = kernel.getSchedule()[plan::schedule::tile];
  shape = {tile[0], tile[1], tile[2]};
  // Rows of several dimensions follow each other in memory.
  size_t rank = lhs.dims.size();
  rows = r.constant(1), columns = target.dims.back(), depth = lhs.dims[rank - 1 - isLeftTurned];
  step = isLeftTurned ? r.constant(1) : lhs.extent(r, rank - 1);
  stride = isLeftTurned ? lhs.dims.back() : r.constant(1);
  steps = lhs.type.getDimSize(rank - 1 - isLeftTurned);
  for (int64_t i = batch; i < batch + rowDims; ++i)
    rows = r.mul(rows, target.dims[i]);
  isUniform = rowDims == 1 || readsRowsInOrder(r, kernel, dot, target, batch);
  running = rowDims - 1;
  while (running > 0 && target.type.getDimSize(batch + running) == 1)
    --running;
  tilesInPanel = llvm::divideCeil(blockRows(), shape.rows);
  if (kernel.getSchedule()[plan::schedule::packsRows])
    // What packs them stores whole vectors, the last of them beyond the end.
    packedRows = stackElements(r, element, blockRows() * *depthBlock + shape.lanes);
  else if (depthBlock)
    sums = stackElements(r, element, blockRows() * shape.width());
  if (kernel.getSchedule()[plan::schedule::copiesPanels]) {
    int64_t most = depthBlock ? *depthBlock : steps;
    copied = stackElements(r, element, llvm::alignTo(most, shape.lanes) * shape.width());
    copies = paysToCopy(r, kernel, shape, rows, columns, depth);
  }
}

/// Whether the number of rows is known, and a multiple of a block's.
bool GemmEmitter::hasWholeBlocks() {
  if (kernel.getSchedule().has(plan::schedule::lines))
    return false;
  int64_t count = 1;
  for (int64_t size : target.type.getShape().slice(batch, rowDims)) {
    if (ShapedType::isDynamic(size))
      return false;
    count *= size;
  }
  return count > 0 && count % blockRows() == 0;
}

/// The part at (batch…, row block, column panel).
GemmEmitter::Part GemmEmitter::partOf(ArrayRef<Value> at) {
  Part part;
  part.outer.assign(at.begin(), at.begin() + batch);
  part.panel = at[batch + 1], part.matrixRows = depth;
  Value index = r.constant(0);
  for (int64_t i = 0; i < batch; ++i)
    index = r.add(r.mul(index, target.dims[i]), at[i]);
  part.matrix = index;
  part.left = r.mul(index, r.mul(rows, isLeftTurned ? depth : step));
  part.right = rhs.lineOf(r, index, rhs.isTurned ? columns : depth);
  for (int64_t i = 0; i < batch; ++i)
    part.matrixRows = r.mul(part.matrixRows, rhs.dim(i));
  RowBlock block = evenBlock(r, rows, blockRows(), shape.rows, at[batch]);
  part.firstRow = block.first, part.rows = block.count;
  part.column = r.mul(part.panel, r.constant(shape.width()));
  return part;
}

/// Indices of a row of the result, which `row` counts within its matrix.
SmallVector<Value> GemmEmitter::indexOfRow(const Part &part, Value row) {
  SmallVector<Value> indices(part.outer);
  if (!part.line.empty() && !isUniform) {
    llvm::append_range(indices, part.line);
    indices.push_back(r.add(part.inLine, r.sub(row, part.firstRow)));
    return indices;
  }
  // The last of the rows' dimensions may run on over the others where what
  // is read lies in the same order; but not one of size 1, which stretches.
  SmallVector<Value> inRow(rowDims, r.constant(0));
  for (int64_t d = rowDims - 1; d > 0 && !isUniform; --d) {
    inRow[d] = r.remainder(row, target.dims[batch + d]);
    row = r.divide(row, target.dims[batch + d]);
  }
  inRow[isUniform ? running : 0] = row;
  llvm::append_range(indices, inRow);
  return indices;
}

/// Indices of the row behind that of `indices`: the last one more, carried where a dimension ends.
SmallVector<Value> GemmEmitter::indexBehind(SmallVector<Value> indices) {
  Value more = r.constant(1), zero = r.constant(0);
  for (int64_t d = rowDims - 1; d > 0; --d) {
    Value next = r.add(indices[batch + d], more);
    Value isOver = r.equal(next, target.dims[batch + d]);
    indices[batch + d] = r.select(isOver, zero, next);
    more = r.select(isOver, r.constant(1), zero);
  }
  indices[batch] = r.add(indices[batch], more);
  return indices;
}

/// One register tile: `tileRows` from `offset` on in the block, over a range of the sum.
void GemmEmitter::emitTileRows(const Part &part, const Columns &wanted, const DepthRange &range,
                               Value offset, int64_t tileRows) {
  TileShape own{tileRows, wanted.vectors, shape.lanes};
  Value row = r.add(part.firstRow, offset);
  Value base = r.add(r.add(part.left, r.mul(row, step)), r.mul(range.from, stride));
  Value firstOfRight = r.add(part.right, range.from);
  auto readLeft = [&](int64_t i, ValueRange k) {
    if (packedRows)
      return BufferAccess::load(
          r, packedRows, element,
          r.add(packedTile(offset), r.add(r.mul(k[0], r.constant(tileRows)), r.constant(i))));
    Value linear = r.add(r.add(base, r.mul(k[0], stride)), r.mul(r.constant(i), step));
    return loadStep(r, dot, lhs.pointer, linear);
  };
  // Where a panel may be copied: its first row, and from a row to the next.
  Value panel = copied, panelPitch = r.constant(shape.width());
  if (copies) {
    Value own = BufferAccess::address(
        r, rhs.buffer.pointer, element,
        rhs.linear(r, part.matrixRows, firstOfRight, part.panel, part.column, 0));
    panel = arith::SelectOp::create(r.b, r.loc, copies, panel, own);
    panelPitch = arith::SelectOp::create(r.b, r.loc, copies, panelPitch, columns);
  }
  auto readRight = [&](int64_t v, ValueRange k) {
    if (copied)
      return std::make_pair(panel, r.add(r.mul(k[0], panelPitch), r.constant(v * shape.lanes)));
    return std::make_pair(rhs.buffer.pointer,
                          rhs.linear(r, part.matrixRows, r.add(firstOfRight, k[0]), part.panel,
                                     part.column, v * shape.lanes));
  };
  // Of an open number of rows a block may have few tiles.
  Value tiles = hasWholeBlocks() ? Value()
                                 : r.divide(r.add(part.rows, r.constant(shape.rows - 1)),
                                            r.constant(shape.rows));
  auto prefetch = [&](ValueRange k) {
    rhs.prefetch(r, part.matrixRows, r.add(firstOfRight, k[0]), part.panel,
                 r.divide(offset, r.constant(shape.rows)), tilesInPanel, tiles);
  };
  // Only the first row's indices take divisions: the others follow it.
  SmallVector<Value> indices;
  auto indexOf = [&](int64_t i) {
    if (isUniform || i == 0 || !part.line.empty())
      indices = indexOfRow(part, r.add(row, r.constant(i)));
    else
      indices = indexBehind(std::move(indices));
    return indices;
  };
  TileOperands operands{readLeft, readRight, rhs.isPacked || (copied && !copies), rhs.narrow};
  auto fetch = [&](ValueRange k) { fetchAhead(part, range, offset, tileRows, k[0]); };
  if (packedRows)
    operands.prefetch = fetch;
  else if (rhs.wantsPrefetch(kernel, tilesInPanel))
    operands.prefetch = prefetch;
  if (packedRows)
    operands.partial = sumsInResult(part, range, offset);
  else if (!range.isWhole)
    operands.partial = PartialSums{sums, r.mul(offset, r.constant(shape.width())), shape.width(),
                                   /*isFirst=*/false, range.isLast};
  emitTile(r, kernel, dot, own, {range.count}, operands, indexOf, part.column, wanted.limit);
}

/// Copies what a range of the sum reads of the panel.
void GemmEmitter::copyColumns(const Part &part, const Columns &wanted, const DepthRange &range) {
  TileShape own{1, wanted.vectors, shape.lanes};
  if (rhs.isTurned)
    return copyTurnedPanel(r, rhs, r.mul(part.right, rhs.buffer.dims.back()),
                           {range.from, range.count, part.column, wanted.limit}, own, shape.width(),
                           copied);
  copyPanel(r, rhs, {r.add(part.right, range.from), range.count, part.column, wanted.limit}, own,
            shape.width(), copied);
}

/// The block's rows, over a range of the sum.
void GemmEmitter::emitDepth(const Part &part, const Columns &wanted, const DepthRange &range) {
  auto copy = [&] { copyColumns(part, wanted, range); };
  if (copies)
    emitEither(r, copies, copy, [] {});
  else if (copied)
    copy();
  emitRowTiles(r, part.rows, shape.rows, [&](Value offset, int64_t tileRows) {
    emitTileRows(part, wanted, range, offset, tileRows);
  });
}

/// Emits `emit` for the blocks of the sum, of which there is one at least.
void GemmEmitter::emitDepthBlocks(function_ref<void(const DepthRange &)> emit) {
  int64_t each = *depthBlock, all = steps;
  Value zero = r.constant(0);
  // The block that ends the sum has what whole ones before it leave, one at least.
  Value last = ShapedType::isDynamic(all)
                   ? r.mul(r.divide(r.maximum(r.sub(depth, r.constant(1)), zero), r.constant(each)),
                           r.constant(each))
                   : r.constant(llvm::alignDown(all - 1, each));
  emitStepLoop(r, zero, last, each,
               [&](Value from) { emit({from, r.constant(each), false, false}); });
  Value left = ShapedType::isDynamic(all) ? r.sub(depth, last)
                                          : r.constant(all - llvm::alignDown(all - 1, each));
  emit({last, left, false, true});
}

/// The block's rows: their whole sums, block by block where K is long.
void GemmEmitter::emitRows(const Part &part, const Columns &wanted) {
  Value zero = r.constant(0);
  if (!depthBlock)
    return emitDepth(part, wanted, {zero, depth, true, true});
  Value noSum = arith::ConstantOp::create(r.b, r.loc,
                                          r.b.getZeroAttr(VectorType::get({shape.lanes}, element)));
  VectorReader whole(r, shape.lanes);
  emitStepLoop(r, zero, r.mul(part.rows, r.constant(shape.width())), shape.lanes,
               [&](Value at) { whole.store(noSum, sums, element, at); });
  emitDepthBlocks([&](const DepthRange &range) { emitDepth(part, wanted, range); });
}

void GemmEmitter::emitPart(const Part &part) {
  emitPanel(r, target.type.getShape().back(), columns, part.column, shape,
            [&](int64_t vectors, Value limit) { emitRows(part, {vectors, limit}); });
}

/// A stage's part: a line of the image whose positions are rows, block by block. The number counts
/// (line, column panel).
void GemmEmitter::emitLine(Value number) {
  Value length = target.dims[rowDims - 1], lines = r.constant(1);
  for (int64_t i = 0; i + 1 < rowDims; ++i)
    lines = r.mul(lines, target.dims[i]);
  SmallVector<Value> at = r.blockIndices(number, {lines, columns}, {1, blocks.back()});
  SmallVector<Value> line(rowDims - 1);
  Value left = at[0];
  for (int64_t d = rowDims - 2; d > 0; --d) {
    line[d] = r.remainder(left, target.dims[d]);
    left = r.divide(left, target.dims[d]);
  }
  line[0] = left;
  emitStepLoop(r, r.constant(0), length, blockRows(), [&](Value first) {
    Part part = partOf({r.constant(0), at[1]});
    part.firstRow = r.add(r.mul(at[0], length), first);
    part.rows = r.minimum(r.constant(blockRows()), r.sub(length, first));
    part.line = line, part.inLine = first;
    emitPart(part);
  });
}

void GemmEmitter::emit(Value begin, Value end) {
  if (kernel.getSchedule().has(plan::schedule::lines))
    return emitStepLoop(r, begin, end, 1, [&](Value number) { emitLine(number); });
  if (packedRows)
    return emitPackedRows(begin, end);
  auto emitParts = [&] {
    SmallVector<Value> sizes(target.dims.begin(), target.dims.begin() + batch);
    sizes.append({rows, columns});
    emitStepLoop(r, begin, end, 1,
                 [&](Value number) { emitPart(partOf(r.blockIndices(number, sizes, blocks))); });
  };
  auto emitFew = [&](int64_t count) {
    Part all;
    auto indexOf = [&](int64_t row) { return indexOfRow(all, r.constant(row)); };
    emitFewRows(r, kernel, dot, shape, {count, step, indexOf}, blocks.back(), begin, end);
  };
  if (blocks.back() != shape.width())
    return emitFew(1);
  bool hasOpenRows = ShapedType::isDynamicShape(target.type.getShape().slice(batch, rowDims));
  if (!hasOpenRows || batch || rhs.isTurned || target.hasGaps())
    return emitParts();
  // Of more rows tiles have sums enough.
  constexpr int64_t most = 3;
  std::function<void(int64_t)> emitCount = [&](int64_t count) {
    if (count > most)
      return emitParts();
    emitEither(
        r, r.equal(rows, r.constant(count)), [&] { emitFew(count); },
        [&] { emitCount(count + 1); });
  };
  emitCount(1);
}

LogicalResult weir::emitGemm(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  DotGeneralOp dot = *kernel.getBody().front().getOps<DotGeneralOp>().begin();
  GemmEmitter(r, kernel, dot).emit(begin, end);
  return success();
}

void weir::emitPanel(KernelBuilder &r, int64_t staticColumns, Value columns, Value column,
                     const TileShape &shape, function_ref<void(int64_t, Value)> emit) {
  bool dynamic = ShapedType::isDynamic(staticColumns);
  if (!dynamic && staticColumns % shape.width() == 0)
    return emit(shape.vectors, Value());
  Value fits = r.b.createOrFold<arith::CmpIOp>(r.loc, arith::CmpIPredicate::sle,
                                               r.add(column, r.constant(shape.width())), columns);
  int64_t left = dynamic ? 0 : staticColumns % shape.width();
  auto emitRest = [&] {
    if (!dynamic) {
      int64_t vectors = llvm::divideCeil(left, shape.lanes);
      emit(vectors, left % shape.lanes ? columns : Value());
      return;
    }
    emit(shape.vectors, columns); // every vector is masked for itself
  };
  if (!dynamic && staticColumns < shape.width())
    return emitRest();
  emitEither(r, fits, [&] { emit(shape.vectors, Value()); }, emitRest);
}
