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
// copies its panel to the stack, a block of the sum at a time, where that pays.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Tiles.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

/// Whether every operand of what follows the product has the result's shape, or
/// is the same for all rows: then a row is known by its number alone.
static bool readsRowsInOrder(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                             const KernelBuilder::Buffer &target, int64_t batch) {
  RankedTensorType result = target.type;
  if (!result.hasStaticShape() || target.hasGaps())
    return false;
  Value right = dot.getRhs();
  if (auto unpack = right.getDefiningOp<UnpackPanelsOp>())
    right = unpack.getOperand();
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (argument == dot.getLhs() || argument == right)
      continue;
    if (r.bufferOf(argument).hasGaps())
      return false;
    if (type.getShape() == result.getShape())
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

/// Copies `rows` of a plain right operand to `panel`, in rows of `width` floats that
/// are zero where no column is.
static void copyPanel(KernelBuilder &r, const ColumnsOperand &operand, const PanelRows &rows,
                      const TileShape &shape, int64_t width, Value panel) {
  // Rows are pages apart, which no processor fetches ahead by itself.
  constexpr int64_t ahead = 16;
  SmallVector<Value> masks = laneMasks(r, shape, rows.column, rows.limit);
  emitStepLoop(r, r.constant(0), rows.count, 1, [&](Value k) {
    for (int64_t v = 0; v < shape.vectors; ++v) {
      auto linear = [&](Value row) {
        return operand.linear(r, {}, r.add(rows.first, row), {}, rows.column, v * shape.lanes);
      };
      Value later = BufferAccess::address(r, operand.buffer.pointer, r.b.getF32Type(),
                                          linear(r.add(k, r.constant(ahead))));
      LLVM::Prefetch::create(r.b, r.loc, later, /*rw=*/0, /*hint=*/3, /*cache=*/1);
      VectorReader source(r, shape.lanes), target(r, shape.lanes);
      source.setLanes({}, masks[v]);
      Value vector = source.load(operand.buffer.pointer, r.b.getF32Type(), linear(k));
      target.store(vector, panel, r.b.getF32Type(),
                   r.add(r.mul(k, r.constant(width)), r.constant(v * shape.lanes)));
    }
  });
}

LogicalResult weir::emitGemm(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  Block &body = kernel.getBody().front();
  auto dots = body.getOps<DotGeneralOp>();
  DotGeneralOp dot = *dots.begin();
  auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef();
  auto blocks = kernel->getAttrOfType<DenseI64ArrayAttr>("tiles").asArrayRef();
  TileShape shape{tile[0], tile[1], tile[2]};
  const KernelBuilder::Buffer target = r.bufferOf(body.getTerminator()->getOperand(0));
  const KernelBuilder::Buffer lhs = r.bufferOf(dot.getLhs());
  ColumnsOperand rhs(r, dot.getRhs());
  int64_t rank = target.type.getRank(), batch = dot.getLhsBatch().size();
  // Rows of several dimensions follow each other in memory and count as one.
  int64_t rowDims = rank - batch - 1;
  Value rows = r.constant(1), columns = target.dims.back(), depth = lhs.dims.back();
  // Elements from one row of the left operand to the next.
  Value step = lhs.extent(r, lhs.dims.size() - 1);
  for (int64_t i = batch; i + 1 < rank; ++i)
    rows = r.mul(rows, target.dims[i]);
  bool isUniform = rowDims == 1 || readsRowsInOrder(r, kernel, dot, target, batch);
  int64_t tilesInPanel = llvm::divideCeil(blocks[batch], shape.rows);
  // Blocks of K, and sums between them.
  auto depthBlock = kernel->getAttrOfType<IntegerAttr>("depth_block");
  Value sums, copied;
  if (depthBlock)
    sums = stackFloats(r, blocks[batch] * shape.width());
  if (kernel->hasAttr("copies_panels")) {
    int64_t most = depthBlock ? depthBlock.getInt() : lhs.type.getShape().back();
    copied = stackFloats(r, most * shape.width());
  }
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    // part = (batch…, row block, column panel)
    SmallVector<Value> sizes(target.dims.begin(), target.dims.begin() + batch);
    sizes.push_back(rows);
    sizes.push_back(columns);
    SmallVector<Value> at = r.blockIndices(part, sizes, blocks);
    SmallVector<Value> outer(at.begin(), at.begin() + batch);
    Value index = r.constant(0);
    for (int64_t i = 0; i < batch; ++i)
      index = r.add(r.mul(index, target.dims[i]), at[i]);
    Value left = r.mul(index, r.mul(rows, step));
    Value right = r.mul(index, depth), matrixRows = depth;
    for (int64_t i = 0; i < batch; ++i)
      matrixRows = r.mul(matrixRows, rhs.dim(i));
    Value firstRow = r.mul(at[batch], r.constant(blocks[batch]));
    // Whole blocks have a number of rows known at compile time.
    int64_t staticRows = 1;
    for (int64_t i = batch; i + 1 < rank; ++i)
      staticRows = target.type.isDynamicDim(i) || staticRows < 0
                       ? -1
                       : staticRows * target.type.getDimSize(i);
    bool exact = staticRows > 0 && staticRows % blocks[batch] == 0;
    Value rowCount = exact ? r.constant(blocks[batch])
                           : r.minimum(r.constant(blocks[batch]), r.sub(rows, firstRow));
    Value column = r.mul(at[batch + 1], r.constant(shape.width()));

    // Rows of the sum that are computed at once: `count` from `from` on.
    struct DepthRange {
      Value from, count;
      bool isWhole, isLast;
    };
    auto emit = [&](int64_t tileRows, int64_t vectors, Value limit, const DepthRange &range,
                    Value offset) {
      TileShape own{tileRows, vectors, shape.lanes};
      Value row = r.add(firstRow, offset);
      Value base = r.add(r.add(left, r.mul(row, step)), range.from);
      Value firstOfRight = r.add(right, range.from);
      auto readLeft = [&](int64_t i, ValueRange k) {
        Value linear = r.add(r.add(base, k[0]), r.mul(r.constant(i), step));
        return BufferAccess::load(r, lhs.pointer, r.b.getF32Type(), linear);
      };
      auto readRight = [&](int64_t v, ValueRange k) {
        if (copied)
          return std::make_pair(
              copied, r.add(r.mul(k[0], r.constant(shape.width())), r.constant(v * shape.lanes)));
        return std::make_pair(rhs.buffer.pointer,
                              rhs.linear(r, matrixRows, r.add(firstOfRight, k[0]), at[batch + 1],
                                         column, v * shape.lanes));
      };
      auto prefetch = [&](ValueRange k) {
        rhs.prefetch(r, matrixRows, r.add(firstOfRight, k[0]), at[batch + 1],
                     r.divide(offset, r.constant(shape.rows)), tilesInPanel);
      };
      auto indexOfRow = [&](int64_t i) {
        SmallVector<Value> indices(outer);
        Value index = r.add(row, r.constant(i));
        // The last of the rows' dimensions may run on over the others where what
        // is read lies in the same order.
        SmallVector<Value> inRow(rowDims, r.constant(0));
        for (int64_t d = rowDims - 1; d > 0 && !isUniform; --d) {
          inRow[d] = r.remainder(index, target.dims[batch + d]);
          index = r.divide(index, target.dims[batch + d]);
        }
        inRow[isUniform ? rowDims - 1 : 0] = index;
        llvm::append_range(indices, inRow);
        return indices;
      };
      TileOperands operands{readLeft, readRight, rhs.isPacked || copied};
      if (rhs.wantsPrefetch(kernel, tilesInPanel))
        operands.prefetch = prefetch;
      if (!range.isWhole)
        operands.partial = PartialSums{sums, r.mul(offset, r.constant(shape.width())),
                                       shape.width(), /*isFirst=*/false, range.isLast};
      emitTile(r, kernel, dot, own, {range.count}, operands, indexOfRow, column, limit);
    };
    auto emitBlock = [&](int64_t vectors, Value limit, const DepthRange &range) {
      if (copied)
        copyPanel(r, rhs, {r.add(right, range.from), range.count, column, limit},
                  {1, vectors, shape.lanes}, shape.width(), copied);
      emitRowTiles(r, rowCount, shape.rows, [&](Value offset, int64_t tileRows) {
        emit(tileRows, vectors, limit, range, offset);
      });
    };
    auto emitRows = [&](int64_t vectors, Value limit) {
      Value zero = r.constant(0);
      if (!depthBlock)
        return emitBlock(vectors, limit, {zero, depth, true, true});
      int64_t each = depthBlock.getInt(), all = lhs.type.getShape().back();
      Value noSum = arith::ConstantOp::create(
          r.b, r.loc, r.b.getZeroAttr(VectorType::get({shape.lanes}, r.b.getF32Type())));
      VectorReader whole(r, shape.lanes);
      emitStepLoop(r, zero, r.constant(blocks[batch] * shape.width()), shape.lanes,
                   [&](Value at) { whole.store(noSum, sums, r.b.getF32Type(), at); });
      int64_t last = llvm::alignDown(all - 1, each);
      emitStepLoop(r, zero, r.constant(last), each, [&](Value from) {
        emitBlock(vectors, limit, {from, r.constant(each), false, false});
      });
      emitBlock(vectors, limit, {r.constant(last), r.constant(all - last), false, true});
    };
    emitPanel(r, target.type.getShape().back(), columns, column, shape, emitRows);
  });
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
