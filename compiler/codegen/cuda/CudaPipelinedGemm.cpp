//===- CudaPipelinedGemm.cpp - products of slices copied ahead - -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A block computes a tile of the result by tensor cores. Slices of both operands, 32
// of the depth, of bytes 64, go into shared memory by cp.async, several of them ahead of the one
// that is multiplied; warps read fragments with ldmatrix. A line of a slice is made of
// chunks of 16 bytes, whose order within the line depends on the line, so that the
// eight that ldmatrix reads at once lie in different banks. In the end sums go through
// the same memory, and threads compute what follows on neighbours, in vectors.
//
// NVIDIA, PTX ISA: mma.m16n8k16, mma.m16n8k32, ldmatrix, cp.async. Of a word of ldmatrix it
// makes no difference whether it is two halves or four bytes that lie along the depth. Sums are
// those of mma.sync, in the depth's order.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaGemm.h"
#include "compiler/codegen/cuda/CudaStagedSums.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

namespace {

/// A slice's depth in chunks, and what one instruction multiplies of it.
constexpr int64_t chunkBytes = 16, stepChunks = 4, coreChunks = 2;
/// What shared memory a block may have without asking the driver for more.
constexpr int64_t mostShared = 48 << 10;
/// Multiprocessors of a large GPU: fewer tiles than these leave some without work.
constexpr int64_t enoughTiles = 132;

/// A block's tile, and how its warps divide it.
struct Tiling {
  int64_t rows, columns, rowWarps, columnWarps, stages;

  constexpr int64_t threads() const { return rowWarps * columnWarps * warpThreads; }
  constexpr int64_t warpRows() const { return rows / rowWarps; }
  constexpr int64_t warpColumns() const { return columns / columnWarps; }
  constexpr int64_t bytesOf(int64_t lines) const { return lines * stepChunks * chunkBytes; }
  constexpr int64_t stageBytes() const { return bytesOf(rows + columns); }
};

constexpr Tiling largeTile = {128, 128, 2, 4, 3}, smallTile = {64, 64, 2, 2, 4},
                 flatTile = {16, 128, 1, 4, 4};
static_assert(largeTile.stageBytes() * largeTile.stages <= mostShared);

Tiling tilingFor(int64_t batches, int64_t rows, int64_t columns) {
  if (rows >= 0 && rows <= flatTile.rows)
    return flatTile;
  if (batches < 0 || rows < 0 || columns < 0)
    return smallTile;
  int64_t large = batches * llvm::divideCeil(rows, largeTile.rows) *
                  llvm::divideCeil(columns, largeTile.columns);
  return large >= enoughTiles ? largeTile : smallTile;
}

/// One operand's slices in shared memory.
struct Slice {
  const ChunkedOperand &operand;
  int64_t begin;     ///< bytes from the stage's
  int64_t lines;     ///< rows or columns of the tile, or places of the depth
  int64_t chunks;    ///< of a line
  int64_t free;      ///< rows or columns of the tile
  Value base, count; ///< the tile's first row or column; of all of them
  bool isWhole;      ///< tiles have no rows or columns beyond the end

  Slice(const ChunkedOperand &operand, int64_t begin, int64_t free, Value base, Value count,
        bool isWhole, int64_t ofChunk)
      : operand(operand), begin(begin), lines(operand.alongDepth ? free : stepChunks * ofChunk),
        chunks(operand.alongDepth ? stepChunks : free / ofChunk), free(free), base(base),
        count(count), isWhole(isWhole) {}
};

class Pipeline {
public:
  Pipeline(const CudaKernel &k, const GemmProblem &p)
      : k(k), p(p), r(k.reader), b(r.b), target(k.first()), ofChunk(4 * p.ofWord()),
        stepDepth(stepChunks * ofChunk), knownRows(knownCount(target.type, p.rowDims)),
        knownColumns(knownCount(target.type, p.columnDims)),
        tiling(tilingFor(knownCount(target.type, p.batchDims), knownRows, knownColumns)) {}

  void emit() {
    k.shape.threads = tiling.threads();
    k.shape.axes = {{p.batchDims, 1}, {p.rowDims, tiling.rows}, {p.columnDims, tiling.columns}};
    k.shape.beatsLibraryAndRest = isSmall();
    r.loc = p.op->getLoc();
    place();
    Slice left(*p.leftChunks, 0, tiling.rows, rowBase, rows,
               knownRows >= 0 && knownRows % tiling.rows == 0, ofChunk);
    Slice right(*p.rightChunks, tiling.bytesOf(tiling.rows), tiling.columns, columnBase, columns,
                knownColumns >= 0 && knownColumns % tiling.columns == 0, ofChunk);
    SmallVector<Value> sums = alongDepth(left, right);
    finish(left.isWhole, right.isWhole, sums);
  }

private:
  /// Whether launches take longer than products do, by whatever kernel.
  bool isSmall() const {
    constexpr int64_t fewTiles = 8, shallow = 256;
    int64_t batches = knownCount(target.type, p.batchDims);
    return batches >= 0 && knownRows >= 0 && knownColumns >= 0 && p.knownDepth >= 0 &&
           p.knownDepth <= shallow &&
           batches * llvm::divideCeil(knownRows, tiling.rows) *
                   llvm::divideCeil(knownColumns, tiling.columns) <=
               fewTiles;
  }

