//===- CudaSkinnyGemm.cpp - a matrix by few vectors ---------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A product of which one side has few lines, as a decoder's of one token, is as
// fast as the other side, the matrix, is read: tensor cores would idle, and tiles
// of them leave most of a GPU without work. So each line of the matrix is a
// warp's (a block's where there are few lines, a part of a warp's where they are
// short), read once, in vectors of 16 bytes, several under way at a time; the few
// lines come from the first-level cache. Which lane adds up what, and in which
// order sums meet, depends on the shape alone.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaBackend.h"
#include "compiler/codegen/cuda/CudaGemm.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/kernelize/SkinnyGemm.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

namespace {

constexpr int64_t blockThreads = 128;
/// Vectors of the matrix that a thread has under way.
constexpr int64_t vectorsAtOnce = 8;
/// Lines of which each warp of a large GPU has several, or many: then a thread
/// works on two, or four, of them at a time, and converts the few lines once.
constexpr int64_t severalLines = 4096, manyLines = 16384;
/// Fewer lines than these leave warps without work, so that a block has each.
constexpr int64_t fewLines = 512;

class SkinnyGemmForm {
public:
  SkinnyGemmForm(const CudaKernel &k, const SkinnyGemm &found)
      : k(k), r(k.reader), b(r.b), dot(found.dot), matrix(found.matrix), few(found.few),
        wide(accumulatorType(dot.getAccumulator())), scalars(r, dot, wide) {
    auto type = cast<RankedTensorType>(matrix.tensor.getType());
    element = type.getElementType();
    depth = found.depth;
    lanes = 16 / elementBytes(element);
    while (depth % lanes)
      lanes /= 2;
    vectors = depth / lanes;
    rows = found.rows;
    bool isOpen = found.lines < 0;
    byBlock = !isOpen && found.lines < fewLines && vectors >= 2 * blockThreads;
    // A lane of the group has one sum at most to store.
    group = byBlock ? blockThreads
                    : std::min<int64_t>(warpThreads,
                                        int64_t(llvm::PowerOf2Ceil(std::max(vectors, rows))));
    if (!byBlock && !isOpen)
      linesEach = found.lines >= manyLines ? 4 : found.lines >= severalLines ? 2 : 1;
    while (rows * linesEach > group)
      linesEach /= 2;
  }

  void emit() {
    int64_t linesOfBlock = blockThreads / group * linesEach;
    k.shape.threads = blockThreads;
    k.shape.axes = {{matrix.batchOfResult, 1}, {matrix.ofResult, linesOfBlock}};
    k.shape.beatsLibraries = true;
    // Left alone, ptxas has few registers and puts loads behind each other.
    r.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(4));
    r.loc = dot.getLoc();
    place(linesOfBlock);
    SmallVector<Value> sums(rows * linesEach, reductionStart(r, wide, ReduceKind::Sum));
    int64_t chunk = std::max<int64_t>(1, vectorsAtOnce / linesEach);
    int64_t whole = vectors / (group * chunk), done = whole * group * chunk;
    if (whole > 1)
      sums = inLoop(done, chunk, sums);
    else if (whole == 1)
      take(index(0), chunk, /*isWhole=*/true, sums);
    if (done < vectors) {
      int64_t rest = llvm::divideCeil(vectors - done, group);
      take(index(done), rest, (vectors - done) % group == 0, sums);
    }
    joinLanes(sums);
    Value own = byBlock ? joinWarps(sums) : ofLane(sums);
    store(own);
  }

private:
  Value index(int64_t value) { return r.constant(value); }

