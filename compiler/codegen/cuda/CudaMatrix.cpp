//===- CudaMatrix.cpp - products and convolutions --------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A block computes a tile of the result. Along the depth, its threads bring
// slices of both operands into shared memory, and each adds products to a few
// rows and columns that it keeps in registers. A convolution is the product of
// its windows, laid out as lines, with the filter; the lines are never stored.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernel.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

static constexpr int64_t threads = 256, tileColumns = 64, tileDepth = 16,
                         columnsEach = 4, padding = 4;

namespace {

/// [batches, rows, depth] by [batches, depth, columns], of elements that
/// functions give.
struct Problem {
  Operation *op = nullptr;
  Type result; ///< element type of what op leaves
  Type wide;   ///< of the sums
  SmallVector<int64_t> batchDims, rowDims, columnDims; ///< of the result
  SmallVector<Value> depthSizes;
  int64_t knownDepth = 1;
  function_ref<Value(ValueRange, ValueRange, ValueRange)> left;  // batch, row, k
  function_ref<Value(ValueRange, ValueRange, ValueRange)> right; // batch, k, column
};

/// Number of elements in `dims`, -1 where that is open.
int64_t knownCount(RankedTensorType type, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count = count < 0 || type.isDynamicDim(dim) ? -1 : count * type.getDimSize(dim);
  return count;
}

Value countOf(CudaReader &r, ValueRange sizes) {
  Value count = r.constant(1);
  for (Value size : sizes)
    count = r.mul(count, size);
  return count;
}

void emitTiles(const CudaKernel &k, const Problem &p) {
  CudaReader &r = k.reader;
  OpBuilder &b = r.b;
  const KernelReader::Buffer target = k.first();
  auto sizesOf = [&](ArrayRef<int64_t> dims) {
    SmallVector<Value> sizes;
    for (int64_t dim : dims)
      sizes.push_back(target.dims[dim]);
    return sizes;
  };
  int64_t knownRows = knownCount(target.type, p.rowDims),
          knownColumns = knownCount(target.type, p.columnDims);
  int64_t tileRows = knownRows >= 0 && knownRows <= 16 ? 16 : 64;
  int64_t columnThreads = tileColumns / columnsEach;
  int64_t rowsEach = tileRows / (threads / columnThreads);
  k.shape.threads = threads;
  k.shape.axes = {{p.batchDims, 1}, {p.rowDims, tileRows}, {p.columnDims, tileColumns}};

  r.loc = p.op->getLoc();
  SmallVector<Value> batchSizes = sizesOf(p.batchDims), rowSizes = sizesOf(p.rowDims),
                     columnSizes = sizesOf(p.columnDims);
  Value rows = countOf(r, rowSizes), columns = countOf(r, columnSizes),
        depth = countOf(r, p.depthSizes);
  bool wholeRows = knownRows >= 0 && knownRows % tileRows == 0,
       wholeColumns = knownColumns >= 0 && knownColumns % tileColumns == 0,
       wholeDepth = p.knownDepth >= 0 && p.knownDepth % tileDepth == 0;
  Value leftTile = r.shared(p.wide, {tileDepth, tileRows + padding}),
        rightTile = r.shared(p.wide, {tileDepth, tileColumns});
  Value thread = r.threadId();
  SmallVector<Value> block = r.delinearize(
      r.blockId(), r.axisBlocks(k.shape, target.dims));
  SmallVector<Value> batch = r.delinearize(block[0], batchSizes);
  Value rowBase = r.mul(block[1], r.constant(tileRows)),
        columnBase = r.mul(block[2], r.constant(tileColumns));
  Value x = r.remainder(thread, r.constant(columnThreads)),
        y = r.divide(thread, r.constant(columnThreads));
  ScalarBuilder s(r, p.op, p.wide);
  Value zero = reductionStart(r, p.wide, "sum");
  Value yes = arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true));

  auto guarded = [&](Value ok, function_ref<Value()> load) {
    return matchPattern(ok, m_One()) ? load() : emitIf(r, ok, load, [&] { return zero; });
  };
  SmallVector<Value> sums(rowsEach * columnsEach, zero);
  auto loop = scf::ForOp::create(b, r.loc, r.constant(0), depth,
                                 r.constant(tileDepth), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value first = loop.getInductionVar();
    for (int64_t i = 0; i < tileRows * tileDepth; i += threads) {
      Value item = r.add(thread, r.constant(i));
      Value row = r.divide(item, r.constant(tileDepth)),
            at = r.remainder(item, r.constant(tileDepth));
      Value globalRow = r.add(rowBase, row), place = r.add(first, at);
      Value ok = r.logicalAnd(wholeRows ? yes : r.less(globalRow, rows),
                              wholeDepth ? yes : r.less(place, depth));
      Value value = guarded(ok, [&] {
        return p.left(batch, r.delinearize(globalRow, rowSizes),
                      r.delinearize(place, p.depthSizes));
      });
      memref::StoreOp::create(b, r.loc, value, leftTile, ValueRange{at, row});
    }
    for (int64_t i = 0; i < tileColumns * tileDepth; i += threads) {
      Value item = r.add(thread, r.constant(i));
      Value at = r.divide(item, r.constant(tileColumns)),
            column = r.remainder(item, r.constant(tileColumns));
      Value globalColumn = r.add(columnBase, column), place = r.add(first, at);
      Value ok = r.logicalAnd(wholeColumns ? yes : r.less(globalColumn, columns),
                              wholeDepth ? yes : r.less(place, depth));
      Value value = guarded(ok, [&] {
        return p.right(batch, r.delinearize(place, p.depthSizes),
                       r.delinearize(globalColumn, columnSizes));
      });
      memref::StoreOp::create(b, r.loc, value, rightTile, ValueRange{at, column});
    }
    r.barrier();
    SmallVector<Value> next(loop.getRegionIterArgs());
    for (int64_t d = 0; d < tileDepth; ++d) {
      SmallVector<Value> left, right;
      for (int64_t i = 0; i < rowsEach; ++i)
        left.push_back(memref::LoadOp::create(
            b, r.loc, leftTile,
            ValueRange{r.constant(d), r.add(r.mul(y, r.constant(rowsEach)), r.constant(i))}));
      for (int64_t j = 0; j < columnsEach; ++j)
        right.push_back(memref::LoadOp::create(
            b, r.loc, rightTile,
            ValueRange{r.constant(d), r.add(r.mul(x, r.constant(columnsEach)), r.constant(j))}));
      for (int64_t i = 0; i < rowsEach; ++i)
        for (int64_t j = 0; j < columnsEach; ++j) {
          Value &sum = next[i * columnsEach + j];
          sum = multiplyAdd(r, s, sum, left[i], right[j]);
        }
    }
    r.barrier();
    scf::YieldOp::create(b, r.loc, next);
  }
  int64_t rank = target.type.getRank();
  for (int64_t i = 0; i < rowsEach; ++i) {
    Value row = r.add(rowBase, r.add(r.mul(y, r.constant(rowsEach)), r.constant(i)));
    r.onlyIf(wholeRows ? yes : r.less(row, rows), [&] {
      SmallVector<Value> indices(rank);
      auto place = [&](ArrayRef<int64_t> dims, ValueRange values) {
        for (auto [dim, value] : llvm::zip(dims, values))
          indices[dim] = value;
      };
      place(p.batchDims, batch);
      place(p.rowDims, r.delinearize(row, rowSizes));
      for (int64_t j = 0; j < columnsEach; ++j) {
        Value column = r.add(columnBase, r.add(r.mul(x, r.constant(columnsEach)), r.constant(j)));
        r.loc = p.op->getLoc();
        r.onlyIf(wholeColumns ? yes : r.less(column, columns), [&] {
          place(p.columnDims, r.delinearize(column, columnSizes));
          Value sum = loop.getResult(i * columnsEach + j);
          k.emitResults(indices, p.op, s.cast(sum, p.wide, p.result, false));
        });
      }
    });
  }
}

