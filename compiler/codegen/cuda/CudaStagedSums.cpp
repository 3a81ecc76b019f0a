//===- CudaStagedSums.cpp - sums on their way through memory ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaStagedSums.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

static Value element(CudaReader &r, int64_t number) {
  return LLVM::ConstantOp::create(r.b, r.loc, r.b.getI32Type(), r.b.getI32IntegerAttr(number));
}

void weir::stageSums(CudaReader &r, ArrayRef<Value> sums, Value row, Value column, StagedPlace at) {
  OpBuilder &b = r.b;
  auto pair = VectorType::get({2}, sums.front().getType());
  for (int64_t j = 0; j < int64_t(sums.size()) / 4; ++j)
    for (int64_t half : {0, 1}) {
      Value both = LLVM::PoisonOp::create(b, r.loc, pair);
      for (int64_t i : {0, 1})
        both = LLVM::InsertElementOp::create(b, r.loc, both, sums[j * 4 + half * 2 + i],
                                             element(r, i));
      Value to = at(r.add(row, r.constant(half * 8)), r.add(column, r.constant(j * 8)));
      LLVM::StoreOp::create(b, r.loc, both, to, 8);
    }
}

SmallVector<Value> weir::stagedSums(CudaReader &r, Type wide, Value row, Value column,
                                    int64_t lanes, StagedPlace at) {
  OpBuilder &b = r.b;
  SmallVector<Value> values;
  int64_t width = std::min<int64_t>(lanes, 4);
  for (int64_t i = 0; i < lanes; i += width) {
    Value all = LLVM::LoadOp::create(b, r.loc, VectorType::get({width}, wide),
                                     at(row, r.add(column, r.constant(i))), unsigned(width * 4));
    for (int64_t e = 0; e < width; ++e)
      values.push_back(LLVM::ExtractElementOp::create(b, r.loc, all, element(r, e)));
  }
  return values;
}

void weir::storeStagedSums(const CudaKernel &k, Operation *op, Type wide, Type element,
                           const StagedTile &tile, OfStaged exists, IndicesOfStaged indices) {
  CudaReader &r = k.reader;
  OpBuilder &b = r.b;
  int64_t lanes = tile.lanes, across = tile.columns / lanes;
  auto loop = scf::ForOp::create(b, r.loc, tile.thread, r.constant(tile.rows * across),
                                 r.constant(tile.threads));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value item = loop.getInductionVar();
  Value row = r.divide(item, r.constant(across)),
        column = r.mul(r.remainder(item, r.constant(across)), r.constant(lanes));
  r.onlyIf(exists(row, column), [&] {
    SmallVector<Value> at = indices(row, column);
    SmallVector<Value> sums = stagedSums(r, wide, row, column, lanes, tile.at);
    ScalarBuilder scalars(r, op, wide);
    emitNeighbours(k, at, lanes, op,
                   [&](int64_t lane) { return scalars.cast(sums[lane], wide, element, false); });
  });
}

void weir::storeStagedSums(const CudaKernel &k, const MatrixResult &result, StagedTile tile,
                           function_ref<Value(Value)> globalRow, Value firstColumn) {
  CudaReader &r = k.reader;
  tile.lanes = lanesOf(k, /*flat=*/false, result.op);
  auto exists = [&](Value row, Value column) -> Value {
    Value inside = arith::ConstantOp::create(r.b, r.loc, r.b.getBoolAttr(true));
    if (result.rows)
      inside = r.less(globalRow(row), result.rows);
    if (result.columns)
      inside = r.logicalAnd(inside, r.less(r.add(firstColumn, column), result.columns));
    return inside;
  };
  auto indices = [&](Value row, Value column) {
    SmallVector<Value> at(k.first().type.getRank());
    setIndices(at, result.batchDims, result.batch);
    setIndices(at, result.rowDims, r.delinearize(globalRow(row), result.rowSizes));
    setIndices(at, result.columnDims,
               r.delinearize(r.add(firstColumn, column), result.columnSizes));
    return at;
  };
  storeStagedSums(k, result.op, result.wide, result.element, tile, exists, indices);
}