  /// Finds the thread's lines.
  void place(int64_t linesOfBlock) {
    const KernelBuilder::Buffer target = k.first();
    lineSizes = sizesAlong(target, matrix.ofResult);
    rowSizes = sizesAlong(target, few.ofResult);
    lineCount = product(r, lineSizes);
    SmallVector<Value> block = r.delinearize(r.blockId(), r.axisBlocks(k.shape, target.dims));
    batch = r.delinearize(block[0], sizesAlong(target, matrix.batchOfResult));
    thread = r.threadId();
    lane = byBlock ? thread : r.remainder(thread, index(group));
    Value inBlock = byBlock ? index(0) : r.mul(r.divide(thread, index(group)), index(linesEach));
    firstLine = r.add(r.mul(block[1], index(linesOfBlock)), inBlock);
    Value last = r.sub(lineCount, index(1));
    for (int64_t i = 0; i < linesEach; ++i) {
      Value line = r.add(firstLine, index(i));
      // Beyond the end the last one is read, and nothing is stored.
      lineBegins.push_back(beginOf(matrix, r.delinearize(r.minimum(line, last), lineSizes)));
    }
    for (int64_t i = 0; i < rows; ++i) {
      rowIndices.push_back(r.delinearize(index(i), rowSizes));
      rowBegins.push_back(few.isDense ? beginOf(few, rowIndices.back()) : Value());
    }
  }

  SmallVector<Value> indicesOf(const SkinnyGemm::Side &side, ValueRange free, ValueRange along) {
    SmallVector<Value> at(cast<RankedTensorType>(side.tensor.getType()).getRank(), index(0));
    setIndices(at, side.batch, batch);
    setIndices(at, side.free, free);
    setIndices(at, side.contract, along);
    return at;
  }
  /// Where the line begins in its buffer, in elements.
  Value beginOf(const SkinnyGemm::Side &side, ValueRange free) {
    return r.linearIndex(r.bufferOf(side.tensor), indicesOf(side, free, {}));
  }

  Value widened(Value value) { return scalars.cast(value, element, wide, false); }
  SmallVector<Value> numbers(ArrayRef<Value> stored) {
    SmallVector<Value> values;
    for (Value each : stored)
      values.push_back(widened(BufferAccess::fromStorage(r, each, element)));
    return values;
  }

  /// The elements of a row that vector `number` of the depth has.
  SmallVector<Value> ofRow(int64_t row, Value number) {
    Value from = r.mul(number, index(lanes));
    if (few.isDense)
      return numbers(r.neighbours(r.bufferOf(few.tensor), r.add(rowBegins[row], from), lanes));
    auto type = cast<RankedTensorType>(few.tensor.getType());
    SmallVector<Value> sizes, values;
    for (int64_t dim : few.contract)
      sizes.push_back(index(type.getDimSize(dim)));
    for (int64_t i = 0; i < lanes; ++i) {
      SmallVector<Value> along = r.delinearize(r.add(from, index(i)), sizes);
      values.push_back(widened(r.element(few.tensor, indicesOf(few, rowIndices[row], along))));
    }
    return values;
  }