bool isTileable(Type wide) {
  return isa<IntegerType, FloatType>(wide) && !wide.isInteger(1) &&
         wide.getIntOrFloatBitWidth() >= 8;
}

bool emitDot(const CudaKernel &k, DotGeneralOp dot) {
  CudaReader &r = k.reader;
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType()),
       rhs = cast<RankedTensorType>(dot.getRhs().getType());
  Problem p;
  p.op = dot;
  p.result = dot.getAccumulator();
  p.wide = accumulatorType(p.result);
  if (!isTileable(p.wide))
    return false;
  auto freeDims = [](int64_t rank, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    SmallVector<int64_t> dims;
    for (int64_t i = 0; i < rank; ++i)
      if (!llvm::is_contained(a, i) && !llvm::is_contained(b, i))
        dims.push_back(i);
    return dims;
  };
  SmallVector<int64_t> leftFree = freeDims(lhs.getRank(), dot.getLhsBatch(), dot.getLhsContract()),
                       rightFree = freeDims(rhs.getRank(), dot.getRhsBatch(), dot.getRhsContract());
  int64_t next = 0;
  auto take = [&](SmallVector<int64_t> &dims, size_t count) {
    for (size_t i = 0; i < count; ++i)
      dims.push_back(next++);
  };
  take(p.batchDims, dot.getLhsBatch().size());
  take(p.rowDims, leftFree.size());
  take(p.columnDims, rightFree.size());
  // One row or column, or next to no depth, leaves tiles empty.
  auto result = cast<RankedTensorType>(dot.getType());
  p.knownDepth = knownCount(lhs, dot.getLhsContract());
  if (knownCount(result, p.rowDims) == 1 || knownCount(result, p.columnDims) == 1 ||
      (p.knownDepth >= 0 && p.knownDepth < 4))
    return false;
  r.loc = dot.getLoc();
  for (auto [i, j] : llvm::zip(dot.getLhsContract(), dot.getRhsContract()))
    p.depthSizes.push_back(r.minimum(r.dim(dot.getLhs(), i), r.dim(dot.getRhs(), j)));
  ScalarBuilder s(r, dot, p.wide);
  auto read = [&](Value tensor, ArrayRef<int64_t> batchAt, ArrayRef<int64_t> freeAt,
                  ArrayRef<int64_t> contractAt, ValueRange batch, ValueRange free,
                  ValueRange place) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<Value> at(type.getRank());
    for (auto [dim, index] : llvm::zip(batchAt, batch))
      at[dim] = index;
    for (auto [dim, index] : llvm::zip(freeAt, free))
      at[dim] = index;
    for (auto [dim, index] : llvm::zip(contractAt, place))
      at[dim] = index;
    return s.cast(r.element(tensor, at), type.getElementType(), p.wide, false);
  };
  auto left = [&](ValueRange batch, ValueRange row, ValueRange place) {
    return read(dot.getLhs(), dot.getLhsBatch(), leftFree, dot.getLhsContract(), batch, row, place);
  };
  auto right = [&](ValueRange batch, ValueRange place, ValueRange column) {
    return read(dot.getRhs(), dot.getRhsBatch(), rightFree, dot.getRhsContract(), batch, column, place);
  };
  p.left = left;
  p.right = right;
  emitTiles(k, p);
  return true;
}

