//===- CudaGemmTile.cpp - tiles of products and convolutions -- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of the result. Along the depth, its threads bring
// slices of both operands into shared memory, and each adds products to a few
// rows and columns that it keeps in registers; where operands are f16, bf16 or bytes, its
// warps do that by tensor cores (mma.sync, m16n8k16 with sums in f32, m16n8k32 with sums in
// i32).
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaGemm.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

static constexpr int64_t threads = 256, tileColumns = 64, tileDepth = 16, columnsEach = 4,
                         padding = 4;
// Tensor cores: depths go through shared memory in words of two halves, or four bytes. Lines
// of 20 words let the eight rows that are read at once fall into different banks.
static constexpr int64_t coreWords = 16, coreLine = coreWords + 4;

Value GemmProblem::zero(CudaReader &r) const {
  if (operand == wide)
    return reductionStart(r, wide, ReduceKind::Sum);
  return arith::ConstantOp::create(r.b, r.loc, r.b.getZeroAttr(operand));
}

namespace {

/// One block's tile of the result.
class Tile {
public:
  Tile(const CudaKernel &k, const GemmProblem &p)
      : k(k), p(p), r(k.reader), b(r.b), scalars(r, p.op, p.wide) {}

  void emit() {
    const KernelBuilder::Buffer target = k.first();
    int64_t knownRows = knownCount(target.type, p.rowDims),
            knownColumns = knownCount(target.type, p.columnDims);
    depthStep = p.onTensorCores() ? coreWords * p.ofWord() : tileDepth;
    tileRows = knownRows >= 0 && knownRows <= 16 ? 16 : 64;
    k.shape.threads = threads;
    k.shape.axes = {{p.batchDims, 1}, {p.rowDims, tileRows}, {p.columnDims, tileColumns}};
    // Left alone, ptxas may have registers for four blocks, which windows of bytes do not fit into.
    bool isOfBytes = p.onTensorCores() && p.ofWord() == 4;
    if (isOfBytes && !isa<DotGeneralOp>(p.op))
      r.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));

    r.loc = p.op->getLoc();
    SmallVector<Value> batchSizes = sizesAlong(target, p.batchDims);
    rowSizes = sizesAlong(target, p.rowDims);
    columnSizes = sizesAlong(target, p.columnDims);
    rows = product(r, rowSizes);
    columns = product(r, columnSizes);
    depth = product(r, p.depthSizes);
    wholeRows = knownRows >= 0 && knownRows % tileRows == 0;
    wholeColumns = knownColumns >= 0 && knownColumns % tileColumns == 0;
    wholeDepth = p.knownDepth >= 0 && p.knownDepth % depthStep == 0;
    thread = r.threadId();
    SmallVector<Value> block = r.delinearize(r.blockId(), r.axisBlocks(k.shape, target.dims));
    batch = r.delinearize(block[0], batchSizes);
    rowBase = r.mul(block[1], r.constant(tileRows));
    columnBase = r.mul(block[2], r.constant(tileColumns));
    yes = arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true));
    zero = p.zero(r);
    if (p.onTensorCores())
      emitOnTensorCores();
    else
      emitInThreads();
  }

