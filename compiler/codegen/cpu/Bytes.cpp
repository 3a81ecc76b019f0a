//===- Bytes.cpp - products of bytes -----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions of bytes by constant signed bytes, with sums of 32
// bits: by matrix tiles (TDPBUSD, TDPBSSD), or by vectors whose lanes add four
// products (VPDPBUSD). The constant lies in panels of 32 columns, four rows side by
// side. A window's neighbours along a line are one run of the sum with their channels.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Strips.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t quad = 4; ///< rows side by side

/// A loop of the sum: how often, and how far it takes the left operand and the rows
/// of the right one.
struct SumLoop {
  int64_t count, left, rows;
};

class ByteEmitter : StripEmitter {
public:
  ByteEmitter(KernelReader &r, plan::KernelOp kernel, const PackedProduct &product)
      : StripEmitter(r, kernel, product, r.b.getI8Type()),
        isSigned(!left.type.getElementType().isUnsignedInteger()) {
    columns = cast<RankedTensorType>(hero->getResult(0).getType()).getShape().back();
    auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>("tile").asArrayRef();
    most = tile[0];
    lanes = tile[2];
    isTiles = kernel->getParentOfType<ModuleOp>()
                  ->getAttrOfType<StringAttr>(integerUnitAttribute)
                  .getValue() == "amx";
  }

  void product(DotGeneralOp dot, Value begin, Value end);
  void convolution(ConvOp conv, Value begin, Value end);

private:
  VectorType words() { return VectorType::get({lanes}, b.getI32Type()); }
  Value splat(int32_t value) {
    return arith::ConstantOp::create(b, r.loc,
                                     SplatElementsAttr::get(words(), b.getI32IntegerAttr(value)));
  }
  Value loadWords(Value pointer, Value byte) {
    return LLVM::LoadOp::create(b, r.loc, words(), byteAddress(pointer, byte), /*alignment=*/4);
  }

  void configure(const Strip &strip);
  void release() {
    if (isTiles)
      call("tilerelease", {});
  }
  Value addProducts(Value sum, Value unsignedBytes, Value signedBytes);
  /// 128 times the sum of each column of the panel, for left operands that are moved
  /// by as much to have no sign.
  void sumColumns();
  void sumByTiles(const Strip &strip, Value base);
  void sumByVectors(const Strip &strip, Value base);
  void blocks(const Strip &strip, Value firstBlock, Value lastBlock, Value panel);
  void finish(const Strip &strip, Value start, Value skip, Value column);

  bool isSigned, isTiles;
  SmallVector<SumLoop> loops; ///< of the sum; the last makes steps of `step` rows
  Value columnSums, panelBase;
  int64_t columns = 0, lanes = 0;
  int64_t step = 0; ///< rows of the weights that are added at once
  int64_t most = 0; ///< rows of a block
};

} // namespace

/// Blocks have as many rows as fit.
void ByteEmitter::configure(const Strip &strip) {
  rows = std::min(strip.positions, most);
  scratch = stackBytes(rows * width * 4);
  if (isTiles)
    configureTiles(step, step / quad);
  else if (isSigned)
    columnSums = stackBytes(width * 4);
}

void ByteEmitter::sumByTiles(const Strip &strip, Value base) {
  clearTiles();
  std::function<void(size_t, Value, Value)> nest = [&](size_t level, Value at, Value row) {
    if (level == loops.size())
      return multiplyTiles(isSigned ? "tdpbssd" : "tdpbusd", strip, at,
                           r.add(panelBase, r.mul(row, r.constant(width))));
    const SumLoop &loop = loops[level];
    auto inside = [&](Value i) {
      nest(level + 1, r.add(at, r.mul(i, r.constant(loop.left))),
           r.add(row, r.mul(i, r.constant(loop.rows))));
    };
    if (loop.count == 1)
      return inside(r.constant(0));
    emitStepLoop(r, r.constant(0), r.constant(loop.count), 1, inside);
  };
  nest(0, base, r.constant(0));
  storeTiles(scratch);
}

Value ByteEmitter::addProducts(Value sum, Value unsignedBytes, Value signedBytes) {
  auto bytes = VectorType::get({lanes * quad}, b.getI8Type());
  auto asBytes = [&](Value value) -> Value {
    return LLVM::BitcastOp::create(b, r.loc, bytes, value);
  };
  StringAttr name = b.getStringAttr("llvm.x86.avx512.vpdpbusd." + std::to_string(lanes * 32));
  return LLVM::CallIntrinsicOp::create(
             b, r.loc, words(), name, ValueRange{sum, asBytes(unsignedBytes), asBytes(signedBytes)})
      ->getResult(0);
}

void ByteEmitter::sumColumns() {
  int64_t vectors = width / lanes;
  Value offset = splat(static_cast<int32_t>(0x80808080));
  SmallVector<Value> inits(vectors, splat(0));
  SmallVector<Value> sums = emitReductionLoops(
      r, {r.constant(depth / quad)}, inits, [&](ValueRange at, ValueRange carried) {
        SmallVector<Value> next;
        Value from = r.add(panelBase, r.mul(at[0], r.constant(quad * width)));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(
              addProducts(carried[v], offset,
                          loadWords(weights.pointer, r.add(from, r.constant(v * lanes * 4)))));
        return next;
      });
  for (int64_t v = 0; v < vectors; ++v) {
    Value negative = arith::SubIOp::create(b, r.loc, splat(0), sums[v]);
    LLVM::StoreOp::create(b, r.loc, negative, byteAddress(columnSums, r.constant(v * lanes * 4)));
  }
}

