//===- CudaAttention.cpp - attention by blocks of keys -------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaAttention.h"
#include "compiler/codegen/cuda/CudaLibrary.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <limits>

using namespace mlir;
using namespace weir;

Value weir::withoutCasts(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>()) {
    if (!isa<FloatType>(getElementTypeOrSelf(cast.getOperand().getType())))
      break;
    value = cast.getOperand();
  }
  return value;
}

/// Whether `value` numbers the dimension that is `fromLast` before the last one of `like`.
static bool numbersDimension(Value value, int64_t fromLast, RankedTensorType like) {
  auto iota = value.getDefiningOp<IotaOp>();
  if (!iota)
    return false;
  auto type = cast<RankedTensorType>(iota.getType());
  auto axis = int64_t(iota.getAxis());
  return type.getRank() - 1 - axis == fromLast &&
         type.getDimSize(axis) == like.getDimSize(like.getRank() - 1 - fromLast);
}

bool weir::isCausal(const Attention &attention) {
  auto select = withoutCasts(attention.logits).getDefiningOp<SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
  if (!compare || splatOf(select.getOnFalse()) != -std::numeric_limits<double>::infinity())
    return false;
  Value low = compare.getLhs(), high = compare.getRhs();
  if (compare.getPredicate() == "ge")
    std::swap(low, high);
  else if (compare.getPredicate() != "le")
    return false;
  auto logits = cast<RankedTensorType>(attention.logits.getType());
  return numbersDimension(low, 0, logits) && numbersDimension(high, 1, logits);
}

int64_t AttentionEmitter::headsOfTile(int64_t rows) const {
  DotGeneralOp scores = attention.scores, product = attention.product;
  AttentionOperand keys = attentionOperand(scores.getRhs()),
                   values = attentionOperand(product.getRhs());
  bool areGroups = mayShareTile && rank >= 3 && keys.times > 1 && keys.times == values.times &&
                   keys.repeated == rank - 3 && values.repeated == rank - 3 &&
                   rows % keys.times == 0;
  return areGroups ? keys.times : 1;
}

void AttentionEmitter::placeSizes(int64_t rows, int64_t keys) {
  tileRows = rows;
  tileKeys = keys;
  r.loc = attention.product.getLoc();
  yes = arith::ConstantOp::create(b, r.loc, b.getBoolAttr(true));
  zero = number(0);
  lowest = number(-std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < rank; ++i)
    if ((attention.order ? attention.order.getPermutation()[i] : i) == rank - 2)
      rowCount = target.dims[i];
  keyCount = r.dim(attention.logits, rank - 1);
  wholeRows = !ShapedType::isDynamic(knownRows) && knownRows % queriesOfTile() == 0;
  wholeKeys = !ShapedType::isDynamic(knownKeys) && knownKeys % tileKeys == 0;
  thread = r.threadId();
  batch.resize(rank - 2);
}

void AttentionEmitter::place(int64_t threads, int64_t rows, int64_t keys, int64_t resident,
                             int64_t widest, Value parts) {
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
  groupHeads = headsOfTile(rows);
  placeSizes(rows, keys);
  batches.divisor = groupHeads;
  tiles.divisor = queriesOfTile();
  k.shape.threads = threads;
  if (std::max(size, columns) <= widest)
    r.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        b.getI32IntegerAttr(resident / threads));
  k.shape.axes = {batches, tiles};
  SmallVector<Value> counts = r.axisBlocks(k.shape, target.dims);
  if (parts)
    counts.push_back(parts);
  SmallVector<Value> block = r.delinearize(r.blockId(), counts);
  tile = block[0];
  part = block.back();
  SmallVector<Value> sizes = sizesAlong(target, batches.dims);
  for (auto [i, own] : llvm::enumerate(ownBatch))
    if (own == rank - 3 && groupHeads > 1)
      sizes[i] = r.divide(sizes[i], index(groupHeads));
  setIndices(batch, ownBatch, r.delinearize(block[0], sizes));
  if (groupHeads > 1)
    batch[rank - 3] = r.mul(batch[rank - 3], index(groupHeads));
  firstRow = r.mul(block[1], index(queriesOfTile()));
}