private:
  Value index(int64_t value) { return r.constant(value); }

  /// What `load` gives where `ok` holds, and zero elsewhere.
  Value guarded(Value ok, function_ref<Value()> load) {
    return matchPattern(ok, m_One()) ? load() : emitIf(r, ok, load, [&] { return zero; });
  }
  /// Element of the left operand, zero outside.
  Value leftAt(Value row, Value place) {
    Value globalRow = r.add(rowBase, row);
    Value ok = r.logicalAnd(wholeRows ? yes : r.less(globalRow, rows),
                            wholeDepth ? yes : r.less(place, depth));
    return guarded(ok, [&] {
      return p.left(batch, r.delinearize(globalRow, rowSizes), r.delinearize(place, p.depthSizes));
    });
  }
  Value rightAt(Value place, Value column) {
    Value globalColumn = r.add(columnBase, column);
    Value ok = r.logicalAnd(wholeColumns ? yes : r.less(globalColumn, columns),
                            wholeDepth ? yes : r.less(place, depth));
    return guarded(ok, [&] {
      return p.right(batch, r.delinearize(place, p.depthSizes),
                     r.delinearize(globalColumn, columnSizes));
    });
  }

  /// Runs `step` for each slice of the depth, with where it begins and the sums.
  scf::ForOp alongDepth(ArrayRef<Value> sums,
                        function_ref<SmallVector<Value>(Value, SmallVector<Value>)> step) {
    auto loop = scf::ForOp::create(b, r.loc, index(0), depth, index(depthStep), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next =
        step(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs()));
    r.barrier();
    scf::YieldOp::create(b, r.loc, next);
    return loop;
  }

  /// Stores sums of one row of the tile, each with its column, and what follows.
  void finishRow(Value tileRow, ArrayRef<std::pair<Value, Value>> sums) {
    Value row = r.add(rowBase, tileRow);
    r.onlyIf(wholeRows ? yes : r.less(row, rows), [&] {
      SmallVector<Value> indices(k.first().type.getRank());
      setIndices(indices, p.batchDims, batch);
      setIndices(indices, p.rowDims, r.delinearize(row, rowSizes));
      for (auto [tileColumn, sum] : sums) {
        Value column = r.add(columnBase, tileColumn);
        r.loc = p.op->getLoc();
        r.onlyIf(wholeColumns ? yes : r.less(column, columns), [&, sum = sum] {
          setIndices(indices, p.columnDims, r.delinearize(column, columnSizes));
          k.emitResults(indices, p.op, scalars.cast(sum, p.wide, p.result, false));
        });
      }
    });
  }

  void emitInThreads();
  void emitOnTensorCores();

  const CudaKernel &k;
  const GemmProblem &p;
  CudaReader &r;
  OpBuilder &b;
  ScalarBuilder scalars;
  int64_t depthStep = tileDepth, tileRows = 64;
  bool wholeRows = false, wholeColumns = false, wholeDepth = false;
  SmallVector<Value> batch, rowSizes, columnSizes;
  Value rows, columns, depth, thread, rowBase, columnBase, yes, zero;
};

void Tile::emitInThreads() {
  int64_t columnThreads = tileColumns / columnsEach;
  int64_t rowsEach = tileRows / (threads / columnThreads);
  Value leftTile = r.shared(p.wide, {tileDepth, tileRows + padding}),
        rightTile = r.shared(p.wide, {tileDepth, tileColumns});
  Value x = r.remainder(thread, index(columnThreads)), y = r.divide(thread, index(columnThreads));
  SmallVector<Value> zeros(rowsEach * columnsEach, zero);
  auto loop = alongDepth(zeros, [&](Value first, SmallVector<Value> sums) {
    for (int64_t i = 0; i < tileRows * tileDepth; i += threads) {
      Value item = r.add(thread, index(i));
      Value row = r.divide(item, index(tileDepth)), at = r.remainder(item, index(tileDepth));
      Value value = leftAt(row, r.add(first, at));
      memref::StoreOp::create(b, r.loc, value, leftTile, ValueRange{at, row});
    }
    for (int64_t i = 0; i < tileColumns * tileDepth; i += threads) {
      Value item = r.add(thread, index(i));
      Value at = r.divide(item, index(tileColumns)), column = r.remainder(item, index(tileColumns));
      Value value = rightAt(r.add(first, at), column);
      memref::StoreOp::create(b, r.loc, value, rightTile, ValueRange{at, column});
    }
    r.barrier();
    for (int64_t d = 0; d < tileDepth; ++d) {
      SmallVector<Value> left, right;
      for (int64_t i = 0; i < rowsEach; ++i)
        left.push_back(memref::LoadOp::create(
            b, r.loc, leftTile, ValueRange{index(d), r.add(r.mul(y, index(rowsEach)), index(i))}));
      for (int64_t j = 0; j < columnsEach; ++j)
        right.push_back(memref::LoadOp::create(
            b, r.loc, rightTile,
            ValueRange{index(d), r.add(r.mul(x, index(columnsEach)), index(j))}));
      for (int64_t i = 0; i < rowsEach; ++i)
        for (int64_t j = 0; j < columnsEach; ++j) {
          Value &sum = sums[i * columnsEach + j];
          sum = multiplyAdd(r, scalars, sum, left[i], right[j]);
        }
    }
    return sums;
  });
  for (int64_t i = 0; i < rowsEach; ++i) {
    SmallVector<std::pair<Value, Value>> sums;
    for (int64_t j = 0; j < columnsEach; ++j)
      sums.push_back(
          {r.add(r.mul(x, index(columnsEach)), index(j)), loop.getResult(i * columnsEach + j)});
    finishRow(r.add(r.mul(y, index(rowsEach)), index(i)), sums);
  }
}