  Value index(int64_t value) { return r.constant(value); }
  Value number(Value value) { return arith::IndexCastOp::create(b, r.loc, b.getI64Type(), value); }
  /// Shared memory, `bytes` from where the block's begins.
  Value shared(Value bytes) {
    return LLVM::GEPOp::create(b, r.loc, memory.getType(), b.getI8Type(), memory,
                               ArrayRef<LLVM::GEPArg>{number(bytes)});
  }

  void place() {
    rowSizes = sizesAlong(target, p.rowDims);
    columnSizes = sizesAlong(target, p.columnDims);
    rows = product(r, rowSizes);
    columns = product(r, columnSizes);
    depth = product(r, p.depthSizes);
    wholeDepth = p.knownDepth >= 0 && p.knownDepth % stepDepth == 0;
    thread = r.threadId();
    lane = r.remainder(thread, index(warpThreads));
    Value warp = r.divide(thread, index(warpThreads));
    warpRow = r.divide(warp, index(tiling.columnWarps));
    warpColumn = r.remainder(warp, index(tiling.columnWarps));
    SmallVector<Value> block = r.delinearize(r.blockId(), r.axisBlocks(k.shape, target.dims));
    batch = r.delinearize(block[0], sizesAlong(target, p.batchDims));
    rowBase = r.mul(block[1], index(tiling.rows));
    columnBase = r.mul(block[2], index(tiling.columns));
    int64_t bytes = std::max(tiling.stageBytes() * tiling.stages, stagedBytes());
    Value buffer = r.shared(b.getI8Type(), {bytes});
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, r.loc, buffer);
    memory = LLVM::IntToPtrOp::create(b, r.loc, LLVM::LLVMPointerType::get(b.getContext(), 3),
                                      number(address));
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  /// Where a chunk of a line lies in its slice, in bytes. Lines that share a row of all
  /// banks, eight chunks, are turned alike.
  Value chunkAt(const Slice &slice, Value line, Value chunk) {
    int64_t sharing = std::max<int64_t>(1, 8 / slice.chunks);
    Value turned =
        r.remainder(r.divide(line, index(sharing)), index(std::min<int64_t>(slice.chunks, 8)));
    Value own = arith::XOrIOp::create(b, r.loc, chunk, turned);
    return r.mul(r.add(r.mul(line, index(slice.chunks)), own), index(chunkBytes));
  }

  /// Begins to copy a thread's chunk `item` of the slice from `first` of the depth on.
  void copyChunk(const Slice &slice, Value first, Value stage, Value item) {
    Value line = r.divide(item, index(slice.chunks)),
          chunk = r.remainder(item, index(slice.chunks));
    Value across = r.mul(chunk, index(ofChunk));
    bool along = slice.operand.alongDepth;
    Value free = r.add(slice.base, along ? line : across),
          place = r.add(first, along ? across : line);
    Value exists;
    auto require = [&](Value condition) {
      exists = exists ? r.logicalAnd(exists, condition) : condition;
    };
    // What is not read is an address that could be: the last chunk's.
    auto within = [&](Value &at, Value count, bool isAcross) {
      require(r.less(at, count));
      at = r.minimum(at, r.sub(count, index(isAcross ? ofChunk : 1)));
    };
    if (!slice.isWhole)
      within(free, slice.count, !along);
    if (!wholeDepth)
      within(place, depth, along);
    MatrixChunk found = slice.operand.at(batch, free, place);
    if (found.exists)
      require(found.exists);
    Value bytes;
    if (exists)
      bytes = arith::SelectOp::create(
          b, r.loc, exists, arith::ConstantIntOp::create(b, r.loc, b.getI32Type(), chunkBytes),
          arith::ConstantIntOp::create(b, r.loc, b.getI32Type(), 0));
    Value from = LLVM::AddrSpaceCastOp::create(
        b, r.loc, LLVM::LLVMPointerType::get(b.getContext(), 1), found.pointer);
    Value to = shared(r.add(r.add(stage, index(slice.begin)), chunkAt(slice, line, chunk)));
    NVVM::CpAsyncOp::create(
        b, r.loc, to, from, b.getI32IntegerAttr(chunkBytes),
        NVVM::LoadCacheModifierKindAttr::get(b.getContext(), NVVM::LoadCacheModifierKind::CG),
        bytes);
  }
  void copy(const Slice &slice, Value first, Value stage) {
    int64_t items = slice.lines * slice.chunks, threads = tiling.threads();
    for (int64_t i = 0; i < items; i += threads) {
      Value item = r.add(thread, index(i));
      if (i + threads <= items)
        copyChunk(slice, first, stage, item);
      else
        r.onlyIf(r.less(item, index(items)), [&] { copyChunk(slice, first, stage, item); });
    }
  }
  void commit() { NVVM::CpAsyncCommitGroupOp::create(b, r.loc); }
  void await(int64_t groups) { NVVM::CpAsyncWaitGroupOp::create(b, r.loc, groups); }