Value AttentionEmitter::keysEnd() {
  if (!isCausal(attention))
    return keyCount;
  Value end = r.minimum(r.add(firstRow, index(queriesOfTile())), keyCount);
  // Open sizes of what numbers keys and queries may turn out to be one, and are stretched.
  auto select = withoutCasts(attention.logits).getDefiningOp<SelectOp>();
  auto compare = select.getCondition().getDefiningOp<CompareOp>();
  for (Value operand : {compare.getLhs(), compare.getRhs()}) {
    auto iota = operand.getDefiningOp<IotaOp>();
    auto type = cast<RankedTensorType>(iota.getType());
    auto axis = unsigned(iota.getAxis());
    if (type.isDynamicDim(axis))
      end = r.select(
          r.equal(r.dim(operand, axis), axis + 1 == unsigned(type.getRank()) ? keyCount : rowCount),
          end, keyCount);
  }
  return end;
}

std::pair<Value, Value> AttentionEmitter::headAndQuery(Value inTile) {
  if (groupHeads == 1)
    return {rank >= 3 ? batch[rank - 3] : index(0), r.add(firstRow, inTile)};
  return {r.add(batch[rank - 3], r.remainder(inTile, index(groupHeads))),
          r.add(firstRow, r.divide(inTile, index(groupHeads)))};
}

AttentionEmitter::Row AttentionEmitter::placedRow(Value inTile) {
  Row row;
  row.batch = batch;
  auto [head, query] = headAndQuery(inTile);
  if (rank >= 3)
    row.batch[rank - 3] = head;
  row.index = query;
  return row;
}

AttentionEmitter::Row AttentionEmitter::rowAt(Value inTile) {
  Row row = placedRow(inTile);
  row.exists = wholeRows ? yes : r.less(row.index, rowCount);
  if (!wholeRows)
    row.index = r.minimum(row.index, r.sub(rowCount, index(1)));
  if (attention.blind)
    row.blind = weir::detail::broadcastElement(r, attention.blind, at(row, index(0)));
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
  SmallVector<Value> indices = at(row, wholeKeys ? key : r.minimum(key, r.sub(keyCount, index(1))));
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

Value AttentionEmitter::exponential(Value value, Value shift) {
  Value distance = arith::SubFOp::create(b, r.loc, value, shift);
  if (!isRounded)
    return math::ExpOp::create(b, r.loc, distance);
  Value power = multiply(distance, number(1.4426950408889634));
  return LLVM::InlineAsmOp::create(b, r.loc, f32, ValueRange(power), "ex2.approx.f32 $0, $1;",
                                   "=f,f", /*has_side_effects=*/false,
                                   /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                   /*asm_dialect=*/LLVM::AsmDialectAttr(),
                                   /*operand_attrs=*/ArrayAttr())
      .getResult(0);
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

SmallVector<Value> AttentionEmitter::placeOf(const Row &row, Value column) const {
  SmallVector<Value> own = at(row, column), indices(rank);
  TransposeOp order = attention.order;
  for (int64_t i = 0; i < rank; ++i)
    indices[i] = own[order ? order.getPermutation()[i] : i];
  return indices;
}

void AttentionEmitter::store(const Row &row, Value column, bool isInside, Value value) {
  r.onlyIf(isInside ? yes : r.less(column, index(columns)), [&] {
    DotGeneralOp product = attention.product;
    k.emitResults(placeOf(row, column), product,
                  productScalars.cast(value, f32, product.getAccumulator(), false));
  });
}

SmallVector<Value> AttentionEmitter::weightsOf(SmallVector<Value> scores, double scale,
                                               Type operand, Value first, Value pair,
                                               SmallVector<Row> &rows, SmallVector<Value> &sums) {
  int64_t count = int64_t(scores.size()) / 4, groups = int64_t(sums.size()) / 4;
  for (int64_t i : {0, 1}) {
    SmallVector<Value> own;
    for (int64_t j = 0; j < count; ++j)
      for (int64_t c : {0, 1}) {
        Value score = scores[j * 4 + i * 2 + c];
        if (scale != 1)
          score = multiply(score, number(scale));
        Value key = r.add(first, r.add(r.mul(pair, index(2)), index(j * tensorCoreColumns + c)));
        own.push_back(logitOf(score, rows[i], key));
      }
    Value factor = weigh(own, rows[i], 4);
    for (int64_t j = 0; j < groups; ++j)
      for (int64_t c : {0, 1}) {
        Value &sum = sums[j * 4 + i * 2 + c];
        sum = multiply(sum, factor);
      }
    for (int64_t j = 0; j < count; ++j)
      for (int64_t c : {0, 1})
        scores[j * 4 + i * 2 + c] = productScalars.cast(own[j * 2 + c], f32, operand, false);
  }
  SmallVector<Value> words;
  for (int64_t i = 0; i < count * 4; i += 2)
    words.push_back(packWord(r, {scores[i], scores[i + 1]}));
  return words;
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