/// Each warp has 16 rows, and as many groups of eight columns as make the block's
/// tile with all warps. Which lane has which elements is what PTX says of
/// mma.m16n8k16.
void Tile::emitOnTensorCores() {
  Type word = b.getI32Type();
  int64_t rowWarps = tileRows / tensorCoreRows, columnWarps = threads / 32 / rowWarps,
          warpColumns = tileColumns / columnWarps, groups = warpColumns / tensorCoreColumns;
  Value leftTile = r.shared(word, {tileRows, coreLine}),
        rightTile = r.shared(word, {tileColumns, coreLine});
  Value warp = r.divide(thread, index(32)), lane = r.remainder(thread, index(32));
  Value g = r.divide(lane, index(4)), t = r.remainder(lane, index(4));
  Value warpRow = r.mul(r.remainder(warp, index(rowWarps)), index(tensorCoreRows)),
        warpColumn = r.mul(r.divide(warp, index(rowWarps)), index(warpColumns));
  Value none = reductionStart(r, p.wide, ReduceKind::Sum);
  SmallVector<Value> zeros(groups * 4, none);
  auto loop = alongDepth(zeros, [&](Value first, SmallVector<Value> sums) {
    auto pack = [&](Value first, function_ref<Value(Value place)> element) {
      SmallVector<Value> numbers;
      for (int64_t i = 0; i < p.ofWord(); ++i)
        numbers.push_back(element(r.add(first, index(i))));
      return packWord(r, numbers);
    };
    for (int64_t i = 0; i < tileRows * coreWords; i += threads) {
      Value item = r.add(thread, index(i));
      Value row = r.divide(item, index(coreWords)), word = r.remainder(item, index(coreWords));
      Value all = pack(r.add(first, r.mul(word, index(p.ofWord()))),
                       [&](Value place) { return leftAt(row, place); });
      memref::StoreOp::create(b, r.loc, all, leftTile, ValueRange{row, word});
    }
    for (int64_t i = 0; i < tileColumns * coreWords; i += threads) {
      Value item = r.add(thread, index(i));
      Value word = r.divide(item, index(tileColumns)),
            column = r.remainder(item, index(tileColumns));
      Value all = pack(r.add(first, r.mul(word, index(p.ofWord()))),
                       [&](Value place) { return rightAt(place, column); });
      memref::StoreOp::create(b, r.loc, all, rightTile, ValueRange{column, word});
    }
    r.barrier();
    for (int64_t slice = 0; slice < coreWords; slice += 8) {
      auto load = [&](Value tile, Value line, int64_t lineStep, int64_t wordStep) {
        return memref::LoadOp::create(
                   b, r.loc, tile,
                   ValueRange{r.add(line, index(lineStep)), r.add(t, index(slice + wordStep))})
            .getResult();
      };
      Value leftLine = r.add(warpRow, g);
      SmallVector<Value> left = {load(leftTile, leftLine, 0, 0), load(leftTile, leftLine, 8, 0),
                                 load(leftTile, leftLine, 0, 4), load(leftTile, leftLine, 8, 4)};
      for (int64_t j = 0; j < groups; ++j) {
        Value rightLine = r.add(warpColumn, g);
        SmallVector<Value> right = {load(rightTile, rightLine, j * tensorCoreColumns, 0),
                                    load(rightTile, rightLine, j * tensorCoreColumns, 4)};
        multiplyOnTensorCores(r, p.coreType(p.leftType), p.coreType(p.rightType), left, right,
                              MutableArrayRef(sums).slice(j * 4, 4));
      }
    }
    return sums;
  });
  for (int64_t i : {0, 1}) {
    SmallVector<std::pair<Value, Value>> sums;
    for (int64_t j = 0; j < groups; ++j)
      for (int64_t c : {0, 1})
        sums.push_back(
            {r.add(warpColumn, r.add(r.mul(t, index(2)), index(j * tensorCoreColumns + c))),
             loop.getResult(j * 4 + i * 2 + c)});
    finishRow(r.add(warpRow, r.add(g, index(i * 8))), sums);
  }
}

} // namespace

void weir::emitTiles(const CudaKernel &k, const GemmProblem &p) {
  if (!emitPipelined(k, p))
    Tile(k, p).emit();
}