  /// The slices from `first` on, if the depth goes that far.
  void copyBoth(const Slice &left, const Slice &right, Value first, Value stage) {
    r.onlyIf(r.less(first, depth), [&] {
      copy(left, first, stage);
      copy(right, first, stage);
    });
    // Also where there is none: groups are counted.
    commit();
  }

  SmallVector<Value> alongDepth(const Slice &left, const Slice &right) {
    int64_t ahead = tiling.stages - 1;
    for (int64_t i = 0; i < ahead; ++i)
      copyBoth(left, right, index(i * stepDepth), index(i * tiling.stageBytes()));
    Value none = reductionStart(r, p.wide, ReduceKind::Sum);
    SmallVector<Value> carried = {index(0), index(ahead * tiling.stageBytes())};
    carried.append(rowTiles() * columnTiles() * 4, none);
    auto loop = scf::ForOp::create(b, r.loc, index(0), depth, index(stepDepth), carried);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next(loop.getRegionIterArgs());
      await(ahead - 1);
      // All threads' copies have arrived, and nobody reads the stage before.
      r.barrier();
      copyBoth(left, right, r.add(loop.getInductionVar(), index(ahead * stepDepth)), next[1]);
      for (int64_t at = 0; at < stepDepth; at += coreChunks * ofChunk)
        multiply(left, right, next[0], at, MutableArrayRef(next).drop_front(2));
      for (Value &stage : MutableArrayRef(next).take_front(2)) {
        Value after = r.add(stage, index(tiling.stageBytes()));
        Value isEnd = r.equal(after, index(tiling.stageBytes() * tiling.stages));
        stage = arith::SelectOp::create(b, r.loc, isEnd, index(0), after);
      }
      scf::YieldOp::create(b, r.loc, next);
    }
    await(0);
    return SmallVector<Value>(loop.getResults().drop_front(2));
  }

  //===--------------------------------------------------------------------===//
  // Products
  //===--------------------------------------------------------------------===//

  int64_t rowTiles() const { return tiling.warpRows() / 16; }
  int64_t columnTiles() const { return tiling.warpColumns() / 8; }

  /// Four matrices of 8 by 8: 16 rows (columns) from `free` on by 16 of the depth from
  /// `at` on. Those of the same eight rows follow each other in the result where
  /// `depthFirst`, else those of the same half of the depth.
  SmallVector<Value> fragments(const Slice &slice, Value stage, Value free, int64_t at,
                               bool depthFirst) {
    Value within = r.remainder(lane, index(8)), matrix = r.divide(lane, index(8));
    Value even = r.remainder(matrix, index(2)), odd = r.divide(matrix, index(2));
    Value half = depthFirst ? even : odd, eight = depthFirst ? odd : even;
    Value line, chunk;
    if (slice.operand.alongDepth) {
      line = r.add(free, r.add(r.mul(eight, index(8)), within));
      chunk = r.add(half, index(at / ofChunk));
    } else {
      line = r.add(r.add(r.mul(half, index(8)), within), index(at));
      chunk = r.add(r.divide(free, index(ofChunk)), eight);
    }
    Type word = b.getI32Type();
    auto four = LLVM::LLVMStructType::getLiteral(b.getContext(), {word, word, word, word});
    Value from = shared(r.add(r.add(stage, index(slice.begin)), chunkAt(slice, line, chunk)));
    // Threads want neighbours along the depth.
    auto layout = slice.operand.alongDepth ? NVVM::MMALayout::row : NVVM::MMALayout::col;
    Value all = NVVM::LdMatrixOp::create(
        b, r.loc, four, from, b.getI32IntegerAttr(4),
        NVVM::MMALayoutAttr::get(b.getContext(), layout),
        NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
        NVVM::LdStMatrixEltTypeAttr::get(b.getContext(), NVVM::LdStMatrixEltType::B16));
    SmallVector<Value> words;
    for (int64_t i = 0; i < 4; ++i)
      words.push_back(LLVM::ExtractValueOp::create(b, r.loc, all, ArrayRef<int64_t>{i}));
    return words;
  }