void ByteEmitter::sumByVectors(const Strip &strip, Value base) {
  int64_t vectors = width / lanes;
  SmallVector<Value> inits, sizes;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t v = 0; v < vectors; ++v)
      inits.push_back(isSigned ? loadWords(columnSums, r.constant(v * lanes * 4)) : splat(0));
  for (const SumLoop &loop : loops)
    sizes.push_back(r.constant(loop.count));
  SmallVector<Value> sums =
      emitReductionLoops(r, sizes, inits, [&](ValueRange at, ValueRange carried) {
        Value from = base, place = r.constant(0);
        for (auto [loop, i] : llvm::zip(loops, at)) {
          from = r.add(from, r.mul(i, r.constant(loop.left)));
          place = r.add(place, r.mul(i, r.constant(loop.rows)));
        }
        Value right = r.add(panelBase, r.mul(place, r.constant(width)));
        SmallVector<Value> loaded, next;
        for (int64_t v = 0; v < vectors; ++v)
          loaded.push_back(loadWords(weights.pointer, r.add(right, r.constant(v * lanes * 4))));
        for (int64_t row = 0; row < rows; ++row) {
          Value four = LLVM::LoadOp::create(
              b, r.loc, b.getI32Type(),
              byteAddress(left.pointer, r.add(from, r.constant(row * strip.pitch))),
              /*alignment=*/1);
          Value all = vector::BroadcastOp::create(b, r.loc, words(), four);
          if (isSigned)
            all = arith::XOrIOp::create(b, r.loc, all, splat(static_cast<int32_t>(0x80808080)));
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(addProducts(carried[row * vectors + v], all, loaded[v]));
        }
        return next;
      });
  for (auto [i, sum] : llvm::enumerate(sums))
    LLVM::StoreOp::create(b, r.loc, sum, byteAddress(scratch, r.constant(i * lanes * 4)),
                          /*alignment=*/4);
}

void ByteEmitter::blocks(const Strip &strip, Value firstBlock, Value lastBlock, Value panel) {
  Value column = r.mul(panel, r.constant(width));
  panelBase = r.mul(column, r.constant(depth));
  if (columnSums)
    sumColumns();
  emitStepLoop(r, firstBlock, lastBlock, 1, [&](Value number) {
    Value wanted = r.mul(number, r.constant(rows));
    Value start = r.minimum(wanted, r.constant(strip.positions - rows));
    Value base = r.add(strip.base, r.mul(start, r.constant(strip.pitch)));
    if (isTiles)
      sumByTiles(strip, base);
    else
      sumByVectors(strip, base);
    finish(strip, start, r.sub(wanted, start), column);
  });
}

void ByteEmitter::finish(const Strip &strip, Value start, Value skip, Value column) {
  auto sums = [&](VectorReader &, Value from) {
    return loadWords(scratch, r.mul(from, r.constant(4)));
  };
  if (columns % width == 0)
    return finishRows(strip, start, skip, r.constant(rows), column, width, lanes, sums);
  if (columns < width)
    return finishRows(strip, start, skip, r.constant(rows), column, columns, lanes, sums);
  OpBuilder::InsertionGuard guard(b);
  Value fits = r.less(column, r.constant(columns / width * width));
  auto branch = scf::IfOp::create(b, r.loc, fits, /*withElseRegion=*/true);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  finishRows(strip, start, skip, r.constant(rows), column, width, lanes, sums);
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  finishRows(strip, start, skip, r.constant(rows), r.constant(columns / width * width),
             columns % width, lanes, sums);
}

void ByteEmitter::product(DotGeneralOp dot, Value begin, Value end) {
  step = isTiles ? quadStep(depth) : quad;
  loops.push_back({depth / step, step, step});
  Strip whole = stripOf(dot);
  configure(whole);
  eachPart(dot, whole, begin, end, [&](const Strip &strip, Value first, Value last, Value panel) {
    blocks(strip, first, last, panel);
  });
  release();
}

void ByteEmitter::convolution(ConvOp conv, Value begin, Value end) {
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t line = left.type.getDimSize(2), channels = left.type.getDimSize(3);
  ArrayRef<int64_t> dilations = conv.getDilations();
  int64_t high = filter.getDimSize(0), wide = filter.getDimSize(1);
  loops.push_back({high, dilations[0] * line * channels, wide * channels});
  int64_t run = wide * channels;
  if (dilations[1] != 1) {
    loops.push_back({wide, dilations[1] * channels, channels});
    run = channels;
  }
  step = isTiles ? quadStep(run) : quad;
  loops.push_back({run / step, step, step});
  Strip whole = stripOf(conv);
  configure(whole);
  eachPart(conv, whole, begin, end,
           [&](const Strip &strip, Value blockCount, Value before, Value panel) {
             blocks(strip, r.constant(0), blockCount, panel);
           });
  release();
}

LogicalResult weir::emitBytes(KernelReader &r, plan::KernelOp kernel, Value begin, Value end) {
  auto packed = packedProductOf(kernel);
  if (failed(packed))
    return failure();
  ByteEmitter emitter(r, kernel, *packed);
  if (auto dot = dyn_cast<DotGeneralOp>(packed->op))
    emitter.product(dot, begin, end);
  else
    emitter.convolution(cast<ConvOp>(packed->op), begin, end);
  return success();
}