bool emitConvolution(const CudaKernel &k, ConvOp conv) {
  CudaReader &r = k.reader;
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  auto result = cast<RankedTensorType>(conv.getType());
  Problem p;
  p.op = conv;
  p.result = conv.getAccumulator();
  p.wide = accumulatorType(p.result);
  int64_t rank = result.getRank(), spatial = rank - 2;
  bool last = conv.getChannelsLast();
  if (conv.getGroups() != 1 || !isTileable(p.wide) || !filter.hasStaticShape())
    return false;
  int64_t channel = last ? rank - 1 : 1, firstSpatial = last ? 1 : 2;
  int64_t firstWindow = last ? 0 : 2, inner = last ? rank - 2 : 1,
          outer = last ? rank - 1 : 0;
  p.columnDims = {channel};
  for (int64_t i = 0; i < rank; ++i)
    if (i != channel)
      p.rowDims.push_back(i);
  // The depth runs as the filter lies in memory.
  r.loc = conv.getLoc();
  SmallVector<int64_t> depthDims;
  for (int64_t i = 0; i < rank; ++i)
    if (i != outer)
      depthDims.push_back(i);
  for (int64_t dim : depthDims) {
    p.depthSizes.push_back(r.constant(filter.getDimSize(dim)));
    p.knownDepth *= filter.getDimSize(dim);
  }
  if (p.knownDepth < 4 || filter.getDimSize(outer) < 4)
    return false;
  ScalarBuilder s(r, conv, p.wide);
  bool padded = llvm::any_of(conv.getPads(), [](int64_t pad) { return pad != 0; });
  Value zero = reductionStart(r, p.wide, "sum");
  auto left = [&](ValueRange, ValueRange row, ValueRange place) -> Value {
    SmallVector<Value> at(rank);
    Value ok = arith::ConstantOp::create(r.b, r.loc, r.b.getBoolAttr(true));
    auto placeOf = [&](int64_t dim) {
      return place[llvm::find(depthDims, dim) - depthDims.begin()];
    };
    at[0] = row[0];
    at[channel] = placeOf(inner);
    for (int64_t i = 0; i < spatial; ++i) {
      Value index = r.add(r.mul(row[1 + i], r.constant(conv.getStrides()[i])),
                          r.mul(placeOf(firstWindow + i), r.constant(conv.getDilations()[i])));
      if (padded) {
        index = r.sub(index, r.constant(conv.getPads()[2 * i]));
        Value inside = r.logicalAnd(
            r.less(r.constant(-1), index),
            r.less(index, r.dim(conv.getInput(), firstSpatial + i)));
        ok = r.logicalAnd(ok, inside);
      }
      at[firstSpatial + i] = index;
    }
    auto load = [&] {
      return s.cast(r.element(conv.getInput(), at),
                    getElementTypeOrSelf(conv.getInput().getType()), p.wide, false);
    };
    return padded ? emitIf(r, ok, load, [&] { return zero; }) : load();
  };
  auto right = [&](ValueRange, ValueRange place, ValueRange column) {
    SmallVector<Value> at(rank);
    for (auto [dim, index] : llvm::zip(depthDims, place))
      at[dim] = index;
    at[outer] = column[0];
    return s.cast(r.element(conv.getFilter(), at), filter.getElementType(), p.wide, false);
  };
  p.left = left;
  p.right = right;
  emitTiles(k, p);
  return true;
}

} // namespace

bool weir::emitMatrix(const CudaKernel &k) {
  Operation *hero = nullptr;
  for (Operation &op : k.body().without_terminator())
    if (isa<DotGeneralOp, ConvOp>(op)) {
      if (hero)
        return false;
      hero = &op;
    }
  if (!hero)
    return false;
  // What follows reads the sums at the result's own index.
  auto own = cast<RankedTensorType>(hero->getResult(0).getType());
  for (Value result : k.results())
    if (cast<RankedTensorType>(result.getType()).getShape() != own.getShape())
      return false;
  if (auto dot = dyn_cast<DotGeneralOp>(hero))
    return emitDot(k, dot);
  return emitConvolution(k, cast<ConvOp>(hero));
}
