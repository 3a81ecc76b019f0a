//===- CudaAttention.cpp - attention by blocks of keys -------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaAttention.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weir;

void AttentionEmitter::place(int64_t threads, int64_t rows, int64_t keys, int64_t resident,
                             int64_t widest, Value parts) {
  tileRows = rows;
  tileKeys = keys;
  LaunchShape::Axis batches, tiles;
  SmallVector<int64_t> ownBatch;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t own = attention.order ? attention.order.getPermutation()[i] : i;
    if (own < rank - 2) {
      batches.dims.push_back(i);
      ownBatch.push_back(own);
    } else if (own == rank - 2) {
      tiles.dims.push_back(i);
    }
  }
  tiles.divisor = tileRows;
  k.shape.threads = threads;
  if (std::max(size, columns) <= widest)
    r.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        b.getI32IntegerAttr(resident / threads));
  k.shape.axes = {batches, tiles};
  r.loc = attention.product.getLoc();
  yes = arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true));
  zero = number(0);
  lowest = number(-std::numeric_limits<float>::infinity());
  rowCount = target.dims[tiles.dims[0]];
  keyCount = r.dim(attention.logits, rank - 1);
  wholeRows = !ShapedType::isDynamic(knownRows) && knownRows % tileRows == 0;
  wholeKeys = !ShapedType::isDynamic(knownKeys) && knownKeys % tileKeys == 0;
  thread = r.threadId();
  SmallVector<Value> counts = r.axisBlocks(k.shape, target.dims);
  if (parts)
    counts.push_back(parts);
  SmallVector<Value> block = r.delinearize(r.blockId(), counts);
  tile = block[0];
  part = block.back();
  batch.resize(rank - 2);
  setIndices(batch, ownBatch, r.delinearize(block[0], sizesAlong(target, batches.dims)));
  firstRow = r.mul(block[1], index(tileRows));
}

AttentionEmitter::Row AttentionEmitter::rowAt(Value inTile) {
  Row row;
  row.index = r.add(firstRow, inTile);
  row.exists = wholeRows ? yes : r.less(row.index, rowCount);
  if (!wholeRows)
    row.index = r.minimum(row.index, r.sub(rowCount, index(1)));
  if (attention.blind)
    row.blind = weir::detail::broadcastElement(r, attention.blind, at(row.index, index(0)));
  row.most = lowest;
  row.sum = zero;
  return row;
}

Value AttentionEmitter::read(const AttentionOperand &operand, ArrayRef<Value> indices,
                             int64_t tiled, bool isWhole) {
  auto type = cast<RankedTensorType>(operand.source.getType());
  SmallVector<Value> own;
  for (auto [i, dim] : llvm::enumerate(operand.order)) {
    bool isInside = !type.isDynamicDim(i) && type.getDimSize(i) != 1 && (dim != tiled || isWhole);
    Value place = sourceIndex(operand, dim, indices[dim]);
    own.push_back(isInside ? place : r.minimum(place, r.sub(r.dim(operand.source, i), index(1))));
  }
  return r.element(operand.source, own);
}

Value AttentionEmitter::logitOf(Value score, const Row &row, Value key) {
  Type element = getElementTypeOrSelf(attention.scores.getType());
  r.setAnchor(attention.scores, scoreScalars.cast(score, f32, element, false));
  SmallVector<Value> indices =
      at(row.index, wholeKeys ? key : r.minimum(key, r.sub(keyCount, index(1))));
  // What makes rows blind may have stretched the weights.
  for (int64_t i = 0; i < rank - 1 && attention.blind; ++i)
    indices[i] = r.select(r.equal(r.dim(attention.logits, i), index(1)), index(0), indices[i]);
  Value logit = r.element(attention.logits, indices);
  r.setAnchor({}, {});
  return choose(wholeKeys ? yes : r.less(key, keyCount), logit, lowest);
}

Value AttentionEmitter::shiftOf(Value top) {
  Value isNone = arith::CmpFOp::create(b, r.loc, arith::CmpFPredicate::OEQ, top, lowest);
  return choose(isNone, zero, top);
}

Value AttentionEmitter::weigh(MutableArrayRef<Value> logits, Row &row, int64_t lanes) {
  Value top = row.most;
  for (Value logit : logits)
    top = arith::MaxNumFOp::create(b, r.loc, top, logit);
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
    top = arith::MaxNumFOp::create(b, r.loc, top, shuffle(r, top, distance));
  Value shift = shiftOf(top);
  auto weightOf = [&](Value value, double ofBlind) {
    Value weight = exponential(value, shift);
    return row.blind ? choose(row.blind, number(ofBlind), weight) : weight;
  };
  Value factor = weightOf(row.most, 1);
  row.sum = multiply(row.sum, factor);
  for (Value &logit : logits) {
    logit = weightOf(logit, 0);
    row.sum = plus(row.sum, logit);
  }
  row.most = top;
  return factor;
}

Value AttentionEmitter::divisorOf(const Row &row, int64_t lanes) {
  Value sum = row.sum;
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
    sum = plus(sum, shuffle(r, sum, distance));
  sum = choose(r.less(index(0), keyCount), sum, number(1));
  return row.blind ? choose(row.blind, number(1), sum) : sum;
}

void AttentionEmitter::store(const Row &row, Value column, bool isInside, Value value) {
  r.onlyIf(isInside ? yes : r.less(column, index(columns)), [&] {
    DotGeneralOp product = attention.product;
    SmallVector<Value> own = at(row.index, column), indices(rank);
    for (int64_t i = 0; i < rank; ++i)
      indices[i] = own[attention.order ? attention.order.getPermutation()[i] : i];
    k.emitResults(indices, product,
                  productScalars.cast(value, f32, product.getAccumulator(), false));
  });
}

void AttentionEmitter::forItems(int64_t count, function_ref<void(Value item)> body) {
  int64_t each = count / k.shape.threads, atOnce = std::min(each, itemsAtOnce);
  while (each % atOnce)
    --atOnce;
  auto loop = scf::ForOp::create(b, r.loc, index(0), index(count), index(k.shape.threads * atOnce));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value first = r.add(loop.getInductionVar(), thread);
  for (int64_t i = 0; i < atOnce; ++i)
    body(r.add(first, index(i * k.shape.threads)));
}

SmallVector<Value>
AttentionEmitter::alongKeys(Value from, Value to, int64_t step, SmallVector<Row> &rows,
                            SmallVector<Value> sums,
                            function_ref<void(Value, SmallVector<Value> &)> body) {
  for (const Row &row : rows)
    sums.append({row.most, row.sum});
  auto split = [&](SmallVector<Value> values) {
    for (Row &row : llvm::reverse(rows)) {
      row.sum = values.pop_back_val();
      row.most = values.pop_back_val();
    }
    return values;
  };
  auto loop = scf::ForOp::create(b, r.loc, from, to, index(step), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> own = split(SmallVector<Value>(loop.getRegionIterArgs()));
    body(loop.getInductionVar(), own);
    for (const Row &row : rows)
      own.append({row.most, row.sum});
    scf::YieldOp::create(b, r.loc, own);
  }
  return split(SmallVector<Value>(loop.getResults()));
}

bool weir::emitAttention(const CudaKernel &k) {
  std::optional<Attention> attention = attentionOf(k.kernel);
  if (!attention)
    return false;
  // The step has checked that sizes go together.
  k.reader.quiet = true;
  if (!emitAttentionOnTensorCores(k, *attention))
    emitAttentionOnThreads(k, std::move(*attention));
  k.reader.quiet = false;
  return true;
}