  void multiply(const Slice &left, const Slice &right, Value stage, int64_t at,
                MutableArrayRef<Value> sums) {
    SmallVector<SmallVector<Value>> lefts, rights;
    Value row = r.mul(warpRow, index(tiling.warpRows())),
          column = r.mul(warpColumn, index(tiling.warpColumns()));
    for (int64_t i = 0; i < rowTiles(); ++i)
      lefts.push_back(fragments(left, stage, r.add(row, index(i * 16)), at, false));
    for (int64_t j = 0; j < columnTiles(); j += 2)
      rights.push_back(fragments(right, stage, r.add(column, index(j * 8)), at, true));
    for (int64_t i = 0; i < rowTiles(); ++i)
      for (int64_t j = 0; j < columnTiles(); ++j)
        multiplyOnTensorCores(r, p.leftType, p.rightType, lefts[i],
                              ArrayRef(rights[j / 2]).slice(j % 2 * 2, 2),
                              sums.slice((i * columnTiles() + j) * 4, 4));
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Floats of a line of sums; more than columns, so that the rows that a warp stores
  /// at once lie in different banks.
  int64_t stagedLine() const { return tiling.columns + 8; }
  /// Rows of 16 a warp that go through shared memory at once.
  int64_t tilesAtOnce() const { return std::min<int64_t>(rowTiles(), 2); }
  int64_t stagedRows() const { return tiling.rowWarps * tilesAtOnce() * 16; }
  int64_t stagedBytes() const { return stagedRows() * stagedLine() * 4; }
  Value stagedAt(Value row, Value column) {
    return shared(r.mul(r.add(r.mul(row, index(stagedLine())), column), index(4)));
  }

  void finish(bool wholeRows, bool wholeColumns, ArrayRef<Value> sums) {
    for (int64_t first = 0; first < rowTiles(); first += tilesAtOnce()) {
      // Nobody reads slices, or sums of before.
      r.barrier();
      for (int64_t i = 0; i < tilesAtOnce(); ++i)
        stage(i, sums.slice((first + i) * columnTiles() * 4, columnTiles() * 4));
      r.barrier();
      store(first, wholeRows, wholeColumns);
    }
  }

  /// A lane has two neighbours of each of two rows (PTX ISA, mma.m16n8k16).
  void stage(int64_t number, ArrayRef<Value> sums) {
    Value row = r.add(r.mul(warpRow, index(tilesAtOnce() * 16)),
                      r.add(r.divide(lane, index(4)), index(number * 16)));
    Value column = r.add(r.mul(warpColumn, index(tiling.warpColumns())),
                         r.mul(r.remainder(lane, index(4)), index(2)));
    stageSums(r, sums, row, column, [&](Value row, Value column) { return stagedAt(row, column); });
  }

  /// Computes what follows on the rows that are staged, `first` of each warp's.
  void store(int64_t first, bool wholeRows, bool wholeColumns) {
    Value ofWarp = index(tilesAtOnce() * 16);
    auto globalRow = [&](Value row) {
      Value tileRow = r.add(r.mul(r.divide(row, ofWarp), index(tiling.warpRows())),
                            r.add(r.remainder(row, ofWarp), index(first * 16)));
      return r.add(rowBase, tileRow);
    };
    auto place = [&](Value row, Value column) { return stagedAt(row, column); };
    MatrixResult result = {p.op,
                           p.wide,
                           p.result,
                           p.batchDims,
                           p.rowDims,
                           p.columnDims,
                           batch,
                           rowSizes,
                           columnSizes,
                           wholeRows ? Value() : rows,
                           wholeColumns ? Value() : columns};
    storeStagedSums(k, result, {thread, tiling.threads(), stagedRows(), tiling.columns, 1, place},
                    globalRow, columnBase);
  }

  const CudaKernel &k;
  const GemmProblem &p;
  CudaReader &r;
  OpBuilder &b;
  const KernelBuilder::Buffer target;
  const int64_t ofChunk, stepDepth; ///< elements of a chunk, of a slice's depth
  int64_t knownRows, knownColumns;
  Tiling tiling;
  bool wholeDepth = false;
  SmallVector<Value> batch, rowSizes, columnSizes;
  Value rows, columns, depth, thread, lane, warpRow, warpColumn, rowBase, columnBase;
  Value memory; ///< the block's, shared
};

} // namespace

bool weir::emitPipelined(const CudaKernel &k, const GemmProblem &p) {
  if (!p.leftChunks || !p.rightChunks)
    return false;
  Pipeline(k, p).emit();
  return true;
}