  /// Adds the products of `count` vectors a lane, the group's from `first` on.
  void take(Value first, int64_t count, bool isWhole, SmallVector<Value> &sums) {
    SmallVector<Value> at, inside;
    for (int64_t i = 0; i < count; ++i) {
      Value number = r.add(first, r.add(lane, index(i * group)));
      bool isLast = i + 1 == count;
      inside.push_back(isWhole || !isLast ? Value() : r.less(number, index(vectors)));
      at.push_back(inside.back() ? r.minimum(number, index(vectors - 1)) : number);
    }
    // All loads of the matrix before what waits for them.
    SmallVector<SmallVector<Value>> loaded;
    for (Value number : at)
      for (Value begin : lineBegins)
        loaded.push_back(r.neighbours(r.bufferOf(matrix.tensor),
                                      r.add(begin, r.mul(number, index(lanes))), lanes));
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<SmallVector<Value>> lines;
      for (int64_t line = 0; line < linesEach; ++line)
        lines.push_back(numbers(loaded[i * linesEach + line]));
      for (int64_t row = 0; row < rows; ++row) {
        SmallVector<Value> numbersOfRow = ofRow(row, at[i]);
        for (int64_t line = 0; line < linesEach; ++line) {
          Value &sum = sums[row * linesEach + line];
          Value next = sum;
          for (int64_t e = 0; e < lanes; ++e)
            next = multiplyAdd(r, scalars, next, numbersOfRow[e], lines[line][e]);
          sum = inside[i] ? arith::SelectOp::create(b, r.loc, inside[i], next, sum).getResult()
                          : next;
        }
      }
    }
  }

  SmallVector<Value> inLoop(int64_t end, int64_t chunk, ArrayRef<Value> sums) {
    auto loop = scf::ForOp::create(b, r.loc, index(0), index(end), index(group * chunk), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    take(loop.getInductionVar(), chunk, /*isWhole=*/true, next);
    scf::YieldOp::create(b, r.loc, next);
    return loop.getResults();
  }

  void joinLanes(SmallVector<Value> &sums) {
    for (Value &sum : sums)
      for (int64_t distance = std::min(group, warpThreads) / 2; distance > 0; distance /= 2)
        sum = scalars.add(sum, shuffle(r, sum, distance));
  }

  /// The sum whose number is the lane's.
  Value ofLane(ArrayRef<Value> sums) {
    Value own = sums[0];
    for (size_t i = 1; i < sums.size(); ++i)
      own = arith::SelectOp::create(b, r.loc, r.equal(lane, index(int64_t(i))), sums[i], own);
    return own;
  }

  /// The same, of all warps of the block.
  Value joinWarps(ArrayRef<Value> sums) {
    constexpr int64_t warps = blockThreads / warpThreads;
    auto count = int64_t(sums.size());
    Value all = r.shared(wide, {count, warps});
    Value warp = r.divide(thread, index(warpThreads));
    r.onlyIf(r.equal(r.remainder(thread, index(warpThreads)), index(0)), [&] {
      for (int64_t i = 0; i < count; ++i)
        memref::StoreOp::create(b, r.loc, sums[i], all, ValueRange{index(i), warp});
    });
    r.barrier();
    Value own = r.minimum(lane, index(count - 1)), sum;
    for (int64_t i = 0; i < warps; ++i) {
      Value next = memref::LoadOp::create(b, r.loc, all, ValueRange{own, index(i)});
      sum = sum ? scalars.add(sum, next) : next;
    }
    return sum;
  }

  /// Stores what the lane has, and what follows.
  void store(Value sum) {
    Value row = r.divide(lane, index(linesEach)),
          line = r.add(firstLine, r.remainder(lane, index(linesEach)));
    Value isOwn = rows * linesEach == group ? Value() : r.less(lane, index(rows * linesEach));
    Value exists = r.less(line, lineCount);
    r.onlyIf(isOwn ? r.logicalAnd(isOwn, exists) : exists, [&] {
      SmallVector<Value> indices(k.first().type.getRank());
      setIndices(indices, matrix.batchOfResult, batch);
      setIndices(indices, few.ofResult, r.delinearize(row, rowSizes));
      setIndices(indices, matrix.ofResult, r.delinearize(line, lineSizes));
      k.emitResults(indices, dot, scalars.cast(sum, wide, dot.getAccumulator(), false));
    });
  }

  const CudaKernel &k;
  CudaReader &r;
  OpBuilder &b;
  DotGeneralOp dot;
  SkinnyGemm::Side matrix, few;
  Type wide, element;
  ScalarBuilder scalars;
  int64_t depth = 1, lanes = 1, vectors = 1; ///< the last: of a line
  int64_t rows = 1;                          ///< of the few
  int64_t linesEach = 1;                     ///< of the matrix, a thread's
  int64_t group = 1;                         ///< threads of a line
  bool byBlock = false;
  SmallVector<Value> batch, lineSizes, rowSizes, lineBegins, rowBegins;
  SmallVector<SmallVector<Value>> rowIndices;
  Value thread, lane, firstLine, lineCount;
};

} // namespace

bool weir::emitSkinnyGemm(const CudaKernel &k, DotGeneralOp dot) {
  std::optional<SkinnyGemm> found = skinnyGemmOf(dot, cudaBackend().gemmLimits().mostSkinnyRows);
  if (!found || !isa<BlockArgument>(found->matrix.tensor) || !found->matrix.isDense)
    return false;
  found->few.isDense &= isa<BlockArgument>(found->few.tensor);
  SkinnyGemmForm(k, *found).emit();
  return true;
}
