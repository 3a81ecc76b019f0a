//===- WeightOnlyReader.cpp - numbers of weights of a few bits --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/WeightOnlyReader.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/WeightOnly.h"

using namespace mlir;
using namespace weir;

WeightOnlyReader::WeightOnlyReader(KernelBuilder &r, plan::KernelOp kernel, DotGeneralOp dot,
                                   DequantizeBlocksOp weights)
    : r(r), b(r.b), kernel(kernel), dot(dot), weights(weights), lhs(r.bufferOf(dot.getLhs())),
      target(r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0))),
      packed(r.bufferOf(bufferBehind(weights.getNumbers()))), scales(r, weights.getScales()),
      tile(kernel.getSchedule()[plan::schedule::tile]),
      parts(kernel.getSchedule()[plan::schedule::parts]), bits(weights.getBits()),
      block(weights.getBlock()), depth(weights.getRows()), lanes(tile[2]), perWord(32 / bits),
      step(lhs.extent(r, lhs.dims.size() - 1)) {
  if (std::optional<float> number = weightOnlyZero(weights))
    zero = *number;
  else
    zeros.emplace(r, weights.getZeros());
}

Value WeightOnlyReader::splat(int32_t value) {
  return arith::ConstantOp::create(b, r.loc,
                                   SplatElementsAttr::get(words(), b.getI32IntegerAttr(value)));
}

Value WeightOnlyReader::splat(float value) {
  return arith::ConstantOp::create(b, r.loc,
                                   SplatElementsAttr::get(floats(), b.getF32FloatAttr(value)));
}

SmallVector<Value> WeightOnlyReader::loadWords(const Part &part, Value word) {
  // Processors fetch ahead what lies in the same page of memory.
  constexpr int64_t page = 4096, line = 64, muchOfTheCache = 1 << 18;
  int64_t rows = packed.type.getNumElements() / packed.type.getDimSize(0) / (4 * weightOnlyPanel);
  Value row = r.add(r.mul(part.panel, r.constant(rows)), word);
  Value byte = r.mul(row, r.constant(4 * weightOnlyPanel));
  if (part.isStreamed && packed.type.getNumElements() >= muchOfTheCache)
    for (int64_t k = 4 * part.skipped * lanes; k < 4 * (part.skipped + part.vectors) * lanes;
         k += line) {
      Value where = BufferAccess::address(r, packed.pointer, b.getI8Type(),
                                          r.add(byte, r.constant(page + k)));
      LLVM::Prefetch::create(b, r.loc, where, /*rw=*/0, /*hint=*/3, /*cache=*/1);
    }
  SmallVector<Value> loaded;
  for (int64_t v = 0; v < part.vectors; ++v) {
    Value where = BufferAccess::address(r, packed.pointer, b.getI8Type(),
                                        r.add(byte, r.constant(4 * (part.skipped + v) * lanes)));
    loaded.push_back(LLVM::LoadOp::create(b, r.loc, words(), where, /*alignment=*/4));
  }
  return loaded;
}

Value WeightOnlyReader::shared(const ColumnsOperand &operand, const Part &part, Value number,
                               int64_t v) {
  VectorReader reader(r, lanes);
  v += part.skipped;
  if (part.limit && !operand.isPacked)
    reader.setLanes(
        {}, laneMasks(r, {1, part.skipped + part.vectors, lanes}, part.column, part.limit)[v]);
  Type element = operand.buffer.type.getElementType();
  Value value =
      reader.load(operand.buffer.pointer, BufferAccess::storageType(element),
                  operand.linear(r, operand.dim(0), number, part.panel, part.column, v * lanes));
  if (element.isF32())
    return value;
  if (isa<FloatType>(element))
    return arith::ExtFOp::create(b, r.loc, floats(), value);
  Value word = arith::ExtUIOp::create(b, r.loc, words(), value);
  return arith::SIToFPOp::create(b, r.loc, floats(), word);
}

SmallVector<Value> WeightOnlyReader::indicesOf(Value row) {
  int64_t rowDims = target.dims.size() - 1;
  SmallVector<Value> indices(rowDims);
  for (int64_t d = rowDims - 1; d > 0; --d) {
    indices[d] = r.remainder(row, target.dims[d]);
    row = r.divide(row, target.dims[d]);
  }
  indices[0] = row;
  return indices;
}

Value WeightOnlyReader::rowCount() {
  Value rows = r.constant(1);
  for (Value size : ArrayRef(target.dims).drop_back())
    rows = r.mul(rows, size);
  return rows;
}

void WeightOnlyReader::forPanel(Part &part, function_ref<void()> body) {
  Value columns = target.dims.back();
  auto emit = [&](int64_t columnsOfPanel) {
    part.vectors = llvm::divideCeil(columnsOfPanel, lanes);
    part.limit = columnsOfPanel % lanes ? columns : Value();
    body();
  };
  int64_t wide = target.type.getShape().back(), rest = wide % weightOnlyPanel;
  if (rest == 0)
    return emit(weightOnlyPanel);
  if (wide < weightOnlyPanel)
    return emit(rest);
  emitEither(
      r, r.less(columns, r.add(part.column, r.constant(weightOnlyPanel))), [&] { emit(rest); },
      [&] { emit(weightOnlyPanel); });
}
